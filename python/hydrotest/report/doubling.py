"""Table of the doubling tests: was the generator the limit?"""

from __future__ import annotations

from collections.abc import Sequence

from hydrotest.report.sections import Section
from hydrotest.report.table import Table, rate
from hydrotest.summary.model import Summary
from hydrotest.summary.together import Doubling

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


def doubling_sentences(rows: Sequence[Doubling]) -> list[str]:
    """Whether the generators were the limit, by the test with twice as many."""
    stated = {True: "got more out of it, so the generator was the limit", False: "got no more out of it, so the generator was not the limit",
            None: "made no clear difference"}  # fmt: skip
    return [
        f"{row.workload}: {2 * row.generators} generators instead of {row.generators} {stated[row.raised]} "
        f"({row.change_pct:+.1f} %, 95 % interval {row.low_pct:+.1f} to {row.high_pct:+.1f} %, {row.n} pairs)."
        for row in rows
    ]
