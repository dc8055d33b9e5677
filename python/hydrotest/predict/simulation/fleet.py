"""The hosts of a scenario as arrays: what each has, what it has left of its bursts, and what is on its disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hydrotest.analysis.demand.windows import Ceilings
from hydrotest.catalogue.cost import volume_b_s
from hydrotest.catalogue.machine import Machine
from hydrotest.predict.simulation.scenario import HostGroup
from hydrotest.spec.hosts import PAYLOAD

NETWORK_BURST_S = 1200.0
"""How long a link of a type carries its peak, from full: the clouds do not publish it. Assumed."""
DISK_BURST_S = 1800.0
"""The same of disks that are reached by the network: once a day for half an hour at least, as AWS says of its smaller types."""
EPSILON_BYTES = 1e-6

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Hosts = npt.NDArray[np.int64]
"""Indices of hosts."""


@dataclass
class Bucket:
    """A burst: more than what is sustained, until it is spent."""

    base: Values
    """What is had for as long as one likes, a second; without a bound infinite."""
    peak: Values
    """What is had while there is something left."""
    size: Values
    """What may be had beyond `base` at most, in all."""
    left: Values

    def ceiling(self, seconds: float) -> Values:
        """What may be used on average over the next seconds, without taking more than is left."""
        found: Values = np.minimum(self.peak, self.base + self.left / seconds)
        return found

    def use(self, used: Values, seconds: float) -> None:
        """What was used of it, a second."""
        gain = np.where(np.isfinite(self.base), self.base, 0.0) - np.where(np.isfinite(self.base), used, 0.0)
        self.left = np.clip(self.left + gain * seconds, 0.0, self.size)

    def lasts(self, used: Values) -> float:
        """Seconds until the first that is in use is spent; infinite if none will be."""
        drain = np.where(np.isfinite(self.base), used - self.base, 0.0)
        spending = (drain > 0) & (self.left > 0)
        return float((self.left[spending] / drain[spending]).min()) if spending.any() else np.inf

    @property
    def spent(self) -> Flags:
        """Hosts that had a burst and have none left."""
        found: Flags = (self.size > 0) & (self.left <= 1e-9 * self.size)
        return found

    @classmethod
    def of(cls, base: Values, peak: Values, size: Values) -> Bucket:
        """Full."""
        return cls(base, peak, size, size.copy())


@dataclass
class Fleet:
    """All hosts, group after group, with room for those that are added."""

    names: list[str]
    groups: Mapping[str, Hosts]
    """Indices of each group, also of hosts that do not exist yet."""
    zones: Hosts
    exists: Flags
    up: Flags
    cores: Bucket
    link: Bucket
    """Bytes a second each way."""
    disk: Bucket
    """Bytes a second written."""
    size: Values
    """Bytes of the disk; infinite where there is none to fill."""
    stored: Values
    """Bytes on it."""
    missing: Values
    """Bytes that its copies lack."""
    fetches: Values
    """Bytes a second at which a new host gets its share; infinite where nothing was said."""

    @property
    def buckets(self) -> dict[str, Bucket]:
        """By resource."""
        return {"cpu": self.cores, "network": self.link, "disk": self.disk}


def group_has(group: HostGroup, machine: Machine | None, measured: Ceilings, speed: float) -> dict[str, tuple[float, float, float]]:
    """Of each host: what it sustains, its peak, and how much of it there is, by resource. Cores are of those that were measured."""
    cores = (measured.cores if group.cores is None else group.cores,) * 2 + (0.0,)
    link = (measured.link or np.inf,) * 2 + (0.0,)
    disk = (measured.disk or np.inf,) * 2 + (0.0,)
    if machine is not None:
        vcpus = (machine.vcpus or 0) * speed
        base = vcpus * (machine.cpu_baseline if machine.cpu_baseline is not None else 1.0)
        # A credit is a minute of a vCPU.
        cores = (base, vcpus, (machine.credits_max or 0.0) * 60.0 * speed)
        sustained, peak = machine.link_bit_s or np.inf, machine.net_peak_bit_s or np.inf
        link = _burst(_payload(sustained), _payload(max(sustained, peak)), NETWORK_BURST_S)
        has_own = bool(machine.local_disks)
        base_b_s, peak_b_s = (np.inf if one is None else one for one in map(volume_b_s, (machine.disk_base_b_s, machine.disk_peak_b_s)))
        disk = (np.inf, np.inf, 0.0) if has_own else _burst(base_b_s, peak_b_s, DISK_BURST_S)
    if group.network is not None:
        link = (_payload(group.network), _payload(group.network), 0.0)
    if group.burst is not None:
        link = (link[0], _payload(group.burst.network), group.burst.size * PAYLOAD)
    if group.disk is not None and group.disk.speed is not None:
        # Neither the disk nor the machine's way to it may be full.
        speed_b_s = group.disk.speed / 8
        disk = (min(disk[0], speed_b_s), min(disk[1], speed_b_s), disk[2] if disk[0] < speed_b_s else 0.0)
    return {"cores": cores, "link": link, "disk": disk}


def _payload(bits_per_s: float) -> float:
    return bits_per_s / 8 * PAYLOAD


def _burst(base: float, peak: float, seconds: float) -> tuple[float, float, float]:
    return (base, peak, (peak - base) * seconds) if np.isfinite(peak) and peak > base else (base, base, 0.0)


def fleet_of(
    groups: Mapping[str, HostGroup], room: Mapping[str, int], has: Mapping[str, Mapping[str, tuple[float, float, float]]]
) -> Fleet:
    """All of them up. `room`: hosts that may be added, by group; `has`: see `group_has`."""
    names: list[str] = []
    at: dict[str, Hosts] = {}
    zones: list[int] = []
    exists: list[bool] = []
    rows: dict[str, list[tuple[float, float, float]]] = {"cores": [], "link": [], "disk": []}
    size: list[float] = []
    for name, group in groups.items():
        count = group.count + room.get(name, 0)
        at[name] = np.arange(len(names), len(names) + count)
        names += [f"{name}-{index}" for index in range(count)]
        zones += [index % group.zones for index in range(count)]
        exists += [index < group.count for index in range(count)]
        for resource, kept in rows.items():
            kept.extend([has[name][resource]] * count)
        size += [np.inf if group.disk is None else float(group.disk.size)] * count
    there = np.array(exists)
    buckets = {resource: Bucket.of(*np.array(own).T) for resource, own in rows.items()}
    zeros = np.zeros(len(names))
    return Fleet(names, at, np.array(zones), there, there.copy(), buckets["cores"], buckets["link"], buckets["disk"], np.array(size),
                 zeros.copy(), zeros.copy(), zeros + np.inf)  # fmt: skip
