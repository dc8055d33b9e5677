"""Where a Spark job's time went, and what it would be if a part of it were free: blocked-time analysis.

After K. Ousterhout et al., "Making Sense of Performance in Data Analytics Frameworks" (NSDI 2015): each task's time is what it was blocked on; a
part taken out of all tasks, and the tasks laid out anew on the same cores in the same order, gives the ideal time without that part.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hydrotest.analysis.event_log import Group, Stage, Task

PARTS: dict[str, Callable[[Task], float]] = {
    "cpu": lambda task: min(task.cpu_s, max(0.0, task.run_s - task.gc_s)),
    "network wait": lambda task: task.fetch_wait_s,
    "shuffle write": lambda task: task.shuffle_write_s,
    "garbage collection": lambda task: task.gc_s,
    "scheduler": lambda task: task.scheduler_delay_s + task.getting_result_s,
    "serialisation": lambda task: task.deserialise_s + task.serialise_s,
}
"""Seconds of each task by what they were spent on. What is left of its duration is `other`, disk reads and waiting for a core among it. CPU that
compresses while a shuffle is written counts in both: parts are bounded by what is left, in this order."""
OTHER = "other"


@dataclass(frozen=True)
class StageTime:
    """One stage. Seconds summed over its tasks, by part; its own length, and what that would be without each part."""

    number: int
    name: str
    tasks: int
    seconds: float
    parts: dict[str, float]
    ideal_s: dict[str, float]
    longest_task_s: float
    cores_used: float
    """Cores that it kept busy on average."""


def parts_of(task: Task) -> dict[str, float]:
    """A task's duration by part; the parts add up to it."""
    left = task.duration_s
    found = {}
    for name, seconds in PARTS.items():
        found[name] = min(left, max(0.0, seconds(task)))
        left -= found[name]
    found[OTHER] = left
    return found


def makespan(durations: Sequence[float], cores: int) -> float:
    """How long tasks take on so many cores, each taken in its turn by the core that is free first."""
    free = [0.0] * max(1, min(cores, len(durations)))
    for duration in durations:
        heapq.heapreplace(free, free[0] + duration)
    return max(free)


def stage_time(stage: Stage, cores: int) -> StageTime:
    """`cores`: those that its application had. Its length is the time from its first launch to its last end."""
    tasks = sorted((task for task in stage.tasks if not task.failed), key=lambda task: task.launched_s)
    split = [parts_of(task) for task in tasks]
    begin, end = min((task.launched_s for task in tasks), default=0.0), max((task.finished_s for task in tasks), default=0.0)
    seconds = end - begin
    busy = sum(task.duration_s for task in tasks)
    laid_out = makespan([task.duration_s for task in tasks], cores) if tasks else 0.0
    ideal = {}
    for part in [*PARTS, OTHER]:
        without = makespan([task.duration_s - one[part] for task, one in zip(tasks, split, strict=True)], cores) if tasks else 0.0
        ideal[part] = seconds * without / laid_out if laid_out > 0 else seconds
    totals = {part: sum(one[part] for one in split) for part in [*PARTS, OTHER]}
    longest = max((task.duration_s for task in tasks), default=0.0)
    return StageTime(stage.number, stage.name, len(tasks), seconds, totals, ideal, longest, busy / seconds if seconds > 0 else 0.0)


def critical_path_s(stages: Sequence[Stage]) -> float:
    """The longest chain of stages that wait for each other, each as long as its longest task: no number of cores makes it shorter."""
    by_number = {stage.number: stage for stage in stages}
    known: dict[int, float] = {}
    for number in sorted(by_number):
        stage = by_number[number]
        before = max((known.get(parent, 0.0) for parent in stage.parents), default=0.0)
        known[number] = before + max((task.duration_s for task in stage.tasks if not task.failed), default=0.0)
    return max(known.values(), default=0.0)


def cores_max(stages: Sequence[Stage]) -> float:
    """The cores that it can use at most: all its work over its critical path."""
    path = critical_path_s(stages)
    work = sum(task.duration_s for stage in stages for task in stage.tasks if not task.failed)
    return work / path if path > 0 else 0.0


def job_time(group: Group) -> dict[str, Any]:
    """A job's time: its tasks' seconds by part, how much shorter its stages would be in all without each part, and what cores can do."""
    told = [stage_time(stage, group.cores) for stage in group.stages]
    seconds = sum(one.seconds for one in told)
    parts = [*PARTS, OTHER]
    return {
        "parts_s": {part: sum(one.parts[part] for one in told) for part in parts},
        "shorter_pct": {part: (1 - sum(one.ideal_s[part] for one in told) / seconds) * 100 if seconds > 0 else 0.0 for part in parts},
        "critical_path_s": critical_path_s(group.stages), "cores_max": cores_max(group.stages), "cores": group.cores,
    }  # fmt: skip


def time_rows(stages: Sequence[Stage], cores: int) -> list[dict[str, Any]]:
    """One row a stage, as the report shows them."""
    rows = []
    for stage in stages:
        told = stage_time(stage, cores)
        rows.append({
            "stage": told.number, "name": told.name, "tasks": told.tasks, "planned": stage.planned, "failed_tasks": stage.failed_tasks,
            "failure": stage.failure, "seconds": told.seconds, "parts_s": told.parts, "ideal_s": told.ideal_s,
            "longest_task_s": told.longest_task_s, "cores_used": told.cores_used, "skew": stage.skew,
            **{what: int(stage.total(what)) for what in ("input_bytes", "shuffle_read_bytes", "remote_bytes", "shuffle_write_bytes", "spill_bytes",
                                                         "result_bytes", "remote_blocks", "local_blocks")},
            "max_shuffle_read_s": stage.largest("fetch_wait_s"), "max_shuffle_write_s": stage.largest("shuffle_write_s"),
            "localities": stage.localities,
        })  # fmt: skip
    return rows
