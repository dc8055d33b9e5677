"""Which hosts there are."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hydrotest.errors import BadInputError, SystemFailedError
from hydrotest.hosts.base import Host
from hydrotest.hosts.lab.lab import Lab
from hydrotest.hosts.lab.netns import NetnsHost
from hydrotest.hosts.local import LocalHost
from hydrotest.spec.hosts import LocalHost as LocalSpec
from hydrotest.spec.hosts import NetnsHost as NetnsSpec
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests import Isolated

LAB = "lab"
"""Where a lab's files are, below a run's scratch."""


@dataclass
class Site:
    """The hosts of a run, and what was made for them."""

    hosts: dict[str, Host]
    lab: Lab | None = None
    _unhurried: int = 0
    """Blocks of `unhurried` that are open, one in another."""

    @contextmanager
    def unhurried(self) -> Iterator[None]:
        """Emulated hosts have all of the machine's cores during the block: a JVM that starts under a small quota compiles for minutes."""
        emulated = [host for host in self.hosts.values() if isinstance(host, NetnsHost)]
        self._unhurried += 1
        try:
            for host in emulated:
                host.group.limit_cores(None)
            yield
        finally:
            self._unhurried -= 1
            for host in emulated if not self._unhurried else []:
                host.group.limit_cores(host.spec.cores)

    async def clear(self) -> list[str]:
        """Removes what was made; what could not be."""
        return [] if self.lab is None else await asyncio.to_thread(self.lab.remove)


def check_rights(experiment: Experiment) -> None:
    """Raises `BadInputError` where hosts are to be emulated or squeezed by somebody who may not."""
    emulated = [name for name, host in experiment.hosts.items() if isinstance(host, NetnsSpec)]
    if emulated and os.geteuid() != 0:
        raise BadInputError(f"{', '.join(emulated)}: emulated hosts need root (namespaces, control groups, mounts)",
                            "Run it with sudo, or use `connect: local`.")  # fmt: skip
    is_squeezed = any(isinstance(test, Isolated) and test.squeeze is not None for test in experiment.tests)
    squeezed = [name for name, host in experiment.hosts.items() if isinstance(host, LocalSpec) and host.squeeze == "allow"]
    if is_squeezed and squeezed and os.geteuid() != 0:
        raise BadInputError(
            f"{', '.join(squeezed)}: `squeeze: allow` needs root (real-time scheduling)", "Run it with sudo, or leave it out."
        )


async def make_site(experiment: Experiment, scratch: Path) -> Site:
    """The experiment's hosts, with their data below `scratch`. Raises `SystemFailedError` where they cannot be made; nothing is left
    then."""
    emulated = {name: spec for name, spec in experiment.hosts.items() if isinstance(spec, NetnsSpec)}
    local = {name: spec for name, spec in experiment.hosts.items() if isinstance(spec, LocalSpec)}
    may_squeeze = any(spec.squeeze == "allow" for spec in local.values())
    hosts: dict[str, Host] = {
        # By however many names: it is one machine.
        name: LocalHost(name, scratch, spec.address, may_squeeze)
        for name, spec in local.items()
    }
    if not emulated:
        return Site(hosts)
    lab = lab_of(scratch)
    making = asyncio.create_task(asyncio.to_thread(lab.make, emulated))
    try:
        made = await asyncio.shield(making)
    except BaseException as error:
        # A thread cannot be interrupted: what it is about to make is waited for, and removed.
        await asyncio.wait([making])
        problems = await asyncio.to_thread(lab.remove)
        if problems:
            raise SystemFailedError(f"the lab cannot be removed: {'; '.join(problems)}", "`hydrotest down` tries again.") from error
        raise
    return Site({name: hosts.get(name) or made[name] for name in experiment.hosts}, lab)


def lab_of(scratch: Path) -> Lab:
    """The lab of a run, by the folder of its data."""
    return Lab(scratch.name, scratch / LAB)
