"""What `show --spark-log` prints of an event log, stage by stage."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from hydrotest.summary.base import Count, Number, Row
from hydrotest.summary.spark import Doubt


class StageRow(Row):
    """An attempt of a stage. null: not in the log."""

    stage: int = Field(description="Number of the stage.")
    attempt: int = Field(description="Number of the attempt.")
    name: str | None = Field(description="Its name.")
    tasks: Count = Field(description="Tasks that were done.")
    planned: Count | None = Field(description="Tasks that were planned.")
    failed_tasks: Count = Field(description="Attempts of tasks that failed.")
    killed_tasks: Count = Field(description="Attempts of tasks that were ended.")
    repeated_tasks: Count = Field(description="Tasks that were done again.")
    failure: str | None = Field(description="Why it failed.")
    seconds: Number | None = Field(description="From its first launch to its last end.")
    parts_s: dict[str, Number | None] = Field(description="Seconds of its tasks, by part.")
    ideal_s: dict[str, Number | None] = Field(description="What its length would be without each part.")
    longest_task_s: Number | None = Field(description="Its longest task.")
    cores_used: Number | None = Field(description="Mean cores that it kept busy.")
    task_cpus: Number = Field(description="Cores that a task takes.")
    slots: int | None = Field(description="Tasks that can run at once.")
    skew: Number | None = Field(description="Longest task over the median one.")
    input_bytes: Count | None = Field(description="Read from files.")
    shuffle_read_bytes: Count | None = Field(description="Shuffled data read.")
    remote_bytes: Count | None = Field(description="Shuffled data read from other executors.")
    shuffle_write_bytes: Count | None = Field(description="Shuffled data written.")
    spill_bytes: Count | None = Field(description="Spilled to disk.")
    result_bytes: Count | None = Field(description="Results sent to the driver.")
    remote_blocks: Count | None = Field(description="Blocks read from other executors.")
    local_blocks: Count | None = Field(description="Blocks read from the same executor.")
    max_shuffle_read_s: Number | None = Field(description="Longest wait of a task for shuffled data.")
    max_shuffle_write_s: Number | None = Field(description="Longest time in which a task wrote shuffled data.")
    share_s: Number = Field(
        0.0, description="Seconds of the application's time that it accounts for; of stages at once by their busy cores."
    )
    tail_s: Number | None = Field(None, description="From the end of nine tenths of its tasks to its last end.")
    speculative_tasks: Count = Field(0, description="Attempts of tasks that were copies of slow ones.")
    wasted_s: Number = Field(0.0, description="Seconds of attempts that failed, were ended, or were done again.")
    peak_task_memory_bytes: Count | None = Field(None, description="Most execution memory that one of its tasks held.")
    localities: dict[str, Count] = Field(description="Tasks by how near their data was.")
    doubt: Doubt | None = Field(description="Tasks that are missing from these sums.")


class LogRow(Row):
    """An event log of a directory."""

    path: str = Field(description="Where it is.")
    application: str | None = Field(description="Id of its application.")
    name: str | None = Field(description="Name of its application.")
    spark: str | None = Field(description="Version of Spark.")
    started: str | None = Field(description="When the application started.")
    bytes: Count = Field(description="Size of its files.")
    files: Count = Field(description="Number of its files.")
    in_progress: bool = Field(description="Whether it is still being written.")


class ApplicationRow(Row):
    """Where an application's time went. null: not in the log."""

    seconds: Number | None = Field(description="From its start to its end, or its last event.")
    with_tasks_s: Number = Field(description="With at least one task.")
    without_tasks_s: Number | None = Field(description="Without any: what the driver did alone.")
    before_first_job_s: Number | None = Field(description="From its start to its first job.")
    in_jobs_without_tasks_s: Number = Field(
        description="Within jobs: the driver plans, schedules and takes results in, or waits for executors."
    )
    between_jobs_s: Number = Field(description="Between jobs: the program's own code in the driver.")
    planning_s: Number = Field(description="Of this, within SQL queries.")
    after_last_job_s: Number | None = Field(description="From its last job to its end.")
    peak_memory_bytes: dict[str, Count] = Field(description="Most memory of an executor, by Spark's kinds; empty: Spark did not write it.")
    executor_memory: str | None = Field(description="The heap of an executor, as it was asked for.")


class JobRow(Row):
    """A job."""

    job: int = Field(description="Its number.")
    name: str | None = Field(description="What the application calls it, or the line of code that started it.")
    execution: int | None = Field(description="The SQL query that it is a part of.")
    seconds: Number | None = Field(description="From its submission to its end.")
    without_tasks_s: Number | None = Field(description="Of this, without a task of its own.")
    stages: Count = Field(description="Attempts of stages that it ran.")
    tasks: Count = Field(description="Tasks that were done.")
    task_s: Number = Field(description="Seconds of these tasks.")
    failure: str | None = Field(description="Why it failed.")


class ExecutionRow(Row):
    """An SQL query."""

    execution: int = Field(description="Its number.")
    name: str | None = Field(description="Its description.")
    seconds: Number | None = Field(description="From its start to its end.")
    jobs: Count = Field(description="Its jobs.")
    in_jobs_s: Number = Field(description="Seconds of these jobs, one after the other.")
    task_s: Number = Field(description="Seconds of their tasks.")
    failure: str | None = Field(description="Why it failed.")


class ChangeKind(StrEnum):
    """What could be changed in an application."""

    SKEW = "skew"
    """Some tasks have more data than others."""
    STRAGGLERS = "stragglers"
    """Some tasks are slow with as much data as the others."""
    MORE_TASKS = "more-tasks"
    FEWER_TASKS = "fewer-tasks"
    HEAP = "heap"
    NETWORK = "network"
    SPILL = "spill"
    FAILURES = "failures"
    DRIVER = "driver"
    """Between jobs nothing runs but the driver."""
    WITHIN_JOBS = "within-jobs"
    """Jobs that run without a task."""


class ChangeRow(Row):
    """A change, and what it would gain of the application's time. Gains do not add up."""

    kind: ChangeKind = Field(description="What to change.")
    stage: int | None = Field(None, description="In which stage; null: in the driver.")
    attempt: int | None = Field(None, description="Its attempt.")
    name: str | None = Field(None, description="Name of the stage.")
    gain_s: Number | None = Field(description="Seconds, from tasks that are laid out anew; null: the log does not show it.")
    gain_pct: Number | None = Field(None, description="The same, in percent of the application's time.")
    is_bound: bool = Field(False, description="True: it gains at most that.")
    figures: dict[str, Number] = Field(default_factory=dict, description="What it stands on.")


class StageTotals(Row):
    """A stage of one of two logs."""

    stage: int = Field(description="Its number.")
    attempts: Count = Field(description="Its attempts, which count as one.")
    seconds: Number = Field(description="From the first launch to the last end of each attempt.")
    share_s: Number = Field(description="Seconds of the application's time that it accounts for.")
    tasks: Count = Field(description="Tasks that were done.")
    task_s: Number = Field(description="Seconds of these tasks.")
    input_bytes: Count | None = Field(description="Read from files.")
    shuffle_read_bytes: Count | None = Field(description="Shuffled data read.")
    spill_bytes: Count | None = Field(description="Spilled to disk.")
    skew: Number | None = Field(description="Longest task over the median one.")


class ComparedStage(Row):
    """A stage in two logs: the nth of its name."""

    name: str = Field(description="Its name.")
    nth: Count = Field(description="Which one of this name, from 1.")
    before: StageTotals | None = Field(description="In the first log; null: it is not there.")
    after: StageTotals | None = Field(description="In the second.")


class LogTotals(Row):
    """One of two logs."""

    application: str | None = Field(description="Id of its application.")
    name: str | None = Field(description="Name of its application.")
    spark: str | None = Field(description="Version of Spark.")
    cores: Count | None = Field(description="Most cores of its executors.")
    time: ApplicationRow = Field(description="Where its time went.")
    stages: Count = Field(description="Attempts of stages that ran.")
    tasks: Count = Field(description="Tasks that were done.")
    task_s: Number = Field(description="Seconds of these tasks.")
    parts_s: dict[str, Number | None] = Field(description="The same by part.")
    input_bytes: Count = Field(description="Read from files.")
    shuffle_read_bytes: Count = Field(description="Shuffled data read.")
    spill_bytes: Count = Field(description="Spilled to disk.")


class ComparedLogs(Row):
    """Two logs of one application."""

    before: LogTotals = Field(description="The first log.")
    after: LogTotals = Field(description="The second.")
    stages: list[ComparedStage] = Field(description="Stage by stage, those that changed most first.")
