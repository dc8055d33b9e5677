"""Figures that findings share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

EMULATING_MACHINE = "(machine)"
"""The host's name for the machine that hosts are emulated on. No host has such a name."""


class Resource(StrEnum):
    """A bounded resource of a host."""

    CPU = "cpu"
    DISK = "disk"
    NETWORK = "network"
    MEMORY = "memory"


@dataclass(frozen=True)
class Mean:
    """A mean with its interval (95 % unless stated otherwise) and the number of independent values behind
    it."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Wait:
    """A sign, in addition to use, that a resource was waited for: `sign` as the kernel's counters are named
    in `analysis/bottleneck/use.SIGNS`."""

    sign: str
    value: float
    unit: str | None
    is_shown: bool
    """It was waited for."""


@dataclass(frozen=True)
class Usage:
    """How much of a resource of a host was used."""

    host: str
    resource: str
    share: float | None
    """Share of the ceiling; None if unknown."""
    throttled: float
    """Share of the periods in which a CPU quota throttled the host; 0 without one."""
    waits: tuple[Wait, ...] = ()
    """The signs that a binding resource always shows."""


@dataclass(frozen=True)
class Squeezed:
    """A resource of some hosts, squeezed at once, with the elasticity of the rate to it."""

    hosts: tuple[str, ...]
    resource: str
    elasticity: Mean


@dataclass(frozen=True)
class Gain:
    """Change of the rate in percent, with its interval, with `given` times as much of something."""

    given: float
    change: Mean
