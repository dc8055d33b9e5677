"""Dataflows: the account of each step, queries, windowed counts, numbers of executors."""

from __future__ import annotations

from pydantic import Field

from hydrotest.store.records import Tenancy
from hydrotest.summary.base import PURPOSE, TENANCY, TRIAL, WORKLOAD, Count, Latency, Number, Row
from hydrotest.summary.bound import Bound

OFFERED = "Records a second asked for; null in a closed loop."


class Step(Row):
    """The output of one step of a dataflow, for all records that were acknowledged at the dataflow's input."""

    workload: str = Field(description=WORKLOAD)
    tenancy: Tenancy = Field(description=TENANCY)
    trial: int | None = Field(None, description=TRIAL)
    purpose: str | None = Field(None, description=PURPOSE)
    offered: Number | None = Field(None, description=OFFERED)
    hop: str = Field(description="The step.")
    sink: str | None = Field(description="The last step's store.")
    promise: str | None = Field(None, description="What its engine guarantees for that store; null: not known.")
    records_per_s: Number = Field(description="Records that passed it in the trial's window.")
    acked: Count = Field(description="Acknowledged at the dataflow's input.")
    arrived_once: Count = Field(description="Found once.")
    arrived_more: Count = Field(description="Found more than once.")
    lost: Count = Field(description="Not found.")
    in_flight: Count = Field(description="Not found while the step was still working, at the time of the check.")
    corrupted: Count = Field(description="Found, but not as sent.")
    out_of_order: Count = Field(description="After a later record of the same producer, in the same partition or file.")
    wrong_branch: Count = Field(description="In the output of another branch.")
    lost_here: Count = Field(0, description="Lost records that the previous step still had.")
    doubled_here: Count = Field(0, description="Records found more than once here, and once at the previous step.")
    missing: list[tuple[int, int, int]] = Field(default_factory=list, description="The first lost records: producer, first sequence, end.")
    latency_ms: Latency | None = Field(
        description="From each record's intended send time until it is in the topic, or visible in a file or table."
    )
    fault: str | None = Field(description="The trial's fault and its target.")
    fault_action: str | None = Field(None, description="The fault's action.")
    fault_service: str | None = Field(None, description="The fault's target.")


class Query(Row):
    """A query of a dataflow in a trial's window."""

    workload: str = Field(description=WORKLOAD)
    tenancy: Tenancy = Field(description=TENANCY)
    trial: int = Field(description=TRIAL)
    purpose: str = Field(description=PURPOSE)
    offered: Number | None = Field(description=OFFERED)
    query: str = Field(description="Its name.")
    batches: Count = Field(description="Batches that ended in the window.")
    records_per_s: Number | None = Field(description="Records in those batches.")
    batch_s_median: Number | None = Field(description="Median length of a batch.")
    batch_s_max: Number | None = Field(description="The longest batch.")
    restarts: Count = Field(description="Number of times that an error ended it and it was started again.")
    ended_by: str | None = Field(description="The first of those errors.")
    work_pct: Number | None = Field(description="Part of its batches' time that reads, works and writes; the rest is bookkeeping.")
    behind_max: Count | None = Field(description="The most records in its topic that were not yet in a batch.")


class WindowCounts(Row):
    """The final result of a dataflow's windowed counts."""

    workload: str = Field(description=WORKLOAD)
    tenancy: Tenancy = Field(description=TENANCY)
    trial: int = Field(description=TRIAL)
    purpose: str = Field(description=PURPOSE)
    offered: Number | None = Field(description=OFFERED)
    length_s: Number = Field(description="Length of a window.")
    windows: Count = Field(description="Windows that have counts, by level.")
    updates: Count = Field(description="Number of times that a count was written.")
    counted: dict[str, int] = Field(description="Records by level.")
    came: Count = Field(description="Records in the topic that it counts.")
    late: Count = Field(description="Groups (of a batch's task, level and window) that came after their window had been closed.")
    state_rows_max: Count = Field(description="The most windows held in memory at a time.")
    delays_ms: dict[str, Number | None] = Field(
        description="Percentiles of the time from the intended send time of an update's youngest record until the update was in the topic."
    )


class ExecutorsPoint(Row):
    """A dataflow's limit on a number of executors."""

    executors: Count = Field(description="How many.")
    limit: Number = Field(description="Records a second.")


class Executors(Row):
    """Limits of dataflows that differ only in their number of executors. The law is the universal scalability
    law."""

    workloads: list[str] = Field(description="The workloads, in the order of the points.")
    points: list[ExecutorsPoint] = Field(description="The median limit on each number of executors.")
    serial: Number | None = Field(description="The law's serial part; null: too few points.")
    crosstalk: Number | None = Field(description="The law's crosstalk.")
    fastest_at: Number | None = Field(description="Executors at which it gives the highest limit; null: more always help.")
    error_pct: Number | None = Field(description="Mean distance of a point from the law through all others.")
    from_: Number = Field(alias="from", description="Fewest executors measured.")
    to: Number = Field(description="Most executors measured.")
    stops_paying_at: Number | None = Field(description="The first number that brought less than half of a proportional gain.")
    bound: Bound | None = Field(None, exclude=True, json_schema_extra={"writeOnly": True}, description="What binds there.")
    bound_by: str | None = Field(description="What binds there, in words.")
