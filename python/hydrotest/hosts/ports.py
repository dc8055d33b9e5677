"""Free TCP ports of this machine, kept for who asked until this process ends."""

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
"""The kernel's default; it leaves room on both sides."""
REMEDY = f"End what listens there, or leave ports to services: sysctl -w {RANGE_SETTING}."
_reserved: dict[int, socket.socket] = {}
"""A port is given once: what asks for several does so before the first is bound."""


def ephemeral_ports() -> range:
    """The ports that the kernel gives to outgoing connections."""
    first, last = (int(word) for word in RANGE.read_text().split())
    return range(first, last + 1)


def safe_ports() -> list[range]:
    """Ports that no outgoing connection takes: those below the kernel's range, then those above it. Empty ones where there are none."""
    ephemeral = ephemeral_ports()
    return [range(FREE_PORT_MIN, ephemeral.start), range(max(FREE_PORT_MIN, ephemeral.stop), PORT_MAX + 1)]


def reserve_port() -> int:
    """A port on which nothing listens and which nothing else takes, a service that may use used addresses (SO_REUSEADDR) excepted. Raises `SystemFailedError`.

    It is kept by a socket that is bound and does not listen: neither an outgoing connection nor another hydrotest gets the port meanwhile. Services bind it all the
    same, since Java, Rust and most others ask for SO_REUSEADDR.
    """
    # Tuned machines give all ports to connections (1024 to 65535): then one of these, of which none is in use just now.
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
            # Without SO_REUSEADDR, so that it fails where anybody has the port, on whatever address.
            holder.bind(("", port))
        except OSError:
            return False
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        closing.pop_all()
    _reserved[port] = holder
    return True
