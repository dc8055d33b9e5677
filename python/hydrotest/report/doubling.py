"""Table of the doubling tests: was the generator the limit?"""

from __future__ import annotations

from hydrotest.report.sections import Section
from hydrotest.report.table import Table, rate
from hydrotest.summary.model import Summary

RAISED = {True: "yes: the generator was the limit", False: "no", None: "no significant difference"}


def doubling_sheet(summary: Summary) -> Table:
    """One row for each test."""
    rows = [
        [
            row.workload,
            f"{row.generators} → {2 * row.generators}",
            rate(row.once),
            rate(row.twice),
            f"{row.change_pct:+.1f} %",
            f"{row.low_pct:+.1f} … {row.high_pct:+.1f} %",
            str(row.n),
            RAISED[row.raised],
        ]
        for row in summary.doublings
    ]
    heads = ["workload", "generators", "rate/s", "with twice as many", "change", "95 % interval", "pairs", "raised"]
    return Table(
        "Twice the generators",
        heads,
        rows,
        Section.BOTTLENECKS,
        ("workload", "generators", "rate/s", "with twice as many", "change", "raised"),
    )
