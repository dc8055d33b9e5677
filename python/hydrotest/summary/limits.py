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


class Chance(Row):
    """The chance that a window holds at a rate."""

    rate: Number = Field(description="The offered rate.")
    holds: Number = Field(description="Probability that a window holds.")
    low: Number = Field(description="Lower end of its 90 % credible interval.")
    high: Number = Field(description="Upper end of it.")


class Lapse(Row):
    """Windows that fail whatever the rate."""

    share: Number = Field(description="Mean share of windows, 0 to 1.")
    low: Number = Field(description="Lower end of its 90 % credible interval.")
    high: Number = Field(description="Upper end of it.")
    causes: dict[str, Count] = Field(
        description="Windows that failed below the limit's interval, by what explains it (`collection`, `compaction`, `stolen`, `compiling`), or else by the "
        "rule that failed. A window may have several causes."
    )


class Limit(Row):
    """The limit of a workload."""

    workload: str = Field(description=WORKLOAD)
    kind: str = Field(description="Kind of the workload.")
    tenancy: Tenancy = Field(description=TENANCY)
    unit: str = Field(description="Unit of all rates of this row.")
    objective: dict[str, Number | None] = Field(description="The objective: latency bounds as `p99_ms`, acceptable `errors` and `loss`.")
    limit: Number | None = Field(
        description="The rate that half of the windows hold, apart from lapses; of a consumer its mean rate. Null: no window held."
    )
    low: Number | None = Field(description="Lower end of its interval.")
    high: Number | None = Field(description="Upper end of its interval.")
    interval: Literal["searches", "95 %", "90 % credible"] = Field(
        "searches",
        description="What `low` and `high` are: where most searches ended (versions before 0.2; no confidence interval), a 95 % interval "
        "of a mean, or a 90 % credible interval.",
    )
    safe: Number | None = Field(
        None, description="The rate at which `confidence` of the windows hold; null: lapses alone exceed that, or it is not known."
    )
    confidence: Number | None = Field(None, description="Share of the windows that hold at the safe rate.")
    lapse: Lapse | None = Field(None, description="Windows that fail whatever the rate; null: not searched.")
    drift: Number | None = Field(None, description="Probability that the limit moved during the search; then it is the limit at its end.")
    precise: bool | None = Field(
        None, description="Whether the interval is within the asked precision; false: the budget of trials ended the search."
    )
    chances: list[Chance] = Field(default_factory=list, description="The chance that a window holds, by rate.")
    repeats: Count = Field(description="Windows that counted, or repeats that ended.")
    at_least: bool = Field(description="True: it is a lower bound only.")
    saturated: Number | None = Field(description="The rate achieved without a rate limit.")
    latency_ms: Latency | None = Field(description=f"Response times of the windows that held at the limit (`at_limit`); {NO_LATENCY}.")
    stopped_by: StoppedBy = Field(description="The rule that rejected the next higher rate.")
    latency_includes_failed: Count | None = Field(None, description=FAILED_IN_TIMES)
    lower_bound: list[LowerBound] = Field(default_factory=list, description="Why it is a lower bound only, as codes and figures.")
    at_least_because: list[str] = Field(default_factory=list, description=IN_WORDS)
    bound_by: Bound = Field(description="What sets the limit.")
    valid: bool = Field(description="False: the limit does not count.")
    flaws: list[LimitFlaw] = Field(default_factory=list, description="Why it does not count, or counts less, as codes and figures.")
    invalid_because: list[str] = Field(description=IN_WORDS)
    trials: list[int] = Field(default_factory=list, description="Numbers of the trials that it is based on.")
    at_limit: list[int] = Field(
        default_factory=list, description="Of these: those that held within its interval, or else at the highest rate that held."
    )
    searches: list[Bracket] = Field(default_factory=list, description="Where each search ended; empty since version 0.2.")


class Job(Row):
    """What binds the tests of a batch workload."""

    workload: str = Field(description=WORKLOAD)
    kind: str = Field(description="Kind of the workload.")
    tests: list[str] = Field(description="Its tests.")
    workers: list[str] = Field(description="Hosts of the workers, by all their names.")
    bound_by: Bound = Field(description="What binds them together.")
