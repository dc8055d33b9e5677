"""Whether machines reach each other at the ports that their services may use; by the way, how their clocks differ."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import permutations

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import ask
from hydrotest.hosts.clocks import ClockOffset
from hydrotest.hosts.deadlines import Patience
from hydrotest.hosts.remote.host import RemoteHost

EXCHANGES = 5
REACHED = Patience.of(a_connection_or_its_refusal=20.0)


@dataclass(frozen=True)
class Unreached:
    """A machine that does not reach another one, or whose address is not its own."""

    one: str
    other: str | None
    """None: it cannot listen at its own address."""
    why: str
    remedy: str


@dataclass(frozen=True)
class Reach:
    """What machines reach of each other."""

    unreached: list[Unreached]
    clocks_apart_s: float = 0.0
    """The most that two clocks differ by, with the error of that."""


async def reach_of(hosts: Mapping[str, RemoteHost]) -> Reach:
    """Each machine listens at a port of its range for a moment, and each other one connects to it."""
    if len(hosts) < 2:
        return Reach([])
    async with AsyncExitStack() as ending:
        found = await asyncio.gather(*(_listen(host, ending) for host in hosts.values()))
        refused = [one for one in found if isinstance(one, Unreached)]
        if refused:
            return Reach(refused)
        listening = {name: of for name, of in zip(hosts, found, strict=True) if isinstance(of, str)}
        pairs = list(permutations(hosts, 2))
        answers = await asyncio.gather(*(_between(hosts[one], listening[other]) for one, other in pairs))
    failed = [
        Unreached(one, other, answer, f"Let TCP to the ports {_range(hosts[other])} of {hosts[other].address} pass.")
        for (one, other), answer in zip(pairs, answers, strict=True)
        if isinstance(answer, str)
    ]
    apart = [abs(answer.offset_s) + answer.error_s for answer in answers if isinstance(answer, ClockOffset)]
    return Reach(failed, max(apart, default=0.0))


async def _listen(host: RemoteHost, ending: AsyncExitStack) -> str | Unreached:
    """Where a clock listens there, until the end."""
    of = f"{host.address}:{await host.free_port()}"
    node = await host.node("clock", {"listen": of})
    ending.push_async_callback(node.close)
    try:
        await node.command("report")
        await node.expect("clock")
    except (TrialFailedError, OSError) as error:
        return Unreached(host.name, None, str(error), f"{host.address} must be an address of {host.name} itself.")
    return of


async def _between(host: RemoteHost, of: str) -> ClockOffset | str:
    try:
        return ClockOffset(**await ask(host, "clock-offset", {"of": of, "exchanges": EXCHANGES}, REACHED))
    except TrialFailedError as error:
        return error.message


def _range(host: RemoteHost) -> str:
    first, last = host.spec.ports
    return f"{first} to {last}"
