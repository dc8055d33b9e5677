"""The Spark suite on a real master and worker: every test's answer is right, its log is read as Spark itself reads it, a hang is named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from hydrotest.analysis.spark.event_log import read_event_log
from hydrotest.hosts.deadlines import until_here
from hydrotest.hosts.lab.network import address_of
from hydrotest.spec.spark import SparkTest
from hydrotest.store import layout
from tests.real.conftest import SOON
from tests.real.history_server import read_by_spark
from tests.real.test_faults import SCHEMA

pytestmark = [pytest.mark.real, pytest.mark.long]
Start = Callable[..., subprocess.Popen[str]]

TEXT = """\
name: suite
hosts:
  here: {{connect: local, data: {data}}}
systems:
  spark: {{master: here, workers: [here], memory: 768 MiB, driver_memory: {driver}}}
workloads:
  batch: {{kind: spark-perf, tests: [{tests}], scale_factor: {scale}, data_scale: {shrunk}, {more}}}
tests:
  - isolated: [batch]
search: {{window: 3 s, warm_up: 1 s}}
warm_up: {{least: 1 s, most: 1 s}}
"""


def ended(process: subprocess.Popen[str], folder: Path, code: int = 0) -> dict[str, Any]:
    """The summary of a run that ends so."""
    _, err = process.communicate(timeout=600)
    assert process.returncode == code, err
    summary: dict[str, Any] = json.loads((folder / "run" / "summary.json").read_text())
    jsonschema.validate(summary, SCHEMA)
    return summary


def test_every_test_answers_rightly_and_its_log_is_read_as_spark_reads_it(tmp_path: Path, start_run: Start) -> None:
    tests = list(get_args(SparkTest))
    text = TEXT.format(
        data=tmp_path / "data", tests=", ".join(tests), scale=0.02, shrunk=0.02, driver="512 MiB", more="skew: 0.5, unique_keys: 300"
    )
    summary = ended(start_run(text), tmp_path)
    rows = {row["test"]: row for row in summary["spark"]}
    assert set(rows) == set(tests)
    assert all(row["finished"] and row["runs"] == 3 for row in rows.values())
    assert summary["problems"] == []
    assert rows["agg-by-key"]["tasks_per_stage"] == 8
    assert rows["scheduling-throughput"]["tasks_per_stage"] == 80
    # Without map-side combining all goes through the shuffle.
    assert rows["agg-by-key-naive"]["shuffle_write_bytes"] > 2 * rows["agg-by-key"]["shuffle_write_bytes"]
    assert rows["count"]["shuffle_write_bytes"] < 2000
    (log,) = (tmp_path / "run" / "logs" / "spark-events").glob("app-*") if (tmp_path / "run" / "logs" / "spark-events").exists() else (
        tmp_path / "run").rglob("app-*")  # fmt: skip
    assert_read_as_by_spark(log, tmp_path)


FIGURES = {
    "numCompleteTasks": ("done", 1), "executorRunTime": ("run_s", 1e3), "executorCpuTime": ("cpu_s", 1e9), "jvmGcTime": ("gc_s", 1e3),
    "executorDeserializeTime": ("deserialise_s", 1e3), "resultSerializationTime": ("serialise_s", 1e3), "resultSize": ("result_bytes", 1),
    "inputBytes": ("input_bytes", 1), "outputBytes": ("output_bytes", 1), "shuffleReadBytes": ("shuffle_read_bytes", 1),
    "shuffleRemoteBytesRead": ("remote_bytes", 1), "shuffleRemoteBlocksFetched": ("remote_blocks", 1),
    "shuffleLocalBlocksFetched": ("local_blocks", 1), "shuffleFetchWaitTime": ("fetch_wait_s", 1e3),
    "shuffleWriteBytes": ("shuffle_write_bytes", 1), "shuffleWriteTime": ("shuffle_write_s", 1e9),
    "diskBytesSpilled": ("spill_bytes", 1), "memoryBytesSpilled": ("memory_spill_bytes", 1),
}  # fmt: skip
"""A stage's figures in Spark's REST API, ours, and how many of its units are one of ours."""


def assert_read_as_by_spark(log: Path, folder: Path) -> None:
    """Figure by figure, as the REST API of Spark's own history server reports the same application."""
    with read_by_spark(log, folder) as ask:
        stages = ask("stages")
    told = {stage["stageId"]: stage for stage in stages if stage["numCompleteTasks"]}
    ours = {stage.number: stage for stage in read_event_log(log).stages if stage.done}
    assert told.keys() == ours.keys()
    assert len(told) > 20
    for number, stage in told.items():
        for theirs, (own, factor) in FIGURES.items():
            value = ours[number].done if own == "done" else ours[number].total(own)
            assert value * factor == pytest.approx(stage[theirs], abs=0.5), (number, theirs)


def test_a_job_that_would_take_too_long_is_named_and_its_part_results_are_kept(tmp_path: Path, start_run: Start) -> None:
    """Four hundred thousand tasks that a driver with hardly any memory is to keep the books of."""
    text = TEXT.format(data=tmp_path / "data", tests="scheduling-throughput", scale=100, shrunk=1, driver="512 MiB", more="budget: 30 s")
    began = time.monotonic()
    summary = ended(start_run(text), tmp_path, code=1)
    (row,) = summary["spark"]
    assert not row["finished"]
    (problem,) = (problem for problem in summary["problems"] if "was ended before its end" in problem)
    assert "scheduling-throughput was ended before its end: stage" in problem
    assert "of 400,000 tasks done" in problem
    assert time.monotonic() - began < 180


def executors_below(folder: Path) -> list[int]:
    """Processes of executors whose work lies below a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            is_executor = b"CoarseGrainedExecutorBackend" in (entry / "cmdline").read_bytes()
            if is_executor and (entry / "cwd").resolve().is_relative_to(folder):
                found.append(int(entry.name))
        except OSError:  # it has just ended
            continue
    return found


def stages_ended(folder: Path) -> int:
    """By the event logs of the run in a folder: Spark writes them out at each stage's end."""
    return sum(path.read_bytes().count(b'"SparkListenerStageCompleted"') for path in (folder / "run" / layout.SPARK_EVENTS).iterdir())


def test_a_killed_executor_costs_time_and_no_answer(tmp_path: Path, start_run: Start) -> None:
    """Spark starts another, and does again what the lost one had done."""
    text = TEXT.format(data=tmp_path / "data", tests="sort-by-key", scale=0.2, shrunk=0.05, driver="512 MiB", more="seed: 7")
    process = start_run(text)
    assert process.stderr is not None
    assert any("trial 1:" in line for line in process.stderr)
    before = stages_ended(tmp_path)
    until_here(lambda: stages_ended(tmp_path) > before, SOON, "the first stage of the trial", "end")
    (executor,) = executors_below(tmp_path)
    os.kill(executor, signal.SIGKILL)
    summary = ended(process, tmp_path)
    (row,) = summary["spark"]
    assert row["finished"]
    assert row["runs"] == 3
    assert any("was lost, and what it did was done again" in problem for problem in summary["problems"])


def test_what_does_not_fit_into_memory_spills_and_the_answer_is_right(tmp_path: Path, start_run: Start) -> None:
    text = TEXT.format(data=tmp_path / "data", tests="sort-by-key", scale=0.01, shrunk=1, driver="512 MiB", more="seed: 7")
    summary = ended(start_run(text.replace("memory: 768 MiB,", "memory: 512 MiB,")), tmp_path)
    (row,) = summary["spark"]
    assert (row["finished"], row["runs"]) == (True, 3)
    assert row["spill_bytes"] > 0


def test_a_task_that_no_heap_holds_is_named_at_its_first_failure(tmp_path: Path, start_run: Start) -> None:
    """All values of one key, grouped: Spark can spill keys, and not the values of one."""
    text = TEXT.format(
        data=tmp_path / "data", tests="agg-by-key-naive", scale=0.02, shrunk=4, driver="512 MiB", more="unique_keys: 1, budget: 5 min"
    ).replace("memory: 768 MiB,", "memory: 512 MiB, config: {spark.task.maxFailures: 1},")
    summary = ended(start_run(text), tmp_path, code=1)
    (row,) = summary["spark"]
    assert not row["finished"]
    (problem,) = (problem for problem in summary["problems"] if "agg-by-key-naive failed" in problem)
    assert "the heap of an executor of here was too small for one of its tasks: give the workers more `memory`" in problem, problem


def test_empty_tasks_are_bound_by_the_driver(tmp_path: Path, start_run: Start) -> None:
    """As many as three stages of the published suite's largest scale factor have."""
    text = TEXT.format(data=tmp_path / "data", tests="scheduling-throughput", scale=1, shrunk=0.002, driver="768 MiB", more="seed: 7")
    summary = ended(start_run(text), tmp_path)
    (row,) = summary["spark"]
    assert (row["tasks_per_stage"], row["finished"]) == (4_000, True)
    shorter = row["time"]["shorter_pct"]
    assert shorter["scheduler"] == max(shorter.values()) > 50


FULL = """\
name: full
hosts:
  one: {{connect: netns, data: {data}, disk: 40 MB/s, disk_size: 128 MiB}}
systems:
  spark: {{master: one, workers: [one], memory: 512 MiB}}
workloads:
  batch: {{kind: spark-perf, tests: [sort-by-key], scale_factor: 0.05, data_scale: 2, on: one}}
tests:
  - isolated: [batch]
search: {{window: 3 s, warm_up: 1 s}}
warm_up: {{least: 1 s, most: 1 s}}
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="emulated hosts need root")
def test_a_full_disk_is_named_with_its_host(tmp_path: Path, start_run: Start) -> None:
    process = start_run(FULL.format(data=tmp_path / "data"))
    _, err = process.communicate(timeout=200)
    assert process.returncode == 3, err
    assert "the disk of one that shuffles and spills are written to is full" in " ".join(err.split()), err


def test_a_driver_that_cannot_begin_is_told_at_once(tmp_path: Path, start_run: Start) -> None:
    """It is not waited for, and its own words say why."""
    text = TEXT.format(data=tmp_path / "data", tests="count", scale=0.02, shrunk=0.02, driver="512 MiB", more="seed: 7").replace(
        "memory: 768 MiB,", "memory: 768 MiB, config: {spark.driver.extraJavaOptions: -agentpath:/nowhere.so},"
    )
    began = time.monotonic()
    process = start_run(text)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 3, err
    assert "nowhere.so" in err, err
    assert time.monotonic() - began < 60


LAB = """\
name: workers
hosts:
  master: {{connect: netns, cores: 0.5, network: 400 Mbit/s, data: {data}}}
  one:    {{connect: netns, cores: 0.7, network: 400 Mbit/s}}
  two:    {{connect: netns, cores: {slow}, network: 400 Mbit/s}}
systems:
  spark: {{master: master, workers: [one, two], memory: 512 MiB}}
workloads:
  batch: {{kind: spark-perf, tests: [agg-by-key-naive], scale_factor: 0.05, data_scale: 0.05, on: master}}
tests:
  - isolated: {{workloads: [batch], squeeze: 110 s}}
search: {{window: 3 s, warm_up: 1 s}}
warm_up: {{least: 10 s, most: 20 s}}
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="emulated hosts need root")
def test_what_comes_from_another_worker_is_remote_and_a_slow_worker_shows_and_is_squeezed(tmp_path: Path, start_run: Start) -> None:
    summary = ended(start_run(LAB.format(data=tmp_path / "data", slow=0.15)), tmp_path)
    (row,) = summary["spark"]
    assert len(row["tasks_by_host"]) == 2
    # Half of what is shuffled is on the other worker, give or take who did more.
    assert 0.1 * row["shuffle_read_bytes"] < row["remote_bytes"] < 0.9 * row["shuffle_read_bytes"]
    fast, slow = (row["tasks_by_host"][address_of(index)] for index in (1, 2))
    assert slow < fast
    assert row["skew"] > 1.5
    (job,) = summary["jobs"]
    tried = {(one["host"], one["resource"]): one for one in job["bound_by"]["squeezed"]}
    # What is proven of it, in so short a time, is another matter: benchmarks/verdicts.py.
    assert tried["two", "cpu"]["n"] >= 2
    assert all(-1 < one["value"] < 3 for one in tried.values())
    # Squeezed tests are not among those whose times are shown.
    assert row["runs"] == 3
