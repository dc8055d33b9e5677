"""The effects of a fault."""

from __future__ import annotations

from pydantic import Field

from hydrotest.store.records import RecordAccounting
from hydrotest.summary.base import FAILED_IN_TIMES, TRIAL, WORKLOAD, Count, Latency, Number, Row


class Recovery(Row):
    """Progress after a moment. null: not within the window."""

    without_progress_s: Number = Field(description="Time in all stalls.")
    longest_stall_s: Number = Field(description="The longest stall.")
    recovered_s: Number | None = Field(description="Until backlog and rate were as before, for good or at least for a second.")
    caught_up_s: Number | None = Field(description="The part of that time after the system had answered again.")


class Phases(Row):
    """Response times by part of the window; null: nothing was timed."""

    before: Latency | None = Field(description="Before the fault.")
    during: Latency | None = Field(description="Until backlog and rate were as before.")
    after: Latency | None = Field(description="After that.")


class FaultPoint(Row):
    """Progress at one moment."""

    at_s: Number = Field(description="Time since the window began.")
    rate: Number = Field(description="Operations completed a second.")
    in_flight: int = Field(description="Operations in flight; for a dataflow, records in the pipeline.")


class FaultWorkload(Row):
    """The effect of a fault on a workload."""

    workload: str = Field(description=WORKLOAD)
    offered: Number | None = Field(description="Operations a second asked for; null in a closed loop.")
    achieved: Number = Field(description="Operations completed a second.")
    recovery: Recovery | None = Field(
        description="Progress after it; null: nothing was completed before it, so there is nothing to compare with."
    )
    latency_ms: Phases = Field(description="Response times before, during and after it.")
    latency_includes_failed: Count | None = Field(None, description=FAILED_IN_TIMES)
    failed: Count = Field(description="Operations that failed, in the whole trial.")
    errors: dict[str, Count] = Field(description="Failed operations by the error's name.")
    sent_again: Count | None = Field(description="Records that were sent again; null: not counted.")
    unanswered: Count = Field(description="Operations without an answer at the end.")
    fates: RecordAccounting | None = Field(description="The account of its records; null: none was made.")
    series: list[FaultPoint] = Field(description="Its progress, twice a second.")


class Fault(Row):
    """A fault; times in seconds since the window began."""

    trial: int = Field(description=TRIAL)
    service: str = Field(description="The target: a service, a host or a system.")
    action: str = Field(description="The action.")
    ended: list[str] = Field(description="Services that ended because of it and were started again.")
    struck_s: Number = Field(description="When it began.")
    back_s: Number = Field(description="When the service was started again, or went on.")
    ready_s: Number = Field(description="When its system fully answered again.")
    seconds: Number = Field(description="Length of the window.")
    workloads: list[FaultWorkload] = Field(description="Its effect on each workload.")
