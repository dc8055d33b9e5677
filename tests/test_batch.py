"""Rows of batch tests, from iterations as drivers report them and a real event log."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hydrotest.analysis.bottleneck.evidence import inside
from hydrotest.analysis.bottleneck.windows import window_of
from hydrotest.analysis.limits.rows import Limits
from hydrotest.analysis.spark.bounds import job_rows, suspect
from hydrotest.analysis.spark.event_log import read_event_log
from hydrotest.analysis.spark.jobs import batch_rows
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Iteration, Load, Trial
from hydrotest.summary.spark import JobTest
from hydrotest.verdicts.problem import ExecutorLost, JobTestBroken, Problem
from tests.spark_log import environment, executor, executor_gone

EXPERIMENT = """\
name: x
hosts: {here: {connect: local}}
systems: {spark: {master: here, workers: [here]}}
workloads: {batch: {kind: spark-perf, tests: [agg-by-key]}}
objectives: {batch: {total: 60 s}}
tests:
  - isolated: [batch]
"""
LOG = "spark-events/app-1"
GROUP = "iteration-4"
"""Of tests/data/spark-event-log.jsonl."""


def ran(folder: Path, *ended: str | None) -> tuple[RunFolder, Experiment, Trial]:
    """A run with one trial, of a test that was run so often, each time to its end or ended by an error."""
    (folder / "x.yaml").write_text(EXPERIMENT)
    experiment, _ = load_experiment(folder / "x.yaml")
    run = RunFolder(folder / "run")
    run.create(EXPERIMENT.encode())
    (run.path / LOG).parent.mkdir(parents=True)
    shutil.copy("tests/data/spark-event-log.jsonl", run.path / LOG)
    made = [
        Iteration(test="agg-by-key", group=GROUP, started_wall_s=at, ended_wall_s=at + 2 + at / 10, seconds=2 + at / 10, finished=error is None,
                  correct=error is None, cut=False, error=error)
        for at, error in enumerate(ended)
    ]  # fmt: skip
    load = Load(workload="batch", kind="spark-perf", client="spark", iterations=made, event_log=LOG)
    trial = Trial(number=1, slug="batch", purpose=Purpose.BATCH, tenancy="isolated", warm_up_s=0, window_s=0, prepared_wall_s=0, ended_wall_s=9, status="done",
                  loads=[load])  # fmt: skip
    return run, experiment, trial


def rows(folder: Path, *ended: str | None) -> tuple[JobTest, list[Problem]]:
    """The one row of its test, and what is wrong with it."""
    run, experiment, trial = ran(folder, *ended)
    found = batch_rows(run, experiment, [trial])
    (row,) = found.rows
    return row, found.problems


def test_runs_that_ended_have_a_median(tmp_path: Path) -> None:
    row, problems = rows(tmp_path, None, None, None)
    assert (row.finished, row.runs, row.total_s, row.accepted) == (True, 3, 2.1, True)
    assert problems == []


def test_one_run_that_spark_ended_leaves_the_test_unfinished(tmp_path: Path) -> None:
    row, problems = rows(tmp_path, None, "an executor was lost", None)
    assert (row.finished, row.runs, row.total_s, row.accepted) == (False, 2, 2.0, False)
    assert problems == [JobTestBroken("batch", "agg-by-key", is_ended=False, error="an executor was lost")]


def test_where_no_run_ended_what_was_done_is_told(tmp_path: Path) -> None:
    row, _ = rows(tmp_path, "an executor was lost")
    assert (row.finished, row.accepted) == (False, False)
    assert row.tasks_done > 0


def test_slots_that_are_all_taken_are_told(tmp_path: Path) -> None:
    run, _, trial = ran(tmp_path, None)
    log = run.path / LOG
    two_cores = {"Event": "SparkListenerExecutorAdded", "Executor ID": "0", "Executor Info": {"Total Cores": 2}}
    log.write_text(json.dumps(two_cores) + "\n" + log.read_text())
    busy_s = read_event_log(log).groups[GROUP].total("duration_s") / 2
    (load,) = trial.loads
    (once,) = load.iterations or []
    for seconds, is_full in ((1.01 * busy_s, True), (3 * busy_s, False)):
        told = trial.model_copy(update={"loads": [load.model_copy(update={"iterations": [once.model_copy(update={"seconds": seconds})]})]})
        bound = suspect(run, [window_of(run, told, "batch")], "batch", [], [])
        assert ("cores" in {entry.setting for entry in inside(bound.evidence)}) == is_full


def test_a_batch_workload_has_a_row_of_what_binds_it(tmp_path: Path) -> None:
    run, experiment, trial = ran(tmp_path, None, None, None)
    (row,) = job_rows(Limits(run, experiment, [trial], []))
    assert (row.workload, row.tests, row.bound_by.kind, row.bound_by.confirmed) == (
        "batch",
        ["agg-by-key"],
        "unknown",
        False,
    )


def with_events(run: RunFolder, *events: dict[str, Any], end: bool = True) -> None:
    """Puts events before those of the log, and takes its application's end away."""
    lines = (run.path / LOG).read_text().splitlines()
    (run.path / LOG).write_text("".join(f"{line}\n" for line in [*map(json.dumps, events), *(lines if end else lines[:-1])]))


@pytest.mark.parametrize("reason", ["", " ", "\n", None])
def test_an_executor_that_went_without_a_reason_is_no_traceback_and_not_lost(tmp_path: Path, reason: str | None) -> None:
    run, experiment, trial = ran(tmp_path, None)
    with_events(run, executor("0"), executor_gone("0", reason))
    assert batch_rows(run, experiment, [trial]).problems == []


def test_lost_executors_are_problems_and_those_of_dynamic_allocation_are_none(tmp_path: Path) -> None:
    run, experiment, trial = ran(tmp_path, None)
    gone = [executor_gone("0", "Executor killed by driver."), executor_gone("1", "Command exited with code 52\nstderr: x")]
    with_events(run, executor("0"), executor("1"), *gone)
    (problem,) = batch_rows(run, experiment, [trial]).problems
    assert problem == ExecutorLost("1", "Command exited with code 52")


def test_a_driver_that_was_ended_is_no_problem_of_its_log_and_a_damaged_line_is(tmp_path: Path) -> None:
    run, experiment, trial = ran(tmp_path, None)
    with_events(run, end=False)
    assert batch_rows(run, experiment, [trial]).problems == []
    (run.path / LOG).write_text("damaged\n" + (run.path / LOG).read_text())
    assert len(batch_rows(run, experiment, [trial]).problems) == 1


def test_slots_are_cores_by_what_a_task_takes(tmp_path: Path) -> None:
    run, _, trial = ran(tmp_path, None)
    with_events(run, executor("0", 4), environment(spark_task_cpus="2"))
    busy_s = read_event_log(run.path / LOG).groups[GROUP].total("duration_s")
    (load,) = trial.loads
    (once,) = load.iterations or []
    told = trial.model_copy(
        update={"loads": [load.model_copy(update={"iterations": [once.model_copy(update={"seconds": 1.01 * busy_s / 2})]})]}
    )
    bound = suspect(run, [window_of(run, told, "batch")], "batch", [], [])
    assert "cores" in {entry.setting for entry in inside(bound.evidence)}
