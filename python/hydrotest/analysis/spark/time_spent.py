"""Where a Spark job's time went, and what it would be if a part of it were free: blocked-time analysis.

After K. Ousterhout et al., "Making Sense of Performance in Data Analytics Frameworks" (NSDI 2015). Each
task's time is split by what it was blocked on. A part is taken out of all tasks, and the tasks are laid out
anew on the same cores in the same order. That gives the ideal time without that part.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hydrotest.analysis.spark.task_table import DURATION, TaskTable, Values, or_zero, sum_of_known, summed
from hydrotest.analysis.spark.tasks import Doubt, Group, Job, Outcome, Stage, doubt_of
from hydrotest.summary.event_log import StageRow
from hydrotest.summary.spark import Doubt as DoubtRow
from hydrotest.summary.spark import JobTime


def _sum(*values: float | None) -> float | None:
    """The sum of known values; None without any."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _both(tasks: TaskTable, one: str, other: str) -> Values:
    """The sum of two figures, where at least one is known."""
    first, second = tasks.figure(one), tasks.figure(other)
    return np.where(np.isnan(first) & np.isnan(second), np.nan, or_zero(first) + or_zero(second))


def _cpu(tasks: TaskTable) -> Values:
    """No more than the task ran, apart from its garbage collection."""
    cpu_s, run_s = tasks.figure("cpu_s"), tasks.figure("run_s")
    most_s = np.maximum(0.0, run_s - or_zero(tasks.figure("gc_s")))
    return np.where(np.isnan(run_s), cpu_s, np.minimum(cpu_s, most_s))


PARTS: dict[str, Callable[[TaskTable], Values]] = {
    "cpu": _cpu,
    "network wait": lambda tasks: tasks.figure("fetch_wait_s"),
    "shuffle write": lambda tasks: tasks.figure("shuffle_write_s"),
    "garbage collection": lambda tasks: tasks.figure("gc_s"),
    "scheduler": lambda tasks: _both(tasks, "scheduler_delay_s", "getting_result_s"),
    "serialisation": lambda tasks: _both(tasks, "deserialise_s", "serialise_s"),
}
"""Seconds of each task by activity. The rest of its duration is `other`: disk reads, waiting
for a core, and unknown time. CPU that compresses while a shuffle is written counts in both: parts are bounded
by the rest, in this order."""
OTHER = "other"


@dataclass(frozen=True)
class StageTime:
    """One attempt of a stage. Seconds summed over its completed tasks, by part; its own length, and its
    length without each part. None: unknown."""

    number: int
    attempt: int
    name: str | None
    tasks: int
    seconds: float
    parts: dict[str, float | None]
    ideal_s: dict[str, float | None]
    longest_task_s: float
    cores_used: float
    """Mean number of busy cores."""
    doubt: Doubt | None
    """Tasks that are missing from all these sums."""


def share_of(parts_s: Mapping[str, float | None], part: str) -> float | None:
    """A part's share of all of its tasks' time; None if unknown, as with tasks that took no time."""
    every, seconds = sum(value or 0.0 for value in parts_s.values()), parts_s[part]
    return None if seconds is None or every <= 0 else seconds / every


def makespan(durations: Sequence[float], slots: int) -> float:
    """How long tasks take in so many slots; each goes to the slot that is free first."""
    if len(durations) <= slots:
        return max(durations, default=0.0)
    free, take = [0.0] * max(1, slots), heapq.heapreplace
    for duration in durations:
        take(free, free[0] + duration)
    return max(free)


def stage_time(stage: Stage) -> StageTime:
    """Its length is the time from its first launch to its last end. The length without a part is unknown if
    its slots are."""
    tasks = stage.done_tasks.by_launch
    durations, split = tasks.figure(DURATION), tasks.derived(parts_of)
    in_order = durations.tolist()
    seconds = float(tasks.figure("finished_s").max() - tasks.figure("launched_s").min()) if tasks else 0.0
    busy = sum(in_order)
    totals = {part: sum_of_known(values) if tasks else 0.0 for part, values in split.items()}
    ideal: dict[str, float | None] = {}
    laid_out = makespan(in_order, stage.slots or 1)
    for part, values in split.items():
        if stage.slots is None or totals[part] is None:
            ideal[part] = None
            continue
        without = laid_out if not totals[part] else makespan((durations - or_zero(values)).tolist(), stage.slots)
        ideal[part] = seconds * without / laid_out if laid_out > 0 else seconds
    longest = max(in_order, default=0.0)
    cores_used = stage.cpus * busy / seconds if seconds > 0 else 0.0
    return StageTime(stage.number, stage.attempt, stage.name, stage.done, seconds, totals, ideal, longest, cores_used, stage.doubt)


def parts_of(tasks: TaskTable) -> dict[str, Values]:
    """How each task's duration is split by part: known parts of a task add up to it."""
    left = tasks.figure(DURATION)
    found = {}
    for name, seconds in PARTS.items():
        found[name] = np.minimum(left, np.maximum(0.0, seconds(tasks)))  # both keep what is not a number
        left = left - or_zero(found[name])
    found[OTHER] = left
    return found


def critical_path_s(stages: Sequence[Stage]) -> float:
    """The longest chain of stages that wait for each other, each as long as its longest task: no number of
    cores makes it shorter.

    A stage waits for its parents, an attempt for the one before it, and a job for those that had ended when
    the driver started it.
    """
    longest: dict[int, float] = defaultdict(float)
    parents: dict[int, list[int]] = {}
    jobs: dict[int, Job | None] = {}
    for stage in stages:
        longest[stage.number] += max(stage.done_tasks.figure(DURATION).tolist(), default=0.0)
        parents[stage.number] = stage.parents
        jobs[stage.number] = stage.job
    stages_of: dict[Job, list[int]] = defaultdict(list)
    for number in sorted(longest):
        if (job := jobs[number]) is not None:
            stages_of[job].append(number)
    path: dict[int, float] = {}
    before_now = 0.0
    ends: dict[Job, float] = {}
    moments = [(job.began, True, job) for job in stages_of] + [(job.ended, False, job) for job in stages_of if job.ended is not None]

    def lay(numbers: Sequence[int], before: float) -> float:
        for number in numbers:
            path[number] = longest[number] + max((path.get(parent, 0.0) for parent in parents[number]), default=0.0)
            path[number] = max(path[number], longest[number] + before)
        return max((path[number] for number in numbers), default=before)

    for _, is_begin, job in sorted(moments, key=lambda moment: moment[:2]):
        if is_begin:
            ends[job] = lay(stages_of[job], before_now)
        else:
            before_now = max(before_now, ends[job])
    lay([number for number in sorted(longest) if jobs[number] is None], 0.0)
    return max(path.values(), default=0.0)


def cores_max(stages: Sequence[Stage]) -> float | None:
    """Most cores that it can use: all its work over its critical path; None if it did nothing."""
    path = critical_path_s(stages)
    work = summed(stage.done_tasks.figure(DURATION) * stage.cpus for stage in stages)
    return work / path if path > 0 else None


def job_time(group: Group) -> JobTime:
    """A job's time: its tasks' seconds by part, how much shorter its stages would be in total without each
    part, and the gain from cores."""
    stated = [stage_time(stage) for stage in group.stages]
    seconds = sum(one.seconds for one in stated)
    parts = [*PARTS, OTHER]

    def shorter_pct(part: str) -> float | None:
        # A part that is unknown in all tasks of one stage cannot be taken out there; one unknown in all
        # stages stays unknown.
        ideal = [one.seconds if one.parts[part] is None else one.ideal_s[part] for one in stated]
        known = [value for value in ideal if value is not None]
        if len(known) < len(ideal) or (stated and all(one.parts[part] is None for one in stated)):
            return None
        return (1 - sum(known) / seconds) * 100 if seconds > 0 else 0.0

    return JobTime(
        parts_s={part: _sum(*(one.parts[part] for one in stated)) if stated else 0.0 for part in parts},
        shorter_pct={part: shorter_pct(part) for part in parts},
        critical_path_s=critical_path_s(group.stages), cores_max=cores_max(group.stages), cores=group.cores or 0,
        doubt=doubt_row(doubt_of(group.stages)),
    )  # fmt: skip


def wall_shares_s(stages: Sequence[Stage]) -> dict[tuple[int, int], float]:
    """Seconds of the application's time that each attempt of a stage accounts for. While several run, a moment is shared by how many
    cores each keeps busy on average."""
    spans = []
    for stage in stages:
        if stage.tasks:
            begin, end = stage.span_s
            busy = stage.total(DURATION) * stage.cpus
            spans.append(((stage.number, stage.attempt), begin, end, busy / (end - begin) if end > begin else 0.0))
    moments = sorted({moment for _, begin, end, _ in spans for moment in (begin, end)})
    starts: dict[float, list[int]] = defaultdict(list)
    for index, (_, begin, end, _) in enumerate(spans):
        if end > begin:
            starts[begin].append(index)
    shares = {key: 0.0 for key, *_ in spans}
    active: set[int] = set()
    for at, until in itertools.pairwise(moments):
        active = {index for index in active if spans[index][2] > at} | set(starts[at])
        weight = sum(spans[index][3] for index in active)
        for index in active:
            shares[spans[index][0]] += (until - at) * (spans[index][3] / weight if weight > 0 else 1 / len(active))
    return shares


def stage_times(stages: Sequence[Stage]) -> list[StageTime]:
    """Of each of them."""
    return [stage_time(stage) for stage in stages]


def time_rows(stages: Sequence[Stage], times: Sequence[StageTime] | None = None) -> list[StageRow]:
    """One row for each attempt of a stage, as the report shows them. Null: not in the log. `times`: theirs, if they are known already."""
    shares_s = wall_shares_s(stages)
    known = stage_times(stages) if times is None else times
    return [_time_row(stage, stated, shares_s.get((stage.number, stage.attempt), 0.0)) for stage, stated in zip(stages, known, strict=True)]


def _time_row(stage: Stage, stated: StageTime, share_s: float) -> StageRow:
    did = stated if stated.tasks else None

    def whole(what: str) -> int | None:
        value = stage.known_total(what)
        return None if value is None else int(value)

    def largest_whole(what: str) -> int | None:
        value = stage.largest(what)
        return None if value is None else int(value)

    return StageRow(
        stage=stated.number, attempt=stated.attempt, name=stated.name, tasks=stated.tasks, planned=stage.planned,
        failed_tasks=stage.count(Outcome.FAILED), killed_tasks=stage.count(Outcome.KILLED), repeated_tasks=stage.count(Outcome.REPEATED),
        failure=stage.failure, seconds=did.seconds if did else None, parts_s=did.parts if did else dict.fromkeys(stated.parts),
        ideal_s=did.ideal_s if did else dict.fromkeys(stated.ideal_s), longest_task_s=did.longest_task_s if did else None,
        cores_used=did.cores_used if did else None, task_cpus=stage.cpus, slots=stage.slots, skew=stage.skew,
        input_bytes=whole("input_bytes"), shuffle_read_bytes=whole("shuffle_read_bytes"), remote_bytes=whole("remote_bytes"),
        shuffle_write_bytes=whole("shuffle_write_bytes"), spill_bytes=whole("spill_bytes"), result_bytes=whole("result_bytes"),
        remote_blocks=whole("remote_blocks"), local_blocks=whole("local_blocks"),
        max_shuffle_read_s=stage.largest("fetch_wait_s"), max_shuffle_write_s=stage.largest("shuffle_write_s"),
        share_s=share_s, tail_s=stage.tail_s, speculative_tasks=stage.table.speculative, wasted_s=stage.wasted_s,
        peak_task_memory_bytes=largest_whole("peak_memory_bytes"), localities=stage.localities, doubt=doubt_row(stated.doubt),
    )  # fmt: skip


def doubt_row(doubt: Doubt | None) -> DoubtRow | None:
    """The doubt in the form of the summary."""
    return None if doubt is None else DoubtRow(started=doubt.started, known=doubt.known, left_out=doubt.left_out)
