"""One lab: all emulated hosts of a run, made and removed together, also by another process after a kill."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hydrotest.errors import HydrotestError, SystemFailedError
from hydrotest.hosts.lab import netlink
from hydrotest.hosts.lab.disk import Disk, disks_below, make_disk, mount_of, remove_disk
from hydrotest.hosts.lab.groups import Group, Trees, left_of
from hydrotest.hosts.lab.netns import NetnsHost
from hydrotest.hosts.lab.network import NAMESPACES, Network, address_of, check_count, processes_in
from hydrotest.hosts.lab.processors import Processors, divided
from hydrotest.spec.hosts import NetnsHost as Spec

GONE_S_MAX = 30.0


@dataclass(frozen=True)
class Lab:
    """A lab, by its run's name, which all its parts carry; `folder` holds its files."""

    run: str
    folder: Path

    @property
    def network(self) -> Network:
        """Its network."""
        return Network(self.run)

    def make(self, specs: Mapping[str, Spec]) -> dict[str, NetnsHost]:
        """Makes all hosts. Raises `SystemFailedError`; `remove` then removes what was made."""
        check_count(len(specs))
        trees = Trees.find()
        processors = divided(specs, trees, self.run)
        self.folder.mkdir(parents=True, exist_ok=True)
        names = self.folder / "hosts"
        lines = ["127.0.0.1 localhost", *(f"{address_of(index)} {name}" for index, name in enumerate(specs))]
        names.write_text("\n".join(lines) + "\n")
        self.network.make(len(specs))
        with ThreadPoolExecutor() as pool:
            made = [
                pool.submit(self._host, index, name, spec, trees, names, processors) for index, (name, spec) in enumerate(specs.items())
            ]
        return {name: one.result() for name, one in zip(specs, made, strict=True)}

    def _host(self, index: int, name: str, spec: Spec, trees: Trees, names: Path, processors: Processors | None) -> NetnsHost:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        group = Group(f"{self.run}-{index}", trees, has_quota=spec.quota is not None, has_cpus=processors is not None)
        group.make()
        if processors is not None:
            group.choose_processors(processors.of(name))
        if spec.quota is not None:
            group.limit_cores(spec.quota)
        if spec.memory is not None:
            group.limit_memory(spec.memory)
        disk: Disk | None = None
        if spec.disk is not None:
            image = folder / "disk.img"
            disk = make_disk(image, mount_of(image), spec.disk_size)
            disk.limit(spec.disk / 8, group)
        place = {"name": name, "namespace": str(NAMESPACES / self.network.namespace(index)), "hosts": str(names),
                 "groups": [str(path) for path in group.directories]}  # fmt: skip
        file = folder / "place.json"
        file.write_text(json.dumps(place))
        host = NetnsHost(name, index, self.network, spec, group, disk, folder, file, None if processors is None else processors.others)
        if spec.network is not None:
            host.shape_link()
        return host

    def remove(self) -> list[str]:
        """Removes everything that carries the run's name, and ends what still runs in it.

        Goes on after a failure; returns what could not be removed.
        """
        problems: list[str] = []
        failures = (HydrotestError, OSError, netlink.NetlinkError)
        trees = _trees_if_any()
        groups = left_of(f"{self.run}-", trees)

        def attempt(work: Callable[[], None]) -> None:
            try:
                work()
            except failures as error:
                problems.append(str(error))

        for group in groups:
            attempt(group.kill)
        attempt(self._end_processes)
        # Also without groups: an earlier removal may have failed on a disk.
        disks: list[Disk] = []
        attempt(lambda: disks.extend(disks_below(self.folder)))
        for disk in disks:
            attempt(partial(remove_disk, disk, trees))
        for group in groups:
            attempt(group.remove)
        attempt(self.network.remove)
        return problems

    def _end_processes(self) -> None:
        """Ends the processes outside the groups: samplers."""
        give_up = time.monotonic() + GONE_S_MAX
        names = self.network.namespaces()
        while left := [pid for name in names for pid in processes_in(name)]:
            if time.monotonic() > give_up:
                raise SystemFailedError(f"processes {left} of {self.run} cannot be ended", "`hydrotest down` tries again.")
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)


def _trees_if_any() -> Trees:
    try:
        return Trees.find()
    except SystemFailedError:  # then there was never a lab
        return Trees({}, None)
