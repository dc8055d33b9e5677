"""A task from its end in an event log."""

from __future__ import annotations

import sys

from hydrotest.analysis.spark.event_fast import TaskEnd
from hydrotest.analysis.spark.event_fields import NUMBER_MAX
from hydrotest.analysis.spark.tasks import Outcome, Task

KILLED = ("TaskKilled", "TaskCommitDenied")
"""Reasons of ends that are not failures, as in Spark's own UI (AppStatusListener.onTaskEnd): another attempt
was faster."""


def outcome_of(end: TaskEnd) -> Outcome:
    """How a task ended. Spark 1 marks killed tasks by their reason only."""
    info, reason = end.info, end.reason.reason if end.reason is not None else None
    if info.killed is True or reason in KILLED:
        return Outcome.KILLED
    return Outcome.FAILED if info.failed is True or reason not in (None, "Success") else Outcome.DONE


def task_of(end: TaskEnd) -> Task | None:
    """A task; None if its times are impossible: missing, 0, or its end before its launch."""
    info, metrics = end.info, end.metrics
    launched, finished = info.launched, info.finished
    if not launched or not finished or not 0 < launched <= finished < NUMBER_MAX:
        return None
    launched_s, finished_s = launched / 1e3, finished / 1e3
    plain = (launched_s, finished_s, outcome_of(end), _shared(info.host), _shared(info.locality), info.index)
    is_speculative, executor = info.speculative is True, _shared(info.executor)
    if metrics is None or metrics.is_empty:  # it was killed before it began
        return Task(*plain, is_speculative=is_speculative, executor=executor)
    read, write = metrics.read, metrics.write
    got_s = _seconds(info.got_result, 1e3)
    getting_s = max(0.0, finished_s - got_s) if got_s else 0.0
    run_s, deserialise_s, serialise_s = _seconds(metrics.run, 1e3), _seconds(metrics.deserialise, 1e3), _seconds(metrics.serialise, 1e3)
    own_s = None if run_s is None else run_s + (deserialise_s or 0.0) + (serialise_s or 0.0)
    remote, local = (read.remote_bytes, read.local_bytes) if read is not None else (None, None)
    return Task(
        *plain,
        run_s=run_s,
        cpu_s=_seconds(metrics.cpu, 1e9),
        gc_s=_seconds(metrics.gc, 1e3),
        deserialise_s=deserialise_s,
        serialise_s=serialise_s,
        scheduler_delay_s=None if own_s is None else max(0.0, finished_s - launched_s - own_s - getting_s),
        getting_result_s=getting_s,
        fetch_wait_s=_seconds(read.wait, 1e3) if read is not None else None,
        shuffle_write_s=_seconds(write.time, 1e9) if write is not None else None,
        input_bytes=metrics.input.bytes if metrics.input is not None else None,
        output_bytes=metrics.output.bytes if metrics.output is not None else None,
        shuffle_read_bytes=None if remote is None or local is None else remote + local,
        remote_bytes=remote,
        remote_blocks=read.remote_blocks if read is not None else None,
        local_blocks=read.local_blocks if read is not None else None,
        shuffle_write_bytes=write.bytes if write is not None else None,
        spill_bytes=metrics.spilled,
        memory_spill_bytes=metrics.memory_spilled,
        result_bytes=metrics.result,
        peak_memory_bytes=metrics.peak,
        is_speculative=is_speculative,
        executor=executor,
    )


def _seconds(value: float | None, per_second: float) -> float | None:
    # Most times are zero: one object for all of them saves a third of a large log's memory.
    return value / per_second if value else None if value is None else 0.0


def _shared(text: str | None) -> str | None:
    """Equal texts share one object, since tasks repeat a few hosts."""
    return sys.intern(text) if text is not None else None
