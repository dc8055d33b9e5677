"""Files written to HDFS and read from it, and objects of a store."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hydrotest.store.records import Tenancy
from hydrotest.summary.base import TENANCY, WORKLOAD, Count, Latency, Number, Row


class Files(Row):
    """Throughput with a number of files in progress at once."""

    workload: str = Field(description=WORKLOAD)
    tenancy: Tenancy = Field(description=TENANCY)
    op: Literal["read", "write"] = Field(description="The operation.")
    at_once: Count = Field(0, description="Files in progress at once.")
    passes: Count = Field(0, description="Passes over all files.")
    files: Count = Field(0, description="Files of a pass.")
    file_bytes: Count = Field(0, description="Size of a file.")
    bytes_per_s: Number = Field(description="Median of the passes, from the first start to the last end.")
    per_file_bytes_per_s_mean: Number = Field(description="Mean of the files' own rates; 0: none was complete.")
    per_file_bytes_per_s_sd: Number = Field(description="Standard deviation of the files' own rates.")
    is_allowed: bool = Field(False, description="Whether no more was offered, since `most` allows no more: the file system may take more.")
    operation_bytes: Count | None = Field(None, description="Size of an operation; null: operations were not timed.")
    operations: Count = Field(0, description="Operations of all passes that succeeded.")
    errors: dict[str, Count] = Field(
        default_factory=dict, description="How many failed, by what the system calls it. None was tried again."
    )
    offered: Number | None = Field(None, description="Operations a second that were due; null: as fast as it went.")
    latency_ms: Latency | None = Field(None, description="Times of the operations of all passes, from when each was due.")
    is_random: bool = Field(False, description="Whether operations were anywhere in the files.")
    is_cold: bool = Field(False, description="Whether the files were taken out of the page cache before each pass.")
    is_limit: bool = Field(False, description="Whether the throughput was highest with this number at once.")
