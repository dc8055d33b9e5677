"""Requested rates and numbers in flight, and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, create_model

from hydrotest.percentiles import BRIEF
from hydrotest.store.records import Tenancy
from hydrotest.summary.base import (
    BECAUSE,
    FAILED_IN_TIMES,
    IN_WORDS,
    NO_LATENCY,
    PURPOSE,
    TENANCY,
    TRIAL,
    WORKLOAD,
    Count,
    Latency,
    Number,
    Row,
)
from hydrotest.verdicts.limit import RateVerdict
from hydrotest.verdicts.trial import Check, Failure


class Level(Row):
    """A level, or one kind of operation of it."""

    workload: str = Field(description=WORKLOAD)
    tenancy: Tenancy = Field(description=TENANCY)
    offered: Number | None = Field(description="Operations a second asked for; null in a closed loop.")
    concurrency: Count | None = Field(description="Operations in flight allowed; null in an open loop.")
    client: str = Field(description="The client that made the load.")
    seconds: Number = Field(description="Length of the window.")
    trial: int | None = Field(None, description=TRIAL)
    errors_known: bool = Field(True, description="False: the client does not count them, and `errors` is 0.")
    op: str | None = Field(description="Kind of operation; `mix`: all of them; null where there is only one.")
    achieved: Number = Field(description="Operations completed a second.")
    bytes_per_s: Number | None = Field(description="Payload.")
    count: Count = Field(description="Operations completed in the window.")
    errors: Count = Field(description="Operations that failed, in the whole trial.")
    errors_by_name: dict[str, Count] = Field(
        default_factory=dict, description="Failed operations by the error's name; empty where the client does not name them."
    )
    latency_ms: Latency | None = Field(description=f"Response times; {NO_LATENCY}.")
    latency_from_send_ms: Latency | None = Field(
        None, description="For a stock tool that does not measure response times: times from its actual send, however late that was."
    )
    samples: Count | None = Field(None, description="Operations in `latency_ms`: completed, failed and unanswered.")
    latency_includes_failed: Count | None = Field(None, description=f"{FAILED_IN_TIMES} For one kind of operation, an upper bound.")
    in_flight_mean: Number | None = Field(description="Mean operations in flight.")
    cpu_s_per_million: Number | None = Field(None, description="CPU-seconds of the client per million operations.")
    accepted: bool | None = Field(description="Whether it was sustained; null: it was not judged.")
    checks: list[Check] = Field(default_factory=list, description="Each rule of a sustained level; empty if none applies.")
    because: list[Failure] = Field(default_factory=list, description=BECAUSE)
    reasons: list[str] = Field(default_factory=list, description=IN_WORDS)


class GivenRate(Row):
    """Whether a system holds a given rate, from repeated windows."""

    workload: str = Field(description=WORKLOAD)
    offered: Number = Field(description="Operations a second asked for.")
    windows: Count = Field(description="Windows at it.")
    held: Count = Field(description="Of these: windows that held.")
    probability: Number = Field(description="Probability that most windows hold, 0 to 1.")
    sure: Number = Field(description="The probability that was asked for.")
    verdict: RateVerdict = Field(description="What is known with that probability.")
    stopped_by: dict[str, Count] = Field(description="Windows that failed, by the rule that failed first.")
    trials: list[int] = Field(description="Numbers of its trials.")


if TYPE_CHECKING:

    class _Point(Row):
        """The percentiles that code names; these are the brief ones of `hydrotest.percentiles`."""

        offered: Number | None = None
        achieved: Number
        p50_ms: Number | None = None
        p99_ms: Number | None = None

else:
    _Point = create_model("_Point", __base__=Row, **{
        "offered": (Number | None, Field(description="Operations a second asked for.")),
        "achieved": (Number, Field(description="Operations completed a second.")),
        **{f"{one.name}_ms": (Number | None, Field(description=f"{one.words[:1].upper()}{one.words[1:]}.")) for one in BRIEF},
    })  # fmt: skip


class Point(_Point):
    """A trial at one offered rate."""

    accepted: bool = Field(description="Whether it was sustained.")
    trial: int | None = Field(None, description=TRIAL)
    purpose: str | None = Field(None, description=PURPOSE)
    because: list[Failure] = Field(default_factory=list, description=BECAUSE)
    reasons: list[str] = Field(default_factory=list, description=IN_WORDS)
    latency_includes_failed: Count | None = Field(None, description=FAILED_IN_TIMES)


class Curve(Row):
    """Latency and achieved rate against the offered rate: every measured point of a search."""

    workload: str = Field(description=WORKLOAD)
    tenancy: Tenancy = Field(description=TENANCY)
    points: list[Point] = Field(description="In the order of the offered rate.")
