"""A job that makes no progress is distinguished from a slow one."""

from __future__ import annotations

import pytest

from hydrotest.analysis.spark.watch import PATIENCE_S, STALL_S, Beat, JobWatch, StageBeat

MB = 1 << 20


def beat(at_s: float, done: int, tasks: int = 100, *, heap: float = 0.5, gc_s: float = 0.0, executors: int = 2, active: int = 4) -> Beat:
    stages = [StageBeat(stage=13, name="sortByKey at Test.java:60", tasks=tasks, done=done, active=active, failed=0)]
    return Beat(wall_s=at_s, heap_bytes=round(heap * 100 * MB), heap_max_bytes=100 * MB, gc_s=gc_s, executors=executors, stages=stages)


def watch(*beats: Beat, budget_s: float = 600.0) -> JobWatch:
    made = JobWatch(budget_s, 0.0)
    for one in beats:
        made.tell(one)
    return made


def test_progress_is_let_be() -> None:
    assert watch(*(beat(at, at * 2) for at in range(1, 45))).look(45.0) is None


def test_long_tasks_of_a_well_driver_are_let_be_for_a_while() -> None:
    slow = [beat(at, 3) for at in range(1, round(PATIENCE_S) - 5)]
    assert watch(*slow, budget_s=1e6).look(slow[-1].wall_s) is None
    slow = [beat(at, 3) for at in range(1, round(PATIENCE_S) + 5)]
    assert "no task has ended for" in str(watch(*slow, budget_s=1e6).look(slow[-1].wall_s))


def test_a_full_driver_is_named_within_a_minute() -> None:
    beats = [beat(at, 40, heap=0.97, gc_s=0.8 * at) for at in range(1, 31)]
    why = watch(*beats).look(30.0)
    assert why is not None
    assert "stage 13 (sortByKey at Test.java:60, 40 of 100 tasks done): no task has ended for 29 s" in why
    assert "the driver's heap is full (97% of 105 MB, 80% of the time in garbage collection)" in why
    assert "driver_memory" in why


def test_a_driver_that_falls_silent_is_named() -> None:
    assert "said nothing for 25 s" in str(watch().look(STALL_S))
    # A driver that waits for its executors reports nothing at first.
    assert JobWatch(1e6, 0.0, first_word_s=55.0).look(54.0) is None
    assert "said nothing for 55 s" in str(JobWatch(1e6, 0.0, first_word_s=55.0).look(55.0))
    assert watch().look(STALL_S - 1) is None
    found = watch(beat(1, 5)).look(1 + STALL_S)
    assert found is not None
    assert "stage 13" in found
    assert "said nothing" in found


def test_a_job_without_executors_is_named() -> None:
    beats = [beat(at, 0, executors=0, active=0) for at in range(1, 30)]
    assert "there is no executor" in str(watch(*beats).look(30.0))


def test_a_stage_that_would_pass_the_budget_is_named_before_it_does() -> None:
    found = watch(*(beat(at, at // 4, tasks=100_000) for at in range(1, 20)), budget_s=1800.0).look(20.0)
    assert found is not None
    assert "another" in found
    assert "the whole may take 30 min" in found
    assert "its driver is well" in found


def test_the_budget_ends_what_no_estimate_did() -> None:
    assert "it has taken the 10 s that it may" in str(watch(beat(1, 1), beat(9, 2), budget_s=10.0).look(10.5))


@pytest.mark.parametrize("tasks", [10, 1000])
def test_stages_that_follow_each_other_are_progress(tasks: int) -> None:
    made = JobWatch(1e6, 0.0)
    for at in range(1, 60):
        made.tell(Beat(wall_s=at, heap_bytes=99 * MB, heap_max_bytes=100 * MB, gc_s=0.9 * at, executors=1,
                       stages=[StageBeat(stage=at, name="x", tasks=tasks, done=0, active=1, failed=0)]))  # fmt: skip
    assert made.look(60.0) is None
