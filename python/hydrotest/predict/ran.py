"""Jobs that a run has measured."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hydrotest.analysis.bottleneck.use import NEAR_CEILING, THROTTLED_MIN
from hydrotest.analysis.demand.windows import Ceilings
from hydrotest.analysis.resources.quiet import quiet
from hydrotest.analysis.resources.rates import stolen, trial_host_rates
from hydrotest.analysis.spark.event_log import EventLog, read_event_log
from hydrotest.analysis.spark.relaid import Place, Relaid
from hydrotest.analysis.spark.tasks import Group, doubt_of
from hydrotest.spec.models import Experiment
from hydrotest.spec.spark import Spark, SparkPerf
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Trait
from hydrotest.store.records import Iteration, Trial

SYSTEM = "spark"


@dataclass(frozen=True)
class Ran:
    """A test of Spark's suite, as a run of it that took the median time shows it."""

    run: int
    """Index of its run."""
    workload: str
    spec: SparkPerf
    test: str
    seconds: float
    scatter: float
    """Largest |log| of a time of it over the median."""
    place: Place
    relaid: Relaid
    spilled: bool
    """Tasks had more data than memory."""


def place_of(experiment: Experiment, spec: SparkPerf, has: Ceilings, speed: float = 1.0) -> Place | None:
    """What a job has; None on a Spark that is there already: what its workers have is not known."""
    spark = experiment.systems.of(Spark)
    if spark is None or spark.is_attached or not spark.workers:
        return None
    workers = len(spark.workers)
    each = spark.cores or max(1, math.ceil(has.cores))
    slots = min(workers * each, spec.cores or workers * each)
    # Workers of one machine share its cores. Spark gives an application a slot of each worker before a second one of any, so that fewer slots
    # than workers leave some without work; which of several on one machine, nothing says.
    machines = len({experiment.hosts[host].machine(host) for host in spark.workers})
    return Place(slots, min(machines, slots) * has.cores, speed)


class _Once(NamedTuple):
    """A test, once."""

    seconds: float
    group: Group
    stolen: float
    """Share of the cores that the hypervisor gave to others meanwhile."""


class Jobs(NamedTuple):
    """What a run shows of Spark's tests."""

    ran: Sequence[Ran] = ()
    """Of each workload and test that completed, alone: the run with the median time."""
    unread: Mapping[tuple[str, str], str] = {}
    """By workload and test: an event log that is not there, or does not have all of that test."""


def jobs_of(folder: RunFolder, experiment: Experiment, trials: Sequence[Trial], has: Mapping[str, Ceilings], index: int) -> Jobs:
    """What a run shows of Spark's tests."""
    workloads = dict(experiment.workloads_of(SparkPerf))
    return _jobs(folder, experiment, trials, workloads, has[SYSTEM], index) if workloads and SYSTEM in has else Jobs()


def _jobs(
    folder: RunFolder, experiment: Experiment, trials: Sequence[Trial], workloads: Mapping[str, SparkPerf], has: Ceilings, index: int
) -> Jobs:
    logs: dict[str, EventLog] = {}
    unread: dict[tuple[str, str], str] = {}
    found: dict[tuple[str, str], list[_Once]] = defaultdict(list)
    full: dict[str, bool] = {}
    for trial in trials:
        loads = [load for load in trial.loads if load.workload in workloads]
        if trial.status != "done" or Trait.JOBS not in trial.purpose.traits or trial.tenancy == "combined":
            continue
        for load in loads:
            full[load.workload] = full.get(load.workload, False) or _is_full(folder, experiment, trial, has)
            for one in load.iterations or []:
                if load.event_log is None or not (one.finished and one.correct) or one.cut:
                    continue
                if load.event_log not in logs:
                    logs[load.event_log] = read_event_log(folder.path / load.event_log)
                log = logs[load.event_log]
                group = log.groups.get(one.group)
                if group is None or (log.flaws and doubt_of(group.stages) is not None):
                    unread[load.workload, one.test] = load.event_log
                else:
                    found[load.workload, one.test].append(_Once(one.seconds, group, _stolen(folder, experiment, trial, one)))
    ran: list[Ran] = []
    for (workload, test), runs in found.items():
        spec = workloads[workload]
        place = place_of(experiment, spec, has)
        if place is None:
            continue
        counted = quiet(runs, lambda one: one.stolen, lambda _: None)
        times = [one.seconds for one in counted]
        middle = statistics.median_low(times)
        group = next(one.group for one in counted if one.seconds == middle)
        scatter = max(abs(math.log(one / middle)) for one in times)
        relaid = Relaid.of(group, middle, place, is_full=full[workload])
        ran.append(Ran(index, workload, spec, test, middle, scatter, place, relaid, group.total("spill_bytes") > 0))
    return Jobs(ran, unread)


def _stolen(folder: RunFolder, experiment: Experiment, trial: Trial, once: Iteration) -> float:
    """Of the worker's machine of which most."""
    spark = experiment.systems.of(Spark)
    workers = spark.workers if spark is not None else []
    # Readings are a second apart: of a test that takes less the one before and the one after count.
    shares = stolen(folder, trial, once.started_wall_s - 1.0, once.ended_wall_s + 1.0)
    return max((share for host, share in shares.items() if host in workers), default=0.0)


def _is_full(folder: RunFolder, experiment: Experiment, trial: Trial, has: Ceilings) -> bool:
    """Whether its workers had no CPU left, on average over a trial, or had to wait for their quota."""
    spark = experiment.systems.of(Spark)
    frames = [trial_host_rates(folder, trial, host, 0.0, math.inf) for host in (spark.workers if spark is not None else [])]
    known = [frame for frame in frames if len(frame)]
    used = [float(str(frame["cpu_cores"].mean())) for frame in known]
    throttled = [float(str(frame["cpu_throttled"].mean())) for frame in known if "cpu_throttled" in frame.columns]
    return max(used, default=0.0) >= NEAR_CEILING * has.cores or max(throttled, default=0.0) >= THROTTLED_MIN
