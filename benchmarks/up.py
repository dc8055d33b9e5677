"""How long hosts and systems take to be up, and to be gone again: `hydrotest up` until it has said where they listen, and until it has
ended. With `--joining` each round also lets the nodes of its ring join one after the other, as they do where an experiment chooses
their parts of it; with `--plain` also once without the archives of classes that `hydrotest fetch` makes. Needs root. Writes OUT/up.json, and prints a table.

    python benchmarks/up.py [--experiment experiments/packet-five-nodes.yaml] [--rounds 3] [--joining] [--plain] [--out DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median
from typing import Any

from one_run import HYDROTEST, users_environment

from hydrotest.places import cache_home
from hydrotest.spec.lines import read_document

ROOT = Path(__file__).resolve().parents[1]
JOINING = {"allocate_tokens_for_local_replication_factor": 3}
PLAIN = "without archives of classes"
ENDS_S_MAX = 120.0


def main() -> None:
    """Rounds in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiment", type=Path, default=ROOT / "experiments" / "packet-five-nodes.yaml")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--joining", action="store_true")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("runs/up"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    value = read_document(options.experiment).value
    variants = {"as it is": value}
    if options.joining:
        ring = value["systems"]["cassandra"]
        changed = {**ring, "config": {**ring.get("config", {}), **JOINING}}
        variants["joining"] = {**value, "systems": {**value["systems"], "cassandra": changed}}
    if options.plain:
        variants[PLAIN] = value
    found: dict[str, list[dict[str, float]]] = {name: [] for name in variants}
    for number in range(options.rounds):
        # There and back, so that what drifts is in both.
        for name in list(variants)[:: 1 if number % 2 == 0 else -1]:
            with without_archives() if name == PLAIN else nullcontext():
                found[name].append(timed(variants[name]))
            print(name, json.dumps(found[name][-1]), flush=True)
    (options.out / "up.json").write_text(json.dumps(found, indent=1))
    print("| | `up`, s (median, least to most) | CPU until it ended, s | `down`, s | stolen, % |\n|---|---|---|---|---|")
    for name, rows in found.items():
        columns = [[row[key] for row in rows] for key in ("up_s", "cpu_s", "down_s", "stolen_pct")]
        print(f"| {name} | " + " | ".join(f"{median(one):.1f} ({min(one):.1f} to {max(one):.1f})" for one in columns) + " |")


@contextmanager
def without_archives() -> Iterator[None]:
    """They are elsewhere meanwhile."""
    there = list(cache_home().glob("classes-*.jsa"))
    if not there:
        raise SystemExit("there are no archives of classes: call `hydrotest fetch`")
    away = [path.with_suffix(".away") for path in there]
    for path, other in zip(there, away, strict=True):
        path.rename(other)
    try:
        yield
    finally:
        for path, other in zip(there, away, strict=True):
            other.rename(path)


def timed(experiment: dict[str, Any]) -> dict[str, float]:
    """Once, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "experiment.yaml"
        file.write_text(json.dumps(experiment))
        stolen, cpu_s = _ticks(), _children_s()
        begun = time.monotonic()
        process = subprocess.Popen([HYDROTEST, "up", file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=users_environment())
        assert process.stdout is not None
        if not process.stdout.readline():
            raise SystemExit(f"hydrotest up ended with {process.wait()}")
        up = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=ENDS_S_MAX)
        down = time.monotonic()
        share = (_ticks() - stolen) / os.sysconf("SC_CLK_TCK") / (down - begun) / (os.cpu_count() or 1)
        return {"up_s": up - begun, "cpu_s": _children_s() - cpu_s, "down_s": down - up, "stolen_pct": 100 * share}


def _ticks() -> int:
    """Time that the hypervisor took, of all cores."""
    return int(Path("/proc/stat").read_text().splitlines()[0].split()[8])


def _children_s() -> float:
    """CPU time of processes that have ended: of services, too, which the supervisors below `up` wait for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
