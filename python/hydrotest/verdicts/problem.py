"""What does not count of a run, or counts less, beside its limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class LogFlaw:
    """A Spark event log is not whole. `flaw`: a `FlawKind` of analysis/spark/event_parser.py, with its figures."""

    log: str
    flaw: str
    count: int
    place: str | None
    detail: str | None
    kinds: tuple[tuple[str, int], ...] = ()
    code: Literal["event-log-flaw"] = "event-log-flaw"


@dataclass(frozen=True)
class ExecutorLost:
    """What an executor did was done again. `reason`: Spark's own."""

    executor: str
    reason: str
    code: Literal["executor-lost"] = "executor-lost"


@dataclass(frozen=True)
class JobTestBroken:
    """A test of a batch job failed, or (`is_ended`) was ended before its end. `error`: Spark's own."""

    workload: str
    test: str
    is_ended: bool
    error: str | None
    code: Literal["job-test-broken"] = "job-test-broken"


@dataclass(frozen=True)
class JobTestUntold:
    """No event log has what a test of a batch job did."""

    workload: str
    test: str
    tenancy: str
    code: Literal["job-test-not-logged"] = "job-test-not-logged"


@dataclass(frozen=True)
class NoIsolatedLimit:
    """A combined test was skipped: these workloads have no isolated limit of which there could be a fraction."""

    workloads: tuple[str, ...]
    code: Literal["no-isolated-limit"] = "no-isolated-limit"


@dataclass(frozen=True)
class Noted:
    """What a run of an older version kept in words."""

    text: str
    code: Literal["noted"] = "noted"


@dataclass(frozen=True)
class OtherThreshold:
    """Searches were judged by another threshold than today's. `then`: None where there was none."""

    name: str
    then: float | None
    now: float
    code: Literal["other-threshold"] = "other-threshold"


@dataclass(frozen=True)
class Rejudged:
    """A figure or code of a limit that is another by today's rules than what the run decided. `of`: a field of `limits`."""

    workload: str
    tenancy: str
    of: Literal["limit", "high", "stopped_by", "bound_by"]
    then: float | str | None
    now: float | str | None
    code: Literal["rejudged"] = "rejudged"


Problem = LogFlaw | ExecutorLost | JobTestBroken | JobTestUntold | NoIsolatedLimit | Noted | OtherThreshold | Rejudged
