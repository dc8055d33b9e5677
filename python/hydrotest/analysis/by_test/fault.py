"""The effect of a service's absence: seconds without progress, seconds to catch up, latencies before, during
and after, integrity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from hydrotest.analysis.measured import Measured
from hydrotest.analysis.statistics.latency import latency_ms, window_histogram
from hydrotest.analysis.statistics.progress import Reading, stalls
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import FaultRecord, Outcome, Trial
from hydrotest.summary.base import Latency
from hydrotest.summary.fault import Fault, FaultPoint, FaultWorkload, Phases, Recovery

STALL_S_MIN = 0.25
"""No completion for at least this long is a stall; readings are a tenth of a second apart."""
STALL_OPERATIONS = 20
"""A stall also lasts at least as long as so many operations take at the offered rate: rare operations are not
stalled between two of them."""
CAUGHT_UP_S = 1.0
"""Backlog and rate must be back for this long."""
RATE_BACK = 0.95
"""Share of the rate before that counts as back."""
PAUSES = 1.5
"""Batches come with pauses: only so many times the longest pause before is a stall."""
BACKLOG_BACK = 2.0
"""So many times the largest backlog before still counts as back, since its own peaks differ."""


def recovery(progress: Sequence[Reading], struck_s: float, ready_s: float, in_batches: bool = False) -> Recovery | None:
    """Progress after the fault was injected at `struck_s`. None if nothing was completed before it, so that
    there is nothing to compare with. `in_batches`: progress comes with pauses, which are not stalls."""
    before = [reading for reading in progress if 0 <= reading.at_s <= struck_s]
    if len(before) < 2 or before[-1].completed <= before[0].completed:
        return None
    rate = (before[-1].completed - before[0].completed) / (before[-1].at_s - before[0].at_s)
    backlog = max(1, *(reading.in_flight for reading in before)) * BACKLOG_BACK
    after = [before[-1], *(reading for reading in progress if reading.at_s > struck_s)]
    pause = max((end - begin for begin, end in _stalls(before, 0.0)), default=0.0) * PAUSES if in_batches else 0.0
    found = _stalls(after, max(STALL_S_MIN, STALL_OPERATIONS / rate, pause))
    if not found and all(reading.in_flight <= backlog for reading in after) and _rate(after) >= RATE_BACK * rate:
        return Recovery(without_progress_s=0.0, longest_stall_s=0.0, recovered_s=0.0, caught_up_s=0.0)
    horizon = max(CAUGHT_UP_S, 2 * pause)
    at = _back(after, found[-1][1] if found else struck_s, rate * RATE_BACK, backlog, horizon, left=bool(found))
    lengths = [end - begin for begin, end in found]
    return Recovery(without_progress_s=sum(lengths), longest_stall_s=max(lengths, default=0.0), recovered_s=None if at is None else at - struck_s,
                    caught_up_s=None if at is None else max(0.0, at - ready_s))  # fmt: skip


def _rate(progress: Sequence[Reading]) -> float:
    seconds = progress[-1].at_s - progress[0].at_s
    return (progress[-1].completed - progress[0].completed) / seconds if seconds > 0 else 0.0


def _stalls(progress: Sequence[Reading], least_s: float) -> list[tuple[float, float]]:
    return stalls(np.array([one.at_s for one in progress]), np.array([one.completed for one in progress]), least_s)


def _back(progress: Sequence[Reading], from_s: float, rate: float, backlog: float, horizon_s: float, left: bool) -> float | None:
    """When backlog and rate, from some moment on, are as before and stay so for `horizon_s`. Unless they had
    `left` by then, they must first."""
    for index, reading in enumerate(progress):
        if reading.at_s < from_s:
            continue
        ahead = [other for other in progress[index:] if other.at_s <= reading.at_s + horizon_s]
        if ahead[-1].at_s < reading.at_s + horizon_s - 0.15:
            return None  # the window ends too early to know
        fine = all(other.in_flight <= backlog for other in ahead) and _rate(ahead) >= rate
        if fine and left:
            return reading.at_s
        left = left or not fine
    return None


def behind(progress: Sequence[Reading], rate: float) -> list[Reading]:
    """Progress with a consumer's true lag, which it knows only from a broker that answers. In flight is at
    least what it would have read by now at the rate at which the topic is written."""
    first = progress[0]
    return [r._replace(in_flight=max(r.in_flight, round(first.completed + rate * (r.at_s - first.at_s)) - r.completed)) for r in progress]


def readable_share(outcome: Outcome) -> float:
    """Share of the records written that a consumer was to read: a consumer of committed records skips aborted
    ones."""
    read, aborted = outcome.counts.completed, int(outcome.extra.get("aborted", 0))
    return read / (read + aborted) if aborted else 1.0


def fault_rows(run: RunFolder, trials: Sequence[Trial]) -> list[Fault]:
    """One row for each fault trial; times in seconds since its window began."""
    rows = []
    for trial in trials:
        if trial.fault is None or trial.status != "done":
            continue
        measured = [Measured.read(run, trial, load.workload) for load in trial.loads if load.outcome is not None]
        start = measured[0].start_s if measured else trial.prepared_wall_s
        fault = trial.fault
        rows.append(Fault(
            trial=trial.number, service=fault.service, action=fault.action, ended=fault.ended,
            struck_s=fault.struck_wall_s - start, back_s=fault.back_wall_s - start, ready_s=fault.ready_wall_s - start,
            seconds=trial.window_s, workloads=[_workload(m, fault) for m in measured],
        ))  # fmt: skip
    return rows


def _workload(measured: Measured, fault: FaultRecord) -> FaultWorkload:
    load, outcome = measured.load, measured.load.outcome
    assert outcome is not None
    start = measured.start_s
    struck, ready = fault.struck_wall_s - start, fault.ready_wall_s - start
    own = measured.progress
    if measured.source is not None:
        # Records in flight in all of a dataflow, not only in its last topic.
        own = own.behind(measured.source.progress)
    progress = [reading for reading in own.readings(start) if reading.at_s <= measured.end_s - start]
    # Groups report what they leave out together with markers of transactions, which nobody offers.
    knows_share = load.kind == "kafka-consume" or (load.kind == "kafka-group" and not outcome.counts.skipped)
    if knows_share and load.offered and progress:
        progress = behind(progress, load.offered * readable_share(outcome))
    found = recovery(progress, struck, ready, in_batches=measured.source is not None)
    # Histograms are a second wide: the second of the injection, or just before it, no longer counts as
    # before.
    before_s = start + max(0, math.floor(struck - STALL_S_MIN))
    normal = measured.end_s if found is None or found.recovered_s is None else start + math.ceil(struck + found.recovered_s)

    def between(begin_s: float, end_s: float) -> Latency | None:
        return Latency.of(latency_ms(window_histogram(measured.folder, load.workload, "response", None, begin_s, end_s)))

    return FaultWorkload(
        workload=load.workload, offered=load.offered, achieved=measured.achieved,
        recovery=found,
        latency_ms=Phases(before=between(start, before_s), during=between(before_s, normal), after=between(normal, measured.end_s)),
        latency_includes_failed=measured.failed, failed=sum(outcome.errors.values()), errors=outcome.errors, sent_again=outcome.extra.get("resent"),
        unanswered=outcome.unanswered, fates=load.fates,
        series=[FaultPoint(at_s=now.at_s, rate=(now.completed - before.completed) / (now.at_s - before.at_s), in_flight=now.in_flight)
                   for before, now in pairwise(progress[4::5]) if now.at_s > before.at_s],
    )  # fmt: skip
