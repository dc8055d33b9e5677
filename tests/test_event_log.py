"""Spark's event log, from a real one (Spark 4.2.0, agg-by-key, three tasks of each stage kept)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrotest.analysis.spark.event_log import FlawKind, parse_event_log, read_event_log
from hydrotest.analysis.spark.tasks import Group, Outcome, Stage, Task
from hydrotest.analysis.spark.time_spent import OTHER, PARTS, cores_max, critical_path_s, job_time, makespan, stage_time
from hydrotest.cli.entry import main
from hydrotest.report.spark import job_time_sheet
from tests.rows import summary_of

LOG = Path("tests/data/spark-event-log.jsonl")
GROUP = "iteration-4"


def test_stages_are_summed_by_job_group() -> None:
    log = read_event_log(LOG)
    assert log.flaws == []
    assert list(log.groups) == [GROUP]
    first, second = log.groups[GROUP].stages
    events = [json.loads(line) for line in LOG.read_text().splitlines()]
    written = sum(
        e["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"] for e in events if e["Event"] == "SparkListenerTaskEnd"
    )
    assert len(first.tasks) == len(second.tasks) == log.groups[GROUP].tasks_per_stage == 3
    assert first.total("shuffle_write_bytes") == written > 0
    assert second.total("shuffle_write_bytes") == 0
    assert second.total("shuffle_read_bytes") > 0
    assert first.total("input_bytes") > 0  # it reads what lies in memory
    assert 0 < (first.largest("shuffle_write_s") or 0) <= first.total("shuffle_write_s")
    assert first.total("cpu_s") <= first.total("run_s") * 1.1


def test_an_executor_that_takes_a_lost_ones_place_brings_no_cores() -> None:
    def added(executor: str) -> str:
        return json.dumps({"Event": "SparkListenerExecutorAdded", "Executor ID": executor, "Executor Info": {"Total Cores": 2}})

    lost = json.dumps({"Event": "SparkListenerExecutorRemoved", "Executor ID": "0", "Removed Reason": "exited with code 52"})
    log = parse_event_log([added("0"), added("1"), lost, added("2")])
    assert log.cores == 4


def test_a_cut_log_gives_what_it_has_and_says_so() -> None:
    text = LOG.read_text()
    cut = parse_event_log(text[: len(text) // 2].splitlines())
    assert [flaw.kind for flaw in cut.flaws] == [FlawKind.CUT]
    assert sum(len(stage.tasks) for stage in cut.groups[GROUP].stages) < 6


def test_a_log_without_its_end_says_so() -> None:
    assert [flaw.kind for flaw in parse_event_log(LOG.read_text().splitlines()[:-1]).flaws] == [FlawKind.UNFINISHED]


def test_a_missing_log_is_empty_and_says_so(tmp_path: Path) -> None:
    log = read_event_log(tmp_path / "none")
    assert log.groups == {}
    assert [flaw.kind for flaw in log.flaws] == [FlawKind.MISSING]


def test_the_log_of_a_driver_that_still_runs_is_found(tmp_path: Path) -> None:
    (tmp_path / "app-1.inprogress").write_text(LOG.read_text())
    assert read_event_log(tmp_path / "app-1").groups


def test_somebody_elses_log_is_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["show", "--spark-log", str(LOG)]) == 0
    out = capsys.readouterr().out
    assert "Where the tasks' time went" in out
    assert "cores can be used" in out
    assert main(["show", "--spark-log", str(LOG), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stages"][0]["tasks"] == 3
    assert main(["show", "--spark-log", str(tmp_path / "none")]) == 2
    assert main(["show"]) == 2


def task(begin: float, seconds: float, cpu_s: float = 0.0, gc_s: float = 0.0, fetch_wait_s: float = 0.0) -> Task:
    return Task(begin, begin + seconds, Outcome.DONE, "here", "ANY", run_s=seconds, cpu_s=cpu_s, gc_s=gc_s, fetch_wait_s=fetch_wait_s,
                scheduler_delay_s=0.0)  # fmt: skip


@given(st.lists(st.floats(0.001, 10), min_size=1, max_size=50), st.integers(1, 8))
def test_no_plan_is_shorter_than_the_work_or_the_longest_task(durations: list[float], cores: int) -> None:
    found = makespan(durations, cores)
    least = max(sum(durations) / cores, *durations)
    # Graham's bound of list scheduling: at most twice the best.
    assert least - 1e-9 <= found <= sum(durations) / cores + max(durations) + 1e-9


@given(st.floats(0, 5), st.floats(0, 5), st.floats(0, 5), st.floats(0.001, 5))
def test_the_parts_of_a_task_add_up_to_it(cpu_s: float, gc_s: float, fetch_wait_s: float, seconds: float) -> None:
    one = task(0.0, seconds, cpu_s=cpu_s, gc_s=gc_s, fetch_wait_s=fetch_wait_s)
    parts = stage_time(Stage(1, slots=1, tasks=[one])).parts
    known = [value for value in parts.values() if value is not None]
    assert sum(known) == pytest.approx(one.duration_s)
    assert all(value >= 0 for value in known)
    assert {name for name, value in parts.items() if value is None} == {"shuffle write", "serialisation"}
    assert set(parts) == {*PARTS, OTHER}


def test_what_is_free_shortens_the_stage_by_what_was_waited_for() -> None:
    stage = Stage(1, slots=1, tasks=[task(0.0, 2.0, cpu_s=1.0, fetch_wait_s=1.0), task(2.0, 2.0, cpu_s=1.0, fetch_wait_s=1.0)])
    told = stage_time(stage)
    assert told.seconds == pytest.approx(4.0)
    assert told.ideal_s["network wait"] == pytest.approx(2.0)
    assert told.ideal_s["scheduler"] == pytest.approx(4.0)
    assert told.cores_used == pytest.approx(1.0)


def test_the_critical_path_bounds_the_cores() -> None:
    first = Stage(1, tasks=[task(0.0, 1.0), task(0.0, 1.0), task(0.0, 2.0)])
    second = Stage(2, parents=[1], tasks=[task(2.0, 1.0), task(2.0, 1.0)])
    aside = Stage(3, tasks=[task(0.0, 1.5)])
    assert critical_path_s([first, second, aside]) == pytest.approx(3.0)
    assert cores_max([first, second, aside]) == pytest.approx(7.5 / 3)


def test_a_jobs_time_adds_up_over_its_stages() -> None:
    one = Stage(1, slots=1, tasks=[task(0.0, 2.0, cpu_s=1.0, fetch_wait_s=1.0)])
    two = Stage(2, slots=1, parents=[1], tasks=[task(2.0, 2.0, cpu_s=2.0)])
    told = job_time(Group([one, two], cores=1))
    assert told.parts_s["cpu"] == pytest.approx(3.0)
    assert told.shorter_pct["network wait"] == pytest.approx(25.0)
    assert (told.critical_path_s, told.cores_max) == pytest.approx((4.0, 1.0))
    row = {"test": "window", "tenancy": "isolated", "scale_factor": 1}
    (cells,) = job_time_sheet(summary_of(spark=[row | {"time": told}, row])).rows
    assert cells[-2:] == ["1.0 of 1", "cpu 75 %, network wait 25 %"]
