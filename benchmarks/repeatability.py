"""Do two runs agree? Runs the quickstart several times in a row and compares the limits' intervals of each
consecutive pair, with and without correction by the speed reference. Also shows where the independent
searches of each run ended.

Usage: python benchmarks/repeatability.py [--runs 6] [--out runs/repeatability]
Writes OUT/table.md. Existing runs there are not repeated, so it can be interrupted.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path
from typing import Any

from one_run import summary_of

EXPERIMENT = Path("experiments/quickstart.yaml")


def isolated(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of limits that are compared."""
    return [row for row in summary["limits"] if row["tenancy"] == "isolated"]


def intervals(summary: dict[str, Any], speed_mean: float | None) -> dict[str, tuple[float, float]]:
    """Each workload's interval; scaled to a common machine speed if a mean is given."""
    factor = 1.0 if speed_mean is None else speed_mean / summary["speed"][0]["mean"]
    return {
        row["workload"]: (row["low"] * factor, row["high"] * factor)
        for row in isolated(summary)
        if row["low"] is not None and row["high"] is not None
    }


def ended_at(summary: dict[str, Any], workload: str) -> str:
    """The highest rate that each independent search accepted."""
    row = next(row for row in isolated(summary) if row["workload"] == workload)
    accepted = [search["accepted"] for search in row.get("searches", [])[1:]]
    return ", ".join("–" if rate is None else f"{rate:,.0f}" for rate in accepted)


def overlaps(a: tuple[float, float], b: tuple[float, float]) -> bool:
    """True if two closed intervals share a point (to rounding)."""
    return a[0] <= b[1] * 1.0001 and b[0] <= a[1] * 1.0001


def table(summaries: list[dict[str, Any]]) -> str:
    """Runs, then pairs, as Markdown."""
    workloads = [row["workload"] for row in isolated(summaries[0])]
    lines = ["| run | speed | " + " | ".join(workloads) + " |", "|---" * (len(workloads) + 2) + "|"]
    for number, summary in enumerate(summaries, 1):
        found = intervals(summary, None)
        cells = [f"{found[w][0]:,.0f} … {found[w][1]:,.0f}" if w in found else "–" for w in workloads]
        cells = [f"{cell} ({at})" if (at := ended_at(summary, w)) else cell for cell, w in zip(cells, workloads, strict=True)]
        lines.append(f"| {number} | {summary['speed'][0]['mean']:.3f} | " + " | ".join(cells) + " |")
    speed = sum(summary["speed"][0]["mean"] for summary in summaries) / len(summaries)
    lines += ["", "| pair | " + " | ".join(f"{w} overlap | corrected" for w in workloads) + " |", "|---" * (2 * len(workloads) + 1) + "|"]
    for number, (first, second) in enumerate(pairwise(summaries), 1):
        cells = []
        for workload in workloads:
            for mean in (None, speed):
                a, b = intervals(first, mean).get(workload), intervals(second, mean).get(workload)
                cells.append("–" if a is None or b is None else "yes" if overlaps(a, b) else "no")
        lines.append(f"| {number}–{number + 1} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Runs, compares, writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--out", type=Path, default=Path("runs/repeatability"))
    options = parser.parse_args()
    summaries = [summary_of(EXPERIMENT, options.out / f"run-{number}", "--only", "isolated") for number in range(1, options.runs + 1)]
    text = table(summaries)
    (options.out / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
