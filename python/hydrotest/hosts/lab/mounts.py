"""The kernel's table of mounts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

TABLE = Path("/proc/self/mounts")
_ESCAPED = re.compile(rb"\\([0-7]{3})")
"""The kernel's escapes for blanks, tabs, line ends and backslashes (proc(5), "mangle")."""


@dataclass(frozen=True)
class Mount:
    """One line of the table."""

    at: Path
    kind: str
    options: list[str]


def mounts(table: Path = TABLE) -> list[Mount]:
    """The mounts, and their places."""
    rows = [line.split(b" ") for line in table.read_bytes().splitlines()]
    return [Mount(Path(_plain(row[1])), _plain(row[2]), _plain(row[3]).split(",")) for row in rows]


def is_mounted(at: Path, table: Path = TABLE) -> bool:
    """True if a file system is mounted there, through whatever links the path goes."""
    whole = at.resolve()
    return any(mount.at == whole for mount in mounts(table))


def _plain(field: bytes) -> str:
    # As Python decodes file names: bytes that are not text are kept.
    return _ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), field).decode(errors="surrogateescape")
