"""Ends of tasks in an event log, gathered into columns."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hydrotest.analysis.spark.event_fast import NO_INPUT, NO_METRICS, NO_OUTPUT, NO_SHUFFLE_READ, NO_SHUFFLE_WRITE, TaskEnd
from hydrotest.analysis.spark.event_fields import NUMBER_MAX
from hydrotest.analysis.spark.task_table import DONE, FAILED, FIGURES, KILLED, REPEATED, Columns, Place, TaskTable, Values, floats, or_zero

WANTED = ("TaskKilled", "TaskCommitDenied")
"""Reasons of ends that are not failures, as in Spark's own UI (AppStatusListener.onTaskEnd): another attempt
was faster."""
EXECUTOR_LOST = "ExecutorLostFailure"
PIECE = 512
"""Ends that are put into columns at a time: as objects they are two kilobytes each, which the core's cache is to hold."""

Key = tuple[int, int]
"""A stage, and its attempt."""
Where = tuple[str | None, str | None, str | None]
"""The fields of a `Place`."""
Piece = dict[str, npt.NDArray[Any]]


class TaskEnds:
    """Takes ends one by one; `settle` gives those of a stage that count."""

    def __init__(self) -> None:
        self.left_out: Counter[Key] = Counter()
        """Ends with impossible times: missing, 0, or before the launch."""
        self._waiting: list[TaskEnd] = []
        self._pieces: list[Piece] = []
        self._places: defaultdict[Where, int] = defaultdict(lambda: len(self._places))

    def add(self, end: TaskEnd) -> None:
        """Takes an end."""
        self._waiting.append(end)
        if len(self._waiting) == PIECE:
            self._put_away()

    def _put_away(self) -> None:
        piece = {**_what(self._waiting, self._places), **_figures(self._waiting)}
        launched, finished = piece["launched_s"], piece["finished_s"]
        is_possible = (launched > 0) & (launched <= finished) & (finished < NUMBER_MAX / 1e3)
        if not is_possible.all():
            for stage, attempt in zip(piece["stage"][~is_possible].tolist(), piece["attempt"][~is_possible].tolist(), strict=True):
                self.left_out[stage, attempt] += 1
            piece = {name: values[is_possible] for name, values in piece.items()}
        self._pieces.append(piece)
        self._waiting = []

    def by_stage(self) -> dict[Key, StageEnds]:
        """All that were taken, in order of their stages, and within each in that of the log. Takes no more from then on."""
        self._put_away()
        stage, attempt = self._column("stage"), self._column("attempt")
        order = np.lexsort((attempt, stage))
        # One column after the other, so that no more than one of them is held twice.
        rest = {name: self._column(name)[order] for name in list(self._pieces[0])}
        self._pieces = []
        places = [Place(*place) for place in self._places]
        columns = Columns({name: rest[name] for name in FIGURES}, rest["outcome"], rest["place"], rest["is_speculative"], places)
        stage, attempt = stage[order], attempt[order]
        begins = [0, *(np.flatnonzero(np.diff(stage) | np.diff(attempt)) + 1).tolist()] if len(order) else []
        return {
            (int(stage[begin]), int(attempt[begin])): StageEnds(columns, rest["task"], rest["is_lost"], slice(begin, end))
            for begin, end in itertools.pairwise([*begins, len(order)])
        }

    def _column(self, name: str) -> npt.NDArray[Any]:
        return np.concatenate([piece.pop(name) for piece in self._pieces])


class StageEnds:
    """The ends of an attempt of a stage."""

    def __init__(self, columns: Columns, ids: npt.NDArray[np.int64], is_lost: npt.NDArray[np.bool_], rows: slice) -> None:
        """`ids` of tasks and `is_lost`, for each row of the columns: it ended with its executor."""
        self._columns = columns
        self._rows = rows
        self._ids = ids[rows]
        self._is_lost = is_lost[rows]

    def settled(self, repeated: set[int], was_wanted_away: Callable[[str | None], bool]) -> tuple[TaskTable, int]:
        """Those that count, and the number of those that are there twice. `repeated`: ids of tasks whose output was lost;
        `was_wanted_away`: whether an executor was removed on purpose, so that what ran on it did not fail."""
        ids: list[int] = self._ids.tolist()
        lost = np.flatnonzero(self._is_lost).tolist()
        if not repeated and not lost and len(set(ids)) == len(ids):
            return TaskTable(self._columns, self._rows), 0
        outcome, first = self._columns.outcome, self._rows.start
        executors = {ids[at]: self._columns.places[self._columns.place[first + at]].executor for at in lost}
        kept: list[int] = []
        seen: set[int] = set()
        for row, task in enumerate(ids, first):
            if task in seen:
                continue
            seen.add(task)
            kept.append(row)
            if task in repeated and outcome[row] == DONE:
                outcome[row] = REPEATED
            elif task in executors and was_wanted_away(executors[task]):
                outcome[row] = KILLED
        return TaskTable(self._columns, np.array(kept, dtype=np.intp)), len(ids) - len(kept)


_OUTCOMES: dict[str | None, int] = {None: DONE, "Success": DONE} | dict.fromkeys(WANTED, KILLED)
"""By the reason for an end; for any other one the task failed."""


def _what(ends: Sequence[TaskEnd], places: dict[Where, int]) -> Piece:
    """What the ends are of, and how and where they came about."""
    infos = [end.info for end in ends]
    reasons = [end.reason.reason if end.reason is not None else None for end in ends]
    outcome = np.array([_OUTCOMES.get(reason, FAILED) for reason in reasons], dtype=np.int8)
    outcome[np.array([one.failed is True for one in infos], dtype=bool) & (outcome == DONE)] = FAILED
    outcome[np.array([one.killed is True for one in infos], dtype=bool)] = KILLED  # Spark 1 says so by the reason only
    return {
        "stage": np.array([end.stage for end in ends], dtype=np.int64),
        "attempt": np.array([end.attempt or 0 for end in ends], dtype=np.int64),
        "task": np.array([one.task for one in infos], dtype=np.int64),
        "outcome": outcome,
        "is_lost": np.array([reason == EXECUTOR_LOST for reason in reasons], dtype=bool),
        "place": np.array([places[one.host, one.locality, one.executor] for one in infos], dtype=np.int32),
        "is_speculative": np.array([one.speculative is True for one in infos], dtype=bool),
    }


def _sizes(values: Sequence[int | None]) -> Values:
    """As a column; what is below zero is not known."""
    found = floats(values)
    return np.where(found < 0, np.nan, found)


def _figures(ends: Sequence[TaskEnd]) -> dict[str, Values]:
    """Their numbers, by the names of `FIGURES`."""
    infos = [end.info for end in ends]
    metrics = [end.metrics or NO_METRICS for end in ends]
    reads, writes = [one.read or NO_SHUFFLE_READ for one in metrics], [one.write or NO_SHUFFLE_WRITE for one in metrics]
    found = {
        "launched_s": floats([one.launched for one in infos]) / 1e3,
        "finished_s": floats([one.finished for one in infos]) / 1e3,
        "index": floats([one.index for one in infos]),
        "run_s": floats([one.run for one in metrics]) / 1e3,
        "cpu_s": floats([one.cpu for one in metrics]) / 1e9,
        "gc_s": floats([one.gc for one in metrics]) / 1e3,
        "deserialise_s": floats([one.deserialise for one in metrics]) / 1e3,
        "serialise_s": floats([one.serialise for one in metrics]) / 1e3,
        "fetch_wait_s": floats([one.wait for one in reads]) / 1e3,
        "shuffle_write_s": floats([one.time for one in writes]) / 1e9,
        "input_bytes": _sizes([(one.input or NO_INPUT).bytes for one in metrics]),
        "output_bytes": _sizes([(one.output or NO_OUTPUT).bytes for one in metrics]),
        "remote_bytes": _sizes([one.remote_bytes for one in reads]),
        "remote_blocks": _sizes([one.remote_blocks for one in reads]),
        "local_blocks": _sizes([one.local_blocks for one in reads]),
        "shuffle_write_bytes": _sizes([one.bytes for one in writes]),
        "spill_bytes": _sizes([one.spilled for one in metrics]),
        "memory_spill_bytes": _sizes([one.memory_spilled for one in metrics]),
        "result_bytes": _sizes([one.result for one in metrics]),
        "peak_memory_bytes": _sizes([one.peak for one in metrics]),
    }
    found["shuffle_read_bytes"] = found["remote_bytes"] + _sizes([one.local_bytes for one in reads])
    got_s = or_zero(floats([one.got_result for one in infos]) / 1e3)
    getting_s = np.where(got_s != 0, np.maximum(0.0, found["finished_s"] - got_s), 0.0)
    own_s = found["run_s"] + or_zero(found["deserialise_s"]) + or_zero(found["serialise_s"])
    found["scheduler_delay_s"] = np.maximum(0.0, found["finished_s"] - found["launched_s"] - own_s - getting_s)
    has_begun = np.array([one != NO_METRICS for one in metrics], dtype=bool)  # without any, it was killed before
    found["getting_result_s"] = np.where(has_begun, getting_s, np.nan)
    return found
