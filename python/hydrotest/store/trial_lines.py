"""Files of lines in a trial's folder, written as the lines come."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO


@dataclass
class TrialLines:
    """Files below a trial's folder, opened as they are needed."""

    folder: Path
    _open: dict[Path, TextIO] = field(default_factory=dict)

    def write(self, name: Path, line: str, header: str = "") -> None:
        """One more line of a file, which begins with `header`."""
        if name not in self._open:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open[name] = path.open("w")
            self._open[name].write(header)
        self._open[name].write(line + "\n")

    def close(self) -> None:
        """Closes all of them."""
        for handle in self._open.values():
            handle.close()
