"""Dataflows: the account of each step, queries, windowed counts, numbers of executors."""

from __future__ import annotations

from pydantic import Field

from hydrotest.store.records import Tenancy
from hydrotest.summary.base import PURPOSE, TENANCY, TRIAL, WORKLOAD, Count, Latency, Number, Row
from hydrotest.summary.bound import Bound

OFFERED = "Records a second asked for; null in a closed loop."


class Step(Row):
    """What lies behind one step of a dataflow, of all records that were acknowledged where they came in."""

    workload: str = Field(description=WORKLOAD)
    tenancy: Tenancy = Field(description=TENANCY)
    trial: int | None = Field(None, description=TRIAL)
    purpose: str | None = Field(None, description=PURPOSE)
    offered: Number | None = Field(None, description=OFFERED)
    hop: str = Field(description="The step.")
    sink: str | None = Field(description="The last step's store.")
    promise: str | None = Field(None, description="What its engine promises of that store; null: not known.")
    records_per_s: Number = Field(description="What went through it, in the trial's window.")
    acked: Count = Field(description="Acknowledged where they came in.")
    arrived_once: Count = Field(description="There once.")
    arrived_more: Count = Field(description="There more than once.")
    lost: Count = Field(description="Not there.")
    in_flight: Count = Field(description="Not there, with the step still at work when it was looked at.")
    corrupted: Count = Field(description="There, but not as sent.")
    out_of_order: Count = Field(description="Behind a later record of the same producer, in the same partition or file.")
    wrong_branch: Count = Field(description="In the output of another branch.")
    lost_here: Count = Field(0, description="Those of the lost that the step before had.")
    doubled_here: Count = Field(0, description="Those of what arrived more than once that the step before had once.")
    missing: list[tuple[int, int, int]] = Field(default_factory=list, description="The first of the lost: producer, first sequence, end.")
    latency_ms: Latency | None = Field(
        description="From each record's intended send time to where it lies in the topic, or to when it could be seen in a file or table."
    )
    fault: str | None = Field(description="What was done to which service in the trial.")
    fault_action: str | None = Field(None, description="What was done.")
    fault_service: str | None = Field(None, description="To which service.")


class Query(Row):
    """How a query of a dataflow went in a trial's window."""

    workload: str = Field(description=WORKLOAD)
    tenancy: Tenancy = Field(description=TENANCY)
    trial: int = Field(description=TRIAL)
    purpose: str = Field(description=PURPOSE)
    offered: Number | None = Field(description=OFFERED)
    query: str = Field(description="Its name.")
    batches: Count = Field(description="Batches that ended in the window.")
    records_per_s: Number | None = Field(description="By those batches.")
    batch_s_median: Number | None = Field(description="Median length of a batch.")
    batch_s_max: Number | None = Field(description="The longest batch.")
    restarts: Count = Field(description="Times that an error ended it; it was started again.")
    ended_by: str | None = Field(description="The first of those errors.")
    work_pct: Number | None = Field(description="Part of its batches' time that reads, works and writes; the rest keeps the books.")
    behind_max: Count | None = Field(description="The most records that lay in its topic and were not in a batch.")


class WindowCounts(Row):
    """What a dataflow's windowed counts said in the end."""

    workload: str = Field(description=WORKLOAD)
    tenancy: Tenancy = Field(description=TENANCY)
    trial: int = Field(description=TRIAL)
    purpose: str = Field(description=PURPOSE)
    offered: Number | None = Field(description=OFFERED)
    length_s: Number = Field(description="Length of a window.")
    windows: Count = Field(description="Windows that were counted in, by level.")
    updates: Count = Field(description="Times that a count was written.")
    counted: dict[str, int] = Field(description="Records by level.")
    came: Count = Field(description="Records that lay in the topic that it counts.")
    late: Count = Field(description="Groups (of a batch's task, level and window) that came after their window had been closed.")
    state_rows_max: Count = Field(description="The most windows held in memory at a time.")
    delays_ms: dict[str, Number | None] = Field(
        description="Percentiles of the time from the intended send time of the youngest record of an update until that lay in the topic."
    )


class ExecutorsPoint(Row):
    """A dataflow's limit on so many executors."""

    executors: Count = Field(description="How many.")
    limit: Number = Field(description="Records a second.")


class Executors(Row):
    """Limits of dataflows that differ only in their number of executors. The law is the universal scalability law."""

    workloads: list[str] = Field(description="The workloads, in the order of the points.")
    points: list[ExecutorsPoint] = Field(description="The median limit on each number of executors.")
    serial: Number | None = Field(description="The law's serial part; null: too few points.")
    crosstalk: Number | None = Field(description="The law's crosstalk.")
    fastest_at: Number | None = Field(description="Executors at which it gives the highest limit; null: more always help.")
    error_pct: Number | None = Field(description="Mean distance of a point from the law through all others.")
    from_: Number = Field(alias="from", description="Fewest executors measured.")
    to: Number = Field(description="Most executors measured.")
    stops_paying_at: Number | None = Field(description="The first number that brought less than half of its due.")
    bound: Bound | None = Field(None, exclude=True, json_schema_extra={"writeOnly": True}, description="What binds there.")
    bound_by: str | None = Field(description="What binds there, in words.")
