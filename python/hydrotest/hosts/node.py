"""A running hydrotest-node: settings in, events out, gone when we are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.protocol import GREETING, check_hello, understood

LINE_BYTES_MAX = 256 << 20
"""The longest event is a generator's account of its records."""

Event = dict[str, Any]


def how_it_ended(exited: Event) -> str:
    """From the event `exited` of a supervised process: what follows “it ended”."""
    return f"by signal {exited['signal']}" if exited["signal"] is not None else f"with exit code {exited['code']}"


class Node:
    """One hydrotest-node process on some host."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self._process = process
        self._stderr: list[str] = []
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
        """Sends one JSON line. A node that is gone already shows so in its events."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            self._stderr.append("it was gone before it could be told what to do")

    async def greet(self) -> None:
        """Says which version of the protocol is spoken here, and hears which there. Raises `MissingToolError` where that is not the same."""
        await self.send(GREETING)
        try:
            hello = await self.expect("hello")
        except TrialFailedError as error:  # an older one takes the greeting for its settings
            check_hello(self.name, None, error.message.removeprefix(f"{self.name}: "))
        else:
            check_hello(self.name, hello)

    async def command(self, command: str, **fields: Any) -> None:
        """Sends a command (`Command` in rust/core/src/wire.rs)."""
        await self.send({"command": command, **fields})

    async def events(self) -> AsyncIterator[Event]:
        """Everything that the node says until it ends."""
        assert self._process.stdout is not None
        try:
            async for line in self._process.stdout:
                yield understood(self.name, line)
        except ValueError as error:  # a line cut by the node's death, or longer than any event
            await self.kill()
            raise TrialFailedError(await self.epitaph()) from error

    async def expect(self, wanted: str) -> Event:
        """The next event of this kind. Raises `TrialFailedError` with the node's own words if it fails or ends first."""
        async for event in self.events():
            if event["event"] == wanted:
                return event
            if event["event"] == "failed":
                raise TrialFailedError(f"{self.name}: {event['error']}")
        raise TrialFailedError(await self.epitaph())

    async def close(self) -> None:
        """Closes stdin, which ends the node and all that it started; waits until it has."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()
        await self._drain

    async def kill(self) -> None:
        """Ends the node without asking."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def epitaph(self) -> str:
        """How the node ended, in words."""
        code = await self._process.wait()
        await self._drain
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        said = f": {self._stderr[-1]}" if self._stderr else ""
        return f"{self.name} {how}{said}"

    async def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self._stderr.append(line.decode(errors="replace").rstrip())
            del self._stderr[:-50]
