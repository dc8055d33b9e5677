"""A scenario with what its runs say of it, and whether they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hydrotest.catalogue.machine import Machine
from hydrotest.catalogue.machines import found as machine_named
from hydrotest.errors import BadInputError
from hydrotest.kinds.registry import SYSTEMS
from hydrotest.predict.axes import REFUSED, WITHIN
from hydrotest.predict.basis import Basis, basis_of
from hydrotest.predict.change import asked
from hydrotest.predict.gates import inseparable, no_fit
from hydrotest.predict.known import Known
from hydrotest.predict.simulation.fleet import group_has
from hydrotest.predict.simulation.scenario import Scenario, most_hosts
from hydrotest.spec.system import System
from hydrotest.store import layout


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

    def has(self, group: str, basis: Basis) -> dict[str, tuple[float, float, float]]:
        """What each host of a group has: see `group_has`."""
        return group_has(self.scenario.hosts[group], self.machines.get(group), basis.has, self.scenario.speed)

    def check_law(self, name: str, rate: float) -> None:
        """Raises `BadInputError` where a run does not show what a load takes of so many hosts, unless that was asked for."""
        basis = self.bases[name]
        hosts = self.scenario.hosts[self.scenario.systems[basis.system].on].count
        applied = basis.applied.on(hosts)
        gate = inseparable(basis.body, applied.work(rate, is_closed=False).drivers)
        if gate is not None and not self.scenario.far:
            raise BadInputError(f"the run does not show what {rate:,.0f} operations/s of {name} take of {hosts} hosts: it does not separate {', '.join(gate.about)}",
                                "Measure more with `calibrate` (`hydrotest predict` offers it), or write `far: true`: the answer is then an assumption.")  # fmt: skip


def prepared(scenario: Scenario, runs: Sequence[Known], there: Mapping[str, Machine], folder: Path) -> Prepared:
    """Raises `BadInputError` where the runs do not know what the scenario names."""
    now = asked(runs[0].experiment, runs[0].text, [], runs[0].path / layout.EXPERIMENT,
                groups={name: float(load.groups) for name, load in scenario.load.items() if load.groups})  # fmt: skip
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
    for name, simulated in scenario.systems.items():
        if simulated.compaction is not None:
            _check_compaction(name, now.experiment.systems.present()[name], is_given=simulated.compaction.speed is not None)
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


def _check_compaction(name: str, system: System, *, is_given: bool) -> None:
    """Raises `BadInputError` for a system that rewrites nothing, or that the run lets rewrite at a speed of its own."""
    kind = SYSTEMS[name]
    if kind.rewrites_b_s is None:
        raise BadInputError(f"{name} rewrites nothing of what it has written", "Leave `compaction` out.")
    set_to = getattr(system, "config", {}).get(kind.rewrites_setting)
    if set_to is not None and not is_given:
        raise BadInputError(
            f"the run sets {kind.rewrites_setting} of {name} to {set_to}",
            "Write it into the scenario in MB/s, e.g. `compaction: {speed: 67 MB/s, …}` for 64 MiB/s.",
        )


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
        for what, reach in (("cores", cores / measured), ("hosts", most_hosts(all_.scenario, system.on) / had)):
            if reach > REFUSED * WITHIN and not all_.scenario.far:
                raise BadInputError(f"{system.on} has {reach:.1f} times the {what} that {name} was measured on", "How a system grows so far is not known. "
                                    "Measure a larger one, or write `far: true`: the answer is then an assumption.")  # fmt: skip
            if reach < 1 / (REFUSED * WITHIN) and what == "cores":
                raise BadInputError(
                    f"{system.on} has {1 / reach:.1f} times fewer cores than {name} was measured on", "Measure a smaller one."
                )
