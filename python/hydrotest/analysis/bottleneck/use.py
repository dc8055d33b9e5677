"""Use of each resource of a host over some time, with its ceiling, and the signs that something waited for
it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from hydrotest.verdicts.figures import Usage, Wait

NEAR_CEILING = 0.85
"""A resource used beyond this share of its ceiling at the limit is a suspect: it may bind, which a squeeze can
prove. Less than `FULL_MIN`, since a resource binds before its mean use is full."""
FAR_FROM_CEILING = 0.60
"""Below this share it is ruled out."""
THROTTLED_MIN = 0.50
"""A CPU quota that throttled its host in this share of its periods is a suspect, whatever its mean use: at a
short period 80 % of a quota was used with all periods throttled."""
FULL_MIN = 0.95
"""From this share of its ceiling on a resource has no measurable headroom. That is more than a suspicion
(`NEAR_CEILING`): it stands in for a relief that was not measured."""
HELD_BACK_MIN = 0.9
"""The same for a CPU quota: the share of its periods in which it throttled its host."""


@dataclass(frozen=True)
class Sign:
    """A sign, in addition to use, that a resource was waited for or ran short."""

    name: str
    """The counter's name: a column of `host_rates`."""
    value: float
    unit: str | None
    least: float
    """From this value on it shows a shortage."""
    is_sure: bool = False
    """True if a resource that binds always shows it."""

    @property
    def shows(self) -> bool:
        """True if something waited."""
        return self.value >= self.least


SIGNS: dict[str, list[tuple[str, str | None, float, bool]]] = {
    "cpu": [("pressure_cpu_some", None, 0.1, True), ("run_delay", "on average", 0.5, False)],
    "disk": [("pressure_io_some", None, 0.1, True), ("disk_busy", None, 0.5, False), ("disk_wait", "on average", 1.0, False)],
    "network": [
        ("tcp_retransmits_per_s", "/s", 1.0, False),
        ("net_drops_per_s", "/s", 1.0, False),
        ("queue_drops_per_s", "/s", 1.0, False),
    ],
    "memory": [
        ("pressure_memory_some", None, 0.1, False),
        ("swapped_pages_per_s", "/s", 1.0, False),
        ("major_faults_per_s", "/s", 10.0, False),
        ("memory_dirty_bytes", "bytes", math.inf, False),
    ],
}
"""By resource: column of `host_rates`, unit (None: a share), the value from which it shows a shortage, and
whether what binds always shows it. The columns are the kernel's own (/proc/pressure, schedstat, diskstats,
snmp, net/dev, vmstat, meminfo). For an emulated host they come from its control groups, and its queues' by
netlink. `report/wording/binding.py` has their names in a report."""


@dataclass(frozen=True)
class Use:
    """One resource of one host at the limit."""

    resource: str
    host: str
    used: float
    ceiling: float | None
    unit: str
    throttled: float | None = None
    """The share of periods in which a CPU quota throttled the host; None without a quota."""
    signs: tuple[Sign, ...] = ()

    @property
    def share(self) -> float | None:
        """Share of the ceiling; None without one."""
        return self.used / self.ceiling if self.ceiling else None

    @property
    def fullness(self) -> float:
        """The used share of its ceiling, or of its quota's periods, whichever is more; comparable with
        others'."""
        return max(self.share or 0.0, self.throttled or 0.0)

    @property
    def nearness(self) -> float:
        """How near it is to being a suspect, as a share of what makes it one: from 1 on it is."""
        return max((self.share or 0.0) / NEAR_CEILING, (self.throttled or 0.0) / THROTTLED_MIN)

    @property
    def is_near(self) -> bool:
        """True if it may be what binds."""
        return (self.share is not None and self.share >= NEAR_CEILING) or (self.throttled or 0.0) >= THROTTLED_MIN

    @property
    def is_full(self) -> bool:
        """True if it has no headroom."""
        return (self.share or 0.0) >= FULL_MIN or (self.throttled or 0.0) >= HELD_BACK_MIN

    @property
    def denied_by(self) -> list[Sign]:
        """Signs that would show if it bound, none of which does. Empty if one does, or if none was read."""
        is_waited_for = (self.throttled or 0.0) >= THROTTLED_MIN or any(sign.shows for sign in self.signs)
        return [] if is_waited_for else [sign for sign in self.signs if sign.is_sure]

    @property
    def is_far(self) -> bool:
        """True if it can be ruled out."""
        return self.share is not None and self.share < FAR_FROM_CEILING and not self.is_near

    @property
    def usage(self) -> Usage:
        """For a finding."""
        waits = tuple(Wait(sign.name, sign.value, sign.unit, sign.shows) for sign in self.signs if sign.is_sure)
        return Usage(self.host, self.resource, self.share, self.throttled or 0.0, waits)


def resource_uses(host: str, rates: pl.DataFrame, ceilings: Mapping[str, float]) -> list[Use]:
    """Mean use of each of a host's resources over some readings."""
    if rates.is_empty():
        return []

    def mean(column: str) -> float:
        value = rates[column].mean()
        return float(value) if isinstance(value, (int, float)) else 0.0

    def known(column: str) -> float | None:
        value = rates[column].mean() if column in rates.columns else None
        return float(value) if isinstance(value, int | float) else None

    memory = rates["memory_bytes"].max()
    throttled = known("cpu_throttled")
    uses = [
        Use("cpu", host, mean("cpu_cores"), ceilings.get("cpu_cores"), "cores", throttled),
        _disk_use(host, mean("disk_write_bytes_per_s"), mean("disk_read_bytes_per_s"), ceilings),
        _link_use(host, mean("network_out_bytes_per_s"), mean("network_in_bytes_per_s"), ceilings),
        Use("memory", host, float(memory) if isinstance(memory, (int, float)) else 0.0, ceilings.get("memory_bytes"), "bytes"),
    ]
    return [
        replace(use, signs=tuple(
            Sign(column, value, unit, least, is_sure)
            for column, unit, least, is_sure in SIGNS[use.resource] if (value := known(column)) is not None
        ))
        for use in uses
    ]  # fmt: skip


OUT, IN, EITHER = "bytes/s out", "bytes/s in", "bytes/s each way"
BOTH_MIN = 0.8
"""Share of the traffic one way from which a link is as busy the other way."""


def _link_use(host: str, out: float, back: float, ceilings: Mapping[str, float]) -> Use:
    """Use of a link. It carries as much in each direction: the busier one binds, and its unit names it."""
    unit = EITHER if min(out, back) >= BOTH_MIN * max(out, back) else OUT if out > back else IN
    return Use("network", host, max(out, back), ceilings.get("network_bytes_per_s"), unit)


def _disk_use(host: str, written: float, read: float, ceilings: Mapping[str, float]) -> Use:
    """Use of a disk. It has a ceiling in each direction: the one nearer to its own binds."""
    writes = Use("disk", host, written, ceilings.get("disk_write_bytes_per_s"), "bytes/s written")
    reads = Use("disk", host, read, ceilings.get("disk_read_bytes_per_s"), "bytes/s read")
    return reads if (reads.share or 0.0) > (writes.share or 0.0) else writes
