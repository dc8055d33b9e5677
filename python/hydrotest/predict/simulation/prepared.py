"""A scenario with what its runs say of it, and whether they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from hydrotest.analysis.demand.windows import Ceilings
from hydrotest.catalogue.machine import Machine
from hydrotest.catalogue.machines import found as machine_named
from hydrotest.errors import BadInputError
from hydrotest.kinds.registry import SYSTEMS
from hydrotest.predict.axes import REFUSED, WITHIN
from hydrotest.predict.basis import GROUPS, MEMORY_SHARE, Basis, basis_of
from hydrotest.predict.capacity import Scene
from hydrotest.predict.change import asked, checked_groups
from hydrotest.predict.gates import inseparable, is_cpu_bound_known, no_fit, too_far
from hydrotest.predict.known import Known
from hydrotest.predict.simulation.fleet import group_has
from hydrotest.predict.simulation.scenario import HostGroup, Scenario, most_hosts
from hydrotest.spec.lines import Document, Path_
from hydrotest.spec.system import System
from hydrotest.store import layout
from hydrotest.units import show_bytes, show_count

OFFERED = "`hydrotest predict` says what would show it."
Wrong = Callable[[Path_, str, str | None], BadInputError]
"""Makes the error of a place in the scenario."""


@dataclass(frozen=True)
class Prepared:
    """A scenario with what its runs say of it."""

    scenario: Scenario
    document: Document
    """Its file, to whose folder traces are relative."""
    runs: Sequence[Known]
    bases: Mapping[str, Basis]
    machines: Mapping[str, Machine]
    """By group, of those that name a type."""
    takeovers: Mapping[str, float]

    def has(self, group: str, basis: Basis) -> dict[str, tuple[float, float, float]]:
        """What each host of a group has: see `group_has`."""
        return group_has(self.scenario.hosts[group], self.machines.get(group), basis.has, self.scenario.speed)

    def check_law(self, name: str, rate: float) -> None:
        """Raises `BadInputError` where a run does not show what a load takes of so many hosts, unless that was asked for. Of more than they
        carry the rest waits, so that what is served comes as without a rate limit."""
        basis = self.bases[name]
        group = self.scenario.systems[basis.system].on
        hosts = self.scenario.hosts[group].count
        applied = basis.applied.on(hosts)
        has = Ceilings(self.has(group, basis)["cores"][1], None, None, None)
        carried = Scene(basis.body, applied, has, True, basis.usable).limit()
        waits = 0 < carried < rate
        work = applied.work(carried, is_closed=True) if waits else basis.work(rate, hosts)
        gate = inseparable(basis.body, work.drivers, has.cores)
        if gate is not None and not self.scenario.far:
            raise _wrong(self.document, ("load", name), f"the run does not show what {rate:,.0f} operations/s of {name} take of {show_count(hosts, 'host')}: "
                         f"it does not separate {', '.join(gate.about)}",
                         "Measure more with `calibrate` (`hydrotest predict` offers it), or write `far: true`: the answer is then an assumption.")  # fmt: skip


def _wrong(document: Document, place: Path_, message: str, hint: str | None) -> BadInputError:
    return BadInputError(message, hint, file=document.file, line=document.line(place))


def prepared(scenario: Scenario, runs: Sequence[Known], there: Mapping[str, Machine], document: Document) -> Prepared:
    """Raises `BadInputError`, with the line of the scenario, where the runs do not know what it names."""
    wrong = partial(_wrong, document)
    systems, workloads = runs[0].experiment.systems.present(), runs[0].experiment.workloads
    for name in scenario.systems:
        if name not in systems:
            raise wrong(("systems", name), f"the run has no system {name}", f"It has {', '.join(systems)}.")
    for name in scenario.load:
        if name not in workloads:
            raise wrong(("load", name), f"load {name}: the run has no such workload", f"It has {', '.join(workloads)}.")
    bases = _bases(scenario, runs, wrong)
    unused = [name for name in scenario.systems if all(basis.system != name for basis in bases.values())]
    if unused:
        raise wrong(("systems", unused[0]), f"no load of the scenario is one of {unused[0]}", "Leave the system out, or add a load.")
    machines = {name: _machine(name, group, group.type, there, wrong) for name, group in scenario.hosts.items() if group.type is not None}
    for name, simulated in scenario.systems.items():
        if simulated.compaction is not None:
            flaw = _flaw_of_compaction(name, systems[name], is_given=simulated.compaction.speed is not None)
            if flaw is not None:
                raise wrong(("systems", name, "compaction"), *flaw)
    for name in scenario.hosts:
        own = [basis for basis in bases.values() if scenario.systems[basis.system].on == name]
        _check_memory(name, scenario.hosts[name], own, machines.get(name), wrong)
    takeovers = {name: _takeover_s(system, name) for name, system in systems.items()}
    found = Prepared(scenario, document, runs, bases, machines, takeovers)
    _check_reach(found)
    return found


def _bases(scenario: Scenario, runs: Sequence[Known], wrong: Wrong) -> dict[str, Basis]:
    """What each load stands on, as far as `predict` would answer for it."""
    groups = {name: float(load.groups) for name, load in scenario.load.items() if load.groups}
    for name, count in groups.items():
        try:
            checked_groups(runs[0].experiment, {name: count})
        except BadInputError as error:
            raise wrong(("load", name, "groups"), error.what, error.hint) from error
    now = asked(runs[0].experiment, runs[0].text, [], runs[0].path / layout.EXPERIMENT, groups=groups)
    bases = {}
    for name in scenario.load:
        basis = basis_of(runs, now, name)
        if not isinstance(basis, Basis):
            raise wrong(("load", name), f"of {name} the run says nothing: {basis.why} ({', '.join(basis.about)})", OFFERED)
        if (gate := no_fit(basis.body, basis.system)) is not None:
            raise wrong(("load", name), f"of {name} the run says nothing: {gate.why}", OFFERED)
        if not is_cpu_bound_known(basis.body):
            raise wrong(("load", name), f"of {name} the run says nothing: without a rate limit nothing of its hosts was full", OFFERED)
        if not scenario.far and too_far(one for one in basis.numbers if one.axis == f"{name}.{GROUPS}") is not None:
            message = f"{name} has more than four times the groups that were measured"
            raise wrong(("load", name, "groups"), message, "Measure more of them, or write `far: true`: the answer is then an assumption.")
        if basis.system not in scenario.systems:
            message = f"{name} is a load of {basis.system}, which is on no hosts"
            raise wrong(("load", name), message, f"Write `systems: {{{basis.system}: {{on: …}}}}`.")
        bases[name] = basis
    return bases


def _machine(name: str, group: HostGroup, wanted: str, there: Mapping[str, Machine], wrong: Wrong) -> Machine:
    """The type of a group of hosts, of which all that is played is known."""
    try:
        machine = machine_named(wanted, there)
    except BadInputError as error:
        raise wrong(("hosts", name, "type"), error.what, error.hint) from error
    if machine.sustained_vcpus is None:
        message = f"{machine.full_name}: how many cores it has for as long as one likes is not known"
        raise wrong(("hosts", name, "type"), message, f"Write `cores` for {name} in its place, or add it to machines.yaml.")
    if group.network is None and not machine.link_bit_s:
        message = f"{machine.full_name}: what its link carries is not known"
        raise wrong(("hosts", name, "type"), message, f"Write `network` for {name}, or add it to machines.yaml.")
    sustained = machine.link_bit_s or 0.0
    if group.burst is not None and group.network is None and group.burst.network <= sustained:
        message = f"a burst goes beyond what the link of {machine.full_name} sustains, which is {sustained / 1e6:,.0f} Mbit/s"
        raise wrong(("hosts", name, "burst"), message, "Write a faster one.")
    return machine


def _check_memory(name: str, group: HostGroup, bases: Sequence[Basis], machine: Machine | None, wrong: Wrong) -> None:
    """Raises `BadInputError` where hosts have less memory than those that were measured, or rows that are read do not fit into it: what
    operations cost then was not measured."""
    # Systems that were measured on the same hosts had the same memory.
    had = {frozenset(basis.first.experiment.systems.present()[basis.system].hosts): basis.has.memory or 0.0 for basis in bases}
    needed = sum(had.values())
    has = needed if machine is None else machine.memory_bytes
    if not has:
        return
    if has < needed * (1 - 1e-9):
        message = f"{name} has {show_bytes(has)} of memory, what was measured had {show_bytes(needed)}"
        raise wrong(("hosts", name, "type"), message, "Name a type with as much, or measure with less.")
    data = sum(basis.law.data_bytes(basis.spec, group.count) for basis in bases)
    if data > MEMORY_SHARE * has:
        message = f"each host of {name} holds {show_bytes(data)} of rows, and has {show_bytes(has)} of memory: what reads from a disk cost was not measured"
        raise wrong(("hosts", name), message, "Write more hosts, or a type with more memory.")


def _flaw_of_compaction(name: str, system: System, *, is_given: bool) -> tuple[str, str] | None:
    """Of a system that rewrites nothing, or that the run lets rewrite at a speed of its own: what is wrong, and what to write."""
    kind = SYSTEMS[name]
    if kind.rewrites_b_s is None:
        return f"{name} rewrites nothing of what it has written", "Leave `compaction` out."
    set_to = getattr(system, "config", {}).get(kind.rewrites_setting)
    if set_to is None or is_given:
        return None
    return (f"the run sets {kind.rewrites_setting} of {name} to {set_to}",
            "Write it into the scenario in MB/s, e.g. `compaction: {speed: 67 MB/s, …}` for 64 MiB/s.")  # fmt: skip


def _takeover_s(system: System, name: str) -> float:
    """Until others serve what one served: as the system is set up, else as its kind does by itself."""
    kind = SYSTEMS[name]
    given = getattr(system, "config", {}).get(kind.takeover_ms) if kind.takeover_ms is not None else None
    return kind.takeover_s if given is None else float(given) / 1000


def _check_reach(all_: Prepared) -> None:
    """Raises `BadInputError` for hosts that are too far from those that were measured, unless that was asked for."""
    for name, system in all_.scenario.systems.items():
        bases = [basis for basis in all_.bases.values() if basis.system == name]
        measured = max(point.seen.has.cores for basis in bases for point in basis.body.points)
        had = max(point.source.hosts for basis in bases for point in basis.body.points)
        cores = all_.has(system.on, bases[0])["cores"][1]
        group = all_.scenario.hosts[system.on]
        given = "type" if group.type is not None else "cores"
        for what, key, reach in (("cores", given, cores / measured), ("hosts", "count", most_hosts(all_.scenario, system.on) / had)):
            place = ("hosts", system.on, key)
            if reach > REFUSED * WITHIN and not all_.scenario.far:
                raise _wrong(all_.document, place, f"{system.on} has {reach:.1f} times the {what} that {name} was measured on", "How a system grows so far is "
                             "not known. Measure a larger one, or write `far: true`: the answer is then an assumption.")  # fmt: skip
            if reach < 1 / (REFUSED * WITHIN) and what == "cores":
                message = f"{system.on} has {1 / reach:.1f} times fewer cores than {name} was measured on"
                raise _wrong(all_.document, place, message, "Measure a smaller one.")
