"""Systems on a site's hosts: started, watched, stopped and cleared away, in the order in which that is safe."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from hydrotest.hosts.catalogue import Site
from hydrotest.run.events import Listener
from hydrotest.run.sampling import Sampling
from hydrotest.run.scratch import Scratch
from hydrotest.systems.base import System


async def start_systems(site: Site, systems: Mapping[str, System], listener: Listener, started: Callable[[System, float], None]) -> None:
    """Starts all at once, since none needs another and most of a start is waiting; `started` hears of each, with the seconds that it took.
    Raises `SystemFailedError` when one does not start; the others are no longer being started then."""

    async def start(system: System) -> None:
        begin = time.monotonic()
        await system.start(listener.say)
        started(system, time.monotonic() - begin)

    with site.unhurried():
        listener.phase(f"starting {', '.join(systems)}")
        starts = [asyncio.create_task(start(system)) for system in systems.values()]
        try:
            await asyncio.gather(*starts)
        finally:
            for task in starts:
                task.cancel()
            await asyncio.gather(*starts, return_exceptions=True)


async def watch_services(sampling: Sampling, systems: Mapping[str, System]) -> None:
    """Has all their services sampled."""
    for system in systems.values():
        for service in system.services:
            await sampling.watch(service.host.name, service.name, service.pid, service.gauges_url)


async def stop_systems(site: Site, systems: Mapping[str, System], listener: Listener) -> None:
    """Stops each, the last one first, then removes the site; says what went wrong, and goes on."""
    with site.unhurried():
        for system in reversed(list(systems.values())):
            for problem in await system.stop():
                listener.say(f"while stopping {system.name}: {problem}")
    for problem in await site.clear():
        listener.say(f"while removing the lab: {problem}")


def remove_data(scratch: Scratch, listener: Listener) -> None:
    """Removes all that stopped systems kept; says what resists."""
    try:
        scratch.remove()
    except OSError as error:
        listener.say(f"{scratch.path} could not be removed ({error}); `hydrotest down` does it later")
