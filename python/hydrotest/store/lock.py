"""Locks on files: one process at a time holds one, and it ends with the process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
from pathlib import Path
from types import TracebackType
from typing import Self

_WHOLE_FILE = struct.Struct("hhqqi4x")
"""`struct flock`: kind, whence, start, length (0: to the end), process."""
_FIRST_FIELD = struct.Struct("h")


class Lock:
    """A lock on a file, which is created if it is missing. `with` waits for it.

    An open-file-description lock (fcntl(2)): unlike one of flock(2), `is_held` can check it without taking
    it. So a check does not get in a starting run's way.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    @property
    def is_taken(self) -> bool:
        """True while this object holds it."""
        return self._file is not None

    def take(self) -> bool:
        """Takes it; false if another holder has it. Raises OSError if the file cannot be created."""
        return self._take(fcntl.F_OFD_SETLK)

    def wait(self) -> None:
        """Takes it as soon as it is free."""
        while not self._take(fcntl.F_OFD_SETLKW):
            pass

    def release(self, remove: bool = False) -> None:
        """Frees it. With `remove` the file goes first, so that it is never one that another holder has."""
        file, self._file = self._file, None
        if file is not None:
            if remove:
                self.path.unlink(missing_ok=True)
            os.close(file)

    def __enter__(self) -> Self:
        self.wait()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self.release()

    def _take(self, command: int) -> bool:
        assert self._file is None, "it is held already"
        while True:
            with contextlib.ExitStack() as closing:
                file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                closing.callback(os.close, file)
                try:
                    fcntl.fcntl(file, command, _request(fcntl.F_WRLCK))
                except BlockingIOError:
                    return False
                if _is_at(file, self.path):
                    closing.pop_all()
                    self._file = file
                    return True
                # The previous holder removed the file between our opening and locking it: that lock excludes
                # no other process.


def is_held(path: Path) -> bool:
    """True while a living process holds the lock on this file. Takes nothing."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        answer = fcntl.fcntl(file, fcntl.F_OFD_GETLK, _request(fcntl.F_WRLCK))
    finally:
        os.close(file)
    (kind,) = _FIRST_FIELD.unpack_from(answer)
    return bool(kind != fcntl.F_UNLCK)


def _request(kind: int) -> bytes:
    return _WHOLE_FILE.pack(kind, os.SEEK_SET, 0, 0, 0)


def _is_at(file: int, path: Path) -> bool:
    """True if the open file is the one with this name."""
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(file), named)
