"""The clocks of a run's machines.

All wall times of a run are the controller's. Each machine's clock is compared with that of one of them, over the
network that the data takes: what is between two machines depends on these comparisons only. How far that one is
from the controller's clock is known by the connection to its hub, and matters only for the start of a trial.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hydrotest.hosts.base import Host, ask
from hydrotest.hosts.node import Node

EXCHANGES = 20
EXCHANGES_FROM_HERE = 5
"""Before and after each trial, by the connection to a hub: for the start of a trial milliseconds suffice."""
LEAD_S = 0.1
"""From `go` to second 0: by then every generator has received it and its threads are up."""
LEAD_ROUND_TRIPS = 3
"""At least so many times the longest way to a host and back."""


@dataclass(frozen=True)
class ClockOffset:
    """A host's clock relative to another."""

    offset_s: float
    """Positive if it is ahead."""
    error_s: float
    """The true offset differs from it by at most this."""


SAME = ClockOffset(0.0, 0.0)


@dataclass(frozen=True)
class Comparison:
    """All clocks at one moment."""

    by_machine: Mapping[str, ClockOffset] = field(default_factory=dict)
    """Relative to that of one of the machines; empty where there is one machine."""
    reference: ClockOffset = SAME
    """That of the one machine, relative to the controller's."""

    def ahead_s(self, host: Host) -> float:
        """How far a host's clock is ahead of the controller's."""
        return self.reference.offset_s + self.by_machine.get(host.machine, SAME).offset_s

    @property
    def lead_s(self) -> float:
        """Time between `go` and second 0."""
        return max(LEAD_S, LEAD_ROUND_TRIPS * 2 * self.reference.error_s)


@dataclass(frozen=True)
class Compared:
    """The clocks before a trial, by which its times are corrected, and after it."""

    before: Comparison
    after: Comparison

    def error_s(self, machine: str) -> float:
        """By how much a machine's corrected clock may have been wrong at any time of the trial.

        A clock that drifts, or is set, is furthest off at the end.
        """
        first, last = (one.by_machine.get(machine, SAME) for one in (self.before, self.after))
        return max(first.error_s, abs(last.offset_s - first.offset_s) + last.error_s)

    def between_s(self, some: Iterable[Host], others: Iterable[Host]) -> float:
        """By how much a time from one of these hosts to one of the others may be wrong, at most."""
        pairs = [(one.machine, other.machine) for one in some for other in others]
        return max((self.error_s(one) + self.error_s(other) for one, other in pairs if one != other), default=0.0)


class Clocks:
    """Compares the clocks of hosts' machines, as often as asked."""

    def __init__(self, hosts: Iterable[Host] = (), seen: Iterable[Host] = ()) -> None:
        """`seen`: hosts on which nothing may listen, and whose times need not be exact: they are asked by their hubs."""
        # What is on the controller's machine has the controller's clock.
        self._hosts = list({host.machine: host for host in hosts if host.machine}.values())
        known = {host.machine for host in self._hosts}
        self._seen = list({host.machine: host for host in seen if host.machine and host.machine not in known}.values())
        self._node: Node | None = None
        self._address = ""

    async def compare(self) -> Comparison:
        """The clocks now. Raises `TrialFailedError` where one does not answer."""
        if not self._hosts:
            return Comparison(await self._by_hubs())
        reference, *others = self._hosts
        if self._node is None:
            self._address = f"{reference.address}:{await reference.free_port()}"
            self._node = await reference.node("clock", {"listen": self._address if others else None})
        try:
            from_here = await _offset(self._node, EXCHANGES_FROM_HERE)
            asking = [ask(host, "clock-offset", {"of": self._address, "exchanges": EXCHANGES}) for host in others]
            offsets = [ClockOffset(**found) for found in await asyncio.gather(*asking)]
        except BaseException:
            await self.close()  # the next comparison begins anew
            raise
        compared = {host.machine: offset for host, offset in zip(others, offsets, strict=True)}
        seen = {machine: ClockOffset(one.offset_s - from_here.offset_s, one.error_s) for machine, one in (await self._by_hubs()).items()}
        return Comparison(compared | seen, from_here)

    async def _by_hubs(self) -> dict[str, ClockOffset]:
        """The clocks of hosts that are only seen, relative to the controller's."""
        offsets = await asyncio.gather(*(clock_offset(host, EXCHANGES_FROM_HERE) for host in self._seen))
        return {host.machine: offset for host, offset in zip(self._seen, offsets, strict=True)}

    async def close(self) -> str | None:
        """Ends what it has started. Returns the problem, if any."""
        node, self._node = self._node, None
        return None if node is None else await node.close()


async def clock_offset(host: Host, exchanges: int = EXCHANGES) -> ClockOffset:
    """Asks a host for its time, relative to the controller's."""
    node = await host.node("clock", {"listen": None})
    try:
        return await _offset(node, exchanges)
    finally:
        await node.close()


async def _offset(node: Node, exchanges: int) -> ClockOffset:
    """The answer was given between question and arrival, so half the shortest round trip bounds the error
    (F. Cristian, "Probabilistic clock synchronization", 1989)."""
    found = []
    for _ in range(exchanges):
        asked = time.time()
        await node.command("report")
        stated = float((await node.expect("clock"))["wall_s"])
        heard = time.time()
        found.append(ClockOffset(stated - (asked + heard) / 2, abs(heard - asked) / 2))
    return min(found, key=lambda offset: offset.error_s)
