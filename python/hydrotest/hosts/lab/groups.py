"""Control groups: they limit a host's processes to its share of cores and memory.

Version 1 has a tree for each controller, version 2 one for all. A machine may have controllers of
version 1 next to an empty tree of version 2, which shows pressure stall. That tree also ends all
processes of a group at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hydrotest.errors import SystemFailedError
from hydrotest.hosts.lab.mounts import TABLE, mounts
from hydrotest.spec.hosts import QUOTA_PERIOD_S

PERIOD_US = round(QUOTA_PERIOD_S * 1e6)
EMPTY_S_MAX = 10.0
"""A killed process leaves its group when the kernel has finished with it."""
CONTROLLERS = ("cpu", "cpuacct", "memory", "blkio", "cpuset")


@dataclass(frozen=True)
class Trees:
    """The mount points of the machine's trees."""

    version_1: dict[str, Path]
    """By controller."""
    unified: Path | None

    @classmethod
    def find(cls, table: Path = TABLE) -> Trees:
        """Reads the table of mounts. Raises `SystemFailedError` where no tree limits cores and memory."""
        version_1: dict[str, Path] = {}
        unified = None
        for mount in mounts(table):
            if mount.kind == "cgroup2":
                unified = unified or mount.at
            elif mount.kind == "cgroup":
                for controller in set(mount.options) & set(CONTROLLERS):
                    version_1.setdefault(controller, mount.at)
        found = cls(version_1, unified)
        lacking = {"cpu", "cpuacct", "memory"} - version_1.keys()
        if lacking and (version_1.keys() & {"cpu", "memory"} or unified is None):
            raise SystemFailedError(f"this machine has no control groups for {', '.join(sorted(lacking))}",
                                    "Mount them, or use a machine whose kernel has them.")  # fmt: skip
        return found

    def root(self, controller: str) -> Path:
        """The root of a controller's tree. Raises `SystemFailedError` where there is none."""
        found = self.unified if self.is_unified else self.version_1.get(controller)
        if found is None:
            raise SystemFailedError(
                f"this machine has no control groups for {controller}", "Mount them, or use a machine whose kernel has them."
            )
        return found

    @property
    def is_unified(self) -> bool:
        """True where version 2 sets the limits."""
        return "cpu" not in self.version_1


@dataclass(frozen=True)
class Group:
    """One host's group in every tree that is used."""

    name: str
    trees: Trees
    has_quota: bool = True
    """Without one it does not join the `cpu` tree of version 1, where that stands alone.

    A kernel that schedules groups in real time refuses SCHED_RR to members of a group there, and
    generators ask for it.
    """

    has_cpus: bool = False
    """Its processors are chosen: it joins the `cpuset` tree of version 1."""

    @property
    def directories(self) -> list[Path]:
        """Its directories; a process must be in all of them.

        blkio stays out. In the root group, writeback and direct writes share one bound; in their own group
        they would have one each.
        """
        left_out = {"blkio", *(() if self.has_quota else ("cpu",)), *(() if self.has_cpus else ("cpuset",))}
        used = {path for controller, path in self.trees.version_1.items() if controller not in left_out}
        unified = {self.trees.unified} if self.trees.unified is not None else set()
        return sorted(tree / self.name for tree in used | unified)

    def at(self, controller: str) -> Path:
        """The folder of a controller's files."""
        if self.trees.is_unified:
            assert self.trees.unified is not None
            return self.trees.unified / self.name
        return self.trees.version_1[controller] / self.name

    @property
    def unified(self) -> Path | None:
        """Its directory of version 2."""
        return None if self.trees.unified is None else self.trees.unified / self.name

    def make(self) -> None:
        """Makes its directories."""
        if self.trees.is_unified:
            assert self.trees.unified is not None
            (self.trees.unified / "cgroup.subtree_control").write_text("+cpu +memory +io" + (" +cpuset" if self.has_cpus else ""))
        for directory in self.directories:
            directory.mkdir(exist_ok=True)

    def limit_cores(self, cores: float | None) -> None:
        """Limits CPU time a second; None: no limit. Takes effect at once, also for running processes."""
        if not self.at("cpu").exists():
            return
        quota = None if cores is None else round(cores * PERIOD_US)
        if self.trees.is_unified:
            (self.at("cpu") / "cpu.max").write_text(f"{'max' if quota is None else quota} {PERIOD_US}")
        else:
            (self.at("cpu") / "cpu.cfs_quota_us").write_text(str(-1 if quota is None else quota))

    def choose_processors(self, numbers: Sequence[int]) -> None:
        """Its processes run on these alone. On version 1 it takes no process before it has some."""
        at, root = self.at("cpuset"), self.trees.root("cpuset")
        if not self.trees.is_unified:
            (at / "cpuset.mems").write_text((root / "cpuset.mems").read_text())
        (at / "cpuset.cpus").write_text(",".join(map(str, numbers)))

    def limit_memory(self, limit_bytes: int) -> None:
        """Limits memory, page cache included; no swap where the kernel allows that setting."""
        if self.trees.is_unified:
            (self.at("memory") / "memory.max").write_text(str(limit_bytes))
            swap, none = self.at("memory") / "memory.swap.max", "0"
        else:
            (self.at("memory") / "memory.limit_in_bytes").write_text(str(limit_bytes))
            swap, none = self.at("memory") / "memory.memsw.limit_in_bytes", str(limit_bytes)
        if swap.exists():
            swap.write_text(none)

    def processes(self) -> list[int]:
        """Ids of its processes."""
        found: set[int] = set()
        for directory in self.directories:
            with contextlib.suppress(FileNotFoundError):
                found |= {int(pid) for pid in (directory / "cgroup.procs").read_text().split()}
        return sorted(found)

    def signal(self, which: signal.Signals) -> None:
        """Signals all its processes."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, which)

    def kill(self) -> None:
        """Ends all its processes, also those that are just being started. Returns when the group is empty."""
        unified = self.unified
        at_once = None if unified is None else unified / "cgroup.kill"
        give_up = time.monotonic() + EMPTY_S_MAX
        while self.processes():
            if time.monotonic() > give_up:
                raise SystemFailedError(f"processes {self.processes()} of {self.name} cannot be ended", "`hydrotest down` tries again.")
            if at_once is not None and at_once.exists():
                at_once.write_text("1")
            self.signal(signal.SIGKILL)
            time.sleep(0.02)

    def remove(self) -> None:
        """Ends its processes and removes its directories; missing ones are skipped."""
        self.kill()
        for directory in self.directories:
            with contextlib.suppress(FileNotFoundError):
                directory.rmdir()


def left_of(run: str, trees: Trees) -> list[Group]:
    """Groups whose names begin with the run's name."""
    roots = {*trees.version_1.values(), *([trees.unified] if trees.unified is not None else [])}
    names = {path.name for root in roots for path in root.glob(f"{run}*") if path.is_dir()}
    return [Group(name, trees, has_cpus=True) for name in sorted(names)]
