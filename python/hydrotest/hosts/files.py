"""The files of a host, the same wherever it is, for all code that configures, starts or reads something
there.

Paths are absolute and of the host: `PurePath` can be joined and printed, but not opened here by mistake.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from pathlib import PurePath
from typing import Protocol

ANYBODY = 0o666
"""Mode of a file without secrets; the user's umask applies."""
OWNER = 0o600
"""Mode of a file with secrets."""


class Private(str):
    """The text of a file that only its owner may read. Its `repr` hides it from errors and logs."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Private(…)"


Content = bytes | AsyncIterable[bytes]
"""Content to write; in pieces if it is large."""


class Files(Protocol):
    """The files of one host.

    Failures raise `OSError`; a missing file raises `FileNotFoundError` unless noted otherwise.
    """

    async def put(self, path: PurePath, content: Content, mode: int = ANYBODY) -> None:
        """Writes a file, with its parent folders.

        The file appears complete or not at all. It has its mode from its first byte on, also in place of
        one with another mode.
        """
        ...

    async def append(self, path: PurePath, content: bytes) -> None:
        """Writes at the end of a file; makes it if it is not there."""
        ...

    async def get(self, path: PurePath, start: int = 0) -> bytes:
        """The bytes of a file from `start` on."""
        ...

    def open(self, path: PurePath, start: int = 0) -> AsyncIterator[bytes]:
        """The same in pieces, for a large file: `await there.put(path, here.open(path))` copies it."""
        ...

    async def tail(self, path: PurePath, most: int) -> bytes:
        """The last bytes of a file, at most so many; empty if it does not exist."""
        ...

    async def size(self, path: PurePath) -> int | None:
        """A file's size in bytes; None if there is no file of that name."""
        ...

    async def glob(self, folder: PurePath, pattern: str) -> list[PurePath]:
        """Paths below a folder that match a pattern (`*.jar`, or `**/*.jar` at any depth), sorted; empty
        if there is no such folder."""
        ...

    async def make_folder(self, path: PurePath, mode: int = 0o777) -> None:
        """Makes a folder and its parents; an existing one stays as it is.

        `mode` applies to the folder itself.
        """
        ...

    async def remove(self, path: PurePath) -> None:
        """Removes a file, or a folder with its content; links are not followed.

        Does nothing if it does not exist.
        """
        ...


async def place(files: Files, folder: PurePath, rendered: Mapping[str, str], folders: Sequence[str] = ()) -> None:
    """Writes texts below a folder, and makes empty `folders` there.

    Only the owner can read `Private` ones.
    """
    await files.make_folder(folder)
    for name in folders:
        await files.make_folder(folder / name)
    for name, text in rendered.items():
        await files.put(folder / name, text.encode(), OWNER if isinstance(text, Private) else ANYBODY)
