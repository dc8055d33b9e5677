"""Results of a rate that changes: each stretch of it, and all of it second by second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from hdrh.histogram import HdrHistogram

from hydrotest.analysis.measured import Measured
from hydrotest.analysis.statistics.latency import latency_ms
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests.profile import Profile as ProfileTest
from hydrotest.store.folder import RunFolder
from hydrotest.store.histograms import stretch_histograms
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial
from hydrotest.summary.base import Latency
from hydrotest.summary.profile import Profile, ProfileSecond, Stretch


def profile_rows(run: RunFolder, experiment: Experiment, trials: list[Trial]) -> list[Profile]:
    """One row for each profile. Seconds count from its start, rates are per second."""
    rows, tests = [], dict(experiment.tests_of(ProfileTest))
    for trial in trials:
        test = tests.get(trial.test)
        if trial.purpose == Purpose.PROFILE and trial.status == "done" and test is not None:
            measured = Measured.read(run, trial, test.workload)
            rows.append(Profile(trial=trial.number, workload=test.workload, errors=measured.errors, latency_includes_failed=measured.failed,
                         stretches=_stretches(test, measured), series=_series(test, measured)))  # fmt: skip
    return rows


def offered_at(test: ProfileTest, at_s: float) -> float:
    """The rate that is due at a moment; 0 outside the profile."""
    for stretch in test.stretches:
        if at_s < stretch.duration:
            return stretch.rate + (stretch.end_rate - stretch.rate) * max(0.0, at_s) / stretch.duration
        at_s -= stretch.duration
    return 0.0


def _in_flight_max(measured: Measured, begin_s: float, end_s: float) -> int | None:
    inside = measured.progress.between(measured.start_s + begin_s, measured.start_s + end_s).in_flight
    return round(inside.max()) if len(inside) else None


def _achieved(measured: Measured, begin_s: float, end_s: float) -> float | None:
    return measured.progress.rate(measured.start_s + begin_s, measured.start_s + end_s)


def _stretches(test: ProfileTest, measured: Measured) -> list[Stretch]:
    rows = []
    ends = list(accumulate((stretch.duration for stretch in test.stretches), initial=0.0))
    histograms = _histograms(measured, ends)
    for stretch, (begin, end), histogram in zip(test.stretches, pairwise(ends), histograms, strict=True):
        rows.append(Stretch(
            from_s=begin, to_s=end, rate=stretch.rate, end_rate=stretch.end_rate, offered=stretch.operations / stretch.duration,
            achieved=_achieved(measured, begin, end), in_flight_max=_in_flight_max(measured, begin, end), latency_ms=Latency.of(latency_ms(histogram)),
        ))  # fmt: skip
    return rows


def _histograms(measured: Measured, edges_s: Sequence[float]) -> Iterator[HdrHistogram]:
    """Response times between neighbours of some moments, seconds since the profile's start."""
    return stretch_histograms(measured.folder, measured.load.workload, "response", None, [measured.start_s + at for at in edges_s])


def _series(test: ProfileTest, measured: Measured) -> list[ProfileSecond]:
    rows = []
    for second, histogram in enumerate(_histograms(measured, range(int(test.duration) + 1))):
        latency = latency_ms(histogram) or {}
        rows.append(ProfileSecond(at_s=second + 0.5, offered=offered_at(test, second + 0.5), achieved=_achieved(measured, second, second + 1),
                     in_flight=_in_flight_max(measured, second, second + 1), p50_ms=latency.get("p50"), p99_ms=latency.get("p99")))  # fmt: skip
    return rows
