"""Is planted interference found, and none where none is planted? One run on a real Cassandra. Half of the
tries have a CPU hog next to it, the others a neighbour that sleeps, in random order. Each is a `combined`
test at a given rate.

Usage: python benchmarks/interference.py [--tries 10] [--rate 8K] [--pairs 8] [--out runs/interference]
Prints a table: what was planted, what was found. About two minutes a try.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from one_run import summary_of

HEAD = """\
# Written by benchmarks/interference.py.
name: interference
hosts:
  here: {connect: local}
systems:
  cassandra:
    hosts: [here]
    heap: 4 GiB
    config: {memtable: {configurations: {trie: {class_name: TrieMemtable}, default: {inherits: trie}}},
             memtable_allocation_type: offheap_objects, memtable_offheap_space: 6GiB}
workloads:
  store:   {kind: cassandra, mix: {write: 1, read: 3}, keys: "uniform(0, 100K)"}
  hog:     {kind: command, argv: [sh, -c, "while :; do :; done"]}
  sleeper: {kind: command, argv: [sleep, "60"]}
objectives:
  store: {p99: 50 ms}
warm_up: {least: 24 s, most: 128 s}
tests:
"""


def main() -> None:
    """Runs and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=10)
    parser.add_argument("--rate", default="8K")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--out", type=Path, default=Path("runs/interference"))
    options = parser.parse_args()
    planted = ["hog", "sleeper"] * (options.tries // 2)
    random.Random(1).shuffle(planted)
    tests = "".join(
        f"  - combined: {{workloads: [store, {who}], rates: {{store: {options.rate}}}, window: 5 s, pairs: {options.pairs}}}\n"
        for who in planted
    )
    experiment = options.out.with_suffix(".yaml")
    experiment.parent.mkdir(parents=True, exist_ok=True)
    experiment.write_text(HEAD + tests)
    rows = summary_of(experiment, options.out)["interference"]
    print("| try | planted | found | median | p99 | rate | as planted |")
    print("|---|---|---|---|---|---|---|")
    right = 0
    for number, who in enumerate(planted):
        own = {row["metric"]: row for row in rows if row["test"] == number and row["workload"] == "store"}
        found = any(row["significant"] for row in own.values())
        right += found == (who == "hog")
        cells = [
            f"{own[m]['change_pct']:+.0f} % [{own[m]['low_pct']:+.0f}, {own[m]['high_pct']:+.0f}]" for m in ("p50_ms", "p99_ms", "achieved")
        ]
        said = ["interference" if found else "none", *cells, "yes" if found == (who == "hog") else "NO"]
        print(f"| {number + 1} | {who} | " + " | ".join(said) + " |")
    print(f"\n{right} of {len(planted)} as planted")


if __name__ == "__main__":
    main()
