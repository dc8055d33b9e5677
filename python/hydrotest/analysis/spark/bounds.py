"""What binds a batch workload: resources and gauges while its tests ran one after the other, its executors by
Spark's event log, and the results of squeezes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from hydrotest.analysis.bottleneck.gauges import Gauged, gauged
from hydrotest.analysis.bottleneck.suspicion import bound_by
from hydrotest.analysis.bottleneck.windows import Window, names_of, pass_s, uses_in, window_of
from hydrotest.analysis.limits.rows import Limits
from hydrotest.analysis.spark.event_log import read_event_log
from hydrotest.kinds.internal import Internal
from hydrotest.spec.spark import Spark, SparkPerf
from hydrotest.spec.tests.isolated import Isolated
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Purpose
from hydrotest.summary.limits import Job
from hydrotest.verdicts.binding import BoundBy

SPARK_DOCS = "https://spark.apache.org/docs/latest/"
EVENT_LOG = "event log"
SLOTS = Internal("share of the executors' slots that ran a task", EVENT_LOG, "mean", "above", 0.9, "cores",
                 SPARK_DOCS + "spark-standalone.html#cluster-launch-scripts", remedy="give the workers more, as long as there is CPU")  # fmt: skip
COLLECTING = Internal("share of the tasks' time in garbage collection", EVENT_LOG, "mean", "above", 0.1, "memory",
                      SPARK_DOCS + "tuning.html#garbage-collection-tuning", remedy="give the executors more", spends=True)  # fmt: skip
SPILLING = Internal("spilled to disk, of each byte that was shuffled", EVENT_LOG, "mean", "above", 0.1, "memory",
                    SPARK_DOCS + "tuning.html#memory-usage-of-reduce-tasks", remedy="give the executors more, or more and smaller tasks", spends=True)  # fmt: skip

SCHEDULING = Internal("share of the tasks' time in being sent out and heard of", EVENT_LOG, "mean", "above", 0.3, "spark.default.parallelism",
                      SPARK_DOCS + "tuning.html#level-of-parallelism", remedy="lower it: fewer and larger tasks", spends=True)  # fmt: skip


def job_rows(limits: Limits) -> list[Job]:
    """One row for each batch workload of an `isolated` test that completed anything: its tests, and what
    binds them together."""
    rows = []
    spark = limits.experiment.systems.of(Spark)
    for index, test in limits.experiment.tests_of(Isolated):
        for workload in test.workloads:
            spec = limits.experiment.workload(workload, SparkPerf)
            trials = [t for t in limits.trials if t.test == index and t.purpose == Purpose.BATCH and t.is_about(workload)]
            windows = [window_of(limits.run, trial, workload) for trial in trials if pass_s(trial, workload) > 0]
            if spec is not None and spark is not None and windows:
                suspicion = suspect(limits.run, windows, workload, limits.hosts, limits.experiment.needs(workload))
                # Its driver is a part of the system, not a generator that needs headroom.
                rows.append(Job(workload=workload, kind=spec.kind, tests=list(spec.tests), workers=_worker_names(spark.workers, limits.hosts),
                             bound_by=limits.proven(index, workload, suspicion, [])))  # fmt: skip
    return rows


def _worker_names(workers: Sequence[str], hosts: Sequence[dict[str, Any]]) -> list[str]:
    """The hosts of workers by all their names: this machine appears by one of its own."""
    alike = [names for names in names_of(hosts).values() if not set(names).isdisjoint(workers)]
    return list(dict.fromkeys([*workers, *(name for names in alike for name in names)]))


def suspect(run: RunFolder, windows: Sequence[Window], workload: str, hosts: Sequence[dict[str, Any]], needed: Collection[str]) -> BoundBy:
    """What may bind, by use and full gauges in some windows, on hosts that the workload needs."""
    internals = [*gauged(run, windows, needed), *_executors(run, windows, workload)]
    return bound_by(uses_in(run, windows, hosts, needed), [], "closed-loop", internals, has_generator=False)


def _executors(run: RunFolder, windows: Sequence[Window], workload: str) -> list[Gauged]:
    """Gauges of all executors together, from the event log: for the time in which tests ran, and for their
    tasks."""
    there, busy, running, collecting, scheduling, shuffled, spilled = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for trial, _, _ in windows:
        load = trial.load(workload)
        log = read_event_log(run.path / load.event_log) if load.event_log is not None else None
        for one in load.iterations or []:
            if log is None or not one.finished or one.group not in log.groups:
                continue
            group = log.groups[one.group]
            # Seconds of slots; unknown in a log without executors.
            there += one.seconds * (log.slots or 0)
            busy += group.total("duration_s")
            running += group.total("run_s")
            collecting += group.total("gc_s")
            scheduling += group.total("scheduler_delay_s") + group.total("getting_result_s")
            shuffled += group.total("shuffle_write_bytes")
            spilled += group.total("spill_bytes")
    shares = [
        (SLOTS, busy, there), (COLLECTING, collecting, running), (SCHEDULING, scheduling, busy), (SPILLING, spilled, shuffled)
    ]  # fmt: skip
    return [Gauged(limit, "", "the executors", part / whole) for limit, part, whole in shares if whole > 0]
