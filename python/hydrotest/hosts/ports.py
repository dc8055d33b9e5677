"""Free TCP ports of this machine, reserved until this process ends."""

from __future__ import annotations

import contextlib
import random
import socket
from pathlib import Path

from hydrotest.errors import SystemFailedError

FREE_PORT_MIN = 15_000
PORT_MAX = 65_535
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""The ports that the kernel gives to outgoing connections, the first and the last."""
RANGE_SETTING = "net.ipv4.ip_local_port_range='32768 60999'"
"""The kernel's default; it leaves ports free on both sides."""
REMEDY = f"End what listens there, or leave ports to services: sysctl -w {RANGE_SETTING}."
_reserved: dict[int, socket.socket] = {}
"""Each port is given once: a caller may ask for several before it binds the first."""


def ephemeral_ports() -> range:
    """The ports that the kernel gives to outgoing connections."""
    first, last = (int(word) for word in RANGE.read_text().split())
    return range(first, last + 1)


def safe_ports() -> list[range]:
    """Ports that no outgoing connection takes: those below the kernel's range, then those above it.

    Empty ones where there are none.
    """
    ephemeral = ephemeral_ports()
    return [range(FREE_PORT_MIN, ephemeral.start), range(max(FREE_PORT_MIN, ephemeral.stop), PORT_MAX + 1)]


def reserve_port() -> int:
    """A port on which nothing listens and which no other process takes. Raises `SystemFailedError`.

    A bound socket that does not listen keeps it: neither an outgoing connection nor another hydrotest gets
    the port meanwhile. Only a service with SO_REUSEADDR can bind it, which Java, Rust and most others
    ask for.
    """
    # Tuned machines give all ports to connections (1024 to 65535): then one of these that is unused at the
    # moment.
    for candidates in [*safe_ports(), ephemeral_ports()]:
        ports = [port for port in candidates if port >= FREE_PORT_MIN and port not in _reserved]
        for port in random.sample(ports, len(ports)):
            if _reserve(port):
                return port
    raise SystemFailedError(f"no port between {FREE_PORT_MIN} and {PORT_MAX} is free", REMEDY)


def _reserve(port: int) -> bool:
    with contextlib.ExitStack() as closing:
        holder = closing.enter_context(socket.socket())
        try:
            # Without SO_REUSEADDR, so that it fails where any process has the port, on whatever address.
            holder.bind(("", port))
        except OSError:
            return False
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        closing.pop_all()
    _reserved[port] = holder
    return True
