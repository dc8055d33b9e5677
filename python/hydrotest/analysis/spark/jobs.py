"""Rows of `spark`: the times of each batch test, and its tasks and shuffles."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass, field

from hydrotest.analysis.spark.event_log import EventLog, FlawKind, read_event_log
from hydrotest.analysis.spark.failure import first_line
from hydrotest.analysis.spark.tasks import Group
from hydrotest.analysis.spark.time_spent import job_time
from hydrotest.analysis.statistics.intervals import t_interval
from hydrotest.spec.choice import expected
from hydrotest.spec.models import Experiment
from hydrotest.spec.spark import SparkPerf
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Trait
from hydrotest.store.records import Iteration, Tenancy, Trial
from hydrotest.summary.spark import JobData, JobTest
from hydrotest.verdicts.problem import ExecutorLost, JobTestBroken, JobTestUntold, LogFlaw, Problem


@dataclass
class BatchRows:
    """The rows, and what could not be read."""

    rows: list[JobTest] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def batch_rows(run: RunFolder, experiment: Experiment, trials: list[Trial]) -> BatchRows:
    """One row for each workload, tenancy and test; medians over the iterations that completed."""
    found: dict[tuple[str, Tenancy, str], list[tuple[Iteration, str | None]]] = defaultdict(list)
    for trial in trials:
        for load in trial.loads if Trait.JOBS in trial.purpose.traits else []:
            for iteration in load.iterations or []:
                if not iteration.cut:
                    found[load.workload, trial.tenancy, iteration.test].append((iteration, load.event_log))
    names = {name for iterations in found.values() for _, name in iterations if name}
    logs: dict[str, EventLog] = {name: read_event_log(run.path / name) for name in sorted(names)}
    out = BatchRows()
    # A driver that was ended leaves no application end, which is not a flaw; a line cut in two is.
    out.problems += [
        LogFlaw(name, flaw.kind, flaw.count, flaw.place, flaw.detail, flaw.kinds)
        for name, log in logs.items() for flaw in log.flaws if flaw.kind is not FlawKind.UNFINISHED
    ]  # fmt: skip
    out.problems += [
        ExecutorLost(one.executor, first_line(one.reason)) for log in logs.values() for one in log.executors.lost
    ]  # fmt: skip
    for (workload, tenancy, test), iterations in found.items():
        spec = expected(experiment.workloads[workload], SparkPerf)
        total = experiment.objective(workload).total
        ended = [(i, logs[name].groups.get(i.group) if name else None) for i, name in iterations if i.finished and i.correct]
        # Ended by hydrotest, or by Spark itself.
        broken = [(i, logs[name].groups.get(i.group, Group()) if name else Group()) for i, name in iterations if i.hung or not i.finished]
        out.problems += dict.fromkeys(JobTestBroken(workload, test, i.hung, i.error) for i, _ in broken)
        known = [(i, group) for i, group in ended if group is not None]
        if not known and broken:
            out.rows.append(_row(workload, tenancy, test, spec, broken[:1], total, is_finished=False))
            continue
        if not known:
            out.problems.append(JobTestUntold(workload, test, tenancy))
            continue
        out.rows.append(_row(workload, tenancy, test, spec, known, total, is_finished=not broken))
    # In the order of the file: the test that a trial starts with depends on where the driver was in its
    # sequence.
    places: dict[tuple[str, str], int] = {(name, test): place for name, spec in experiment.workloads_of(SparkPerf)
              for place, test in enumerate(spec.tests)}  # fmt: skip
    names_in_order = list(experiment.workloads)
    out.rows.sort(key=lambda row: (row.tenancy == "combined", names_in_order.index(row.workload), places[row.workload, row.test]))
    return out


def _row(
    workload: str,
    tenancy: Tenancy,
    test: str,
    spec: SparkPerf,
    known: list[tuple[Iteration, Group]],
    objective_s: float | None,
    *,
    is_finished: bool,
) -> JobTest:
    """`known`: the runs with times, with their groups in the event log; `is_finished`: none of all runs broke
    off."""
    times = [iteration.seconds for iteration, _ in known]
    median = statistics.median_low(times)
    # Sizes and slowest tasks are those of the iteration with the median time, so that a row is consistent.
    group = next(group for iteration, group in known if iteration.seconds == median)
    mean = t_interval(times)
    return JobTest(
        workload=workload, tenancy=tenancy, test=test, scale_factor=spec.scale_factor, data_scale=spec.data_scale,
        data=JobData(seed=spec.seed, unique_keys=spec.unique_keys, skew=spec.skew),
        tasks_per_stage=group.tasks_per_stage, stages=len(group.stages),
        input_bytes=int(group.total("input_bytes")), shuffle_read_bytes=int(group.total("shuffle_read_bytes")),
        shuffle_write_bytes=int(group.total("shuffle_write_bytes")), remote_bytes=int(group.total("remote_bytes")),
        tasks_by_host=group.tasks_by_host,
        skew=max((stage.skew for stage in group.stages if stage.skew is not None), default=None),
        max_shuffle_read_s=group.largest("fetch_wait_s"), max_shuffle_write_s=group.largest("shuffle_write_s"),
        total_s=median, total_s_low=mean.low, total_s_high=mean.high, runs=len(times),
        finished=is_finished, tasks_done=sum(stage.done for stage in group.stages),
        time=job_time(group),
        gc_s=group.total("gc_s"), spill_bytes=int(group.total("spill_bytes")), objective_s=objective_s,
        accepted=None if objective_s is None else median <= objective_s and is_finished,
    )  # fmt: skip
