"""The tables of RESULTS.md on how wrong predictions are."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

RULES = ("proportional", "bytes", "no fixed part")
"""The simple rules that predictions are held against."""


def print_cases(rows: Sequence[dict[str, Any]]) -> None:
    """Of predictions.py: each case beside what simple rules say of it, and how far all are off."""
    print("| case | predicted | measured | off | as a ratio | within | proportional | bytes | no fixed part | binds | bound |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        if "raw" not in row:
            print(f"| {row['case']} | refused: {row['refused']} | | | | | | | | | |")
            continue
        rules_ = " | ".join(f"{math.expm1(row['rules'][name]):+.0%}" for name in RULES)
        held = f"refused: {row['refused']}" if row["refused"] else "yes" if row["held"] else "no"
        ratio = "–" if row["ratio"] is None else f"{math.expm1(row['ratio']):+.0%}"
        print(f"| {row['case']} | {row['predicted']:,.0f} | {row['measured']:,.0f} | {math.expm1(row['raw']):+.0%} | {ratio} | {held} | {rules_} "
              f"| {row['binds']} | {row['bound'] or '–'} |")  # fmt: skip
    whole = [row for row in rows if "raw" in row and not row["refused"]]
    print(f"answered: {len(whole)} cases, {sum(row['held'] for row in whole)} within; what binds was right in "
          f"{sum(row['binds'] == row['bound'] for row in whole)} of {sum(row['bound'] is not None for row in whole)} where it is known")  # fmt: skip
    print(spread_of("predicted", [row["raw"] for row in whole]))
    print(spread_of("as a ratio to the reference", [row["ratio"] for row in whole if row["ratio"] is not None]))
    for name in RULES:
        print(spread_of(name, [row["rules"][name] for row in whole]))
    for name, axis in (("links", "network"), ("disks", "disk")):
        print(spread_of(name, [row["raw"] for row in whole if axis in row["axes"]]))


def print_scores(rows: Sequence[dict[str, Any]]) -> None:
    """Of predicted_runs.py: each score, and how far those of a kind are off."""
    print("| group | question | what | predicted | measured | off | within |\n|---|---|---|---|---|---|---|")
    for row in rows:
        if "refused" in row:
            print(f"| {row['group']} | {row['question']} | refused: {row['refused']} | | | | |")
        else:
            print(f"| {row['group']} | {row['question']} | {row['workload']} {row['what']} | {row['predicted']:.4g} {row['unit']} | {row['measured']:.4g} | "
                  f"{math.expm1(row['log_error']):+.0%} | {'yes' if row['held'] else 'no'} |")  # fmt: skip
    kinds: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if "refused" not in row:
            kinds[row["what"] if row["unit"] == "ms" else {"s": "seconds of a job", "": "together", "/s": "limit"}[row["unit"]]].append(
                row["log_error"]
            )
    for kind, errors in kinds.items():
        within = sum(abs(one) <= math.log(1.5) for one in errors)
        print(f"{spread_of(kind, errors)}; {within} within a factor of 1.5")


def spread_of(name: str, logs: Sequence[float]) -> str:
    """Errors as factors: 50 % too much and a third too little are as far off."""
    if not logs:
        return f"{name}: no case"
    errors = np.expm1(np.quantile(np.abs(logs), [0.5, 0.9]))
    return f"{name}: {len(logs)} cases, off by {errors[0]:.1%} (median), {errors[1]:.1%} (90th percentile)"
