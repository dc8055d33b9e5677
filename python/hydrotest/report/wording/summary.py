"""The words of a summary: for each finding in it, its sentence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hydrotest.report.wording.binding import worded as worded_bound
from hydrotest.report.wording.limit import flaw_words, lower_bound_words
from hydrotest.report.wording.problem import problem_words
from hydrotest.report.wording.trial import check_words, failures_words, lack_words

Row = dict[str, Any]


def worded(summary: Row) -> Row:
    """A summary with its texts; the fields of figures and codes are those that it has."""
    out = {**summary, "problems": [*map(problem_words, summary["problem_causes"]), *summary["problems"]]}
    out["limits"] = [_limit(row) for row in summary["limits"]]
    out["jobs"] = [{**row, "bound_by": worded_bound(row["bound_by"])} for row in summary["jobs"]]
    out["executors"] = [{**row, "bound_by": row["bound_by"] and worded_bound(row["bound_by"]).detail} for row in summary["executors"]]
    out["levels"] = _judged(summary["levels"])
    out["curves"] = [{**curve, "points": _judged(curve["points"])} for curve in summary["curves"]]
    out["soak"] = [{**soak, "workloads": _judged(soak["workloads"])} for soak in summary["soak"]]
    out["generator"] = [{**row, "why_not": [*map(lack_words, row["lacks"])]} for row in summary["generator"]]
    point = summary["safe_working_point"]
    out["safe_working_point"] = point and {**point, "reasons": sorted(failures_words(point["because"]))}
    together = summary["together"]
    out["together"] = {**together, "starved": [_starved(row) for row in together["starved"]]}
    return out


def _limit(row: Row) -> Row:
    return {
        **row,
        "bound_by": worded_bound(row["bound_by"]),
        "invalid_because": [*map(flaw_words, row["flaws"])],
        "at_least_because": list(dict.fromkeys(map(lower_bound_words, row.get("lower_bound", [])))),
    }


def _judged(rows: Iterable[Row]) -> list[Row]:
    """Rows that were held against rules."""
    return [
        {**row, "reasons": failures_words(row.get("because", [])),
         **({"checks": [replace(check, words=check_words(check)) for check in row["checks"]]} if "checks" in row else {})}
        for row in rows
    ]  # fmt: skip


def _starved(row: Row) -> Row:
    return {
        **row,
        "changes": [f"{one['metric'].replace('_ms', '')} {one['change_pct']:+,.0f} %" for one in row["worse"]],
        "users": [f"{one['service']} {one['cores']:.2f}" for one in row["cores_of"]],
    }
