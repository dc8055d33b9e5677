"""The limits of this process's control groups: a container's cores and memory, or a service manager's.

No more can be used, whatever the machine has. Both versions of control groups are read, with all
parent groups: the smallest limit counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from hydrotest.errors import MissingToolError

UNLIMITED_BYTES = 1 << 62
"""Version 1 shows no limit as the largest number of complete pages."""


class Look(Protocol):
    """Reads small files of a machine."""

    def text(self, path: Path) -> str | None:
        """A file's content; None if there is no such file."""
        ...

    def is_folder(self, path: Path) -> bool:
        """True if there is a folder of that name."""
        ...


class Here:
    """This machine."""

    def text(self, path: Path) -> str | None:
        """See `Look`."""
        return path.read_text() if path.is_file() else None

    def is_folder(self, path: Path) -> bool:
        """See `Look`."""
        return path.is_dir()


HERE = Here()


@dataclass(frozen=True)
class Tree:
    """One mounted tree of groups, and this process's place in it."""

    controllers: frozenset[str]
    """Empty in version 2, which has one tree for all."""
    mount: Path
    own: Path
    """At or below `mount`."""

    def groups(self) -> Iterator[Path]:
        """Its own group and its parents, as far as they are visible."""
        yield self.own
        yield from (group for group in self.own.parents if group.is_relative_to(self.mount))


@dataclass(frozen=True)
class Limits:
    """The smallest limits, and the groups that set them; None where there is none."""

    cores: float | None = None
    cpu: Path | None = None
    cpuacct: Path | None = None
    """Version 1: counts the CPU time used."""
    memory_bytes: int | None = None
    memory: Path | None = None

    @classmethod
    def here(cls, outermost: bool = False) -> Limits:
        """The limits of this process that are below the machine's resources; see `find`."""
        return cls.find(outermost=outermost).below(os.cpu_count() or 1, machine_memory_bytes())

    def below(self, cores: int, memory_bytes: int) -> Limits:
        """Those that are below what a machine has."""
        found = self
        if found.cores is not None and found.cores >= cores:
            found = replace(found, cores=None, cpu=None, cpuacct=None)
        if found.memory_bytes is not None and found.memory_bytes >= memory_bytes:
            found = replace(found, memory_bytes=None, memory=None)
        return found

    @classmethod
    def find(cls, process: Path = Path("/proc/self"), root: Path = Path("/"), outermost: bool = False, look: Look = HERE) -> Limits:
        """The limits of a process, by its `cgroup` and `mountinfo`.

        `root`: the parent of mount points. `outermost`: only the topmost visible groups, which hold
        everything that is started here.
        """
        trees = [Tree(tree.controllers, tree.mount, tree.mount) if outermost else tree for tree in _trees(process, root, look)]
        quotas = [(cores, group, tree) for tree in trees for group in tree.groups() if (cores := _cores(group, look)) is not None]
        bounds = [(size, group) for tree in trees for group in tree.groups() if (size := _memory_bytes(group, look)) is not None]
        cores, cpu, of = min(quotas, key=lambda one: one[0], default=(None, None, None))
        memory_bytes, memory = min(bounds, key=lambda one: one[0], default=(None, None))
        cpuacct = None
        if of is not None and of.controllers:
            cpuacct = cpu if "cpuacct" in of.controllers else next((tree.own for tree in trees if "cpuacct" in tree.controllers), None)
        return cls(cores, cpu, cpuacct, memory_bytes, memory)

    def wire(self) -> dict[str, Any] | None:
        """`Emulated` of rust/sampler/src/emulated.rs, for what is limited; None without limits."""
        if self.cores is None and self.memory_bytes is None:
            return None
        # In version 2 the group that limits the cores also counts the time spent waiting for them.
        unified = self.cpu if self.cpuacct is None else None
        paths = {"cpu": self.cpu, "cpuacct": self.cpuacct, "memory": self.memory, "unified": unified}
        return {"cores": self.cores or 0.0, "memory_bytes": self.memory_bytes or 0,
                **{name: None if path is None else str(path) for name, path in paths.items()}}  # fmt: skip


def machine_memory_bytes() -> int:
    """Total memory of this machine."""
    return total_memory_bytes(Path("/proc/meminfo").read_text())


def total_memory_bytes(meminfo: str) -> int:
    """Total memory by the text of /proc/meminfo."""
    for line in meminfo.splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    raise MissingToolError("/proc/meminfo has no MemTotal", "hydrotest runs on Linux.")


def usable_memory_bytes(limits: Limits) -> int:
    """Memory that a process with these limits, and all that it starts, may use."""
    total = machine_memory_bytes()
    return total if limits.memory_bytes is None else min(total, limits.memory_bytes)


def usable_cores(limits: Limits) -> float:
    """Cores that this process may use with these limits: its affinity, capped by its quota."""
    allowed = float(len(os.sched_getaffinity(0)))
    return allowed if limits.cores is None else min(allowed, limits.cores)


def _trees(process: Path, root: Path, look: Look) -> list[Tree]:
    """Mounted trees in which the process is; see proc_pid_mountinfo(5) and cgroups(7)."""
    own: dict[str, str] = {}
    for line in (look.text(process / "cgroup") or "").splitlines():
        _, names, path = line.split(":", 2)
        own |= dict.fromkeys(names.split(","), path)
    trees = []
    for line in (look.text(process / "mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        base, point = (_unescaped(field) for field in before.split()[3:5])
        kind, *_, options = after.split()
        controllers = frozenset(options.split(",")) & own.keys() if kind == "cgroup" else frozenset()
        if kind not in ("cgroup", "cgroup2") or (kind == "cgroup" and not controllers) or (kind == "cgroup2" and "" not in own):
            continue
        path = own[min(controllers, default="")]
        mount = root / point.lstrip("/")
        # The mount is often the group itself: a container sees nothing above it.
        below = Path(path).relative_to(base) if Path(path).is_relative_to(base) else Path()
        group = mount / below
        trees.append(Tree(controllers, mount, group if look.is_folder(group) else mount))
    return trees


def _unescaped(field: str) -> str:
    """Decodes blanks, which are octal numbers there."""
    for code in ("040", "011", "012", "134"):
        field = field.replace(f"\\{code}", chr(int(code, 8)))
    return field


def _words(file: Path, look: Look) -> list[str]:
    return (look.text(file) or "").split()


def _cores(group: Path, look: Look) -> float | None:
    """Its quota: CPU time a second."""
    match _words(group / "cpu.max", look):
        case [quota, period] if quota != "max":
            return int(quota) / int(period)
    match _words(group / "cpu.cfs_quota_us", look), _words(group / "cpu.cfs_period_us", look):
        case [quota], [period] if int(quota) > 0:
            return int(quota) / int(period)
    return None


def _memory_bytes(group: Path, look: Look) -> int | None:
    for name in ("memory.max", "memory.limit_in_bytes"):
        match _words(group / name, look):
            case [size] if size != "max" and int(size) < UNLIMITED_BYTES:
                return int(size)
    return None
