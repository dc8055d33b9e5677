"""hydrotest's generators compared with the tools of the field, in interleaved rounds of one run: rate, CPU
of the client per million operations, latency.

Usage: python benchmarks/generators.py [--rounds 5] [--out runs/generators] [--only produce,consume,open-loop,store]
Writes OUT/results.json and OUT/table.md. Each round is one window of either client; their order is reversed
every round (ABBA over two). Figures are medians over the rounds. Peers: ProducerPerformance,
ConsumerPerformance, cassandra-stress; latte has `latte.py`.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from one_run import levels_of, summary_of

from hydrotest.analysis.measured import Measured
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial

HEAD = """\
name: generators
hosts:
  here: {connect: local}
systems:
"""
KAFKA = "  kafka: {hosts: [here], heap: 2 GiB}\n"
CASSANDRA = "  cassandra: {hosts: [here], heap: 4 GiB}\n"
TAIL = """\
search: {saturated: 15 s}
warm_up: {least: 32 s, most: 96 s}
"""
"""The topic that is read holds what 15 s give: more than 15 M records."""


@dataclass(frozen=True)
class Part:
    """One experiment: workloads, and the tests of one round."""

    systems: str
    workloads: str
    tests: tuple[str, ...]


PARTS = {
    "produce": Part(
        KAFKA,
        "  small: {kind: kafka-produce, batch_size: 16 KiB}\n  large: {kind: kafka-produce, batch_size: 256 KiB}\n",
        ("saturated: {{workload: small, duration: 16 s{client}}}", "saturated: {{workload: large, duration: 16 s{client}}}"),
    ),
    "consume": Part(
        KAFKA,
        "  small: {kind: kafka-produce, batch_size: 16 KiB}\n  read: {kind: kafka-consume, reads: small}\n"
        "  read-by-two: {kind: kafka-consume, reads: small, generators: 2}\n",
        ("saturated: {{workload: read, duration: 8 s{client}}}", "saturated: {{workload: read-by-two, duration: 8 s}}"),
    ),
    "open-loop": Part(
        KAFKA,
        "  at1ms: {kind: kafka-produce, linger: 1 ms}\n  at5ms: {kind: kafka-produce, linger: 5 ms}\n",
        tuple(f"levels: {{{{workload: {w}, rates: [50K, 100K, 200K], duration: 10 s{{client}}}}}}" for w in ("at1ms", "at5ms")),
    ),
    "store": Part(
        CASSANDRA,
        '  mixed: {kind: cassandra, mix: {write: 1, read: 3}, keys: "uniform(0, 100K)"}\n'
        '  write: {kind: cassandra, mix: {write: 1}, keys: "uniform(0, 100K)"}\n',
        tuple(f"concurrency: {{{{workload: {w}, counts: [64], duration: 20 s{{client}}}}}}" for w in ("mixed", "write")),
    ),
}


def experiment(part: Part, rounds: int) -> str:
    """The experiment of one part: each of its tests by both clients, in ABBA order, as often as there are rounds."""
    native, stock = "", ", client: stock"
    tests = []
    for number in range(rounds):
        order = (native, stock) if number % 2 == 0 else (stock, native)
        tests += [f"  - {test.format(client=client)}\n" for test in part.tests for client in order]
    return HEAD + part.systems + "workloads:\n" + part.workloads + "tests:\n" + "".join(tests) + TAIL


Figures = dict[str, dict[str, list[float]]]
"""By client and by figure: a value for each round."""


def table(rows: dict[tuple[str, str], Figures]) -> str:
    """Medians side by side, as Markdown."""
    lines = ["| workload | target | native/s | stock/s | native ÷ stock | CPU-s per million, native | stock | stock ÷ native | native, of a core | "
             "achieved ÷ offered | send lag p99 µs | native p99 ms | native memory MB | rounds |", "|---" * 14 + "|"]  # fmt: skip
    for (workload, target), by_client in rows.items():
        native = {what: statistics.median(values) for what, values in by_client.get("native", {}).items()}
        stock = {what: statistics.median(values) for what, values in by_client.get("stock", {}).items()}
        cells = [
            workload, target, _show(native.get("rate"), ",.0f"), _show(stock.get("rate"), ",.0f"), _ratio(native.get("rate"), stock.get("rate")),
            _show(native.get("cpu"), ".3f"), _show(stock.get("cpu"), ".2f"), _ratio(stock.get("cpu"), native.get("cpu")),
            _show(native.get("core"), ".1%"), _show(native.get("kept"), ".5f"), _show(native.get("lag_us"), ",.0f"), _show(native.get("p99"), ".2f"),
            _show(native.get("memory_mb"), ".1f"), str(len(by_client.get("native", {}).get("rate", []))),
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _show(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _ratio(a: float | None, b: float | None) -> str:
    return "–" if a is None or not b else f"{a / b:.2f}"


def figures(row: dict[str, Any], run: RunFolder, trials: dict[int, Trial]) -> dict[str, float | None]:
    """The figures of one window."""
    cpu, offered = row.get("cpu_s_per_million"), row["offered"]
    told = {"rate": row["achieved"], "cpu": cpu, "core": None if cpu is None else cpu * row["achieved"] / 1e6,
            "kept": row["achieved"] / offered if offered else None, "p99": (row["latency_ms"] or {}).get("p99")}  # fmt: skip
    outcome = trials[row["trial"]].load(row["workload"]).outcome
    if row["client"] != "stock" and outcome is not None:
        wait = Measured.read(run, trials[row["trial"]], row["workload"]).wait if offered else None
        told |= {"memory_mb": outcome.memory_bytes_max / 1e6, "lag_us": None if wait is None or wait["p99"] is None else wait["p99"] * 1e3}
    return told


def main() -> None:
    """Runs, gathers, writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("runs/generators"))
    parser.add_argument("--only", default=",".join(PARTS))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    gathered: dict[tuple[str, str], Figures] = {}
    for name in options.only.split(","):
        file, folder = options.out / f"{name}.yaml", options.out / name
        if not (folder / "summary.json").exists():
            file.write_text(experiment(PARTS[name], options.rounds))
        summary = summary_of(file, folder)
        run = RunFolder(folder)
        trials = {trial.number: trial for trial in run.trials()}
        for workload, target, client, row in levels_of(summary):
            found = gathered.setdefault((workload, target), {}).setdefault(client, defaultdict(list))
            for what, value in figures(row, run, trials).items():
                if value is not None:
                    found[what].append(value)
    plain = [{"workload": w, "target": t, **by_client} for (w, t), by_client in gathered.items()]
    (options.out / "results.json").write_text(json.dumps(plain, indent=1))
    text = table(gathered)
    (options.out / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
