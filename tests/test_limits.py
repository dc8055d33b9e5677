"""Cores and memory of the control groups that hydrotest itself lives in, on trees of both versions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from hydrotest.analysis.resources.rates import host_rates
from hydrotest.hosts.limits import Limits, usable_cores, usable_memory_bytes
from hydrotest.run.lifecycle.doctor import _cores, _memory
from hydrotest.store import layout
from hydrotest.store.sample_buffer import SampleBuffer
from hydrotest.store.samples import read_samples
from tests.synthetic import host_counters

GIB = 1 << 30
NONE_V1 = {"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000", "memory.limit_in_bytes": "9223372036854771712"}


def limits(tmp_path: Path, groups: str, mounts: str, files: Mapping[str, Mapping[str, str]], outermost: bool = False) -> Limits:
    """Of a process in these groups (/proc/self/cgroup) and mounts (root and mount point, kind, options), with these files in groups below the made-up root."""
    process = tmp_path / "process"
    process.mkdir()
    (process / "cgroup").write_text(groups)
    rows = [line.split() for line in mounts.splitlines()]
    (process / "mountinfo").write_text(
        "".join(f"31 23 0:28 {root} {at} rw,nosuid shared:9 - {kind} {kind} {options}\n" for root, at, kind, options in rows)
    )
    for group, contents in files.items():
        directory = tmp_path / "root" / group.replace("\\040", " ").lstrip("/")
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            (directory / name).write_text(text + "\n")
    return Limits.find(process, tmp_path / "root", outermost)


def v1(tmp_path: Path, **settings: str) -> Limits:
    """A container of version 1 that sees its own groups as the trees' tops."""
    groups = "4:memory:/docker/c1\n3:cpu,cpuacct:/docker/c1\n1:name=systemd:/docker/c1\n0::/\n"
    mounts = "/docker/c1 /cg/cpu,cpuacct cgroup rw,cpu,cpuacct\n/docker/c1 /cg/memory cgroup rw,memory\n/ /cg/unified cgroup2 rw"
    given = NONE_V1 | {name.replace("__", "."): value for name, value in settings.items()}
    cpu = {name: value for name, value in given.items() if name.startswith("cpu")}
    memory = {name: value for name, value in given.items() if name.startswith("memory")}
    return limits(tmp_path, groups, mounts, {"/cg/cpu,cpuacct": cpu, "/cg/memory": memory, "/cg/unified": {}})


def test_a_container_of_version_1(tmp_path: Path) -> None:
    found = v1(tmp_path, cpu__cfs_quota_us="80000", memory__limit_in_bytes=str(3 * GIB // 2))
    at = tmp_path / "root/cg"
    assert found == Limits(0.8, at / "cpu,cpuacct", at / "cpu,cpuacct", 3 * GIB // 2, at / "memory")
    assert (usable_cores(found), usable_memory_bytes(found)) == (0.8, 3 * GIB // 2)


def test_version_1_without_limits(tmp_path: Path) -> None:
    found = v1(tmp_path)
    assert found == Limits()
    assert found.wire() is None


def test_a_container_of_version_2(tmp_path: Path) -> None:
    files = {"/sys/fs/cgroup": {"cpu.max": "80000 100000", "memory.max": str(3 * GIB // 2)}}
    found = limits(tmp_path, "0::/\n", "/ /sys/fs/cgroup cgroup2 rw,nsdelegate", files)
    at = tmp_path / "root/sys/fs/cgroup"
    assert found == Limits(0.8, at, None, 3 * GIB // 2, at)
    assert found.wire() == {
        "cores": 0.8, "memory_bytes": 3 * GIB // 2, "cpu": str(at), "cpuacct": None, "memory": str(at), "unified": str(at)
    }  # fmt: skip


@pytest.mark.parametrize("outermost", [False, True])
def test_of_groups_above_each_other_the_smallest_limit_counts(tmp_path: Path, outermost: bool) -> None:
    files = {
        "/cg": {},
        "/cg/a.slice": {"cpu.max": "150000 100000", "memory.max": "max"},
        "/cg/a.slice/b.service": {"cpu.max": "25000 10000", "memory.max": str(4 * GIB)},
        "/cg/a.slice/b.service/c": {"cpu.max": "max 100000", "memory.max": str(8 * GIB)},
    }
    found = limits(tmp_path, "0::/a.slice/b.service/c\n", "/ /cg cgroup2 rw", files, outermost)
    at = tmp_path / "root/cg/a.slice"
    # What all that is seen from here is in, emulated hosts too, has none.
    assert found == (Limits() if outermost else Limits(1.5, at, None, 4 * GIB, at / "b.service"))


def test_controllers_of_version_1_may_be_mounted_apart_and_nested(tmp_path: Path) -> None:
    groups = "4:memory:/\n2:cpuacct:/x\n1:cpu:/x/y\n0::/\n"
    mounts = "/ /cg/cpu cgroup rw,cpu\n/ /cg/cpuacct cgroup rw,cpuacct\n/ /cg/memory cgroup rw,memory"
    files = {
        "/cg/cpu": {},
        "/cg/cpu/x": NONE_V1 | {"cpu.cfs_quota_us": "50000"},
        "/cg/cpu/x/y": NONE_V1,
        "/cg/cpuacct/x": {},
        "/cg/memory": NONE_V1,
    }
    found = limits(tmp_path, groups, mounts, files)
    assert found == Limits(0.5, tmp_path / "root/cg/cpu/x", tmp_path / "root/cg/cpuacct/x", None, None)
    assert found.wire() is not None


def test_mount_points_may_have_blanks(tmp_path: Path) -> None:
    found = limits(tmp_path, "0::/\n", "/ /my\\040groups cgroup2 rw", {"/my groups": {"cpu.max": "80000 100000"}})
    assert found.cores == 0.8


def test_the_doctor_shows_what_may_be_used(tmp_path: Path) -> None:
    found = v1(tmp_path, cpu__cfs_quota_us="80000", memory__limit_in_bytes=str(3 * GIB // 2))
    assert (_cores(found).state, _memory(found).state) == ("warning", "warning")
    assert _cores(found).found.startswith("0.8 of ")
    assert _memory(found).found.startswith("1.61 GB of ")
    assert _cores(Limits()).state == "ok"


def test_throttled_periods_are_counted_by_the_quotas_own_length(tmp_path: Path) -> None:
    buffer = SampleBuffer()
    for second in range(2):
        # Half of the hundred periods of a second.
        counters = host_counters(second, cpu_periods=100 * second, cpu_throttled_periods=50 * second, cpu_period_us=10_000)
        buffer.add("here", {"wall_s": float(second), "host": counters, "services": {}, "gauges": {}, "gauge_errors": {}, "speed_ns": [],
                            "sampler_cpu_us": 0})  # fmt: skip
    (tmp_path / layout.HOST_SAMPLES).parent.mkdir()
    buffer.flush(tmp_path)
    assert host_rates(read_samples(tmp_path, layout.HOST_SAMPLES), "here")["cpu_throttled"].to_list() == [0.5]
