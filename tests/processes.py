"""Which processes there are, by their command lines."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def processes_with(part: str) -> list[str]:
    """The ids of living processes whose command lines, with spaces between their words, have this in them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            line = (entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if part in line and state != "Z":
                found.append(entry.name)
    return found
