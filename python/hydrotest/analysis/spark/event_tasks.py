"""A task from its end in an event log."""

from __future__ import annotations

from hydrotest.analysis.spark.event_fields import Fields, is_true, number, seconds, section, text, whole
from hydrotest.analysis.spark.tasks import Outcome, Task

KILLED = ("TaskKilled", "TaskCommitDenied")
"""Reasons of ends that are not failures, as in Spark's own UI (AppStatusListener.onTaskEnd): another attempt
was faster."""


def outcome_of(info: Fields, reason: str | None) -> Outcome:
    """How a task ended. Spark 1 marks killed tasks by their reason only."""
    if is_true(info, "Killed") or reason in KILLED:
        return Outcome.KILLED
    return Outcome.FAILED if is_true(info, "Failed") or reason not in (None, "Success") else Outcome.DONE


def task_of(info: Fields, metrics: Fields | None, outcome: Outcome) -> Task | None:
    """A task; None if its times are impossible: missing, 0, or its end before its launch."""
    launched, finished = number(info, "Launch Time"), number(info, "Finish Time")
    if not launched or not finished or not 0 < launched <= finished:
        return None
    launched_s, finished_s = launched / 1e3, finished / 1e3
    plain = (launched_s, finished_s, outcome, text(info, "Host"), text(info, "Locality"), whole(info, "Index"))
    is_speculative, executor = is_true(info, "Speculative"), text(info, "Executor ID")
    if not metrics:  # it was killed before it began
        return Task(*plain, is_speculative=is_speculative, executor=executor)
    read, write = section(metrics, "Shuffle Read Metrics") or {}, section(metrics, "Shuffle Write Metrics") or {}
    got_s = seconds(info, "Getting Result Time", 1e3)
    getting_s = max(0.0, finished_s - got_s) if got_s else 0.0
    run_s, deserialise_s, serialise_s = (
        seconds(metrics, f"{what} Time", 1e3) for what in ("Executor Run", "Executor Deserialize", "Result Serialization")
    )
    own_s = None if run_s is None else run_s + (deserialise_s or 0.0) + (serialise_s or 0.0)
    remote, local = whole(read, "Remote Bytes Read"), whole(read, "Local Bytes Read")
    return Task(
        *plain,
        run_s=run_s,
        cpu_s=seconds(metrics, "Executor CPU Time", 1e9),
        gc_s=seconds(metrics, "JVM GC Time", 1e3),
        deserialise_s=deserialise_s,
        serialise_s=serialise_s,
        scheduler_delay_s=None if own_s is None else max(0.0, finished_s - launched_s - own_s - getting_s),
        getting_result_s=getting_s,
        fetch_wait_s=seconds(read, "Fetch Wait Time", 1e3),
        shuffle_write_s=seconds(write, "Shuffle Write Time", 1e9),
        input_bytes=whole(section(metrics, "Input Metrics") or {}, "Bytes Read"),
        output_bytes=whole(section(metrics, "Output Metrics") or {}, "Bytes Written"),
        shuffle_read_bytes=None if remote is None or local is None else remote + local,
        remote_bytes=remote,
        remote_blocks=whole(read, "Remote Blocks Fetched"),
        local_blocks=whole(read, "Local Blocks Fetched"),
        shuffle_write_bytes=whole(write, "Shuffle Bytes Written"),
        spill_bytes=whole(metrics, "Disk Bytes Spilled"),
        memory_spill_bytes=whole(metrics, "Memory Bytes Spilled"),
        result_bytes=whole(metrics, "Result Size"),
        peak_memory_bytes=whole(metrics, "Peak Execution Memory"),
        is_speculative=is_speculative,
        executor=executor,
    )
