"""The hosts of a run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hydrotest.errors import BadInputError, SystemFailedError
from hydrotest.hosts.base import Host
from hydrotest.hosts.group import Group
from hydrotest.hosts.lab.groups import Trees
from hydrotest.hosts.lab.lab import Lab
from hydrotest.hosts.lab.processors import divided, keep_off
from hydrotest.hosts.local import LocalHost
from hydrotest.hosts.monitored.source import Source
from hydrotest.kinds.registry import HOSTS
from hydrotest.spec.hosts import LocalHost as LocalSpec
from hydrotest.spec.hosts import NetnsHost as NetnsSpec
from hydrotest.spec.models import Experiment

LAB = "lab"
"""Where a lab's files are, below a run's scratch."""


@dataclass
class HostPool:
    """The hosts of a run, and what was made for them."""

    hosts: dict[str, Host]
    groups: Sequence[Group] = ()
    _without_cpu_quota: int = 0
    """Number of open `without_cpu_quota` blocks, nested."""

    @property
    def sources(self) -> dict[str, Source]:
        """Where the readings of machines come from on which nothing runs."""
        return {name: source for group in self.groups for name, source in group.sources.items()}

    @property
    def lab(self) -> Lab | None:
        """The lab of its emulated hosts."""
        return next((group.lab for group in self.groups if group.lab is not None), None)

    @contextmanager
    def without_cpu_quota(self) -> Iterator[None]:
        """Emulated hosts have all of the machine's cores during the block: a JVM that starts under a
        small quota compiles for minutes."""
        self._without_cpu_quota += 1
        try:
            for group in self.groups:
                group.lift_quotas(True)
            yield
        finally:
            self._without_cpu_quota -= 1
            for group in self.groups if not self._without_cpu_quota else []:
                group.lift_quotas(False)

    async def clear(self) -> list[str]:
        """Removes what was made, ends the hosts' hubs, and returns what could not be removed."""
        left = [problem for group in self.groups for problem in await group.remove()]
        closed = await asyncio.gather(*(host.close() for host in self.hosts.values()))
        return left + [problem for problem in closed if problem is not None]


def check_rights(experiment: Experiment) -> None:
    """Raises `BadInputError` where the user lacks the rights to emulate or squeeze hosts."""
    emulated = [name for name, host in experiment.hosts.items() if host.is_emulated]
    if emulated and os.geteuid() != 0:
        raise BadInputError(f"{', '.join(emulated)}: emulated hosts need root (namespaces, control groups, mounts)",
                            "Run it with sudo, or use `connect: local`.")  # fmt: skip
    is_squeezed = any(test.needs_squeeze for test in experiment.tests)
    squeezed = [name for name, host in experiment.hosts.items() if host.needs_root_to_squeeze]
    if is_squeezed and squeezed and os.geteuid() != 0:
        raise BadInputError(
            f"{', '.join(squeezed)}: `squeeze: allow` needs root (real-time scheduling)", "Run it with sudo, or write `squeeze: try`."
        )


async def make_host_pool(experiment: Experiment, scratch: Path) -> HostPool:
    """The experiment's hosts, with their data below `scratch`.

    Raises `SystemFailedError` where they cannot be made; nothing is left then.
    """
    groups: list[Group] = []
    try:
        for name, kind in HOSTS.items():
            specs = {host: spec for host, spec in experiment.hosts.items() if spec.connect == name}
            if specs:
                groups.append(await kind.make.load()(specs, scratch))
    except BaseException:
        await HostPool({}, groups).clear()
        raise
    made = {name: host for group in groups for name, host in group.hosts.items()}
    return HostPool({name: made[name] for name in experiment.hosts if name in made}, groups)


async def local_hosts(specs: Mapping[str, LocalSpec], scratch: Path) -> Group:
    """See `kinds.host.HostKind`."""
    may_squeeze = any(spec.squeeze is not None for spec in specs.values())
    # However many names there are: it is one machine.
    return Group({name: LocalHost(name, scratch, spec.address, may_squeeze) for name, spec in specs.items()})


async def emulated_hosts(specs: Mapping[str, NetnsSpec], scratch: Path) -> Group:
    """See `kinds.host.HostKind`."""
    lab = lab_of(scratch)
    # Before anything is made: what cannot be had leaves nothing then.
    processors = divided(specs, Trees.find(), lab.run)
    let_back = keep_off(processors)
    making = asyncio.create_task(asyncio.to_thread(lab.make, dict(specs)))
    try:
        made = await asyncio.shield(making)
    except BaseException as error:
        # A thread cannot be interrupted: wait for what it is about to make, and remove that.
        await asyncio.wait([making])
        let_back()
        problems = await asyncio.to_thread(lab.remove)
        if problems:
            raise SystemFailedError(f"the lab cannot be removed: {'; '.join(problems)}", "`hydrotest down` tries again.") from error
        raise

    def lift_quotas(lifted: bool) -> None:
        for host in made.values():
            host.group.limit_cores(None if lifted else host.spec.quota)

    async def remove() -> Sequence[str]:
        try:
            return await asyncio.to_thread(lab.remove)
        finally:
            let_back()

    return Group(made, lift_quotas, remove, lab)


def lab_of(scratch: Path) -> Lab:
    """The lab of a run, by the folder of its data."""
    return Lab(scratch.name, scratch / LAB)
