"""One supervised process of a system."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from hydrotest.errors import SystemFailedError, TrialFailedError
from hydrotest.hosts.base import Host, Service
from hydrotest.hosts.command import LINE_SHOWN, telling_lines
from hydrotest.hosts.node import Node

LOG_LINES_SHOWN = 8
OnDeath = Callable[[str], None]


class RunningService:
    """A started service. When it ends without being asked, `on_death` hears how."""

    def __init__(self, service: Service, host: Host, node: Node, pid: int, gauges_url: str | None) -> None:
        self.name = service.name
        self.host = host
        self.pid = pid
        self.gauges_url = gauges_url
        self.log = service.log
        self.death: str | None = None
        self._node = node
        self._stopping = False
        self._watch: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, host: Host, service: Service, gauges_url: str | None, on_death: OnDeath) -> RunningService:
        """Starts it under a supervisor on its host. Raises `SystemFailedError` if it cannot be started."""
        settings = {
            "argv": [str(part) for part in service.argv],
            "env": dict(service.env),
            "directory": str(service.directory),
            "log": str(service.log),
            "grace_s": service.grace_s,
        }
        node = await host.node("supervise", settings)
        try:
            pid = int((await node.expect("spawned"))["pid"])
        except TrialFailedError as error:
            await node.close()
            raise SystemFailedError(f"{service.name} did not start: {error.message}") from error
        except BaseException:  # a cancelled start must not leave its service behind
            await node.close()
            raise
        running = cls(service, host, node, pid, gauges_url)
        running._watch = asyncio.create_task(running._follow(on_death))
        return running

    async def _follow(self, on_death: OnDeath) -> None:
        how = "its supervisor ended"
        async for event in self._node.events():
            if event["event"] == "exited":
                how = f"by signal {event['signal']}" if event["signal"] is not None else f"with exit code {event['code']}"
        if not self._stopping:
            self.death = f"{self.name} on {self.host.name} ended {how}{self._last_words()}"
            on_death(self.death)

    async def stop(self) -> None:
        """Asks it to end, waits, and makes sure."""
        self._stopping = True
        await self._node.close()
        if self._watch is not None:
            await self._watch

    def _last_words(self) -> str:
        return last_words(self.log)


def last_words(log: Path) -> str:
    """The log's last lines, for a message; where the whole log is."""
    if not log.exists():
        return ""
    shown = "\n    ".join(line[:LINE_SHOWN] for line in telling_lines(log.read_text(errors="replace"))[-LOG_LINES_SHOWN:])
    return f"; its log {log} says:\n    {shown}" if shown else ""
