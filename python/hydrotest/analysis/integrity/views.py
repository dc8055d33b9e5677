"""Materialised views after the load: whether they hold the rows of their tables, and how far behind they were."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.store.samples import read_samples
from hydrotest.summary.integrity import ViewAccount

VIEWS_COMPARED = "views compared"
"""Journal entry: what a comparison of a workload's views with their tables found after its load."""
PENDING, BEHIND_US = "cassandra_view_updates_pending", "cassandra_view_behind_us"
"""Gauges of nodes (systems/cassandra/gauges.yaml): updates of views on other nodes that are under way; how much later than its table a
view on another node has an update, 99th percentile by the node's own fading account, microseconds."""


def are_same(views: Iterable[dict[str, Any]]) -> bool:
    """True if each view held the same rows as its table (`Compared` of rust/cassandra/src/views.rs)."""
    return all(view["missing"] == view["extra"] == 0 for view in views)


def view_accounts(run: RunFolder, trials: Sequence[Trial], journal: Iterable[dict[str, Any]]) -> dict[str, list[ViewAccount]]:
    """Of each workload with views, a row for each view of each run."""
    accounts: dict[str, list[ViewAccount]] = defaultdict(list)
    for entry in journal:
        if entry["what"] == VIEWS_COMPARED:
            workload = entry["workload"]
            behind = _behind(run, [trial for trial in trials if any(load.workload == workload for load in trial.loads)])
            accounts[workload] += [ViewAccount(**view, **behind) for view in entry["views"]]
            if entry["views"] == []:
                accounts[workload].append(ViewAccount(reason=entry.get("reason"), **behind))
    return dict(accounts)


def _behind(run: RunFolder, trials: Sequence[Trial]) -> dict[str, Any]:
    """The highest readings of any node in any of these trials."""
    highest: dict[str, float | None] = {PENDING: None, BEHIND_US: None}
    for trial in trials:
        samples = read_samples(run.folder_of(trial), layout.GAUGE_SAMPLES, pl.col("gauge").is_in(list(highest)))
        for gauge in highest if not samples.is_empty() else ():
            most = samples.filter(pl.col("gauge") == gauge)["value"].max()
            if isinstance(most, int | float):
                highest[gauge] = max(float(most), highest[gauge] or 0.0)
    behind_us = highest[BEHIND_US]
    return {"pending_max": highest[PENDING], "behind_p99_ms": None if behind_us is None else behind_us / 1e3}
