"""Emulated hosts, as far as they need neither root nor a kernel: what is written where, and what is refused."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hydrotest.cli.entry import main
from hydrotest.errors import BadInputError, SystemFailedError
from hydrotest.hosts.catalogue import check_rights
from hydrotest.hosts.lab.groups import Group, Trees, left_of
from hydrotest.hosts.lab.network import Network, address_of, burst_bytes
from hydrotest.hosts.lab.processors import divided
from hydrotest.run.lifecycle.survey import wanted
from hydrotest.spec.check import check_memory, memory_needed
from hydrotest.spec.hosts import NetnsHost
from hydrotest.spec.load import load_experiment

VERSION_1 = """\
cgroup {root}/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0
cgroup {root}/memory cgroup rw,memory 0 0
cgroup {root}/blkio cgroup rw,blkio 0 0
cgroup2 {root}/unified cgroup2 rw 0 0
"""
VERSION_2 = "cgroup2 {root} cgroup2 rw,nsdelegate 0 0\n"


def trees(tmp_path: Path, mounts: str) -> Trees:
    """A made-up machine."""
    for line in mounts.format(root=tmp_path).splitlines():
        Path(line.split()[1]).mkdir(exist_ok=True)
    table = tmp_path / "mounts"
    table.write_text(mounts.format(root=tmp_path))
    return Trees.find(table)


def test_a_group_of_version_1_has_a_directory_in_each_tree(tmp_path: Path) -> None:
    group = Group("hydrotest-run-1-0", trees(tmp_path, VERSION_1))
    group.make()
    group.limit_cores(0.5)
    group.limit_memory(1 << 30)
    assert [path.parent.name for path in group.directories] == ["cpu,cpuacct", "memory", "unified"]
    assert (tmp_path / "cpu,cpuacct/hydrotest-run-1-0/cpu.cfs_quota_us").read_text() == "50000"
    assert (tmp_path / "memory/hydrotest-run-1-0/memory.limit_in_bytes").read_text() == str(1 << 30)
    assert not (tmp_path / "blkio/hydrotest-run-1-0").exists()


def test_a_host_without_a_quota_stays_out_of_the_tree_that_refuses_real_time(tmp_path: Path) -> None:
    apart = VERSION_1.replace("cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct", "cpu cgroup rw,cpu")
    group = Group("hydrotest-run-1-0", trees(tmp_path, apart + "cgroup {root}/cpuacct cgroup rw,cpuacct 0 0\n"), has_quota=False)
    group.make()
    group.limit_cores(None)
    assert [path.parent.name for path in group.directories] == ["cpuacct", "memory", "unified"]


def test_a_group_of_version_2_has_one_directory(tmp_path: Path) -> None:
    found = trees(tmp_path, VERSION_2)
    assert found.is_unified
    group = Group("hydrotest-run-1-0", found)
    group.make()
    swap = group.at("memory") / "memory.swap.max"
    swap.write_text("max")
    group.limit_cores(1.5)
    group.limit_memory(1 << 30)
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu +memory +io"
    assert (group.at("cpu") / "cpu.max").read_text() == "150000 100000"
    assert (group.at("memory") / "memory.max").read_text() == str(1 << 30)
    assert swap.read_text() == "0"


def test_what_a_killed_run_left_is_found_by_its_name(tmp_path: Path) -> None:
    found = trees(tmp_path, VERSION_1)
    for name in ("hydrotest-run-1-0", "hydrotest-run-1-1", "hydrotest-run-2-0", "system.slice"):
        Group(name, found).make()
    assert [group.name for group in left_of("hydrotest-run-1-", found)] == ["hydrotest-run-1-0", "hydrotest-run-1-1"]


def test_an_empty_group_is_removed(tmp_path: Path) -> None:
    group = Group("hydrotest-run-1-0", trees(tmp_path, VERSION_1))
    group.make()
    group.remove()
    assert not any(path.exists() for path in group.directories)
    group.remove()


def test_a_machine_without_control_groups_is_named(tmp_path: Path) -> None:
    table = tmp_path / "mounts"
    table.write_text("proc /proc proc rw 0 0\n")
    with pytest.raises(SystemFailedError, match="no control groups for cpu"):
        Trees.find(table)


def test_devices_have_names_that_a_kernel_takes() -> None:
    network = Network("hydrotest-run-0123abcd")
    assert len({network.bridge, *(network.outer(index) for index in range(254))}) == 255
    assert max(len(network.outer(index)) for index in range(254)) <= 15
    assert (address_of(0), address_of(253)) == ("10.213.0.1", "10.213.0.254")
    assert burst_bytes(100e6) < burst_bytes(200e6)


HEAD = "name: lab\n"
TAIL = """
systems: {kafka: {hosts: [a], heap: 256 MiB}}
workloads: {press: {kind: kafka-produce}}
tests: [levels: {workload: press, rates: [20K]}]
"""


@pytest.mark.parametrize(
    ("hosts", "wanted"),
    [
        ("hosts: {a: {connect: netns}, b: {connect: local}}", r"b is this machine itself"),
        ("hosts: {a: {connect: netns, memory: 512 MiB}}", r"a needs .* and is given 537 MB"),
        ("hosts: {a: {connect: netns, cores: 0}}", r"greater than 0"),
        ("hosts: {a: {connect: netns, network: 10 MB}}", r"not a link speed"),
        ("hosts: {a: {connect: netns, address: 127.0.0.2}}", r"address"),
        ("hosts: {a: {connect: carrier-pigeon}}", r"netns"),
    ],
)
def test_hosts_that_cannot_be_are_refused(tmp_path: Path, hosts: str, wanted: str) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(HEAD + hosts + TAIL)
    with pytest.raises(BadInputError, match=wanted) as caught:
        check_memory(*load_experiment(file), {"a": 24 << 30})
    assert caught.value.line is not None


@pytest.mark.parametrize("command", ["run", "up"])
def test_without_root_nothing_is_begun(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(HEAD + "hosts: {a: {connect: netns}}" + TAIL)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.chdir(tmp_path)
    assert main([command, str(file)]) == 2
    assert "a: emulated hosts need root" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["lab.yaml"]


@pytest.mark.parametrize(("squeeze", "is_refused"), [("allow", True), ("try", False)])
def test_without_root_a_squeeze_is_refused_or_left_out(
    squeeze: str, is_refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "squeezed.yaml"
    tests = TAIL.replace("levels: {workload: press, rates: [20K]}", "isolated: {workloads: [press], squeeze: 1 min}")
    assert tests != TAIL
    file.write_text(HEAD + f"hosts: {{a: {{connect: local, squeeze: {squeeze}}}}}" + tests)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    experiment, _ = load_experiment(file)
    with pytest.raises(BadInputError) if is_refused else nullcontext():
        check_rights(experiment)


def test_hosts_are_made_after_their_type(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    lab = """
lab:
  types: {Small: {cores: 4, memory: 32 GB, disk: 500 MB/s, network: 2 Gbit/s}}
  scale: {cores: 10 %, memory: 1 %, disk: 50 %, network: 5 %}
hosts:
  a: {connect: netns, type: Small}
  b: {connect: netns, type: Small, cores: 1, memory: 4 GB}
"""
    file.write_text(HEAD + lab + TAIL)
    experiment, document = load_experiment(file)
    a, b = experiment.hosts["a"], experiment.hosts["b"]
    assert isinstance(a, NetnsHost)
    assert isinstance(b, NetnsHost)
    assert a.cores == pytest.approx(0.4)
    assert (a.disk, a.network) == (2e9, 100e6)
    # A hundredth of its memory would not hold the broker.
    assert a.memory == memory_needed(experiment)["a"]
    assert (b.cores, b.memory) == (1, 4_000_000_000)
    check_memory(experiment, document, {"a": 24 << 30, "b": 24 << 30})


def test_a_type_that_is_not_there_is_named(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    lab = (
        "lab: {types: {Small: {cores: 4, memory: 32 GB, network: 2 Gbit/s}}, scale: {cores: 10 %, memory: 1 %, disk: 50 %, network: 5 %}}\n"
    )
    file.write_text(HEAD + lab + "hosts: {a: {connect: netns, type: Smal}}" + TAIL)
    with pytest.raises(BadInputError, match="Smal"):
        load_experiment(file)


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [
        ("host: a, service: kafka-0, action: pause", "a service, a host or a system"),
        ("action: pause", "a service, a host or a system"),
        ("host: b, action: cut", "'b'"),
        ("host: a, action: kill", "`kill` is not for a host"),
        ("service: kafka-0, action: cut", "`cut` is not for a service"),
        ("host: a, action: slow", "no speed that could be a tenth"),
    ],
)
def test_faults_that_cannot_be_are_refused(tmp_path: Path, fault: str, wanted: str) -> None:
    file = tmp_path / "lab.yaml"
    tail = TAIL.replace("levels: {workload: press, rates: [20K]}", f"fault: {{workloads: [press], rates: {{press: 1K}}, {fault}}}")
    file.write_text(HEAD + "hosts: {a: {connect: netns}}" + tail)
    with pytest.raises(BadInputError, match=wanted):
        load_experiment(file)


def with_cpuset(tmp_path: Path) -> Trees:
    found = trees(tmp_path, VERSION_1 + "cgroup {root}/cpuset cgroup rw,cpuset 0 0\n")
    (tmp_path / "cpuset/cpuset.effective_cpus").write_text("0-3,8\n")
    (tmp_path / "cpuset/cpuset.mems").write_text("0\n")
    return found


def whole(cores: str | float | None) -> NetnsHost:
    return NetnsHost.model_validate({"connect": "netns", "cores": cores})


def test_whole_cores_belong_to_one_host_alone(tmp_path: Path) -> None:
    found = divided(
        {"a": whole("whole"), "b": whole("2 whole"), "c": whole(0.5), "d": whole(None)}, with_cpuset(tmp_path), "hydrotest-run-1"
    )
    assert found is not None
    assert [list(found.of(name)) for name in "abcd"] == [[8], [2, 3], [0, 1], [0, 1]]


def test_a_lab_without_whole_cores_chooses_no_processors(tmp_path: Path) -> None:
    assert divided({"c": whole(0.5)}, trees(tmp_path, VERSION_1), "hydrotest-run-1") is None


def test_whole_cores_that_leave_none_for_the_others_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemFailedError, match="none would be left"):
        divided({"a": whole("5 whole")}, with_cpuset(tmp_path), "hydrotest-run-1")


def test_a_group_with_processors_of_its_own_is_in_the_tree_that_chooses_them(tmp_path: Path) -> None:
    group = Group("hydrotest-run-1-0", with_cpuset(tmp_path), has_quota=False, has_cpus=True)
    group.make()
    group.choose_processors([2, 3])
    assert (tmp_path / "cpuset/hydrotest-run-1-0/cpuset.cpus").read_text() == "2,3"
    assert (tmp_path / "cpuset/hydrotest-run-1-0/cpuset.mems").read_text() == "0\n"
    assert tmp_path / "cpuset/hydrotest-run-1-0" in group.directories


@pytest.mark.parametrize(
    ("cores", "count", "quota"), [("whole", 1.0, None), ("3 whole", 3.0, None), (0.5, 0.5, 0.5), ("1.5", 1.5, 1.5), (None, None, None)]
)
def test_cores_are_whole_or_a_quota(cores: str | float | None, count: float | None, quota: float | None) -> None:
    host = whole(cores)
    assert (host.core_count, host.quota) == (count, quota)


def test_processors_that_another_lab_has_chosen_are_not_given_again(tmp_path: Path) -> None:
    found = with_cpuset(tmp_path)
    (tmp_path / "cpuset/hydrotest-run-2-0").mkdir()
    with pytest.raises(SystemFailedError, match="another lab has whole cores: hydrotest-run-2"):
        divided({"a": whole("whole")}, found, "hydrotest-run-1")


def test_groups_that_choose_processors_are_found_and_removed(tmp_path: Path) -> None:
    found = with_cpuset(tmp_path)
    (tmp_path / "cpuset/hydrotest-run-1-0").mkdir()
    (left,) = left_of("hydrotest-run-1-", found)
    assert tmp_path / "cpuset/hydrotest-run-1-0" in left.directories


def test_what_is_asked_of_a_host_with_whole_cores_is_a_number() -> None:
    host = cast("Any", SimpleNamespace(spec=whole("2 whole")))
    assert wanted(host, False) == {"cpu_cores": 2.0}
