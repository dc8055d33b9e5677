"""A host without a machine: its files are in memory, its nodes say what a test has them say."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any

from hydrotest.hosts.base import Counting, HostFacts
from hydrotest.hosts.files import ANYBODY, Content
from hydrotest.hosts.node import Event, Node
from hydrotest.hosts.ports import FREE_PORT_MIN

PIECE = 4
"""Bytes; so small that pieces show."""


class MemoryFiles:
    """`Files` in memory; tests/test_host_files.py holds it to the same as those of a disk."""

    def __init__(self) -> None:
        self.files: dict[PurePath, bytes] = {}
        self.modes: dict[PurePath, int] = {}
        """Of files and folders."""

    async def put(self, path: PurePath, content: Content, mode: int = ANYBODY) -> None:
        data = content if isinstance(content, bytes) else b"".join([piece async for piece in content])
        if self._is_folder(path):
            raise IsADirectoryError(str(path))
        await self.make_folder(path.parent)
        self.files[path], self.modes[path] = data, mode

    async def append(self, path: PurePath, content: bytes) -> None:
        await self.put(path, self.files.get(path, b"") + content, self.modes.get(path, ANYBODY))

    async def get(self, path: PurePath, start: int = 0) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(str(path))
        return self.files[path][start:]

    async def open(self, path: PurePath, start: int = 0) -> AsyncIterator[bytes]:
        data = await self.get(path, start)
        for at in range(0, len(data), PIECE):
            yield data[at : at + PIECE]

    async def tail(self, path: PurePath, most: int) -> bytes:
        data = self.files.get(path, b"")
        return data[max(0, len(data) - most) :]

    async def size(self, path: PurePath) -> int | None:
        return len(self.files[path]) if path in self.files else None

    async def glob(self, folder: PurePath, pattern: str) -> list[PurePath]:
        below = [path for path in self.modes if folder in path.parents]
        return sorted(path for path in below if _matches(path.relative_to(folder).parts, tuple(pattern.split("/"))))

    async def make_folder(self, path: PurePath, mode: int = 0o777) -> None:
        if any(one in self.files for one in (path, *path.parents)):
            raise FileExistsError(str(path))
        for one in reversed(path.parents):
            self.modes.setdefault(one, 0o777)
        self.modes.setdefault(path, mode)

    async def remove(self, path: PurePath) -> None:
        for one in [one for one in self.modes if one == path or path in one.parents]:
            self.files.pop(one, None)
            del self.modes[one]

    def _is_folder(self, path: PurePath) -> bool:
        return path in self.modes and path not in self.files


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[skipped:], pattern[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


class FakeNode(Node):
    """Sends these events, and then nothing until it is closed."""

    def __init__(self, name: str, events: list[Event]) -> None:
        self.name = name
        self.sent: list[dict[str, Any]] = []
        self._events = list(events)
        self._closed = asyncio.Event()

    @property
    def pid(self) -> int:
        return 4711

    @property
    def is_running(self) -> bool:
        return not self._closed.is_set()

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    async def next_event(self, patience: Any = None) -> Event | None:
        if self._events:
            return self._events.pop(0)
        await self._closed.wait()
        return None

    async def close(self) -> str | None:
        self._closed.set()
        return None

    async def exit_status_text(self) -> str:
        return f"{self.name} was closed"


class FakeHost(MemoryFiles):
    """A `Host`. Commands whose arguments hold one of `ends` come to their end, others are services; `answer` is what questions get."""

    processors: int | None = None
    relievable = False

    def __init__(self, name: str = "here", address: str = "10.0.0.1", answer: Callable[[Any], Any] = lambda question: {}) -> None:
        super().__init__()
        self.name = name
        self.address = address
        self.answer = answer
        self.ends = ("format", "-format")
        self.started: list[dict[str, Any]] = []
        """Settings of what was supervised."""
        self.asked: list[Any] = []
        self._ports = itertools.count(FREE_PORT_MIN + 1)

    async def node(self, subcommand: str, settings: Mapping[str, Any], program: Sequence[str] = ()) -> Node:
        if subcommand == "query":
            self.asked.append(settings)
            return FakeNode(subcommand, [{"event": "done", "result": self.answer(settings)}])
        assert subcommand == "supervise"
        # As the real one does it; it cannot start in a folder that is not there.
        assert self._is_folder(PurePath(settings["directory"]))
        self.started.append(dict(settings))
        log = PurePath(settings["log"])
        if log not in self.files:
            await self.put(log, b"")
        ended = any(end in settings["argv"] for end in self.ends)
        exited = {"event": "exited", "code": 0, "signal": None, "cpu_s": 0.1}
        return FakeNode(subcommand, [{"event": "spawned", "pid": 1}, *([exited] if ended else [])])

    async def close(self) -> str | None:
        return None

    @property
    def lease_s(self) -> None:
        return None

    async def until_reopened(self) -> None:
        await asyncio.Event().wait()

    async def reopen(self) -> None:
        pass

    async def until_lost(self) -> str:
        await asyncio.Event().wait()
        return ""

    @property
    def machine(self) -> str:
        return ""

    async def java(self) -> PurePath:
        return PurePath("/java/bin/java")

    async def copy_of(self, path: Path) -> PurePath:
        return path

    async def facts(self) -> HostFacts:
        return HostFacts(cores=3, memory_bytes=4 << 30, kernel="6", cpu_model="none")

    @property
    def data_directory(self) -> PurePath:
        return PurePath("/data")

    def emulated(self) -> dict[str, Any] | None:
        return None

    def queue_drops(self) -> Counting | None:
        return None

    @property
    def squeezable(self) -> list[str]:
        return []

    async def give(self, resource: str, factor: float) -> None:
        raise NotImplementedError

    async def free_port(self) -> int:
        return next(self._ports)

    async def reserve_port(self, port: int) -> bool:
        return True

    async def port_holder(self, port: int) -> str | None:
        return None

    def scratch(self, run: str) -> PurePath:
        return self.data_directory / run / self.name

    def argv(self, name: str) -> list[str]:
        """Of the last command whose arguments hold a word."""
        return next(one["argv"] for one in reversed(self.started) if any(name in part for part in one["argv"]))
