"""Machines that ssh reaches: three real sshds, with files, networks and users of their own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml

from hydrotest.hosts.deadlines import until_here
from tests.real.conftest import HYDROTEST, SOON
from tests.real.fleet import UID, Fleet, Machine, open_fleet, settled

pytestmark = [pytest.mark.real, pytest.mark.skipif(os.geteuid() != 0, reason="machines of their own need root here")]

HOSTS = {
    "a": {"connect": "ssh", "to": "alpha", "address": "10.214.3.3"},
    "b": {"connect": "ssh", "to": "beta", "address": "10.214.3.4"},
    "j": {"connect": "ssh", "to": "jump", "address": "10.214.3.2"},
}
KAFKA: dict[str, Any] = {
    "name": "fleet",
    "hosts": HOSTS,
    "systems": {"kafka": {"hosts": ["a", "b"], "heap": "256 MiB", "jvm": ["-XX:TieredStopAtLevel=1"]}},
    "workloads": {"ingest": {"kind": "kafka-produce", "on": "j", "replication": 2, "record_size": "100 B"}},
    "tests": [{"levels": {"workload": "ingest", "rates": [2000]}}],
    "search": {"window": "3 s", "warm_up": "1 s"},
    "warm_up": {"least": "5 s", "most": "5 s"},
}

FOLLOWED: dict[str, Any] = {
    **KAFKA,
    "systems": {"kafka": {**KAFKA["systems"]["kafka"], "hosts": ["b"]}},
    "workloads": {
        "ingest": {"kind": "kafka-produce", "on": "a", "record_size": "100 B"},
        "drain": {"kind": "kafka-consume", "on": "j", "reads": "ingest"},
    },
    "objectives": {"drain": {"p99": "2 s"}},
    "tests": [{"soak": {"workloads": ["ingest", "drain"], "rates": {"ingest": 500}, "duration": "60 s"}}],
}
"""What one host writes, another one reads at once."""

RING: dict[str, Any] = {
    **KAFKA,
    "systems": {"cassandra": {"hosts": ["a", "b"], "heap": "512 MiB", "jvm": ["-XX:TieredStopAtLevel=1"]}},
    "workloads": {"store": {"kind": "cassandra", "on": "j", "mix": {"write": 1, "read": 1}, "keys": "uniform(0, 1K)"}},
    "tests": [{"levels": {"workload": "store", "rates": [200]}}],
}

SUITE: dict[str, Any] = {
    **KAFKA,
    "systems": {"spark": {"master": "a", "workers": ["a", "b"], "cores": 1, "memory": "512 MiB"}},
    "workloads": {"batch": {"kind": "spark-perf", "on": "j", "tests": ["count"], "scale_factor": 0.05, "data_scale": 0.001}},
    "tests": [{"isolated": ["batch"]}],
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    base = tmp_path_factory.mktemp("fleet")
    with open_fleet(base, tmp_path_factory.getbasetemp() / "sshd") as made:
        yield made


def written(folder: Path, experiment: Mapping[str, object]) -> Path:
    file = folder / "experiment.yaml"
    file.write_text(yaml.safe_dump(experiment, sort_keys=False))
    return file


def run(fleet: Fleet, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return fleet.run([str(HYDROTEST), "run", str(file), "--out", str(file.parent / "out"), *options])


def left(fleet: Fleet) -> dict[str, list[str]]:
    """Runs' folders and processes that are still on the machines."""
    return {
        name: [path.name for path in machine.root.glob("home/*/.cache/hydrotest/data/*hydrotest-run-*")]
        + [str(pid) for pid in machine.pids()]
        for name, machine in fleet.machines.items()
    }


def test_a_run_over_ssh_accounts_for_every_record(fleet: Fleet, tmp_path: Path) -> None:
    before = {name: machine.logins() for name, machine in fleet.machines.items()}
    done = run(fleet, written(tmp_path, KAFKA))
    # 1: on two cores for all that, a level may not hold.
    assert done.returncode in (0, 1), done.stdout + done.stderr
    out = tmp_path / "out"
    summary = json.loads((out / "summary.json").read_text())
    assert summary["status"] == "complete"
    (account,) = summary["integrity"]
    assert (account["lost"], account["duplicated"]) == (0, 0)
    # All that a host needs goes over one session; jump carries beta's besides, which is a session of its own.
    logins = {name: machine.logins() - before[name] for name, machine in fleet.machines.items()}
    assert (logins["alpha"], logins["beta"]) == (1, 1)
    assert {path.name for path in (out / "logs").rglob("kafka-*.log")} == {"kafka-0.log", "kafka-1.log"}
    assert {host["name"] for host in summary["hosts"]} == set(HOSTS)
    assert left(fleet) == {name: [] for name in fleet.machines}


@pytest.mark.long
def test_a_ring_over_ssh_reads_back_what_it_wrote(fleet: Fleet, tmp_path: Path) -> None:
    done = run(fleet, written(tmp_path, RING))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["status"] == "complete"
    (account,) = summary["integrity"]
    assert account["lost"] == 0
    assert left(fleet) == {name: [] for name in fleet.machines}


@pytest.mark.long
def test_files_over_ssh_are_read_as_they_were_written(fleet: Fleet, tmp_path: Path) -> None:
    """The clients are on a third machine, to which Hadoop is brought, too."""
    files = {
        "systems": {"hdfs": {"namenode": "a", "datanodes": ["a", "b"], "heap": "256 MiB", "datanode_heap": "256 MiB"}},
        "workloads": {
            "save": {"kind": "hdfs-write", "on": "j", "files": 2, "file_size": "4 MiB", "at_once": 2},
            "load": {"kind": "hdfs-read", "on": "j", "reads": "save", "at_once": 2},
        },
        "tests": [{"isolated": ["save", "load"]}],
    }
    done = run(fleet, written(tmp_path, {**KAFKA, **files}))
    assert done.returncode == 0, done.stdout + done.stderr
    out = tmp_path / "out"
    summary = json.loads((out / "summary.json").read_text())
    assert summary["status"] == "complete"
    assert {row["workload"] for row in summary["hdfs"]} == {"save", "load"}
    assert {"hdfs-namenode.log", "hdfs-datanode-0.log", "hdfs-datanode-1.log"} <= {path.name for path in (out / "logs").rglob("*.log")}
    assert left(fleet) == {name: [] for name in fleet.machines}


@pytest.mark.long
def test_a_suite_over_ssh_leaves_its_event_logs_here(fleet: Fleet, tmp_path: Path) -> None:
    """Spark's own folder is brought there; the driver is on a third machine."""
    done = run(fleet, written(tmp_path, SUITE))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    out = tmp_path / "out"
    summary = json.loads((out / "summary.json").read_text())
    assert summary["status"] == "complete"
    assert {path.name for path in (out / "logs").rglob("*.log")} >= {
        "spark-master.log",
        "spark-worker-0.log",
        "spark-worker-1.log",
        "batch-driver-1.log",
    }
    # Stages and tasks are known from it.
    assert list((out / "logs/spark-events").iterdir())
    assert summary["spark"]
    assert left(fleet) == {name: [] for name in fleet.machines}


@pytest.mark.long
def test_a_dataflow_over_ssh_accounts_for_every_record(fleet: Fleet, tmp_path: Path) -> None:
    """Its driver is on a third machine, its executors on two, its checkpoints in HDFS, where both reach them."""
    flow = {
        "systems": {
            "kafka": {"hosts": ["a"], "heap": "256 MiB", "jvm": ["-XX:TieredStopAtLevel=1"]},
            "hdfs": {"namenode": "a", "datanodes": ["a"], "heap": "128 MiB", "datanode_heap": "128 MiB", "replication": 1},
            "spark": {"master": "a", "workers": ["a", "b"], "cores": 1, "memory": "512 MiB"},
        },
        "workloads": {
            "logs": {"kind": "kafka-produce", "on": "j", "partitions": 2, "record_size": "200 B", "levels": {"info": 9, "error": 1}},
            "pipeline": {"kind": "dataflow", "on": "j", "reads": "logs", "partitions": 1, "sinks": ["kafka", "hdfs"]},
        },
        "tests": [{"levels": {"workload": "pipeline", "rates": [200], "duration": "10 s"}}],
    }
    done = run(fleet, written(tmp_path, {**KAFKA, **flow}))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["status"] == "complete"
    assert {row["lost"] for row in summary["dataflow"]} == {0}
    assert left(fleet) == {name: [] for name in fleet.machines}


@pytest.mark.long
@pytest.mark.parametrize("workload", [
    {"kind": "kafka-produce", "on": "j", "replication": 1, "record_size": "100 B", "client": "stock"},
    {"kind": "cassandra", "on": "j", "mix": {"write": 1}, "keys": "uniform(0, 1K)", "client": "stock"},
], ids=["producer", "stress"])  # fmt: skip
def test_a_systems_own_tool_runs_on_a_machine_of_its_own(fleet: Fleet, tmp_path: Path, workload: dict[str, Any]) -> None:
    systems: dict[str, Any] = {
        "kafka-produce": {"kafka": {"hosts": ["a"], "heap": "256 MiB", "jvm": ["-XX:TieredStopAtLevel=1"]}},
        "cassandra": {"cassandra": {"hosts": ["a"], "heap": "512 MiB", "jvm": ["-XX:TieredStopAtLevel=1"]}},
    }
    tool = {"systems": systems[workload["kind"]], "workloads": {"theirs": workload},
            "tests": [{"levels": {"workload": "theirs", "rates": [500]}}]}  # fmt: skip
    done = run(fleet, written(tmp_path, {**KAFKA, **tool}))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    (trial,) = [
        one
        for file in (tmp_path / "out/trials").glob("*/trial.json")
        if (one := json.loads(file.read_text()))["loads"][0]["client"] == "stock"
    ]
    assert trial["status"] == "done"
    assert trial["loads"][0]["stock"]["rate_per_s"] > 0
    assert list((tmp_path / "out/trials").glob("*/*/*theirs*.out"))
    assert left(fleet) == {name: [] for name in fleet.machines}


def test_a_fleet_is_examined_before_a_run(fleet: Fleet, tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(yaml.safe_dump({"hosts": HOSTS}))
    done = fleet.run([str(HYDROTEST), "doctor", "--hosts", str(file), "--json"])
    findings = json.loads(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [one for one in findings if one["state"] == "missing"] == []
    assert {one["name"] for one in findings} >= {"a, login", "a, priority", "b, Java", "j, clock", "network"}
    # A host whose address is another's is not reached there.
    file.write_text(yaml.safe_dump({"hosts": {**HOSTS, "b": {**HOSTS["b"], "address": "10.214.3.99"}}}))
    done = fleet.run([str(HYDROTEST), "doctor", "--hosts", str(file), "--json"])
    assert done.returncode == 2
    assert [one["name"] for one in json.loads(done.stdout) if one["state"] == "missing"] == ["b, address"]
    assert left(fleet) == {name: [] for name in fleet.machines}


KUBECTL = """#!/bin/sh
# `kubectl exec -i POD -- COMMAND`, as far as hydrotest needs it: in the pod's namespaces, as its user.
[ "$1 $2 $4" = "exec -i --" ] || exit 64
pod=$3; shift 4
exec 3<&0
nsenter --target "$(cat "{folder}/$pod.pid")" --mount --uts --ipc --net --pid --root --wd \
  setpriv --reuid 12001 --regid 12001 --clear-groups env HOME=/home/alice HYDROTEST_CLOCK_AHEAD_S="$(cat "{folder}/$pod.ahead")" "$@" <&3 &
# It may end as if all were well, while what it carried goes on there (kubernetes#73056).
while kill -0 $! 2>/dev/null; do [ -e "{folder}/$pod.ends" ] && exit 0; sleep 0.1; done
wait $!
"""


def pods(fleet: Fleet, folder: Path, ahead_s: Mapping[str, float] = MappingProxyType({})) -> dict[str, dict[str, object]]:
    """The hosts by a stand-in for `kubectl exec -i`; the pods are the machines. Some of their clocks may be ahead."""
    kubectl = folder / "kubectl"
    kubectl.write_text(KUBECTL.replace("{folder}", str(folder)))
    kubectl.chmod(0o755)
    hosts: dict[str, dict[str, object]] = {}
    for name, host in HOSTS.items():
        pod = host["to"]
        (folder / f"{pod}.pid").write_text(str(fleet.machines[pod].sshd))
        (folder / f"{pod}.ahead").write_text(str(ahead_s.get(pod, 0.0)))
        hosts[name] = {"connect": "command", "command": [str(kubectl), "exec", "-i", pod, "--"], "address": host["address"]}
    return hosts


@pytest.mark.long
def test_a_run_by_a_command_is_as_one_by_ssh(fleet: Fleet, tmp_path: Path) -> None:
    hosts = pods(fleet, tmp_path)
    before = sum(machine.logins() for machine in fleet.machines.values())
    done = run(fleet, written(tmp_path, {**KAFKA, "hosts": hosts}))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert (summary["status"], [one["lost"] for one in summary["integrity"]]) == ("complete", [0])
    assert sum(machine.logins() for machine in fleet.machines.values()) == before
    assert left(fleet) == {name: [] for name in fleet.machines}


@pytest.mark.long
def test_latencies_between_hosts_know_how_their_clocks_differ(fleet: Fleet, tmp_path: Path) -> None:
    """The producer's clock is a quarter of a second ahead, the consumer's five seconds behind."""
    hosts = pods(fleet, tmp_path, {"alpha": 0.25, "jump": -5.0})
    done = run(fleet, written(tmp_path, {**FOLLOWED, "hosts": hosts}))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    (trial,) = [json.loads(file.read_text()) for file in (tmp_path / "out/trials").glob("*soak*/trial.json")]
    (load,) = [load for load in trial["loads"] if load["workload"] == "drain"]
    # The machines share a kernel, and so a clock: they are that far from each other only by what the test adds.
    assert 0 < load["clock_error_s"] < 0.02
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    (drain,) = [row for row in summary["soak"][0]["workloads"] if row["workload"] == "drain"]
    assert 0 < drain["latency_ms"]["p50"] < 100
    # Their samples lie in the window, too.
    assert {row["host"] for row in summary["usage"]} == set(HOSTS)


@pytest.mark.long
def test_a_clock_that_is_set_in_mid_trial_decides_nothing(fleet: Fleet, tmp_path: Path) -> None:
    """By five seconds, on the producer's machine: what lies between it and the consumer's is not known then."""
    hosts = pods(fleet, tmp_path)
    (tmp_path / "alpha.ahead").write_text("@/tmp/ahead")
    ahead = fleet.machines["alpha"].root / "tmp/ahead"
    ahead.write_text("0")
    process = started(fleet, written(tmp_path, {**FOLLOWED, "hosts": hosts}), "starting kafka")
    try:
        until_here(lambda: list((tmp_path / "out/trials").glob("*soak*/load/*")), SOON, "the run", "press")
        ahead.write_text("5")
        assert process.wait(SOON.seconds) in (0, 1)
    finally:
        process.kill()
        process.wait()
        ahead.unlink()
    (trial,) = [json.loads(one.read_text()) for one in (tmp_path / "out/trials").glob("*soak*/trial.json")]
    assert trial["status"] == "done"
    (load,) = [load for load in trial["loads"] if load["workload"] == "drain"]
    assert 4.9 < load["clock_error_s"] < 5.1
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    (drain,) = [row for row in summary["soak"][0]["workloads"] if row["workload"] == "drain"]
    assert drain["accepted"] is None
    assert {one["lost"] for one in summary["integrity"]} == {0}


@pytest.mark.long
def test_the_machines_of_a_cluster_that_is_there_are_only_looked_at(fleet: Fleet, tmp_path: Path) -> None:
    """Brokers that another hydrotest holds on alpha and beta; the generator is on jump."""
    (tmp_path / "there").mkdir()
    holding = written(tmp_path / "there", KAFKA)
    log = tmp_path / "held"
    with log.open("wb") as said:
        held = subprocess.Popen(
            fleet.wrap([str(HYDROTEST), "up", str(holding), "--json"]), stdout=said, stderr=subprocess.DEVNULL, start_new_session=True
        )
    try:
        until_here(lambda: log.read_text().rstrip().endswith("}"), SOON, "hydrotest up", "hold the brokers")
        addresses = json.loads(log.read_text())["kafka"]
        before = {name: set(machine.pids()) for name, machine in fleet.machines.items()}
        there = {
            "attach": addresses,
            "hosts": ["a", "b"],
            "most": {"rate": "3K", "bytes": "3 MB/s", "disk": "200 MB"},
            "guard": {"baseline": "5 s", "free": 0.01},
        }
        file = written(
            tmp_path,
            {**KAFKA, "systems": {"kafka": there}, "tests": [{"levels": {"workload": "ingest", "rates": [500], "duration": "5 s"}}]},
        )
        checked = fleet.run([str(HYDROTEST), "check", str(file), "--contact", "--json"])
        assert checked.returncode == 0, checked.stderr
        done = run(fleet, file, "--yes", json.loads(checked.stdout)["hash"])
        assert done.returncode in (0, 1), done.stdout + done.stderr
        summary = json.loads((tmp_path / "out/summary.json").read_text())
        assert summary["status"] == "complete"
        assert [one["lost"] for one in summary["integrity"]] == [0]
        assert {row["host"] for row in summary["usage"]} == set(HOSTS)
        hosts = {host["name"]: host["ceilings"] for host in summary["hosts"]}
        # Nothing was tried on them.
        assert "disk_write_bytes_per_s" not in hosts["a"]
        assert "disk_write_bytes_per_s" in hosts["j"]
        assert {name: set(machine.pids()) >= before[name] for name, machine in fleet.machines.items()} == dict.fromkeys(
            fleet.machines, True
        )
    finally:
        held.send_signal(signal.SIGINT)
        held.wait(120)
    assert left(fleet) == {name: [] for name in fleet.machines}


@contextlib.contextmanager
def may_become_root(machine: Machine, allowed: str) -> Iterator[None]:
    """Alice may run that as root there, without a password."""
    rules = "/etc/sudoers.d/hydrotest"
    machine.inside("sh", "-c", f"umask 0337; echo 'alice ALL=(root) NOPASSWD: {allowed}' > {rules}")
    try:
        yield
    finally:
        machine.inside("rm", rules)


@pytest.mark.long
def test_generators_go_first_where_sudo_lets_them(fleet: Fleet, tmp_path: Path) -> None:
    """They are root's there; what loads nothing is not."""
    jump = fleet.machines["jump"]
    hosts = {**HOSTS, "j": {**HOSTS["j"], "sudo": "generators"}}
    with may_become_root(jump, "/home/alice/.cache/hydrotest/nodes/*"):
        process = started(
            fleet, written(tmp_path, {**KAFKA, "hosts": hosts, "search": {"window": "8 s", "warm_up": "1 s"}}), "level ingest at"
        )
        (generator,) = until_here(lambda: running(jump, "produce"), SOON, "the generator", "run")
        assert os.stat(f"/proc/{generator}").st_uid == 0
        until_here(lambda: os.SCHED_RR in schedulers(generator), SOON, "the generator", "be granted real-time scheduling")
        assert {os.stat(f"/proc/{pid}").st_uid for pid in running(jump, "sample")} == {UID}
        assert process.wait(SOON.seconds) in (0, 1), (tmp_path / "said").read_text()
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert (summary["status"], [one["lost"] for one in summary["integrity"]]) == ("complete", [0])
    assert left(fleet) == {name: [] for name in fleet.machines}


@pytest.mark.long
def test_cores_of_a_machine_are_taken_and_given_back(fleet: Fleet, tmp_path: Path) -> None:
    """What binds is proven there, too. Here the machines share their cores: all but the generators go slower.

    The broker compresses anew what it gets, a connection on a thread, so that its cores bind, and are near enough to their ceiling to be
    squeezed.
    """
    squeezed = {
        "hosts": {**HOSTS, "a": {**HOSTS["a"], "sudo": "all", "squeeze": "allow"}},
        "systems": {"kafka": {**KAFKA["systems"]["kafka"], "hosts": ["a"], "config": {"compression.type": "gzip"}}},
        "workloads": {"ingest": {"kind": "kafka-produce", "on": "j", "record_size": "100 B", "partitions": 8, "threads": 4}},
        "tests": [{"isolated": {"workloads": ["ingest"], "squeeze": "60 s"}}],
        "search": {"window": "3 s", "warm_up": "1 s", "trials": 8},
    }
    with may_become_root(fleet.machines["alpha"], "/home/alice/.cache/hydrotest/nodes/*"):
        done = run(fleet, written(tmp_path, {**KAFKA, **squeezed}))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["status"] == "complete"
    turns = [json.loads(file.read_text()) for file in (tmp_path / "out/trials").glob("*squeeze*/trial.json")]
    assert {turn["status"] for turn in turns} == {"done"}
    assert not running(fleet.machines["alpha"], "cpu-hog")
    assert left(fleet) == {name: [] for name in fleet.machines}


def started(fleet: Fleet, file: Path, until: str) -> subprocess.Popen[bytes]:
    """A run in the background that has come as far as this line of its output."""
    log = file.parent / "said"
    with log.open("wb") as said:
        process = subprocess.Popen(fleet.wrap([str(HYDROTEST), "run", str(file), "--out", str(file.parent / "out")]),
                                   stdout=said, stderr=said, start_new_session=True)  # fmt: skip

    def is_there() -> bool:
        assert process.poll() is None, log.read_text()
        return until in log.read_text()

    until_here(is_there, SOON, "the run", f"say {until!r}")
    return process


def running(machine: Machine, subcommand: str) -> list[int]:
    """The nodes there that do this."""
    found = []
    for pid in machine.pids():
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            # Not sudo, which has it on its command line, too.
            if subcommand.encode() in words and not words[0].endswith(b"sudo"):
                found.append(pid)
    return found


def schedulers(pid: int) -> set[int]:
    """Of its threads."""
    return {os.sched_getscheduler(int(entry.name)) for entry in Path(f"/proc/{pid}/task").iterdir()}


def ssh_of(process: subprocess.Popen[bytes], to: str) -> int:
    """The client by which a run reaches one of its hosts."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        words = entry.read_bytes().split(b"\0")
        is_ours = os.getsid(int(entry.parent.name)) != 0 and b"ssh" in words[0] and to.encode() in words and b"-W" not in words
        if is_ours and entry.parent.joinpath("status").read_text().find(f"PPid:\t{process.pid}\n") >= 0:
            return int(entry.parent.name)
    raise AssertionError(f"no ssh to {to}")


def cut_off(fleet: Fleet, process: subprocess.Popen[bytes], death: str, ends: Path = Path()) -> None:
    """Ends what a run does on alpha: its controller is killed, its ssh, the session there; the command that carries it ends with code 0, by
    a file in `ends`; or the network falls silent."""
    if death == "controller":
        process.kill()
    elif death == "ssh":
        os.kill(ssh_of(process, "alpha"), signal.SIGKILL)
    elif death == "command":
        (ends / "alpha.ends").touch()
    elif death == "session":
        os.kill(max(fleet.machines["alpha"].sessions()), signal.SIGKILL)
    else:
        fleet.cut("alpha")


def journalled(out: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]


@pytest.mark.long
@pytest.mark.parametrize("death", ["controller", "ssh", "session", "silence", "command"])
def test_nothing_outlives_the_connection(fleet: Fleet, tmp_path: Path, death: str) -> None:
    """The controller is killed, its ssh, the session there; `kubectl exec` ends; or the network falls silent and tells nobody."""
    reached = pods(fleet, tmp_path) if death == "command" else HOSTS
    hosts = {name: {**host, "lease": "5 s"} for name, host in reached.items()}
    tests = [{"levels": {"workload": "ingest", "rates": [500]}}]
    # One broker: of two, the last one waits in vain for a quorum, and is killed when its grace is over.
    alone = {
        "systems": {"kafka": {**KAFKA["systems"]["kafka"], "hosts": ["a"]}},
        "workloads": {"ingest": {"kind": "kafka-produce", "on": "b"}},
    }
    whole = {**KAFKA, **alone, "hosts": hosts, "tests": tests, "search": {"window": "60 s", "warm_up": "1 s"}}
    process = started(fleet, written(tmp_path, whole), "level ingest at")
    alpha = fleet.machines["alpha"]
    assert alpha.pids()
    clean = alpha.root / "home/alice/.cache/hydrotest/data"
    try:
        cut_off(fleet, process, death, tmp_path)
        assert settled(lambda: not alpha.pids(), 40.0) < 40.0
        # Ended in good order, not killed.
        assert list(clean.glob("hydrotest-run-*/*/kafka-0/data/.kafka_cleanshutdown"))
    finally:
        fleet.cut("alpha", is_up=True)
        if death != "controller":
            assert process.wait(120) == 3
        (tmp_path / "alpha.ends").unlink(missing_ok=True)
    if death != "controller":
        assert [line for line in journalled(tmp_path / "out") if line["what"] == "connection lost" and line["host"] == "a"]
        assert not [line for line in journalled(tmp_path / "out") if line["what"] == "service died"]
    until_here(lambda: not any(machine.pids() for machine in fleet.machines.values()), SOON, "the machines", "be empty")
    assert fleet.run([str(HYDROTEST), "down", str(tmp_path / "experiment.yaml")]).returncode == 0
    assert left(fleet) == {name: [] for name in fleet.machines}


@pytest.mark.long
def test_a_lost_host_of_generators_costs_its_trial_only(fleet: Fleet, tmp_path: Path) -> None:
    """Its ssh is killed while it applies load; it is reached again, and the trial repeated."""
    process = started(fleet, written(tmp_path, {**KAFKA, "search": {"window": "8 s", "warm_up": "1 s"}}), "level ingest at")
    os.kill(ssh_of(process, "jump"), signal.SIGKILL)
    assert process.wait(240) in (0, 1), (tmp_path / "said").read_text()
    assert [line["host"] for line in journalled(tmp_path / "out") if line["what"] == "connection lost"] == ["j"]
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["status"] == "complete"
    assert [one["lost"] for one in summary["integrity"]] == [0]
    statuses = [json.loads(file.read_text())["status"] for file in sorted((tmp_path / "out/trials").glob("*/trial.json"))]
    assert statuses.count("failed") == 1
    assert statuses[-1] == "done"
    assert left(fleet) == {name: [] for name in fleet.machines}


REFUSED = {
    "name": ({"to": "nowhere.invalid"}, "its name does not resolve"),
    "nobody": ({"to": "alice@10.214.1.99"}, "nobody answers there"),
    "unknown key": ({"to": "stranger"}, "its key is not known"),
    "changed key": ({"host_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJIqJkJ9s2rFqB8nS1wKb0m5wY1xY1xY1xY1xY1xY1xY"}, "another key"),
    "not let in": ({"to": "bob@alpha"}, "it does not let you in"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_host_that_cannot_be_reached_is_named_with_cause_and_remedy(fleet: Fleet, tmp_path: Path, why: str) -> None:
    """And nothing is started on the others."""
    changed, cause = REFUSED[why]
    hosts = {**HOSTS, "a": {**HOSTS["a"], **changed}}
    begun = time.monotonic()
    done = run(fleet, written(tmp_path, {**KAFKA, "hosts": hosts}))
    assert time.monotonic() - begun < 30
    assert done.returncode == 2, done.stdout + done.stderr
    said = " ".join(done.stderr.split())
    assert cause in said
    assert "a: " in said
    assert "Traceback" not in said
    assert left(fleet) == {name: [] for name in fleet.machines}


CACHE = "/home/alice/.cache"
UNFIT = {
    "not executable": (("mount", "-t", "tmpfs", "-o", "noexec,mode=777", "tmpfs", CACHE), "hydrotest-node does not run there"),
    "full": (("mount", "-t", "tmpfs", "-o", "size=1m,mode=777", "tmpfs", CACHE), "the disk of your home there is full"),
}


@pytest.mark.parametrize("why", UNFIT)
def test_a_home_that_cannot_have_the_binary_is_named_with_cause_and_remedy(fleet: Fleet, tmp_path: Path, why: str) -> None:
    mounted, cause = UNFIT[why]
    alpha = fleet.machines["alpha"]
    alpha.inside("mkdir", "-p", CACHE)
    alpha.inside(*mounted)
    try:
        done = run(fleet, written(tmp_path, KAFKA))
        said = " ".join(done.stderr.split())
        assert done.returncode == 2, said
        assert cause in said
        assert "a: " in said
    finally:
        alpha.inside("umount", "-l", CACHE)
    assert left(fleet) == {name: [] for name in fleet.machines}


def test_a_sudo_that_refuses_is_named_before_anything_is_started(fleet: Fleet, tmp_path: Path) -> None:
    hosts = {**HOSTS, "j": {**HOSTS["j"], "sudo": "generators"}}
    done = run(fleet, written(tmp_path, {**KAFKA, "hosts": hosts}))
    said = " ".join(done.stderr.split())
    assert done.returncode == 2, said
    assert "j: sudo does not let you run hydrotest-node there" in said
    assert left(fleet) == {name: [] for name in fleet.machines}


def test_hosts_that_do_not_reach_each_other_are_named_before_anything_is_started(fleet: Fleet, tmp_path: Path) -> None:
    """As behind a firewall that lets ssh pass, and nothing else."""
    alpha = fleet.machines["alpha"]
    alpha.inside("ip", "route", "add", "unreachable", fleet.machines["beta"].data_address)
    try:
        done = run(fleet, written(tmp_path, KAFKA))
        said = " ".join(done.stderr.split())
        assert done.returncode == 2, said
        assert "a does not reach b" in said
        assert "Let TCP to the ports 15000 to 15999 of 10.214.3.4 pass" in said
    finally:
        alpha.inside("ip", "route", "del", "unreachable", fleet.machines["beta"].data_address)
    assert left(fleet) == {name: [] for name in fleet.machines}


def test_a_host_without_java_is_named_before_anything_is_started(fleet: Fleet, tmp_path: Path) -> None:
    hosts = {**HOSTS, "b": {**HOSTS["b"], "java_home": "/opt/nowhere"}}
    done = run(fleet, written(tmp_path, {**KAFKA, "hosts": hosts}))
    said = " ".join(done.stderr.split())
    assert done.returncode == 2, said
    assert "b: /opt/nowhere there has no bin/java" in said
    assert left(fleet) == {name: [] for name in fleet.machines}


def test_a_login_that_chatters_does_no_harm(fleet: Fleet, tmp_path: Path) -> None:
    """What a shell prints before our first byte is passed over."""
    alpha = fleet.machines["alpha"]
    alpha.inside("sh", "-c", "printf 'echo hello\\necho world >&2\\n' > /home/alice/.ssh/rc")
    try:
        fleet_file = tmp_path / "fleet.yaml"
        fleet_file.write_text(yaml.safe_dump({"hosts": {"a": HOSTS["a"]}}))
        done = fleet.run([str(HYDROTEST), "doctor", "--hosts", str(fleet_file), "--json"])
        findings = {one["name"]: one["state"] for one in json.loads(done.stdout)}
        assert findings["a, login"] == "ok"
    finally:
        alpha.inside("rm", "/home/alice/.ssh/rc")
