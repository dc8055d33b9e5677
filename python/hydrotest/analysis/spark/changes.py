"""What to change in a Spark application, and what it gains: its tasks, changed, laid out anew on the same slots.

A gain is of the application's wall time. Gains of several changes do not add up: they are of the same time.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence

import numpy as np

from hydrotest.analysis.spark.application import Application, application
from hydrotest.analysis.spark.event_parser import EventLog
from hydrotest.analysis.spark.task_table import DURATION, TaskTable, Values, median_of, or_zero, summed
from hydrotest.analysis.spark.tasks import Outcome, Stage
from hydrotest.analysis.spark.time_spent import StageTime, makespan, stage_times, wall_shares_s
from hydrotest.summary.event_log import ChangeKind, ChangeRow

SHARED_MIN = 0.1
"""Share of a stage's time beside another one, from which on it did not have all slots."""
GAIN_MIN = 0.02
"""Of the application's time; what gains less is not shown."""
SHOWN = 8
SLOW = 2.0
"""A task of so many medians is slow."""
MORE_DATA = 2.0
"""A task with so many medians of data is slow by its data."""
WAVES = 3
"""Tasks for each slot: as Spark's tuning guide has it, two to three."""
PIECE_S_MIN = 0.1
"""Smaller tasks cost more to hand out than they do."""
OVERHEAD_MIN = 0.3
"""Share of a task's time that is its scheduling and its own deserialisation, from which on tasks are too small."""
COPY_ENDS = 2.5
"""Medians after which a speculative copy is done: it starts after 1.5 of them (`spark.speculation.multiplier`)."""
PART_MIN = 0.1
"""Share of the tasks' time from which on a part is worth a change."""


def change_rows(log: EventLog, times: Sequence[StageTime] | None = None) -> list[ChangeRow]:
    """The changes that gain most, best first; those whose gain is not known last. `times`: of its stages, if they are known already."""
    whole = application(log)
    seconds = whole.seconds or whole.with_tasks_s
    shares = wall_shares_s(log.stages)
    found: list[ChangeRow] = []
    stages = log.stages
    shared = _shared(stages)
    for stage, stated in zip(stages, stage_times(stages) if times is None else times, strict=True):
        if stage.tasks:
            slots = _slots(stage, log, shared[stage.number, stage.attempt])
            found += _of_stage(stage, stated, slots, shares.get((stage.number, stage.attempt), 0.0))
    found += _of_driver(whole)
    known = sorted(
        (one for one in found if one.gain_s is not None and one.gain_s >= GAIN_MIN * seconds), key=lambda one: -(one.gain_s or 0.0)
    )
    unknown = [one for one in found if one.gain_s is None]
    return [one.model_copy(update={"gain_pct": 100 * one.gain_s / seconds if one.gain_s is not None and seconds > 0 else None})
            for one in [*known, *unknown][:SHOWN]]  # fmt: skip


def _shared(stages: Sequence[Stage]) -> dict[tuple[int, int], bool]:
    """Whether each attempt of a stage ran beside another one, for `SHARED_MIN` of its time."""
    spans = sorted((*stage.span_s, stage.number, stage.attempt) for stage in stages if stage.tasks)
    found = {}
    last_end = -math.inf
    for index, (begin, end, number, attempt) in enumerate(spans):
        enough = SHARED_MIN * (end - begin)
        is_shared = min(end, last_end) - begin > enough
        for its_begin, its_end, *_ in itertools.islice(spans, index + 1, None):
            if is_shared or end - its_begin <= enough:
                break  # no later one shares more
            is_shared = min(end, its_end) - its_begin > enough
        found[number, attempt] = is_shared
        last_end = max(last_end, end)
    return found


def _slots(stage: Stage, log: EventLog, is_shared: bool) -> int | None:
    """Slots that the stage had: those of the executors of its time; beside other stages no more than it used."""
    there = log.executors.slots_between(stage.cpus, *stage.span_s)
    if there is None or not is_shared:
        return there
    launched, finished = stage.table.figure("launched_s"), stage.table.figure("finished_s")
    moments, changes = np.concatenate([launched, finished]), np.repeat([1, -1], len(launched))
    return min(there, int(np.cumsum(changes[np.lexsort((changes, moments))]).max()))


def _of_driver(whole: Application) -> Iterator[ChangeRow]:
    if whole.between_s > 0:
        yield ChangeRow(kind=ChangeKind.DRIVER, gain_s=whole.between_s, is_bound=True, figures={"planning_s": whole.planning_s})
    if whole.in_jobs_s > 0:
        yield ChangeRow(kind=ChangeKind.WITHIN_JOBS, gain_s=whole.in_jobs_s, is_bound=True)


class _Laid:
    """A stage's tasks on their slots, and what another layout would gain of the application's time."""

    def __init__(self, stage: Stage, slots: int, share_s: float) -> None:
        self.stage = stage
        self.slots = slots
        self.share_s = share_s
        self.tasks = stage.done_tasks.by_launch
        self.lengths = self.tasks.figure(DURATION)
        self.durations = self.lengths.tolist()
        self._now = makespan(self.durations, slots)

    def gain_s(self, changed: Sequence[float]) -> float:
        """With tasks of these lengths."""
        return self.share_s * max(0.0, 1 - makespan(changed, self.slots) / self._now) if self._now > 0 else 0.0

    def row(self, kind: ChangeKind, gain_s: float | None, *, is_bound: bool = False, **figures: float) -> ChangeRow:
        stage = self.stage
        return ChangeRow(
            kind=kind, stage=stage.number, attempt=stage.attempt, name=stage.name, gain_s=gain_s, is_bound=is_bound, figures=figures
        )

    def split(self) -> list[float]:
        """Each task in pieces that are short enough for even slots."""
        piece = max(PIECE_S_MIN, sum(self.durations) / (WAVES * self.slots))
        return [one / math.ceil(one / piece) for one in self.durations if one > 0 for _ in range(math.ceil(one / piece))]


def _of_stage(stage: Stage, stated: StageTime, slots: int | None, share_s: float) -> Iterator[ChangeRow]:
    if slots is None:
        return
    laid = _Laid(stage, slots, share_s)
    if failed := stage.count(Outcome.FAILED):
        wasted_s = summed([stage.table.figure(DURATION)[stage.table.have(Outcome.FAILED)]])
        yield laid.row(ChangeKind.FAILURES, min(wasted_s, share_s), is_bound=True, failed=failed, wasted_s=wasted_s)
    if not laid.tasks or stated.seconds <= 0:
        return
    yield from _uneven(laid)
    yield from _too_small(laid)
    busy = sum(laid.durations)
    for part, kind in (("garbage collection", ChangeKind.HEAP), ("network wait", ChangeKind.NETWORK)):
        spent, ideal = stated.parts[part], stated.ideal_s[part]
        if spent is not None and ideal is not None and busy > 0 and spent >= PART_MIN * busy:
            yield laid.row(kind, share_s * max(0.0, 1 - ideal / stated.seconds), is_bound=True, share=spent / busy)
    if spilled := stage.known_total("spill_bytes"):
        yield laid.row(ChangeKind.SPILL, None, spilled_bytes=spilled, memory_bytes=stage.total("memory_spill_bytes"))


def _of_each(tasks: TaskTable) -> dict[str, Values]:
    """Bytes that each task reads, and seconds that it costs to hand it out."""
    handed_out = or_zero(tasks.figure("scheduler_delay_s")) + or_zero(tasks.figure("deserialise_s"))
    return {
        "data": or_zero(tasks.figure("input_bytes")) + or_zero(tasks.figure("shuffle_read_bytes")),
        "overhead": np.minimum(tasks.figure(DURATION), handed_out),
    }


def _uneven(laid: _Laid) -> Iterator[ChangeRow]:
    """Tasks that are too few, or too uneven: by their data, or for no reason in the log."""
    middle, longest = median_of(laid.lengths), max(laid.durations)
    data = laid.tasks.derived(_of_each)["data"].astype(np.int64)
    usual = median_of(data)
    is_slow = laid.lengths > SLOW * middle
    slow, larger = int(is_slow.sum()), int((is_slow & (data > MORE_DATA * usual)).sum())
    if larger:
        yield laid.row(ChangeKind.SKEW, laid.gain_s(laid.split()), tasks=larger, longest_s=longest, median_s=middle, data_bytes=int(data.max()),
                       median_bytes=usual)  # fmt: skip
    elif slow and middle > 0:
        copied = [min(one, COPY_ENDS * middle) for one in laid.durations]
        yield laid.row(ChangeKind.STRAGGLERS, laid.gain_s(copied), tasks=slow, longest_s=longest, median_s=middle)
    elif len(laid.tasks) < WAVES * laid.slots:
        yield laid.row(ChangeKind.MORE_TASKS, laid.gain_s(laid.split()), tasks=len(laid.tasks), slots=laid.slots)


def _too_small(laid: _Laid) -> Iterator[ChangeRow]:
    """Tasks that cost more to hand out than they do."""
    overhead = laid.tasks.derived(_of_each)["overhead"].tolist()
    total, fewer = sum(laid.durations), WAVES * laid.slots
    if total > 0 and sum(overhead) > OVERHEAD_MIN * total and len(laid.tasks) > fewer:
        each = statistics.fmean(overhead) + (total - sum(overhead)) / fewer
        yield laid.row(
            ChangeKind.FEWER_TASKS, laid.gain_s([each] * fewer), tasks=len(laid.tasks), overhead=sum(overhead) / total, fewer=fewer
        )
