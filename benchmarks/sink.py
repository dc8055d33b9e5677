"""How much of Cassandra's rate Spark's sink achieves: the same host with the same CPU share, written to
alternately by the native generator and by a pipeline's `foreachBatch`.

The pipeline is offered more than it can complete. Needs root (emulated hosts). Writes OUT/table.md.

    python benchmarks/sink.py [--rounds 3] [--offered 8K] [--out runs/sink]
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

from one_run import levels_of, summary_of

HEAD = """\
name: sink
hosts:
  broker: {connect: netns, memory: 2 GiB}
  store: {connect: netns, cores: 0.2, memory: 4 GiB}
  work: {connect: netns, memory: 5 GiB}
systems:
  kafka: {hosts: [broker], heap: 512 MiB}
  cassandra: {hosts: [store], heap: 2 GiB}
  spark: {master: work, workers: [work], cores: 4, memory: 1 GiB, driver_memory: 1 GiB}
workloads:
  native: {kind: cassandra, mix: {write: 1}, columns: 1, column_size: 200 B, keys: "uniform(0, 1M)", consistency: ONE, on: broker}
  readings: {kind: kafka-produce, partitions: 4, record_size: 200 B, levels: {reading: 1}, on: broker}
  devices: {kind: dataflow, reads: readings, partitions: 4, sinks: [kafka, cassandra], consistency: ONE, offsets_per_trigger: 10000, drain: 5 min,
    on: work}
tests:
"""
TAIL = "search: {warm_up: 6 s}\nwarm_up: {least: 10 s, most: 30 s}\n"
WINDOW_S = 30


def rates(summary: dict[str, Any]) -> list[tuple[str, float, float]]:
    """For each test in order: the writer, rows a second, and the cores that Cassandra's host used."""
    written = {
        "native": [row["achieved"] for workload, _, _, row in levels_of(summary) if workload == "native"],
        "devices": [
            row["records_per_s"] for row in summary["queries"] if row["query"].endswith("-cassandra") and row["purpose"] == "level"
        ],
    }
    used = [
        (name, row["cpu_cores_mean"])
        for row in summary["usage_by_test"]
        if row["host"] == "store"
        for name in written
        if name in row["name"]
    ]
    if any(len(rates) != sum(who == name for who, _ in used) for name, rates in written.items()):
        raise SystemExit("a round told nothing; see the run's failed trials")
    return [(name, written[name].pop(0), cores) for name, cores in used]


def table(found: list[tuple[str, float, float]]) -> str:
    """By round, and the median of each with their ratio, as Markdown."""
    lines = ["| written by | rows/s | Cassandra's host, of a core | rows per CPU second of it |", "|---" * 4 + "|"]
    lines += [f"| {name} | {rate:,.0f} | {cores:.2f} | {rate / cores:,.0f} |" for name, rate, cores in found]
    middle = {name: statistics.median(rate for who, rate, _ in found if who == name) for name in ("native", "devices")}
    lines.append(
        f"\nMedians: {middle['native']:,.0f} natively, {middle['devices']:,.0f} through the sink: {middle['devices'] / middle['native']:.0%}."
    )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Runs, gathers, writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--offered", default="8K")
    parser.add_argument("--out", type=Path, default=Path("runs/sink"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "sink.yaml"
    natively = f"  - saturated: {{workload: native, duration: {WINDOW_S} s}}\n"
    through = f"  - levels: {{workload: devices, rates: [{options.offered}], duration: {WINDOW_S} s}}\n"
    file.write_text(
        HEAD + "".join(natively + through if number % 2 == 0 else through + natively for number in range(options.rounds)) + TAIL
    )
    text = table(rates(summary_of(file, options.out / "run")))
    (options.out / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
