"""Scenarios, simulated: the courses of what is random, and what they have in common."""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hydrotest import __version__
from hydrotest.analysis.demand.body import Applied
from hydrotest.catalogue.cost import HOURS, Cost, Wanted, cost_of, disk_lines, has_disk_price, machine_line
from hydrotest.catalogue.machine import Machine
from hydrotest.catalogue.machines import found as machine_named
from hydrotest.errors import BadInputError
from hydrotest.kinds.registry import SYSTEMS
from hydrotest.predict.axes import REFUSED, WITHIN
from hydrotest.predict.basis import Basis, basis_of
from hydrotest.predict.change import asked
from hydrotest.predict.gates import inseparable, no_fit
from hydrotest.predict.known import Known
from hydrotest.predict.simulation.course import bends_of, courses, highest_rate
from hydrotest.predict.simulation.effects import Effects, highest_of
from hydrotest.predict.simulation.fleet import Hosts, fleet_of, group_has
from hydrotest.predict.simulation.outcome import DiskDays, Happening, Lacking, Missed, Simulated, Went, What
from hydrotest.predict.simulation.scenario import Event, Scenario, group_and_index
from hydrotest.predict.simulation.service import Copies, Service
from hydrotest.predict.simulation.world import RESOURCES, Flow, World
from hydrotest.spec.fields import DAY_S
from hydrotest.spec.system import System
from hydrotest.store import layout

STEPS = 2_000
"""Of a course in which nothing happens, at least."""
STEP_S_MIN, STEP_S_MAX = 1.0, 300.0
GROWTH = 0.02
"""While something waits a step is so much of the time since it began."""
QUIET_BACKLOG = 1e-6
ROLL_S = 60.0
DISKS = "disks"
"""Their name among objectives."""


@dataclass(frozen=True)
class Prepared:
    """A scenario with what its runs say of it."""

    scenario: Scenario
    folder: Path
    """Traces are relative to it."""
    runs: Sequence[Known]
    bases: Mapping[str, Basis]
    machines: Mapping[str, Machine]
    """By group, of those that name a type."""
    takeovers: Mapping[str, float]


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


def prepared(scenario: Scenario, runs: Sequence[Known], there: Mapping[str, Machine], folder: Path) -> Prepared:
    """Raises `BadInputError` where the runs do not know what the scenario names."""
    now = asked(runs[0].experiment, runs[0].text, [], runs[0].path / layout.EXPERIMENT)
    bases = {}
    for name in scenario.load:
        if name not in now.experiment.workloads:
            raise BadInputError(f"load {name}: the run has no such workload", f"It has {', '.join(now.experiment.workloads)}.")
        basis = basis_of(runs, now, name)
        if not isinstance(basis, Basis):
            raise BadInputError(
                f"of {name} the run says nothing: {basis.why} ({', '.join(basis.about)})", "`hydrotest predict` says what would show it."
            )
        if (gate := no_fit(basis.body, basis.system)) is not None:
            raise BadInputError(f"of {name} the run says nothing: {gate.why}", "`hydrotest predict` says what would show it.")
        if basis.system not in scenario.systems:
            raise BadInputError(
                f"{name} is a load of {basis.system}, which is on no hosts", f"Write `systems: {{{basis.system}: {{on: …}}}}`."
            )
        bases[name] = basis
    unused = [name for name in scenario.systems if all(basis.system != name for basis in bases.values())]
    if unused:
        raise BadInputError(f"no load of the scenario is one of {unused[0]}", "Leave the system out, or add a load.")
    machines = {name: machine_named(group.type, there) for name, group in scenario.hosts.items() if group.type is not None}
    for name, machine in machines.items():
        if machine.vcpus is None:
            raise BadInputError(f"{machine.full_name}: its vCPUs are not known", f"Write `cores` for {name}, or add it to machines.yaml.")
    found = Prepared(
        scenario,
        folder,
        runs,
        bases,
        machines,
        {name: _takeover_s(system, name) for name, system in now.experiment.systems.present().items()},
    )
    _check_reach(found)
    return found


def _takeover_s(system: System, name: str) -> float:
    """Until others serve what one served: as the system is set up, else as its kind does by itself."""
    kind = SYSTEMS[name]
    given = getattr(system, "config", {}).get(kind.takeover_ms) if kind.takeover_ms is not None else None
    return kind.takeover_s if given is None else float(given) / 1000


def _check_reach(all_: Prepared) -> None:
    """Raises `BadInputError` for hosts that are too far from those that were measured, unless that was asked for."""
    for name, system in all_.scenario.systems.items():
        bases = [basis for basis in all_.bases.values() if basis.system == name]
        group = all_.scenario.hosts[system.on]
        measured = max(point.seen.has.cores for basis in bases for point in basis.body.points)
        had = max(point.source.hosts for basis in bases for point in basis.body.points)
        cores = _has(all_, system.on, bases[0])["cores"][1]
        for what, reach in (("cores", cores / measured), ("hosts", group.count / had)):
            if reach > REFUSED * WITHIN and not all_.scenario.far:
                raise BadInputError(f"{system.on} has {reach:.1f} times the {what} that {name} was measured on", "How a system grows so far is not known. "
                                    "Measure a larger one, or write `far: true`: the answer is then an assumption.")  # fmt: skip
            if reach < 1 / (REFUSED * WITHIN) and what == "cores":
                raise BadInputError(
                    f"{system.on} has {1 / reach:.1f} times fewer cores than {name} was measured on", "Measure a smaller one."
                )


def _check_law(all_: Prepared, name: str, rate: float) -> None:
    """Raises `BadInputError` where a run does not show what a load takes of so many hosts, unless that was asked for."""
    basis, scenario = all_.bases[name], all_.scenario
    hosts = scenario.hosts[scenario.systems[basis.system].on].count
    spec = basis.spec if basis.spec.copies <= hosts else basis.spec.model_copy(update={"replication": hosts})
    gate = inseparable(basis.body, Applied(spec, hosts, basis.body.ride).work(rate, is_closed=False).drivers)
    if gate is not None and not scenario.far:
        raise BadInputError(f"the run does not show what {rate:,.0f} operations/s of {name} take of {hosts} hosts: {', '.join(gate.about)} cannot be told apart",
                            "Measure more with `calibrate` (`hydrotest predict` offers it), or write `far: true`: the answer is then an assumption.")  # fmt: skip


def _has(all_: Prepared, group: str, basis: Basis) -> dict[str, tuple[float, float, float]]:
    return group_has(all_.scenario.hosts[group], all_.machines.get(group), basis.has, all_.scenario.speed)


def course_of(all_: Prepared, seed: int, duration_s: float) -> Course:
    """One course."""
    scenario = all_.scenario
    room: dict[str, int] = {}
    for event in scenario.events:
        if event.add is not None:
            room[event.add] = room.get(event.add, 0) + event.count
    of_group = {
        system.on: next(basis for basis in all_.bases.values() if basis.system == name) for name, system in scenario.systems.items()
    }
    used = {name: group for name, group in scenario.hosts.items() if name in of_group}
    fleet = fleet_of(used, room, {name: _has(all_, name, of_group[name]) for name in used})
    rates = courses(scenario.load, duration_s, all_.folder, seed)
    highest = {name: highest_rate(rates[name], duration_s, bends_of(load, all_.folder)) for name, load in scenario.load.items()}
    for name, rate in highest.items():
        _check_law(all_, name, rate)
    services = {
        name: _service(all_, name, fleet.groups[system.on], scenario.hosts[system.on].count, highest)
        for name, system in scenario.systems.items()
    }
    flows = {name: Flow(name, services[basis.system], rates[name], scenario.load[name].gives_up, scenario.load[name].retain,
                        np.zeros(len(services[basis.system].at))) for name, basis in all_.bases.items()}  # fmt: skip
    found = Course(World(fleet, services, flows, lambda *_: None))
    found.world.fill_before()
    for name, service in services.items():
        at, own = service.at[service.member], [basis for basis in all_.bases.values() if basis.system == name]
        fleet.stored[at] += sum(basis.law.data_bytes(basis.spec, len(at)) for basis in own)
    _Director(all_, found, duration_s, seed).play()
    return found


def _service(all_: Prepared, name: str, hosts: Hosts, count: int, highest: Mapping[str, float]) -> Service:
    scenario = all_.scenario
    own = {key: basis for key, basis in all_.bases.items() if basis.system == name}
    cores = _has(all_, scenario.systems[name].on, next(iter(own.values())))["cores"][1]
    member = np.arange(len(hosts)) < count
    takeover = scenario.systems[name].takeover
    is_shared = any(one.on == scenario.systems[name].on for other, one in scenario.systems.items() if other != name)
    given = scenario.systems[name].catch_up
    copies = {key: Copies(basis.spec.copies, basis.copies_needed, basis.law.copies_waited(basis.spec)) for key, basis in own.items()}
    effects = {key: Effects(basis, highest_of(basis, cores, len(hosts), highest[key]), is_shared) for key, basis in own.items()}
    return Service(name, hosts, member, effects, copies, all_.takeovers[name] if takeover is None else takeover, None if given is None else given / 8,
                   max(basis.body.demands.fixed for basis in own.values()), min(basis.body.full for basis in own.values()), np.zeros(len(hosts)))  # fmt: skip


class _Director:
    """Plays events, chooses steps, and writes down what happens."""

    def __init__(self, all_: Prepared, course: Course, duration_s: float, seed: int) -> None:
        self.all, self.course, self.duration_s = all_, course, duration_s
        self.scenario, self.world = all_.scenario, course.world
        self.world.note = self._note
        self._order = itertools.count()
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._rolling: list[tuple[Iterator[int], float, int]] = []
        self._missed: dict[str, bool] = {}
        self._busy_since: float | None = None
        self._bends = sorted({at for load in self.scenario.load.values() for at in bends_of(load, all_.folder)})
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
        if event.fail is not None:
            named = group_and_index(event.fail)
            assert named is not None
            self._fail([int(fleet.groups[named[0]][named[1]])], event.lasts)
        elif event.zone is not None:
            self._fail([int(at) for at in np.flatnonzero((fleet.zones == event.zone) & fleet.up)], event.lasts)
        elif event.add is not None:
            new = fleet.groups[event.add][~fleet.exists[fleet.groups[event.add]]][: event.count]
            self.world.add(new, None if event.rebalance is None else event.rebalance / 8)
            self._note(What.ADDED, fleet.names[new[0]], None, len(new))
            # Without anything to fetch they are members at once.
            self.world.join_idle(new)
        elif event.roll is not None:
            service = self.world.services[event.roll]
            self._rolling.append((iter([int(at) for at in service.at[service.member]]), event.lasts or ROLL_S, -1))

    def _fail(self, hosts: Sequence[int], lasts: float | None, *, is_controlled: bool = False) -> None:
        up = [host for host in hosts if self.world.fleet.up[host]]
        if not up:
            return
        self.world.fail(np.array(up), is_controlled=is_controlled)
        self._note(What.FAILED, self.world.fleet.names[up[0]], None, len(up))
        if lasts is not None:
            self._push(self.world.now_s + lasts, lambda: self._return(up))

    def _return(self, hosts: Sequence[int]) -> None:
        self.world.back(np.array(hosts))
        up = [host for host in hosts if self.world.fleet.up[host]]  # not those whose disks are full
        if up:
            self._note(What.BACK, self.world.fleet.names[up[0]], None, len(up))

    def _roll(self) -> None:
        """The next host of each system that is restarted in turn, once the one before has all again."""
        fleet = self.world.fleet
        left = []
        for hosts, lasts, last in self._rolling:
            if last >= 0 and not (fleet.up[last] and fleet.missing[last] <= 0):
                left.append((hosts, lasts, last))
                continue
            host = next(hosts, None)
            if host is not None:
                self._fail([host], lasts, is_controlled=True)
                left.append((hosts, lasts, host))
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
            later = service.held_until[service.held_until > world.now_s + 1e-9]
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
            for resource, bucket in (("cpu", fleet.cores), ("network", fleet.link), ("disk", fleet.disk)):
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
            for resource in RESOURCES:
                row[f"{name} {resource}"] = float(world.uses.shares[resource][up].max()) if up.size else 0.0
            for resource, bucket in (("cpu", fleet.cores), ("network", fleet.link), ("disk", fleet.disk)):
                if bucket.size[there].any():
                    row[f"{name} {resource} burst"] = float((bucket.left[there] / bucket.size[there]).min())
            if np.isfinite(fleet.size[there]).any():
                row[f"{name} fill"] = float((fleet.stored[there] / fleet.size[there]).max())
        course.series.append(row)
        for name, objective in self.scenario.objectives.items():
            self._judge(name, world.flows[name].wait_s > objective.wait, world.now_s - before)
        sized = fleet.exists & np.isfinite(fleet.size)
        if sized.any():
            self._judge(DISKS, bool((fleet.stored[sized] > self.scenario.fill * fleet.size[sized]).any()), world.now_s - before)

    def _judge(self, name: str, is_missed: bool, seconds: float) -> None:
        course = self.course
        course.missed_s[name] = course.missed_s.get(name, 0.0) + (seconds if is_missed else 0.0)
        if is_missed != self._missed.get(name, False):
            self._missed[name] = is_missed
            course.happenings.append(
                Happening(
                    at_s=self.world.now_s,
                    what=What.MISSED if is_missed else What.MET,
                    subject=name,
                    because=self._because(self.world.flows[name].service) if is_missed and name != DISKS else [],
                )
            )

    def _because(self, service: Service) -> list[Lacking]:
        """What a system lacks now: hosts that are away, and resources that are full."""
        fleet, uses = self.world.fleet, self.world.uses
        assert uses is not None
        own = service.at[fleet.exists[service.at]]
        found = [_named(fleet.names, [at for at in own if not fleet.up[at]], "away")]
        for resource, bucket in (("cpu", fleet.cores), ("network", fleet.link), ("disk", fleet.disk)):
            hosts = [at for at in own if uses.binds[at] == resource]
            found.append(_named(fleet.names, hosts, f"{resource} spent" if bucket.spent[hosts].any() else resource))
        return [one for one in found if one is not None]


def _named(names: Sequence[str], hosts: Sequence[int], lacks: str) -> Lacking | None:
    return Lacking(what=lacks, host=names[hosts[0]], count=len(hosts)) if hosts else None


def simulated(
    all_: Prepared, *, duration_s: float, seeds: int, wanted: Wanted, say: Callable[[str], None] = lambda _: None
) -> tuple[Simulated, pl.DataFrame]:
    """All courses, and the series of the first."""
    scenario = all_.scenario
    is_random = any(load.noise for load in scenario.load.values()) or any(event.mtbf is not None for event in scenario.events)
    count = seeds if is_random else 1
    found = []
    for seed in range(count):
        course = course_of(all_, seed, duration_s)
        found.append(course if seed == 0 else _without_series(course))
        if count > 1:
            say(f"course {seed + 1} of {count}")
    first = found[0]
    bad = next((one for one in first.happenings if one.what is What.MISSED), None)
    names = sorted({name for course in found for name in course.missed_s})
    assumed = ["speed"] if all_.machines else []
    if any(
        group_has(scenario.hosts[name], machine, next(iter(all_.bases.values())).has, 1.0)["link"][2]
        for name, machine in all_.machines.items()
    ):
        assumed.append("burst")
    if scenario.far:
        assumed.append("far")
    series = pl.DataFrame(first.series)
    answer = Simulated(
        version=__version__, name=scenario.name, runs=[str(run.path) for run in all_.runs], seconds=duration_s,
        hosts=sum(group.count for group in scenario.hosts.values()), seeds=count, steps=first.steps, conserved=max(course.conserved for course in found),
        missed=[_missed(name, [course.missed_s.get(name, 0.0) / 60 for course in found]) for name in names], first_bad=bad, happenings=first.happenings,
        workloads=[Went(workload=name, offered=flow.offered, served=flow.served, given_up=flow.given_up, waiting=float(flow.backlog.sum()),
                        backlog_max=first.backlog_max[name], wait_max_s=first.wait_max_s[name]) for name, flow in first.world.flows.items()],
        disks=_disks(scenario, series), cost=_cost(all_, wanted), assumed=assumed,
    )  # fmt: skip
    return answer, series


def _without_series(course: Course) -> Course:
    course.series.clear()
    return course


def _missed(name: str, minutes: Sequence[float]) -> Missed:
    return Missed(
        workload=name, minutes=float(np.mean(minutes)), low=float(np.quantile(minutes, 0.05)), high=float(np.quantile(minutes, 0.95))
    )


def _disks(scenario: Scenario, series: pl.DataFrame) -> list[DiskDays]:
    rows = []
    for name in scenario.hosts:
        if f"{name} fill" not in series.columns:
            continue
        times, fills = series["seconds"].to_numpy(), series[f"{name} fill"].to_numpy()
        # Over whole days, where there are some: by day there is more than by night.
        span = times[-1] / 2
        begin = int(np.searchsorted(times, times[-1] - (span // DAY_S * DAY_S or span)))
        days = (times[-1] - times[begin]) / DAY_S
        per_day = (fills[-1] - fills[begin]) / days if days > 0 else 0.0
        left = max(0.0, scenario.fill - fills[-1])
        rows.append(DiskDays(group=name, fill=float(fills[-1]), per_day=float(per_day), days=left / per_day if per_day > 1e-9 else None))
    return rows


def _cost(all_: Prepared, wanted: Wanted) -> Cost | None:
    """Machines and disks of the beginning; None if a price is not known."""
    used = {system.on for system in all_.scenario.systems.values()}
    if not used <= set(all_.machines):
        return None
    lines = []
    for name in sorted(used):
        machine, group = all_.machines[name], all_.scenario.hosts[name]
        if machine.price(wanted.region, wanted.term) is None:
            return None
        lines.append(machine_line(machine, group.count, wanted))
        if group.disk is not None and has_disk_price(machine.provider):
            speed = 0.0 if group.disk.speed is None else group.disk.speed / 8
            lines += disk_lines(machine.provider, group.disk.size, group.count, speed)
    return cost_of(all_.scenario.name, lines, [], HOURS)
