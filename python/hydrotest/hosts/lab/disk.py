"""A host's disk: a file system of its own in a file, through a loop device whose speed is bounded."""

from __future__ import annotations

import errno
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hydrotest.errors import SystemFailedError
from hydrotest.hosts.base import PLAIN_LOCALE
from hydrotest.hosts.lab.groups import Group, Trees
from hydrotest.hosts.lab.mounts import is_mounted

TOOLS = ("losetup", "mkfs.ext4", "mount", "umount")
"""Programs that a disk is made with."""
INODE_BYTES = str(256 << 10)
"""A file for each so many bytes; the systems have few and large ones."""
DIRTY_S = 1.0
DIRTY_BYTES_MIN = 8 << 20
"""Pages that wait to be written may be so many: with the kernel's own bound, a share of the machine's memory, they would hide a slow
disk for minutes; with a quarter of a second who writes is held back so often that 25 of 40 MB/s, or 12 of 20, went through (three surveys each; with half
a second 40 and 17, with one 40 and 20)."""
DIRTY_PERCENT = 1
"""Where the kernel bounds them by a share of the machine's memory alone (before 6.2), the smallest share; it counts only while others have pages to write, too."""
BLOCK_DEVICES = Path("/sys/class/block")
BACKING_DEVICES = Path("/sys/class/bdi")
DELETED = " (deleted)"
"""Behind the name of a file that is gone."""


def bounds_dirty(backing: Path) -> bool:
    """True if a device's waiting pages can be bounded strictly; kernels can since 6.2 (Documentation/ABI/testing/sysfs-class-bdi)."""
    return all((backing / file).exists() for file in ("strict_limit", "max_bytes"))


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
        return (BLOCK_DEVICES / self.device / "dev").read_text().strip()

    def limit(self, bytes_per_s: float, group: Group) -> None:
        """So fast, reading and writing each; at once."""
        rate = round(bytes_per_s)
        if group.trees.is_unified:
            (group.at("io") / "io.max").write_text(f"{self.number} rbps={rate} wbps={rate}")
        else:
            self._throttle(group.trees, rate)
        self.bound_dirty(bytes_per_s)

    @property
    def is_strict(self) -> bool:
        """True where the kernel bounds the pages that wait to be written, whatever else it has to write."""
        return bounds_dirty(BACKING_DEVICES / self.number)

    def bound_dirty(self, bytes_per_s: float) -> None:
        """Bounds the pages that wait to be written, as well as the kernel can."""
        backing = BACKING_DEVICES / self.number
        if bounds_dirty(backing):
            (backing / "strict_limit").write_text("1")
            (backing / "max_bytes").write_text(str(max(DIRTY_BYTES_MIN, round(bytes_per_s * DIRTY_S))))
        else:
            (backing / "max_ratio").write_text(str(DIRTY_PERCENT))

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
        """Takes the bounds back: version 1 keeps speed in the root group, by number, and the kernel keeps the bound of waiting pages, where the next file behind this
        device would have them."""
        if not trees.is_unified:
            self._throttle(trees, 0)
        backing = BACKING_DEVICES / self.number
        if bounds_dirty(backing):
            (backing / "strict_limit").write_text("0")
        (backing / "max_ratio").write_text("100")

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


def disks_below(folder: Path, devices: Path = BLOCK_DEVICES) -> list[Disk]:
    """What killed runs left: loop devices whose files lie below a folder; mounted or not."""
    whole = folder.resolve()
    found = []
    # By the kernel's own files: what losetup prints has names with blanks and letters beyond ASCII changed, by its version.
    for backing in sorted(devices.glob("loop*/loop/backing_file")):
        try:
            image = Path(os.fsdecode(backing.read_bytes().removesuffix(b"\n")).removesuffix(DELETED))
        except OSError:  # detached just now
            continue
        if image.is_relative_to(whole):
            found.append(Disk(backing.parts[-3], mount_of(image), image))
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
        raise SystemFailedError(
            f"`{' '.join(argv)}` failed: {done.stderr.strip() or done.stdout.strip()}",
            "Look at free loop devices (losetup --list) and at the room where the run's data lie; `hydrotest doctor` says what is lacking.",
        )
    return done.stdout
