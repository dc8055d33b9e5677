"""The run folder on disk: created once, locked while a run writes to it, readable ever after."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from pydantic import ValidationError

from hydrotest.clock import Clock, SystemClock, iso
from hydrotest.errors import BadInputError
from hydrotest.store import layout
from hydrotest.store.merging import merged_seconds
from hydrotest.store.records import Second, Trial


class RunFolder:
    """Reads and writes one run's folder."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self.path = path
        self._clock = clock or SystemClock()
        self._lock: TextIO | None = None

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """A folder that a run has left. Raises `BadInputError` if it is none."""
        if not (path / layout.EXPERIMENT).is_file():
            raise BadInputError("is no run folder: it has no experiment.yaml", "Name a folder that `hydrotest run` made.", file=path)
        return cls(path)

    def create(self, experiment: bytes) -> None:
        """Makes the folder for a new run and locks it."""
        if self.path.is_dir() and any(self.path.iterdir()):
            raise self._taken() if is_held(self.path / layout.LOCK) else BadInputError(
                "is not empty", "Name another folder with --out, or go on with --resume.", file=self.path
            )  # fmt: skip
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise BadInputError("is a file, not a folder", "Name another folder with --out.", file=self.path) from error
        self.lock()
        (self.path / layout.EXPERIMENT).write_bytes(experiment)

    def lock(self) -> None:
        """Keeps other runs out until `unlock` or the end of this process."""
        handle = (self.path / layout.LOCK).open("a")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            handle.close()
            raise self._taken() from error
        self._lock = handle

    def unlock(self) -> None:
        """Lets others in again."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None
            (self.path / layout.LOCK).unlink(missing_ok=True)

    def _taken(self) -> BadInputError:
        return BadInputError("another run is writing to this folder", "Wait for it, or name another folder with --out.", file=self.path)

    def write_json(self, name: str, value: Any) -> None:
        """Writes a file whole or not at all."""
        write_whole(self.path / name, json.dumps(value, indent=1, allow_nan=False) + "\n")

    def read_json(self, name: str) -> Any:
        """Reads a JSON file of the folder. Raises `BadInputError` if it is not there or damaged."""
        path = self.path / name
        try:
            return json.loads(path.read_text())
        except FileNotFoundError as error:
            raise BadInputError("is not there", "The run ended before it was written; run again with --resume.", file=path) from error
        except ValueError as error:
            raise BadInputError(f"is damaged: {error}", file=path) from error

    def has(self, name: str) -> bool:
        """True if the folder holds this file."""
        return (self.path / name).exists()

    def journal(self, what: str, **facts: Any) -> None:
        """Appends what was done, and when. On disk when this returns."""
        line = json.dumps({"at": iso(self._clock.wall_s()), "what": what, **facts}, allow_nan=False)
        with (self.path / layout.JOURNAL).open("a+b") as handle:
            # A line that a full disk or a crash cut must not swallow this one.
            handle.seek(max(0, handle.tell() - 1))
            is_cut = handle.read(1) not in (b"", b"\n")
            handle.write((b"\n" if is_cut else b"") + line.encode() + b"\n")
            handle.flush()
            os.fsync(handle.fileno())

    def read_journal(self) -> list[dict[str, Any]]:
        """All entries; a last line that was cut by a crash is left out."""
        path = self.path / layout.JOURNAL
        entries = []
        for line in path.read_text().splitlines() if path.exists() else []:
            with contextlib.suppress(ValueError):
                entries.append(json.loads(line))
        return entries

    def trial_path(self, number: int, slug: str) -> Path:
        """Makes and returns a trial's folder."""
        path = self.path / layout.trial_folder(number, slug)
        for part in ("load", "samples", "logs"):
            (path / part).mkdir(parents=True, exist_ok=True)
        return path

    def write_trial(self, trial: Trial) -> None:
        """Ends a trial: with this file it counts."""
        path = self.path / layout.trial_folder(trial.number, trial.slug) / layout.TRIAL
        write_whole(path, trial.model_dump_json(indent=1) + "\n")

    def trials(self) -> list[Trial]:
        """All ended trials, in order."""
        paths = sorted((self.path / layout.TRIALS).glob(f"*/{layout.TRIAL}"))
        trials = []
        for path in paths:
            try:
                trials.append(Trial.model_validate_json(path.read_text()))
            except ValidationError as error:
                raise BadInputError(f"is damaged: {error.errors()[0]['msg']}", file=path) from error
        return trials

    def folder_of(self, trial: Trial) -> Path:
        """Where a trial's files lie."""
        return self.path / layout.trial_folder(trial.number, trial.slug)

    def seconds(self, trial: Trial, workload: str) -> list[Second]:
        """A workload's counters second by second, over all its generators."""
        paths = layout.of_all_generators(self.folder_of(trial) / layout.seconds(workload))
        return merged_seconds([list(_read_seconds(path)) for path in paths])


def _read_seconds(path: Path) -> Iterator[Second]:
    for line in path.read_text().splitlines():
        yield Second.model_validate_json(line)


def is_held(lock: Path) -> bool:
    """True while a living process holds the lock on this file."""
    if not lock.exists():
        return False
    with lock.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def write_whole(path: Path, text: str) -> None:
    """Writes a file so that it is there whole or not at all, also after a crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    with partial.open("w") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    partial.rename(path)
