"""Offsets between hosts' clocks: they bound the accuracy of latencies between hosts."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hydrotest.hosts.base import Host

EXCHANGES = 20


@dataclass(frozen=True)
class ClockOffset:
    """A host's clock relative to ours."""

    offset_s: float
    """Positive if it is ahead."""
    error_s: float
    """The true offset differs from it by at most this."""


async def clock_offset(host: Host) -> ClockOffset:
    """Asks a host for its time.

    The answer was given between question and arrival, so half the shortest round trip bounds the error
    (F. Cristian, "Probabilistic clock synchronization", 1989).
    """
    node = await host.node("clock", {})
    try:
        found = []
        for _ in range(EXCHANGES):
            asked = time.time()
            await node.command("report")
            stated = float((await node.expect("clock"))["wall_s"])
            heard = time.time()
            found.append(ClockOffset(stated - (asked + heard) / 2, (heard - asked) / 2))
    finally:
        await node.close()
    return min(found, key=lambda offset: offset.error_s)
