"""What an event log holds of an application: its jobs, the attempts of their stages, the attempts of tasks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import Any


class Outcome(StrEnum):
    """How an attempt of a task ended."""

    DONE = "done"
    FAILED = "failed"
    KILLED = "killed"
    """Another attempt was faster, or nobody wanted it any more: as Spark's own UI, this counts attempts whose commit was denied, too."""
    REPEATED = "repeated"
    """It was done, but what it had done was lost with its executor, and was done again (`Resubmitted`)."""


@dataclass(frozen=True, slots=True)
class Task:
    """One attempt of a task; times in seconds, sizes in bytes. None is what the log does not have: all figures but its times of one that was
    killed before it began, and what Spark did not yet count when it wrote the log."""

    launched_s: float
    finished_s: float
    outcome: Outcome
    host: str | None
    locality: str | None
    index: int | None = None
    """Which of its stage's tasks it is an attempt of."""
    run_s: float | None = None
    cpu_s: float | None = None
    gc_s: float | None = None
    deserialise_s: float | None = None
    serialise_s: float | None = None
    scheduler_delay_s: float | None = None
    """What is left of its duration: sending it out, and hearing that it ended. As Spark's own UI reckons it (AppStatusUtils.schedulerDelay)."""
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

    @property
    def duration_s(self) -> float:
        """From its launch to its end, as the driver saw it."""
        return self.finished_s - self.launched_s


@dataclass(eq=False)
class Job:
    """A job, and where in the log it began and ended: jobs that did not overlap were run in turn."""

    number: int
    began: int
    ended: int | None = None


@dataclass(frozen=True)
class Doubt:
    """Task ends that should stand in the log and do not: figures that are sums over tasks are too low."""

    started: int
    """Tasks that are known to have started, or that a stage that succeeded had."""
    known: int
    """Those of them whose ends are known, with times that can be."""
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
    """Tasks that it is to have."""
    submitted_s: float | None = None
    completed_s: float | None = None
    """Wall time; null while it runs."""
    failure: str | None = None
    is_completed: bool = False
    """It came to its end, well or not."""
    parents: list[int] = field(default_factory=list)
    job: Job | None = None
    """The first that needed it."""
    cpus: int = 1
    """Cores that each of its tasks takes."""
    slots: int | None = None
    """Tasks of it that could run at a time, at most."""
    tasks: list[Task] = field(default_factory=list)
    running: set[int] = field(default_factory=set)
    """Attempts of tasks (their IDs) whose start stands in the log, and whose end does not."""
    left_out: int = 0
    """Attempts whose times cannot be."""
    duplicates: int = 0
    """Ends that stood in the log once more."""

    def total(self, what: str) -> float:
        """Sum of one of the tasks' figures, of those that are known; 0 without any."""
        return float(sum(self._known(what)))

    def known_total(self, what: str) -> float | None:
        """Sum of one of the tasks' figures; None where no task has it."""
        return float(sum(known)) if (known := self._known(what)) else None

    def largest(self, what: str) -> float | None:
        """Largest of one of the tasks' figures; None where no task has it."""
        return float(max(known)) if (known := self._known(what)) else None

    def _known(self, what: str) -> list[Any]:
        return [value for task in self.tasks if (value := getattr(task, what)) is not None]

    def count(self, outcome: Outcome) -> int:
        """Attempts of tasks that ended so."""
        return sum(task.outcome is outcome for task in self.tasks)

    @property
    def done_tasks(self) -> list[Task]:
        """Attempts that count: what was done."""
        return [task for task in self.tasks if task.outcome is Outcome.DONE]

    @property
    def done(self) -> int:
        """Tasks that came to their end: each once, however many of its attempts did."""
        return _different(self.done_tasks)

    @property
    def tried(self) -> int:
        """Tasks of which an attempt ended."""
        return _different(self.tasks)

    @property
    def ran(self) -> bool:
        """False if all of it was there already, and it was skipped."""
        return bool(self.tasks or self.running or self.left_out or self.failure or (self.is_completed and self.planned))

    @property
    def doubt(self) -> Doubt | None:
        """None if nothing of it is missing."""
        known, missing = len(self.tasks), len(self.running)
        # Of a stage that was tried again, tasks of an attempt before may have come to their ends.
        if self.is_completed and self.failure is None and self.attempt == 0:
            missing = max(missing, (self.planned or 0) - self.done - self.left_out)
        return Doubt(known + self.left_out + missing, known, self.left_out) if missing or self.left_out else None

    @property
    def skew(self) -> float | None:
        """The longest task's duration over the median one's; None without tasks, or where they take no time that is measured."""
        durations = [task.duration_s for task in self.done_tasks]
        middle = median(durations) if durations else 0.0
        return max(durations) / middle if middle > 0 else None

    @property
    def localities(self) -> dict[str, int]:
        """How many tasks ran how near to their data."""
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
    """Of all executors of its application together, at most; None is not known."""

    @property
    def tasks_per_stage(self) -> int:
        """Of the largest stage."""
        return max((stage.tried for stage in self.stages), default=0)

    def total(self, what: str) -> float:
        """Sum of one of the tasks' figures, of those that are known."""
        return float(sum(stage.total(what) for stage in self.stages))

    def largest(self, what: str) -> float:
        """Largest of one of the tasks' figures; 0 without tasks."""
        return float(max((stage.largest(what) or 0.0 for stage in self.stages), default=0.0))


def doubt_of(stages: list[Stage]) -> Doubt | None:
    """All that is missing of some stages, whose other tasks count with it."""
    doubts = [stage.doubt or Doubt(len(stage.tasks), len(stage.tasks), 0) for stage in stages]
    return sum(doubts, Doubt(0, 0, 0)) if any(stage.doubt for stage in stages) else None
