"""The highest rates that were sustained, and what binds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from hydrotest.store.records import Tenancy
from hydrotest.summary.base import FAILED_IN_TIMES, IN_WORDS, NO_LATENCY, TENANCY, WORKLOAD, Count, Latency, Number, Row
from hydrotest.summary.bound import Bound
from hydrotest.verdicts.limit import LimitFlaw, LowerBound, Stop
from hydrotest.verdicts.trial import Rule

STOPS = [*map(str, Rule), *map(str, Stop)]


def _known(value: str) -> str:
    if value not in STOPS:
        raise ValueError(f"{value!r} is neither a rule nor an end of a search")
    return value


StoppedBy = Annotated[str, AfterValidator(_known), WithJsonSchema({"enum": STOPS})]


class Bracket(Row):
    """Where one search ended."""

    accepted: Number | None = Field(description="The highest rate that it sustained; null: none.")
    rejected: Number | None = Field(description="The lowest rate above it that was not sustained; null: none.")


class Limit(Row):
    """The limit of a workload."""

    workload: str = Field(description=WORKLOAD)
    kind: str = Field(description="Kind of the workload.")
    tenancy: Tenancy = Field(description=TENANCY)
    unit: str = Field(description="Unit of all rates of this row.")
    objective: dict[str, Number | None] = Field(description="The objective: latency bounds as `p99_ms`, acceptable `errors` and `loss`.")
    limit: Number | None = Field(description="The highest rate sustained; null: none.")
    low: Number | None = Field(description="Lower end of its interval.")
    high: Number | None = Field(description="Upper end of its interval.")
    interval: Literal["searches", "95 %"] = Field(
        "searches", description="What `low` and `high` are: where most searches ended (no confidence interval), or a 95 % interval."
    )
    repeats: Count = Field(description="Independent searches, or repeats, that ended.")
    at_least: bool = Field(description="True: it is a lower bound only.")
    saturated: Number | None = Field(description="The rate achieved without a rate limit.")
    latency_ms: Latency | None = Field(description=f"Response times at the limit; {NO_LATENCY}.")
    stopped_by: StoppedBy = Field(description="The rule that rejected the next higher rate.")
    latency_includes_failed: Count | None = Field(None, description=FAILED_IN_TIMES)
    lower_bound: list[LowerBound] = Field(default_factory=list, description="Why it is a lower bound only, as codes and figures.")
    at_least_because: list[str] = Field(default_factory=list, description=IN_WORDS)
    bound_by: Bound = Field(description="What sets the limit.")
    valid: bool = Field(description="False: the limit does not count.")
    flaws: list[LimitFlaw] = Field(default_factory=list, description="Why it does not count, or counts less, as codes and figures.")
    invalid_because: list[str] = Field(description=IN_WORDS)
    trials: list[int] = Field(default_factory=list, description="Numbers of the trials that it is based on.")
    searches: list[Bracket] = Field(default_factory=list, description="Where each search ended.")


class Job(Row):
    """What binds the tests of a batch workload."""

    workload: str = Field(description=WORKLOAD)
    kind: str = Field(description="Kind of the workload.")
    tests: list[str] = Field(description="Its tests.")
    workers: list[str] = Field(description="Hosts of the workers, by all their names.")
    bound_by: Bound = Field(description="What binds them together.")
