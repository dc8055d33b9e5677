"""The run folder on disk: created once, locked while a run writes to it, readable ever after."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hydrotest.clock import Clock, SystemClock, iso
from hydrotest.errors import OTHERS_READ, BadInputError
from hydrotest.store import layout
from hydrotest.store.lock import Lock, is_held
from hydrotest.store.merging import merged_seconds
from hydrotest.store.records import Trial
from hydrotest.store.second_lines import SecondRead, read_second

REBUILT = "`hydrotest report RUN` writes summary.json anew; what else is damaged has to come from a copy, or from another run."
_HOST_KEYS = {"name", "cores", "ceilings"}
STARTED = "run started"
"""In the journal, at the start of a run and of each resumption: `format`, `run`, `hydrotest`, number of
earlier trials."""


class RunFolder:
    """Reads and writes one run's folder."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self.path = path
        self._clock = clock or SystemClock()
        self._lock = Lock(path / layout.LOCK)
        self._folders: dict[tuple[int, str], Path] = {}

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """An existing run folder. Raises `BadInputError` if it is not one, or has a newer format."""
        if not path.exists():
            raise BadInputError("the run folder is not there", "Name a folder that `hydrotest run` made.", file=path)
        if not (path / layout.EXPERIMENT).is_file():
            raise BadInputError(
                "this is not a run folder: it has no experiment.yaml", "Name a folder that `hydrotest run` made.", file=path
            )
        folder = cls(path)
        version = max((entry.get("format", 1) for entry in folder.read_journal() if entry["what"] == STARTED), default=1)
        if version > layout.FORMAT:
            raise BadInputError(
                f"the run has format {version}, of a newer hydrotest; this one reads formats up to {layout.FORMAT}",
                "Update hydrotest.",
                file=path,
            )
        return folder

    def create(self, experiment: bytes) -> None:
        """Creates the folder for a new run and locks it."""
        self._must_be_empty()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise BadInputError("the path is a file, not a folder", "Name another folder with --out.", file=self.path) from error
        self.lock()
        try:
            # Another run may have started and ended since.
            self._must_be_empty()
        except BadInputError:
            self.unlock()
            raise
        write_whole(self.path / layout.EXPERIMENT, experiment)

    def _must_be_empty(self) -> None:
        """Allows only a lock's file, and a file that is not complete: a run that was killed at once leaves no
        more."""
        unfinished = {layout.LOCK, _partial(Path(layout.EXPERIMENT)).name}
        if not self.path.is_dir() or all(entry.name in unfinished for entry in self.path.iterdir()):
            return
        if not self._lock.is_taken and is_held(self._lock.path):
            raise self._taken()
        raise BadInputError("the folder is not empty", "Name another folder with --out, or go on with --resume.", file=self.path)

    def lock(self) -> None:
        """Keeps other runs out until `unlock` or the end of this process."""
        if not self._lock.take():
            raise self._taken()

    def unlock(self) -> None:
        """Allows other runs again."""
        self._lock.release(remove=True)

    def _taken(self) -> BadInputError:
        return BadInputError("another run is writing to this folder", "Wait for it, or name another folder with --out.", file=self.path)

    def write_json(self, name: str, value: Any) -> None:
        """Writes a file completely or not at all."""
        write_whole(self.path / name, json.dumps(value, indent=1, allow_nan=False) + "\n")

    def read_json(self, name: str) -> Any:
        """Reads a JSON file of the folder. Raises `BadInputError` if it is missing or damaged."""
        path = self.path / name
        try:
            return json.loads(path.read_text())
        except FileNotFoundError as error:
            raise BadInputError(
                "the file is not there", "The run ended before it was written; run again with --resume.", file=path
            ) from error
        except ValueError as error:
            raise BadInputError(f"the file is damaged: {error}", REBUILT, file=path) from error

    def environment(self) -> dict[str, Any]:
        """The machines and versions; no hosts if that is not known. Raises `BadInputError` if the file is damaged."""
        found = self.read_json(layout.ENVIRONMENT) if self.has(layout.ENVIRONMENT) else {}
        hosts = found.get("hosts", []) if isinstance(found, dict) else None
        if not isinstance(hosts, list) or not all(isinstance(host, dict) and host.keys() >= _HOST_KEYS for host in hosts):
            needed = ", ".join(sorted(_HOST_KEYS))
            raise BadInputError(
                f"the file is damaged: it is not an object whose `hosts` have {needed}", REBUILT, file=self.path / layout.ENVIRONMENT
            )
        return {**found, "hosts": hosts}

    def has(self, name: str) -> bool:
        """True if the folder holds this file."""
        return (self.path / name).exists()

    def journal(self, what: str, **facts: Any) -> str:
        """Appends an entry with its time, which it returns. It is on disk then."""
        at = iso(self._clock.wall_s())
        line = json.dumps({"at": at, "what": what, **facts}, allow_nan=False)
        with (self.path / layout.JOURNAL).open("a+b") as handle:
            # A line that a full disk or a crash cut must not swallow this one.
            handle.seek(max(0, handle.tell() - 1))
            is_cut = handle.read(1) not in (b"", b"\n")
            handle.write((b"\n" if is_cut else b"") + line.encode() + b"\n")
            handle.flush()
            os.fsync(handle.fileno())
        return at

    def read_journal(self) -> list[dict[str, Any]]:
        """All entries; lines that were cut by a crash are left out. Raises `BadInputError` at one that no run has written."""
        path = self.path / layout.JOURNAL
        entries = []
        for number, line in enumerate(path.read_bytes().splitlines() if path.exists() else [], 1):
            # A run writes ASCII: a line that is cut stays text.
            if not line.isascii():
                raise BadInputError("the file is damaged: it is not text", REBUILT, file=path, line=number)
            with contextlib.suppress(ValueError):
                entry = json.loads(line)
                if not isinstance(entry, dict) or "what" not in entry:
                    raise BadInputError("the file is damaged: it is not an entry with the key 'what'", REBUILT, file=path, line=number)
                entries.append(entry)
        return entries

    def trial_path(self, number: int, slug: str) -> Path:
        """Creates and returns a trial's folder."""
        path = self.path / layout.trial_folder(number, slug)
        for part in ("load", "samples", "logs"):
            (path / part).mkdir(parents=True, exist_ok=True)
        return path

    def write_trial(self, trial: Trial) -> None:
        """Ends a trial: with this file it counts."""
        path = self.path / layout.trial_folder(trial.number, trial.slug) / layout.TRIAL
        write_whole(path, trial.model_dump_json(indent=1) + "\n")

    def trials(self) -> list[Trial]:
        """All ended trials, by number."""
        paths = (self.path / layout.TRIALS).glob(f"*/{layout.TRIAL}")
        trials = []
        for path in paths:
            try:
                trials.append(Trial.model_validate_json(path.read_text()))
            except ValueError as error:
                raise BadInputError(f"the file is damaged: {_reason(error)}", OTHERS_READ, file=path) from error
        return sorted(trials, key=lambda trial: trial.number)

    def folder_of(self, trial: Trial) -> Path:
        """A trial's folder."""
        key = trial.number, trial.slug
        if key not in self._folders:
            self._folders[key] = self.path / layout.trial_folder(*key)
        return self._folders[key]

    def seconds(self, trial: Trial, workload: str) -> Iterator[SecondRead]:
        """A workload's counters second by second, over all its generators."""
        paths = layout.of_all_generators(self.folder_of(trial) / layout.seconds(workload))
        return merged_seconds([_read_seconds(path) for path in paths])


def _read_seconds(path: Path) -> Iterator[SecondRead]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield read_second(line)
            except ValueError as error:
                raise BadInputError(f"the file is damaged: {_reason(error)}", OTHERS_READ, file=path, line=number) from error


def _reason(error: ValueError) -> str:
    """What is wrong with what was read, in a line."""
    return error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file completely or not at all, even in a crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    try:
        with partial.open("wb") as handle:
            handle.write(content.encode() if isinstance(content, str) else content)
            handle.flush()
            os.fsync(handle.fileno())
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    partial.rename(path)


def _partial(path: Path) -> Path:
    """The name of a file until it is complete."""
    return path.with_name(path.name + ".partial")
