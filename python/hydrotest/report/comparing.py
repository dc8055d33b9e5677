"""Runs beside each other: what differs, and where systems are better placed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hydrotest.analysis.comparison.compare import Row
from hydrotest.analysis.comparison.placement import Answer, Placed
from hydrotest.report.table import NONE, Table, rate


def comparison_sheet(rows: Sequence[Row]) -> Table:
    """Two runs beside each other."""
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
    return [*found.unequal, *(_advice(answer) for answer in found.answers)]


def _advice(answer: Answer) -> str:
    fight = f" They fight for {'; '.join(answer.fought_for)}." if answer.fought_for else (
        " Nothing on the shared hosts came near its ceiling while all ran.")  # fmt: skip
    told = {
        "shared hosts": "co-locate: while the others run it takes more on shared hosts than on hosts of its own.",
        "hosts of their own": "isolate: while the others run it takes more on hosts of its own than on shared ones.",
        "no significant difference": "either: what it takes on shared hosts and on hosts of its own do not differ significantly.",
        "not known": "not known: a limit while the others run is missing in one of the runs.",
    }[answer.better]
    return f"{answer.workload}: {told}{fight}"


def _between(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return NONE
    return f"≥ {rate(ends[0])}" if math.isinf(ends[1]) else f"{rate(ends[0])} … {rate(ends[1])}"
