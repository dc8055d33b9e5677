"""Scenarios, simulated: the courses of what is random, and what they have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from hydrotest import __version__
from hydrotest.catalogue.cost import HOURS, Cost, Uncounted, Wanted, cost_of, disk_lines, has_disk_price, has_disk_speed_price, machine_line
from hydrotest.kinds.registry import SYSTEMS
from hydrotest.predict.loads import SOFT_KEPT
from hydrotest.predict.simulation.compaction import Compaction
from hydrotest.predict.simulation.course import WEEK_DAYS, bends_of, courses, highest_rate
from hydrotest.predict.simulation.director import Course, Director
from hydrotest.predict.simulation.effects import Effects, highest_of
from hydrotest.predict.simulation.fleet import Hosts, fleet_of, group_has
from hydrotest.predict.simulation.outcome import Behind, DiskDays, Missed, Simulated, Went, What, behind_column
from hydrotest.predict.simulation.prepared import Prepared
from hydrotest.predict.simulation.scenario import Scenario, SimulatedCompaction, SimulatedLoad, most_hosts
from hydrotest.predict.simulation.service import Copies, Service
from hydrotest.predict.simulation.world import Flow, World
from hydrotest.spec.fields import DAY_S

GOLDEN = (math.sqrt(5) - 1) / 2


def course_of(all_: Prepared, seed: int, duration_s: float) -> Course:
    """One course."""
    scenario = all_.scenario
    of_group = {
        system.on: next(basis for basis in all_.bases.values() if basis.system == name) for name, system in scenario.systems.items()
    }
    used = {name: group for name, group in scenario.hosts.items() if name in of_group}
    fleet = fleet_of(used, room_of(scenario), {name: all_.has(name, of_group[name]) for name in used})
    rates = courses(scenario.load, duration_s, all_.document.file.parent, seed)
    highest = {
        name: highest_rate(rates[name], duration_s, bends_of(load, all_.document.file.parent)) for name, load in scenario.load.items()
    }
    for name, rate in highest.items():
        all_.check_law(name, rate)
    services = {
        name: _service(all_, name, fleet.groups[system.on], scenario.hosts[system.on].count, highest, _kept(all_, name, seed))
        for name, system in scenario.systems.items()
    }
    flows = {name: Flow(name, services[basis.system], rates[name], scenario.load[name].gives_up, scenario.load[name].retain,
                        np.zeros(len(services[basis.system].at))) for name, basis in all_.bases.items()}  # fmt: skip
    found = Course(World(fleet, services, flows, lambda *_: None))
    found.world.fill_before()
    for name, service in services.items():
        at, own = service.at[service.member], [basis for basis in all_.bases.values() if basis.system == name]
        fleet.stored[at] += sum(basis.law.data_bytes(basis.spec, len(at)) for basis in own)
    Director(all_, found, duration_s, seed).play()
    return found


def _kept(all_: Prepared, name: str, seed: int) -> float:
    """Of what a system uses beyond its need, the part that others on its hosts do not get: from course to course another, spread evenly
    (the golden ratio's multiples, modulo 1), and the middle in the first. None where none are."""
    on = all_.scenario.systems[name].on
    is_shared = any(one.on == on for other, one in all_.scenario.systems.items() if other != name)
    return (SOFT_KEPT + seed * GOLDEN) % 1 if is_shared else 0.0


def _is_soft(all_: Prepared) -> bool:
    """Whether a system that uses more than it needs shares hosts with another one."""
    return any(basis.body.is_soft and _kept(all_, basis.system, 0) > 0 for basis in all_.bases.values())


def _service(all_: Prepared, name: str, hosts: Hosts, count: int, highest: Mapping[str, float], kept: float) -> Service:
    scenario = all_.scenario
    own = {key: basis for key, basis in all_.bases.items() if basis.system == name}
    cores = all_.has(scenario.systems[name].on, next(iter(own.values())))["cores"][1]
    member = np.arange(len(hosts)) < count
    takeover = scenario.systems[name].takeover
    given = scenario.systems[name].catch_up
    copies = {key: Copies(basis.spec.copies, basis.copies_needed, basis.law.copies_waited(basis.spec)) for key, basis in own.items()}
    effects = {key: Effects(basis, highest_of(basis, cores, len(hosts), highest[key]), kept) for key, basis in own.items()}
    return Service(name, hosts, member, effects, copies, all_.takeovers[name] if takeover is None else takeover, None if given is None else given / 8,
                   max(basis.body.demands.fixed for basis in own.values()), min(basis.usable for basis in own.values()), np.zeros(len(hosts)),
                   SYSTEMS[name].client_waits_s, np.zeros(len(hosts)), _compaction(scenario.systems[name].compaction, name, len(hosts)))  # fmt: skip


def _compaction(given: SimulatedCompaction | None, system: str, hosts: int) -> Compaction | None:
    if given is None:
        return None
    own = SYSTEMS[system].rewrites_b_s
    speed = own if given.speed is None else given.speed / 8
    assert speed is not None  # `prepared` has looked
    return Compaction(given.rewrites, speed, np.zeros(hosts), np.zeros(hosts), np.zeros(hosts))


def simulated(
    all_: Prepared, *, duration_s: float, seeds: int, wanted: Wanted, say: Callable[[str], None] = lambda _: None
) -> tuple[Simulated, pl.DataFrame]:
    """All courses, and the series of the first."""
    scenario = all_.scenario
    is_soft = _is_soft(all_)
    is_random = is_soft or any(load.noise for load in scenario.load.values()) or any(event.mtbf is not None for event in scenario.events)
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
    if is_soft:
        assumed.append("soft")
    series = pl.DataFrame(first.series)
    answer = Simulated(
        version=__version__, name=scenario.name, runs=[str(run.path) for run in all_.runs], seconds=duration_s,
        hosts=sum(group.count for group in scenario.hosts.values()), seeds=count, steps=first.steps, conserved=max(course.conserved for course in found),
        missed=[_missed(name, [course.missed_s.get(name, 0.0) / 60 for course in found]) for name in names], first_bad=bad, happenings=first.happenings,
        workloads=[Went(workload=name, offered=flow.offered, served=flow.served, given_up=flow.given_up, waiting=float(flow.backlog.sum()),
                        backlog_max=first.backlog_max[name], wait_max_s=first.wait_max_s[name]) for name, flow in first.world.flows.items()],
        disks=_disks(all_, first.world, series), compaction=_behind(first, series), assumed=assumed,
        not_in_cost=_not_in_cost(all_), cost=_cost(all_, wanted, {name: group.count for name, group in scenario.hosts.items()}),
        cost_in_the_end=_cost(all_, wanted, {name: most_hosts(scenario, name) for name in scenario.hosts}) if room_of(scenario) else None,
    )  # fmt: skip
    return answer, series


def _without_series(course: Course) -> Course:
    course.series.clear()
    return course


def _missed(name: str, minutes: Sequence[float]) -> Missed:
    return Missed(
        workload=name, minutes=float(np.mean(minutes)), low=float(np.quantile(minutes, 0.05)), high=float(np.quantile(minutes, 0.95))
    )


def _disks(all_: Prepared, world: World, series: pl.DataFrame) -> list[DiskDays]:
    scenario, rows = all_.scenario, []
    for name in scenario.hosts:
        if f"{name} fill" not in series.columns:
            continue
        times, fills = series["seconds"].to_numpy(), series[f"{name} fill"].to_numpy()
        own = {key: scenario.load[key] for key, basis in all_.bases.items() if scenario.systems[basis.system].on == name}
        # Over whole days or weeks, where there are some: by day there is more than by night.
        span, period = times[-1] / 2, DAY_S * (WEEK_DAYS if any(load.weekend != 1 for load in own.values()) else 1)
        begin = int(np.searchsorted(times, times[-1] - (span // period * period or span // DAY_S * DAY_S or span)))
        days = (times[-1] - times[begin]) / DAY_S
        per_day = (fills[-1] - fills[begin]) / days if days > 0 else 0.0
        if all(_is_steady(scenario, load) or _keeps_nothing(world.flows[key]) for key, load in own.items()):
            # What is kept for a while of a course that repeats itself is the same each day; that it is removed in pieces is no growth.
            per_day = 0.0
        left = max(0.0, scenario.fill - fills[-1])
        rows.append(DiskDays(group=name, fill=float(fills[-1]), per_day=float(per_day), days=left / per_day if per_day > 1e-9 else None))
    return rows


def _is_steady(scenario: Scenario, load: SimulatedLoad) -> bool:
    """Whether what is kept of it is as much each day, or each week."""
    own = load if load.follows is None else scenario.load[load.follows]
    return load.retain is not None and (own.rate is not None or own.daily is not None)


def _keeps_nothing(flow: Flow) -> bool:
    return flow.service.effects[flow.name].on(max(1, int(flow.service.member.sum()))).kept <= 0


def _behind(course: Course, series: pl.DataFrame) -> list[Behind]:
    rows = []
    for name, service in course.world.services.items():
        if service.compaction is not None:
            behind = series[behind_column(name)].to_list()
            rows.append(Behind(system=name, most_s=max(behind), end_s=behind[-1], rewrites_s=service.compaction.speed))
    return rows


def room_of(scenario: Scenario) -> dict[str, int]:
    """Hosts that are added to groups."""
    more = {name: most_hosts(scenario, name) - group.count for name, group in scenario.hosts.items()}
    return {name: count for name, count in more.items() if count}


def _not_in_cost(all_: Prepared) -> list[Uncounted]:
    """Of disks that are reached by the network."""
    lacks = any(group.disk is not None and name in all_.machines and not all_.machines[name].local_disks
                and not has_disk_price(all_.machines[name].provider) for name, group in all_.scenario.hosts.items())  # fmt: skip
    is_slow = any(group.disk is not None and group.disk.speed is None and name in all_.machines and all_.machines[name].disk_base_b_s is None
                  and has_disk_speed_price(all_.machines[name].provider) for name, group in all_.scenario.hosts.items())  # fmt: skip
    return [*([Uncounted.DISKS] if lacks else []), *([Uncounted.DISK_SPEED] if is_slow else [])]


def _cost(all_: Prepared, wanted: Wanted, counts: Mapping[str, int]) -> Cost | None:
    """Machines and disks of so many hosts of each group; None if a price is not known."""
    used = {system.on for system in all_.scenario.systems.values()}
    if not used <= set(all_.machines):
        return None
    lines = []
    for name in sorted(used):
        machine, group = all_.machines[name], all_.scenario.hosts[name]
        if machine.price(wanted.region, wanted.term) is None:
            return None
        lines.append(machine_line(machine, counts[name], wanted))
        if group.disk is not None and not machine.local_disks and has_disk_price(machine.provider):
            # As fast as it is played: a type's own way to its disks is what is paid for where nothing else is written.
            there = next(basis for basis in all_.bases.values() if all_.scenario.systems[basis.system].on == name)
            written = all_.has(name, there)["disk"][0]
            speed = written if math.isfinite(written) else 0.0
            lines += disk_lines(machine.provider, group.disk.size, counts[name], speed, region=wanted.region)
    return cost_of(all_.scenario.name, lines, [], HOURS)
