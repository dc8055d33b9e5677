"""This machine."""

from __future__ import annotations

import math
import os
import platform
import shutil
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

from hydrotest.hosts.base import HostFacts
from hydrotest.hosts.cpu_hog import CpuHog
from hydrotest.hosts.java import find_java
from hydrotest.hosts.limits import Limits, usable_cores, usable_memory_bytes
from hydrotest.hosts.reached import Reached
from hydrotest.places import node_binary


class OnThisMachine(Reached):
    """A host that has the controller's files and programs."""

    def hub_command(self) -> Sequence[str]:
        return [str(node_binary()), "hub"]

    @property
    def machine(self) -> str:
        """See `Host`."""
        return ""

    async def java(self) -> PurePath:
        """See `Host`."""
        return find_java().resolve()

    async def copy_of(self, path: Path) -> PurePath:
        """See `Host`."""
        return path


class LocalHost(OnThisMachine):
    """The machine that the controller runs on."""

    def __init__(self, name: str, scratch: Path, address: str = "127.0.0.1", may_squeeze: bool = False) -> None:
        super().__init__(name)
        self._may_squeeze = may_squeeze
        self._cpu_hog = CpuHog(self)
        self.address = address
        self._scratch = scratch.resolve()

    def node_command(self) -> Sequence[str]:
        return [str(node_binary())]

    @property
    def processors(self) -> int | None:
        return None

    @property
    def data_directory(self) -> PurePath:
        return self._scratch

    def emulated(self) -> dict[str, Any] | None:
        # In a container, it is a part of the machine.
        return Limits.here().wire()

    def queue_drops(self) -> None:
        """See `Host`."""
        return

    @property
    def squeezable(self) -> list[str]:
        return ["cpu"] if self._may_squeeze else []

    @property
    def relievable(self) -> bool:
        return False

    async def give(self, resource: str, factor: float) -> None:
        """See `Host`. Takes cores from all processes of this machine except generators."""
        await self._cpu_hog.leave(factor, None if os.geteuid() == 0 else "run it with sudo")

    async def facts(self) -> HostFacts:
        return HostFacts(
            cores=cores(),
            memory_bytes=memory_bytes(),
            kernel=platform.release(),
            cpu_model=cpu_model(),
        )

    def scratch(self, run: str) -> PurePath:
        return self._scratch / run / self.name


def cores() -> int:
    """Cores that this process and all that it starts may use, the last of them perhaps partly."""
    return math.ceil(usable_cores(Limits.here()))


def free_bytes(folder: Path) -> int:
    """Free bytes of the disk that holds a folder, or will hold it."""
    return shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.exists())).free


def memory_bytes() -> int:
    """Memory that this process and all that it starts may use: the machine's, or its control groups'
    limit."""
    return usable_memory_bytes(Limits.here())


def cpu_model() -> str:
    """The kernel's name for this machine's processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
