"""Systems on a site's hosts: started, watched, stopped and removed, in a safe order."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hydrotest.errors import BadInputError, TrialFailedError
from hydrotest.hosts.base import Host
from hydrotest.hosts.catalogue import HostPool
from hydrotest.hosts.clocks import Clocks
from hydrotest.hosts.deadlines import cancelled
from hydrotest.hosts.remote.host import RemoteHost
from hydrotest.hosts.remote.reach import reach_of
from hydrotest.run.lifecycle.events import Listener
from hydrotest.run.lifecycle.fetching import fetch_file
from hydrotest.run.lifecycle.sampling import Sampling
from hydrotest.run.lifecycle.scratch import Scratch
from hydrotest.run.lifecycle.teardown import Teardown
from hydrotest.spec.attach import attached, only_seen
from hydrotest.spec.check import memory_needed
from hydrotest.spec.choice import narrowed
from hydrotest.spec.models import Experiment
from hydrotest.systems.base import System
from hydrotest.systems.service import RunningService
from hydrotest.units import show_bytes


async def start_systems(
    site: HostPool, systems: Mapping[str, System], listener: Listener, started: Callable[[System, float], None], teardown: Teardown
) -> None:
    """Starts all at once, since none needs another and most of a start is waiting; before that, what others of the same system wait for.

    `started` gets each one with its start-up time in seconds. `teardown` stops them. Raises
    `SystemFailedError` when one does not start; the other starts are cancelled then.
    """
    head_s: dict[System, float] = {}

    async def start_head(system: System) -> None:
        begin = time.monotonic()
        await system.start_head(listener.say)
        head_s[system] = time.monotonic() - begin

    async def start(system: System) -> None:
        begin = time.monotonic()
        await system.start(listener.say)
        started(system, head_s[system] + time.monotonic() - begin)

    with site.without_cpu_quota():
        listener.phase(f"starting {', '.join(systems)}")
        teardown.add("stopping the systems", partial(_stop_all, site, list(systems.values())))
        for step in (start_head, start):
            await _all_or_none(step(system) for system in systems.values())


async def _all_or_none(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """At once; where one fails the others are cancelled."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def check_memory_there(experiment: Experiment, site: HostPool) -> None:
    """Raises `BadInputError` where another machine has less memory than is needed there: only now it is known."""
    for name, needed in memory_needed(experiment).items():
        host = site.hosts[name]
        there = (await host.facts()).memory_bytes if host.machine else needed
        if there < needed:
            raise BadInputError(f"{name} needs {show_bytes(needed)} of memory, and has {show_bytes(there)}", "Make a heap there smaller.")


async def check_reach(experiment: Experiment, site: HostPool) -> None:
    """Raises `BadInputError` where one of the machines does not reach another one: before anything is started there."""
    seen = only_seen(experiment)
    there = {name: found for name, host in site.hosts.items() if name not in seen and (found := narrowed(host, RemoteHost)) is not None}
    unreached = (await reach_of(there)).unreached
    if unreached:
        who = "; ".join(f"{one.one}{f' does not reach {one.other}' if one.other else ''}: {one.why}" for one in unreached)
        raise BadInputError(who, " ".join(dict.fromkeys(one.remedy for one in unreached)))


def watch_connections(site: HostPool, teardown: Teardown, on_loss: Callable[[str, str], None]) -> None:
    """Calls `on_loss` with a host's name and the reason each time that it cannot be reached any more; until `teardown`.

    What runs there ends by itself, and nobody else can say so.
    """

    async def watch(host: Host) -> None:
        while True:
            on_loss(host.name, await host.until_lost())
            await host.until_reopened()

    watching = [asyncio.create_task(watch(host)) for host in site.hosts.values()]

    async def stop() -> Sequence[str]:
        return [str(error) for task in watching if (error := await cancelled(task)) is not None]

    teardown.add("watching the connections", stop)


def spared_hosts(experiment: Experiment, systems: Mapping[str, System], hosts: Mapping[str, Host]) -> set[str]:
    """Hosts of generators only, on machines of their own: their loss costs a trial. Beside a cluster that others use any loss ends
    the run."""
    if attached(experiment):
        return set()
    serving = {host.machine for system in systems.values() for host in system.hosts}
    return {name for name, host in hosts.items() if host.machine and host.machine not in serving}


def linked_hosts(experiment: Experiment) -> list[str]:
    """The hosts that reach the others by a link, not by loopback."""
    return [name for name, host in experiment.hosts.items() if host.reach != "loopback"]


def watched_clocks(site: HostPool, teardown: Teardown, experiment: Experiment) -> Clocks:
    """The clocks of all hosts, until `teardown`."""
    seen = only_seen(experiment)
    clocks = Clocks([host for name, host in site.hosts.items() if name not in seen], [site.hosts[name] for name in sorted(seen)])

    async def close() -> Sequence[str]:
        return [problem] if (problem := await clocks.close()) is not None else []

    teardown.add("stopping the clocks", close)
    return clocks


async def watch_services(sampling: Sampling, systems: Mapping[str, System]) -> None:
    """Has all their services sampled."""
    for system in systems.values():
        for service in system.services:
            await sampling.watch(service.host.name, service.name, service.pid, service.gauges_url)


async def _stop_all(site: HostPool, systems: Sequence[System]) -> Sequence[str]:
    """Stops all at once, as they were started. Returns the problems of each, with its name."""
    found = await asyncio.gather(*(_stop(site, system) for system in systems), return_exceptions=True)
    problems = [[f"{type(one).__name__}: {one}"] if isinstance(one, BaseException) else one for one in found]
    return [f"{system.name}: {problem}" for system, own in zip(systems, problems, strict=True) for problem in own]


async def _stop(site: HostPool, system: System) -> Sequence[str]:
    """Stops a system, with all of the machine's cores where its hosts can get them. Returns the problems."""
    problems: list[str] = []
    block = contextlib.ExitStack()
    try:
        block.enter_context(site.without_cpu_quota())
    except OSError as error:  # a host's group that is gone, or cannot be written to, does not keep the system from stopping
        problems.append(f"its hosts keep their quotas: {error}")
    services = list(system.services)
    problems += await system.stop()
    problems += [problem for service in services if (problem := await _fetch_log(service, system)) is not None]
    try:
        block.close()
    except OSError as error:
        problems.append(f"its hosts do not have their quotas again: {error}")
    return problems


async def _fetch_log(service: RunningService, system: System) -> str | None:
    """Brings a log of another machine into the run folder. Returns the problem, if any."""
    try:
        await fetch_file(service.host, service.log, Path(system.logs))
    except (OSError, TrialFailedError) as error:
        return f"the log of {service.name} stays on {service.host.name}: {error}"
    return None


async def remove_data(scratch: Scratch) -> Sequence[str]:
    """Removes all data of stopped systems; returns what could not be removed."""
    if not scratch.path.exists():
        return []
    try:
        scratch.remove()
    except OSError as error:
        return [f"{scratch.path} stays ({error}); `hydrotest down` removes it later"]
    return []
