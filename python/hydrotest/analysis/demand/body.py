"""What is known of a system: what its operations cost, and how much of its hosts it uses when it is full."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any

import numpy as np

from hydrotest.analysis.bottleneck.use import NEAR_CEILING, THROTTLED_MIN
from hydrotest.analysis.demand.demands import Demands, Observation, demands
from hydrotest.analysis.demand.laws.base import Law, Load, Work
from hydrotest.analysis.demand.windows import Seen, law_of
from hydrotest.spec.workload import Workload

WINDOWS_MIN = 4
SOFT_MIN = 0.45
"""A system whose use of the CPU is so much more than the same share of its limit, as shares: 81 % at 15 % of the limit was seen of
Cassandra, whose threads look for work in a loop, and 100 % at 40 %. Such use is no need: near the limit nothing of it is left. Of a
broker it was never more than 0.3."""
EPSILON = 1e-9


@dataclass(frozen=True)
class Source:
    """A run's windows of a system."""

    workloads: Mapping[str, Workload]
    hosts: int
    """Hosts of the system."""
    seen: Sequence[Seen]


class Ride:
    """How full requests are without a schedule, by the number of hosts: between one batch (0) and all that may ride (1). A broker that is
    faster takes them away sooner, so that it is known only where it was measured; elsewhere that of the nearest number of hosts counts.
    Seen: 1.4 of 2, and 3.0 of 8, on three brokers; all 6 on one."""

    def __init__(self, measured: Mapping[int, float]) -> None:
        self.measured = dict(measured)

    def on(self, hosts: int) -> float:
        """The exponent on so many hosts; 1 if nothing was measured."""
        nearest = min(self.measured, key=lambda one: (abs(math.log(one / hosts)), one), default=None)
        return 1.0 if nearest is None else self.measured[nearest]


@dataclass(frozen=True)
class Applied:
    """A workload on a system: what it does there by its law."""

    spec: Workload
    hosts: int
    ride: Ride
    groups: float = 0.0
    """Consumer groups that read each of its records."""

    def on(self, hosts: int) -> Applied:
        """On so many hosts: on fewer than there are copies each has one."""
        spec = self.spec if self.spec.copies <= hosts else self.spec.model_copy(update={"replication": hosts})
        return replace(self, spec=spec, hosts=hosts)

    @property
    def law(self) -> Law:
        """Its law; there is one."""
        found = law_of(self.spec.kind)
        assert found is not None
        return found

    def work(self, rate: float, *, is_closed: bool, on_busiest: bool = False) -> Work:
        """What a rate makes each host do, on average; or the busiest one."""
        return self.law.work(self.spec, Load(rate, is_closed, self.hosts, on_busiest, self.ride.on(self.hosts), self.groups))


@dataclass(frozen=True)
class Point:
    """A window, with what it did by the laws."""

    seen: Seen
    work: Work
    of_busiest: Work
    """The same of the busiest host."""
    source: Source


@dataclass(frozen=True)
class Body:
    """A system, as its runs show it under workloads that are alike but for numbers."""

    demands: Demands
    points: Sequence[Point]
    full: float
    """Cores that the law has, with those that other systems used there, as a share of those that hosts have, in windows that were bound by
    CPU."""
    others: float
    """Cores of each host that other systems there used meanwhile."""
    is_full_seen: bool
    """There was such a window."""
    into: float
    """Bytes that came in by a link, for each of the payload."""
    out: float
    written: float
    ride: Ride
    softness: float
    """By how much its use of the CPU is more than the same share of its limit, at most."""
    drift: float
    """|log| of how much faster, or slower, a workload was in its last trial without a rate limit than in its first: the largest."""
    unexplained: float | None
    """The highest rate, without a rate limit and with all that its hosts have, at which no resource of a host was full; None: there was
    none."""

    def idling(self, rate: float) -> float:
        """Cores that each host was seen to use at a rate by schedule, of all workloads together, with what is soft. Without any load
        threads rest, and what is fixed is left."""
        seen = [
            (0.0, self.demands.fixed),
            *sorted((sum(point.seen.rates.values()), point.seen.used.cores) for point in self.points if not point.seen.is_closed),
        ]
        return float(np.interp(rate, [one for one, _ in seen], [cores for _, cores in seen]))

    @property
    def is_soft(self) -> bool:
        """It uses more CPU than it needs, as long as it is not at its limit."""
        return self.softness >= SOFT_MIN

    @property
    def closed(self) -> list[Point]:
        """Windows without a rate limit in which hosts had all they have."""
        return [point for point in self.points if point.seen.is_closed and point.seen.is_whole]


def is_cpu_full(seen: Seen) -> bool:
    """Whether a window's hosts had no CPU left."""
    return max(seen.used.cores, seen.used.fullest) >= NEAR_CEILING * seen.has.cores or seen.used.throttled >= THROTTLED_MIN


def is_full(seen: Seen) -> bool:
    """Whether some resource of a window's hosts had nothing left."""
    link, disk = seen.has.link, seen.has.disk
    near = [max(seen.used.into, seen.used.out) / link if link else 0.0, seen.used.written / disk if disk else 0.0]
    return is_cpu_full(seen) or max(near) >= NEAR_CEILING


def body_of(sources: Sequence[Source], alike: Callable[[Workload], bool]) -> Body | None:
    """A system's law from the windows of workloads that are `alike`; None if there are too few."""
    chosen = []
    for source in sources:
        names = {name for name, spec in source.workloads.items() if alike(spec)}
        chosen += [(source, seen) for seen in source.seen if names.issuperset(seen.rates)]
    if len(chosen) < WINDOWS_MIN:
        return None
    ride = _ride(chosen)
    points = [Point(seen, _work(source, seen, ride), _work(source, seen, ride, on_busiest=True), source) for source, seen in chosen]
    soft = _softness(chosen)
    # By schedule, and with a CPU that is full all the same: of what it used nobody knows which part it needed.
    needed = [point for point in points if point.seen.is_closed or not (soft >= SOFT_MIN or is_cpu_full(point.seen))]
    found = demands(list(_observations(needed)), [_observation(point) for point in needed])
    if found is None:
        return None
    closed = [point for point in points if point.seen.is_closed]
    bound = [
        (found.cores(point.of_busiest.drivers) + point.seen.used.others) / point.seen.has.cores
        for point in closed
        if is_cpu_full(point.seen)
    ]
    whole = [point.seen for point in closed if point.seen.is_whole]
    unexplained = [sum(seen.rates.values()) for seen in whole if not is_full(seen)]
    return Body(found, points, median(bound) if bound else 1.0, median(point.seen.used.others for point in points), bool(bound),
                _factor(points, lambda used, work: (used.into, work.into)), _factor(points, lambda used, work: (used.out, work.out)),
                _written(points), ride, soft, _drift(chosen),
                max(unexplained) if len(unexplained) > len(whole) / 2 else None)  # fmt: skip


def _observation(point: Point) -> Observation:
    return Observation(point.seen.used.cores, point.work.drivers, (point.seen.run, point.seen.trial))


def _observations(points: Sequence[Point]) -> Iterator[Observation]:
    """By schedule each window is one: its rate is exact, and what scatters is the CPU. Without a rate limit the CPU is given, and what
    scatters is the rate: single windows would make what is fixed seem more, and what operations cost less (regression dilution), so that
    those that are alike count as their mean."""
    alike: dict[tuple[object, ...], list[Point]] = defaultdict(list)
    for point in points:
        seen = point.seen
        if seen.is_closed:
            has = (round(seen.has.cores, 3), round(seen.has.link or 0.0, -5), round(seen.has.disk or 0.0, -5))
            read = sorted((name, seen.groups_of(name)) for name in seen.groups)
            alike[seen.run, *sorted(seen.rates), *has, *read].append(point)
        else:
            yield _observation(point)
    for number, group in enumerate(alike.values(), 1):
        drivers = {name: fmean(point.work.drivers[name] for point in group) for name in group[0].work.drivers}
        yield Observation(fmean(point.seen.used.cores for point in group), drivers, (group[0].seen.run, -number), len(group))


def _work(source: Source, seen: Seen, ride: Ride, *, on_busiest: bool = False) -> Work:
    """What all workloads of a window did, by their laws."""
    drivers: dict[str, float] = defaultdict(float)
    into = out = written = 0.0
    for name, rate in seen.rates.items():
        groups = seen.groups.get(name, 0.0)
        one = Applied(source.workloads[name], source.hosts, ride, groups).work(rate, is_closed=seen.is_closed, on_busiest=on_busiest)
        for driver, value in one.drivers.items():
            drivers[driver] += value
        into, out, written = into + one.into, out + one.out, written + one.written
    return Work(dict(drivers), into, out, written)


def _ride(chosen: Sequence[tuple[Source, Seen]]) -> Ride:
    """From windows without a rate limit, of one workload, in which requests were counted."""
    found: dict[int, list[float]] = defaultdict(list)
    for source, seen in chosen:
        if not seen.is_closed or not seen.is_whole or seen.requests is None or len(seen.rates) != 1 or seen.groups:
            continue
        (name, rate), hosts = next(iter(seen.rates.items())), source.hosts
        spec = source.workloads[name]
        law = law_of(spec.kind)
        most = 1.0 if law is None else law.riders_max(spec, hosts)
        if law is not None and most > 1:
            found[hosts].append(math.log(law.batches(spec, Load(rate, True, hosts)) / seen.requests) / math.log(most))
    return Ride({hosts: min(1.0, max(0.0, median(own))) for hosts, own in found.items()})


def _factor(points: Sequence[Point], of: Callable[[Any, Work], tuple[float, float]]) -> float:
    """Bytes that were counted for each of the payload: the median, of windows without a rate limit where there are some."""
    pairs = [(point, of(point.seen.used, point.work)) for point in points]
    busy = [used / payload for point, (used, payload) in pairs if payload > EPSILON and point.seen.is_closed]
    every = busy or [used / payload for _, (used, payload) in pairs if payload > EPSILON]
    return median(every) if every else 1.0


def _softness(chosen: Sequence[tuple[Source, Seen]]) -> float:
    """The most by which windows by schedule, which held it, use more of the CPU than the same workload's rate is of its rate without one."""
    closed: dict[tuple[int, str, int], list[float]] = defaultdict(list)
    for _, seen in chosen:
        if seen.is_closed and seen.is_whole and len(seen.rates) == 1:
            ((name, rate),) = seen.rates.items()
            closed[seen.run, name, seen.groups_of(name)].append(rate)
    beyond = [
        min(1.0, seen.used.cores / seen.has.cores) - rate / median(closed[seen.run, name, seen.groups_of(name)])
        for _, seen in chosen if not seen.is_closed and len(seen.rates) == 1
        for name, rate in seen.rates.items() if (seen.run, name, seen.groups_of(name)) in closed
    ]  # fmt: skip
    return max(beyond, default=0.0)


def _drift(chosen: Sequence[tuple[Source, Seen]]) -> float:
    """Between trials without a rate limit, with all that hosts have, of the same workload: a system that still warms up gets faster."""
    rates: dict[tuple[int, str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for _, seen in chosen:
        if seen.is_closed and seen.is_whole and len(seen.rates) == 1:
            ((name, rate),) = seen.rates.items()
            rates[seen.run, name, seen.groups_of(name)][seen.trial].append(rate)
    ends = [(fmean(trials[min(trials)]), fmean(trials[max(trials)])) for trials in rates.values() if len(trials) > 1]
    return max((abs(math.log(last / first)) for first, last in ends), default=0.0)


def _written(points: Sequence[Point]) -> float:
    """The same of disks, over all windows together: what is written waits in the page cache, and comes in bursts. In the end all of it
    comes, so that the factor is 1 at least."""
    payload = sum(point.work.written for point in points)
    return max(1.0, sum(point.seen.used.written for point in points) / payload) if payload > EPSILON else 1.0


def alike_to(spec: Workload) -> Callable[[Workload], bool]:
    """Whether a workload differs from this one at most in numbers that its law knows."""
    law = law_of(spec.kind)
    assert law is not None
    wanted = law.axes.fixed(spec)
    return lambda other: other.kind == spec.kind and law.axes.fixed(other) == wanted


def differing(spec: Workload, others: Mapping[str, Workload]) -> list[str]:
    """Settings that none of the measured workloads has as this one: those in which the nearest differs."""
    law = law_of(spec.kind)
    assert law is not None
    wanted = law.axes.fixed(spec)
    nearest = [
        [key for key, value in wanted.items() if law.axes.fixed(other).get(key) != value]
        for other in others.values()
        if other.kind == spec.kind
    ]
    return min(nearest, key=len, default=[])
