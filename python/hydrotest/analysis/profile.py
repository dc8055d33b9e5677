"""What a rate that changes showed: each stretch of it, and all of it second by second."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from hdrh.histogram import HdrHistogram

from hydrotest.analysis.fault import Reading, readings
from hydrotest.analysis.latency import latency_ms, window_histogram
from hydrotest.analysis.measured import Measured
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests import Profile
from hydrotest.store.folder import RunFolder
from hydrotest.store.histograms import empty, read_logs
from hydrotest.store.records import Trial


def profile_rows(run: RunFolder, experiment: Experiment, trials: list[Trial]) -> list[dict[str, Any]]:
    """One row for each profile. Seconds count from its beginning, rates are a second."""
    rows = []
    for trial in trials:
        test = experiment.tests[trial.test]
        if trial.purpose == "profile" and trial.status == "done" and isinstance(test, Profile):
            measured = Measured.read(run, trial, test.workload)
            progress = readings(measured.seconds, measured.start_s)
            rows.append({"trial": trial.number, "workload": test.workload, "errors": measured.errors,
                         "stretches": _stretches(test, measured, progress), "series": _series(test, measured, progress)})  # fmt: skip
    return rows


def offered_at(test: Profile, at_s: float) -> float:
    """The rate that is due at a moment; 0 outside the profile."""
    for stretch in test.stretches:
        if at_s < stretch.duration:
            return stretch.rate + (stretch.end_rate - stretch.rate) * max(0.0, at_s) / stretch.duration
        at_s -= stretch.duration
    return 0.0


def achieved(progress: Sequence[Reading], begin_s: float, end_s: float) -> float | None:
    """Operations completed a second between two moments; None if there are no two readings."""
    if not progress:
        return None
    moments = [reading.at_s for reading in progress]
    first, last = (min(bisect_left(moments, at - 0.05), len(moments) - 1) for at in (begin_s, end_s))
    if last <= first:
        return None
    a, b = progress[first], progress[last]
    return (b.completed - a.completed) / (b.at_s - a.at_s)


def _stretches(test: Profile, measured: Measured, progress: Sequence[Reading]) -> list[dict[str, Any]]:
    rows = []
    begin = 0.0
    for stretch in test.stretches:
        end = begin + stretch.duration
        inside = [reading.in_flight for reading in progress if begin < reading.at_s <= end]
        histogram = window_histogram(
            measured.folder, measured.load.workload, "response", None, measured.start_s + begin, measured.start_s + end
        )
        rows.append({
            "from_s": begin, "to_s": end, "rate": stretch.rate, "end_rate": stretch.end_rate, "offered": stretch.operations / stretch.duration,
            "achieved": achieved(progress, begin, end), "in_flight_max": max(inside, default=None), "latency_ms": latency_ms(histogram),
        })  # fmt: skip
        begin = end
    return rows


def _series(test: Profile, measured: Measured, progress: Sequence[Reading]) -> list[dict[str, Any]]:
    histograms: dict[int, HdrHistogram] = {}
    for interval in read_logs(measured.folder, measured.load.workload, "response"):
        if interval.op is None:
            histograms.setdefault(round(interval.start_wall_s - measured.start_s), empty()).add(interval.histogram)
    rows = []
    for second in range(int(test.duration)):
        latency = (latency_ms(histograms[second]) if second in histograms else None) or {}
        in_flight = [reading.in_flight for reading in progress if second < reading.at_s <= second + 1]
        rows.append({"at_s": second + 0.5, "offered": offered_at(test, second + 0.5), "achieved": achieved(progress, second, second + 1),
                     "in_flight": max(in_flight, default=None), "p50_ms": latency.get("p50"), "p99_ms": latency.get("p99")})  # fmt: skip
    return rows
