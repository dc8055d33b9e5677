"""Drift and change points: found where they were planted, and nowhere else; whether a soak was held, in words."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrotest.analysis.by_test.soak import change_points, slope_per_hour, soak_rows
from hydrotest.report.soak import soak_sentences
from hydrotest.summary.soak import Drift, Soak, SoakWorkload
from tests.rows import a
from tests.synthetic import SyntheticRun


def noisy(level: float, n: int, noise: float, rng: random.Random) -> list[float]:
    return [level * rng.lognormvariate(0, noise) for _ in range(n)]


def test_a_planted_step_is_found_where_it_is() -> None:
    rng = random.Random(3)
    values = noisy(10, 60, 0.1, rng) + noisy(16, 60, 0.1, rng)
    found = change_points(values)
    assert len(found) == 1
    assert abs(found[0] - 60) <= 2


def test_noise_alone_has_few_change_points() -> None:
    found = sum(bool(change_points(noisy(10, 120, 0.2, random.Random(seed)))) for seed in range(25))
    assert found <= 4


def test_a_single_spike_is_no_change() -> None:
    values = noisy(10, 120, 0.05, random.Random(1))
    values[50] = 200.0
    assert all(abs(at - 50) <= 5 for at in change_points(values))


def test_too_short_a_series_has_none() -> None:
    assert change_points([1.0] * 5 + [9.0] * 4) == []
    assert change_points([0.0] * 50) == []


@given(st.floats(-5, 5), st.integers(0, 1000))
def test_a_planted_slope_lies_in_its_interval(per_hour: float, seed: int) -> None:
    rng = random.Random(seed)
    times = [i * 30.0 for i in range(120)]
    values = [per_hour * t / 3600 + rng.gauss(0, 0.01) for t in times]
    slope = slope_per_hour(times, values)
    assert slope is not None
    # Ten batches of a normal noise: an interval of five times the width holds it as good as always.
    half = (slope.high - slope.low) / 2
    assert abs(slope.per_hour - per_hour) <= 5 * half + 1e-9


def test_too_few_readings_have_no_slope() -> None:
    assert slope_per_hour([0.0, 1.0], [1.0, 2.0]) is None


def test_a_level_line_is_not_sure_to_rise() -> None:
    rng = random.Random(8)
    sure = 0
    for _ in range(200):
        slope = slope_per_hour([float(i) for i in range(100)], [math.log(10) + rng.gauss(0, 0.1) for _ in range(100)])
        assert slope is not None
        sure += slope.is_sure
    assert sure <= 25  # 5 % of 200 expected


def test_a_line_without_any_scatter_is_level() -> None:
    slope = slope_per_hour([float(at) for at in range(100)], [3_000.0] * 100)
    assert slope is not None
    assert (slope.per_hour, slope.low, slope.high, slope.is_sure) == (0.0, 0.0, 0.0, False)


def soak_of(run: SyntheticRun, **trial: Any) -> SoakWorkload:
    """The row of one soak of the workload."""
    soak = run.trial("soak", 5_000, **trial)
    (row,) = soak_rows(run.folder, run.experiment, [soak])
    (load,) = row.workloads
    return load


def drift_of(load: SoakWorkload) -> Drift:
    """Of what was achieved."""
    drift = load.drift_pct["achieved"]
    assert drift is not None
    return drift


def test_a_stall_shows_where_it_is_in_what_was_achieved(tmp_path: Path) -> None:
    """Operations are filed under the second in which they were due, however late they were answered: counted there, nothing ever stalls."""
    load = soak_of(SyntheticRun(tmp_path), seconds=241, stall=(101.0, 121.0))
    rates = {bucket.at_s: bucket.achieved or 0.0 for bucket in load.buckets}
    assert [at for at, achieved in rates.items() if achieved < 100] == [float(at) for at in range(101, 121, 2)]
    assert rates[99.0] == pytest.approx(5_000, rel=0.01)
    # What had waited is worked off behind it, as fast as the system can.
    assert rates[123.0] == pytest.approx(10_000, rel=0.01)
    (stall,) = load.stalls or []
    assert stall.at_s == pytest.approx(100, abs=0.2)
    assert stall.seconds == pytest.approx(20, abs=0.3)
    assert min(load.missed_at_s) == pytest.approx(101)


def test_a_level_that_is_held_has_no_stall_no_drift_and_no_change(tmp_path: Path) -> None:
    load = soak_of(SyntheticRun(tmp_path), seconds=241)
    assert load.accepted
    assert (load.stalls, load.changes, load.missed_at_s) == ([], [], [])
    assert all(bucket.achieved == pytest.approx(5_000, rel=0.01) for bucket in load.buckets)
    assert not drift_of(load).sure


def test_a_system_that_gets_slower_drifts(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path, limit=5_000)
    run.decline_per_s = 4.0
    load = soak_of(run, seconds=241)
    assert drift_of(load).sure
    assert drift_of(load).high < 0


def soaked(accepted: bool | None, reasons: list[str], missed_at_s: list[float]) -> list[Soak]:
    load = {"workload": "ingest", "offered": 5_000.0, "accepted": accepted, "reasons": reasons, "missed_at_s": missed_at_s, "buckets": [{}] * 120}  # fmt: skip
    return [a(Soak, seconds=2_700, workloads=[load])]


def test_a_soak_says_whether_it_was_held_and_does_not_hide_bad_minutes() -> None:
    (held,) = soak_sentences(soaked(True, [], []))
    assert held.startswith("Soak of 45 min: ingest at 5,000/s was held; no drift")
    (hidden,) = soak_sentences(soaked(True, [], [90.0, 112.5]))
    assert "was held, but 2 of 120 stretches missed its latency, first after 1.5 min" in hidden
    (missed,) = soak_sentences(soaked(False, ["p99 response 80.0 ms (at most 50 ms)"], []))
    assert "was not held: p99 response 80.0 ms (at most 50 ms);" in missed
    (unjudged,) = soak_sentences(soaked(None, [], []))
    assert "held" not in unjudged
