"""hydrotest's generators compared with the systems' own tools: the same throughput at a given rate, and the
saturated rates.

Usage: python benchmarks/stock_check.py [--out runs/stock-check]
Runs experiments/stock-check.yaml and prints native and stock figures side by side. Rates are medians of
interleaved rounds.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from pathlib import Path

from one_run import levels_of, summary_of


def main() -> None:
    """Runs and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/stock-check"))
    options = parser.parse_args()
    summary = summary_of(Path("experiments/stock-check.yaml"), options.out)
    rates: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    p99: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for workload, target, client, row in levels_of(summary):
        rates[workload, target, client].append(row["achieved"])
        if row["latency_ms"]:
            p99[workload, target, client].append(row["latency_ms"]["p99"])
    print("| workload | target | native/s | stock/s | native ÷ stock | native p99 ms | stock p99 ms | rounds |")
    print("|---|---|---|---|---|---|---|---|")
    for workload, target in dict.fromkeys((w, t) for w, t, _ in rates):
        native, stock = (statistics.median(rates[workload, target, client] or [0.0]) for client in ("native", "stock"))
        late = [f"{statistics.median(p99[workload, target, c]):.1f}" if p99[workload, target, c] else "–" for c in ("native", "stock")]
        ratio = f"{native / stock:.3f}" if stock else "–"
        rounds = len(rates[workload, target, "native"])
        print(f"| {workload} | {target} | {native:,.0f} | {stock:,.0f} | {ratio} | {late[0]} | {late[1]} | {rounds} |")


if __name__ == "__main__":
    main()
