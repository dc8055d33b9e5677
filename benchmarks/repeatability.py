"""Do runs agree? Runs the quickstart's isolated limits several times in a row and compares the limits' intervals
of each pair of runs.

Usage: python benchmarks/repeatability.py [--runs 10] [--out runs/repeatability]
Writes OUT/table.md: each run's limits with their 90 % intervals, how far the limits scatter from run to run
(standard deviation of the logarithm), and in how many of all pairs the intervals overlap. Existing runs there
are not repeated, so it can be interrupted.
"""

from __future__ import annotations

import argparse
import math
import statistics
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any

from one_run import summary_of

EXPERIMENT = Path("experiments/quickstart.yaml")


def isolated(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of limits that are compared."""
    return [row for row in summary["limits"] if row["tenancy"] == "isolated"]


def intervals(summary: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Each workload's interval."""
    return {row["workload"]: (row["low"], row["high"]) for row in isolated(summary) if row["low"] is not None and row["high"] is not None}


def overlaps(a: tuple[float, float], b: tuple[float, float]) -> bool:
    """True if two closed intervals share a point (to rounding)."""
    return a[0] <= b[1] * 1.0001 and b[0] <= a[1] * 1.0001


def table(summaries: list[dict[str, Any]]) -> str:
    """Runs, their scatter, and how many pairs overlap, as Markdown."""
    workloads = [row["workload"] for row in isolated(summaries[0])]
    lines = ["| run | minutes | speed | " + " | ".join(workloads) + " |", "|---" * (len(workloads) + 3) + "|"]
    for number, summary in enumerate(summaries, 1):
        rows = {row["workload"]: row for row in isolated(summary)}
        cells = [
            f"{rows[w]['limit']:,.0f} [{rows[w]['low']:,.0f}, {rows[w]['high']:,.0f}]" if w in intervals(summary) else "–"
            for w in workloads
        ]
        minutes = (datetime.fromisoformat(summary["finished"]) - datetime.fromisoformat(summary["started"])).total_seconds() / 60
        lines.append(f"| {number} | {minutes:.1f} | {summary['speed'][0]['mean']:.3f} | " + " | ".join(cells) + " |")
    scatter, overlap = [], []
    for workload in workloads:
        limits = [row["limit"] for summary in summaries for row in isolated(summary) if row["workload"] == workload and row["limit"]]
        scatter.append(f"{statistics.stdev(map(math.log, limits)):.1%}" if len(limits) > 1 else "–")
        known = [found[workload] for summary in summaries if workload in (found := intervals(summary))]
        pairs = [overlaps(a, b) for a, b in combinations(known, 2)]
        overlap.append(f"{sum(pairs)} of {len(pairs)}")
    lines.append("| scatter of the limits |  |  | " + " | ".join(scatter) + " |")
    lines.append("| pairs whose intervals overlap |  |  | " + " | ".join(overlap) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Runs, compares, writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("runs/repeatability"))
    options = parser.parse_args()
    summaries = [summary_of(EXPERIMENT, options.out / f"run-{number}", "--only", "isolated") for number in range(1, options.runs + 1)]
    text = table(summaries)
    (options.out / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
