"""Where a monitored machine's readings come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hydrotest.hosts.monitored.node_exporter import HostHardware

Reading = dict[str, Any]
"""As a `sample` event of rust/node/src/sample.rs, with the controller's wall time."""


def reading(wall_s: float, host: dict[str, int], gauges: dict[str, dict[str, float]]) -> Reading:
    """One reading: a host's counters, or its services' gauges. What looking costs there is not known."""
    return {"wall_s": wall_s, "host": host, "services": {}, "gauges": gauges, "gauge_errors": {}, "speed_ns": [], "sampler_cpu_us": 0}


@dataclass(frozen=True)
class Known:
    """What is known of a machine before a run."""

    hardware: HostHardware
    every_s: float
    """Time between two readings."""
    gauges: tuple[str, ...]
    """The gauges inside its services that are seen."""


class Source(Protocol):
    """One machine's readings."""

    async def known(self) -> Known:
        """What the machine is, and what is seen of it. Raises `BadInputError` where nothing is, with the remedy."""
        ...

    async def follow(self, add: Callable[[Reading], None], warn: Callable[[str], None]) -> None:
        """Adds readings as they come, until it is cancelled. `warn`: what cannot be read, once for each time that it begins."""
        ...

    async def kept(self, begin_s: float, end_s: float) -> Sequence[Reading]:
        """Readings of that time which `follow` has not added. Raises `TrialFailedError` where they cannot be had."""
        ...
