"""What is said to bind, by who reads the machine's counters: the same planted bottleneck, seen in five ways.

A Kafka on this machine is attached to, whose broker compresses anew, by gzip at level 9, what it gets. Of values of two letters, in
batches of two, a core compresses 9 MB/s: so the CPU binds, and the generator, which shares it, needs hardly any. The machine is seen by
our own sampler, by Debian's node_exporter, by Debian's Prometheus (scrapes every 2 s, and every 15 s), or not at all. Needs Debian's
packages. Writes OUT/rungs.json, and prints what each found.

    python benchmarks/rungs.py [--times 2] [--out DIR]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.real.test_monitored import There, cluster_that_is_monitored  # noqa: E402

HYDROTEST = Path(sys.executable).parent / "hydrotest"
SEED = 10
SLOW_SCRAPE_S = 15
VALUE_BYTES, VALUES = 1_000, 2_000
CLUSTER = """
name: there
hosts: {here: {connect: local}}
systems: {kafka: {hosts: [here], heap: 512 MiB, config: {compression.type: gzip, compression.gzip.level: 9}}}
workloads: {ingest: {kind: kafka-produce}}
tests: [levels: {workload: ingest, rates: [10]}]
"""


def ways(there: There) -> dict[str, dict[str, Any]]:
    """The host of the cluster, by who sees it; none at all without."""
    return {
        "own sampler": {"connect": "command", "command": ["env"], "address": "10.214.9.9"},
        "node_exporter": there.seen_by_exporter,
        "Prometheus, 2 s": there.seen_by_prometheus,
        "Prometheus, 15 s": {**there.seen_by_prometheus, "server": f"http://{there.slow_prometheus}"},
        "the cluster itself": {},
    }


def experiment(there: There, host: dict[str, Any]) -> dict[str, Any]:
    """Finds the limit of a Kafka that is ours alone."""
    base = there.experiment({"k1": host} if host else {}, "5 s")
    system = base["systems"]["kafka"] | {
        # A search begins at a fiftieth of it, and takes steps of a half.
        "tenancy": "exclusive", "most": {"rate": "70K", "bytes": "75 MB/s", "disk": "5 GB"},
        # A full broker slows the canary, too.
        "guard": {"baseline": "10 s", "free": 0.01, "p99": "60 s"},
    }  # fmt: skip
    values = there.folder / "values.txt"
    letters = random.Random(SEED)
    values.write_text("\n".join("".join(letters.choices("ab", k=VALUE_BYTES)) for _ in range(VALUES)))
    # A broker works on one request of a connection at a time. Larger batches would cost more for each byte, the fuller the broker is.
    shape = {"payload": {"file": str(values)}, "partitions": 16, "threads": 8, "batch_size": "2 KB"}
    ingest = {key: value for key, value in base["workloads"]["ingest"].items() if key != "record_size"} | shape
    return base | {
        "systems": {"kafka": system},
        "workloads": {"ingest": ingest},
        # The limit is to be that of the CPU, not of the latency on the way to it.
        "objectives": {"ingest": {"p99": "30 s"}},
        "tests": [{"isolated": ["ingest"]}],
        "search": {"window": "4 s", "warm_up": "1 s", "precision": "10 %", "trials": 16},
    }


def once(there: There, host: dict[str, Any]) -> dict[str, Any]:
    """A run; what its limit is said to be bound by."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "experiment.yaml", Path(folder) / "out"
        file.write_text(yaml.safe_dump(experiment(there, host), sort_keys=False))
        environment = {**os.environ, "XDG_CACHE_HOME": str(there.folder / "cache")}

        def hydrotest(*words: object) -> str:
            done = subprocess.run([str(HYDROTEST), *map(str, words)], capture_output=True, text=True, check=False, env=environment)
            assert done.returncode in (0, 1), done.stdout + done.stderr
            return done.stdout

        agreed = json.loads(hydrotest("check", file, "--contact", "--json"))["hash"]
        hydrotest("run", file, "--out", out, "--yes", agreed)
        (limit,) = json.loads((out / "summary.json").read_text())["limits"]
        bound = limit["bound_by"]
        causes = sorted({cause["code"] for cause in bound["because"] if "code" in cause})
        near = [f"{one['resource']} of {one['host']}" for cause in bound["because"] for one in cause.get("usages", [])]
        return {"limit": limit["limit"], "kind": bound["kind"], "host": bound["host"], "resource": bound["resource"],
                "confirmed": bound["confirmed"], "because": causes, "near": near}  # fmt: skip


async def measure(times: int, out: Path) -> None:
    """All ways in turn, in a random order of its own each time."""
    order = random.Random(SEED)
    found: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with cluster_that_is_monitored(Path(folder), SLOW_SCRAPE_S, CLUSTER) as there:
            await asyncio.sleep(2 * SLOW_SCRAPE_S)  # until the slower Prometheus has what a rate needs
            for number in range(times):
                turns = list(ways(there).items())
                order.shuffle(turns)
                for name, host in turns:
                    seen = await asyncio.to_thread(once, there, host)
                    found.setdefault(name, []).append(seen)
                    out.write_text(json.dumps(found, indent=1))
                    print(f"{number + 1} | {name} | {json.dumps(seen)}", flush=True)


def main() -> None:
    """Measures, and prints what each said."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/rungs"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    asyncio.run(measure(options.times, options.out / "rungs.json"))


if __name__ == "__main__":
    main()
