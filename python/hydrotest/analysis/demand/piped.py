"""Pipelines that a run has measured: what each of their parts used of its hosts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from hydrotest.analysis.bottleneck.use import NEAR_CEILING
from hydrotest.analysis.demand.windows import AT_A_LEVEL, READINGS_MIN, Ceilings, law_of, least_of
from hydrotest.analysis.limits.verdict import keeps_up
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.resources.by_host import measured_trials
from hydrotest.analysis.resources.quiet import level_of, quiet
from hydrotest.analysis.resources.rates import trial_host_rates
from hydrotest.spec.dataflow import Dataflow
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.models import Experiment
from hydrotest.spec.spark import Spark
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial

KAFKA, SPARK, HDFS, DRIVER = "kafka", "spark", "hdfs", "driver"
"""Of Spark, its executors' hosts; the host of its driver is a part of its own."""
FREE = frozenset({"kind", "reads", "on", "generators", "threads", "executors", "drain", "restarts"})
"""Settings of a pipeline that change nothing of what a record costs, or that are a number or a name."""
PLACED = frozenset({"hosts", "workers", "master", "datanodes", "namenode"})
"""Settings of a system that say where it runs."""


@dataclass(frozen=True)
class PartUsed:
    """What each host of a part used in a window: of executors on average, since Spark gives each the tasks that it is free for; of others
    the host that used most, since a part of the data has one home."""

    hosts: float
    """That share the records evenly."""
    cores: float
    into: float
    """Bytes a second."""
    out: float
    is_full: bool
    """Nearly all of its CPU was in use."""


@dataclass(frozen=True)
class Piped:
    """A window of a pipeline through which all that came went."""

    run: int
    """Index of its run."""
    trial: int
    workload: str
    rate: float
    """Records a second."""
    executors: int
    parts: Mapping[str, PartUsed]
    stolen: float = 0.0
    """Share of the cores of a host's machine that its hypervisor gave to others: of the host of which most."""


@dataclass(frozen=True)
class Parts:
    """The parts of a pipeline, with the hosts that each may use."""

    hosts: Mapping[str, Sequence[str]]
    """By system; `DRIVER`: of Spark's driver."""
    executors: int
    partitions: Sequence[int]
    """Of each topic that its records go through."""
    slots: int | None
    """Of each executor; None: as many as its host has cores."""
    are_apart: bool
    """No two of them, nor what feeds them, are on one machine."""

    def count(self, part: str) -> float:
        """Hosts that share its work evenly: of brokers those that the partitions of each topic can be divided among."""
        if part == SPARK:
            return float(self.executors)
        hosts = len(self.hosts[part])
        return min(one / math.ceil(one / hosts) for one in self.partitions) if part == KAFKA else float(hosts)

    def usable(self, part: str, has: Ceilings) -> Ceilings:
        """What a part can use of its hosts: no slot of an executor uses more than a core."""
        return has if part != SPARK or self.slots is None else replace(has, cores=min(has.cores, float(self.slots)))


def parts_of(experiment: Experiment, name: str) -> Parts | None:
    """The parts of a pipeline; None of one whose parts are not known: without Spark, of a job of the user's own, on clusters that are there
    already."""
    spec = experiment.workload(name, Dataflow)
    spark = experiment.systems.of(Spark)
    if spec is None or spec.engine != "spark" or spec.submit is not None or spark is None or not spark.workers:
        return None
    source = experiment.workload(spec.reads, KafkaProduce)
    systems = experiment.systems.present()
    used = {system for system in systems if system in spec.uses}
    if HDFS in systems and any(host.is_remote for host in experiment.hosts.values()):
        # Checkpoints are there.
        used.add(HDFS)
    if source is None or any(systems[system].is_attached for system in used):
        return None
    hosts: dict[str, Sequence[str]] = {SPARK: spark.workers, DRIVER: experiment.generator_hosts(name)[:1]}
    hosts |= {system: systems[system].peers for system in systems if system in used and system != SPARK}
    # Spark's master does little, and may be with the driver.
    own = [{experiment.hosts[host].machine(host) for host in group} for group in (*hosts.values(), experiment.generator_hosts(spec.reads))]
    masters = {experiment.hosts[host].machine(host) for host in [spark.master] if host is not None} - own[1]
    is_apart = sum(map(len, (*own, masters))) == len(masters.union(*own))
    partitions = [source.partitions, spec.partitions]
    return Parts(hosts, spec.executors or len(spark.workers), partitions, spark.cores, is_apart)


def has_of(folder: RunFolder, experiment: Experiment) -> dict[str, Mapping[str, Ceilings]]:
    """What each host of each part of each pipeline has: the one that has least. Pipelines of which that is not known are left out."""
    known = {host["name"]: host["ceilings"] for host in folder.environment()["hosts"]}
    found: dict[str, Mapping[str, Ceilings]] = {}
    for name, _ in experiment.workloads_of(Dataflow):
        parts = parts_of(experiment, name)
        if parts is not None and all(known.get(host, {}).get("cpu_cores") for hosts in parts.hosts.values() for host in hosts):
            found[name] = {part: least_of([known[host] for host in hosts]) for part, hosts in parts.hosts.items()}
    return found


def piped(
    folder: RunFolder, experiment: Experiment, trials: Sequence[Trial], has: Mapping[str, Mapping[str, Ceilings]], index: int
) -> list[Piped]:
    """The windows of one load in which a pipeline alone kept up with what came; others show what an overload, or a fault, costs. Without those
    in which cores were stolen."""
    found = list(_piped(folder, experiment, trials, has, index))
    return quiet(found, lambda one: one.stolen, lambda one: (one.workload, one.executors, level_of(one.rate)))


def _piped(folder: RunFolder, experiment: Experiment, trials: Sequence[Trial], has: Mapping[str, Mapping[str, Ceilings]],
           index: int) -> Iterator[Piped]:  # fmt: skip
    for trial in measured_trials(list(trials)):
        names = [load.workload for load in trial.loads if load.workload in has and load.outcome is not None]
        if len(names) != 1 or trial.purpose not in AT_A_LEVEL or trial.tenancy == "combined" or {load.workload for load in trial.loads} != {
            names[0], experiment.workloads[names[0]].source}:  # fmt: skip
            continue
        (name,) = names
        measured, parts = Measured.read(folder, trial, name), parts_of(experiment, name)
        if parts is None or not parts.are_apart or measured.source is None or not keeps_up(measured):
            continue
        used = {part: _used(folder, trial, parts, part, has[name][part], measured) for part in parts.hosts}
        if all(one is not None for one in used.values()):
            kept = {part: one for part, one in used.items() if one is not None}
            stolen = max(measured.stolen.values(), default=0.0)
            yield Piped(index, trial.number, name, measured.source.achieved, parts.executors, kept, stolen)


def _used(folder: RunFolder, trial: Trial, parts: Parts, part: str, has: Ceilings, measured: Measured) -> PartUsed | None:
    frames = [trial_host_rates(folder, trial, host, measured.start_s, measured.end_s) for host in parts.hosts[part]]
    if any(len(frame) < READINGS_MIN for frame in frames):
        return None

    def means(column: str) -> list[float]:
        values = [frame[column].mean() if column in frame.columns else 0.0 for frame in frames]
        return [float(value) if isinstance(value, int | float) else 0.0 for value in values]

    cores = means("cpu_cores")
    # Executors run where the master has put them: on those workers that do most.
    busy = sorted(range(len(frames)), key=lambda at: -cores[at])[: parts.executors if part == SPARK else len(frames)]

    def each(values: Sequence[float]) -> float:
        own = [values[at] for at in busy]
        return fmean(own) if part == SPARK else max(own)

    used = max(1e-4, each(cores))
    is_full = used >= NEAR_CEILING * parts.usable(part, has).cores
    return PartUsed(parts.count(part), used, each(means("network_in_bytes_per_s")), each(means("network_out_bytes_per_s")), is_full)


def numbers_of(experiment: Experiment, name: str, has: Mapping[str, Ceilings]) -> dict[str, float]:
    """The numbers of a pipeline that a prediction knows, by axis: its executors, the hosts of each part, and the cores of these."""
    parts = parts_of(experiment, name)
    assert parts is not None
    found: dict[str, float] = {f"{SPARK}.executors": parts.executors}
    found |= {f"{part}.hosts": len(hosts) for part, hosts in parts.hosts.items() if part not in (SPARK, DRIVER)}
    return found | {f"{part}.hosts.cores": parts.usable(part, has[part]).cores for part in parts.hosts}


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
        if system in spec.uses | {SPARK, HDFS}:
            found |= {f"{system}.{key}": value for key, value in own.model_dump().items() if key not in PLACED}
    return {key: repr(value) for key, value in found.items()}
