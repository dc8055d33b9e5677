"""One course of a scenario: its events, the length of each step, and what happens in them."""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hydrotest.predict.simulation.course import bends_of
from hydrotest.predict.simulation.outcome import Happening, Lacking, What, behind_column
from hydrotest.predict.simulation.prepared import Prepared
from hydrotest.predict.simulation.scenario import Event, group_and_index
from hydrotest.predict.simulation.service import Service
from hydrotest.predict.simulation.world import World

STEPS = 2_000
"""Of a course in which nothing happens, at least."""
STEP_S_MIN, STEP_S_MAX = 1.0, 300.0
GROWTH = 0.02
"""While something waits a step is so much of the time since it began."""
QUIET_BACKLOG = 1e-6
ROLL_S = 60.0
DISKS, COMPACTION = "disks", "compaction"
"""Their names among objectives."""


@dataclass
class Course:
    """One course of what is random."""

    world: World
    series: list[dict[str, Any]] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
    missed_s: dict[str, float] = field(default_factory=dict)
    backlog_max: dict[str, float] = field(default_factory=dict)
    wait_max_s: dict[str, float] = field(default_factory=dict)
    conserved: float = 0.0
    steps: int = 0


class Director:
    """Plays events, chooses steps, and writes down what happens."""

    def __init__(self, all_: Prepared, course: Course, duration_s: float, seed: int) -> None:
        self.all, self.course, self.duration_s = all_, course, duration_s
        self.scenario, self.world = all_.scenario, course.world
        self.world.note = self._note
        self._order = itertools.count()
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._rolling: list[tuple[list[int], float, int | None]] = []
        self._missed: dict[str, bool] = {}
        self._busy_since: float | None = None
        self._bends = sorted({at for load in self.scenario.load.values() for at in bends_of(load, all_.document.file.parent)})
        random = np.random.default_rng((seed, 1 << 20))
        for event in self.scenario.events:
            self._plan(event, random)

    # Events

    def _plan(self, event: Event, random: np.random.Generator) -> None:
        if event.mtbf is not None:
            assert event.fail is not None
            for host in self.world.fleet.groups[event.fail]:
                at = float(random.exponential(event.mtbf))
                while at < self.duration_s:
                    self._push(at, lambda host=host: self._fail([host], event.lasts))  # type: ignore[misc]
                    # While it is away it does not fail.
                    at += (event.lasts or math.inf) + float(random.exponential(event.mtbf))
            return
        assert event.at is not None
        self._push(event.at, lambda: self._happen(event))

    def _push(self, at_s: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (at_s, next(self._order), what))

    def _happen(self, event: Event) -> None:
        fleet = self.world.fleet
        if (name := event.cut or event.fail) is not None:
            named = group_and_index(name)
            assert named is not None
            self._fail([int(fleet.groups[named[0]][named[1]])], event.lasts, is_cut=event.cut is not None)
        elif event.zone is not None:
            self._fail([int(at) for at in np.flatnonzero((fleet.zones == event.zone) & fleet.up)], event.lasts)
        elif event.add is not None:
            new = fleet.groups[event.add][~fleet.exists[fleet.groups[event.add]]][: event.added]
            self.world.add(new, None if event.rebalance is None else event.rebalance / 8)
            self._note(What.ADDED, fleet.names[new[0]], None, len(new))
            # Without anything to fetch they are members at once.
            self.world.join_idle(new)
        elif event.roll is not None:
            service = self.world.services[event.roll]
            self._rolling.append(([int(at) for at in service.at[service.member]], event.lasts or ROLL_S, None))

    def _fail(self, hosts: Sequence[int], lasts: float | None, *, is_controlled: bool = False, is_cut: bool = False) -> None:
        up = [host for host in hosts if self.world.fleet.up[host]]
        if not up:
            return
        self.world.fail(np.array(up), is_controlled=is_controlled, is_cut=is_cut)
        what = What.RESTARTED if is_controlled else What.CUT if is_cut else What.FAILED
        self._note(what, self.world.fleet.names[up[0]], None, len(up))
        if lasts is not None:
            self._push(self.world.now_s + lasts, lambda: self._return(up))

    def _return(self, hosts: Sequence[int]) -> None:
        self.world.back(np.array(hosts))
        up = [host for host in hosts if self.world.fleet.up[host]]  # not those whose disks are full
        if up:
            self._note(What.BACK, self.world.fleet.names[up[0]], None, len(up))

    def _roll(self) -> None:
        """The next host of each system that is restarted in turn, once the one before has all again; those that are away, when they are back."""
        fleet = self.world.fleet
        left: list[tuple[list[int], float, int | None]] = []
        for hosts, lasts, last in self._rolling:
            waits = last is not None and not (fleet.up[last] and fleet.missing[last] <= 0)
            host = None if waits else next((one for one in hosts if fleet.up[one]), None)
            if host is not None:
                hosts.remove(host)
                self._fail([host], lasts, is_controlled=True)
            if hosts or host is not None:
                left.append((hosts, lasts, last if host is None else host))
        self._rolling = left

    # Time

    def play(self) -> None:
        world = self.world
        while world.now_s < self.duration_s - 1e-9:
            while self._queue and self._queue[0][0] <= world.now_s + 1e-9:
                heapq.heappop(self._queue)[2]()
                # What it does shows in short steps, whatever else is under way.
                self._busy_since = None
            self._roll()
            world.step(self._seconds())
            self._observe()
        self.course.conserved = world.lost()

    def _seconds(self) -> float:
        world, fleet = self.world, self.world.fleet
        least = min(STEP_S_MIN, self.duration_s / STEPS)
        most = min(STEP_S_MAX, max(least, self.duration_s / STEPS))
        waiting = any(flow.backlog.max(initial=0.0) > QUIET_BACKLOG * max(1.0, flow.rate_offered) for flow in world.flows.values())
        away = bool((fleet.exists & ~fleet.up).any() or (fleet.missing > 0).any())
        if waiting or away:
            self._busy_since = world.now_s if self._busy_since is None else self._busy_since
            step = min(most, max(least, GROWTH * (world.now_s - self._busy_since)))
        else:
            self._busy_since, step = None, most
        bounds = [self.duration_s - world.now_s, step]
        if self._queue:
            bounds.append(self._queue[0][0] - world.now_s)
        bend = bisect.bisect_right(self._bends, world.now_s + 1e-9)
        if bend < len(self._bends):
            bounds.append(self._bends[bend] - world.now_s)
        for service in world.services.values():
            until = np.concatenate([service.held_until, service.waited_until])
            later = until[until > world.now_s + 1e-9]
            if later.size:
                bounds += [float(later.min()) - world.now_s, least]
        if world.uses is None:
            # How fast disks fill and bursts are spent shows after a step.
            bounds.append(least)
        else:
            filling = fleet.up & (world.growth > 0) & np.isfinite(fleet.size)
            if filling.any():
                bounds.append(max(least, float(((fleet.size - fleet.stored)[filling] / world.growth[filling]).min())))
            shares = world.uses.shares
            for resource, bucket in fleet.buckets.items():
                if bucket.size.any():
                    used = np.minimum(
                        np.where(
                            np.isfinite(bucket.peak), shares[resource] * np.minimum(bucket.peak, bucket.base + bucket.left / step), 0.0
                        ),
                        bucket.peak,
                    )
                    bounds.append(max(least, bucket.lasts(used)))
        return max(min(bounds), 1e-6)

    # What is written down

    def _note(self, what: What, subject: str, resource: str | None, count: int = 1) -> None:
        last = self.course.happenings[-1] if self.course.happenings else None
        if (
            last is not None
            and last.at_s == self.world.now_s
            and last.what is what
            and last.resource == resource
            and what is not What.MISSED
        ):
            self.course.happenings[-1] = last.model_copy(update={"count": last.count + count})
        else:
            self.course.happenings.append(Happening(at_s=self.world.now_s, what=what, subject=subject, count=count, resource=resource))

    def _observe(self) -> None:
        world, course, fleet = self.world, self.course, self.world.fleet
        course.steps += 1
        assert world.uses is not None
        before = course.series[-1]["seconds"] if course.series else 0.0
        row: dict[str, Any] = {"seconds": world.now_s}
        for name, flow in world.flows.items():
            backlog = float(flow.backlog.sum())
            row |= {
                f"{name} offered": flow.rate_offered,
                f"{name} served": flow.rate_served,
                f"{name} backlog": backlog,
                f"{name} wait_s": flow.wait_s,
            }
            course.backlog_max[name] = max(course.backlog_max.get(name, 0.0), backlog)
            course.wait_max_s[name] = max(course.wait_max_s.get(name, 0.0), flow.wait_s)
        for name, hosts in fleet.groups.items():
            there = hosts[fleet.exists[hosts]]
            up = there[fleet.up[there]]
            row[f"{name} up"] = int(up.size)
            for resource in fleet.buckets:
                row[f"{name} {resource}"] = float(world.uses.shares[resource][up].max()) if up.size else 0.0
            for resource, bucket in fleet.buckets.items():
                if bucket.size[there].any():
                    row[f"{name} {resource} burst"] = float((bucket.left[there] / bucket.size[there]).min())
            if np.isfinite(fleet.size[there]).any():
                row[f"{name} fill"] = float((fleet.stored[there] / fleet.size[there]).max())
        behind = {
            name: float(service.compaction.behind_s()[fleet.exists[service.at]].max())
            for name, service in world.services.items()
            if service.compaction is not None
        }
        row |= {behind_column(name): seconds for name, seconds in behind.items()}
        course.series.append(row)
        for name, objective in self.scenario.objectives.items():
            self._judge(name, world.flows[name].wait_s > objective.wait, world.now_s - before, world.flows[name].service)
        sized = fleet.exists & np.isfinite(fleet.size)
        if sized.any():
            self._judge(DISKS, bool((fleet.stored[sized] > self.scenario.fill * fleet.size[sized]).any()), world.now_s - before)

        allowed = {name: one.compaction.behind for name, one in self.scenario.systems.items() if one.compaction is not None}
        bounds = [(seconds, most) for name, seconds in behind.items() if (most := allowed[name]) is not None]
        if bounds:
            self._judge(COMPACTION, any(seconds > most for seconds, most in bounds), world.now_s - before)

    def _judge(self, name: str, is_missed: bool, seconds: float, service: Service | None = None) -> None:
        course = self.course
        course.missed_s[name] = course.missed_s.get(name, 0.0) + (seconds if is_missed else 0.0)
        if is_missed != self._missed.get(name, False):
            self._missed[name] = is_missed
            course.happenings.append(
                Happening(
                    at_s=self.world.now_s,
                    what=What.MISSED if is_missed else What.MET,
                    subject=name,
                    because=self._because(service) if is_missed and service is not None else [],
                )
            )

    def _because(self, service: Service) -> list[Lacking]:
        """What a system lacks now: hosts that are away, and resources that are full."""
        fleet, uses = self.world.fleet, self.world.uses
        assert uses is not None
        own = service.at[fleet.exists[service.at]]
        found = [_named(fleet.names, [at for at in own if not fleet.up[at]], "away")]
        for resource, bucket in fleet.buckets.items():
            hosts = [at for at in own if uses.binds[at] == resource]
            found.append(_named(fleet.names, hosts, resource, is_spent=bool(bucket.spent[hosts].any())))
        return [one for one in found if one is not None]


def _named(names: Sequence[str], hosts: Sequence[int], what: str, *, is_spent: bool = False) -> Lacking | None:
    spent = {"is_spent": True} if is_spent else {}
    return Lacking(what=what, host=names[hosts[0]], count=len(hosts), **spent) if hosts else None
