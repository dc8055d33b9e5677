"""A host's disk: a file system of its own in a file, through a loop device with bounded speed."""

from __future__ import annotations

import errno
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hydrotest.errors import SystemFailedError
from hydrotest.hosts.lab.groups import Group, Trees
from hydrotest.hosts.lab.mounts import is_mounted
from hydrotest.hosts.locales import PLAIN_LOCALE

TOOLS = ("losetup", "mkfs.ext4", "mount", "umount")
"""Programs that make a disk."""
INODE_BYTES = str(256 << 10)
"""One inode for so many bytes; the systems have few and large files."""
DIRTY_S = 1.0
DIRTY_BYTES_MIN = 8 << 20
"""Lower bound of the pages that may wait to be written.

With the kernel's own bound, a share of the machine's memory, they would hide a slow disk for minutes.
With a quarter of a second, writers are held back so often that 25 of 40 MB/s, or 12 of 20, were
achieved (three surveys each; with half a second 40 and 17, with one 40 and 20).
"""
DIRTY_PERCENT = 1
"""The smallest share, where the kernel only bounds them by a share of the machine's memory (before 6.2).

It counts only while others have pages to write, too.
"""
BLOCK_DEVICES = Path("/sys/class/block")
BACKING_DEVICES = Path("/sys/class/bdi")
DELETED = " (deleted)"
"""Suffix of the name of a deleted file."""


def bounds_dirty(backing: Path) -> bool:
    """True if a device's waiting pages can be bounded strictly; kernels can since 6.2
    (Documentation/ABI/testing/sysfs-class-bdi)."""
    return all((backing / file).exists() for file in ("strict_limit", "max_bytes"))


@dataclass(frozen=True)
class Disk:
    """A mounted disk."""

    device: str
    """e.g. `loop3`"""
    mount: Path
    image: Path

    @property
    def number(self) -> str:
        """`major:minor`."""
        return (BLOCK_DEVICES / self.device / "dev").read_text().strip()

    def limit(self, bytes_per_s: float, group: Group) -> None:
        """Bounds the speed of reading and of writing, each; takes effect at once."""
        rate = round(bytes_per_s)
        if group.trees.is_unified:
            (group.at("io") / "io.max").write_text(f"{self.number} rbps={rate} wbps={rate}")
        else:
            self._throttle(group.trees, rate)
        self.bound_dirty(bytes_per_s)

    @property
    def is_strict(self) -> bool:
        """True where the kernel bounds the pages waiting for this disk, whatever else it has to write."""
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
        """Fills it completely."""
        free = os.statvfs(self.mount)
        at, wanted = 0, free.f_bavail * free.f_frsize
        with self._filling.open("wb") as file:
            while wanted >= free.f_frsize:
                try:
                    # Nothing is written: the blocks are only allocated.
                    os.posix_fallocate(file.fileno(), at, wanted)
                    at += wanted
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    # The file's own metadata takes space, too, and others write meanwhile: ever smaller
                    # pieces fill the rest.
                    wanted //= 2

    def free(self) -> None:
        """Undoes `fill`."""
        self._filling.unlink(missing_ok=True)

    @property
    def _filling(self) -> Path:
        return self.mount / "filling"

    def unlimit(self, trees: Trees) -> None:
        """Removes the bounds.

        Version 1 keeps the speed in the root group, by device number. The kernel keeps the bound of waiting
        pages, which would apply to the device's next file.
        """
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
    """Makes and mounts an empty disk; its file takes only the space that is written."""
    with image.open("wb") as file:
        file.truncate(size_bytes)
    # Without direct I/O, pages would be cached twice, and written at an arbitrary time.
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
    """Disks that killed runs left: loop devices whose files are below a folder; mounted or not."""
    whole = folder.resolve()
    found = []
    # From the kernel's own files: losetup, by its version, changes blanks and non-ASCII letters in names.
    for backing in sorted(devices.glob("loop*/loop/backing_file")):
        try:
            image = Path(os.fsdecode(backing.read_bytes().removesuffix(b"\n")).removesuffix(DELETED))
        except OSError:  # detached just now
            continue
        if image.is_relative_to(whole):
            found.append(Disk(backing.parts[-3], mount_of(image), image))
    return found


def mount_of(image: Path) -> Path:
    """The mount point of a disk: next to its file."""
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
