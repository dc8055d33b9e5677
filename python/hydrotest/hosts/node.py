"""A running hydrotest-node: takes settings, sends events, and ends when the controller does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

from hydrotest.errors import MissingToolError, OverdueError, TrialFailedError
from hydrotest.hosts.deadlines import Patience, cancelled, until, within
from hydrotest.hosts.protocol import GREETING, check_hello, understood

LINE_BYTES_MAX = 256 << 20
"""The longest event is a generator's account of its records."""
STDERR_BYTES_KEPT = 64 << 10
ANSWER = Patience(60.0, "it has only to start, or to look something up")
END_S_MAX = 30.0
"""From the end of its stdin to the end of a node; a supervisor also has its service's grace period."""
KILL = Patience(10.0, "what is killed is gone at once, unless it hangs in the kernel")
END_POLL_S = 0.01
LAST_WORDS_S_MAX = 2.0
"""From the end of a node to the end of its stderr, which a process that it started may hold open."""

Event = dict[str, Any]


def how_it_ended(exited: Event) -> str:
    """The text after “it ended”, from the event `exited` of a supervised process."""
    return f"by signal {exited['signal']}" if exited["signal"] is not None else f"with exit code {exited['code']}"


class Node:
    """One hydrotest-node process on some host."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, grace_s: float = 0.0) -> None:
        """`grace_s`: the grace period of its supervised process, once its stdin ends."""
        self.name = name
        self._process = process
        self._grace_s = grace_s
        self._stderr = b""
        self._drain = asyncio.create_task(self._read_stderr())

    @property
    def pid(self) -> int:
        """The node's process id on its host."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """False once it has ended."""
        return self._process.returncode is None

    async def send(self, message: dict[str, Any]) -> None:
        """Sends one JSON line. For a node that is gone, its events show that.

        Raises `OverdueError` if it reads nothing; it is killed then.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await within(self._process.stdin.drain(), ANSWER, self.name, "take in its orders")
        except (BrokenPipeError, ConnectionResetError):
            self._stderr += b"\nit was gone before it had its orders"
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
        assert self._process.stdout is not None
        line = b""
        try:
            read = self._process.stdout.readline()
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
        if self._process.stdin is not None:
            self._process.stdin.close()
        patience = Patience.of(its_service=self._grace_s, its_own_end=END_S_MAX)
        problem = None
        if not await self._ended(patience):
            late = patience.overdue(self.name, "end").message
            problem = f"{late}; it {'was killed' if await self.kill() else 'hangs in the kernel, and stays'}"
        await cancelled(self._drain, LAST_WORDS_S_MAX)
        return problem

    async def _ended(self, patience: Patience) -> bool:
        """Waits for the end of the process, but not of its pipes, which its children may hold.

        False if it does not end in time.
        """

        async def look() -> bool:
            return not self.is_running

        try:
            return await until(look, patience, self.name, "end", END_POLL_S)
        except OverdueError:
            return False

    async def kill(self) -> bool:
        """Kills the node; False if it hangs in the kernel, where nothing ends it."""
        if self._process.returncode is None:
            # Not the process's own `kill`: that first polls for its end and takes the exit code from the
            # loop, which then reports 255.
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(self._process.pid, signal.SIGKILL)
        return await self._ended(KILL)

    async def exit_status_text(self) -> str:
        """How the node ended, in words.

        A node without further events is useless: it is killed if it does not end.
        """
        await self._ended(KILL)
        code = self._process.returncode
        if code is None:
            await self.kill()
            how = "closed its output without ending"
        else:
            how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        await cancelled(self._drain, LAST_WORDS_S_MAX)
        said = self._stderr.decode(errors="replace").strip().splitlines()
        return f"{self.name} {how}{f': {said[-1].strip()}' if said else ''}"

    async def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(STDERR_BYTES_KEPT):
            self._stderr = (self._stderr + chunk)[-STDERR_BYTES_KEPT:]
