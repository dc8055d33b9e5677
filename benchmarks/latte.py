"""hydrotest's Cassandra generator compared with latte, the best known peer, on one node in interleaved
windows: rate, CPU of the client per million operations, latency, and the shortfall of an open loop's rate.

Usage: python benchmarks/latte.py [--rounds 5] [--out runs/latte] [--latte PATH]
Needs latte (`cargo install latte-cli --version 0.29.0 --locked`, ten minutes on two cores). Writes
OUT/results.json and OUT/table.md. Clients alternate, in ABBA order over the rounds; figures are medians.
hydrotest checks every row that it reads; latte checks none. latte's table has a bigint key instead of ten
bytes; the columns are the same, five of 34 bytes. Each client is run as it comes: one thread, and
hydrotest's asks for real-time scheduling.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydrotest.analysis.measured import Measured
from hydrotest.hosts.command import run_command
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.interrupt import cancel_on_signals
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, LoadSpec, Rated
from hydrotest.run.workloads.catalogue import make_workloads
from hydrotest.store.purposes import Purpose

SCRIPT = Path(__file__).with_name("latte.rn")
ROWS = 100_000
WARM_UP_S = 3.0
WINDOW_S = 12.0
WARMING_S = 40.0
"""Of each mix by latte before the first round, so that the node has compiled what either client makes it do."""

EXPERIMENT = f"""\
name: latte
hosts: {{here: {{connect: local}}}}
systems: {{cassandra: {{hosts: [here], heap: 4 GiB}}}}
workloads:
  mixed: {{kind: cassandra, mix: {{write: 1, read: 3}}, keys: "uniform(0, {ROWS})"}}
  write: {{kind: cassandra, mix: {{write: 1}}, keys: "uniform(0, {ROWS})"}}
  ticked: {{kind: cassandra, mix: {{write: 1, read: 3}}, keys: "uniform(0, {ROWS})", tick: 1 ms}}
  answers: {{kind: cassandra, mix: {{write: 1, read: 3}}, keys: "uniform(0, {ROWS})", wakes: answer}}
warm_up: {{least: 16 s, most: 32 s}}
tests: [saturated: {{workload: mixed}}]
"""


@dataclass(frozen=True)
class Case:
    """What is asked of both clients."""

    name: str
    load_spec: LoadSpec
    workload: str
    latte: tuple[str, ...]
    """latte's options for the same."""
    by_latte: bool = True


MIXED = ("-f", "write:0.25", "-f", "read:0.75")
CLOSED = ("-p", "64")
CASES = [
    Case("mixed 1:3, 64 in flight", LoadSpec(in_flight=64), "mixed", (*MIXED, *CLOSED)),
    Case("write, 64 in flight", LoadSpec(in_flight=64), "write", ("-f", "write", *CLOSED)),
    Case("mixed 1:3, 5,000/s", LoadSpec(rate_per_s=5_000), "mixed", (*MIXED, "-r", "5000")),
    Case("mixed 1:3, 5,000/s, 1 ms tick", LoadSpec(rate_per_s=5_000), "ticked", (), by_latte=False),
    Case("mixed 1:3, 5,000/s, wakes: answer", LoadSpec(rate_per_s=5_000), "answers", (), by_latte=False),
]


async def by_hydrotest(bench: Bench, workload: Rated, case: Case) -> dict[str, float]:
    """One window by our generator."""
    trial = await workload.trial(TrialPlan("latte", Purpose.LEVEL, WARM_UP_S, WINDOW_S, patience_s=WINDOW_S), case.load_spec)
    if trial.status != "done":
        raise SystemExit(f"trial {trial.number} is {trial.status}: {trial.reason}")
    found = Measured.read(bench.runner.folder, trial, case.workload)
    achieved, latency, cpu = found.achieved, found.latency, found.cpu_s_per_million
    assert achieved is not None
    assert latency is not None
    assert cpu is not None
    told = {"rate": achieved, "cpu_s_per_million": cpu, "cores": cpu * achieved / 1e6, "p50_ms": latency["p50"], "p99_ms": latency["p99"]}
    return {key: float(value) for key, value in told.items() if value is not None}


async def by_latte(bench: Bench, binary: str, case: Case, out: Path, number: int) -> dict[str, float]:
    """One window by latte, from its own report."""
    report = out / f"latte-{number}.json"
    report.unlink(missing_ok=True)
    argv = [binary, "run", "-q", "-w", f"{WARM_UP_S:g}s", "-d", f"{WINDOW_S:g}s", "-t", "1", "-c", "1", "--consistency", "ONE", "-P", f"rows={ROWS}",
            "-o", str(report), *case.latte, str(SCRIPT), bench.systems["cassandra"].endpoints[0]]  # fmt: skip
    await run_command("latte", argv, bench.hosts["here"], out / f"latte-{number}.log")
    result: dict[str, Any] = json.loads(report.read_text())["result"]
    latency = result["request_latency"]["percentiles"]
    rate = result["cycle_count"] / result["elapsed_time_s"]
    return {"rate": rate, "cpu_s_per_million": result["cpu_time_s"] / result["cycle_count"] * 1e6, "cores": result["cpu_time_s"] / result["elapsed_time_s"],
            "p50_ms": percentile(latency, "P50"), "p99_ms": percentile(latency, "P99"), "errors": float(result["error_count"])}  # fmt: skip


def percentile(latency: list[Any], name: str) -> float:
    """One of latte's percentiles, in milliseconds: they come in this order."""
    order = ["Min", "P1", "P2", "P5", "P10", "P25", "P50", "P75", "P90", "P95", "P98", "P99", "P99_9", "P99_99", "Max"]
    return float(latency[order.index(name)]["value"])


async def prepare(bench: Bench, load_workloads: dict[str, Rated], binary: str, out: Path) -> None:
    """Both tables filled, the node warm."""
    for workload in load_workloads.values():
        await workload.prepare()
    endpoint = bench.systems["cassandra"].endpoints[0]
    rows = ["-P", f"rows={ROWS}", "--consistency", "ONE"]
    await run_command("latte", [binary, "schema", str(SCRIPT), endpoint], bench.hosts["here"], out / "latte-schema.log")
    await run_command("latte", [binary, "load", "-q", *rows, str(SCRIPT), endpoint], bench.hosts["here"], out / "latte-load.log")
    warming = [
        binary,
        "run",
        "-q",
        "-d",
        f"{WARMING_S:g}s",
        *rows,
        "-o",
        str(out / "latte-warming.json"),
        *MIXED,
        *CLOSED,
        str(SCRIPT),
        endpoint,
    ]
    await run_command("latte", warming, bench.hosts["here"], out / "latte-warming.log")


async def measure(rounds: int, out: Path, binary: str) -> dict[str, dict[str, dict[str, list[float]]]]:
    """All windows: figures by case, client and name."""
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    cancel_on_signals()
    async with open_testbed(EXPERIMENT, out, Silent()) as bench:
        load_workloads = {name: workload for name, workload in make_workloads(bench).items() if isinstance(workload, Rated)}
        await prepare(bench, load_workloads, binary, out)
        number = 0
        for round_number in range(rounds):
            for case in CASES:
                clients = ["hydrotest", "latte"] if case.by_latte else ["hydrotest"]
                for client in clients if round_number % 2 == 0 else reversed(clients):
                    number += 1
                    figures = (
                        await by_hydrotest(bench, load_workloads[case.workload], case)
                        if client == "hydrotest"
                        else await by_latte(bench, binary, case, out, number)
                    )
                    kept = found.setdefault(case.name, {}).setdefault(client, defaultdict(list))
                    for key, value in figures.items():
                        kept[key].append(value)
    return found


def table(found: dict[str, dict[str, dict[str, list[float]]]]) -> str:
    """Medians side by side, as Markdown."""
    lines = ["| case | client | rate/s | ÷ latte | CPU-s per million | latte ÷ | of a core | p50 ms | p99 ms | p99 ÷ latte |",
             "|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for case, by_client in found.items():
        median = {client: {key: statistics.median(values) for key, values in figures.items()} for client, figures in by_client.items()}
        peer = median.get("latte")
        for client, one in median.items():
            beside = ("–", "–", "–") if peer is None else (
                f"{one['rate'] / peer['rate']:.4f}", f"{peer['cpu_s_per_million'] / one['cpu_s_per_million']:.1f}", f"{one['p99_ms'] / peer['p99_ms']:.2f}")  # fmt: skip
            lines.append(f"| {case} | {client} | {one['rate']:,.1f} | {beside[0]} | {one['cpu_s_per_million']:.2f} | {beside[1]} | {one['cores']:.1%} | "
                         f"{one['p50_ms']:.2f} | {one['p99_ms']:.2f} | {beside[2]} |")  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measures, prints and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("runs/latte"))
    parser.add_argument("--latte", default=shutil.which("latte"))
    options = parser.parse_args()
    if options.latte is None:
        raise SystemExit("latte is not installed. Run `cargo install latte-cli --version 0.29.0 --locked`, or give --latte PATH.")
    options.out.mkdir(parents=True, exist_ok=True)
    found = asyncio.run(measure(options.rounds, options.out.resolve(), options.latte))
    (options.out / "results.json").write_text(json.dumps(found, indent=1))
    text = table(found)
    (options.out / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
