"""The words of a summary: for each finding in it, its sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hydrotest.report.wording.binding import worded as worded_bound
from hydrotest.report.wording.limit import flaw_words, lower_bound_words
from hydrotest.report.wording.problem import problem_words
from hydrotest.report.wording.trial import check_words, failures_words, lack_words
from hydrotest.summary.dataflow import Executors
from hydrotest.summary.levels import Level, Point
from hydrotest.summary.limits import Limit
from hydrotest.summary.model import Summary
from hydrotest.summary.soak import SoakWorkload
from hydrotest.summary.together import SafeWorkingPoint, Starved


def worded(summary: Summary) -> Summary:
    """A summary with its texts; the fields of figures and codes are those that it has."""
    together = summary.together.model_copy(update={"starved": [_starved(row) for row in summary.together.starved]})
    return summary.model_copy(update={
        "problems": [*map(problem_words, summary.problem_causes), *summary.problems],
        "limits": [_limit(row) for row in summary.limits],
        "jobs": [row.model_copy(update={"bound_by": worded_bound(row.bound_by)}) for row in summary.jobs],
        "executors": [_executors(row) for row in summary.executors],
        "levels": [_level(row) for row in summary.levels],
        "curves": [curve.model_copy(update={"points": _judged(curve.points)}) for curve in summary.curves],
        "soak": [soak.model_copy(update={"workloads": _judged(soak.workloads)}) for soak in summary.soak],
        "generator": [row.model_copy(update={"why_not": [*map(lack_words, row.lacks)]}) for row in summary.generator],
        "safe_working_point": _point(summary.safe_working_point),
        "together": together,
    })  # fmt: skip


def _limit(row: Limit) -> Limit:
    return row.model_copy(update={
        "bound_by": worded_bound(row.bound_by),
        "invalid_because": [*map(flaw_words, row.flaws)],
        "at_least_because": list(dict.fromkeys(map(lower_bound_words, row.lower_bound))),
    })  # fmt: skip


def _executors(row: Executors) -> Executors:
    return row if row.bound is None else row.model_copy(update={"bound_by": worded_bound(row.bound).detail})


def _judged(rows: Sequence[Point] | Sequence[SoakWorkload]) -> list[Point | SoakWorkload]:
    """Rows that were held against rules."""
    return [row.model_copy(update={"reasons": failures_words(row.because)}) for row in rows]


def _level(row: Level) -> Level:
    checks = [replace(check, words=check_words(check)) for check in row.checks]
    stated = {"checks": checks} if "checks" in row.model_fields_set else {}
    return row.model_copy(update={"reasons": failures_words(row.because), **stated})


def _point(point: SafeWorkingPoint | None) -> SafeWorkingPoint | None:
    return None if point is None else point.model_copy(update={"reasons": sorted(failures_words(point.because))})


def _starved(row: Starved) -> Starved:
    return row.model_copy(update={
        "changes": [f"{one.metric.replace('_ms', '')} {one.change_pct:+,.0f} %" for one in row.worse],
        "users": [f"{one.service} {one.cores:.2f}" for one in row.cores_of],
    })  # fmt: skip
