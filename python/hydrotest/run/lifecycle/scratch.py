"""The systems' data directories: locked while their run lives, removed with it, found again after a kill."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from hydrotest.errors import SystemFailedError
from hydrotest.hosts.catalogue import lab_of
from hydrotest.hosts.lab.lab import Lab
from hydrotest.places import data_root
from hydrotest.spec.models import Experiment
from hydrotest.store.lock import Lock, is_held

PREFIX = "hydrotest-run-"
BEGUN = "."
"""Prefix of a directory's name until it has a lock."""
LOCK = "owner.lock"


def scratch_root(experiment: Experiment) -> Path:
    """The folder of the systems' data: the hosts' `data`, or the cache.

    An absolute path without links, since mounts and processes are known by such paths.
    """
    named = (Path(host.data).expanduser() for host in experiment.hosts.values() if host.data and not host.is_remote)
    return next(named, data_root()).resolve()


class Scratch:
    """One run's directory below a data root."""

    def __init__(self, root: Path, run: str) -> None:
        self.path = root / f"{PREFIX}{run}"
        self._lock: Lock | None = None

    def claim(self) -> None:
        """Makes the directory and marks it as in use, at once: it gets its name when its lock is held.

        Raises OSError where it cannot be made.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        begun = self.path.with_name(BEGUN + self.path.name)
        while self._lock is None:
            # No other user may read the systems' data: with logins, their stores help to guess passwords.
            begun.mkdir(mode=0o700, exist_ok=True)
            lock = Lock(begun / LOCK)
            # Until the lock is taken, another run may take this one for killed, and remove it: then it is
            # repeated.
            with contextlib.suppress(FileNotFoundError):
                lock.wait()
                self._lock = lock
        begun.rename(self.path)
        self._lock.path = self.path / LOCK

    def remove(self) -> None:
        """Removes it with all data.

        Raises OSError for what cannot be removed; the rest can be found again then.
        """
        try:
            _remove(self.path)
        finally:
            if self._lock is not None:
                self._lock.release()


def _remove(path: Path) -> None:
    """Removes a run's directory; the caller holds its lock. The mark by which it is found goes last."""
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name != LOCK:
            entry.unlink()
    (path / LOCK).unlink(missing_ok=True)
    try:
        path.rmdir()
    except OSError:
        # Without its mark it counts as left by a killed run: then another process is removing it, too.
        if path.exists() and os.listdir(path) not in ([], [LOCK]):
            raise


def clear(lab: Lab) -> None:
    """Removes a lab. Raises `SystemFailedError` if a part of it remains."""
    problems = lab.remove()
    if problems:
        raise SystemFailedError(f"the lab {lab.run} cannot be removed: {'; '.join(problems)}", "`hydrotest down` as root tries again.")


def is_owned(path: Path) -> bool:
    """True while the process that made this directory lives: it holds its lock."""
    return is_held(path / LOCK)


def abandoned(root: Path) -> list[Path]:
    """Directories that killed runs left below a data root."""
    # Mounts and processes are known by their absolute paths.
    there = (
        [path for pattern in (f"{PREFIX}*", f"{BEGUN}{PREFIX}*") for path in sorted(root.resolve().glob(pattern))] if root.exists() else []
    )
    return [path for path in there if _is_abandoned(path)]


def _is_abandoned(path: Path) -> bool:
    """True for a directory of ours without a living run.

    A run that was killed before it had its lock, or after it removed the lock, left it empty. Other
    directories without a lock are not ours.
    """
    try:
        found = os.listdir(path)
    except (NotADirectoryError, FileNotFoundError, PermissionError):  # a file; removed just now; another user's
        return False
    return not is_owned(path) if LOCK in found else not found


def clear_abandoned(root: Path) -> list[Path]:
    """Removes what killed runs left below a data root, their labs included.

    Directories of living runs, and those that are not ours, stay. Raises `SystemFailedError` for what
    cannot be removed.
    """
    removed = []
    for path in abandoned(root):
        lock = Lock(path / LOCK)
        with contextlib.suppress(FileNotFoundError):  # another process has removed it
            if lock.take():
                try:
                    lab = lab_of(path)
                    if lab.folder.exists():
                        clear(lab)
                    _remove(path)
                finally:
                    lock.release()
                removed.append(path)
    return removed
