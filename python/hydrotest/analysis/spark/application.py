"""A Spark application's time: with tasks, without any, and what the driver did then; its jobs and its SQL queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hydrotest.analysis.spark.event_parser import EventLog
from hydrotest.analysis.spark.task_table import DURATION, summed
from hydrotest.analysis.spark.tasks import Job, Stage
from hydrotest.summary.event_log import ApplicationRow, ExecutionRow, JobRow

Spans = npt.NDArray[np.float64]
"""Stretches of time that do not overlap, in order: a row of begin and end for each, seconds."""


def union(spans: Spans) -> Spans:
    """The same time without overlaps."""
    if len(spans) < 2:
        return spans
    ordered = spans[np.argsort(spans[:, 0], kind="stable")]
    ends = np.maximum.accumulate(ordered[:, 1])
    is_first = np.concatenate([[True], ordered[1:, 0] > ends[:-1]])
    last = np.append(np.flatnonzero(is_first)[1:] - 1, len(ordered) - 1)
    return np.column_stack([ordered[is_first, 0], ends[last]])


def length_s(spans: Spans) -> float:
    """Seconds in all."""
    return float((spans[:, 1] - spans[:, 0]).sum())


def common_s(one: Spans, other: Spans) -> float:
    """Seconds that are in both, of stretches without overlaps."""
    return length_s(one) + length_s(other) - length_s(union(np.concatenate([one, other])))


def gaps(spans: Spans, begin_s: float, end_s: float) -> Spans:
    """What is between stretches without overlaps, from `begin_s` to `end_s`."""
    edges = np.concatenate([[begin_s], np.clip(spans, begin_s, end_s).ravel(), [end_s]]).reshape(-1, 2)
    return edges[edges[:, 1] > edges[:, 0]]


def _within(one: Spans, other: Spans) -> Spans:
    """What is in both."""
    if not len(one) or not len(other):
        return _spans([])
    begin, end = min(one[0, 0], other[0, 0]), max(one[-1, 1], other[-1, 1])
    return gaps(union(np.concatenate([gaps(one, begin, end), gaps(other, begin, end)])), begin, end)


def _spans(pairs: Sequence[tuple[float, float]]) -> Spans:
    return np.array(pairs, dtype=float).reshape(-1, 2)


def _of_tasks(stages: Sequence[Stage]) -> Spans:
    tables = [stage.table for stage in stages if stage.tasks]
    if not tables:
        return _spans([])
    return union(np.column_stack([np.concatenate([table.figure(name) for table in tables]) for name in ("launched_s", "finished_s")]))


def _of_jobs(jobs: Sequence[Job], end_s: float) -> Spans:
    return union(_spans([(job.submitted_s, job.completed_s or end_s) for job in jobs if job.submitted_s is not None]))


@dataclass(frozen=True)
class Application:
    """Where its wall time went. Seconds; None: not in the log."""

    seconds: float | None
    with_tasks_s: float
    before_s: float | None
    """Until its first job: the start of Spark, and of the program."""
    in_jobs_s: float
    """Within jobs and without any task: the driver plans, schedules, and takes results in; or it waits for executors."""
    between_s: float
    """Between jobs: the program's own code in the driver."""
    planning_s: float
    """Of this, within SQL queries: their planning, and what follows their last job."""
    after_s: float | None
    """After its last job."""

    @property
    def without_tasks_s(self) -> float | None:
        return None if self.seconds is None else max(0.0, self.seconds - self.with_tasks_s)


def application(log: EventLog) -> Application:
    """Its whole time by what ran; the end of one that did not end is its last event."""
    tasks = _of_tasks(log.stages)
    end_s = log.ended_s if log.ended_s is not None else float(tasks[-1, 1]) if len(tasks) else 0.0
    jobs = _of_jobs(list(log.jobs.values()), end_s)
    start_s = log.started_s
    seconds = end_s - start_s if start_s is not None and end_s >= start_s else None
    with_tasks_s = length_s(tasks)
    if not len(jobs):
        return Application(seconds, with_tasks_s, None, 0.0, 0.0, 0.0, None)
    first_s, last_s = float(jobs[0, 0]), max(float(jobs[0, 0]), float(jobs[-1, 1]))
    begin_s = first_s if start_s is None else min(start_s, first_s)
    idle = gaps(tasks, begin_s, max(end_s, last_s))
    between = _within(idle, gaps(jobs, first_s, last_s))
    queries = union(_spans([
        (one.started_s, one.ended_s if one.ended_s is not None else end_s) for one in log.executions.values()
        if one.started_s is not None and (end_s if one.ended_s is None else one.ended_s) >= one.started_s
    ]))  # fmt: skip
    return Application(
        seconds=seconds, with_tasks_s=with_tasks_s, before_s=None if start_s is None else common_s(idle, _spans([(begin_s, first_s)])),
        in_jobs_s=common_s(idle, jobs), between_s=length_s(between), planning_s=common_s(between, queries),
        after_s=None if seconds is None else common_s(idle, _spans([(last_s, max(end_s, last_s))])),
    )  # fmt: skip


def application_row(log: EventLog) -> ApplicationRow:
    """For JSON and tables."""
    found = application(log)
    return ApplicationRow(
        seconds=found.seconds, with_tasks_s=found.with_tasks_s, without_tasks_s=found.without_tasks_s, before_first_job_s=found.before_s,
        in_jobs_without_tasks_s=found.in_jobs_s, between_jobs_s=found.between_s, planning_s=found.planning_s, after_last_job_s=found.after_s,
        peak_memory_bytes={name: max(of[name] for of in log.executors.peak_bytes.values() if name in of) for name in _peaks(log)},
        executor_memory=log.executor_memory,
    )  # fmt: skip


def _peaks(log: EventLog) -> list[str]:
    return list(dict.fromkeys(name for of in log.executors.peak_bytes.values() for name in of))


def job_rows(log: EventLog) -> list[JobRow]:
    """A row for each job, in order of their numbers."""
    stages: dict[int, list[Stage]] = defaultdict(list)
    for stage in log.stages:
        if stage.job is not None:
            stages[stage.job.number].append(stage)
    rows = []
    for number, job in sorted(log.jobs.items()):
        own = stages.get(number, [])
        seconds = None if job.submitted_s is None or job.completed_s is None else job.completed_s - job.submitted_s
        rows.append(JobRow(
            job=number, name=job.name, execution=job.execution, seconds=seconds,
            without_tasks_s=None if seconds is None else max(0.0, seconds - length_s(_of_tasks(own))), stages=len(own),
            tasks=sum(stage.done for stage in own), task_s=summed(stage.done_tasks.figure(DURATION) for stage in own), failure=job.failure,
        ))  # fmt: skip
    return rows


def execution_rows(log: EventLog, jobs: Sequence[JobRow]) -> list[ExecutionRow]:
    """A row for each SQL query, with what its jobs did."""
    of: dict[int, list[JobRow]] = defaultdict(list)
    for job in jobs:
        if job.execution is not None:
            of[job.execution].append(job)
    return [
        ExecutionRow(
            execution=number, name=one.name, seconds=None if one.started_s is None or one.ended_s is None else one.ended_s - one.started_s,
            jobs=len(of[number]), in_jobs_s=sum(job.seconds or 0.0 for job in of[number]), task_s=sum(job.task_s for job in of[number]),
            failure=one.failure,
        )
        for number, one in sorted(log.executions.items())
    ]  # fmt: skip
