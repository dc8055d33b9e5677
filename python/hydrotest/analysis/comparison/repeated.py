"""Comparison of two groups of repeated runs: what scatters between equal runs is then measured, and not assumed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hydrotest.analysis.comparison.compare import (
    LIMIT_WORDS,
    POINT_FIGURES,
    Change,
    Comparison,
    Draft,
    Points,
    Run,
    log_mean,
    points_of,
    settings_apart,
)
from hydrotest.analysis.statistics.intervals import pooled_deviation
from hydrotest.summary.limits import Limit

Groups = tuple[Sequence[Run], Sequence[Run]]
Key = tuple[str, str]
"""Workload and tenancy."""


def compare_repeated(first: Sequence[Run], second: Sequence[Run]) -> Comparison:
    """Compares what all runs measured. The interval is Student's, with the scatter that both groups have in common; so one of
    them needs two runs at least, else ValueError."""
    if len(first) + len(second) < 3:
        raise ValueError("repeated runs: one of the groups needs two of them")
    base = first[0]
    apart = [settings_apart(base, run) for run in (*first[1:], *second)]
    differences = list(dict.fromkeys(one for found in apart for one in found.differences))
    groups = first, second
    keys = [(row.workload, row.tenancy) for row in base.summary.limits]
    chosen = [key for key in keys if not any(found.is_uncompared(*key) for found in apart)]
    drafts = [draft for key in chosen if (draft := _limit(groups, key)) is not None]
    points = [[points_of(run) for run in group] for group in groups]
    of_points = dict.fromkeys(key[:2] for key in points[0][0])
    drafts += [draft for key in of_points if not any(found.is_uncompared(*key) for found in apart) for draft in _at_same_rates(points, key)]
    family = sum(draft.change is not None for draft in drafts)
    return Comparison(differences, [draft.row(family) for draft in drafts])


def _limit(groups: Groups, key: Key) -> Draft | None:
    found = [[next((row for row in run.summary.limits if (row.workload, row.tenancy) == key), None) for run in group] for group in groups]
    known = [[row for row in group if row is not None and row.limit and not row.at_least] for group in found]
    if [len(group) for group in known] != [len(group) for group in groups]:
        return None
    logs = [[math.log(row.limit or 1.0) for row in group] for group in known]
    shown = [_mean(group, lambda row: row.limit or 0.0) for group in known]
    return Draft(*key, "limit", known[0][0].unit, shown[0], shown[1], min(map(len, logs)), _change(logs), LIMIT_WORDS)


def _mean(rows: Sequence[Limit], figure: Callable[[Limit], float]) -> str:
    return f"{math.exp(math.fsum(math.log(figure(row)) for row in rows) / len(rows)):,.0f}"


def _at_same_rates(points: Sequence[Sequence[Points]], key: Key) -> list[Draft]:
    every = [one for group in points for one in group]
    common = [rate for rate in every[0] if rate[:2] == key and all(rate in one for one in every)]
    drafts = []
    for what, unit, words in POINT_FIGURES:
        values = [[[log_mean(one[rate], what) for rate in common] for one in group] for group in points]
        if not common or any(value is None for group in values for run in group for value in run):
            continue
        logs = [[math.fsum(value for value in run if value is not None) / len(run) for run in group] for group in values]
        shown = [f"{math.exp(math.fsum(group) / len(group)):,.2f}" for group in logs]
        drafts.append(Draft(*key, f"{what} at the same rates", unit, shown[0], shown[1], min(map(len, logs)), _change(logs), words))
    return drafts


def _change(logs: Sequence[Sequence[float]]) -> Change:
    deviation, freedom = pooled_deviation(logs)
    means = [math.fsum(group) / len(group) for group in logs]
    return Change(means[1] - means[0], deviation * math.sqrt(sum(1 / len(group) for group in logs)), float(freedom))
