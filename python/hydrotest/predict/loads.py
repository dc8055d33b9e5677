"""What workloads at given rates, and systems that are only there, use of the hosts of each other."""

from __future__ import annotations

from collections.abc import Mapping

from hydrotest.predict.answer import Use
from hydrotest.predict.basis import Basis
from hydrotest.predict.change import Asked
from hydrotest.spec.models import Experiment
from hydrotest.verdicts.figures import Resource

SOFT_KEPT = 0.5
"""Of what a system uses beyond its need, the part that others on its hosts do not get: none if its threads gave way, all if they did not.
The middle is assumed; intervals go from none to all."""


def of_others(now: Asked, bases: Mapping[str, Basis], basis: Basis, loads: Mapping[str, float], kept: float = SOFT_KEPT) -> float:
    """Cores of each of its hosts that others use: workloads on its system, at the rates that are asked for, and by
    other systems there, also if they are idle. `kept`: see `system_cores`."""
    own = sum(demand(one, loads) for name, one in bases.items() if one.system == basis.system and name != basis.name)
    is_idle = not any(loads.get(name, 0.0) > 0 for name, one in bases.items() if one.system != basis.system)
    then = basis.body.others if _neighbours(now.experiment, basis.system) == _neighbours(basis.first.experiment, basis.system) else 0.0
    if is_idle and then > 0:
        # As they were there when it was measured: what is fixed of their own law is more, since threads that have nothing to do rest.
        return own + then
    # Under a load they use no less than without one.
    return own + max(then, _of_systems(now, bases, basis.system, loads, kept))


def _neighbours(experiment: Experiment, system: str) -> dict[str, int]:
    """Other systems on a system's hosts, with the number of hosts that they share."""
    present = experiment.systems.present()
    own = set(present[system].hosts)
    shared = {name: len(own & set(other.hosts)) for name, other in present.items() if name != system}
    return {name: count for name, count in shared.items() if count}


def loads_beside(now: Asked, bases: Mapping[str, Basis], basis: Basis, loads: Mapping[str, float]) -> dict[str, float]:
    """Operations a second of other workloads on its system, and of systems that share hosts with it: those that its limit leaves room for."""
    near = {basis.system, *_neighbours(now.experiment, basis.system)}
    return {name: rate for name, rate in loads.items() if rate > 0 and name != basis.name and name in bases and bases[name].system in near}


def _of_systems(now: Asked, bases: Mapping[str, Basis], system: str, loads: Mapping[str, float], kept: float = SOFT_KEPT) -> float:
    """Cores that other systems use on that of its hosts on which they use most: it binds."""
    present = now.experiment.systems.present()
    used = {name: (set(other.hosts), system_cores(bases, name, loads, kept=kept)) for name, other in present.items() if name != system}
    return max((sum(cores for hosts, cores in used.values() if host in hosts) for host in present[system].hosts), default=0.0)


def demand(basis: Basis, loads: Mapping[str, float]) -> float:
    """Cores that a workload's operations need on each host at the rate that is asked for, apart from what is fixed."""
    rate = loads.get(basis.name, 0.0)
    work = basis.work(rate, on_busiest=True)
    return basis.body.demands.cores(work.drivers) - basis.body.demands.fixed if rate > 0 else 0.0


def needs_by_system(bases: Mapping[str, Basis], loads: Mapping[str, float], speed: float) -> dict[str, float]:
    """By system: cores that the operations of its workloads need on each of its hosts, at the rates that are asked for."""
    return {
        system: sum(demand(one, loads) for one in bases.values() if one.system == system) / speed
        for system in {one.system for one in bases.values()}
    }


def system_cores(bases: Mapping[str, Basis], system: str, loads: Mapping[str, float], *, kept: float = SOFT_KEPT) -> float:
    """Cores of each of its hosts that a system does not leave to others, at the rates that are asked for; `kept`: of what it uses beyond
    its need."""
    own = [one for one in bases.values() if one.system == system]
    needed = max((one.body.demands.fixed for one in own), default=0.0) + sum(demand(one, loads) for one in own)
    seen = max((one.seen_cores(loads.get(one.name, 0.0), one.hosts) for one in own), default=0.0)
    return needed + kept * max(0.0, seen - needed)


def at_loads(now: Asked, bases: Mapping[str, Basis], system: str, loads: Mapping[str, float], speed: float) -> list[Use]:
    """Need of each host of a system at all rates that are asked for, together; none if no workload of it has one."""
    own = [one for one in bases.values() if one.system == system and loads.get(one.name, 0.0) > 0]
    if not own:
        return []
    others = _of_systems(now, bases, system, loads) / speed
    each = [one.scene(one.body.full, speed=speed).uses(loads[one.name]) for one in own]
    fixed = max(one.body.demands.fixed for one in own) / speed
    totals = []
    for at, use in enumerate(each[0]):
        used = sum(uses[at].used for uses in each)
        if use.resource == Resource.CPU:
            # What is fixed is there once.
            used += others + fixed - sum(one.body.demands.fixed for one in own) / speed
        by_others = others if use.resource == Resource.CPU else 0.0
        totals.append(use.model_copy(update={"used": used, "others": by_others, "share": used / use.has}))
    return totals
