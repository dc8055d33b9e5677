"""The five machines of experiments/packet-five-nodes.yaml twice: as the lab's emulated hosts, and as machines that ssh reaches.

Both have the same shares of this machine, and a sixth machine for the generators. The lab's hubs are outside its hosts; those of the
machines use their cores, as real ones do. Squeezes are left out: machines are not squeezed in disks and links. Needs root and
Debian's packages. Writes OUT/five_machines.json, and prints a table.

    python benchmarks/five_machines.py [--tests levels,isolated,concurrency] [--out DIR]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.real.fleet import Fleet, Place, Share, open_fleet  # noqa: E402

from hydrotest.hosts.deadlines import Patience, until_here  # noqa: E402
from hydrotest.spec.load import load_experiment  # noqa: E402
from hydrotest.spec.models import Experiment  # noqa: E402

HYDROTEST = Path(sys.executable).parent / "hydrotest"
EXPERIMENT = ROOT / "experiments/packet-five-nodes.yaml"
SSH, DATA = "10.214.1.{}", "10.214.3.{}"
FIRST = 2
OWN_BYTES = 512 << 20
"""Of sshd, the hub and its nodes, which are outside of the lab's hosts."""
RUN_S_MAX = 3_000
STARTED = Patience.of(three_systems_on_two_cores=600.0)


def main() -> None:
    """Runs both, and prints their figures beside each other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", default="levels,isolated,concurrency", help="kinds of tests that are kept")
    parser.add_argument("--out", type=Path, default=Path("runs/five_machines"))
    parser.add_argument("--sides", default="lab,ssh", help="`lab`, `ssh` or both")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "experiment.yaml"
    file.write_text(yaml.safe_dump(shortened(options.tests.split(",")), sort_keys=False))
    found: dict[str, dict[str, Any]] = {}
    if "lab" in options.sides:
        found["lab"] = of_run([str(HYDROTEST), "run", str(file), "--out", str(options.out / "lab")], options.out / "lab")
    if "ssh" in options.sides:
        with (
            tempfile.TemporaryDirectory() as folder,
            open_fleet(Path(folder) / "fleet", Path(folder) / "sshd", places=places(file)) as fleet,
        ):
            hosts = options.out / "fleet.yaml"
            hosts.write_text(yaml.safe_dump({"hosts": reached(fleet)}, sort_keys=False))
            argv = fleet.wrap([str(HYDROTEST), "run", str(file), "--hosts", str(hosts), "--out", str(options.out / "ssh")])
            quotas = threading.Thread(target=lift_quotas, args=(fleet, load_experiment(file)[0], options.out / "ssh"), daemon=True)
            quotas.start()
            found["ssh"] = of_run(argv, options.out / "ssh")
    (options.out / "five_machines.json").write_text(json.dumps(found, indent=1))
    print_table(found)


def shortened(kept: list[str]) -> dict[str, Any]:
    """The experiment with tests of these kinds, without squeezes."""
    experiment: dict[str, Any] = load_experiment(EXPERIMENT)[1].value
    experiment["tests"] = [test for test in experiment["tests"] if next(iter(test)) in kept]
    for test in experiment["tests"]:
        next(iter(test.values())).pop("squeeze", None)
    return experiment


def places(file: Path) -> list[Place]:
    """Machines with the shares of the lab's hosts."""
    found = []
    for number, (name, host) in enumerate(load_experiment(file)[0].hosts.items(), FIRST):
        shares = host.shares
        share = None
        if shares["cores"] is not None:
            share = Share(shares["cores"], round(shares["memory"] or 0) + OWN_BYTES, (shares["disk"] or 0) / 8, shares["network"] or 0)
        found.append(Place(name, {"br1": SSH.format(number), "br3": DATA.format(number)}, share=share))
    return found


def reached(fleet: Fleet) -> dict[str, dict[str, str]]:
    """The same names, by ssh."""
    return {name: {"connect": "ssh", "to": name, "address": machine.data_address} for name, machine in fleet.machines.items()}


def lift_quotas(fleet: Fleet, experiment: Experiment, out: Path) -> None:
    """While systems start, they have all cores, as in the lab: a JVM on a sixth of one takes many minutes."""
    journal = out / "journal.jsonl"

    def is_in(what: str) -> int:
        return journal.read_text().count(f'"what": "{what}"') if journal.exists() else 0

    # By then it is known what the machines give.
    until_here((out / "logs").exists, STARTED, "the run", "survey its hosts")
    for group in fleet.groups.values():
        group.limit_cores(None)
    until_here(lambda: is_in("system ready") == len(experiment.systems.present()) or is_in("run ended"), STARTED, "the systems", "start")
    for name, group in fleet.groups.items():
        group.limit_cores(experiment.hosts[name].shares["cores"])


def of_run(argv: list[str], out: Path) -> dict[str, Any]:
    """Seconds of a run, and what it found."""
    begun = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=RUN_S_MAX)
    took = time.monotonic() - begun
    assert done.returncode in (0, 1), done.stdout[-3_000:] + done.stderr[-3_000:]
    summary = json.loads((out / "summary.json").read_text())
    figures: dict[str, Any] = {"seconds": round(took)}
    for row in summary["limits"]:
        figures[f"limit of {row['workload']}, {row['tenancy']}"] = [
            row["low"],
            row["limit"],
            row["high"],
            row["bound_by"]["host"],
            row["bound_by"]["resource"],
        ]
    for row in summary["levels"]:
        if row["op"] in (None, "mix") and (row["offered"] or row["concurrency"]):
            load = f"{row['offered']:.0f}/s" if row["offered"] else f"{row['concurrency']:.0f} in flight"
            figures[f"{row['workload']}, {load}"] = [round(row["achieved"]), row["latency_ms"]["p50"], row["latency_ms"]["p99"]]
    for row in summary["spark"]:
        figures[f"{row['workload']}, {row['test']}, {row['tenancy']}"] = row["total_s"]
    figures["lost"] = sum(row["lost"] or 0 for row in summary["integrity"])
    figures["accounted for"] = sum(row["seen"] or 0 for row in summary["integrity"])
    return figures


def print_table(found: Mapping[str, Mapping[str, Any]]) -> None:
    """Both beside each other."""
    print(f"| | {' | '.join(found)} |\n|---{'|---' * len(found)}|")
    for name in dict.fromkeys(key for figures in found.values() for key in figures):
        print(f"| {name} | " + " | ".join(str(figures.get(name, "")) for figures in found.values()) + " |")


if __name__ == "__main__":
    main()
