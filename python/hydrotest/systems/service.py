"""One supervised process of a system."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import PurePath
from typing import Literal

from hydrotest.errors import OverdueError, SystemFailedError, TrialFailedError
from hydrotest.hosts.base import Host, Service
from hydrotest.hosts.command import LINE_SHOWN, error_lines, log_text
from hydrotest.hosts.deadlines import cancelled
from hydrotest.hosts.files import Files
from hydrotest.hosts.node import Node, how_it_ended

LOG_LINES_SHOWN = 8
HEARD_S_MAX = 5.0
"""From the end of a supervisor until its last messages have been taken in."""
OnDeath = Callable[[str], None]


Away = Literal["kill", "stop", "pause"]
"""How a service is taken away on purpose: killed (SIGKILL), ended in good order (SIGTERM), or paused.

Paused (SIGSTOP), its connections stay open.
"""


class RunningService:
    """A started service. When it ends unasked, `on_death` gets the reason."""

    def __init__(self, service: Service, host: Host, gauges_url: str | None, on_death: OnDeath) -> None:
        self.service = service
        self.name = service.name
        self.host = host
        self.gauges_url = gauges_url
        self.log = service.log
        self.pid = 0
        self.death: str | None = None
        self.may_end = False
        """True while its host is disturbed on purpose: its end is not reported, and `revive` restarts it."""
        self._on_death = on_death
        self._stopping = False
        self._node: Node | None = None
        self._watch: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, host: Host, service: Service, gauges_url: str | None, on_death: OnDeath) -> RunningService:
        """Starts it under a supervisor on its host. Raises `SystemFailedError` if it cannot be started."""
        running = cls(service, host, gauges_url, on_death)
        await running._spawn()
        return running

    async def _spawn(self) -> None:
        node = await self.host.node("supervise", self.service.settings())
        try:
            self.pid = int((await node.expect("spawned"))["pid"])
        except TrialFailedError as error:
            await node.close()
            raise SystemFailedError(f"{self.name} did not start: {error.message}", error.hint) from error
        except BaseException:  # a cancelled start must not leave its service behind
            await node.close()
            raise
        self._node = node
        self._stopping = False
        self._watch = asyncio.create_task(self._follow(node))

    async def _follow(self, node: Node) -> None:
        how = "as its supervisor ended"
        try:
            async for event in node.events():
                if event["event"] == "exited":
                    how = how_it_ended(event)
                elif event["event"] == "failed":
                    how = f"since its supervisor failed: {event['error']}"
        except Exception as error:  # noqa: BLE001 - the only report from this task: a service that is not followed counts as dead
            how = f"as far as is known: {error}"
        if not self._stopping:
            self.death = f"{self.name} on {self.host.name} ended {how}{await log_tail(self.host, self.log)}"
            # Of a host that is out of reach nothing is known; that is reported as such, and once.
            if not self.may_end and not node.is_lost:
                self._on_death(self.death)

    async def inject(self, how: Away) -> None:
        """Takes it away on purpose, and returns when it is gone.

        No death is reported. A service that does not end in good order is killed.
        """
        assert self._node is not None
        assert self._watch is not None
        if how == "pause":
            await self._node.command("signal", name="stop")
            return
        self._stopping = True
        await self._node.command("signal", name="term" if how == "stop" else "kill")
        await asyncio.wait([self._watch], timeout=self.service.grace_s)
        await self.stop()

    async def heal(self, how: Away) -> None:
        """Undoes `inject`: the same command in the same folder, or the resumed process.

        It is not yet ready then.
        """
        if how == "pause":
            assert self._node is not None
            await self._node.command("signal", name="cont")
        else:
            await self._spawn()

    async def revive(self) -> bool:
        """Restarts it if it has ended; true if it had. Raises `SystemFailedError` if it cannot be started."""
        if self.death is None:
            return False
        assert self._node is not None
        await self._node.close()
        self.death = None
        await self._spawn()
        return True

    async def kill(self) -> None:
        """Ends it at once. For a service whose files nobody reads any more. Raises `SystemFailedError` where it hangs."""
        self._stopping = True
        late: OverdueError | None = None
        if self._node is not None:
            try:
                await self._node.command("signal", name="kill")
            except OverdueError as error:
                late = error
            except TrialFailedError:
                pass  # it is gone already
        await self.stop()
        if late is not None:
            raise SystemFailedError(f"{self.name} on {self.host.name}: {late.message}")

    async def stop(self) -> None:
        """Asks it to end, waits, and kills it if need be.

        Raises `SystemFailedError` where it had to be killed, or hangs.
        """
        self._stopping = True
        problem = None if self._node is None else await self._node.close()
        if self._watch is not None:
            await cancelled(self._watch, HEARD_S_MAX)
        if problem is not None:
            raise SystemFailedError(f"{self.name} on {self.host.name}: {problem}")


async def log_tail(files: Files, log: PurePath) -> str:
    """The log's last lines and the log's path, for a message."""
    try:
        lines = error_lines(await log_text(files, log))
    except (OSError, TrialFailedError) as error:
        return f"; its log cannot be read: {error}"
    shown = "\n    ".join(line[:LINE_SHOWN] for line in lines[-LOG_LINES_SHOWN:])
    return f"; its log {log} says:\n    {shown}" if shown else ""
