"""An application in an event log: its jobs, the attempts of their stages, the attempts of tasks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hydrotest.analysis.spark.task_table import (
    DURATION,
    NO_TASKS,
    Outcome,
    Place,
    Task,
    TaskTable,
    largest_of_known,
    median_of,
    sum_of_known,
)

__all__ = ["Doubt", "Execution", "Group", "Job", "Outcome", "Stage", "Task", "doubt_of"]


@dataclass(eq=False)
class Job:
    """A job, and its begin and end in the log: jobs that did not overlap ran one after the other."""

    number: int
    began: int
    ended: int | None = None
    name: str | None = None
    """What the application calls it, or the line of code that started it."""
    submitted_s: float | None = None
    completed_s: float | None = None
    """Wall time."""
    failure: str | None = None
    execution: int | None = None
    """The SQL query that it is a part of."""


@dataclass
class Execution:
    """An SQL query, or another action on a DataFrame."""

    number: int
    name: str | None = None
    started_s: float | None = None
    ended_s: float | None = None
    """Wall time; null while it runs."""
    failure: str | None = None


@dataclass(frozen=True)
class Doubt:
    """Task ends that the log should have and has not: sums over tasks are too low."""

    started: int
    """Tasks that are known to have started, or that a successful stage had."""
    known: int
    """Those of them with known ends and possible times."""
    left_out: int
    """Ends that are left out for their times: 0, or before the launch."""

    def __add__(self, other: Doubt) -> Doubt:
        return Doubt(self.started + other.started, self.known + other.known, self.left_out + other.left_out)


@dataclass
class Stage:
    """One attempt of a stage, with the attempts of its tasks that ended."""

    number: int
    attempt: int = 0
    name: str | None = None
    planned: int | None = None
    """Planned tasks."""
    submitted_s: float | None = None
    completed_s: float | None = None
    """Wall time; null while it runs."""
    failure: str | None = None
    is_completed: bool = False
    """It ended, successfully or not."""
    parents: list[int] = field(default_factory=list)
    job: Job | None = None
    """The first job that needed it."""
    cpus: int = 1
    """Cores of each of its tasks."""
    slots: int | None = None
    """Most of its tasks that could run at a time."""
    tasks: Sequence[Task] = field(default_factory=lambda: NO_TASKS)
    running: set[int] = field(default_factory=set)
    """Attempts of tasks (their IDs) with a start in the log, and no end."""
    left_out: int = 0
    """Attempts with impossible times."""
    duplicates: int = 0
    """Repeated ends in the log."""

    @property
    def table(self) -> TaskTable:
        """Its tasks, in columns."""
        return TaskTable.of(self.tasks)

    def total(self, what: str) -> float:
        """Sum of one of the tasks' figures, over the known ones; 0 without any."""
        return sum_of_known(self.table.figure(what)) or 0.0

    def known_total(self, what: str) -> float | None:
        """Sum of one of the tasks' figures; None if no task has it."""
        return sum_of_known(self.table.figure(what))

    def largest(self, what: str) -> float | None:
        """Largest of one of the tasks' figures; None if no task has it."""
        return largest_of_known(self.table.figure(what))

    def count(self, outcome: Outcome) -> int:
        """Attempts of tasks with this outcome."""
        return self.table.outcomes[outcome]

    @property
    def span_s(self) -> tuple[float, float]:
        """Its first launch and its last end; wall time. It has tasks."""
        return float(self.table.figure("launched_s").min()), float(self.table.figure("finished_s").max())

    @property
    def done_tasks(self) -> TaskTable:
        """Attempts that count: completed ones."""
        return self.table.done

    @property
    def done(self) -> int:
        """Completed tasks: each once, however many of its attempts completed."""
        return self.done_tasks.different

    @property
    def tried(self) -> int:
        """Tasks with an attempt that ended."""
        return self.table.different

    @property
    def ran(self) -> bool:
        """False if all of it was there already, and it was skipped."""
        return bool(self.tasks or self.running or self.left_out or self.failure or (self.is_completed and self.planned))

    @property
    def doubt(self) -> Doubt | None:
        """None if it is complete."""
        known, missing = len(self.tasks), len(self.running)
        # For a repeated stage, an earlier attempt may have completed tasks.
        if self.is_completed and self.failure is None and self.attempt == 0:
            missing = max(missing, (self.planned or 0) - self.done - self.left_out)
        return Doubt(known + self.left_out + missing, known, self.left_out) if missing or self.left_out else None

    @property
    def skew(self) -> float | None:
        """The longest task's duration over the median one's; None without tasks, or if their times are too
        short to measure."""
        durations = self.done_tasks.figure(DURATION)
        middle = median_of(durations) if len(durations) else 0.0
        return float(durations.max()) / middle if middle > 0 else None

    @property
    def tail_s(self) -> float | None:
        """From the end of nine tenths of its tasks to its last end; None with fewer than ten."""
        if len(self.done_tasks) < 10:
            return None
        ends = np.sort(self.done_tasks.figure("finished_s"))
        return float(ends[-1] - ends[math.ceil(0.9 * len(ends)) - 1])

    @property
    def wasted_s(self) -> float:
        """Seconds of attempts that did not count."""
        if self.done_tasks is self.table:
            return 0.0
        return float(sum(self.table.figure(DURATION)[~self.table.have(Outcome.DONE)].tolist()))

    @property
    def localities(self) -> dict[str, int]:
        """Number of tasks by locality of their data."""
        return _by([self.table], lambda place: place.locality)

    @property
    def seconds(self) -> float | None:
        """From its submission to its end."""
        return None if self.submitted_s is None or self.completed_s is None else self.completed_s - self.submitted_s


def _by(tables: Iterable[TaskTable], what: Callable[[Place], str | None]) -> dict[str, int]:
    """Number of tasks by something of their places, if it is known."""
    found: Counter[str] = Counter()
    for table in tables:
        for place, tasks in table.places.items():
            if (name := what(place)) is not None:
                found[name] += tasks
    return dict(found)


@dataclass
class Group:
    """The stages of one job group that ran, in order of their numbers and attempts."""

    stages: list[Stage] = field(default_factory=list)
    cores: int | None = None
    """Most cores of all executors of its application together; None if unknown."""

    @property
    def tasks_per_stage(self) -> int:
        """Tasks of the largest stage."""
        return max((stage.tried for stage in self.stages), default=0)

    def total(self, what: str) -> float:
        """Sum of one of the tasks' figures, over the known ones."""
        return float(sum(stage.total(what) for stage in self.stages))

    @property
    def tasks_by_host(self) -> dict[str, int]:
        """Number of attempts of tasks by their host; `null` if it is not known."""
        return _by((stage.table for stage in self.stages), lambda place: place.host or "null")

    def largest(self, what: str) -> float:
        """Largest of one of the tasks' figures; 0 without tasks."""
        return float(max((stage.largest(what) or 0.0 for stage in self.stages), default=0.0))


def doubt_of(stages: list[Stage]) -> Doubt | None:
    """All that is missing in some stages, whose other tasks count with it."""
    doubts = [stage.doubt or Doubt(len(stage.tasks), len(stage.tasks), 0) for stage in stages]
    return sum(doubts, Doubt(0, 0, 0)) if any(stage.doubt for stage in stages) else None
