"""hydrotest's generators beside the tools that the field uses, in interleaved rounds of one run: rate, CPU of the client per
million operations, latency.

Usage: python benchmarks/generators.py [--rounds 5] [--out runs/generators] [--only produce,consume,open-loop,store]
Writes OUT/results.json and OUT/table.md. Each round is one window of either client; their order turns with every round (ABBA over
two). Figures are medians over the rounds. Peers: ProducerPerformance, ConsumerPerformance, cassandra-stress; latte is not among them yet.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from one_run import levels_of, summary_of

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
        "  small: {kind: kafka-produce, batch_size: 16 KiB}\n  read: {kind: kafka-consume, reads: small}\n",
        ("saturated: {{workload: read, duration: 8 s{client}}}",),
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


def table(rows: dict[tuple[str, str], dict[str, dict[str, list[float]]]]) -> str:
    """Medians beside each other, as Markdown."""
    lines = ["| workload | target | native/s | stock/s | rate, native ÷ stock | CPU-s per million, native | stock | CPU, stock ÷ native | native p99 ms | rounds |",
             "|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for (workload, target), by_client in rows.items():

        def median(client: str, what: str, by_client: dict[str, dict[str, list[float]]] = by_client) -> float | None:
            values = by_client.get(client, {}).get(what, [])
            return statistics.median(values) if values else None

        native, stock = median("native", "rate"), median("stock", "rate")
        own, theirs = median("native", "cpu"), median("stock", "cpu")
        cells = [workload, target, _show(native, ",.0f"), _show(stock, ",.0f"), _ratio(native, stock), _show(own, ".3f"), _show(theirs, ".2f"),
                 _ratio(theirs, own), _show(median("native", "p99"), ".2f"), str(len(by_client.get("native", {}).get("rate", [])))]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _show(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _ratio(a: float | None, b: float | None) -> str:
    return "–" if a is None or not b else f"{a / b:.2f}"


def main() -> None:
    """Runs, gathers, writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("runs/generators"))
    parser.add_argument("--only", default=",".join(PARTS))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    gathered: dict[tuple[str, str], dict[str, dict[str, list[float]]]] = {}
    for name in options.only.split(","):
        file, folder = options.out / f"{name}.yaml", options.out / name
        if not (folder / "summary.json").exists():
            file.write_text(experiment(PARTS[name], options.rounds))
        for workload, target, client, row in levels_of(summary_of(file, folder)):
            found = gathered.setdefault((workload, target), {}).setdefault(client, defaultdict(list))
            found["rate"].append(row["achieved"])
            if row.get("cpu_s_per_million") is not None:
                found["cpu"].append(row["cpu_s_per_million"])
            if row["latency_ms"] and row["latency_ms"]["p99"] is not None:
                found["p99"].append(row["latency_ms"]["p99"])
    plain = [{"workload": w, "target": t, **by_client} for (w, t), by_client in gathered.items()]
    (options.out / "results.json").write_text(json.dumps(plain, indent=1))
    text = table(gathered)
    (options.out / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
