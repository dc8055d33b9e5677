"""Results of long levels: whether they were held, drift, changes, growth."""

from __future__ import annotations

from pydantic import Field

from hydrotest.summary.base import FAILED_IN_TIMES, IN_WORDS, NO_LATENCY, TRIAL, WORKLOAD, Count, Latency, Number, Row
from hydrotest.verdicts.limit import RateVerdict
from hydrotest.verdicts.trial import Failure


class Drift(Row):
    """A trend per hour, with its 95 % interval."""

    per_hour: Number = Field(description="Change per hour.")
    low: Number = Field(description="Lower end of its 95 % interval.")
    high: Number = Field(description="Upper end of its 95 % interval.")
    sure: bool = Field(description="The interval excludes no trend.")


class Growth(Row):
    """A service's growth in bytes per hour, with its 95 % interval."""

    per_hour: Number = Field(description="Change per hour.")
    low: Number = Field(description="Lower end of its 95 % interval.")
    high: Number = Field(description="Upper end of its 95 % interval.")
    n: Count = Field(description="Readings.")
    sure: bool = Field(description="The interval excludes no growth.")


class LevelChange(Row):
    """A level that changed for good."""

    metric: str = Field(description="`achieved`, `p50_ms` or `p99_ms`.")
    at_s: Number = Field(description="When, since the window began.")
    before: Number = Field(description="Mean before it.")
    after: Number = Field(description="Mean after it.")


class Bucket(Row):
    """A stretch of a soak."""

    at_s: Number = Field(description="Its middle, since the window began.")
    achieved: Number | None = Field(description="Operations completed a second.")
    p50_ms: Number | None = Field(description="Median response time.")
    p99_ms: Number | None = Field(description="99th percentile.")
    met: bool | None = Field(description="Whether it met the latency objective by itself; null: there is none.")


class Stall(Row):
    """A stretch in which nothing was completed."""

    at_s: Number = Field(description="Its start, since the window began.")
    seconds: Number = Field(description="Its length.")


class Stretches(Row):
    """Whether most stretches of a soak meet the latency objective, with 95 %."""

    stretches: Count = Field(description="Stretches that were judged.")
    held: Count = Field(description="Of these: stretches that met it.")
    independent: Number = Field(description="So many independent stretches would be worth as much: neighbours depend on each other.")
    probability: Number = Field(description="Probability that most stretches meet it, 0 to 1.")
    verdict: RateVerdict = Field(description="What is known with 95 %.")


class SoakWorkload(Row):
    """A workload of a soak."""

    workload: str = Field(description=WORKLOAD)
    offered: Number | None = Field(description="Operations a second asked for; null in a closed loop.")
    achieved: Number = Field(description="Operations completed a second.")
    errors: Count = Field(description="Operations that failed, in the whole trial.")
    latency_ms: Latency | None = Field(description=f"Response times over all of it; {NO_LATENCY}.")
    latency_includes_failed: Count | None = Field(None, description=FAILED_IN_TIMES)
    gave_up: bool = Field(False, description="The generator ended early, since the system was hopelessly behind.")
    drift_pct: dict[str, Drift | None] = Field(
        description="Drift of `achieved`, `p50_ms` and `p99_ms`, in percent; null: too few readings."
    )
    changes: list[LevelChange] = Field(description="Where a level changed for good.")
    buckets: list[Bucket] = Field(description="Its stretches.")
    stalls: list[Stall] | None = Field(
        None, description="The longest stretches without a completion; null for workloads that progress in batches and pause in between."
    )
    accepted: bool | None = Field(description="Whether the level was held; null: it was not judged.")
    because: list[Failure] = Field(default_factory=list, description="Why it was not held, as codes and figures.")
    reasons: list[str] = Field(description=IN_WORDS)
    missed_at_s: list[Number] = Field(description="Stretches that missed the latency objective.")
    verdict: Stretches | None = Field(
        None, description="Whether most stretches meet the latency objective; null: there is none, or there are fewer than 20 stretches."
    )


class SoakService(Row):
    """Memory of a service over a soak."""

    host: str = Field(description="Where it ran.")
    service: str = Field(description="The service.")
    memory_bytes: Number | None = Field(description="Memory at the end.")
    growth_bytes_per_hour: Growth | None = Field(description="How it grew; null: too few readings.")


class Soak(Row):
    """A long level."""

    trial: int = Field(description=TRIAL)
    seconds: Number = Field(description="Length of the window.")
    workloads: list[SoakWorkload] = Field(description="Its workloads.")
    services: list[SoakService] = Field(description="Growth of each service.")
    counters: dict[str, Number] = Field(
        description="Counters of the systems over the window: bytes compacted, log segments made and deleted."
    )
