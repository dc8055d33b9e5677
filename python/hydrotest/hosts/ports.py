"""Free TCP ports of a host, kept by its hub until the run ends."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from hydrotest.errors import SystemFailedError

FREE_PORT_MIN = 15_000
PORT_MAX = 65_535
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""The ports that the kernel gives to outgoing connections, the first and the last."""
RANGE_SETTING = "net.ipv4.ip_local_port_range='32768 60999'"
"""The kernel's default; it leaves ports free on both sides."""
REMEDY = f"End what listens there, or leave ports to services: sysctl -w {RANGE_SETTING}."


def ephemeral_ports(text: str | None = None) -> range:
    """The ports that the kernel gives to outgoing connections: of this machine, or by the text of `RANGE`."""
    first, last = (int(word) for word in (RANGE.read_text() if text is None else text).split())
    return range(first, last + 1)


def safe_ports(ephemeral: range) -> list[range]:
    """Ports that no outgoing connection takes: those below the kernel's range, then those above it.

    Empty ones where there are none.
    """
    return [range(FREE_PORT_MIN, ephemeral.start), range(max(FREE_PORT_MIN, ephemeral.stop), PORT_MAX + 1)]


async def free_among(ranges: Sequence[range], reserve: Callable[[int], Awaitable[bool]]) -> int:
    """A port of a host on which nothing listens and which no other process takes, of the first range that has one.

    `reserve` keeps one there, or returns false. Raises `SystemFailedError`.
    """
    for candidates in ranges:
        for port in random.sample(candidates, len(candidates)):
            if await reserve(port):
                return port
    tried = ", ".join(f"{one.start} to {one.stop - 1}" for one in ranges if one)
    raise SystemFailedError(f"no port is free: {tried}", REMEDY)
