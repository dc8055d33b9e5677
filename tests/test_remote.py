"""Machines of their own, as far as that needs none: the command, the shell line, what refusals mean, what the check refuses."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path, PurePath
from typing import Any, ClassVar

import pytest

from hydrotest.errors import BadInputError, MissingToolError
from hydrotest.hosts.channel import ConnectionLostError
from hydrotest.hosts.remote import bootstrap, ssh
from hydrotest.hosts.remote.facts import count_of, facts_of
from hydrotest.hosts.remote.host import RemoteHost
from hydrotest.hosts.remote.make import remote_hosts, sweep
from hydrotest.hosts.remote.ssh import Refusal, meaning_of
from hydrotest.places import node_binary
from hydrotest.spec.hosts import CommandHost, SshHost
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of


def by_command(tmp_path: Path, **more: Any) -> CommandHost:
    """This machine, as if it were another: with a home of its own."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    command = ["env", "-i", f"HOME={home}", "PATH=/usr/bin:/bin"]
    return CommandHost.model_validate({"connect": "command", "command": command, "address": "10.0.0.1", **more})


@pytest.mark.skipif(os.geteuid() != 0, reason="another root directory needs root")
def test_the_binary_needs_no_library(tmp_path: Path) -> None:
    """As on a host with another C library, or none: there is nothing but the binary."""
    shutil.copy2(node_binary(), tmp_path / "node")
    done = subprocess.run(["chroot", str(tmp_path), "/node", "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("hydrotest-node ")


async def test_a_host_is_opened_used_and_left_without_a_trace(tmp_path: Path) -> None:
    host = RemoteHost("there", by_command(tmp_path), "hydrotest-run-1a")
    await host.prepare()
    data = tmp_path / "home/.cache/hydrotest/data"
    assert host.data_directory == PurePath(data / "hydrotest-run-1a")
    await host.put(host.scratch("1a") / "kafka/x", b"1")
    facts = await host.facts()
    assert facts.cores >= 1
    assert facts.memory_bytes > 1 << 20
    assert 15_000 <= await host.free_port() <= 15_999
    clock = await host.node("clock", {})
    await clock.command("report")
    assert (await clock.expect("clock"))["wall_s"] > 0
    await clock.close()
    assert await host.leave() is None
    assert list(data.iterdir()) == []
    # The binary stays for the next time.
    assert len(list((tmp_path / "home/.cache/hydrotest/nodes").iterdir())) == 1


async def test_what_a_killed_run_left_goes_and_what_a_living_one_has_stays(tmp_path: Path) -> None:
    data = tmp_path / "data"
    spec = by_command(tmp_path, data=str(data))
    living = RemoteHost("there", spec, "hydrotest-run-1a")
    await living.prepare()
    (data / "hydrotest-run-2b").mkdir()
    (data / "hydrotest-run-2b/owner.lock").touch()
    (data / "of-mine").mkdir()
    assert await sweep({"there": spec}) == {"there": ["hydrotest-run-2b"]}
    assert {path.name for path in data.iterdir()} == {"hydrotest-run-1a", "of-mine"}
    assert await living.leave() is None
    assert {path.name for path in data.iterdir()} == {"of-mine"}


async def test_a_folder_is_copied_once_and_only_what_is_missing(tmp_path: Path) -> None:
    source = tmp_path / "kafka-1"
    (source / "libs").mkdir(parents=True)
    (source / "libs/a.jar").write_bytes(b"a" * 3_000_000)
    (source / "run.sh").write_text("#!/bin/sh\n")
    (source / "run.sh").chmod(0o755)
    spec = by_command(tmp_path)
    host = RemoteHost("there", spec, "hydrotest-run-1a")
    await host.prepare()
    there = Path(await host.copy_of(source))
    assert (there / "libs/a.jar").read_bytes() == (source / "libs/a.jar").read_bytes()
    assert (there / "run.sh").stat().st_mode & 0o111
    single = Path(await host.copy_of(source / "libs/a.jar"))
    assert single.read_bytes() == (source / "libs/a.jar").read_bytes()
    before = (there / "libs/a.jar").stat().st_mtime_ns
    await host.leave()
    again = RemoteHost("there", spec, "hydrotest-run-2b")
    await again.prepare()
    assert Path(await again.copy_of(source)) == there
    assert (there / "libs/a.jar").stat().st_mtime_ns == before
    # Other content is another folder: nothing that runs from the first one changes.
    (source / "libs/a.jar").write_bytes(b"b")
    newer = RemoteHost("there", spec, "hydrotest-run-3c")
    await newer.prepare()
    assert Path(await newer.copy_of(source)) != there
    await again.leave()
    await newer.leave()


async def test_a_damaged_binary_there_is_not_used(tmp_path: Path) -> None:
    spec = by_command(tmp_path)
    host = RemoteHost("there", spec, "hydrotest-run-1a")
    await host.prepare()
    await host.leave()
    (binary,) = (tmp_path / "home/.cache/hydrotest/nodes").iterdir()
    binary.write_bytes(b"#!/bin/sh\nexit 1\n")
    again = RemoteHost("there", spec, "hydrotest-run-2b")
    await again.prepare()
    await again.leave()
    assert binary.stat().st_size > 1 << 20


async def test_all_hosts_that_cannot_be_reached_are_named(tmp_path: Path) -> None:
    silent = CommandHost.model_validate(
        {"connect": "command", "command": ["sh", "-c", "echo 'No route to host' >&2; exit 255"], "address": "10.0.0.2"}
    )
    specs = {"one": silent, "two": by_command(tmp_path), "three": silent}
    with pytest.raises(BadInputError) as caught:
        await remote_hosts(specs, tmp_path / "hydrotest-run-1a")
    assert "one: nobody answers there" in caught.value.what
    assert "three: nobody answers there" in caught.value.what
    assert "two" not in caught.value.what
    assert list((tmp_path / "home/.cache/hydrotest/data").iterdir()) == []


async def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    spec = CommandHost.model_validate({"connect": "command", "command": ["kubektl", "exec"], "address": "10.0.0.2"})
    with pytest.raises(MissingToolError, match="kubektl"):
        await remote_hosts({"pod": spec}, tmp_path / "hydrotest-run-1a")


def test_a_machine_of_another_kind_needs_a_build_of_its_own() -> None:
    with pytest.raises(MissingToolError, match="vax"):
        bootstrap.binary_for("vax")


def test_the_shell_line_survives_another_shell() -> None:
    """It is quoted by single quotes for the login shell there, which may be of another kind."""
    assert "'" not in bootstrap.SCRIPT
    assert "\n" not in bootstrap.SCRIPT
    assert "!" not in bootstrap.SCRIPT
    for shell in ("sh", "bash", "dash"):
        if shutil.which(shell):
            subprocess.run([shell, "-n", "-c", bootstrap.SCRIPT], check=True)


def test_ssh_is_called_strictly_and_asks_nobody(tmp_path: Path) -> None:
    spec = SshHost.model_validate({"connect": "ssh", "to": "alice@b1", "address": "10.0.0.1"})
    argv = list(ssh.command(spec, None, "echo"))
    options = {argv[index + 1] for index, word in enumerate(argv) if word == "-o"}
    assert {"BatchMode=yes", "StrictHostKeyChecking=yes", "ControlMaster=no", "ForwardAgent=no", "ClearAllForwardings=yes"} <= options
    assert argv[-3:-1] == ["--", "alice@b1"]
    shared = list(ssh.command(spec.model_copy(update={"share": True}), None, "echo"))
    assert "ControlMaster=no" not in shared
    known = tmp_path / "known-host-a"
    pinned = list(ssh.command(spec, known, "echo"))
    assert f'UserKnownHostsFile="{known}"' in pinned
    assert "HostKeyAlias=known-host-a" in pinned


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ("ssh: Could not resolve hostname nowhere: Name or service not known", Refusal.UNKNOWN_NAME),
        ("ssh: connect to host b1 port 22: Connection refused", Refusal.NOBODY),
        ("ssh: connect to host b1 port 22: Connection timed out", Refusal.NOBODY),
        ("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.", Refusal.CHANGED_KEY),
        ("No ED25519 host key is known for b1 and you have requested strict checking.\nHost key verification failed.", Refusal.UNKNOWN_KEY),
        ("alice@b1: Permission denied (publickey).", Refusal.NOT_LET_IN),
        ("sh: 1: exec: /home/a/.cache/hydrotest/nodes/1: Permission denied", Refusal.NOT_EXECUTED),
        ("sh: line 1: /x: cannot execute binary file: Exec format error", Refusal.NOT_EXECUTED),
        ("head: error writing 'standard output': No space left on device", Refusal.FULL_DISK),
        ("sh: 1: sha256sum: not found", Refusal.NO_SHELL),
        ("/x: /lib/libc.so.6: version `GLIBC_2.38' not found (required by /x)", Refusal.TOO_OLD),
        ("something else", Refusal.OTHER),
    ],
)
def test_a_refusal_has_one_meaning(said: str, refusal: Refusal) -> None:
    assert meaning_of(said).refusal == refusal


def test_cores_are_counted_as_the_kernel_lists_them() -> None:
    assert [count_of(text) for text in ("0", "0-3", "0-1,4,6-7")] == [1, 4, 5]


class Pod:
    """Files of a pod: four cores of the machine's, a quota of one and a half, and 2 GiB."""

    texts: ClassVar[dict[str, str]] = {
        "/proc/meminfo": "MemTotal:       16777216 kB\n",
        "/proc/self/status": "Name:\thydrotest-node\nCpus_allowed_list:\t0-3\n",
        "/proc/self/cgroup": "0::/\n",
        "/proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
        "/sys/fs/cgroup/cgroup.procs": "1\n",
        "/sys/fs/cgroup/cpu.max": "150000 100000\n",
        "/sys/fs/cgroup/memory.max": f"{2 << 30}\n",
        "/proc/sys/kernel/osrelease": "6.1.0\n",
    }

    async def get(self, path: PurePath, start: int = 0) -> bytes:
        if str(path) not in self.texts:
            raise FileNotFoundError(path)
        return self.texts[str(path)].encode()[start:]


async def test_a_pod_has_what_its_limits_leave_it() -> None:
    files: Any = Pod()
    facts, limits = await facts_of(files, "x86_64")
    assert (facts.cores, facts.memory_bytes, facts.kernel, facts.cpu_model) == (2, 2 << 30, "6.1.0", "x86_64")
    assert limits.cores == 1.5


async def test_a_lost_host_says_why_whatever_is_asked(tmp_path: Path) -> None:
    host = RemoteHost("there", by_command(tmp_path), "hydrotest-run-1a")
    await host.prepare()
    hub = await host.hub()
    hub._transport.kill()
    assert "there" in await host.until_lost()
    with pytest.raises(ConnectionLostError, match="there"):
        await host.size(PurePath("/"))
    with pytest.raises(ConnectionLostError, match="there"):
        await host.node("clock", {})
    assert "stays" in (await host.leave() or "")


EXPERIMENT = """\
name: fleet
hosts:
  a: {connect: ssh, to: a.bench, address: ADDRESS}
  b: OTHER
systems:
  SYSTEM
workloads:
  ingest: WORKLOAD
tests:
  - levels: {workload: ingest, rates: [1K]}
"""
GOOD = {"ADDRESS": "10.0.0.1", "OTHER": "{connect: command, command: [env], address: 10.0.0.2}", "SYSTEM": "kafka: {hosts: [a]}",
        "WORKLOAD": "{kind: kafka-produce, on: b}"}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "line", "words"),
    [
        ({"OTHER": "{connect: local}"}, 4, "another machine"),
        ({"OTHER": "{connect: netns}"}, 3, "emulated network is closed"),
        ({"ADDRESS": "1.1.1.1"}, 3, "public network"),
        ({"WORKLOAD": "{kind: command, argv: [ls], on: b}"}, 9, "not yet carried out"),
    ],
)
def test_what_cannot_be_on_such_hosts_is_refused_before_anything_starts(changed: dict[str, str], line: int, words: str) -> None:
    def experiment(parts: dict[str, str]) -> Any:
        text = EXPERIMENT
        for name, part in parts.items():
            text = text.replace(name, part)
        return experiment_of(parse_document(text, Path("fleet.yaml")))

    experiment(GOOD)
    experiment({**GOOD, "WORKLOAD": "{kind: kafka-produce, client: stock}"})
    with pytest.raises(BadInputError) as caught:
        experiment({**GOOD, **changed})
    assert words in caught.value.what
    assert caught.value.line == line - (0 if line != 9 else 1)


FLOW = """\
name: fleet
hosts:
  a: {connect: ssh, to: a.bench, address: 10.0.0.1}
systems:
  kafka: {hosts: [a]}
  spark: {master: a, workers: [a]}
  hdfs: {namenode: a, datanodes: [a], replication: 1}
workloads:
  logs: {kind: kafka-produce, levels: {info: 1}}
  flow: {kind: dataflow, reads: logs, sinks: [kafka]}
tests:
  - levels: {workload: flow, rates: [1K]}
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("  hdfs: {namenode: a, datanodes: [a], replication: 1}\n", "", 9),
        ("sinks: [kafka]", "sinks: [kafka, directory]", 10),
        ("sinks: [kafka]", "sinks: [kafka], engine: kafka", 10),
    ],
)
def test_a_dataflow_on_such_hosts_keeps_its_checkpoints_where_all_reach_them(old: str, new: str, line: int) -> None:
    experiment_of(parse_document(FLOW, Path("fleet.yaml")))
    shared = FLOW.replace(old, new).replace("directory]", 'directory], directory: "file:///mnt/shared"') if "directory" in new else FLOW
    experiment_of(parse_document(shared, Path("fleet.yaml")))
    with pytest.raises(BadInputError) as caught:
        experiment_of(parse_document(FLOW.replace(old, new), Path("fleet.yaml")))
    assert caught.value.line == line
