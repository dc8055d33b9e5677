"""What the operations of a run cost its systems."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hydrotest.analysis.demand.body import Body, Source, alike_to, body_of
from hydrotest.analysis.demand.demands import FIXED, FREEDOM_MIN, Demand, Observation, demands
from hydrotest.analysis.demand.windows import Seen, law_of, system_windows
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.resources.by_host import measured_trials
from hydrotest.analysis.resources.rates import service_means
from hydrotest.kinds.registry import SYSTEMS
from hydrotest.spec.models import Experiment
from hydrotest.spec.workload import RatedWorkload
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.summary.demand import DriverCost, DriverDemand, Estimate, OperationCost, SystemDemand

READINGS_MIN = 2
"""Of each service in a window: the first one is of the second before."""


def demand_rows(run: RunFolder, experiment: Experiment, trials: list[Trial]) -> list[SystemDemand]:
    """A row for each system whose services were sampled: what it costs them to be there, and what each operation of each workload
    costs, all of them together. Without estimates where the run's loads do not show them."""
    rows = []
    measured, by_hosts = measured_trials(trials), system_windows(run, experiment, trials)
    for system, kind in SYSTEMS.items():
        workloads = [name for name, one in experiment.workloads.items() if one.presses_on == system and isinstance(one, RatedWorkload)]
        found = [one for trial in measured if (one := _window(run, trial, re.compile(kind.services), workloads)) is not None]
        by_driver = _by_driver(experiment, system, by_hosts.get(system, []))
        if not found and not by_driver:
            continue
        services = found[0][0] if found else frozenset(experiment.systems.present()[system].hosts)
        windows = [window for names, window in found if names == services]
        pressed = [name for name in workloads if any(window.drivers[name] > 0 for window in windows)]
        if pressed or by_driver:
            rows.append(_row(system, len(services), windows, pressed).model_copy(update={"drivers": by_driver} if by_driver else {}))
    return rows


def _by_driver(experiment: Experiment, system: str, seen: Sequence[Seen]) -> list[DriverDemand]:
    """A row for all workloads that one law holds for."""
    rows, left = [], [name for name in experiment.workloads if any(name in one.rates for one in seen)]
    while left:
        spec = experiment.workloads[left[0]]
        law = law_of(spec.kind)
        if law is None or law.refusal(spec) is not None:
            left = left[1:]
            continue
        alike = alike_to(spec)
        names = [name for name in left if alike(experiment.workloads[name])]
        left = [name for name in left if name not in names]
        body = body_of([Source(experiment.workloads, len(experiment.systems.present()[system].hosts), seen)], alike)
        if body is not None:
            rows.append(_drivers(names, body))
    return rows


def _drivers(names: list[str], body: Body) -> DriverDemand:
    found = body.demands
    costs = []
    for group in found.groups:
        cost = found.cost(group)
        if cost is None or cost.value > 0:
            costs.append(DriverCost(driver=next(iter(group)), along=list(group)[1:], cpu_us=estimate_row(cost, 1e6)))
    return DriverDemand(workloads=names, fixed_cores=estimate_row(found.estimate(FIXED), 1.0), drivers=costs, windows=found.windows, error=found.error,
                        softness=body.softness)  # fmt: skip


def _window(run: RunFolder, trial: Trial, services: re.Pattern[str], workloads: Sequence[str]) -> tuple[frozenset[str], Observation] | None:
    """The services of a system in a trial's window: their names, and what they did and used together."""
    loads = [load for load in trial.loads if load.workload in workloads and load.outcome is not None]
    if not loads:
        return None
    measured = {load.workload: Measured.read(run, trial, load.workload) for load in loads}
    begin, end = max(one.start_s for one in measured.values()), min(one.end_s for one in measured.values())
    cores = {
        f"{one.host} {one.service}": one.cpu_cores
        for one in service_means(run, trial, begin, end)
        if one.readings >= READINGS_MIN and services.match(one.service)
    }
    if not cores or sum(cores.values()) <= 0:
        return None
    rates = {name: measured[name].achieved if name in measured else 0.0 for name in workloads}
    return frozenset(cores), Observation(sum(cores.values()), rates, (0, trial.number))


def _row(system: str, services: int, windows: Sequence[Observation], workloads: Sequence[str]) -> SystemDemand:
    """What all services of a system use together, by the operations of its workloads."""
    lacking = max(0, len(workloads) + 1 + FREEDOM_MIN - len(windows))
    found = demands(windows) if not lacking else None
    if found is None or found.together:
        return SystemDemand(system=system, services=services, windows=len(windows), fixed_cores=None, operations=[], error=None,
                            together=[] if found is None else list(found.together), lacking=lacking)  # fmt: skip
    operations = [
        OperationCost(workload=name, cpu_us=estimate)
        for name in workloads
        if (estimate := estimate_row(found.estimate(name), 1e6)) is not None
    ]
    return SystemDemand(system=system, services=services, windows=len(windows), fixed_cores=estimate_row(found.estimate(FIXED), 1.0),
                        operations=operations, error=found.error, together=[], lacking=0)  # fmt: skip


def estimate_row(demand: Demand | None, scale: float) -> Estimate | None:
    """A demand in a unit of which a core-second has so many."""
    return None if demand is None else Estimate(value=demand.value * scale, low=demand.low * scale, high=demand.high * scale)
