"""What it saves to let the kernel say when answers came, and what that does to the figures: each generator at the same rates, alternately
waking only to send (`wakes: send`) and also for each answer (`wakes: answer`).

Usage: python benchmarks/lean.py [--rounds 4] [--out runs/lean]
Writes OUT/table.md. Figures are medians over the rounds, with the change from `answer` to `send` within rounds: both of a round are
neighbours in time, and change places from round to round.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from one_run import levels_of, summary_of

from hydrotest.analysis.measured import Measured
from hydrotest.analysis.statistics.latency import latency_ms, window_histogram
from hydrotest.store.folder import RunFolder

WAKES = ("answer", "send")
EXPERIMENTS: dict[str, tuple[str, dict[str, tuple[str, ...]]]] = {
    "cassandra": ("""\
name: lean-cassandra
hosts: {here: {connect: local}}
systems: {cassandra: {hosts: [here], heap: 4 GiB}}
workloads:
  mixed-answer: {kind: cassandra, mix: {write: 1, read: 3}, keys: "uniform(0, 100K)", wakes: answer}
  mixed-send: {kind: cassandra, mix: {write: 1, read: 3}, keys: "uniform(0, 100K)"}
warm_up: {least: 24 s, most: 64 s}
tests:
""", {"mixed": ("5K",)}),
    "kafka": ("""\
name: lean-kafka
hosts: {here: {connect: local}}
systems: {kafka: {hosts: [here]}}
workloads:
  linger1-answer: {kind: kafka-produce, partitions: 6, record_size: 100 B, linger: 1 ms, wakes: answer}
  linger1-send: {kind: kafka-produce, partitions: 6, record_size: 100 B, linger: 1 ms}
  linger5-answer: {kind: kafka-produce, partitions: 6, record_size: 100 B, linger: 5 ms, wakes: answer}
  linger5-send: {kind: kafka-produce, partitions: 6, record_size: 100 B, linger: 5 ms}
warm_up: {least: 16 s, most: 32 s}
tests:
""", {"linger1": ("100K",), "linger5": ("100K",)}),
}  # fmt: skip
Row = dict[str, Any]
FIGURES: dict[str, Callable[[Row], float]] = {
    "client, % of a core": lambda row: row["achieved"] * row["cpu_s_per_million"] / 1e6 * 100,
    "p50 ms": lambda row: row["latency_ms"]["p50"],
    "p99 ms": lambda row: row["latency_ms"]["p99"],
    "p99.9 ms": lambda row: row["latency_ms"]["p999"],
    "sent late by, p99 ms": lambda row: row["wait_p99_ms"],
}


def measured(name: str, rounds: int, out: Path) -> dict[tuple[str, str], dict[str, list[Row]]]:
    """By workload and rate: the rows of each way to wake, round by round."""
    head, cases = EXPERIMENTS[name]
    file, folder = out / f"{name}.yaml", out / name
    if not folder.exists():
        tests = [
            f"  - levels: {{workload: {case}-{wakes}, rates: [{', '.join(rates)}], duration: 8 s}}\n"
            for number in range(rounds)
            for case, rates in cases.items()
            for wakes in (WAKES if number % 2 == 0 else WAKES[::-1])
        ]
        file.write_text(head + "".join(tests))
    found: dict[tuple[str, str], dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    summary = summary_of(file, folder)
    run = RunFolder.open(folder)
    trials = {trial.number: trial for trial in run.trials()}
    for workload, target, _, row in levels_of(summary):
        case, _, wakes = workload.rpartition("-")
        one = Measured.read(run, trials[row["trial"]], workload)
        late = latency_ms(window_histogram(one.folder, workload, "wait", None, one.start_s, one.end_s))
        found[case, target][wakes].append(row | {"wait_p99_ms": 0.0 if late is None else late["p99"]})
    return found


def main() -> None:
    """Runs, gathers, writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--out", type=Path, default=Path("runs/lean"))
    parser.add_argument("--systems", default=",".join(EXPERIMENTS))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    lines = ["| workload | figure | wakes for answers | wakes to send | change within rounds |", "|---|---|---|---|---|"]
    for system in options.systems.split(","):
        for (case, target), rows in measured(system, options.rounds, options.out).items():
            for figure, of in FIGURES.items():
                each, sends = ([of(row) for row in rows[wakes]] for wakes in WAKES)
                change = statistics.median(new / old - 1 if old else 0.0 for old, new in zip(each, sends, strict=True))
                lines.append(
                    f"| {case}, {target} | {figure} | {statistics.median(each):.3g} | {statistics.median(sends):.3g} | {change:+.0%} |"
                )
    text = "\n".join(lines) + "\n"
    (options.out / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
