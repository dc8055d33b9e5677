"""A host's disk: a file system of its own in a file, through a loop device whose speed is bounded."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hydrotest.errors import SystemFailedError
from hydrotest.hosts.base import PLAIN_LOCALE
from hydrotest.hosts.lab.groups import Group, Trees

TOOLS = ("losetup", "mkfs.ext4", "mount", "umount")
"""Programs that a disk is made with."""
INODE_BYTES = str(256 << 10)
"""A file for each so many bytes; the systems have few and large ones."""
DIRTY_S = 1.0
DIRTY_BYTES_MIN = 8 << 20
"""Pages that wait to be written may be so many: with the kernel's own bound, a share of the machine's memory, they would hide a slow
disk for minutes; with a quarter of a second who writes is held back so often that 25 of 40 MB/s, or 12 of 20, went through (three surveys each; with half
a second 40 and 17, with one 40 and 20)."""


@dataclass(frozen=True)
class Disk:
    """A mounted one."""

    device: str
    """e.g. `loop3`"""
    mount: Path
    image: Path

    @property
    def number(self) -> str:
        """`major:minor`."""
        return (Path("/sys/class/block") / self.device / "dev").read_text().strip()

    def limit(self, bytes_per_s: float, group: Group) -> None:
        """So fast, reading and writing each; at once."""
        rate = round(bytes_per_s)
        if group.trees.is_unified:
            (group.at("io") / "io.max").write_text(f"{self.number} rbps={rate} wbps={rate}")
        else:
            self._throttle(group.trees, rate)
        backing = Path("/sys/class/bdi") / self.number
        (backing / "strict_limit").write_text("1")
        (backing / "max_bytes").write_text(str(max(DIRTY_BYTES_MIN, round(bytes_per_s * DIRTY_S))))

    def fill(self) -> None:
        """Leaves no room on it."""
        free = os.statvfs(self.mount)
        at, wanted = 0, free.f_bavail * free.f_frsize
        with self._filling.open("wb") as file:
            while wanted >= free.f_frsize:
                try:
                    # Nothing is written: the blocks are only given away.
                    os.posix_fallocate(file.fileno(), at, wanted)
                    at += wanted
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    # The file's own books take room, too, and others write meanwhile: what is left, in ever smaller pieces.
                    wanted //= 2

    def free(self) -> None:
        """Undoes `fill`."""
        self._filling.unlink(missing_ok=True)

    @property
    def _filling(self) -> Path:
        return self.mount / "filling"

    def unlimit(self, trees: Trees) -> None:
        """Takes the bound back: version 1 keeps it in the root group, by number, where the next device of that number would have it."""
        if not trees.is_unified:
            self._throttle(trees, 0)

    def _throttle(self, trees: Trees, rate: int) -> None:
        for what in ("read", "write"):
            (trees.version_1["blkio"] / f"blkio.throttle.{what}_bps_device").write_text(f"{self.number} {rate}")


def make_disk(image: Path, mount: Path, size_bytes: int) -> Disk:
    """Makes and mounts an empty one; its file takes only what is written."""
    with image.open("wb") as file:
        file.truncate(size_bytes)
    # Without direct I/O pages would be cached twice, and written when the machine likes.
    path = _run("losetup", "--find", "--show", "--direct-io=on", str(image)).strip()
    # Few inodes, written now: the kernel would write them later, at the cost of the bounded speed.
    _run("mkfs.ext4", "-q", "-F", "-m", "0", "-i", INODE_BYTES, "-E", "lazy_itable_init=0,lazy_journal_init=1", path)
    mount.mkdir(parents=True, exist_ok=True)
    _run("mount", "-t", "ext4", "-o", "noatime", path, str(mount))
    return Disk(Path(path).name, mount, image)


def remove_disk(disk: Disk, trees: Trees) -> None:
    """Unmounts it and frees the device; its file goes with the run's folder."""
    if is_mounted(disk.mount):
        _run("umount", str(disk.mount))
    disk.unlimit(trees)
    _run("losetup", "--detach", f"/dev/{disk.device}")


def is_mounted(mount: Path) -> bool:
    """True if a file system is mounted there."""
    return any(line.split()[1] == str(mount) for line in Path("/proc/self/mounts").read_text().splitlines())


def disks_below(folder: Path) -> list[Disk]:
    """What killed runs left: loop devices whose files lie below a folder; mounted or not."""
    listed = json.loads(_run("losetup", "--list", "--json", "--output", "NAME,BACK-FILE") or "{}")
    found = []
    for entry in listed.get("loopdevices", []):
        image = Path(entry["back-file"].removesuffix(" (deleted)"))
        if image.is_relative_to(folder):
            found.append(Disk(Path(entry["name"]).name, mount_of(image), image))
    return found


def mount_of(image: Path) -> Path:
    """Where a disk is mounted: beside its file."""
    return image.parent / "disk"


def _run(*argv: str) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, **PLAIN_LOCALE})
    except FileNotFoundError as error:
        raise SystemFailedError(
            f"{argv[0]} is not installed", "Install it (Debian: apt-get install util-linux e2fsprogs mount)."
        ) from error
    if done.returncode != 0:
        raise SystemFailedError(f"`{' '.join(argv)}` failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
