"""A fleet under load, step by step: what is asked for, served, waiting, kept, and what is left of bursts."""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from hydrotest.predict.simulation.course import Course
from hydrotest.predict.simulation.effects import Effect
from hydrotest.predict.simulation.fleet import EPSILON_BYTES, Flags, Fleet, Hosts, Values
from hydrotest.predict.simulation.outcome import What
from hydrotest.predict.simulation.service import Service

HALVINGS = 30
SLICES = 200
"""Parts of the time for which records are kept: they go part by part."""
EPSILON = 1e-9
CATCH_UP_SHARE = 0.5
"""Of its link, where nothing else is said: what follows and what is served go on."""


@dataclass
class Flow:
    """A workload."""

    name: str
    service: Service
    course: Course
    gives_up_s: float | None
    retain_s: float | None
    backlog: Values
    """Operations that wait, by part."""
    offered: float = 0.0
    served: float = 0.0
    given_up: float = 0.0
    times: list[float] = field(default_factory=lambda: [0.0])
    arrived: list[float] = field(default_factory=lambda: [0.0])
    """Operations that were asked for until each of `times`."""
    kept: deque[tuple[float, Values]] = field(default_factory=deque)
    """Bytes on each host, with the moment until which they stay."""
    wait_s: float = 0.0
    rate_served: float = 0.0
    rate_offered: float = 0.0

    def asked_until(self, at_s: float) -> float:
        """Operations that were asked for until then."""
        after = bisect.bisect_right(self.times, at_s)
        if after == 0:
            return 0.0
        if after == len(self.times):
            return self.arrived[-1]
        begin, low = self.times[after - 1], self.arrived[after - 1]
        return low + (self.arrived[after] - low) * (at_s - begin) / (self.times[after] - begin)

    def age(self, behind: float) -> float:
        """How long the oldest operation waits, of a part that is behind by so many operations of all parts."""
        if behind <= EPSILON * max(1.0, self.arrived[-1]):
            return 0.0
        mark = self.arrived[-1] - behind
        at = min(max(bisect.bisect_right(self.arrived, mark), 1), len(self.arrived) - 1)
        low, high = self.arrived[at - 1], self.arrived[at]
        share = 0.0 if high <= low else (mark - low) / (high - low)
        return self.times[-1] - (self.times[at - 1] + share * (self.times[at] - self.times[at - 1]))


@dataclass
class Uses:
    """How full the hosts are in a step, as shares of what they have then."""

    shares: Mapping[str, Values]
    binds: list[str | None]
    """The resource of which a host has too little, by host; None: it has enough."""


Note = Callable[[What, str, str | None], None]
"""Something happened: what, to which host, system or workload, and a resource."""


class World:
    """Takes steps. `note` is called for what happens in them."""

    def __init__(self, fleet: Fleet, services: Mapping[str, Service], flows: Mapping[str, Flow], note: Note) -> None:
        self.fleet, self.services, self.flows, self.note = fleet, services, flows, note
        self.now_s = 0.0
        self.uses: Uses | None = None
        self.growth = np.zeros(len(fleet.names))
        """Bytes a second by which disks grew in the last step."""
        self._spent = {name: np.zeros(len(fleet.names), dtype=bool) for name in fleet.buckets}

    def fill_before(self) -> None:
        """What is kept for a while is there from the beginning, as if the course had been the same before."""
        for flow in self.flows.values():
            service, members = flow.service, int(flow.service.member.sum())
            each = service.effects[flow.name].on(members).kept
            if flow.retain_s is None or each <= 0:
                continue
            slice_s = flow.retain_s / SLICES
            spread = np.zeros(len(self.fleet.names))
            spread[service.at[service.member]] = each * slice_s
            for at in range(SLICES):
                kept = spread * flow.course(-flow.retain_s + (at + 0.5) * slice_s)
                flow.kept.append(((at + 1) * slice_s, kept))
                self.fleet.stored += kept

    # What happens to hosts

    def fail(self, hosts: Hosts, *, is_controlled: bool = False, is_cut: bool = False) -> None:
        """Hosts go away; what they led is taken over at once if that was planned, else after a while. Of hosts that are cut off clients
        learn nothing: they wait."""
        for service in self.services.values():
            own = np.isin(service.at, hosts) & self.fleet.up[service.at]
            service.held_until[own] = self.now_s + (0.0 if is_controlled else service.takeover_s)
            if is_cut:
                service.waited_until[own] = self.now_s + service.client_waits_s
        self.fleet.up[hosts] = False

    def back(self, hosts: Hosts) -> None:
        """Hosts are there again, unless their disks are full."""
        self.fleet.up[hosts] = self.fleet.exists[hosts] & (self.fleet.stored[hosts] < self.fleet.size[hosts])
        for service in self.services.values():
            again = np.isin(service.at, hosts)
            service.waited_until[again] = np.minimum(service.waited_until[again], self.now_s)

    def add(self, hosts: Hosts, fetches: float | None) -> None:
        """New hosts, which fetch their share of what is stored before they serve, at so many bytes a second."""
        self.fleet.exists[hosts] = self.fleet.up[hosts] = True
        if fetches is not None:
            self.fleet.fetches[hosts] = fetches
        for service in self.services.values():
            new = np.isin(service.at, hosts)
            if new.any():
                members = service.at[service.member]
                total = float(self.fleet.stored[members].sum())
                self.fleet.missing[service.at[new]] += total / (len(members) + int(new.sum()))

    def join_idle(self, hosts: Hosts) -> None:
        """New hosts that have nothing to fetch are members at once."""
        for service in self.services.values():
            self._join(service, hosts[self.fleet.missing[hosts] <= EPSILON_BYTES])

    # A step

    def step(self, seconds: float) -> None:
        """Goes on by so many seconds."""
        fleet, middle = self.fleet, self.now_s + seconds / 2
        ceilings = {resource: bucket.ceiling(seconds) for resource, bucket in fleet.buckets.items()}
        fetched = self._catch_up(seconds)
        free = {
            **ceilings,
            "network": np.maximum(ceilings["network"] - fetched, EPSILON),
            "disk": np.maximum(ceilings["disk"] - fetched - self._rewriting(ceilings["disk"], seconds), EPSILON),
        }
        wanted: dict[str, tuple[Values, Flags, Values]] = {}
        asks: list[tuple[Effect, Values]] = []
        for flow in self.flows.values():
            service, members = flow.service, flow.service.member
            flow.rate_offered = flow.course(middle)
            ready = service.ready(fleet)
            serves = service.served(flow.name, ready, self.now_s)
            arrivals = np.where(members, flow.rate_offered / max(1, int(members.sum())), 0.0)
            desired = np.where(serves, arrivals + flow.backlog / seconds, 0.0)
            wanted[flow.name] = (desired, ready, arrivals)
            effect = service.effects[flow.name].on(max(1, int(ready.sum())))
            asks.append((effect, self._by_host(service, desired, ready)))
        scale, binds = self._scale(asks, free)
        used: list[tuple[Flow, Effect, Values]] = []
        for flow, (effect, _) in zip(self.flows.values(), asks, strict=True):
            desired, ready, arrivals = wanted[flow.name]
            service = flow.service
            own = scale[service.at]
            there = own[ready]
            mean = float(there.mean()) if there.size else 0.0
            served = desired * np.where(ready, service.slowest(flow.name, ready, own), mean)
            self._integrate(flow, arrivals, served, seconds)
            used.append((flow, effect, self._by_host(service, served, ready)))
        before = fleet.stored.copy()
        self._use(used, ceilings, fetched, self._rewrite(used, ceilings["disk"], seconds), binds, seconds)
        self.growth = (fleet.stored - before) / seconds
        self.now_s += seconds
        self._expire()
        self._fill_up()

    def _rewriting(self, disk: Values, seconds: float) -> Values:
        """Bytes a second that hosts are about to rewrite, if they write as much as in the last step."""
        rates = np.zeros(len(self.fleet.names))
        for service in self.services.values():
            if service.compaction is not None:
                at = service.at
                rates[at] += service.compaction.wanted(self.fleet.up[at], service.compaction.fresh, disk[at], seconds)
        return rates

    def _rewrite(self, used: list[tuple[Flow, Effect, Values]], disk: Values, seconds: float) -> Values:
        """Bytes a second that hosts rewrite, of what they have yet to and of what they write; old versions leave the disk."""
        rates = np.zeros(len(self.fleet.names))
        for service in self.services.values():
            if service.compaction is None:
                continue
            at, before = service.at, service.compaction.superseded
            fresh, replacing = np.zeros(len(at)), np.zeros(len(at))
            for flow, effect, done in used:
                if flow.service is service:
                    fresh, replacing = fresh + effect.fresh * done[at], replacing + (effect.fresh - effect.kept) * done[at]
            rewritten = service.compaction.wanted(self.fleet.up[at], fresh, disk[at], seconds)
            service.compaction.take(fresh, replacing, rewritten, seconds)
            self.fleet.stored[at] = np.maximum(self.fleet.stored[at] + service.compaction.superseded - before, 0.0)
            rates[at] += rewritten
        return rates

    def _by_host(self, service: Service, rates: Values, ready: Flags) -> Values:
        """A rate of all hosts together for each host of the fleet: as if all did as much as this one."""
        found = np.zeros(len(self.fleet.names))
        count = int(ready.sum())
        if count:
            moved = float(rates[~ready].sum())
            found[service.at[ready]] = (rates[ready] + moved / count) * count
        return found

    def _scale(self, asks: list[tuple[Effect, Values]], free: Mapping[str, Values]) -> tuple[Values, list[str | None]]:
        """What each host gives of all that is wanted of it."""
        count = len(self.fleet.names)
        link, disk = np.zeros(count), np.zeros(count)
        for effect, rates in asks:
            link += effect.link * rates
            disk += effect.written * rates
        by = {"network": free["network"] / np.maximum(link, EPSILON), "disk": free["disk"] / np.maximum(disk, EPSILON)}
        scale = np.minimum(1.0, np.minimum(by["network"], by["disk"]))
        binds: list[str | None] = [None] * count
        for at in np.flatnonzero(scale < 1.0):
            binds[at] = "network" if by["network"][at] <= by["disk"][at] else "disk"
        room = free["cpu"] * self._full() - self._fixed()
        over = np.flatnonzero(self._cores(asks, scale, slice(None)) > room)
        if over.size:
            low, high = np.zeros(over.size), scale[over].copy()
            for _ in range(HALVINGS):
                middle = (low + high) / 2
                fits = self._cores(asks, middle, over, waiting=True) <= room[over]
                low, high = np.where(fits, middle, low), np.where(fits, high, middle)
            scale[over] = low
            for at in over:
                binds[at] = "cpu"
        return scale, binds

    def _cores(self, asks: list[tuple[Effect, Values]], scale: Values, at: Hosts | slice, *, waiting: bool = False) -> Values:
        total = np.zeros(len(scale))
        for effect, rates in asks:
            total += effect.cores_at(rates[at] * scale, waiting=waiting)
        return total

    def _fixed(self) -> Values:
        total = np.zeros(len(self.fleet.names))
        for service in self.services.values():
            total[service.at] += service.fixed
        return total

    def _full(self) -> Values:
        share = np.ones(len(self.fleet.names))
        for service in self.services.values():
            share[service.at] = np.minimum(share[service.at], service.full)
        return share

    def _catch_up(self, seconds: float) -> Values:
        """Bytes a second that hosts fetch which lack something; those that give them send as many."""
        fleet = self.fleet
        rates = np.zeros(len(fleet.names))
        for service in self.services.values():
            # A host of several systems fetches once.
            at = service.at[fleet.up[service.at] & (fleet.missing[service.at] > EPSILON_BYTES) & (rates[service.at] <= 0)]
            if not at.size:
                continue
            givers = service.at[service.ready(fleet)]
            own = fleet.link.base[at] * CATCH_UP_SHARE if service.catch_up is None else np.minimum(fleet.link.base[at], service.catch_up)
            most = np.where(np.isfinite(fleet.fetches[at]), np.minimum(fleet.fetches[at], fleet.link.base[at]), own)
            fetched = np.minimum(most, fleet.missing[at] / seconds)
            # Those that give have half of their links for it, too; without any nothing comes.
            given = float(fleet.link.base[givers].sum()) * CATCH_UP_SHARE
            fetched = fetched * min(1.0, given / max(float(fetched.sum()), EPSILON))
            rates[at] += fetched
            fleet.missing[at] -= fetched * seconds
            fleet.stored[at] += fetched * seconds
            done = at[fleet.missing[at] <= EPSILON_BYTES]
            fleet.missing[done], fleet.fetches[done] = 0.0, np.inf
            for host in done:
                self.note(What.CAUGHT_UP, fleet.names[host], None)
            self._join(service, done)
            if givers.size:
                rates[givers] += fetched.sum() / givers.size
        return rates

    def _join(self, service: Service, hosts: Hosts) -> None:
        """New hosts that have their share become members: all parts, and what is stored and waits, are spread anew."""
        new = np.isin(service.at, hosts) & ~service.member
        if not new.any():
            return
        service.member |= new
        members = service.member
        if service.compaction is not None:
            service.compaction.spread(members)
        for flow in self.flows.values():
            if flow.service is service:
                flow.backlog = np.where(members, flow.backlog.sum() / members.sum(), 0.0)
                spread = np.zeros(len(self.fleet.names))
                spread[service.at[members]] = 1.0 / members.sum()
                flow.kept = deque((until, spread * kept.sum()) for until, kept in flow.kept)
        at = service.at[members]
        # What the new ones fetched is no longer on the others.
        fetched = float(self.fleet.stored[service.at[new]].sum())
        total = float(self.fleet.stored[at].sum()) - fetched
        self.fleet.stored[at] = total / at.size

    def _integrate(self, flow: Flow, arrivals: Values, served: Values, seconds: float) -> None:
        asked, done = float(arrivals.sum()) * seconds, float(served.sum()) * seconds
        flow.backlog = np.maximum(flow.backlog + (arrivals - served) * seconds, 0.0)
        flow.offered, flow.served, flow.rate_served = flow.offered + asked, flow.served + done, done / seconds
        flow.times.append(self.now_s + seconds)
        flow.arrived.append(flow.arrived[-1] + asked)
        members = flow.service.member
        parts = max(1, int(members.sum()))
        if flow.gives_up_s is not None:
            most = (flow.arrived[-1] - flow.asked_until(self.now_s + seconds - flow.gives_up_s)) / parts
            over = np.maximum(flow.backlog - most, 0.0)
            flow.given_up += float(over.sum())
            flow.backlog = flow.backlog - over
        flow.wait_s = flow.age(float(flow.backlog.max()) * parts)

    def _use(self, used: list[tuple[Flow, Effect, Values]], ceilings: Mapping[str, Values], fetched: Values, rewritten: Values,
             binds: list[str | None], seconds: float) -> None:  # fmt: skip
        fleet = self.fleet
        link, disk, cores = fetched.copy(), fetched + rewritten, self._fixed() * fleet.up
        for flow, effect, rates in used:
            link, disk, cores = link + effect.link * rates, disk + effect.written * rates, cores + effect.cores_at(rates)
            self._keep(flow, seconds)
        # By schedule it would need more than there is; then all of it is used. Credits go by what is used, not by what the law has of it.
        cores = np.minimum(cores, ceilings["cpu"] * self._full())
        fleet.cores.use(np.minimum(cores / self._full(), ceilings["cpu"]), seconds)
        fleet.link.use(np.minimum(link, ceilings["network"]), seconds)
        fleet.disk.use(np.minimum(disk, ceilings["disk"]), seconds)
        self.uses = Uses({"cpu": cores / np.maximum(ceilings["cpu"] * self._full(), EPSILON), "network": link / ceilings["network"],
                          "disk": disk / ceilings["disk"]}, binds)  # fmt: skip
        for resource, bucket in fleet.buckets.items():
            spent = bucket.spent & fleet.exists
            for host in np.flatnonzero(spent & ~self._spent[resource]):
                self.note(What.SPENT, fleet.names[host], resource)
            # One that is filled a little is not a new one.
            self._spent[resource] = spent | (self._spent[resource] & (bucket.left < 0.1 * bucket.size))

    def _keep(self, flow: Flow, seconds: float) -> None:
        """Bytes that stay: on hosts that are there at once, on others when they have caught up."""
        service = flow.service
        members = int(service.member.sum())
        each = service.effects[flow.name].on(max(1, members)).kept * flow.rate_served * seconds
        if each <= 0:
            return
        kept, ready = np.zeros(len(self.fleet.names)), service.ready(self.fleet)
        there = service.member if service.copies[flow.name].count > 1 else ready
        kept[service.at[there]] = each
        self.fleet.stored[service.at[ready]] += each
        self.fleet.missing[service.at[there & ~ready]] += each
        if flow.retain_s is not None:
            until = self.now_s + seconds + flow.retain_s
            if flow.kept and until - flow.kept[-1][0] < flow.retain_s / SLICES:
                flow.kept[-1] = (flow.kept[-1][0], flow.kept[-1][1] + kept)
            else:
                flow.kept.append((until, kept))

    def _expire(self) -> None:
        for flow in self.flows.values():
            while flow.kept and flow.kept[0][0] <= self.now_s:
                _, gone = flow.kept.popleft()
                here = np.minimum(gone, self.fleet.stored)
                self.fleet.stored -= here
                # What a host was to fetch is gone before it did.
                self.fleet.missing = np.maximum(self.fleet.missing - (gone - here), 0.0)

    def _fill_up(self) -> None:
        full = np.flatnonzero(self.fleet.up & (self.fleet.stored >= self.fleet.size))
        if full.size:
            self.fail(full)
            for host in full:
                self.note(What.DISK_FULL, self.fleet.names[host], None)

    def lost(self) -> float:
        """By how much what was asked for differs from what was served, waits and was given up, as a share: an error of the arithmetic."""
        shares = [abs(flow.offered - flow.served - flow.given_up - float(flow.backlog.sum())) / max(flow.offered, 1.0)
                  for flow in self.flows.values()]  # fmt: skip
        return max(shares, default=0.0)
