"""What does not count of a run, or counts less, apart from its limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class LogFlaw:
    """A Spark event log is not complete. `flaw`: a `FlawKind` of analysis/spark/event_parser.py, with its
    figures."""

    log: str
    flaw: str
    count: int
    place: str | None
    detail: str | None
    kinds: tuple[tuple[str, int], ...] = ()
    code: Literal["event-log-flaw"] = "event-log-flaw"


@dataclass(frozen=True)
class ExecutorLost:
    """The work of a lost executor was repeated. `reason`: Spark's own."""

    executor: str
    reason: str
    code: Literal["executor-lost"] = "executor-lost"


@dataclass(frozen=True)
class FilesMissing:
    """Files of the run folder are not there. `files`: their paths below it."""

    files: tuple[str, ...]
    code: Literal["files-missing"] = "files-missing"


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
    """No event log has the data of a test of a batch job."""

    workload: str
    test: str
    tenancy: str
    code: Literal["job-test-not-logged"] = "job-test-not-logged"


@dataclass(frozen=True)
class NoIsolatedLimit:
    """A combined test was skipped: these workloads have no isolated limit to take a fraction of."""

    workloads: tuple[str, ...]
    code: Literal["no-isolated-limit"] = "no-isolated-limit"


@dataclass(frozen=True)
class Noted:
    """Words that a run of an older version kept."""

    text: str
    code: Literal["noted"] = "noted"


@dataclass(frozen=True)
class OtherThreshold:
    """Searches were judged by a threshold other than today's. `then`: None if there was none."""

    name: str
    then: float | None
    now: float
    code: Literal["other-threshold"] = "other-threshold"


@dataclass(frozen=True)
class Rejudged:
    """A figure or code of a limit that differs by today's rules from what the run decided. `of`: a field of
    `limits`."""

    workload: str
    tenancy: str
    of: Literal["limit", "high", "stopped_by", "bound_by"]
    then: float | str | None
    now: float | str | None
    code: Literal["rejudged"] = "rejudged"


Problem = LogFlaw | ExecutorLost | FilesMissing | JobTestBroken | JobTestUntold | NoIsolatedLimit | Noted | OtherThreshold | Rejudged
