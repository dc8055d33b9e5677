"""Reads of the nearest vectors: latency and recall, by load."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hydrotest.analysis.measured import Measured
from hydrotest.analysis.statistics.intervals import share_interval
from hydrotest.analysis.statistics.latency import latency_ms, merged
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Load, Tenancy, Trial
from hydrotest.summary.base import Latency
from hydrotest.summary.limits import Limit
from hydrotest.summary.nearest import Nearest, NearestUntold


@dataclass(frozen=True)
class _Under:
    """What the trials of a row have in common."""

    workload: str
    tenancy: Tenancy
    statement: str
    is_at_limit: bool
    offered: float | None
    concurrency: int | None
    test: int
    purpose: str


def nearest_rows(run: RunFolder, trials: Sequence[Trial], limits: Sequence[Limit]) -> list[Nearest]:
    """A row for each statement at the limit of its workload, and at each other load that is not one of a search."""
    at_limit = {(row.workload, row.tenancy): row.at_limit for row in limits}
    found: dict[_Under, list[tuple[Trial, dict[str, Any]]]] = defaultdict(list)
    for trial, load, one in _found(trials, "recall"):
        is_at_limit = trial.purpose.is_searched and trial.number in at_limit.get((load.workload, trial.tenancy), ())
        if is_at_limit or not trial.purpose.is_searched:
            offered, in_flight = (None, None) if is_at_limit else (load.offered, load.in_flight)
            under = _Under(load.workload, trial.tenancy, one["statement"], is_at_limit, offered, in_flight, trial.test,
                           "" if is_at_limit else trial.purpose)  # fmt: skip
            found[under].append((trial, one))
    return [_row(run, under, parts) for under, parts in found.items()]


def untold_rows(trials: Sequence[Trial]) -> list[NearestUntold]:
    """A row for each statement and reason."""
    known = {(load.workload, one["statement"], one["reason"]) for _, load, one in _found(trials, "recall_untold")}
    return [NearestUntold(workload=workload, statement=statement, reason=reason) for workload, statement, reason in sorted(known)]


def _found(trials: Iterable[Trial], key: str) -> Iterator[tuple[Trial, Load, dict[str, Any]]]:
    """What generators found (`extra` of rust/cassandra/src/load_driver.rs): one of each of them."""
    for trial in trials:
        for load in trial.loads if trial.status == "done" else ():
            for one in load.outcome.extra.get(key, []) if load.outcome is not None else ():
                yield trial, load, one


def _row(run: RunFolder, under: _Under, parts: Sequence[tuple[Trial, dict[str, Any]]]) -> Nearest:
    one = parts[0][1]
    trials = list({trial.number: trial for trial, _ in parts}.values())
    latency = merged(Measured.read(run, trial, under.workload).histogram(op=under.statement) for trial in trials)
    queries = [query for _, part in parts for query in part["queries"]]
    mean = share_interval([hits / there for hits, _, there in queries], one["limit"]) if queries else None
    return Nearest(
        workload=under.workload, tenancy=under.tenancy, statement=under.statement, is_at_limit=under.is_at_limit, offered=under.offered,
        concurrency=under.concurrency, trials=[trial.number for trial in trials], latency_ms=Latency.of(latency_ms(latency)),
        **{key: one[key] for key in ("similarity", "limit", "dimension", "rows")},
        answers=sum(part["answers"] for _, part in parts), queries=len(queries),
        recall=None if mean is None else mean.value, low=None if mean is None else mean.low, high=None if mean is None else mean.high,
        short=sum(answered < there for _, answered, there in queries),
    )  # fmt: skip
