"""Systems without a test: `up` starts and holds them, `status` finds them, `down` ends and removes them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from hydrotest.errors import OverdueError, RunFailedError, SystemFailedError
from hydrotest.hosts.catalogue import make_host_pool
from hydrotest.hosts.deadlines import SLOW, Patience, until_here
from hydrotest.run.lifecycle.events import Listener
from hydrotest.run.lifecycle.scratch import PREFIX, Scratch, clear_abandoned, is_owned, scratch_root
from hydrotest.run.lifecycle.startup import check_memory_there, remove_data, start_systems, watch_connections
from hydrotest.run.lifecycle.survey import survey
from hydrotest.run.lifecycle.teardown import Teardown
from hydrotest.spec.models import Experiment
from hydrotest.store.folder import write_whole
from hydrotest.systems.catalogue import make_systems

STATE = "up.json"
DOWN = Patience.of(services_to_end_and_a_lab_to_be_removed=SLOW * 100.0)


@dataclass(frozen=True)
class HostUp:
    """One of their hosts; `gets` describes the resources of an emulated one."""

    name: str
    address: str
    gets: str
    services: list[str]


@dataclass(frozen=True)
class HeldClusters:
    """Systems that a `hydrotest up` holds, and their hosts."""

    experiment: str
    pid: int
    endpoints: dict[str, list[str]]
    hosts: list[HostUp]


async def hold(experiment: Experiment, listener: Listener, announce: Callable[[dict[str, list[str]]], None]) -> None:
    """Starts the systems, announces their endpoints, and holds them until cancelled or until one dies."""
    root = scratch_root(experiment)
    for path in clear_abandoned(root):
        listener.say(f"removed what a killed run left: {path.name}")
    scratch = Scratch(root, uuid.uuid4().hex[:8])
    died: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def on_death(how: str) -> None:
        if not died.done():
            died.set_result(how)

    async with Teardown(listener) as teardown:
        teardown.add("removing data", partial(remove_data, scratch))
        scratch.claim()
        site = await make_host_pool(experiment, scratch.path)
        teardown.add("removing the lab", site.clear)
        await check_memory_there(experiment, site)
        watch_connections(site, teardown, lambda host, why: on_death(why))
        systems = make_systems(experiment, site.hosts, scratch.path.name, scratch.path, on_death)
        if any(host.is_emulated for host in experiment.hosts.values()):
            listener.phase("measuring what the emulated hosts give")
            await survey(experiment.hosts, site.hosts, scratch.path.name, listener.say, listener.warn)
        await start_systems(site, systems, listener, lambda system, seconds: None, teardown)
        endpoints = {name: system.endpoints for name, system in systems.items()}
        services = [service for system in systems.values() for service in system.services]
        hosts = [
            HostUp(name, host.address, experiment.hosts[name].gets, [s.name for s in services if s.host is host])
            for name, host in site.hosts.items()
        ]
        state = HeldClusters(experiment.name, os.getpid(), endpoints, hosts)
        write_whole(scratch.path / STATE, json.dumps(asdict(state)))
        announce(endpoints)
        raise SystemFailedError(await died, "Correct what its log shows, and call `hydrotest up` again.")


def standing(experiment: Experiment) -> list[HeldClusters]:
    """The held systems of this experiment."""
    found = []
    for path in sorted(scratch_root(experiment).glob(f"{PREFIX}*/{STATE}")):
        with contextlib.suppress(OSError, ValueError):  # it was just taken down
            stated = json.loads(path.read_text())
            state = HeldClusters(**{**stated, "hosts": [HostUp(**host) for host in stated["hosts"]]})
            # A pid alone proves nothing, since another process may have it by now; the lock does.
            if state.experiment == experiment.name and is_owned(path.parent):
                found.append(state)
    return found


def take_down(experiment: Experiment) -> tuple[int, list[Path]]:
    """Ends every `up` of this experiment and removes what killed runs left; returns their number, and the
    folders."""
    held = standing(experiment)
    for one in held:
        os.kill(one.pid, signal.SIGTERM)
    if held:
        try:
            until_here(lambda: not standing(experiment), DOWN, f"process {held[0].pid}", "end", 0.2)
        except OverdueError as error:
            raise RunFailedError(error.message, "End it by hand.") from error
    return len(held), clear_abandoned(scratch_root(experiment))
