"""What each host of a system needs, by number of hosts: with headroom, and with what may be lost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hydrotest.catalogue.cost import (
    Wanted,
)
from hydrotest.catalogue.machine import Machine
from hydrotest.predict.basis import Basis
from hydrotest.predict.gates import inseparable

HOSTS_MAX = 100
"""Of one system."""
ZONES_MAX = 10
RESOURCES = ("cpu", "network", "disk")
LAW = "law"
"""No resource: what the runs show of what loads take."""
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Ask:
    """What is needed, and of what it may be made."""

    needs: Mapping[str, float]
    """Operations a second, by workload."""
    machines: Sequence[Machine]
    wanted: Wanted = field(default_factory=Wanted)
    headroom: float = 0.3
    """So much more than the need must be carried."""
    lost: str = "host"
    """What may be lost with the need still carried: `none`, `host`, or `zone`."""
    zones: int = 3
    retain_s: float = 0.0
    """How long records are kept."""
    may_share: bool = True
    """Systems may be on the same hosts."""
    may_be_far: bool = False
    """Machines may have more than four times the cores that were measured."""
    speed: float = 1.0
    """Of a vCPU, as a multiple of a core that was measured."""
    top: int = 10
    """At most `TOP_MAX`."""
    groups: Mapping[str, float] = field(default_factory=dict)
    """Consumer groups that read each record of a workload."""


class Needs(NamedTuple):
    """What each host of a system needs, by number of hosts: index 0 is one host."""

    cores: Values
    link: Values
    """Bytes a second, each way."""
    written: Values
    """Bytes a second to disks."""
    stored: Values
    """Bytes that are kept."""
    unknown: Values
    """1 where the law does not show what it takes of the CPU on so many hosts."""

    def of(self, resource: str) -> Values:
        """One of `RESOURCES`."""
        return {"cpu": self.cores, "network": self.link, "disk": self.written}[resource]


@dataclass(frozen=True)
class Sized:
    """One system, or several on the same hosts, with what they need."""

    names: tuple[str, ...]
    least: int
    """Hosts at least: as many as there are copies."""
    full: float
    """Share of the cores that can be used."""
    memory: float
    """Bytes that each host must have: as those that were measured."""
    had: frozenset[str]
    """Hosts that it was measured on."""
    data_share: Values
    """Bytes that reads go to, which must fit into memory; by number of hosts."""
    hosts_measured: int
    """The most hosts that it was measured on."""
    cores_measured: float
    """The most that a host was measured with."""
    needs: Needs
    """With headroom, and with what is lost."""
    bare: Needs
    """The need itself."""


def sized_of(bases: Sequence[Basis], ask: Ask, *, is_shared: bool = False) -> Sized:
    """Of the workloads of one system. `is_shared`: others are on its hosts, who do without the cores that it uses and does not need."""
    more = {one.name: ask.needs[one.name] * (1 + ask.headroom) for one in bases}
    counts = np.arange(1, HOSTS_MAX + 1)
    with_headroom, bare = (_needs(bases, rates, ask, counts, is_shared=is_shared) for rates in (more, ask.needs))
    left = {"none": counts, "host": counts - 1, "zone": counts - np.ceil(counts / ask.zones).astype(int)}[ask.lost]
    # A host that is lost does not take its data with it: what it kept is kept by others, too.
    after = Needs(*(np.where(left >= 1, values[np.maximum(left, 1) - 1], np.inf) for values in bare))
    needs = Needs(*(np.maximum(one, other) for one, other in zip(with_headroom, after, strict=True)))
    points = [point for one in bases for point in one.body.points]
    copies = max(one.spec.copies for one in bases)
    first = bases[0].first
    return Sized(
        (bases[0].system,), max(copies, 1 if ask.lost == "none" else 2), min(one.usable for one in bases), bases[0].has.memory or 0.0,
        frozenset(first.experiment.systems.present()[bases[0].system].hosts), np.array([sum(one.law.data_bytes(one.spec, int(n)) for one in bases) for n in counts]),
        max(point.source.hosts for point in points), max(point.seen.has.cores for point in points), needs, bare,
    )  # fmt: skip


def _needs(bases: Sequence[Basis], rates: Mapping[str, float], ask: Ask, counts: npt.NDArray[np.int64], *, is_shared: bool) -> Needs:
    rows = np.array([_need(bases, rates, ask, int(count), is_shared=is_shared) for count in counts])
    return Needs(*rows.T)


def uses_at(bases: Sequence[Basis], times: float, has: Mapping[str, float], ask: Ask, hosts: int) -> dict[str, float]:
    """Use of each resource of each host, while all needs are so many times what they are: of systems on the same hosts together. Where the
    runs do not show what that takes, `LAW` is used without end."""
    rates = {name: rate * times for name, rate in ask.needs.items()}
    systems = {one.system for one in bases}
    rows = [_need([one for one in bases if one.system == name], rates, ask, hosts, is_shared=len(systems) > 1) for name in systems]
    cores, link, written = (sum(row[at] for row in rows) for at in range(3))
    found = {name: value / has[name] for name, value in zip(RESOURCES, (cores, link, written), strict=True)}
    return found | {LAW: math.inf if any(row[4] for row in rows) else 0.0}


def _need(
    bases: Sequence[Basis], rates: Mapping[str, float], ask: Ask, hosts: int, *, is_shared: bool
) -> tuple[float, float, float, float, float]:
    """Of each host, by the law: what is fixed once, and what each workload does."""
    cores, link_in, link_out, written, stored = max(one.body.demands.fixed for one in bases), 0.0, 0.0, 0.0, 0.0
    unknown = False
    for one in bases:
        rate, body = rates[one.name], one.body
        # On fewer hosts than copies each has one: the others wait until there are more again.
        work = one.work(rate, hosts, on_busiest=True)
        unknown = unknown or inseparable(body, work.drivers, one.has.cores) is not None
        cores += body.demands.cores(work.drivers) - body.demands.fixed
        link_in, link_out = link_in + work.into * body.into, link_out + work.out * body.out
        written += work.written * body.written
        # What is kept is what is written, once for each copy; copies are spread more evenly than what is led.
        kept = one.work(rate, hosts).written * one.law.kept_share(one.spec)
        stored += one.law.data_bytes(one.applied.on(hosts).spec, hosts) + kept * ask.retain_s
    if is_shared:
        cores = max([cores, *(one.seen_cores(rates[one.name], hosts) for one in bases)])
    return cores / ask.speed, max(link_in, link_out), written, stored, float(unknown)


def on_same_hosts(alone: Sequence[Sized]) -> Sized:
    """Several systems on the same hosts, each with what it is there (`sized_of`, shared)."""

    def total(of: Sequence[Needs]) -> Needs:
        return Needs(*(np.sum(values, axis=0) for values in zip(*of, strict=True)))

    # Systems that were measured on the same hosts had the same memory.
    memory = {one.had: one.memory for one in alone}
    return Sized(
        tuple(name for one in alone for name in one.names), max(one.least for one in alone), min(one.full for one in alone), sum(memory.values()),
        frozenset().union(*(one.had for one in alone)), np.sum([one.data_share for one in alone], axis=0), max(one.hosts_measured for one in alone),
        max(one.cores_measured for one in alone), total([one.needs for one in alone]), total([one.bare for one in alone]),
    )  # fmt: skip
