"""Tasks in columns are the same tasks, and their figures the same as one by one."""

from __future__ import annotations

import gc
import statistics
import weakref
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrotest.analysis.spark.task_table import (
    DURATION,
    FIGURES,
    Outcome,
    Task,
    TaskTable,
    largest_of_known,
    median_of,
    sum_of_known,
    summed,
)
from hydrotest.analysis.spark.tasks import Group, Stage

SECONDS = st.floats(0.001, 1e6)
BYTES = st.integers(0, 1 << 40)
TASKS = st.lists(
    st.builds(
        Task, launched_s=SECONDS, finished_s=SECONDS, outcome=st.sampled_from(Outcome), host=st.sampled_from([None, "", "a", "b"]),
        locality=st.sampled_from([None, "ANY", "NODE_LOCAL"]), index=st.none() | st.integers(0, 5), run_s=st.none() | SECONDS,
        gc_s=st.none() | SECONDS, input_bytes=st.none() | BYTES, spill_bytes=st.just(0), is_speculative=st.booleans(),
        executor=st.none() | st.sampled_from(["1", "2"]),
    ),
    max_size=20,
)  # fmt: skip


@given(TASKS)
def test_a_table_has_the_tasks_that_it_was_made_of(tasks: list[Task]) -> None:
    table = TaskTable.of(tasks)
    assert list(table) == tasks
    assert table == tasks
    assert tasks == table
    assert [table[at] for at in range(-len(tasks), len(tasks))] == tasks + tasks
    assert table[1:7:2] == tasks[1:7:2]
    assert TaskTable.of(table) is table
    assert table != [*tasks, "another"]


@given(TASKS)
def test_figures_are_those_of_the_tasks_one_by_one(tasks: list[Task]) -> None:
    table = TaskTable.of(tasks)
    for name in (*FIGURES, DURATION):
        known = [value for task in tasks if (value := getattr(task, name)) is not None]
        assert sum_of_known(table.figure(name)) == (sum(known) if known else None)
        assert largest_of_known(table.figure(name)) == max(known, default=None)
    if tasks:
        assert median_of(table.figure(DURATION)) == statistics.median(task.duration_s for task in tasks)
        assert median_of(np.arange(len(tasks))) == statistics.median(range(len(tasks)))
    assert table.done == [task for task in tasks if task.outcome is Outcome.DONE]
    assert table.done.by_launch == sorted(table.done, key=lambda task: task.launched_s)
    assert table.outcomes == {outcome: sum(task.outcome is outcome for task in tasks) for outcome in Outcome}
    assert table.speculative == sum(task.is_speculative for task in tasks)
    assert table.different == len({task.index for task in tasks} - {None}) + sum(task.index is None for task in tasks)


@given(TASKS, TASKS)
def test_tasks_are_counted_in_the_order_in_which_their_places_occur(first: list[Task], second: list[Task]) -> None:
    group = Group([Stage(1, tasks=first), Stage(2, tasks=second)])
    hosts = Counter(task.host or "null" for task in [*first, *second])
    assert list(group.tasks_by_host.items()) == list(hosts.items())
    localities = Counter(task.locality for task in first if task.locality is not None)
    assert list(group.stages[0].localities.items()) == list(localities.items())


def test_a_sum_does_not_depend_on_where_its_columns_are_cut() -> None:
    values = [0.1 * at for at in range(1000)]
    column = np.array(values)
    assert summed([column]) == summed([column[:7], column[7:300], column[300:]]) == sum(values)


def test_what_follows_from_the_figures_is_calculated_once_for_all() -> None:
    table = TaskTable.of([Task(0.0, float(at), Outcome.DONE if at % 2 else Outcome.FAILED, None, None) for at in range(1, 10)])
    asked: list[int] = []

    def doubled(tasks: TaskTable) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
        asked.append(len(tasks))
        return {"doubled": 2 * tasks.figure(DURATION)}

    assert table.done.derived(doubled)["doubled"].tolist() == [2, 6, 10, 14, 18]
    assert table.derived(doubled)["doubled"].tolist() == [2.0 * at for at in range(1, 10)]
    assert asked == [9]


def test_numbers_that_are_whole_stay_so() -> None:
    (task,) = TaskTable.of([Task(1.0, 2.0, Outcome.DONE, None, None, index=3, input_bytes=4)])
    assert (repr(task.index), repr(task.input_bytes), task.run_s, task.duration_s) == ("3", "4", None, 1.0)


@pytest.mark.parametrize("last", [Outcome.DONE, Outcome.FAILED])
def test_a_table_that_nobody_holds_is_gone(last: Outcome) -> None:
    table = TaskTable.of([Task(2.0, 3.0, Outcome.DONE, None, None), Task(1.0, 2.0, last, None, None)])
    assert table.done.by_launch.different == len(table.done)
    held = weakref.ref(table)
    gc.disable()
    try:
        del table
        assert held() is None
    finally:
        gc.enable()
