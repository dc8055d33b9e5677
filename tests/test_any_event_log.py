"""Any user's event log: from old releases, damaged, with repeated stages and tasks, lost executors, or
half of it missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrotest.analysis.spark.event_log import EventLog, FlawKind, parse_event_log, read_event_log
from hydrotest.analysis.spark.executors import Removal, removal
from hydrotest.analysis.spark.tasks import Doubt, Outcome, Stage
from hydrotest.analysis.spark.time_spent import cores_max, critical_path_s, time_rows
from hydrotest.cli.entry import main
from hydrotest.report.spark import doubt_sentences, spark_sentences, stage_sheet, where_sheet
from hydrotest.report.table import NONE
from hydrotest.summary.spark import Doubt as DoubtRow
from tests.spark_log import (
    Event,
    application,
    application_end,
    environment,
    executor,
    executor_gone,
    job,
    job_end,
    lines,
    log_start,
    one_stage,
    stage_begin,
    stage_end,
    task_end,
    task_start,
    text,
    write,
)


def parsed(*events: Event) -> EventLog:
    return parse_event_log(lines(events))


def only(log: EventLog) -> Stage:
    (stage,) = log.stages
    return stage


def printed(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["show", "--spark-log", str(path)]) == 0
    return capsys.readouterr().out


OLD: list[Event] = [
    {"Event": "SparkListenerLogStart"},
    {"Event": "SparkListenerApplicationStart", "App Name": "old", "Timestamp": 1_420_000_000_000, "User": "me"},
    {"Event": "SparkListenerExecutorAdded", "Timestamp": 1, "Executor ID": "0", "Executor Info": {"Host": "h", "Total Cores": 2}},
    {"Event": "SparkListenerJobStart", "Job ID": 0, "Stage IDs": [0]},
    {"Event": "SparkListenerStageSubmitted", "Stage Info": {"Stage ID": 0, "Number of Tasks": 2}},
    *(
        {"Event": "SparkListenerTaskEnd", "Stage ID": 0, "Task Type": "ResultTask", "Task End Reason": {"Reason": reason},
         "Task Info": {"Task ID": n, "Index": n, "Attempt": 0, "Launch Time": 1_420_000_000_000, "Finish Time": 1_420_000_002_000, "Failed": False},
         "Task Metrics": {"Host Name": "h", "Executor Deserialize Time": 10, "Executor Run Time": 1500, "Result Size": 9, "JVM GC Time": 100,
                          "Result Serialization Time": 1, "Memory Bytes Spilled": 0, "Disk Bytes Spilled": 0}}
        for n, reason in ((0, "Success"), (1, "TaskKilled"), (2, "Success"))
    ),
    {"Event": "SparkListenerStageCompleted", "Stage Info": {"Stage ID": 0, "Number of Tasks": 2}},
    {"Event": "SparkListenerExecutorRemoved", "Timestamp": 2, "Executor ID": "0"},
    {"Event": "SparkListenerApplicationEnd", "Timestamp": 2},
]  # fmt: skip
"""As Spark 1.2 to 1.5 write it: none of what came later, and no metrics of what a task did not do."""


def test_what_an_old_log_does_not_have_is_null() -> None:
    log = parsed(*OLD)
    assert (log.version, log.application, log.flaws) == ("", "", [])
    (row,) = time_rows(log.stages)
    assert (row.tasks, row.planned, row.failed_tasks, row.killed_tasks, row.doubt) == (2, 2, 0, 1, None)
    absent = (
        "name",
        "input_bytes",
        "shuffle_read_bytes",
        "remote_bytes",
        "shuffle_write_bytes",
        "remote_blocks",
        "max_shuffle_read_s",
        "max_shuffle_write_s",
    )
    assert {key: getattr(row, key) for key in absent} == dict.fromkeys(absent)
    assert {part for part, seconds in row.parts_s.items() if seconds is None} == {"cpu", "network wait", "shuffle write"}
    assert {part for part, seconds in row.ideal_s.items() if seconds is None} == {"cpu", "network wait", "shuffle write"}
    assert (row.spill_bytes, row.parts_s["garbage collection"], row.seconds) == pytest.approx((0, 0.2, 2.0))
    assert [one.kind for one in log.executors.removed] == [Removal.UNKNOWN]
    assert log.executors.lost == []


def test_an_old_log_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "app-1", OLD)
    printed(path, capsys)
    assert main(["show", "--spark-log", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["application"], found["spark"], found["cores"]) == (None, None, 2)
    assert [(one["kind"], one["reason"]) for one in found["executors_removed"]] == [("unknown", None)]


def test_without_executors_no_cores_are_guessed() -> None:
    log = parsed(job(0, 0), task_end(0, 0), task_end(0, 1), stage_end(0, 2), application_end())
    (row,) = time_rows(log.stages)
    assert (log.cores, log.slots, row.slots, set(row.ideal_s.values())) == (None, None, None, {None})


DAMAGE = ["", "   ", "{", "not json", "[1, 2]", "3", "null", '"text"', "{}", '{"Event": 3}', '{"Event": "SparkListenerTaskEnd"}',
          '{"Event": "SparkListenerTaskEnd", "Stage ID": "0", "Task Info": {}}', '{"Event": "SparkListenerStageCompleted", "Stage Info": []}',
          '{"Event": "SparkListenerJobStart", "Job ID": 1, "Stage IDs": "0"}', '{"Event": "SparkListenerExecutorAdded"}',
          '{"Event": "SparkListenerTaskEnd", "Stage ID": 0, "Task Info": {"Task ID": 1, "Launch Time": "soon"}}',
          '{"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {"spark.task.cpus": "two"}}', "[" * 100_000]  # fmt: skip


@pytest.mark.parametrize("damaged", DAMAGE, ids=range(len(DAMAGE)))
def test_a_damaged_line_is_skipped_counted_and_said(damaged: str) -> None:
    whole = lines(one_stage(task_end(0, 0), task_end(0, 1)))
    log = parse_event_log([*whole[:6], damaged, *whole[6:]])
    assert (only(log).done, sum(log.skipped.values())) == (2, 1)
    (flaw,) = log.flaws
    assert (flaw.kind, flaw.count, flaw.place) == (FlawKind.SKIPPED, 1, "line 7")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["Stage ID", "Task ID", "Task Info", "x"]), inner), max_leaves=6),
       st.sampled_from(one_stage(task_end(0, 0), task_start(0, 1), environment(), executor_gone("0", None))))  # fmt: skip
def test_no_shape_of_an_event_is_a_traceback(odd: Any, event: Event) -> None:
    whole = one_stage(task_end(0, 0))
    for key in event:
        if key != "Event":
            log = parse_event_log(lines([*whole[:6], event | {key: odd}, *whole[6:]]))
            time_rows(log.stages)
            spark_sentences(log)


def test_a_byte_order_mark_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("\ufeff" + text(one_stage(task_end(0, 0))))
    log = read_event_log(tmp_path / "log")
    assert (log.version, log.flaws) == ("4.2.0", [])


def test_a_file_that_is_one_json_array_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log"
    path.write_text(json.dumps(one_stage(task_end(0, 0))))
    assert main(["show", "--spark-log", str(path)]) == 2
    assert "not a JSON object" in capsys.readouterr().err


def jobs_in_turn(count: int) -> list[Event]:
    events = [log_start(), application(), executor("0", 8)]
    for n in range(count):
        events += [job(n, n), stage_begin(n, 1), task_end(n, n, begin_s=n, seconds=0.8 + n % 3 / 10), stage_end(n, 1), job_end(n)]
    return [*events, application_end()]


def test_jobs_that_the_driver_runs_in_turn_are_a_chain() -> None:
    stages = parsed(*jobs_in_turn(30)).stages
    assert critical_path_s(stages) == pytest.approx(sum(task.duration_s for stage in stages for task in stage.tasks))
    assert cores_max(stages) == pytest.approx(1.0)


def test_jobs_that_run_beside_each_other_are_none() -> None:
    both = [job(0, 0), job(1, 1), task_end(0, 0), task_end(1, 1), job_end(0), job_end(1)]
    last = [job(2, 2, 3), task_end(2, 2), task_end(3, 3), stage_end(2, 1), stage_end(3, 1, parents=[2]), job_end(2)]
    stages = parsed(executor("0"), *both, *last, application_end()).stages
    assert critical_path_s(stages) == pytest.approx(3.0)
    assert cores_max(stages) == pytest.approx(4 / 3)


def test_a_task_that_takes_two_cores_takes_two() -> None:
    ends = [task_end(0, n, begin_s=n // 4) for n in range(8)]
    log = parsed(
        environment(spark_task_cpus="2"),
        executor("0", 5),
        executor("1", 5),
        job(0, 0),
        *ends,
        stage_end(0, 8),
        job_end(0),
        application_end(),
    )
    (row,) = time_rows(log.stages)
    assert (log.cores, log.slots, row.slots) == (10, 4, 4)  # a fifth core of an executor holds no task
    assert row.cores_used == pytest.approx(8.0)
    assert cores_max(log.stages) == pytest.approx(16.0)
    # Without its CPU, the stage would be two rounds of nothing; laid out in ten slots it would be as long as one round.
    assert row.ideal_s["network wait"] == pytest.approx(2.0)


def test_a_stage_with_a_resource_profile_of_its_own_has_its_own_slots() -> None:
    profile = {"Event": "SparkListenerResourceProfileAdded", "Resource Profile Id": 1, "Task Resource Requests": {"cpus": {"Amount": 4.0}}}
    more = {"Resource Profile Id": 1}
    log = parsed(
        executor("0", 8), profile, job(0, 0, 1), task_end(0, 0), stage_end(0, 1), task_end(1, 1), stage_end(1, 1, **more), application_end()
    )
    assert [(stage.cpus, stage.slots) for stage in log.stages] == [(1, 8), (4, 2)]


def test_attempts_of_a_stage_are_apart() -> None:
    failure = {"Failure Reason": "org.apache.spark.shuffle.FetchFailedException\n at x", "Submission Time": 1000, "Completion Time": 2000}
    fetch = task_end(1, 9, reason={"Reason": "FetchFailed"}, failed=True)
    first = [task_end(1, n) for n in range(3)]
    again = [task_end(1, 20 + n, begin_s=7200.0, index=n, attempt=1) for n in range(1)]
    log = parsed(
        executor("0"),
        job(0, 1),
        *first,
        fetch,
        stage_end(1, 4, **failure),
        *again,
        stage_end(1, 1, attempt=1),
        job_end(0),
        application_end(),
    )
    rows = time_rows(log.stages)
    assert [(row.stage, row.attempt, row.tasks, row.planned, row.failed_tasks, row.seconds) for row in rows] == [
        (1, 0, 3, 4, 1, 1.0),
        (1, 1, 1, 1, 0, 1.0),
    ]
    assert [row.doubt for row in rows] == [None, None]
    assert [cells[0] for cells in stage_sheet(rows).rows] == ["1", "1.1"]
    assert critical_path_s(log.stages) == pytest.approx(2.0)


def test_what_is_resubmitted_is_not_done_twice() -> None:
    first = [task_end(0, n) for n in range(8)]
    lost = [task_end(0, n, reason={"Reason": "Resubmitted"}) | {"Task Metrics": None} for n in range(4)]
    again = [task_end(0, 10 + n, begin_s=2.0, index=n) for n in range(4)]
    stage = only(parsed(*one_stage(*first, *lost, *again, tasks=8)))
    assert (stage.done, stage.count(Outcome.FAILED), stage.count(Outcome.REPEATED), stage.doubt) == (8, 0, 4, None)
    assert (len(stage.tasks), stage.total("input_bytes")) == (12, 12000.0)


def test_killed_attempts_have_not_failed() -> None:
    speculative = task_end(0, 8, index=0, reason={"Reason": "TaskKilled", "Kill Reason": "another attempt succeeded"}, killed=True)
    denied = task_end(0, 9, index=1, reason={"Reason": "TaskCommitDenied"}, failed=True)
    failed = task_end(0, 10, index=2, reason={"Reason": "ExceptionFailure"}, failed=True)
    stage = only(parsed(*one_stage(task_end(0, 0), task_end(0, 1), task_end(0, 2), speculative, denied, failed, tasks=3)))
    assert {outcome: stage.count(outcome) for outcome in Outcome} == {
        Outcome.DONE: 3, Outcome.KILLED: 2, Outcome.FAILED: 1, Outcome.REPEATED: 0,
    }  # fmt: skip
    assert stage.done == 3


@pytest.mark.parametrize(("reason", "kind"), [
    ("Executor killed by driver.", Removal.SCALED_DOWN),
    ("Container container_e1_1 exited from explicit termination request.", Removal.SCALED_DOWN),
    ("Executor decommission: spark scale down", Removal.SCALED_DOWN),
    ("Executor decommission finished: spark scale down", Removal.SCALED_DOWN),
    ("Executor decommission: Spot instance interruption", Removal.DECOMMISSIONED),
    ("Finished decommissioning", Removal.DECOMMISSIONED),
    ("Command exited with code 52", Removal.LOST),
    ("Executor heartbeat timed out after 130015 ms", Removal.LOST),
    ("Container killed by YARN for exceeding memory limits. 5.5 GB of 5.5 GB physical memory used.", Removal.LOST),
    ("Driver disassociated", Removal.ENDED),
    ("", Removal.UNKNOWN),
    (None, Removal.UNKNOWN),
])  # fmt: skip
def test_why_an_executor_went(reason: str | None, kind: Removal) -> None:
    assert removal(reason) is kind


def test_what_dynamic_allocation_ended_is_not_lost() -> None:
    lost = {"Reason": "ExecutorLostFailure", "Exit Caused By App": False}
    ends = [task_end(0, 0), task_end(0, 1, executor_id="1", reason=lost, failed=True), task_end(0, 2, executor_id="2", reason=lost, failed=True),
            task_end(0, 3, index=1), task_end(0, 4, index=2)]  # fmt: skip
    gone = [executor_gone("1", "Executor killed by driver."), executor_gone("2", "Command exited with code 137")]
    log = parsed(*one_stage(*ends, tasks=3)[:-1], *gone, application_end())
    assert [one.executor for one in log.executors.lost] == ["2"]
    assert (only(log).count(Outcome.FAILED), only(log).count(Outcome.KILLED)) == (1, 1)
    sentences = spark_sentences(log)
    assert [sentence for sentence in sentences if "was lost" in sentence] == ["Executor 2 was lost: Command exited with code 137"]


def test_where_half_of_the_ends_are_missing_each_figure_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    starts = [task_start(0, n) for n in range(8)]
    events = one_stage(*starts, *(task_end(0, n) for n in range(4)), tasks=8)
    log = parsed(*events)
    (row,) = rows = time_rows(log.stages)
    assert row.doubt == DoubtRow(started=8, known=4, left_out=0)
    (cells,) = stage_sheet(rows).rows
    assert cells[2] == "4 of 8"
    assert all(cell.startswith("≥") for cell in cells[3:11])
    (where,) = where_sheet(rows).rows
    assert (where[1], where[-1]) == ("≥ 4.00", "≥ 4.0")
    assert len(doubt_sentences(rows)) == 1
    path = write(tmp_path / "app-1", events)
    assert main(["show", "--spark-log", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["doubt"] == DoubtRow(started=8, known=4, left_out=0).written()
    out = printed(path, capsys)
    assert out.count(doubt_sentences(rows)[0][:40]) == 2  # below both tables


def test_ends_are_missing_also_where_no_start_is_there() -> None:
    assert only(parsed(*one_stage(task_end(0, 0), tasks=2))).doubt == Doubt(2, 1, 0)
    assert only(parsed(*one_stage(tasks=2))).doubt == Doubt(2, 0, 0)
    (row,) = time_rows(parsed(*one_stage(tasks=2)).stages)
    assert (row.seconds, row.cores_used, row.input_bytes) == (None, None, None)
    assert {*row.parts_s.values()} == {None}
    assert set(stage_sheet([row]).rows[0][3:]) == {NONE}


@pytest.mark.parametrize("seconds", [-1_700_000_000.0, -1.0], ids=["finish time 0", "before its launch"])
def test_times_that_cannot_be_are_left_out_and_counted(seconds: float) -> None:
    log = parsed(*one_stage(task_end(0, 0), task_end(0, 1), task_end(0, 2, seconds=seconds)))
    stage = only(log)
    assert (stage.done, stage.left_out, stage.doubt) == (2, 1, Doubt(3, 2, 1))
    assert cores_max(log.stages) == pytest.approx(2.0)
    assert len(doubt_sentences(time_rows(log.stages))) == 1


NAME = "etl [prod] [/daily] [bold]:fire:[red] \\[x]"


def test_a_name_is_printed_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = [log_start(), application(NAME), executor("0"), job(0, 0), task_end(0, 0), stage_end(0, 1) | {}, application_end()]
    events[5]["Stage Info"] |= {"Stage Name": NAME, "Failure Reason": NAME}
    out = printed(write(tmp_path / "app-1", events), capsys)
    assert out.count(NAME) == 5  # the head, two tables, and its failure with the stage's name


def test_a_reason_of_nothing_is_no_traceback() -> None:
    events = one_stage(task_end(0, 0))
    events[-3]["Stage Info"]["Failure Reason"] = "\n \n"
    log = parsed(*events[:-1], executor_gone("0", " "), application_end())
    assert spark_sentences(log)
