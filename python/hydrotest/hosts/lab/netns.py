"""An emulated host."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import platform
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal

from hydrotest.hosts.base import HostFacts
from hydrotest.hosts.lab.disk import Disk
from hydrotest.hosts.lab.drops import QueueDrops
from hydrotest.hosts.lab.groups import Group
from hydrotest.hosts.lab.network import Network, address_of, burst_bytes
from hydrotest.hosts.limits import Limits, usable_cores, usable_memory_bytes
from hydrotest.hosts.local import OnThisMachine, cpu_model
from hydrotest.hosts.node import Node
from hydrotest.hosts.ports import FREE_PORT_MIN
from hydrotest.places import node_binary
from hydrotest.spec.hosts import NetnsHost as Spec

UNLIMITED = ("sample", "clock", "sink")
"""A host's observers do not use up its share; nor does the far end of another's link during its
measurement."""


HostAway = Literal["pause", "cut", "mute", "deafen", "slow", "fill"]
"""How a host is taken from the others.

All of it paused; its cable out; what it sends is lost, or what is sent to it; its link at a tenth of
its speed; its disk full.
"""
SLOWED = 10


def _outermost() -> Limits:
    # Hosts' groups lie next to ours, not in it: only the outermost visible groups bound them.
    return Limits.here(outermost=True)


def machine_cores() -> float:
    """Cores that all hosts together may use."""
    return min(float(os.cpu_count() or 1), usable_cores(_outermost()))


_ports = itertools.count(FREE_PORT_MIN + 1)


class NetnsHost(OnThisMachine):
    """A network namespace and control groups on this machine.

    It shares the file system; its data's disk is its own. Its hub stays outside: its nodes enter the host,
    those that only observe not its groups.
    """

    def __init__(
        self,
        name: str,
        index: int,
        network: Network,
        spec: Spec,
        group: Group,
        disk: Disk | None,
        folder: Path,
        place: Path,
        others: Sequence[int] | None = None,
    ) -> None:
        """`others`: processors that are left where other hosts have whole cores."""
        super().__init__(name)
        self.address = address_of(index)
        self._index = index
        self._network = network
        self.spec = spec
        self.group = group
        self.disk = disk
        self._data = (folder if disk is None else disk.mount).resolve()
        self._place = place
        self._others = others
        self._has_burst = False

    def node_command(self) -> Sequence[str]:
        return [str(node_binary()), "--enter-namespace", str(self._place)]

    async def node(self, subcommand: str, settings: Mapping[str, Any], program: Sequence[str] = ()) -> Node:
        # The experiment's check allows none: only hydrotest-node can enter an emulated host.
        assert not program
        unlimited = ["--unlimited"] if subcommand in UNLIMITED else []
        return await super().node(subcommand, settings, [*self.node_command(), *unlimited])

    async def facts(self) -> HostFacts:
        return HostFacts(cores=self.processors, memory_bytes=self.memory_bytes, kernel=platform.release(), cpu_model=cpu_model())

    @property
    def processors(self) -> int:
        """The number of cores that a JVM must assume: it does not detect a quota of version 1."""
        return max(1, math.ceil(self.cores))

    @property
    def cores(self) -> float:
        """Cores by its quota, or whole ones."""
        return self.spec.core_count or (machine_cores() if self._others is None else float(len(self._others)))

    @property
    def memory_bytes(self) -> int:
        """Memory by its limit."""
        return self.spec.memory or usable_memory_bytes(_outermost())

    def emulated(self) -> dict[str, Any]:
        """`Emulated` of rust/sampler/src/emulated.rs."""
        group, trees = self.group, self.group.trees
        used = {} if trees.is_unified else {what: group.at(what) for what in ("cpu", "cpuacct", "memory")}
        of_version_1 = {what: str(path) for what, path in used.items() if path in group.directories}
        return {"cores": self.cores, "memory_bytes": self.memory_bytes, **of_version_1,
                "unified": None if group.unified is None else str(group.unified),
                "disk": None if self.disk is None else self.disk.device}  # fmt: skip

    def queue_drops(self) -> QueueDrops:
        """See `Host`."""
        return QueueDrops(self._network.ends(self._index))

    async def inject(self, how: HostAway) -> None:
        """Takes it from the others; its processes go on, unless it is paused."""
        if how == "pause":
            self.group.signal(signal.SIGSTOP)
        else:
            await asyncio.to_thread(self._disturb, how)

    async def heal(self, how: HostAway) -> None:
        """Undoes `inject`."""
        if how == "pause":
            self.group.signal(signal.SIGCONT)
        elif how == "cut":
            await asyncio.to_thread(self._network.connect, self._index, True)
        elif how == "fill":
            assert self.disk is not None
            await asyncio.to_thread(self.disk.free)
        else:
            await asyncio.to_thread(self.shape_link)

    def _disturb(self, how: HostAway) -> None:
        match how:
            case "cut":
                self._network.connect(self._index, False)
            case "mute" | "deafen":
                self._network.silence(self._index, how == "mute")
            case "fill":
                assert self.disk is not None
                self.disk.fill()
            case _:
                assert self.spec.network is not None
                # The burst stays as it was: one that shrinks under traffic hangs the link.
                self._network.limit(self._index, self.spec.network / SLOWED, burst_bytes(self.spec.network))

    @property
    def squeezable(self) -> list[str]:
        """See `Host`: resources of which it has a share."""
        given = {"cpu": self.spec.quota, "disk": self.spec.disk, "network": self.spec.network}
        return [resource for resource, share in given.items() if share is not None]

    @property
    def relievable(self) -> bool:
        return True

    async def give(self, resource: str, factor: float) -> None:
        """See `Host`."""
        await asyncio.to_thread(self._give, resource, factor)

    def _give(self, resource: str, factor: float) -> None:
        match resource:
            case "cpu":
                assert self.spec.quota is not None
                self.group.limit_cores(self.spec.quota * factor)
            case "disk":
                assert self.spec.disk is not None
                assert self.disk is not None
                self.disk.limit(self.spec.disk / 8 * factor, self.group)
            case _ if factor == 1.0:
                self.shape_link()
            case _:
                assert self.spec.network is not None
                # The burst stays as it was: one that shrinks under traffic hangs the link.
                self._network.limit(self._index, self.spec.network * factor, burst_bytes(self.spec.network))

    def unshape_link(self) -> None:
        """Removes the bound of its link, until `shape_link`."""
        self._network.unlimit(self._index)

    def start_burst(self) -> None:
        """From now on its link has its burst, which is full: what it sustains is measured before."""
        self._has_burst = True
        self.shape_link()

    def shape_link(self) -> None:
        """Bounds its link to its configured speed."""
        if self.spec.network is None:
            self._network.unlimit(self._index)
        elif self.spec.burst is not None and self._has_burst:
            self._network.burst(self._index, self.spec.network, self.spec.burst.network, self.spec.burst.size)
        else:
            self._network.limit(self._index, self.spec.network, burst_bytes(self.spec.network))

    async def free_port(self) -> int:
        # No other process is in its network. Each port is given to one host only, so that it is free on
        # the others where all need the same one.
        return next(_ports)

    async def reserve_port(self, port: int) -> bool:
        return True

    async def port_holder(self, port: int) -> str | None:
        return None

    @property
    def data_directory(self) -> PurePath:
        return self._data

    def scratch(self, run: str) -> PurePath:
        return self.data_directory / run
