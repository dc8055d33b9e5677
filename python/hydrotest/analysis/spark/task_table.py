"""Attempts of tasks, in columns: a large log has a million of them, and what is asked for is a figure of many, not all figures of one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, overload

import msgspec
import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
"""One figure of each task; not a number where it is unknown."""
Derive = Callable[["TaskTable"], Mapping[str, Values]]
DURATION = "duration_s"


class Outcome(StrEnum):
    """How an attempt of a task ended."""

    DONE = "done"
    FAILED = "failed"
    KILLED = "killed"
    """Another attempt was faster, or it was no longer needed. Like Spark's own UI, this counts attempts whose
    commit was denied, too."""
    REPEATED = "repeated"
    """It was done, but its output was lost with its executor and repeated (`Resubmitted`)."""


class Task(msgspec.Struct, frozen=True, gc=False):
    """One attempt of a task; times in seconds, sizes in bytes. None: not in the log. An attempt that was
    killed before it started has only its times, and older logs lack what Spark did not yet count."""

    launched_s: float
    finished_s: float
    outcome: Outcome
    host: str | None
    locality: str | None
    index: int | None = None
    """The task of its stage."""
    run_s: float | None = None
    cpu_s: float | None = None
    gc_s: float | None = None
    deserialise_s: float | None = None
    serialise_s: float | None = None
    scheduler_delay_s: float | None = None
    """The rest of its duration: sending it out, and the report of its end, as in Spark's own UI
    (AppStatusUtils.schedulerDelay)."""
    getting_result_s: float | None = None
    fetch_wait_s: float | None = None
    shuffle_write_s: float | None = None
    input_bytes: int | None = None
    output_bytes: int | None = None
    shuffle_read_bytes: int | None = None
    remote_bytes: int | None = None
    remote_blocks: int | None = None
    local_blocks: int | None = None
    shuffle_write_bytes: int | None = None
    spill_bytes: int | None = None
    """On disk."""
    memory_spill_bytes: int | None = None
    """The same before it was serialised."""
    result_bytes: int | None = None
    peak_memory_bytes: int | None = None
    """Most execution memory that it held at a time."""
    is_speculative: bool = False
    executor: str | None = None

    @property
    def duration_s(self) -> float:
        """From its launch to its end, as the driver saw it."""
        return self.finished_s - self.launched_s


_WHOLE = tuple(one.name for one in msgspec.structs.fields(Task) if one.type == int | None)
FIGURES = (*(one.name for one in msgspec.structs.fields(Task) if one.type in (float, float | None)), *_WHOLE)
"""The names of a task's numbers."""
OUTCOMES = tuple(Outcome)
DONE, FAILED, KILLED, REPEATED = map(OUTCOMES.index, (Outcome.DONE, Outcome.FAILED, Outcome.KILLED, Outcome.REPEATED))
"""Outcomes as a column has them."""


class Place(NamedTuple):
    """Where a task ran: few places have all tasks of a log."""

    host: str | None
    locality: str | None
    executor: str | None


class Columns:
    """Attempts of tasks, one row for each. Whole numbers are exact up to 2^53, which are 9 PB."""

    def __init__(
        self,
        figures: Mapping[str, Values],
        outcome: npt.NDArray[np.int8],
        place: npt.NDArray[np.int32],
        is_speculative: npt.NDArray[np.bool_],
        places: Sequence[Place],
    ) -> None:
        """`figures` by the names of `FIGURES`; indices of `OUTCOMES` and of `places`."""
        self.figures = {**figures, DURATION: figures["finished_s"] - figures["launched_s"]}
        self.outcome = outcome
        self.place = place
        self.is_speculative = is_speculative
        self.places = places
        self.derived: dict[Derive, Mapping[str, Values]] = {}

    def __len__(self) -> int:
        return len(self.outcome)


class TaskTable(Sequence[Task]):
    """Some rows of columns, in their order."""

    def __init__(self, columns: Columns, rows: slice | npt.NDArray[np.intp]) -> None:
        """`rows`: a slice with a start and an end, or indices."""
        self._columns = columns
        self._rows = rows
        self._length = rows.stop - rows.start if isinstance(rows, slice) else len(rows)

    @classmethod
    def of(cls, tasks: Sequence[Task]) -> TaskTable:
        """The same tasks in columns."""
        if isinstance(tasks, cls):
            return tasks
        places: dict[Place, int] = {}
        place = [places.setdefault(Place(task.host, task.locality, task.executor), len(places)) for task in tasks]
        columns = Columns(
            {name: floats([getattr(task, name) for task in tasks]) for name in FIGURES},
            np.array([OUTCOMES.index(task.outcome) for task in tasks], dtype=np.int8), np.array(place, dtype=np.int32),
            np.array([task.is_speculative for task in tasks], dtype=bool), list(places),
        )  # fmt: skip
        return cls(columns, slice(0, len(tasks)))

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> TaskTable: ...
    def __getitem__(self, index: int | slice) -> Task | TaskTable:
        found = self._indices()[index]
        return self._task(int(found)) if isinstance(index, int) else TaskTable(self._columns, found)

    def __iter__(self) -> Iterator[Task]:
        return map(self._task, self._indices().tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(one == another for one, another in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _indices(self) -> npt.NDArray[np.intp]:
        return np.arange(self._rows.start, self._rows.stop) if isinstance(self._rows, slice) else self._rows

    def _task(self, row: int) -> Task:
        columns = self._columns
        place = columns.places[columns.place[row]]
        figures: dict[str, Any] = {}
        for name in FIGURES:
            value = float(columns.figures[name][row])
            figures[name] = None if math.isnan(value) else int(value) if name in _WHOLE else value
        return Task(
            outcome=OUTCOMES[columns.outcome[row]], host=place.host, locality=place.locality, executor=place.executor,
            is_speculative=bool(columns.is_speculative[row]), **figures,
        )  # fmt: skip

    def figure(self, name: str) -> Values:
        """One of `FIGURES`, or `DURATION`, of each task. Not to be written to."""
        return self._columns.figures[name][self._rows]

    def derived(self, derive: Derive) -> dict[str, Values]:
        """What follows from the figures of each task by themselves. It is calculated once, for all tasks of the columns: many stages have
        only a few."""
        columns = self._columns
        if derive not in columns.derived:
            columns.derived[derive] = derive(TaskTable(columns, slice(0, len(columns))))
        return {name: values[self._rows] for name, values in columns.derived[derive].items()}

    def have(self, outcome: Outcome) -> npt.NDArray[np.bool_]:
        """Which of them ended so."""
        found: npt.NDArray[np.bool_] = self._columns.outcome[self._rows] == OUTCOMES.index(outcome)
        return found

    def where(self, mask: npt.NDArray[np.bool_]) -> TaskTable:
        """Those for which it is true."""
        return TaskTable(self._columns, self._indices()[mask])

    @cached_property
    def outcomes(self) -> dict[Outcome, int]:
        """Number of tasks by how they ended."""
        counts: list[int] = np.bincount(self._columns.outcome[self._rows], minlength=len(OUTCOMES)).tolist()
        return dict(zip(OUTCOMES, counts, strict=True))

    @property
    def done(self) -> TaskTable:
        """Those that were done."""
        return self if self.outcomes[Outcome.DONE] == len(self) else self._done  # not held by itself, which only the collector would free

    @cached_property
    def _done(self) -> TaskTable:
        return self.where(self.have(Outcome.DONE))

    @property
    def by_launch(self) -> TaskTable:
        """In the order in which they were launched."""
        launched = self.figure("launched_s")
        if (launched[1:] >= launched[:-1]).all():
            return self
        return TaskTable(self._columns, self._indices()[np.argsort(launched, kind="stable")])

    @cached_property
    def different(self) -> int:
        """Number of tasks, each once, however many of its attempts there are; one without an index is another one."""
        indices = known(self.figure("index")).tolist()
        return len(set(indices)) + len(self) - len(indices)

    @property
    def speculative(self) -> int:
        """Number of those that were copies of slow ones."""
        return int(np.count_nonzero(self._columns.is_speculative[self._rows]))

    @property
    def places(self) -> dict[Place, int]:
        """Number of tasks by where they ran, in the order in which the places occur."""
        return {self._columns.places[place]: count for place, count in Counter(self._columns.place[self._rows].tolist()).items()}


def floats(values: Sequence[float | None]) -> Values:
    """As a column."""
    return np.array(values, dtype=np.float64)


def known(values: Values) -> Values:
    """Those that are."""
    unknown = np.isnan(values)
    return values[~unknown] if unknown.any() else values


def or_zero(values: Values) -> Values:
    """With 0 for what is unknown."""
    return np.where(np.isnan(values), 0.0, values)


def summed(columns: Iterable[Values]) -> float:
    """The sum of all of their values, added one after the other: numpy's own order depends on where a column begins."""
    values: Iterable[float] = chain.from_iterable(column.tolist() for column in columns)
    return sum(values)


def sum_of_known(values: Values) -> float | None:
    """The sum of those that are known; None without any."""
    total = sum(values.tolist())
    if math.isnan(total):
        values = known(values)
        total = sum(values.tolist())
    return float(total) if len(values) else None


def largest_of_known(values: Values) -> float | None:
    """The largest of those that are known; None without any."""
    values = known(values)
    return float(values.max()) if len(values) else None


def median_of(values: npt.NDArray[Any]) -> float:
    """The middle one, or the mean of both. `values` are not empty."""
    ordered, middle = np.sort(values), len(values) // 2
    found: float = ordered[middle].item() if len(values) % 2 else (ordered[middle - 1] + ordered[middle]).item() / 2
    return found


NO_TASKS = TaskTable.of(())
