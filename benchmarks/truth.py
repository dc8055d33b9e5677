"""A stall of one second in each client's own figures: a real broker and a real Cassandra node are paused
(SIGSTOP) for a second in the middle of a window, under hydrotest's generators and under the systems' own
tools.

Usage: python benchmarks/truth.py [--rounds 3] [--out runs/truth]
Writes OUT/table.md. Clients alternate, in ABBA order over the rounds; figures are medians over them. In a
window of 20 s the stall is 5 %. So of operations with even intended starts, one in a hundred waits 0.8 s or
longer, and one in a thousand 0.98 s.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from hydrotest.analysis.measured import Measured
from hydrotest.percentiles import NAMES
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.interrupt import cancel_on_signals
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.run.trials.stock import JVM_WARM_UP_S, run_stock_level
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, LoadSpec, Rated
from hydrotest.run.workloads.catalogue import make_workloads
from hydrotest.spec.choice import expected
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial

WINDOW_S = 20.0
STALL_AFTER_S = 8.0
STALL_S = 1.0
PLAN = TrialPlan("truth", Purpose.LEVEL, 2.0, WINDOW_S, patience_s=WINDOW_S)
KEYS = (*NAMES, "max")

KAFKA = """\
name: truth-kafka
hosts: {here: {connect: local}}
systems: {kafka: {hosts: [here]}}
workloads: {press: {kind: kafka-produce}, answers: {kind: kafka-produce, wakes: answer}}
tests: [levels: {workload: press, rates: [20K]}]
"""
CASSANDRA = """\
name: truth-cassandra
hosts: {here: {connect: local}}
systems: {cassandra: {hosts: [here]}}
workloads:
  press: {kind: cassandra, mix: {write: 1, read: 3}, keys: "uniform(0, 100K)"}
  answers: {kind: cassandra, mix: {write: 1, read: 3}, keys: "uniform(0, 100K)", wakes: answer}
tests: [levels: {workload: press, rates: [2K]}]
"""


@dataclass(frozen=True)
class Client:
    """The client, and its settings."""

    name: str
    stock: bool
    rate: float | None
    in_flight: int | None = None
    begins_s: float = 0.0
    """So long after its start its window begins, roughly."""
    workload: str = "press"


PARTS = {
    KAFKA: [
        Client("hydrotest", False, 20_000),
        Client("hydrotest, wakes: answer", False, 20_000, workload="answers"),
        Client("ProducerPerformance", True, 20_000, begins_s=JVM_WARM_UP_S),
    ],
    CASSANDRA: [
        Client("hydrotest", False, 2_000),
        Client("hydrotest, wakes: answer", False, 2_000, workload="answers"),
        Client("cassandra-stress fixed=2000/s", True, 2_000, 128),
        Client("cassandra-stress, 16 threads", True, None, 16),
    ],
}


async def stall(bench: Bench, after_s: float) -> None:
    """Holds the first service still for a second."""
    service = next(service for system in bench.systems.values() for service in system.services)
    await asyncio.sleep(after_s)
    await service.inject("pause")
    try:
        await asyncio.sleep(STALL_S)
    finally:
        await service.heal("pause")


async def one(bench: Bench, workload: Rated, client: Client) -> dict[str, float]:
    """One window; the percentiles that the client reports."""
    work = (
        run_stock_level(bench, workload, PLAN, client.rate, client.in_flight)
        if client.stock
        else workload.trial(PLAN, LoadSpec(client.rate, client.in_flight))
    )
    trial, _ = await asyncio.gather(work, stall(bench, PLAN.warm_up_s + client.begins_s + STALL_AFTER_S))
    return told(bench, trial, client.workload)


def told(bench: Bench, trial: Trial, workload: str) -> dict[str, float]:
    """Percentiles in milliseconds, of the response where the client knows it, else of what it calls latency."""
    stock = trial.load(workload).stock
    own = None if stock is not None else Measured.read(bench.runner.folder, trial, workload).latency
    latency = own if stock is None else stock.latency_ms or stock.latency_from_send_ms
    if latency is None:
        raise SystemExit(f"trial {trial.number} has no latencies: {trial.reason}")
    return {key: value for key in KEYS if (value := latency.get(key)) is not None}


async def part(text: str, clients: list[Client], rounds: int, out: Path) -> dict[str, dict[str, list[float]]]:
    """All rounds on one system: percentiles by client."""
    found: dict[str, dict[str, list[float]]] = {client.name: defaultdict(list) for client in clients}
    cancel_on_signals()
    async with open_testbed(text, out, Silent()) as bench:
        made = make_workloads(bench)
        workloads = {name: expected(made[name], Rated) for name in dict.fromkeys(client.workload for client in clients)}
        for workload in workloads.values():
            await workload.prepare()
        for number in range(rounds):
            for client in clients if number % 2 == 0 else reversed(clients):
                for key, value in (await one(bench, workloads[client.workload], client)).items():
                    found[client.name][key].append(value)
    return found


def main() -> None:
    """Runs both parts, prints and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("runs/truth"))
    options = parser.parse_args()
    lines = [
        "| system | client | " + " | ".join(f"{key} ms" for key in KEYS) + " |", "|---" * (len(KEYS) + 2) + "|",
        "| either | in truth, at least | – | – | 800 | 980 | 1,000 |",
    ]  # fmt: skip
    for text, clients in PARTS.items():
        name = "kafka" if text is KAFKA else "cassandra"
        for client, by_key in asyncio.run(part(text, clients, options.rounds, options.out / name)).items():
            cells = [f"{statistics.median(by_key[key]):,.1f}" if by_key[key] else "–" for key in KEYS]
            lines.append(f"| {name} | {client} | " + " | ".join(cells) + " |")
    table = "\n".join(lines) + "\n"
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "table.md").write_text(table)
    print(table)


if __name__ == "__main__":
    main()
