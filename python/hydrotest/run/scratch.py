"""The systems' data directories: locked while their run lives, removed with it, found again after a kill."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from pathlib import Path
from typing import TextIO

from hydrotest.errors import SystemFailedError
from hydrotest.hosts.catalogue import lab_of
from hydrotest.hosts.lab.lab import Lab
from hydrotest.store.folder import is_held

PREFIX = "hydrotest-run-"
LOCK = "owner.lock"


class Scratch:
    """One run's directory below a data root."""

    def __init__(self, root: Path, run: str) -> None:
        self.path = root / f"{PREFIX}{run}"
        self._lock: TextIO | None = None

    def claim(self) -> None:
        """Makes the directory and marks it as in use."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Nobody else reads what the systems keep: with logins, their stores hold what passwords can be guessed from.
        self.path.mkdir(mode=0o700, exist_ok=True)
        self._lock = (self.path / LOCK).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def remove(self) -> None:
        """Removes it with all data. Raises OSError for what resists; the rest of it can be found again then."""
        try:
            _remove(self.path)
        finally:
            if self._lock is not None:
                self._lock.close()


def _remove(path: Path) -> None:
    """A run's directory; who does it holds its lock. The mark by which it is found goes last."""
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name != LOCK:
            entry.unlink()
    (path / LOCK).unlink(missing_ok=True)
    path.rmdir()


def clear(lab: Lab) -> None:
    """Removes a lab. Raises `SystemFailedError` if something of it stays."""
    problems = lab.remove()
    if problems:
        raise SystemFailedError(f"the lab {lab.run} cannot be removed: {'; '.join(problems)}", "`hydrotest down` as root tries again.")


def is_owned(path: Path) -> bool:
    """True while the process that made this directory lives: its lock cannot be taken."""
    return is_held(path / LOCK)


def abandoned(root: Path) -> list[Path]:
    """What killed runs left below a data root."""
    # Mounts and processes are known by their whole paths.
    there = sorted(root.resolve().glob(f"{PREFIX}*")) if root.exists() else []
    return [path for path in there if (path / LOCK).exists() and not is_owned(path)]


def clear_abandoned(root: Path) -> list[Path]:
    """Removes what killed runs left below a data root, their labs included; what a living run uses, or is not ours, stays. Raises
    `SystemFailedError` for what resists."""
    removed = []
    for path in abandoned(root):
        with contextlib.suppress(BlockingIOError, FileNotFoundError), (path / LOCK).open("r+") as lock:  # somebody else removes it
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lab = lab_of(path)
            if lab.folder.exists():
                clear(lab)
            _remove(path)
            removed.append(path)
    return removed
