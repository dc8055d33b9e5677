"""Was a trial sustained? The outcome of each rule with its figures; what else happened meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


class Rule(StrEnum):
    """What a trial is held against; docs/reference/rules.md has each."""

    LATENCY = "latency"
    ACHIEVED = "achieved"
    BACKLOG = "backlog"
    ERRORS = "errors"
    LOSS = "loss"
    UNSTEADY = "unsteady"
    GENERATOR = "generator"


class Lacking(StrEnum):
    """What a generator may have too little of."""

    THREAD = "thread"
    """Its busiest thread has no idle time."""
    RUN_DELAY = "run-delay"
    """Its threads wait for a core."""
    WAIT = "wait"
    """It starts operations late."""
    IN_FLIGHT_CAP = "in-flight-cap"
    LINK = "link"
    """The link of a host of nothing but generators."""


@dataclass(frozen=True)
class Lack:
    """Something of which a generator had too little: the value that was measured, above its bound."""

    code: Lacking
    value: float
    """A share; milliseconds of `wait`; a count of `in-flight-cap`."""
    bound: float
    percentile: str | None = None
    """Of `wait`."""
    host: str | None = None
    """Of `link`."""


@dataclass(frozen=True)
class Check:
    """One rule's outcome: what was measured, and the bound that it is held against (None: not known, or it has none), in the rule's own unit."""

    rule: Rule
    held: bool
    value: float | None = None
    bound: float | None = None
    unit: str | None = None
    percentile: str | None = None
    """Of `latency`."""
    errors: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Of `errors`: how many by name."""
    gave_up: bool = False
    """Of `achieved`: the trial was ended early, since it was hopeless."""
    lost: int | None = None
    corrupted: int | None = None
    """Of `loss`."""
    lacks: tuple[Lack, ...] = ()
    """Of `generator`."""
    words: str = ""
    """Made by `report/wording`."""
    is_of_dataflow: bool = False
    """Of `backlog`: of what is on its way through a dataflow, without an interval."""


@dataclass(frozen=True)
class TooLong:
    """Latencies were too long to be recorded: the trial is void."""

    count: int
    code: Literal["latencies-too-long"] = "latencies-too-long"


@dataclass(frozen=True)
class Throttled:
    """The broker held this client back, which was above its quota."""

    answers: int
    mean_ms: float
    code: Literal["throttled-by-quota"] = "throttled-by-quota"


@dataclass(frozen=True)
class SlowJob:
    """A test of a batch job took longer than its objective allows. `seconds`: None where it did not end."""

    seconds: float | None
    bound: float
    code: Literal["slow-job"] = "slow-job"


Failure = Check | TooLong | Throttled | SlowJob
"""Why a trial was not sustained, or does not count."""


@dataclass(frozen=True)
class OfWorkload:
    """A failure of one of several workloads of a trial."""

    workload: str
    failure: Failure


class Disturbing(StrEnum):
    """What explains a rejection without the system's limit."""

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
