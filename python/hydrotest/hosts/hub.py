"""The one process of a host that the controller speaks to (`hydrotest-node hub`).

All nodes of the host, its files and its ports go through its stdin and stdout, whatever carries those:
a child process here, ssh, or any other command.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from hydrotest.errors import MissingToolError, OverdueError
from hydrotest.hosts.channel import STDERR_BYTES_KEPT, Channel, ConnectionLostError, Question
from hydrotest.hosts.deadlines import SLOW, Patience, cancelled, within
from hydrotest.hosts.files import ANYBODY, Content
from hydrotest.hosts.frames import BODY_BYTES_MAX, Frames, frame
from hydrotest.hosts.node import Node
from hydrotest.hosts.protocol import GREETING, check_hello, understood

BEAT_S = 1.0
"""Interval at which the controller shows that it is there …"""
BEATS_IN_LEASE = 4
"""… or shorter, so that so many are due in a lease."""
START = Patience.of(logging_in_and_copying=SLOW * 20.0)
ANSWER = Patience.of(one_look_at_a_disk=60.0)
TRANSFER = Patience.of(a_piece_of_a_file=120.0)
ABANDON = Patience.of(one_look_at_a_disk=10.0)
END = Patience.of(its_processes=90.0)
"""From the end of its stdin to the end of a hub: its processes have their grace periods."""
LOST = Patience.of(a_command_whose_other_end_is_gone=5.0)
LAST_WORDS_S = 0.1
WINDOW_BYTES = 8 << 20
"""Bytes of an upload that may be under way: more would only fill the memory of a host with a slow disk."""
SHELL, SHELL_ANSWER = b"hydrotest-shell ", b"hydrotest-binary "
"""How the lines of the shell begin that becomes a hub (`remote.bootstrap.SCRIPT`)."""
OWN_BINARY = ""
"""As the first word of a command: the binary that the hub itself is."""


@dataclass(frozen=True)
class Binary:
    """A build of hydrotest-node."""

    path: Path
    digest: str
    """SHA-256 in hexadecimal digits."""
    bytes: int


BinaryFor = Callable[[str], Binary]
"""The build for a kind of machine (`uname -m`); raises `MissingToolError` without one."""


@dataclass(frozen=True)
class Hello:
    """What a hub says of itself first."""

    pid: int
    uid: int
    home: PurePath
    arch: str
    host_name: str


class Hub(asyncio.SubprocessProtocol):
    """The connection to one host's hub."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why the host cannot be reached any more; resolved too when it is closed."""
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._buffer = b""
        self._frames: Frames | None = None
        self._threads: dict[int, Channel | Question] = {}
        """What is under way, by number."""
        self._number = 0
        self._stderr = b""
        self._exited = asyncio.Event()
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._heard = 0.0
        self._beating: asyncio.Task[None] | None = None
        self._hello: asyncio.Future[Hello] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.SubprocessTransport
        self._stdin: asyncio.WriteTransport

    @classmethod
    async def open(cls, host: str, argv: Sequence[str], lease_s: float | None = None, binary_for: BinaryFor | None = None) -> Hub:
        """Starts a hub by a command that gives its stdin and stdout.

        With `binary_for`, the command gives those of a shell that runs `remote.bootstrap.SCRIPT`: the hub for
        its kind of machine is copied there if it is not there yet. Raises `MissingToolError` where it has
        another version, `ConnectionLostError` where it does not start.
        """
        hub = cls(host)
        # The controller handles Ctrl-C: a hub ends when its stdin does.
        try:
            await asyncio.get_running_loop().subprocess_exec(lambda: hub, *argv, start_new_session=True)
        except OSError as error:
            raise MissingToolError(
                f"{host}: {argv[0]} cannot be started: {error.strerror or error}", "Install it, or correct the host."
            ) from error
        try:
            if binary_for is not None:
                await within(hub._bring(binary_for), START, f"the shell on {host}", "take hydrotest-node in")
            await within(hub._greet(lease_s), START, f"the hub on {host}", "begin")
        except ConnectionLostError as error:
            await hub.close()  # by now it has said all that it had to say
            words = hub._last_words()
            lost = ConnectionLostError(error.message.removesuffix(words) + words)
            lost.said = hub._stderr.decode(errors="replace")
            raise lost from error
        except BaseException:
            await hub.close()
            raise
        return hub

    async def _bring(self, binary_for: BinaryFor) -> None:
        """Gives the shell there the binary for its machine."""
        machine = await self._line_with(SHELL)
        binary = await asyncio.to_thread(binary_for, machine)
        self._stdin.write(f"{binary.digest} {binary.bytes}\n".encode())
        while (answer := await self._line_with(SHELL_ANSWER)) != "have":
            if answer != "want":
                raise ConnectionLostError(f"{self.host} did not take hydrotest-node in{self._last_words()}")
            with binary.path.open("rb") as handle:
                while piece := handle.read(BODY_BYTES_MAX):
                    self._stdin.write(piece)
                    await self._may_write.wait()

    async def _line_with(self, prefix: bytes) -> str:
        """What follows this prefix, in the next line that has it: a login shell may say anything else."""
        while not (line := await self._line()).startswith(prefix):
            pass
        return line.removeprefix(prefix).decode().strip()

    async def _greet(self, lease_s: float | None) -> None:
        self._stdin.write(json.dumps(GREETING).encode() + b"\n")
        while not (line := await self._line()).startswith(b'{"event":'):
            pass  # a login shell's own words
        check_hello(f"the hub on {self.host}", understood(self.host, line))
        self._stdin.write(json.dumps({"lease_s": lease_s}).encode() + b"\n")
        self._frames = Frames()
        while not self._lines.empty():
            self._buffer += self._lines.get_nowait()
        self._take(self._buffer)
        self.hello = await self._hello
        if lease_s is not None:
            self._beating = asyncio.create_task(self._beat(lease_s))

    async def _line(self) -> bytes:
        """The next line before the frames begin."""
        while b"\n" not in self._buffer:
            if self.lost.done():
                raise ConnectionLostError(self.lost.result())
            self._buffer += await self._lines.get()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    async def _beat(self, lease_s: float) -> None:
        """Shows that we are there, and notices when the host is not."""
        self._heard = asyncio.get_running_loop().time()
        while not self.lost.done():
            self.send(0, "beat")
            await asyncio.sleep(min(BEAT_S, lease_s / BEATS_IN_LEASE))
            silent_s = asyncio.get_running_loop().time() - self._heard
            if silent_s > lease_s:
                self._lose(f"{self.host} has said nothing for {silent_s:.0f} s")

    async def start(self, name: str, argv: Sequence[str], settings: Mapping[str, Any]) -> Node:
        """Starts a node, or a program that speaks its protocol, and sends it its settings.

        Raises `MissingToolError` where it cannot be started, or has another version of the protocol.
        """
        grace_s = float(settings.get("grace_s", 0.0))
        channel = Channel(self, self._next())
        self._begin(channel._number, channel)
        self.send(channel._number, "start", argv=list(argv), grace_s=grace_s)
        node = Node(f"{name} on {self.host}", channel, grace_s)
        try:
            await within(channel.started(), ANSWER, self.host, f"start {name}")
            await node.greet()
            await node.send(dict(settings))
        except OSError as error:
            raise MissingToolError(f"{node.name} cannot be started: {argv[0] or 'hydrotest-node'}: {error.strerror or error}") from error
        except BaseException:  # a cancelled start must not leave its node behind either
            await node.close()
            raise
        return node

    async def ask(self, ask: str, body: bytes = b"", patience: Patience = ANSWER, **fields: Any) -> Any:
        """The answer to a question. Raises `OSError` as the same call here would."""
        question = self._question(ask, body, **fields)
        return await within(asyncio.shield(question.answer), patience, self.host, f"answer ({ask})")

    async def get(self, path: PurePath, start: int) -> AsyncIterator[bytes]:
        """A file's bytes from `start` on, in pieces."""
        question = self._question("get", path=str(path), start=start)
        while (piece := await within(question.pieces.get(), TRANSFER, self.host, f"send {path}")) is not None:
            yield piece
        await question.answer

    async def put(self, path: PurePath, content: Content, mode: int = ANYBODY) -> None:
        """Writes a file; it appears complete or not at all."""
        question = self._question("put", path=str(path), mode=mode)
        number, sent = self._number, 0
        try:
            async for piece in _pieces(content):
                sent += len(piece)
                self.send(number, "input", piece)
                while sent - question.taken > WINDOW_BYTES and not question.answer.done():
                    question.news.clear()
                    await within(question.news.wait(), TRANSFER, self.host, f"write {path}")
                await within(self._may_write.wait(), TRANSFER, self.host, f"take {path} in")
        except BaseException:
            self.send(number, "abandon")
            with contextlib.suppress(Exception):  # the first error is the one to report
                await within(asyncio.shield(question.answer), ABANDON, self.host, f"give {path} up")
            raise
        self.send(number, "end_input")
        await within(asyncio.shield(question.answer), TRANSFER, self.host, f"write {path}")

    def send(self, number: int, ask: str, body: bytes = b"", **fields: Any) -> None:
        """Sends a frame. After the connection is lost, it has no effect."""
        if self.is_open and not self._stdin.is_closing():
            self._stdin.write(frame(number, ask, body, **fields))

    async def close(self) -> str | None:
        """Ends the hub and all that it has started. Returns the problem, if any."""
        if self._beating is not None:
            await cancelled(self._beating)
        self._stdin.close()
        problem = None
        patience = END if self.is_open and self._hello.done() else LOST
        try:
            await within(self._exited.wait(), patience, f"the hub on {self.host}", "end")
        except OverdueError as error:
            problem = error.message
        self._transport.close()  # kills what is left
        self._lose(f"the hub on {self.host} was closed")
        return problem

    @property
    def is_open(self) -> bool:
        """False once the host cannot be reached any more."""
        return not self.lost.done()

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _question(self, ask: str, body: bytes = b"", **fields: Any) -> Question:
        path = fields.get("path", fields.get("folder"))
        question = Question(None if path is None else f"{self.host}:{path}")
        self._begin(self._next(), question)
        self.send(self._number, ask, body, **fields)
        return question

    def _begin(self, number: int, thread: Channel | Question) -> None:
        if self.lost.done():
            thread.lose(self.lost.result())
        else:
            self._threads[number] = thread

    def _take(self, data: bytes) -> None:
        assert self._frames is not None
        self._heard = asyncio.get_running_loop().time()
        try:
            for header, body in self._frames.feed(data):
                if header["say"] == "ready":
                    about = {key: value for key, value in header.items() if key not in ("id", "bytes", "say")}
                    self._hello.set_result(Hello(**about | {"home": PurePath(about["home"])}))
                elif (thread := self._threads.get(header["id"])) is not None and thread.take(header, body):
                    del self._threads[header["id"]]
        except ValueError as error:
            self._lose(f"{self.host} said something that is not of a hub: {error}")

    def _lose(self, why: str) -> None:
        if self.lost.done():
            return
        self.lost.set_result(why)
        # What carried it may be gone while the hub still listens: it ends now, and not only with its lease.
        self._stdin.close()
        self._lines.put_nowait(b"")
        self._may_write.set()
        if not self._hello.done():
            self._hello.set_exception(ConnectionLostError(why))
            self._hello.exception()  # there may be nobody yet who waits for it
        threads, self._threads = self._threads, {}
        for thread in threads.values():
            thread.lose(why)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.SubprocessProtocol`."""
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        self._stdin = stdin

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """See `asyncio.SubprocessProtocol`."""
        if fd == 2:
            self._stderr = (self._stderr + data)[-STDERR_BYTES_KEPT:]
        elif self._frames is None:
            self._lines.put_nowait(data)
        else:
            self._take(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """See `asyncio.SubprocessProtocol`."""
        if fd == 1:
            self._lose_soon()

    def process_exited(self) -> None:
        """See `asyncio.SubprocessProtocol`."""
        self._exited.set()
        # Its output may be held open by what it has started.
        self._lose_soon()

    def pause_writing(self) -> None:
        """See `asyncio.SubprocessProtocol`."""
        self._may_write.clear()

    def resume_writing(self) -> None:
        """See `asyncio.SubprocessProtocol`."""
        self._may_write.set()

    def _lose_soon(self) -> None:
        """What it said last is read from another pipe."""
        asyncio.get_running_loop().call_later(
            LAST_WORDS_S, lambda: self._lose(f"the connection to {self.host} was lost{self._last_words()}")
        )

    def _last_words(self) -> str:
        said = self._stderr.decode(errors="replace").strip().splitlines()
        return f": {said[-1].strip()}" if said else ""


async def _pieces(content: Content) -> AsyncIterator[bytes]:
    """Content in pieces that fit in a frame."""
    if isinstance(content, bytes):
        for start in range(0, len(content), BODY_BYTES_MAX):
            yield content[start : start + BODY_BYTES_MAX]
    else:
        async for piece in content:
            for start in range(0, len(piece), BODY_BYTES_MAX):
                yield piece[start : start + BODY_BYTES_MAX]
