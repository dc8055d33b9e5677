"""What it takes to simulate 1,000 hosts for an hour: seconds and memory on one core, twice, and whether both answers are the same bytes.

Usage: python benchmarks/fleet_hour.py RUN
RUN: the folder of a run with a `calibrate` test of a kafka-produce and a cassandra workload. Ten events; a step is a second or two.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from hydrotest.predict.known import read_known

HYDROTEST = Path(sys.executable).parent / "hydrotest"
HOSTS = {"kafka": 400, "cassandra": 600}
EVENTS: list[dict[str, Any]] = [
    {"at": "5 min", "fail": "kafka-1", "for": "10 min"}, {"at": "10 min", "fail": "kafka-20", "for": "10 min"},
    {"at": "15 min", "fail": "cassandra-20", "for": "5 min"}, {"at": "16 min", "fail": "cassandra-21", "for": "5 min"},
    {"at": "17 min", "fail": "cassandra-23", "for": "5 min"}, {"at": "20 min", "zone": 2, "for": "5 min"},
    {"at": "30 min", "fail": "kafka-50", "for": "10 min"}, {"at": "31 min", "fail": "kafka-51", "for": "10 min"},
    {"at": "40 min", "add": "kafka", "count": 20}, {"at": "50 min", "roll": "cassandra", "for": "2 s"},
]  # fmt: skip


def scenario(run: Path) -> dict[str, Any]:
    """Each host with half of the load that fills it, by the run."""
    known = read_known(run, with_jobs=False)
    names = {system: next(name for name, spec in known.experiment.workloads.items() if spec.presses_on == system) for system in HOSTS}
    seen = {system: max(one.rates.get(names[system], 0.0) for one in known.seen[system]) for system in HOSTS}
    hosts = {system: len(known.experiment.systems.present()[system].hosts) for system in HOSTS}
    rates = {system: 0.5 * seen[system] * HOSTS[system] / hosts[system] for system in HOSTS}
    return {
        "name": "fleet-hour", "model": str(run), "far": True, "duration": "1 h", "seeds": 1,
        "hosts": {system: {"count": count, "zones": 3} | ({"disk": {"size": "500 GB"}} if system == "kafka" else {}) for system, count in HOSTS.items()},
        "systems": {system: {"on": system} for system in HOSTS},
        "load": {names[system]: {"daily": {"low": round(rate / 2), "high": round(rate), "peak": "00:30"}, "noise": 0.1} for system, rate in rates.items()},
        "objectives": {name: {"wait": "10 s"} for name in names.values()}, "events": EVENTS,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("run", type=Path)
    given = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_text(yaml.safe_dump(scenario(given.run.resolve())))
        for number in range(2):
            begin, out = time.monotonic(), Path(folder) / str(number)
            done = subprocess.run([HYDROTEST, "simulate", file, "--out", out], capture_output=True, text=True, check=False)
            if done.returncode not in (0, 1):
                raise SystemExit(done.stderr)
            digest = hashlib.sha256(b"".join((out / name).read_bytes() for name in ("simulated.json", "series.parquet"))).hexdigest()[:12]
            print(
                f"{time.monotonic() - begin:.1f} s, at most {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6:.2f} GB, {digest}"
            )


if __name__ == "__main__":
    main()
