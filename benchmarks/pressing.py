"""Load of the largest shape: 64 generators on four emulated hosts, 10,000 topics, 5,000 partitions, 1,000 connections.

Each is a short run on a Kafka of its own: what was asked for and achieved, the account of every record, and what the generators
used. The hosts of the 64 need root. Writes OUT/pressing.json, and prints a table.

    python benchmarks/pressing.py [--cases generators,topics,partitions,connections] [--out DIR]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from one_run import summary_of

LOCAL = """\
hosts: {here: {connect: local}}
systems: {kafka: {hosts: [here], heap: 2 GiB}}
"""
LAB = """\
hosts:
  broker: {connect: netns, cores: 1, memory: 4 GiB}
  g1: {connect: netns}
  g2: {connect: netns}
  g3: {connect: netns}
  g4: {connect: netns}
systems: {kafka: {hosts: [broker], heap: 1 GiB}}
"""
CASES = {
    "generators": (LAB, "partitions: 64, on: [g1, g2, g3, g4], generators: 64, linger: 20 ms", "6.4K"),
    "topics": (LOCAL, "topics: 10_000, partitions: 1, linger: 20 ms", "5K"),
    "partitions": (LOCAL, "partitions: 5_000, linger: 20 ms", "5K"),
    "connections": (LOCAL, "partitions: 12, producers: 1_000, linger: 20 ms", "10K"),
}
"""Machines and a broker, the workload, and its rate."""


def main() -> None:
    """Runs each, and prints what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--out", type=Path, default=Path("runs/pressing"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    found = {}
    for name in options.cases.split(","):
        found[name] = measured(name, options.out)
        print(name, json.dumps(found[name]), flush=True)
    (options.out / "pressing.json").write_text(json.dumps(found, indent=1))
    heads = list(dict.fromkeys(key for row in found.values() for key in row))
    print(f"| | {' | '.join(heads)} |\n|---{'|---' * len(heads)}|")
    for name, row in found.items():
        print(f"| {name} | " + " | ".join(str(row[head]) for head in heads) + " |")


def measured(name: str, out: Path) -> dict[str, Any]:
    """One case."""
    place, workload, rate = CASES[name]
    text = (
        f"name: {name}\n{place}workloads: {{ingest: {{kind: kafka-produce, record_size: 100 B, {workload}}}}}\n"
        f"objectives: {{ingest: {{p99: 1 s, loss: 0}}}}\ntests: [levels: {{workload: ingest, rates: [{rate}], duration: 20 s}}]\n"
        "warm_up: {least: 16 s, most: 64 s}\n"
    )
    file = out / f"{name}.yaml"
    file.write_text(text)
    summary = summary_of(file, out / name)
    (level,), (account,), (generator,) = summary["levels"], summary["integrity"], summary["generator"]
    return {
        "asked for, /s": round(level["offered"]), "achieved": round(level["achieved"]), "p99, ms": round(level["latency_ms"]["p99"], 1),
        "sent": account["sent"], "lost": account["lost"], "twice": account["duplicated"],
        "generator, CPU s per million": round(generator["cpu_s_per_million"], 1), "busiest thread, %": round(generator["busiest_thread_pct"] or 0.0, 1),
        "memory of generators, MB": round((generator["memory_bytes"] or 0) / 1e6), "problems": len(summary["problems"]),
    }  # fmt: skip


if __name__ == "__main__":
    main()
