"""What is under way with a hub: a process by its pipes, a question, a file."""

from __future__ import annotations

import asyncio
import os
from typing import Any, Protocol

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.frames import BODY_BYTES_MAX, Header
from hydrotest.hosts.node import LINE_BYTES_MAX

STDERR_BYTES_KEPT = 16 << 10


class ConnectionLostError(TrialFailedError):
    """A host cannot be reached, or not any more; what runs there ends by itself."""

    said = ""
    """The end of what the command that reaches it has said."""


class Sender(Protocol):
    """A hub, as far as a process needs it."""

    def send(self, number: int, ask: str, body: bytes = b"", **fields: Any) -> None:
        """Sends a request about what has this number."""


class Channel:
    """A process that a hub has started, by its pipes."""

    def __init__(self, hub: Sender, number: int) -> None:
        self._hub = hub
        self._number = number
        self.stdout = asyncio.StreamReader(limit=LINE_BYTES_MAX)
        self.stderr = b""
        """The end of it."""
        self.stderr_ended = asyncio.Event()
        self.pid = 0
        self.returncode: int | None = None
        """Negative: the signal that ended it."""
        self.lost: str | None = None
        """Why its host cannot be reached any more."""
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ended = asyncio.Event()
        self._output_ended = False
        self._sent = 0
        self._taken = 0
        self._news = asyncio.Event()
        self._refused: OSError | None = None

    async def started(self) -> None:
        """Returns when it has begun. Raises `OSError` if it cannot be started."""
        await asyncio.shield(self._started)  # who gives up waiting does not keep it from beginning

    async def write(self, data: bytes) -> None:
        """Sends input, and returns when the process has taken it in. Raises `OSError` where it is gone."""
        for start in range(0, len(data), BODY_BYTES_MAX):
            piece = data[start : start + BODY_BYTES_MAX]
            self._sent += len(piece)
            self._hub.send(self._number, "input", piece)
        while self._taken < self._sent and not self._ended.is_set():
            self._news.clear()
            if self._refused is not None:
                raise self._refused
            await self._news.wait()
        if self._taken < self._sent:
            raise BrokenPipeError

    def end_input(self) -> None:
        """Closes its stdin."""
        self._hub.send(self._number, "end_input")

    def kill(self) -> None:
        """Sends SIGKILL."""
        self._hub.send(self._number, "kill")

    async def ended(self) -> None:
        """Returns when the process has ended; its pipes may be held by what it has started."""
        await self._ended.wait()

    def take(self, header: Header, body: bytes) -> bool:
        """Takes a reply in; true after the last one."""
        match header["say"]:
            case "started":
                self.pid = header["pid"]
                self._started.set_result(None)
            case "out":
                self.stdout.feed_data(body)
            case "out_end":
                self._end_output()
            case "err":
                self.stderr = (self.stderr + body)[-STDERR_BYTES_KEPT:]
            case "err_end":
                self.stderr_ended.set()
            case "taken":
                self._taken += header["taken"]
                self._news.set()
            case "failed" if not self._started.done():
                self._started.set_exception(error_of(header))
                return True
            case "failed":
                self._refused = error_of(header)
                self._news.set()
            case "exited":
                self._end(-header["signal"] if header["signal"] is not None else header["code"])
        return self.returncode is not None and self._output_ended and self.stderr_ended.is_set()

    def lose(self, why: str) -> None:
        """Its host cannot be reached any more."""
        self.lost = why
        if not self._started.done():
            self._started.set_exception(ConnectionLostError(why))
            self._started.exception()  # there may be nobody any more who waits for it
        if self.returncode is None:
            self._end(1)
        self._end_output()
        self.stderr_ended.set()

    def _end_output(self) -> None:
        self._output_ended = True
        self.stdout.feed_eof()

    def _end(self, code: int) -> None:
        self.returncode = code
        self._ended.set()
        self._news.set()


class Question:
    """A question to a hub, or a file under way."""

    def __init__(self, where: str | None = None) -> None:
        """`where`: the file that it is about."""
        self._where = where
        self.pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.taken = 0
        self.news = asyncio.Event()

    def take(self, header: Header, body: bytes) -> bool:
        """Takes a reply in; true after the last one."""
        match header["say"]:
            case "piece":
                self.pieces.put_nowait(body)
                return False
            case "taken":
                self.taken += header["taken"]
                self.news.set()
                return False
            case "done":
                self._settle(header["result"], None)
            case _:
                self._settle(None, error_of(header, self._where))
        return True

    def lose(self, why: str) -> None:
        """The host cannot be reached any more."""
        self._settle(None, ConnectionLostError(why))

    def _settle(self, result: Any, error: Exception | None) -> None:
        if not self.answer.done():
            if error is None:
                self.answer.set_result(result)
            else:
                self.answer.set_exception(error)
        self.pieces.put_nowait(None)
        self.news.set()


def error_of(header: Header, where: str | None = None) -> OSError:
    """A hub's refusal as the error that this system would raise for it; `where`: the file that it is about."""
    errno = header.get("errno")
    return OSError(header["error"]) if errno is None else OSError(errno, os.strerror(errno), where)
