"""A running hydrotest-node: takes settings, sends events, and ends when the controller does."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any, Protocol

from hydrotest.errors import MissingToolError, OverdueError, TrialFailedError
from hydrotest.hosts.deadlines import Patience, within
from hydrotest.hosts.protocol import GREETING, check_hello, understood

LINE_BYTES_MAX = 256 << 20
"""The longest event is a generator's account of its records."""
ANSWER = Patience(60.0, "it has only to start, or to look something up")
END_S_MAX = 30.0
"""From the end of its stdin to the end of a node; a supervisor also has its service's grace period."""
KILL = Patience(10.0, "what is killed is gone at once, unless it hangs in the kernel")
LAST_WORDS_S_MAX = 2.0
"""From the end of a node to the end of its stderr, which a process that it started may hold open."""

Event = dict[str, Any]


def how_it_ended(exited: Event) -> str:
    """The text after “it ended”, from the event `exited` of a supervised process."""
    return f"by signal {exited['signal']}" if exited["signal"] is not None else f"with exit code {exited['code']}"


class Pipes(Protocol):
    """A process by its pipes, wherever it runs (`hosts.hub.Channel`)."""

    stdout: asyncio.StreamReader
    stderr: bytes
    """The end of it."""
    stderr_ended: asyncio.Event
    pid: int
    returncode: int | None
    """Negative: the signal that ended it; None while it runs."""
    lost: str | None
    """Why its host cannot be reached any more."""

    async def write(self, data: bytes) -> None:
        """Sends input, and returns when the process has taken it in. Raises `OSError` where it is gone."""
        ...

    def end_input(self) -> None:
        """Closes its stdin."""
        ...

    def kill(self) -> None:
        """Sends SIGKILL, if it still runs."""
        ...

    async def ended(self) -> None:
        """Returns when the process has ended; its pipes may be held by what it has started."""
        ...


class Node:
    """One hydrotest-node process on some host."""

    def __init__(self, name: str, pipes: Pipes, grace_s: float = 0.0) -> None:
        """`grace_s`: the grace period of its supervised process, once its stdin ends."""
        self.name = name
        self._pipes = pipes
        self._grace_s = grace_s
        self._missed = False
        """True if it was gone before it had its orders."""

    @property
    def pid(self) -> int:
        """The node's process id on its host."""
        return self._pipes.pid

    @property
    def is_running(self) -> bool:
        """False once it has ended."""
        return self._pipes.returncode is None

    @property
    def is_lost(self) -> bool:
        """True if its host cannot be reached any more: whether it still runs is not known."""
        return self._pipes.lost is not None

    async def send(self, message: dict[str, Any]) -> None:
        """Sends one JSON line. For a node that is gone, its events show that.

        Raises `OverdueError` if it reads nothing; it is killed then.
        """
        try:
            await within(self._pipes.write(json.dumps(message).encode() + b"\n"), ANSWER, self.name, "take in its orders")
        except OSError:
            self._missed = True
        except OverdueError:
            await self.kill()
            raise

    async def greet(self) -> None:
        """Exchanges the protocol's version with the node.

        Raises `MissingToolError` where the versions differ.
        """
        await self.send(GREETING)
        try:
            hello = await self.expect("hello", ANSWER)
        except OverdueError:  # slow, and not of another version
            raise
        except TrialFailedError as error:  # an older version takes the greeting for its settings
            if self.is_lost:
                raise
            check_hello(self.name, None, error.message.removeprefix(f"{self.name}: "))
        else:
            check_hello(self.name, hello)

    async def command(self, command: str, **fields: Any) -> None:
        """Sends a command (`Command` in rust/core/src/wire.rs)."""
        await self.send({"command": command, **fields})

    async def events(self) -> AsyncIterator[Event]:
        """All events of the node until it ends, however long it is silent.

        Raises `TrialFailedError` for a line that is not an event.
        """
        while (event := await self.next_event()) is not None:
            yield event

    async def next_event(self, patience: Patience | None = None) -> Event | None:
        """The node's next event; None once it has ended.

        Raises `TrialFailedError` for a line that is not an event, `MissingToolError` for an event of another
        version, and `OverdueError` if none comes in time; the node is killed then.
        """
        line = b""
        try:
            read = self._pipes.stdout.readline()
            line = await (read if patience is None else within(read, patience, self.name, "say anything"))
            event = understood(self.name, line) if line else None
        except ValueError as error:  # not JSON, or longer than any event
            await self.kill()
            if line and not line.endswith(b"\n"):  # cut by its death
                raise TrialFailedError(await self.exit_status_text()) from error
            raise TrialFailedError(f"{self.name} said something that is not an event: {error}") from error
        except (OverdueError, MissingToolError):
            await self.kill()
            raise
        return event

    async def expect(self, wanted: str, patience: Patience = ANSWER) -> Event:
        """The next event of this kind.

        Raises `TrialFailedError` with the node's message if it fails or ends first, and `OverdueError` if
        none comes in time; the node is killed then.
        """
        try:
            return await within(self._expect(wanted), patience, self.name, f"say {wanted!r}")
        except OverdueError:
            await self.kill()
            raise

    async def _expect(self, wanted: str) -> Event:
        async for event in self.events():
            if event["event"] == wanted:
                return event
            if event["event"] == "failed":
                raise TrialFailedError(f"{self.name}: {event['error']}")
        raise TrialFailedError(await self.exit_status_text())

    async def close(self) -> str | None:
        """Closes stdin, which ends the node and all that it started; waits until it has, and kills it if
        need be.

        Returns the problem, if any. Raises nothing else, since the closed node is often not what failed.
        """
        self._pipes.end_input()
        patience = Patience.of(its_service=self._grace_s, its_own_end=END_S_MAX)
        problem = None
        if not await self._ended(patience):
            late = patience.overdue(self.name, "end").message
            problem = f"{late}; it {'was killed' if await self.kill() else 'hangs in the kernel, and stays'}"
        await self._last_words()
        return problem

    async def _ended(self, patience: Patience) -> bool:
        """Waits for the end of the process, but not of its pipes, which its children may hold.

        False if it does not end in time.
        """
        try:
            await within(self._pipes.ended(), patience, self.name, "end")
        except OverdueError:
            return False
        return True

    async def kill(self) -> bool:
        """Kills the node; False if it hangs in the kernel, where nothing ends it."""
        self._pipes.kill()
        return await self._ended(KILL)

    async def exit_status_text(self) -> str:
        """How the node ended, in words.

        A node without further events is useless: it is killed if it does not end.
        """
        if self._pipes.lost is not None:
            return f"{self.name}: {self._pipes.lost}"
        await self._ended(KILL)
        code = self._pipes.returncode
        if code is None:
            await self.kill()
            how = "closed its output without ending"
        else:
            how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        said = (await self._last_words()).decode(errors="replace").strip().splitlines()
        last = said[-1].strip() if said else "it was gone before it had its orders" if self._missed else ""
        return f"{self.name} {how}{f': {last}' if last else ''}"

    async def _last_words(self) -> bytes:
        """The end of its stderr, which a process that it started may hold open."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._pipes.stderr_ended.wait(), LAST_WORDS_S_MAX)
        return self._pipes.stderr
