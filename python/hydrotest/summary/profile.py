"""Results of a changing rate."""

from __future__ import annotations

from pydantic import Field

from hydrotest.summary.base import FAILED_IN_TIMES, NO_LATENCY, TRIAL, WORKLOAD, Count, Latency, Number, Row


class Stretch(Row):
    """A stretch of a profile."""

    from_s: Number = Field(description="Its start, since the profile began.")
    to_s: Number = Field(description="Its end.")
    rate: Number = Field(description="Operations a second at its start.")
    end_rate: Number = Field(description="Operations a second at its end.")
    offered: Number = Field(description="Mean rate that was due.")
    achieved: Number | None = Field(description="Mean rate completed.")
    in_flight_max: Count | None = Field(description="The most operations in flight.")
    latency_ms: Latency | None = Field(description=f"Response times; {NO_LATENCY}.")


class ProfileSecond(Row):
    """A second of a profile."""

    at_s: Number = Field(description="Its middle, since the profile began.")
    offered: Number = Field(description="Rate that was due.")
    achieved: Number | None = Field(description="Rate completed.")
    in_flight: Count | None = Field(description="The most operations in flight.")
    p50_ms: Number | None = Field(description="Median response time of the operations that were due in it.")
    p99_ms: Number | None = Field(description="99th percentile.")


class Profile(Row):
    """A profile."""

    trial: int = Field(description=TRIAL)
    workload: str = Field(description=WORKLOAD)
    errors: Count = Field(description="Operations that failed, in the whole trial.")
    latency_includes_failed: Count | None = Field(None, description=FAILED_IN_TIMES)
    stretches: list[Stretch] = Field(description="Each stretch.")
    series: list[ProfileSecond] = Field(description="Each second.")
