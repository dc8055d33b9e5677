"""Pipelines that a run has measured: what each of their parts used of its hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from hydrotest.analysis.bottleneck.use import NEAR_CEILING, THROTTLED_MIN
from hydrotest.analysis.demand.windows import READINGS_MIN, Ceilings, law_of, least_of
from hydrotest.analysis.limits.verdict import judge
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.resources.by_host import measured_trials
from hydrotest.analysis.resources.rates import trial_host_rates
from hydrotest.spec.dataflow import Dataflow
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.models import Experiment, Objective
from hydrotest.spec.spark import Spark
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.verdicts.trial import Rule

SPARK, DRIVER = "spark", "driver"
"""Of Spark, its executors' hosts; the host of its driver is a part of its own."""
FREE = frozenset({"kind", "reads", "on", "generators", "threads", "executors", "drain", "restarts"})
"""Settings of a pipeline that change nothing of what a record costs, or that are a number or a name."""
PLACED = frozenset({"hosts", "workers", "master"})
"""Settings of a system that say where it runs."""


@dataclass(frozen=True)
class PartUsed:
    """What each host of a part used in a window, on average over its hosts."""

    hosts: int
    cores: float
    into: float
    """Bytes a second."""
    out: float
    is_full: bool
    """No CPU was left of the one that had least."""


@dataclass(frozen=True)
class Piped:
    """A window of a pipeline through which all that came went."""

    run: int
    """Index of its run."""
    trial: int
    workload: str
    rate: float
    """Records a second."""
    parts: Mapping[str, PartUsed]


@dataclass(frozen=True)
class Parts:
    """The parts of a pipeline, with the hosts that each may use."""

    hosts: Mapping[str, Sequence[str]]
    """By system; `DRIVER`: of Spark's driver."""
    executors: int

    def count(self, part: str) -> int:
        """Hosts that it works on."""
        return self.executors if part == SPARK else len(self.hosts[part])


def parts_of(experiment: Experiment, name: str) -> Parts | None:
    """The parts of a pipeline of Spark's; None of one that has none of its own, or whose parts share machines among each other, or with
    the generators that feed it: then no reading shows what each needs."""
    spec = experiment.workload(name, Dataflow)
    spark = experiment.systems.of(Spark)
    if spec is None or spec.engine != "spark" or spec.submit is not None or spark is None or not spark.workers:
        return None
    systems = experiment.systems.present()
    hosts: dict[str, Sequence[str]] = {SPARK: spark.workers, DRIVER: experiment.generator_hosts(name)[:1]}
    hosts |= {system: systems[system].hosts for system in systems if system in spec.uses and system != SPARK}
    if any(system not in hosts and system != SPARK for system in spec.uses & set(systems)) or any(
        systems[system].is_attached for system in systems if system in spec.uses
    ):
        return None
    machines = [
        {experiment.hosts[host].machine(host) for host in group} for group in (*hosts.values(), experiment.generator_hosts(spec.reads))
    ]
    is_apart = sum(map(len, machines)) == len(set().union(*machines))
    return Parts(hosts, spec.executors or len(spark.workers)) if is_apart else None


def has_of(folder: RunFolder, experiment: Experiment) -> dict[str, Mapping[str, Ceilings]]:
    """What each host of each part of each pipeline has: the one that has least."""
    known = {host["name"]: host["ceilings"] for host in folder.environment()["hosts"]}
    found: dict[str, Mapping[str, Ceilings]] = {}
    for name, _ in experiment.workloads_of(Dataflow):
        parts = parts_of(experiment, name)
        if parts is not None and all(host in known for hosts in parts.hosts.values() for host in hosts):
            found[name] = {part: least_of([known[host] for host in hosts]) for part, hosts in parts.hosts.items()}
    return found


def piped(
    folder: RunFolder, experiment: Experiment, trials: Sequence[Trial], has: Mapping[str, Mapping[str, Ceilings]], index: int
) -> list[Piped]:
    """The windows in which a pipeline alone kept up with what came; others show what an overload costs."""
    return list(_piped(folder, experiment, trials, has, index))


def _piped(folder: RunFolder, experiment: Experiment, trials: Sequence[Trial], has: Mapping[str, Mapping[str, Ceilings]],
           index: int) -> Iterator[Piped]:  # fmt: skip
    for trial in measured_trials(list(trials)):
        names = [load.workload for load in trial.loads if load.workload in has and load.outcome is not None]
        if len(names) != 1 or trial.tenancy == "combined" or {load.workload for load in trial.loads} != {
            names[0], experiment.workloads[names[0]].source}:  # fmt: skip
            continue
        (name,) = names
        measured = Measured.read(folder, trial, name)
        source, parts = measured.source, parts_of(experiment, name)
        if source is None or parts is None or source.offered is None:
            continue
        failed = {check.rule for check in judge(measured, experiment.objectives.get(name, Objective())).checks if not check.held}
        if failed & {Rule.ACHIEVED, Rule.BACKLOG, Rule.ERRORS}:
            continue
        used = {part: _used(folder, trial, parts, part, has[name][part], measured) for part in parts.hosts}
        if all(one is not None for one in used.values()):
            yield Piped(index, trial.number, name, source.achieved, {part: one for part, one in used.items() if one is not None})


def _used(folder: RunFolder, trial: Trial, parts: Parts, part: str, has: Ceilings, measured: Measured) -> PartUsed | None:
    frames = [trial_host_rates(folder, trial, host, measured.start_s, measured.end_s) for host in parts.hosts[part]]
    if any(len(frame) < READINGS_MIN for frame in frames):
        return None

    def means(column: str) -> list[float]:
        values = [frame[column].mean() if column in frame.columns else 0.0 for frame in frames]
        return [float(value) if isinstance(value, int | float) else 0.0 for value in values]

    # Executors run where the master has put them: on those workers that do most.
    busy = sorted(range(len(frames)), key=lambda at: -means("cpu_cores")[at])[: parts.count(part)]

    def of_busy(column: str) -> list[float]:
        every = means(column)
        return [every[at] for at in busy]

    cores = of_busy("cpu_cores")
    is_full = max(cores) >= NEAR_CEILING * has.cores or max(of_busy("cpu_throttled")) >= THROTTLED_MIN
    return PartUsed(
        len(busy), max(1e-4, fmean(cores)), fmean(of_busy("network_in_bytes_per_s")), fmean(of_busy("network_out_bytes_per_s")), is_full
    )


def numbers_of(experiment: Experiment, name: str, has: Mapping[str, Ceilings]) -> dict[str, float]:
    """The numbers of a pipeline that a prediction knows, by axis: its executors, the hosts of each part, and their cores."""
    parts = parts_of(experiment, name)
    assert parts is not None
    found: dict[str, float] = {f"{SPARK}.executors": parts.executors}
    found |= {f"{part}.hosts": len(hosts) for part, hosts in parts.hosts.items() if part not in (SPARK, DRIVER)}
    return found | {f"{part}.cores": has[part].cores for part in parts.hosts}


def settings_of(experiment: Experiment, name: str) -> dict[str, str]:
    """The settings that must be as they are: of the pipeline, of what feeds it, and of its systems, whatever its name is."""
    spec = experiment.workload(name, Dataflow)
    assert spec is not None
    source = experiment.workload(spec.reads, KafkaProduce)
    assert source is not None
    law = law_of(source.kind)
    assert law is not None
    found: dict[str, Any] = {f"pipeline.{key}": value for key, value in spec.model_dump().items() if key not in FREE}
    found |= {f"source.{key}": value for key, value in law.axes.fixed(source).items()}
    found |= {f"source.{key}": axis(source) for key, axis in law.axes.numbers.items()}
    for system, own in experiment.systems.present().items():
        if system in spec.uses or system == SPARK:
            found |= {f"{system}.{key}": value for key, value in own.model_dump().items() if key not in PLACED}
    return {key: repr(value) for key, value in found.items()}
