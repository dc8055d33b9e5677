"""The saving by coarser checks of the schedule: the native Cassandra client at the same rates, alternately
with checks every 250 µs and each answer taken as it comes, and with checks every millisecond.

Usage: python benchmarks/tick.py [--rounds 2] [--out runs/tick]
Writes OUT/table.md. Figures are those of each round; a rate above the machine's capacity fails.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any

from one_run import levels_of, summary_of

RATES = ("20K", "40K", "60K", "80K", "100K")
HEAD = """\
name: tick
hosts:
  here: {connect: local}
systems:
  cassandra:
    hosts: [here]
    heap: 4 GiB
    config:
      memtable: {configurations: {trie: {class_name: TrieMemtable}, default: {inherits: trie}}}
      memtable_allocation_type: offheap_objects
      memtable_offheap_space: 6GiB
workloads:
  fine: {kind: cassandra, mix: {write: 1, read: 3}, keys: "uniform(0, 100K)", tick: 250 us}
  coarse: {kind: cassandra, mix: {write: 1, read: 3}, keys: "uniform(0, 100K)", tick: 1 ms}
tests:
"""
TAIL = "warm_up: {least: 24 s, most: 128 s}\n"


def table(rows: dict[str, dict[str, list[dict[str, Any]]]]) -> str:
    """By rate: each client's achieved rate, CPU use and reported figures, round by round, as Markdown."""
    names = ("fine", "coarse")
    lines = [
        f"| offered | {' | '.join(f'{what}, {name}' for what in ('achieved/s', 'client, of a core', 'p99 ms') for name in names)} |",
        "|---" * 7 + "|",
    ]
    for target, by_workload in rows.items():
        cells = [target]
        for show in (
            lambda r: f"{r['achieved']:,.0f}",
            lambda r: f"{r['achieved'] * r['cpu_s_per_million'] / 1e6:.2f}",
            lambda r: f"{r['latency_ms']['p99']:.1f}",
        ):
            cells += [", ".join(map(show, by_workload.get(name, []))) or "–" for name in names]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Runs, gathers, writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/tick"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file, folder = options.out / "tick.yaml", options.out / "run"
    if not folder.exists():
        order = [name for number in range(options.rounds) for name in (("fine", "coarse") if number % 2 == 0 else ("coarse", "fine"))]
        tests = [f"  - levels: {{workload: {name}, rates: [{', '.join(RATES)}], duration: 6 s}}\n" for name in order]
        file.write_text(HEAD + "".join(tests) + TAIL)
    rows: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for workload, target, _, row in levels_of(summary_of(file, folder)):
        rows[target][workload].append(row)
    text = table(rows)
    (options.out / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
