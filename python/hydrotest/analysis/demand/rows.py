"""What the operations of a run cost its systems."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import polars as pl

from hydrotest.analysis.demand.fit import Demand, Fit, Unidentified, Window, fit
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.resources.by_host import measured_trials
from hydrotest.analysis.resources.rates import service_rates
from hydrotest.kinds.registry import SYSTEMS
from hydrotest.spec.models import Experiment
from hydrotest.spec.workload import RatedWorkload
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.store.samples import read_samples
from hydrotest.summary.demand import Estimate, OperationCost, SystemDemand

READINGS_MIN = 2
"""Of each service in a window: the first one is of the second before."""


def demand_rows(run: RunFolder, experiment: Experiment, trials: list[Trial]) -> list[SystemDemand]:
    """A row for each system whose services were sampled: what it costs them to be there, and what each operation of each workload
    costs, all of them together. Without estimates where the run's loads do not tell them."""
    rows = []
    measured = measured_trials(trials)
    for system, kind in SYSTEMS.items():
        workloads = [name for name, one in experiment.workloads.items() if one.presses_on == system and isinstance(one, RatedWorkload)]
        found = [one for trial in measured if (one := _window(run, trial, re.compile(kind.services), workloads)) is not None]
        if not found:
            continue
        services = found[0][0]
        windows = [window for names, window in found if names == services]
        pressed = [name for name in workloads if any(window.rates[name] > 0 for window in windows)]
        if pressed:
            rows.append(_row(system, len(services), fit(windows, pressed), len(windows)))
    return rows


def _window(run: RunFolder, trial: Trial, services: re.Pattern[str], workloads: Sequence[str]) -> tuple[frozenset[str], Window] | None:
    """The services of a system in a trial's window: their names, and what they did and used together."""
    loads = [load for load in trial.loads if load.workload in workloads and load.outcome is not None]
    if not loads:
        return None
    measured = {load.workload: Measured.read(run, trial, load.workload) for load in loads}
    begin, end = max(one.start_s for one in measured.values()), min(one.end_s for one in measured.values())
    cores = dict(_cores(run, trial, services, begin, end))
    if not cores or sum(cores.values()) <= 0:
        return None
    rates = {name: measured[name].achieved if name in measured else 0.0 for name in workloads}
    return frozenset(cores), Window(sum(cores.values()), rates)


def _cores(run: RunFolder, trial: Trial, services: re.Pattern[str], begin: float, end: float) -> Iterator[tuple[str, float]]:
    rates = service_rates(read_samples(run.folder_of(trial), layout.SERVICE_SAMPLES))
    if rates.is_empty():
        return
    # A reading is of the second before it.
    inside = rates.filter((pl.col("wall_s") > begin + 0.5) & (pl.col("wall_s") <= end + 0.5))
    for (name,), readings in inside.group_by("service"):
        if services.match(str(name)) and len(readings) >= READINGS_MIN:
            yield str(name), float(readings["cpu_cores"].mean())  # type: ignore[arg-type] # of numbers


def _row(system: str, services: int, found: Fit | Unidentified, windows: int) -> SystemDemand:
    if isinstance(found, Unidentified):
        return SystemDemand(system=system, services=services, windows=windows, fixed_cores=None, operations=[], error=None,
                            together=list(found.together), lacking=found.lacking)  # fmt: skip
    operations = [OperationCost(workload=name, cpu_us=_estimate(demand, 1e6)) for name, demand in found.demands.items()]
    return SystemDemand(system=system, services=services, windows=windows, fixed_cores=_estimate(found.fixed, 1.0), operations=operations,
                        error=found.error, together=[], lacking=0)  # fmt: skip


def _estimate(demand: Demand, scale: float) -> Estimate:
    return Estimate(value=demand.value * scale, low=demand.low * scale, high=demand.high * scale)
