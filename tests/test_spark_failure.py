"""Spark's words when it cannot go on, as real runs gave them (shortened), and what is made of them."""

from __future__ import annotations

import pytest

from hydrotest.analysis.spark.failure import first_line, in_brief, means

OUT_OF_MEMORY = """org.apache.spark.SparkException: Job aborted due to stage failure: Task 3 in stage 9.0 failed 4 times, most recent failure: \
Lost task 3.3 in stage 9.0 (TID 41) (10.85.0.3 executor 4): ExecutorLostFailure (executor 4 exited caused by one of the running tasks) Reason: \
Command exited with code 52
Driver stacktrace:
	at org.apache.spark.scheduler.DAGScheduler.$anonfun$abortStage$2(DAGScheduler.scala:3009)
"""


def test_an_executor_without_memory_is_told_with_its_host() -> None:
    told = in_brief(OUT_OF_MEMORY, {"10.85.0.3": "Spark02"})
    assert told.startswith("the heap of an executor of Spark02 was too small for one of its tasks: give the workers more `memory`")
    assert "DAGScheduler" not in told


@pytest.mark.parametrize(("said", "meaning"), [
    ("java.io.IOException: No space left on device", "the disk that shuffles and spills are written to is full"),
    ("java.lang.OutOfMemoryError: Java heap space\n\tat java.base/java.util.Arrays.copyOf", "the driver's heap was too small"),
    ("Reason: Command exited with code 137", "an executor was killed from outside"),
    ('java.io.IOException: Cannot run program "/nowhere/python3": error=2, No such file or directory', "there is no such Python"),
    ("java.lang.ClassNotFoundException: hydrotest.Missing", "a jar is missing"),
])  # fmt: skip
def test_causes_are_named(said: str, meaning: str) -> None:
    told = means(said)
    assert told is not None
    assert told.startswith(meaning)


def test_a_driver_without_memory_is_not_taken_for_an_executor_that_once_lost_a_task() -> None:
    told = means(EARLIER + "INFO all well\n" * 9 + "java.lang.OutOfMemoryError: Java heap space\n\tat java.base/java.util.Arrays.copyOf")
    assert told is not None
    assert told.startswith("the driver's heap was too small")


EARLIER = "WARN Lost task 1.0 in stage 3.0 (TID 5) (10.0.0.2 executor 0): FetchFailed\n"


@pytest.mark.parametrize("said", [
    "WARN Lost task 2.0 in stage 3.0 (TID 6) (10.0.0.3 executor 1): java.lang.OutOfMemoryError: Java heap space\n",
    "WARN Lost task 0.3 in stage 3.0 (TID 9) (10.0.0.3 executor 1): org.apache.spark.SparkException: [TASK_WRITE_FAILED] no\n"
    "\tat org.apache.spark.A.b(A.scala:1)\n\t... 3 more\nCaused by: java.lang.OutOfMemoryError: Java heap space\n",
    "ERROR Lost executor 1 on 10.0.0.3: Command exited with code 52\n",
], ids=["its task's", "a cause behind its task's", "its end"])  # fmt: skip
def test_the_executor_that_it_is_said_of_is_told_and_no_earlier_one(said: str) -> None:
    told = means(EARLIER + said, {"10.0.0.2": "one", "10.0.0.3": "two"})
    assert told is not None
    assert told.startswith("the heap of an executor of two was too small")


def test_threads_are_no_heap() -> None:
    assert means("java.lang.OutOfMemoryError: unable to create native thread") is None


def test_what_is_not_known_is_told_as_it_was_said() -> None:
    assert in_brief("its answer was wrong") == "its answer was wrong"
    assert len(in_brief("word " * 1000)) < 520


@pytest.mark.parametrize(("said", "line"), [(None, ""), ("", ""), (" \n\n", ""), ("\n what it was\n\tat x", "what it was")])
def test_the_first_line_that_says_something(said: str | None, line: str) -> None:
    assert first_line(said) == line
