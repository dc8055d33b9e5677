"""Machines of their own: how long first contact takes, what it costs, and what is left when the connection dies.

Three emulated machines with real sshds on this one, as in tests/real/fleet.py. Needs root and Debian's packages.
Writes OUT/fleet.json after each part, and prints tables.

    python benchmarks/fleet.py [--parts contact,clocks,cost,durations,errors,deaths] [--times 5] [--out DIR]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.real.fleet import Fleet, open_fleet, settled  # noqa: E402
from tests.real.test_fleet import HOSTS, KAFKA, REFUSED, RING, SUITE, cut_off, journalled, left, pods, running, started  # noqa: E402

from hydrotest.hosts.deadlines import Patience, until_here  # noqa: E402

HYDROTEST = Path(sys.executable).parent / "hydrotest"
STARTED = Patience.of(systems_on_a_slow_machine=180.0)
EMPTY = Patience.of(brokers_in_good_order=60.0)
LEASE_S = 5.0
GONE_S_MAX = 40.0
RUN_S_MAX = 600
WHOLE: dict[str, dict[str, Any]] = {
    "kafka": {
        **KAFKA,
        "tests": [{"levels": {"workload": "ingest", "rates": [500, 1000, 2000]}}],
        "search": {"window": "10 s", "warm_up": "1 s"},
    },
    "cassandra": {
        **RING,
        "tests": [{"levels": {"workload": "store", "rates": [100, 200, 400]}}],
        "search": {"window": "10 s", "warm_up": "1 s"},
    },
    "spark": SUITE,
}
"""What is run over ssh, and in the lab."""
DEATHS = ("controller", "ssh", "session", "command", "silence")
CONTACT = """
import asyncio, json, sys, tempfile, time
from pathlib import Path
from hydrotest.hosts.remote.make import remote_hosts
from hydrotest.spec.hosts import SshHost
async def main():
    specs = {name: SshHost.model_validate(one) for name, one in json.loads(sys.argv[1]).items()}
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        group = await remote_hosts(specs, Path(folder))
        print(time.monotonic() - begun)
        nodes = [await next(iter(group.hosts.values())).node("clock", {"listen": None}) for _ in range(int(sys.argv[2]))]
        for node in nodes:
            await node.command("report")
            await node.expect("clock")
            await node.close()
        await group.remove()
asyncio.run(main())
"""


AHEAD_S = {"alpha": 0.25, "beta": 0.0, "jump": -5.0}
"""What is added to the machines' clocks, which are one."""
COMPARED = """
import asyncio, json, sys, tempfile
from pathlib import Path
from hydrotest.hosts.clocks import Clocks
from hydrotest.hosts.remote.make import remote_hosts
from hydrotest.spec.hosts import CommandHost
async def main():
    specs = {name: CommandHost.model_validate(one) for name, one in json.loads(sys.argv[1]).items()}
    with tempfile.TemporaryDirectory() as folder:
        group = await remote_hosts(specs, Path(folder))
        clocks = Clocks(group.hosts.values())
        for _ in range(int(sys.argv[2])):
            compared = await clocks.compare()
            print(json.dumps({name: [one.offset_s, one.error_s] for name, one in compared.by_machine.items()}))
        await clocks.close()
        await group.remove()
asyncio.run(main())
"""


def main() -> None:
    """Does the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="contact,clocks,cost,durations,errors,deaths")
    parser.add_argument("--times", type=int, default=5, help="repetitions of each measurement")
    parser.add_argument("--out", type=Path, default=Path("runs/fleet"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    parts: dict[str, Callable[[Fleet, Path, int], Any]] = {
        "contact": contact,
        "clocks": clocks,
        "cost": cost,
        "durations": durations,
        "errors": errors,
        "deaths": deaths,
    }
    with tempfile.TemporaryDirectory() as folder, open_fleet(Path(folder) / "fleet", Path(folder) / "sshd") as fleet:
        for name in options.parts.split(","):
            results[name] = parts[name](fleet, Path(folder), options.times)
            (options.out / "fleet.json").write_text(json.dumps(results, indent=1))
            print(f"## {name}")
            print(json.dumps(results[name], indent=1))


def spread(values: Sequence[float], digits: int = 3) -> dict[str, float]:
    """Median, least and most."""
    figures = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    return {name: round(value, digits) for name, value in figures.items()} | {"n": len(values)}


def contact(fleet: Fleet, _: Path, times: int) -> Any:
    """Seconds until hosts are ready, with the binary to be sent and without; logins; 20 nodes on one host."""

    def once(hosts: dict[str, Any], nodes: int = 0) -> float:
        done = fleet.run([sys.executable, "-c", CONTACT, json.dumps(hosts), str(nodes)])
        assert done.returncode == 0, done.stderr
        return float(done.stdout)

    found: dict[str, Any] = {}
    for name, host in HOSTS.items():
        machine = fleet.machines[host["to"]]
        cold, warm = [], []
        for _cold in range(times):
            machine.inside("rm", "-rf", "/home/alice/.cache/hydrotest")
            cold.append(once({name: host}))
            warm.append(once({name: host}))
        found[host["to"]] = {"with upload, s": spread(cold), "without, s": spread(warm)}
    before = {name: machine.logins() for name, machine in fleet.machines.items()}
    found["all three at once, s"] = spread([once(HOSTS) for _once in range(times)])
    # Jump also lets the way to beta through.
    found["logins a contact"] = {name: (machine.logins() - before[name]) / times for name, machine in fleet.machines.items()}
    once({"a": HOSTS["a"]}, nodes=20)
    found["20 nodes on one host"] = "none refused"
    return found


def clocks(fleet: Fleet, folder: Path, times: int) -> Any:
    """How often the error that is stated of a clock covers the truth, and how large it is."""
    base = folder / "clocks"
    base.mkdir()
    done = fleet.run([sys.executable, "-c", COMPARED, json.dumps(pods(fleet, base, AHEAD_S)), str(times)])
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    truth = {name: AHEAD_S[host["to"]] - AHEAD_S["alpha"] for name, host in HOSTS.items()}
    pairs = [(offset, error, truth[name]) for one in found for name, (offset, error) in one.items()]
    return {
        "covered": sum(abs(offset - true) <= error for offset, error, true in pairs),
        "of": len(pairs),
        "stated error, s": spread([error for _, error, _ in pairs], 6),
        "true error, s": spread([abs(offset - true) for offset, _, true in pairs], 6),
    }


def cost(fleet: Fleet, folder: Path, _: int) -> Any:
    """Cores of the samplers with their hubs, of the controller, and bytes over ssh, while Kafka is loaded for half a minute."""
    search = {"window": "30 s", "warm_up": "2 s"}
    base = folder / "cost"
    base.mkdir()
    file = base / "experiment.yaml"
    file.write_text(yaml.safe_dump({**KAFKA, "search": search}, sort_keys=False))
    switch = ["ip", "netns", "exec", fleet.namespace("s"), "cat", f"/sys/class/net/{fleet.plug('alpha')}/statistics/rx_bytes"]
    process = started(fleet, file, "level ingest at")
    time.sleep(5)
    first, at = int(subprocess.check_output(switch)), time.monotonic()
    time.sleep(20)
    bytes_per_s = (int(subprocess.check_output(switch)) - first) / (time.monotonic() - at)
    assert process.wait(240) in (0, 1), (base / "said").read_text()
    overhead = json.loads((base / "out/environment.json").read_text())["overhead"]
    return {"samplers and hubs, cores a host": round(overhead["sampler_cores"] / len(HOSTS), 4), "controller, cores": round(overhead["controller_cores"], 4),
            "bytes/s from one host over ssh": round(bytes_per_s)}  # fmt: skip


def durations(fleet: Fleet, folder: Path, times: int) -> Any:
    """Seconds that a whole run takes over ssh and, in turns, on the lab's emulated hosts: start, levels, account, end."""
    lab = {name: {"connect": "netns"} for name in HOSTS}
    found: dict[str, Any] = {}
    for system, experiment in WHOLE.items():
        took: dict[str, list[float]] = {"ssh": [], "lab": []}
        for number in range(times):
            for way, hosts in (("ssh", HOSTS), ("lab", lab)):
                base = folder / f"{system}-{way}-{number}"
                base.mkdir()
                file = base / "experiment.yaml"
                file.write_text(yaml.safe_dump({**experiment, "hosts": hosts}, sort_keys=False))
                argv = [str(HYDROTEST), "run", str(file), "--out", str(base / "out")]
                at = time.monotonic()
                done = (
                    fleet.run(argv)
                    if way == "ssh"
                    else subprocess.run(argv, capture_output=True, text=True, timeout=RUN_S_MAX, check=False)
                )
                took[way].append(time.monotonic() - at)
                assert done.returncode in (0, 1), done.stderr
        ratio = statistics.median(over / lab for over, lab in zip(took["ssh"], took["lab"], strict=True))
        found[system] = {**{f"{way}, s": spread(values, 1) for way, values in took.items()}, "ssh ÷ lab, median of rounds": round(ratio, 3)}
        print(system, json.dumps(found[system]), flush=True)
    return found


def errors(fleet: Fleet, folder: Path, times: int) -> Any:
    """Seconds until a host that cannot be reached is named, with its cause."""
    found: dict[str, dict[str, float]] = {}
    for why, (changed, cause) in REFUSED.items():
        took = []
        for number in range(times):
            file, out = folder / "refused.yaml", folder / f"refused-{len(found)}-{number}"
            file.write_text(yaml.safe_dump({**KAFKA, "hosts": {**HOSTS, "a": {**HOSTS["a"], **changed}}}))
            at = time.monotonic()
            done = fleet.run([str(HYDROTEST), "run", str(file), "--out", str(out)])
            took.append(time.monotonic() - at)
            assert done.returncode == 2, done.stderr
            assert cause in " ".join(done.stderr.split()), done.stderr
        found[why] = spread(took)
    return found


def deaths(fleet: Fleet, folder: Path, times: int) -> Any:
    """What is left, and after how long, when the controller, ssh, the session there, `kubectl exec` or the network dies."""
    cases: dict[str, list[dict[str, Any]]] = {death: [] for death in DEATHS}
    for number in range(times):
        for death, so_far in cases.items():
            so_far.append(_death(fleet, folder / f"{death}-{number}", death))
            print(number + 1, death, json.dumps(so_far[-1]), flush=True)
    return {death: _in_all(death, all_of_it) for death, all_of_it in cases.items()}


def _in_all(death: str, cases: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "generators gone, s": spread([case["generators_s"] for case in cases]),
        "all gone, s": spread([case["all_s"] for case in cases]),
        "brokers ended in good order": sum(case["clean"] for case in cases),
        "survivors": sum(case["survivors"] for case in cases),
        "journalled as connection lost": None if death == "controller" else sum(case["told"] for case in cases),
        "folders left after down": sum(case["folders"] for case in cases),
    }


def _death(fleet: Fleet, base: Path, death: str) -> dict[str, Any]:
    """The broker and a generator are on alpha, whose connection dies."""
    base.mkdir()
    file = base / "experiment.yaml"
    reached = pods(fleet, base) if death == "command" else HOSTS
    hosts = {name: {**host, "lease": f"{LEASE_S:g} s"} for name, host in reached.items()}
    alone = {
        "systems": {"kafka": {**KAFKA["systems"]["kafka"], "hosts": ["a"]}},
        "workloads": {"ingest": {"kind": "kafka-produce", "on": "a"}},
    }
    whole = {
        **KAFKA,
        **alone,
        "hosts": hosts,
        "tests": [{"levels": {"workload": "ingest", "rates": [500]}}],
        "search": {"window": "60 s", "warm_up": "1 s"},
    }
    file.write_text(yaml.safe_dump(whole, sort_keys=False))
    process = started(fleet, file, "level ingest at")
    alpha = fleet.machines["alpha"]
    until_here(lambda: running(alpha, "produce"), STARTED, "the generator", "be there")
    at = time.monotonic()
    try:
        cut_off(fleet, process, death, base)
        generators_s = settled(lambda: not running(alpha, "produce"), GONE_S_MAX)
        settled(lambda: not alpha.pids(), GONE_S_MAX)
        all_s = time.monotonic() - at
    finally:
        fleet.cut("alpha", is_up=True)
        if death != "controller":
            process.wait(120)
        (base / "alpha.ends").unlink(missing_ok=True)
    survivors = len(alpha.pids())
    clean = bool(list((alpha.root / "home/alice/.cache/hydrotest/data").glob("hydrotest-run-*/*/kafka-0/data/.kafka_cleanshutdown")))
    lines = journalled(base / "out")
    told = any(line["what"] == "connection lost" for line in lines) and not any(line["what"] == "service died" for line in lines)
    until_here(lambda: not any(machine.pids() for machine in fleet.machines.values()), EMPTY, "the machines", "be empty")
    down = fleet.run([str(HYDROTEST), "down", str(file)])
    assert down.returncode == 0, down.stderr
    folders = sum(map(len, left(fleet).values()))
    return {"generators_s": generators_s, "all_s": all_s, "clean": clean, "survivors": survivors, "told": told, "folders": folders}


if __name__ == "__main__":
    main()
