"""Another machine for real: hydrotest reaches it by ssh, and runs on it, under control groups of version 2 only."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from hydrotest.hosts.deadlines import Patience, until_here
from hydrotest.places import cache_home
from hydrotest.store import layout
from hydrotest.store.samples import read_samples
from tests.real.conftest import HYDROTEST
from tests.real.virtual_machine import ADDRESS, COPY, CORES, MAKE_COPY, USER, Virtual, missing_tools, open_machine

pytestmark = [
    pytest.mark.real,
    pytest.mark.rare,
    pytest.mark.skipif(os.geteuid() != 0 or bool(missing_tools()), reason="needs root, qemu-system-x86_64, debootstrap and mke2fs"),
]
RUN_S_MAX = 2400
PRESSED = Patience.of(systems_on_an_emulated_processor=900.0)
CORES_GIVEN, LINK_MBIT = 0.5, 20
KAFKA: dict[str, Any] = {
    "name": "virtual",
    "systems": {"kafka": {"hosts": ["a"], "heap": "256 MiB", "jvm": ["-XX:TieredStopAtLevel=1"]}},
    "workloads": {"ingest": {"kind": "kafka-produce", "on": "b", "record_size": "100 B", "partitions": 2, "linger": "100 ms"}},
    "tests": [{"levels": {"workload": "ingest", "rates": [100]}}],
    "search": {"window": "10 s", "warm_up": "2 s"},
    # A JVM that has compiled nothing yet, on a processor that is itself compiled, answers some hundred requests a second.
    "warm_up": {"least": "30 s", "most": "30 s"},
}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Virtual]:
    with open_machine(tmp_path_factory.mktemp("vm"), cache_home() / "tests") as made:
        yield made


def from_here(machine: Virtual, file: Path, *options: str) -> list[str]:
    """A run whose ssh finds the machine: with a `~/.ssh` of its own, in a mount namespace of its own."""
    home = Path.home() / ".ssh"
    home.mkdir(mode=0o700, exist_ok=True)
    folder = machine.base / "ssh"
    if not folder.exists():
        folder.mkdir(mode=0o700)
        for name in ("key", "known_hosts"):
            (folder / name).write_bytes((machine.base / name).read_bytes())
            (folder / name).chmod(0o600)
        (folder / "config").write_text(
            f"Host vm\n  HostName 127.0.0.1\n  Port {machine.port}\n  IdentityFile {home}/key\n  IdentitiesOnly yes\n  ConnectTimeout 60\n"
        )
    inner = [str(HYDROTEST), "run", str(file), *options]
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", f'mount --bind "{folder}" "{home}" && exec "$@"', "sh", *inner]


def run_from_here(machine: Virtual, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    argv = from_here(machine, file, *(options or ("--out", str(file.parent / "out"))))
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=RUN_S_MAX)


def on_the_machine(changes: dict[str, Any]) -> dict[str, Any]:
    """An experiment whose only host it is."""
    return {
        **KAFKA,
        "hosts": {"a": {"connect": "ssh", "to": f"{USER}@vm", "address": ADDRESS, "lease": "60 s"}},
        "workloads": {"ingest": {**KAFKA["workloads"]["ingest"], "on": "a"}},
        **changes,
    }


def test_a_broker_and_a_generator_on_another_machine(machine: Virtual, tmp_path: Path) -> None:
    """Hub, facts, sampler and a small Kafka, by a user without root."""
    file = tmp_path / "experiment.yaml"
    file.write_text(yaml.safe_dump(on_the_machine({}), sort_keys=False))
    done = run_from_here(machine, file)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["status"] == "complete"
    (account,) = summary["integrity"]
    assert (account["lost"], account["duplicated"], account["corrupted"]) == (0, 0, 0)
    assert account["acked"] > 1_000
    (there,) = summary["hosts"]
    assert there["cores"] == CORES
    assert there["kernel"] != os.uname().release
    samples = read_samples(next((tmp_path / "out/trials").iterdir()), layout.HOST_SAMPLES)
    # Its kernel's own counters: this machine's has more memory, and other disks.
    assert samples["memory_total_bytes"].max() == there["memory_bytes"]
    assert "pressure_cpu_some_us" in samples.columns
    assert machine.run(f"ls /home/{USER}/.cache/hydrotest/data").stdout.split() == ["copies"]
    assert machine.run(f"pgrep -u {USER} -c java").stdout.strip() == "0"


def test_a_machine_that_restarts_in_mid_trial_costs_what_was_not_yet_measured(machine: Virtual, tmp_path: Path) -> None:
    """It is named, nothing else is blamed, and the run goes on when it is back."""
    file, out = tmp_path / "experiment.yaml", tmp_path / "out"
    two = {"tests": [{"levels": {"workload": "ingest", "rates": [50, 100], "duration": "30 s"}}]}
    file.write_text(yaml.safe_dump(on_the_machine(two), sort_keys=False))
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(from_here(machine, file, "--out", str(out)), stdout=said, stderr=said)
    try:
        # In the second trial: the first one is kept.
        until_here(lambda: len(list(out.glob("trials/*level*/load"))) == 2, PRESSED, "the run", "press")
        machine.run("systemctl reboot --force --force")
        assert process.wait(RUN_S_MAX) == 3, (tmp_path / "said").read_text()
    finally:
        process.kill()
        process.wait()
    said_so = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]
    assert [line["host"] for line in said_so if line["what"] == "connection lost"] == ["a"]
    assert not [line for line in said_so if line["what"] == "service died"]
    machine.until_it_answers()
    done = run_from_here(machine, file, "--out", str(out), "--resume")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    summary = json.loads((out / "summary.json").read_text())
    assert summary["status"] == "complete"
    assert {row["offered"] for row in summary["levels"]} >= {50, 100}
    assert {one["lost"] for one in summary["integrity"]} == {0}
    # What the run before it left there went when the machine was used again.
    assert machine.run(f"ls /home/{USER}/.cache/hydrotest/data").stdout.split() == ["copies"]


def test_emulated_hosts_get_what_they_are_given_under_version_2(machine: Virtual, tmp_path: Path) -> None:
    """hydrotest runs there, in a copy of this machine's files; the lab's groups are those of the machine's own kernel."""
    made = machine.run(MAKE_COPY)
    assert made.returncode == 0, made.stderr
    for module in ("veth", "bridge", "sch_tbf", "loop", "ext4"):
        assert machine.run(f"modprobe {module}").returncode == 0, module
    assert machine.run("stat -fc %T /sys/fs/cgroup").stdout.strip() == "cgroup2fs"
    hosts = {
        "a": {"connect": "netns", "cores": CORES_GIVEN, "memory": "1 GB", "network": f"{LINK_MBIT} Mbit/s"},
        "b": {"connect": "netns"},
    }
    # Half an emulated core answers some ten requests a second.
    slow = {"tests": [{"levels": {"workload": "ingest", "rates": [20]}}]}
    text = yaml.safe_dump({**KAFKA, **slow, "hosts": hosts}, sort_keys=False)
    wrote = machine.run(f"cat > {COPY}/tmp/experiment.yaml", input=text)
    assert wrote.returncode == 0, wrote.stderr
    # A generator in real time, on a processor that is itself compiled, leaves no time for anything else: the machine was seen to hang.
    plain = "setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice"
    run_there = (
        f"{plain} chroot {COPY} env HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin {HYDROTEST} run /tmp/experiment.yaml --out /tmp/out"
    )
    done = machine.run(run_there, timeout=RUN_S_MAX)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    summary = json.loads(machine.run(f"cat {COPY}/tmp/out/summary.json").stdout)
    assert summary["status"] == "complete"
    (account,) = summary["integrity"]
    assert account["lost"] == 0
    assert account["acked"] > 100
    (limited,) = (one for one in summary["hosts"] if one["name"] == "a")
    assert limited["ceilings"]["cpu_cores"] == pytest.approx(CORES_GIVEN, rel=0.1)
    assert limited["ceilings"]["network_bytes_per_s"] == pytest.approx(LINK_MBIT * 1e6 / 8, rel=0.15)
    assert limited["ceilings"]["memory_bytes"] == 1_000_000_000
    samples = tmp_path / "samples/host.parquet"
    samples.parent.mkdir()
    argv = ["scp", "-q", *(word if word != "-p" else "-P" for word in machine.options),
            f"root@127.0.0.1:{COPY}/tmp/out/trials/*/samples/host.parquet", str(samples)]  # fmt: skip
    subprocess.run(argv, check=True)
    own = pl.read_parquet(samples).filter(pl.col("host") == "a").sort("wall_s")
    # Counted by the group, not by the machine.
    assert {"cpu_periods", "cpu_throttled_periods"} <= set(own.columns)
    used = (own["cpu_user_us"] + own["cpu_system_us"]).diff().sum() / 1e6 / (own["wall_s"].max() - own["wall_s"].min())  # type: ignore[operator]
    assert 0 < used <= CORES_GIVEN * 1.1
    assert own["memory_total_bytes"].max() == 1_000_000_000
    # Nothing is left of it.
    assert machine.run("ls -d /sys/fs/cgroup/*hydrotest*").stdout == ""
    assert machine.run("ip netns list").stdout.strip() == ""
