"""The coverage of an interval is counted: 95 of 100 hold the truth, in 930 to 970 of 1,000 seeded cases."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from hydrotest.analysis.by_test.soak import drift_pct, slope_per_hour
from hydrotest.analysis.statistics.intervals import (
    NOTHING,
    line_through,
    paired_change,
    percent,
    share_interval,
    slope_upper_bound,
    t_interval,
)

CASES = 1_000
HOLDS = range(930, 971)
Series = Callable[[np.random.Generator, int], np.ndarray]


def correlated(rho: float) -> Series:
    """Noise of first order whose neighbours are correlated by `rho`."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        noise = rng.normal(size=n)
        values = np.empty(n)
        values[0] = noise[0] / math.sqrt(1 - rho**2)
        for at in range(1, n):
            values[at] = rho * values[at - 1] + noise[at]
        return values

    return draw


def test_the_t_interval_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    intervals = [t_interval((5 + rng.normal(size=6)).tolist()) for _ in range(CASES)]
    assert sum(one.low <= 5 <= one.high for one in intervals) in HOLDS


def shares_held(n: int, parts: int, mean: float, alike: float) -> int:
    """Cases of `CASES` in which the interval of `n` shares holds their mean. Each is of so many parts, and has a probability of its
    own, that differs the more the lower `alike` is (a beta distribution)."""
    rng = np.random.default_rng(round(1000 * mean) + n + parts + round(alike))
    held = 0
    for _ in range(CASES):
        shares = rng.binomial(parts, rng.beta(mean * alike, (1 - mean) * alike, n)) / parts
        found = share_interval(shares.tolist(), parts)
        held += found.low <= mean <= found.high
    return held


@pytest.mark.parametrize("alike", [2, 10])
@pytest.mark.parametrize(("n", "parts"), [(100, 10), (100, 100), (300, 10)])
@pytest.mark.parametrize("mean", [0.5, 0.8, 0.9])
def test_the_interval_of_shares_covers_as_often_as_it_says(n: int, parts: int, mean: float, alike: float) -> None:
    assert shares_held(n, parts, mean, alike) in HOLDS


@pytest.mark.parametrize("alike", [2, 30, 1_000_000])
@pytest.mark.parametrize(("n", "parts"), [(20, 10), (100, 10), (300, 100)])
@pytest.mark.parametrize("mean", [0.95, 0.99, 0.998])
def test_the_interval_of_shares_covers_as_often_where_few_of_them_miss_anything(n: int, parts: int, mean: float, alike: float) -> None:
    assert shares_held(n, parts, mean, alike) >= HOLDS.start


def test_the_interval_of_shares_stays_between_none_and_all() -> None:
    assert share_interval([1.0], 10) == share_interval([1.0], 99)
    one, whole, none = share_interval([0.7], 10), share_interval([1.0] * 50, 10), share_interval([0.0] * 50, 10)
    assert (one.low, one.high) == (0.0, 1.0)
    assert (whole.value, whole.high) == (1.0, 1.0)
    assert (none.value, none.low) == (0.0, 0.0)
    assert 0.9 < whole.low < 1
    assert whole.low == pytest.approx(1 - none.high)


@pytest.mark.parametrize("n", [5, 10])
def test_the_interval_of_a_paired_change_covers_as_often_as_it_says(n: int) -> None:
    """Each pair's machine has a speed of its own, which both of its sides share."""
    rng = np.random.default_rng(n)
    held = 0
    for _ in range(CASES):
        before = 100 * rng.uniform(0.7, 1.3, n) * rng.lognormal(0, 0.1, n)
        after = before * 1.25 * rng.lognormal(0, 0.1, n)
        row = paired_change(list(zip(before.tolist(), after.tolist(), strict=True)))
        held += row.low_pct <= 25 <= row.high_pct
    assert held in HOLDS


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8, 0.9])
@pytest.mark.parametrize("n", [60, 120])
def test_a_trend_in_correlated_readings_is_covered_as_often_as_it_says(rho: float, n: int) -> None:
    rng = np.random.default_rng(round(1000 * rho) + n)
    draw, times = correlated(rho), [i / 10 for i in range(n)]
    within = above = 0
    for _ in range(CASES):
        values = (3.0 * np.asarray(times) + draw(rng, n)).tolist()
        line, upper = line_through(values), slope_upper_bound(times, values)
        assert line is not None
        assert upper is not None
        half = float(stats.t.ppf(0.975, line.freedom)) * line.error
        within += line.slope - half <= 0.3 <= line.slope + half
        above += upper >= 3.0
    assert within in HOLDS
    assert above in HOLDS


def test_a_drift_over_a_soak_is_covered_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    times = [(i + 0.5) * 15.0 for i in range(120)]
    held = 0
    for _ in range(CASES):
        values = 1_000 * (1 + 0.10 * (np.asarray(times) - 900) / 3600) + 20 * correlated(0.5)(rng, 120)
        drift = drift_pct(times, values.tolist())
        assert drift is not None
        held += drift.low <= 10 <= drift.high
    assert held in HOLDS


def test_a_growing_backlog_is_told_from_a_noisy_one() -> None:
    rng = np.random.default_rng(2)
    times = [i / 10 for i in range(50)]
    flat = (1000 + 100 * rng.normal(size=50)).tolist()
    growing = [value + 2000 * t for value, t in zip(flat, times, strict=True)]
    flat_bound, growing_bound = slope_upper_bound(times, flat), slope_upper_bound(times, growing)
    assert flat_bound is not None
    assert growing_bound is not None
    assert flat_bound < 100
    assert growing_bound > 1900
    assert slope_upper_bound([1.0], [2.0]) is None


def test_a_line_without_scatter_has_no_error() -> None:
    slope = slope_per_hour([float(at) for at in range(100)], [2.0 + at for at in range(100)])
    assert slope is not None
    assert (slope.per_hour, slope.low, slope.high) == pytest.approx((3600.0,) * 3)


def test_a_side_that_is_nothing_counts_as_nearly_nothing() -> None:
    row = paired_change([(100.0, 0.0)] * 5)
    assert (row.starved_pairs, row.n, row.significant) == (5, 5, True)
    assert row.change_pct == pytest.approx(percent(math.log(NOTHING)))
    some = paired_change([(100.0, 0.0)] * 3 + [(100.0, 101.0)] * 2)
    assert (some.starved_pairs, some.significant) == (3, True)
    once = paired_change([(100.0, 0.0)] + [(100.0, 101.0)] * 4)
    assert (once.starved_pairs, once.significant) == (1, False)
    assert paired_change([(0.0, 0.0)] * 2 + [(1.0, 1.0)] * 2).n == 2
