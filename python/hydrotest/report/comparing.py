"""Comparison of runs: what differs, and where systems are better placed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hydrotest.analysis.comparison.compare import Row
from hydrotest.analysis.comparison.placement import Answer, Placed
from hydrotest.report.others import show_use
from hydrotest.report.table import NONE, Table, rate
from hydrotest.verdicts.comparison import Choice, Contended, Difference, Differs, Unequal


def comparison_sheet(rows: Sequence[Row]) -> Table:
    """Comparison of two runs."""
    cells = [
        [row.workload, row.tenancy, row.what, row.unit, row.first, row.second, NONE if row.change_pct is None else f"{row.change_pct:+.1f} %",
         NONE if row.low_pct is None or row.high_pct is None else f"{row.low_pct:+.1f} … {row.high_pct:+.1f} %", str(row.n), row.word]
        for row in rows
    ]  # fmt: skip
    heads = ["workload", "tenancy", "what", "unit", "first run", "second run", "change", "95 % interval", "n", "the second is"]
    return Table("Compared", heads, cells)


def placement_sheet(found: Placed) -> Table:
    """A row for each workload and run."""
    rows = [
        [answer.workload, answer.unit, part.run, "shared with others" if part.is_shared else "its own", _between(part.alone),
         _between(part.together)]
        for answer in found.answers for part in answer.parts
    ]  # fmt: skip
    return Table("Placement", ["workload", "unit", "run", "hosts", "limit alone", "limit while the others run"], rows)


def placement_sentences(found: Placed) -> list[str]:
    """What to do, workload by workload; first what speaks against the comparison."""
    return [*map(unequal_words, found.unequal), *(_advice(answer) for answer in found.answers)]


BETTER = {
    Choice.SHARED: "co-locate: while the others run it takes more on shared hosts than on hosts of its own.",
    Choice.OWN: "isolate: while the others run it takes more on hosts of its own than on shared ones.",
    Choice.SAME: "either: what it takes on shared hosts and on hosts of its own does not differ significantly.",
    Choice.UNKNOWN: "not known: a limit while the others run is missing in one of the runs.",
}


def _advice(answer: Answer) -> str:
    contended = "; ".join(map(contended_words, answer.contended))
    fight = f" They compete for {contended}." if contended else " Nothing on the shared hosts came near its ceiling while all ran."
    return f"{answer.workload}: {BETTER[answer.better]}{fight}"


def contended_words(use: Contended) -> str:
    """What was near its ceiling, and who used it."""
    users = ", ".join(f"{service} {cores:.2f}" for service, cores in use.users)
    return f"{use.resource} of {use.host} ({use.share:.0%} of its ceiling{f': {users} cores' if users else ''})"


def unequal_words(unequal: Unequal) -> str:
    """A resource whose totals differ between the placements."""
    shown = ", ".join(f"{run} {total:,.4g}" for run, total in unequal.sums)
    return f"the hosts of the systems have not the same {unequal.resource} in all: {shown}"


def difference_words(found: Difference) -> str:
    """What differs between two runs, apart from their results."""
    match found.of:
        case Differs.HARDWARE if found.is_in_one_only:
            return f"hardware: the host {found.subject} is in one run only"
        case Differs.HARDWARE:
            return f"hardware: {found.key} of {found.subject}: {found.first} → {found.second}"
        case Differs.VERSION:
            first, second = ("none" if one is None else one for one in (found.first, found.second))
            return f"version: {found.subject}: {first} → {second}"
        case Differs.SETTING:
            so = f" (so {found.subject} is not compared)" if found.is_uncompared else ""
            key = f".{found.key}" if found.key else ""
            return f"setting: {found.subject}{key}: {found.first} → {found.second}{so}"
        case Differs.OTHERS:
            first, second = (show_use(found.key, value) for value in (found.first, found.second))
            return f"others: what they used of {found.subject} before any load: {first} → {second} (so nothing is compared)"
        case Differs.NEIGHBOURS:
            what = f"{found.key} in one run only" if found.is_in_one_only else f"{found.key}: {found.first} → {found.second}"
            return f"neighbours: other workloads run next to {found.subject}: {what}"


def _between(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return NONE
    return f"≥ {rate(ends[0])}" if math.isinf(ends[1]) else f"{rate(ends[0])} … {rate(ends[1])}"
