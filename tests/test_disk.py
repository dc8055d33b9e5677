"""Disks of emulated hosts, on a made-up machine: what old kernels lack, and names with blanks, links and letters beyond ASCII."""

from __future__ import annotations

from pathlib import Path

import pytest

from hydrotest.hosts.lab import disk as disks
from hydrotest.hosts.lab.disk import Disk, disks_below, mount_of
from hydrotest.hosts.lab.groups import Group, Trees
from hydrotest.hosts.lab.mounts import is_mounted, mounts
from hydrotest.run.lifecycle import doctor

SINCE_6_2 = ("max_ratio", "strict_limit", "max_bytes")
BEFORE = ("max_ratio",)


@pytest.fixture
def sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The parts of /sys that are looked at; loop3 is device 7:3."""
    monkeypatch.setattr(disks, "BLOCK_DEVICES", tmp_path / "block")
    for module in (disks, doctor):
        monkeypatch.setattr(module, "BACKING_DEVICES", tmp_path / "bdi")
    (tmp_path / "block/loop3").mkdir(parents=True)
    (tmp_path / "block/loop3/dev").write_text("7:3\n")
    return tmp_path


def kernel(sysfs: Path, files: tuple[str, ...]) -> Path:
    """What it has for a device's waiting pages."""
    backing = sysfs / "bdi/7:3"
    backing.mkdir(parents=True)
    for name in files:
        (backing / name).write_text("100" if name == "max_ratio" else "0")
    return backing


def made(sysfs: Path) -> tuple[Disk, Group]:
    """A disk and a host's group, in a tree of version 2."""
    (sysfs / "cgroup/a").mkdir(parents=True)
    return Disk("loop3", sysfs / "disk", sysfs / "disk.img"), Group("a", Trees({}, sysfs / "cgroup"))


@pytest.mark.parametrize(
    ("files", "is_strict", "bounded", "unbounded"),
    [
        (SINCE_6_2, True, {"max_ratio": "100", "strict_limit": "1", "max_bytes": "40000000"}, {"max_ratio": "100", "strict_limit": "0"}),
        (BEFORE, False, {"max_ratio": "1"}, {"max_ratio": "100"}),
    ],
)
def test_waiting_pages_are_bounded_as_well_as_the_kernel_can(
    sysfs: Path, files: tuple[str, ...], is_strict: bool, bounded: dict[str, str], unbounded: dict[str, str]
) -> None:
    backing = kernel(sysfs, files)
    disk, group = made(sysfs)
    disk.limit(40e6, group)
    assert disk.is_strict == is_strict
    assert {path.name: path.read_text() for path in backing.iterdir()} == bounded
    assert (sysfs / "cgroup/a/io.max").read_text() == "7:3 rbps=40000000 wbps=40000000"
    # The device's next file is not ours.
    disk.unlimit(group.trees)
    assert unbounded.items() <= {path.name: path.read_text() for path in backing.iterdir()}.items()


@pytest.mark.parametrize(("files", "state"), [(SINCE_6_2, "ok"), (BEFORE, "warning")])
def test_doctor_looks_for_the_bound(sysfs: Path, files: tuple[str, ...], state: str) -> None:
    kernel(sysfs, files)
    finding = doctor._emulated_disks()
    assert finding.state == state
    assert (finding.remedy is None) == (state == "ok")


NAMES = ["plain", "two words", "tab\tand\\backslash", "Größe Ω"]


@pytest.mark.parametrize("name", NAMES)
def test_a_mount_is_found_whatever_its_name(tmp_path: Path, name: str) -> None:
    """The table as the kernel writes it, and a name by a link."""
    at = tmp_path / name
    at.mkdir()
    (tmp_path / "link").symlink_to(at)
    escaped = str(at).replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011")
    table = tmp_path / "mounts"
    table.write_text(f"proc /proc proc rw,nosuid 0 0\n/dev/loop3 {escaped} ext4 rw,noatime 0 0\n")
    assert [(mount.at, mount.kind, mount.options) for mount in mounts(table)][1] == (at, "ext4", ["rw", "noatime"])
    assert is_mounted(at, table)
    assert is_mounted(tmp_path / "link", table)
    assert not is_mounted(tmp_path, table)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("gone", ["", " (deleted)"])
def test_disks_of_killed_runs_are_found_whatever_the_name_of_their_folder(sysfs: Path, name: str, gone: str) -> None:
    """By the kernel's own absolute path, also where ours has a link in it."""
    folder = sysfs / name / "lab"
    folder.mkdir(parents=True)
    (sysfs / "cache").symlink_to(sysfs / name)
    image = folder / "a" / "disk.img"
    for number, backing in ((3, f"{image}{gone}"), (4, "/somewhere/else.img")):
        loop = sysfs / f"block/loop{number}/loop"
        loop.mkdir(parents=True)
        (loop / "backing_file").write_text(f"{backing}\n")
    (sysfs / "block/loop5").mkdir()
    found = disks_below(sysfs / "cache" / "lab", sysfs / "block")
    assert found == [Disk("loop3", mount_of(image), image)]
