"""A Spark application as a whole: its time with and without tasks, what to change and what that gains, two logs of it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from hydrotest.analysis.spark.application import application, common_s, execution_rows, gaps, job_rows, length_s, union
from hydrotest.analysis.spark.changes import WAVES, change_rows
from hydrotest.analysis.spark.compared import compared
from hydrotest.analysis.spark.event_fast import decoded
from hydrotest.analysis.spark.event_log import EventLog, parse_event_log
from hydrotest.analysis.spark.time_spent import makespan, time_rows, wall_shares_s
from hydrotest.cli.entry import main
from hydrotest.summary.event_log import ChangeKind
from tests.spark_log import BEGAN_MS, Event, application_end, environment, executor, log_start, stage_end, write
from tests.spark_log import application as begun

SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"


def job_start(number: int, at_s: float, *stages: int, query: int | None = None, name: str = "count at Etl.scala:7") -> Event:
    properties = {"callSite.short": name} | ({} if query is None else {"spark.sql.execution.id": str(query)})
    return {"Event": "SparkListenerJobStart", "Job ID": number, "Submission Time": BEGAN_MS + round(1000 * at_s), "Stage IDs": list(stages),
            "Stage Infos": [], "Properties": properties}  # fmt: skip


def job_over(number: int, at_s: float, failure: str | None = None) -> Event:
    result = (
        {"Result": "JobSucceeded"} if failure is None else {"Result": "JobFailed", "Exception": {"Message": failure, "Stack Trace": []}}
    )
    return {"Event": "SparkListenerJobEnd", "Job ID": number, "Completion Time": BEGAN_MS + round(1000 * at_s), "Job Result": result}


def query(number: int, from_s: float, to_s: float) -> list[Event]:
    return [
        {"Event": f"{SQL}Start", "executionId": number, "description": "save at Etl.scala:9", "time": BEGAN_MS + round(1000 * from_s)},
        {"Event": f"{SQL}End", "executionId": number, "time": BEGAN_MS + round(1000 * to_s), "errorMessage": ""},
    ]


def task(
    stage: int, task_id: int, from_s: float, to_s: float, *, data: int = 100, gc_s: float = 0.0, run_share: float = 1.0, **more: object
) -> Event:
    """A task's end; `run_share`: of its time, what its executor ran it."""
    info = {"Task ID": task_id, "Index": task_id, "Attempt": 0, "Launch Time": BEGAN_MS + round(1000 * from_s), "Executor ID": "0", "Host": "h",
            "Locality": "ANY", "Speculative": False, "Getting Result Time": 0, "Finish Time": BEGAN_MS + round(1000 * to_s), "Failed": False,
            "Killed": False}  # fmt: skip
    metrics = {"Executor Run Time": round(1000 * run_share * (to_s - from_s)), "Executor CPU Time": 0, "Executor Deserialize Time": 0,
               "Result Serialization Time": 0, "JVM GC Time": round(1000 * gc_s), "Disk Bytes Spilled": 0, "Memory Bytes Spilled": 0,
               "Peak Execution Memory": 4096, "Input Metrics": {"Bytes Read": data}, **more}  # fmt: skip
    return {"Event": "SparkListenerTaskEnd", "Stage ID": stage, "Stage Attempt ID": 0, "Task Type": "ResultTask", "Task End Reason": {"Reason": "Success"},
            "Task Info": info, "Task Executor Metrics": {"JVMHeapMemory": 1 << 30}, "Task Metrics": metrics}  # fmt: skip


def log_of(*events: Event) -> EventLog:
    whole = [log_start(), begun(), environment(spark_executor_memory="2g"), executor("0", 4), *events, application_end()]
    return parse_event_log(json.dumps(event, separators=(",", ":")) for event in whole)


def test_stretches_of_time() -> None:
    """Against a count of milliseconds."""
    rng = random.Random(4)
    for _ in range(200):
        ones, others = (
            [(begin := rng.randrange(100), begin + rng.randrange(1, 30)) for _ in range(rng.randrange(1, 12))] for _ in range(2)
        )
        ticks, other_ticks = ({tick for begin, end in spans for tick in range(begin, end)} for spans in (ones, others))
        first, second = union(np.array(ones, dtype=float)), union(np.array(others, dtype=float))
        assert length_s(first) == len(ticks)
        assert common_s(first, second) == len(ticks & other_ticks)
        assert length_s(gaps(first, 10, 90)) == len(set(range(10, 90)) - ticks)


def test_where_the_time_without_tasks_goes() -> None:
    """100 s: 10 before the first job; a job of 30 with tasks for 20; 15 until the next, 5 of them in its query; 25 with tasks; 20 after."""
    found = application(log_of(
        job_start(0, 10, 0), task(0, 1, 15, 30), task(0, 2, 20, 35), stage_end(0, 2), job_over(0, 40),
        *query(7, 50, 80), job_start(1, 55, 1, query=7), task(1, 3, 55, 80), stage_end(1, 1), job_over(1, 80),
    ))  # fmt: skip
    assert (found.seconds, found.with_tasks_s, found.without_tasks_s) == (100, 45, 55)
    assert (found.before_s, found.in_jobs_s, found.between_s, found.planning_s, found.after_s) == (10, 10, 15, 5, 20)


def test_parts_of_the_time_add_up() -> None:
    rng = random.Random(5)
    for _ in range(50):
        events, at = [], rng.uniform(0, 5)
        for number in range(rng.randrange(1, 6)):
            end = at + rng.uniform(0.1, 10)
            inside = sorted(rng.uniform(at, end) for _ in range(4))
            events += [job_start(number, at, number), task(number, 2 * number, inside[0], inside[1]), task(number, 2 * number + 1, inside[2], inside[3]),
                       stage_end(number, 2), job_over(number, end)]  # fmt: skip
            at = end + rng.uniform(-0.05, 5)
        found = application(log_of(*events))
        assert found.before_s is not None
        assert found.after_s is not None
        assert found.without_tasks_s == pytest.approx(found.before_s + found.in_jobs_s + found.between_s + found.after_s, abs=0.01)


def test_jobs_and_queries() -> None:
    log = log_of(*query(3, 0, 12), job_start(0, 1, 0, query=3), task(0, 1, 2, 6), stage_end(0, 1), job_over(0, 9),
                 job_start(1, 10, 1, query=3), task(1, 2, 10, 11), stage_end(1, 1), job_over(1, 11, "it broke"))  # fmt: skip
    first, second = jobs = job_rows(log)
    assert (first.name, first.execution, first.seconds, first.without_tasks_s, first.task_s) == ("count at Etl.scala:7", 3, 8, 4, 4)
    assert second.failure == "it broke"
    (one,) = execution_rows(log, jobs)
    assert (one.name, one.seconds, one.jobs, one.in_jobs_s, one.task_s) == ("save at Etl.scala:9", 12, 2, 9, 5)


def changes(*events: Event) -> dict[ChangeKind, float | None]:
    return {row.kind: row.gain_s for row in change_rows(log_of(*events))}


def stage_of(durations: list[float], slots: int = 4, **more: object) -> list[Event]:
    """Tasks on the slots in their order, as Spark lays them out."""
    free, events = [0.0] * slots, []
    for number, duration in enumerate(durations):
        at = free.index(min(free))
        own = {name: value[number] if isinstance(value, list) else value for name, value in more.items()}
        events.append(task(0, number, free[at], free[at] + duration, **own))  # type: ignore[arg-type]
        free[at] += duration
    return [job_start(0, 0, 0), *events, stage_end(0, len(durations)), job_over(0, max(free))]


def test_a_task_with_more_data_than_the_others() -> None:
    """15 tasks of 1 s, then one of 20 s with 20 times the data, on 4 slots: 23 s; evenly spread 35 ÷ 4."""
    found = changes(*stage_of([1.0] * 15 + [20.0], data=[100] * 15 + [2000]))
    assert ChangeKind.STRAGGLERS not in found
    assert found[ChangeKind.SKEW] == pytest.approx(23 - 35 / 4, abs=1.5)


def test_a_task_that_is_slow_with_as_much_data() -> None:
    """It would have ended after 2.5 medians, 5.5 s after the start instead of 23."""
    found = changes(*stage_of([1.0] * 15 + [20.0]))
    assert ChangeKind.SKEW not in found
    assert found[ChangeKind.STRAGGLERS] == pytest.approx(23 - 5.5, abs=0.1)


def test_too_few_tasks_and_too_small_ones() -> None:
    assert changes(*stage_of([10.0] * 5))[ChangeKind.MORE_TASKS] == pytest.approx(20 - 12.5, abs=0.9)
    small = changes(*stage_of([0.2] * 400, run_share=0.5))
    # Half of each is overhead: 40 s of work and twelve times 0.1 s remain on 4 slots.
    assert small[ChangeKind.FEWER_TASKS] == pytest.approx(20 - 10.3, abs=0.2)
    assert changes(*stage_of([1.0] * 120)).keys() <= {ChangeKind.DRIVER, ChangeKind.WITHIN_JOBS}


def test_garbage_collection_and_spilling() -> None:
    found = change_rows(log_of(*stage_of([1.0] * 120, gc_s=0.4, **{"Disk Bytes Spilled": 1000})))
    heap = next(row for row in found if row.kind is ChangeKind.HEAP)
    assert heap.is_bound
    assert heap.gain_s == pytest.approx(12, abs=0.1)
    assert next(row for row in found if row.kind is ChangeKind.SPILL).gain_s is None


def test_gains_are_those_of_another_layout() -> None:
    """What is left is between the work spread evenly, and that with one more piece at its end."""
    rng = random.Random(6)
    for _ in range(20):
        durations = [rng.uniform(0.8, 1.2) for _ in range(30)] + [rng.uniform(15, 40)]
        whole = makespan(durations, 4)
        events = stage_of(durations, data=[100] * 30 + [3000])
        gain = changes(*events)[ChangeKind.SKEW]
        assert gain is not None
        evenly = sum(durations) / 4
        assert 0.99 * evenly <= whole - gain <= 1.01 * evenly * (1 + 1 / WAVES)


def test_stages_share_the_time_in_which_they_run() -> None:
    """One alone for 10 s; then two at once for 10 s, with 3 cores and 1."""
    log = log_of(
        job_start(0, 0, 0), task(0, 1, 0, 10), job_start(1, 10, 1, 2), *(task(1, 10 + n, 10, 20) for n in range(3)), task(2, 20, 10, 20),
        stage_end(0, 1), stage_end(1, 3), stage_end(2, 1), job_over(0, 10), job_over(1, 20),
    )  # fmt: skip
    assert wall_shares_s(log.stages) == {(0, 0): 10, (1, 0): 7.5, (2, 0): 2.5}
    assert sum(row.share_s for row in time_rows(log.stages)) == application(log).with_tasks_s


def test_peaks_copies_and_what_was_in_vain() -> None:
    copy = task(0, 1, 0, 4) | {"Task End Reason": {"Reason": "TaskKilled"}}
    copy["Task Info"] |= {"Killed": True, "Speculative": True}
    log = log_of(job_start(0, 0, 0), task(0, 0, 0, 3), copy, stage_end(0, 1), job_over(0, 4))
    (row,) = time_rows(log.stages)
    assert (row.speculative_tasks, row.wasted_s, row.killed_tasks, row.peak_task_memory_bytes) == (1, 4, 1, 4096)
    assert log.executors.peak_bytes == {"0": {"JVMHeapMemory": 1 << 30}}
    assert log.executor_memory == "2g"


def two_logs() -> tuple[list[Event], list[Event]]:
    before = stage_of([1.0] * 15 + [20.0])
    after = stage_of([1.0] * 16)
    return before, after


def test_two_logs_of_one_application() -> None:
    before, after = (log_of(*events) for events in two_logs())
    both = compared(before, after)
    assert (both.before.task_s, both.after.task_s) == (35, 16)
    (row,) = both.stages
    assert row.before is not None
    assert row.after is not None
    assert (row.nth, row.before.share_s, row.after.share_s) == (1, 23, 4)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    for name, events in zip(("a", "b"), two_logs(), strict=True):
        whole = [log_start(), begun(), executor("0", 4), *events, application_end()]
        paths.append(str(write(tmp_path / name, whole)))
    assert main(["show", "--spark-log", paths[0]]) == 0
    assert "What to change" in capsys.readouterr().out
    assert main(["show", "--spark-log", paths[0], "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["time"]["seconds"] == 100
    assert {row["kind"] for row in shown["changes"]} >= {"stragglers"}
    assert main(["show", "--spark-log", paths[0], "--against", paths[1]]) == 0
    capsys.readouterr()
    assert main(["show", "--spark-log", paths[0], "--against", paths[1], "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["stages"]) == 1
    assert main(["show", "--spark-log", paths[0], "--against", str(tmp_path / "none")]) == 2


@pytest.mark.parametrize(
    "line", ['{"Event":"SparkListenerTaskEnd","Task Info":3}', "[1]", '{"Event":NaN}', '{"Event":"x","Stage Infos":[1]}', "17"]
)
def test_lines_of_another_shape_are_read_as_before(line: str) -> None:
    assert repr(decoded(line)) == repr(json.loads(line))


def test_what_is_not_needed_is_skipped() -> None:
    event = task(0, 1, 0, 1) | {"Accumulables": [{"ID": 1}]}
    event["Task Info"]["Accumulables"] = [{"ID": 2}]
    found = decoded(json.dumps(event))
    assert "Accumulables" not in found
    assert "Accumulables" not in found["Task Info"]


def test_stages_at_once_have_no_slots_to_gain() -> None:
    """Five tasks each on ten slots, both at once: 1,000 core-seconds on 10 slots take 100 s."""
    own = [executor("1", 6), job_start(0, 0, 0, 1), *(task(stage, 10 * stage + n, 0, 100) for stage in (0, 1) for n in range(5)),
           stage_end(0, 5), stage_end(1, 5), job_over(0, 100)]  # fmt: skip
    assert changes(*own).keys() <= {ChangeKind.DRIVER, ChangeKind.WITHIN_JOBS}


def test_executors_that_came_later_are_no_slots() -> None:
    """16 tasks of 10 s on 4 cores; 400 more come when it is over."""
    late = executor("1", 400) | {"Timestamp": BEGAN_MS + 50_000}
    own = [*stage_of([10.0] * 16), late, job_start(1, 60, 1), task(1, 99, 60, 61), stage_end(1, 1), job_over(1, 61)]
    assert ChangeKind.MORE_TASKS not in changes(*own)


def test_attempts_that_failed_may_have_cost_all_of_their_time() -> None:
    """Three that failed one after the other, for 10 s each."""
    failed = [task(0, n, 10 * n, 10 * n + 10) for n in range(3)]
    for one in failed:
        one["Task End Reason"] = {"Reason": "ExceptionFailure"}
        one["Task Info"] |= {"Failed": True}
    log = log_of(job_start(0, 0, 0), *failed, task(0, 3, 30, 40), stage_end(0, 1), job_over(0, 40))
    assert {row.kind: row.gain_s for row in change_rows(log)}[ChangeKind.FAILURES] == 30
    assert wall_shares_s(log.stages) == {(0, 0): 40}


def test_a_stage_that_was_tried_again_is_one_stage() -> None:
    again = task(0, 5, 12, 22) | {"Stage Attempt ID": 1}
    second = stage_end(0, 1)
    second["Stage Info"] |= {"Stage Attempt ID": 1, "Stage Name": "loop"}

    def named(number: int) -> Event:
        event = stage_end(number, 1)
        event["Stage Info"] |= {"Stage Name": "loop"}
        return event

    before = log_of(job_start(0, 0, 0, 1), task(0, 1, 0, 10), named(0), again, second, task(1, 2, 22, 42), named(1), job_over(0, 42))
    after = log_of(job_start(0, 0, 0, 1), task(0, 1, 0, 10), named(0), task(1, 2, 10, 30), named(1), job_over(0, 30))
    pairs = {row.nth: (row.before and row.before.share_s, row.after and row.after.share_s) for row in compared(before, after).stages}
    assert pairs == {1: (20, 10), 2: (20, 20)}


def test_the_last_event_is_the_end_of_a_log_without_one() -> None:
    events = [log_start(), begun(), job_start(0, 1, 0), task(0, 1, 2, 11), stage_end(0, 1), job_over(0, 11), job_start(1, 3600, 1)]
    log = parse_event_log(json.dumps(event) for event in events)
    assert application(log).seconds == 3600


def test_halves_of_characters_and_numbers_beyond_all_bounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps(one) for one in (log_start(), begun() | {"App Name": "odd \ud800"}, executor("0", 4), *stage_of([1.0, 1.0]))]
    lines.append('{"Event":"SparkListenerJobStart","Job ID":9,"Submission Time":NaN,"Stage IDs":[]}')
    lines.append('{"Event":"SparkListenerJobEnd","Job ID":9,"Completion Time":1e999}')
    lines.append('{"Event":"SparkListenerJobEnd","Job ID":9,"Completion Time":1' + "0" * 400 + "}")
    path = tmp_path / "log"
    path.write_text("\n".join(lines))
    assert main(["show", "--spark-log", str(path)]) == 0
    assert main(["show", "--spark-log", str(path), "--json"]) == 0
    assert "Infinity" not in capsys.readouterr().out


@pytest.mark.parametrize("cut", [30, 200, 500])
def test_an_end_that_is_cut_is_a_cut_log(cut: int) -> None:
    lines = [json.dumps(one) for one in (log_start(), begun(), executor("0", 4), *stage_of([1.0, 1.0])[:2])]
    log = parse_event_log([*lines, json.dumps(task(0, 9, 0, 1))[:cut]])
    assert [flaw.kind for flaw in log.flaws] == ["cut"]
    assert log.stages[0].done == 1


def test_the_order_of_an_events_fields_does_not_matter() -> None:
    end = task(0, 1, 0, 1)
    turned = json.dumps(dict(reversed(end.items())))
    whole = [json.dumps(log_start()), turned, json.dumps(stage_end(0, 1)), json.dumps(application_end())]
    assert parse_event_log(whole).stages[0].tasks == parse_event_log([whole[0], json.dumps(end), *whole[2:]]).stages[0].tasks != []
