"""Was a trial sustained? The outcome of each rule with its figures; other events in its window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


class Rule(StrEnum):
    """A rule for trials; docs/reference/rules.md has each."""

    LATENCY = "latency"
    ACHIEVED = "achieved"
    BACKLOG = "backlog"
    ERRORS = "errors"
    LOSS = "loss"
    UNSTEADY = "unsteady"
    GENERATOR = "generator"


class Lacking(StrEnum):
    """What a generator may be short of."""

    THREAD = "thread"
    """Its busiest thread has no idle time."""
    RUN_DELAY = "run-delay"
    """Its threads wait for a core."""
    WAIT = "wait"
    """It starts operations late."""
    IN_FLIGHT_CAP = "in-flight-cap"
    LINK = "link"
    """The link of a host that runs only generators."""


@dataclass(frozen=True)
class Lack:
    """Something that a generator was short of: the measured value, above its bound."""

    code: Lacking
    value: float
    """A share; milliseconds for `wait`; a count for `in-flight-cap`."""
    bound: float
    percentile: str | None = None
    """For `wait`."""
    host: str | None = None
    """For `link`."""


@dataclass(frozen=True)
class Check:
    """One rule's outcome: the measured value and its bound (None: unknown, or none), in the rule's own
    unit."""

    rule: Rule
    held: bool
    value: float | None = None
    bound: float | None = None
    unit: str | None = None
    percentile: str | None = None
    """For `latency`."""
    errors: Mapping[str, int] = field(default_factory=dict, hash=False)
    """For `errors`: how many by name."""
    gave_up: bool = False
    """For `achieved`: the trial was ended early, since it was hopeless."""
    lost: int | None = None
    corrupted: int | None = None
    """For `loss`."""
    lacks: tuple[Lack, ...] = ()
    """For `generator`."""
    words: str = ""
    """Made by `report/wording`."""
    is_of_dataflow: bool = False
    """For `backlog`: of records in flight in a dataflow, without an interval."""


@dataclass(frozen=True)
class TooLong:
    """Latencies were too long to be recorded: the trial is void."""

    count: int
    code: Literal["latencies-too-long"] = "latencies-too-long"


@dataclass(frozen=True)
class ClocksDiffer:
    """A latency between two hosts is so near its bound that their clocks decide: the trial is void."""

    error_ms: float
    """By how much it may be wrong."""
    value: float
    bound: float
    percentile: str
    code: Literal["clocks-differ"] = "clocks-differ"


@dataclass(frozen=True)
class Throttled:
    """The broker throttled this client, which was above its quota."""

    answers: int
    mean_ms: float
    code: Literal["throttled-by-quota"] = "throttled-by-quota"


@dataclass(frozen=True)
class SlowJob:
    """A test of a batch job took longer than its objective allows. `seconds`: None if it did not complete."""

    seconds: float | None
    bound: float
    code: Literal["slow-job"] = "slow-job"


Failure = Check | TooLong | ClocksDiffer | Throttled | SlowJob
Void = TooLong | ClocksDiffer
"""Why a trial counts neither way."""
"""Why a trial was not sustained, or does not count."""


@dataclass(frozen=True)
class OfWorkload:
    """A failure of one of several workloads of a trial."""

    workload: str
    failure: Failure


class Disturbing(StrEnum):
    """What explains a rejection other than the system's limit."""

    COMPILING = "compiling"
    """A service's JIT compilers were busy; value: cores."""
    STOLEN = "stolen"
    """The hypervisor took cores away; value: share of the host's."""


@dataclass(frozen=True)
class Disturbance:
    """Something else that happened in a window."""

    code: Disturbing
    where: str
    """The service, or the host."""
    value: float
