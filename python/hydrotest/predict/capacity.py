"""Where a system is full: the rate at which each resource of its hosts is, and what more of it would bring."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from scipy.optimize import brentq

from hydrotest.analysis.demand.body import Applied, Body
from hydrotest.analysis.demand.windows import Ceilings
from hydrotest.predict.answer import Bind, Price, Twice, Use
from hydrotest.verdicts.figures import Resource

RATE_MAX = 1e12
LEAST, GROWTH, PRECISION = 1e-6, 32.0, 1e-12
GBIT_S = 1e9 / 8
DISK_STEP = 100e6
TIMES_MAX, TIMES_STEP = 4.0, 0.02
"""Beyond so many times what was measured nothing is predicted."""
EVER = 1e11
"""Rates from here on are no limit at all."""


class _Loaded(NamedTuple):
    """Use of a resource of each host."""

    resource: Resource
    share: float
    """Of what can be used of it."""
    used: float
    has: float
    others: float = 0.0


@dataclass(frozen=True)
class Scene:
    """A workload on a system, on hosts that have so much."""

    body: Body
    applied: Applied
    has: Ceilings
    is_closed: bool
    full: float
    """Cores that the law has, as a share of those that hosts have, where CPU binds."""
    others_cores: float = 0.0
    """Cores that other systems use on each of the hosts."""
    speed: float = 1.0
    """Of the cores, as a multiple of those that were measured."""

    def uses(self, rate: float) -> list[Use]:
        """Use of each resource at a rate."""
        system = self.applied.spec.presses_on or ""
        return [Use(system=system, **one._asdict()) for one in self._load(rate)]

    def binds(self) -> list[Bind]:
        """The rate at which each resource is full, lowest first."""
        system = self.applied.spec.presses_on or ""
        load = cache(self._load)
        rates = [(one.resource, highest(lambda rate, at=at: load(rate)[at].share)) for at, one in enumerate(load(1.0))]  # type: ignore[misc]
        found = [Bind(system=system, resource=resource, rate=rate) for resource, rate in rates if rate < EVER]
        return sorted(found, key=lambda one: one.rate)

    def _load(self, rate: float) -> list[_Loaded]:
        work = self.applied.work(rate, is_closed=self.is_closed, on_busiest=True)
        cores = self.body.demands.cores(work.drivers) / self.speed + self.others_cores
        ceiling = self.has.cores * self.full
        found = [_Loaded(Resource.CPU, cores / ceiling, cores, ceiling, self.others_cores)]
        if self.has.link:
            busiest = max(work.into * self.body.into, work.out * self.body.out)
            found.append(_Loaded(Resource.NETWORK, busiest / self.has.link, busiest, self.has.link))
        if self.has.disk:
            written = work.written * self.body.written
            found.append(_Loaded(Resource.DISK, written / self.has.disk, written, self.has.disk))
        return found

    def limit(self) -> float:
        """The rate at which the first resource is full; 0 if one is without any load."""
        return self.binds()[0].rate

    def with_errors(self, cpu: float, of_bytes: Mapping[str, float]) -> Scene:
        """If its law needs so much more CPU, and `network` and `disk` carry so much less, as shares."""
        has = self.has.times(link=1 / (1 + of_bytes["network"]), disk=1 / (1 + of_bytes["disk"]))
        return replace(self, speed=self.speed / (1 + cpu), has=has)

    def prices(self) -> list[Price]:
        """What more of each would bring."""
        now = self.limit()
        wider = replace(self.has, link=None if self.has.link is None else self.has.link + GBIT_S)
        faster = replace(self.has, disk=None if self.has.disk is None else self.has.disk + DISK_STEP)
        more = [
            ("core", replace(self, has=replace(self.has, cores=self.has.cores + 1))),
            ("host", replace(self, applied=replace(self.applied, hosts=self.applied.hosts + 1))),
            *([("network", replace(self, has=wider))] if self.has.link else []),
            *([("disk", replace(self, has=faster))] if self.has.disk else []),
        ]
        return [Price(what=what, gain=scene.limit() - now) for what, scene in more]


def twice(scene: Scene) -> Twice:
    """What twice the limit takes: of hosts like these, or of cores on each of them."""
    wanted, hosts = 2 * scene.limit(), scene.applied.hosts
    counts = range(hosts + 1, math.ceil(TIMES_MAX * hosts) + 1)
    enough = next((n for n in counts if replace(scene, applied=replace(scene.applied, hosts=n)).limit() >= wanted), None)

    def carries(times: float) -> bool:
        return replace(scene, has=scene.has.times(cores=times)).limit() >= wanted

    low, high = 1.0, TIMES_MAX
    if not carries(high):
        return Twice(hosts=enough, cores=None)
    while high - low > TIMES_STEP:
        middle = (low + high) / 2
        low, high = (low, middle) if carries(middle) else (middle, high)
    return Twice(hosts=enough, cores=high)


def highest(share: Callable[[float], float]) -> float:
    """The highest rate at which a share is at most 1, of one that only grows with it; 0 if none is, infinite if all are."""
    low, high = LEAST, 1.0
    if share(low) > 1:
        return 0.0
    while share(high) <= 1:
        low, high = high, high * GROWTH
        if high >= RATE_MAX:
            return math.inf
    # Nearly a line: a few steps. On the side on which it holds.
    return float(brentq(lambda rate: share(rate) - 1, low, high, rtol=PRECISION)) * (1 - 2 * PRECISION)
