"""An application in an event log: its jobs, the attempts of their stages, the attempts of tasks."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import Any

import msgspec


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
    tasks: list[Task] = field(default_factory=list)
    running: set[int] = field(default_factory=set)
    """Attempts of tasks (their IDs) with a start in the log, and no end."""
    left_out: int = 0
    """Attempts with impossible times."""
    duplicates: int = 0
    """Repeated ends in the log."""

    def total(self, what: str) -> float:
        """Sum of one of the tasks' figures, over the known ones; 0 without any."""
        return float(sum(self._known(what)))

    def known_total(self, what: str) -> float | None:
        """Sum of one of the tasks' figures; None if no task has it."""
        return float(sum(known)) if (known := self._known(what)) else None

    def largest(self, what: str) -> float | None:
        """Largest of one of the tasks' figures; None if no task has it."""
        return float(max(known)) if (known := self._known(what)) else None

    def _known(self, what: str) -> list[Any]:
        return [value for task in self.tasks if (value := getattr(task, what)) is not None]

    def count(self, outcome: Outcome) -> int:
        """Attempts of tasks with this outcome."""
        return sum(task.outcome is outcome for task in self.tasks)

    @property
    def done_tasks(self) -> list[Task]:
        """Attempts that count: completed ones."""
        return [task for task in self.tasks if task.outcome is Outcome.DONE]

    @property
    def done(self) -> int:
        """Completed tasks: each once, however many of its attempts completed."""
        return _different(self.done_tasks)

    @property
    def tried(self) -> int:
        """Tasks with an attempt that ended."""
        return _different(self.tasks)

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
        durations = [task.duration_s for task in self.done_tasks]
        middle = median(durations) if durations else 0.0
        return max(durations) / middle if middle > 0 else None

    @property
    def tail_s(self) -> float | None:
        """From the end of nine tenths of its tasks to its last end; None with fewer than ten."""
        ends = sorted(task.finished_s for task in self.done_tasks)
        return ends[-1] - ends[math.ceil(0.9 * len(ends)) - 1] if len(ends) >= 10 else None

    @property
    def wasted_s(self) -> float:
        """Seconds of attempts that did not count."""
        return float(sum(task.duration_s for task in self.tasks if task.outcome is not Outcome.DONE))

    @property
    def localities(self) -> dict[str, int]:
        """Number of tasks by locality of their data."""
        return dict(Counter(task.locality for task in self.tasks if task.locality is not None))

    @property
    def seconds(self) -> float | None:
        """From its submission to its end."""
        return None if self.submitted_s is None or self.completed_s is None else self.completed_s - self.submitted_s


def _different(tasks: list[Task]) -> int:
    indices = [task.index for task in tasks if task.index is not None]
    return len(set(indices)) + len(tasks) - len(indices)


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

    def largest(self, what: str) -> float:
        """Largest of one of the tasks' figures; 0 without tasks."""
        return float(max((stage.largest(what) or 0.0 for stage in self.stages), default=0.0))


def doubt_of(stages: list[Stage]) -> Doubt | None:
    """All that is missing in some stages, whose other tasks count with it."""
    doubts = [stage.doubt or Doubt(len(stage.tasks), len(stage.tasks), 0) for stage in stages]
    return sum(doubts, Doubt(0, 0, 0)) if any(stage.doubt for stage in stages) else None
