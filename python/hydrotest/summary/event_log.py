"""What `show --spark-log` prints of an event log, stage by stage."""

from __future__ import annotations

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
