"""Batch jobs: their times, the parts of these times, and how they grow with data and fall with cores."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hydrotest.store.records import Tenancy
from hydrotest.summary.base import TENANCY, WORKLOAD, Count, Number, Row


class Doubt(Row):
    """Task ends that are missing from the event log: sums over tasks are too low."""

    started: Count = Field(description="Tasks that are known to have started.")
    known: Count = Field(description="Those whose ends are known.")
    left_out: Count = Field(description="Ends that are left out for their impossible times.")


class JobTime(Row):
    """A job's time by part: `cpu`, `network wait`, `shuffle write`, `garbage collection`, `scheduler`,
    `serialisation`, `other`."""

    parts_s: dict[str, Number | None] = Field(default_factory=dict, description="Seconds of all its tasks.")
    shorter_pct: dict[str, Number | None] = Field(default_factory=dict, description="How much shorter it would be without the part.")
    critical_path_s: Number | None = Field(None, description="The longest chain of stages that wait for each other.")
    cores_max: Number | None = Field(None, description="The most cores that it can use.")
    cores: Count = Field(0, description="The cores that it had; 0: not known.")
    doubt: Doubt | None = Field(None, description="Tasks that are missing from these sums.")


class JobData(Row):
    """Parameters of a test's data."""

    seed: int | None = Field(None, description="Seed of the generator of data.")
    unique_keys: int | None = Field(None, description="Distinct keys; null: as many as the suite has.")
    skew: Number | None = Field(None, description="Exponent of the keys' distribution.")


class JobTest(Row):
    """A batch test: medians over the runs that finished."""

    workload: str = Field(description=WORKLOAD)
    tenancy: Tenancy = Field(description=TENANCY)
    test: str = Field(description="The test's name.")
    scale_factor: Number = Field(description="Size of its data, as the suite counts it.")
    data_scale: Number = Field(1.0, description="Part of the suite's records that it has.")
    data: JobData = Field(default_factory=JobData, description="Parameters of its data.")
    tasks_per_stage: Count = Field(description="Tasks of its largest stage.")
    stages: Count = Field(description="Stages that ran tasks.")
    input_bytes: Count = Field(description="Read from files.")
    shuffle_read_bytes: Count = Field(description="Shuffled data read.")
    shuffle_write_bytes: Count = Field(description="Shuffled data written.")
    remote_bytes: Count = Field(0, description="Shuffled data read from other executors.")
    tasks_by_host: dict[str, Count] = Field(default_factory=dict, description="Tasks by the host that did them.")
    skew: Number | None = Field(None, description="Longest task over the median one, in the most skewed stage.")
    max_shuffle_read_s: Number = Field(description="Longest wait of a task for shuffled data.")
    max_shuffle_write_s: Number = Field(description="Longest time in which a task wrote shuffled data.")
    total_s: Number = Field(description="Median time.")
    total_s_low: Number | None = Field(None, description="Lower end of the mean's 95 % interval.")
    total_s_high: Number | None = Field(None, description="Upper end of the mean's 95 % interval.")
    runs: Count = Field(0, description="Runs that were timed.")
    finished: bool = Field(description="Whether all runs finished.")
    tasks_done: Count = Field(0, description="Tasks done in the run with the median time.")
    time: JobTime = Field(default_factory=JobTime, description="Its time by part.")
    gc_s: Number = Field(0.0, description="Seconds of all tasks in garbage collection.")
    spill_bytes: Count = Field(0, description="Spilled to disk.")
    objective_s: Number | None = Field(None, description="Longest acceptable time; null: none was given.")
    accepted: bool | None = Field(None, description="Whether it met the objective.")


class Fuller(Row):
    """What took more of the tasks' time than before."""

    what: str = Field(description="The part.")
    unit: Literal["bytes", "share"] = Field(description="Unit of both figures.")
    before: Number = Field(description="At the point before.")
    after: Number = Field(description="At this point.")


class SizePoint(Row):
    """A test's time at one size."""

    scale_factor: Number = Field(description="Size.")
    seconds: Number = Field(description="Time.")


class Scaling(Row):
    """How a test's time grows with its data: a line through its times, on the same cores."""

    test: str = Field(description="The test's name.")
    tenancy: Tenancy = Field(description=TENANCY)
    data_scale: Number = Field(description="Part of the suite's records.")
    cores: Count = Field(description="The cores that it had; 0: not known.")
    points: list[SizePoint] = Field(description="What was measured.")
    fixed_s: Number = Field(description="The line's fixed part.")
    fixed_s_error: Number | None = Field(description="Its standard error.")
    per_unit_s: Number = Field(description="Time of each further unit of scale factor.")
    per_unit_s_error: Number | None = Field(description="Its standard error.")
    from_: Number = Field(alias="from", description="Smallest size measured.")
    to: Number = Field(description="Largest size measured.")
    bends_at: Number | None = Field(description="The first size at which it stops being linear; null: nowhere.")
    fuller: Fuller | None = Field(description="What took more of the tasks' time there.")


class CoresPoint(Row):
    """A test's time on some cores."""

    cores: Count = Field(description="Cores.")
    seconds: Number = Field(description="Time.")


class Speedup(Row):
    """How a test's time falls with cores. The law is the universal scalability law."""

    test: str = Field(description="The test's name.")
    tenancy: Tenancy = Field(description=TENANCY)
    scale_factor: Number = Field(description="Size of its data.")
    data_scale: Number = Field(description="Part of the suite's records.")
    points: list[CoresPoint] = Field(description="What was measured.")
    serial: Number = Field(description="The law's serial part.")
    serial_error: Number | None = Field(description="Its standard error; null with three points.")
    crosstalk: Number = Field(description="The law's crosstalk.")
    crosstalk_error: Number | None = Field(description="Its standard error; null with three points.")
    fastest_at: Number | None = Field(description="Cores on which the time is shortest by the law; null: more always help.")
    error_pct: Number | None = Field(description="Mean distance of a point from the law through all others.")
    from_: Count = Field(alias="from", description="Fewest cores measured.")
    to: Count = Field(description="Most cores measured.")
    stops_paying_at: Count | None = Field(description="The first number of cores that brought less than half of a proportional gain.")
    fuller: Fuller | None = Field(description="What took more of the tasks' time there.")


class ErnestTerms(Row):
    """Time = fixed + per_core_share · size ÷ cores + tree · log cores + per_core · cores."""

    fixed: Number = Field(description="The fixed part, seconds.")
    per_core_share: Number = Field(description="Coefficient of each core's share of the data.")
    tree: Number = Field(description="Coefficient of the logarithm of the cores.")
    per_core: Number = Field(description="Coefficient of the number of cores.")


class Ernest(Row):
    """Ernest's form of a test's time by size and cores (S. Venkataraman et al., NSDI 2016)."""

    test: str = Field(description="The test's name.")
    tenancy: Tenancy = Field(description=TENANCY)
    data_scale: Number = Field(description="Part of the suite's records.")
    points: Count = Field(description="Points that it goes through.")
    terms: ErnestTerms = Field(description="Its terms.")
    error_pct: Number | None = Field(description="Mean distance of a point from the form through all others.")
    cores_from: Count = Field(description="Fewest cores measured.")
    cores_to: Count = Field(description="Most cores measured.")
