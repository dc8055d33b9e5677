"""Intervals: means from autocorrelated samples, the slope of a backlog."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scipy import stats


@dataclass(frozen=True)
class Mean:
    """A mean with its interval (95 %, if nothing else is said) and the number of independent values behind it."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]" if self.n > 1 else f"{self.value:.2f}"


def t_interval(values: Sequence[float], confidence: float = 0.95) -> Mean:
    """Student's t-interval of the mean of independent values. With one value the interval is unbounded."""
    if not values:
        raise ValueError("no values")
    return interval_with(values, *pooled_deviation([values]), confidence)


def pooled_deviation(groups: Sequence[Sequence[float]]) -> tuple[float, int]:
    """The standard deviation that groups of values have in common, whatever their means, and its degrees of freedom (Fisher's pooled variance). (0, 0) where no
    group has two values."""
    known = [group for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in known)
    if freedom == 0:
        return 0.0, 0
    squares = math.fsum((value - math.fsum(group) / len(group)) ** 2 for group in known for value in group)
    return math.sqrt(squares / freedom), freedom


def scatters_more(one: tuple[float, int], other: tuple[float, int], confidence: float = 0.99) -> bool:
    """True if a standard deviation (with its degrees of freedom) is surely above another: Fisher's F-test of variances, one-sided."""
    (own, own_freedom), (its, its_freedom) = one, other
    if not own_freedom or not its_freedom:
        return False
    return own**2 > float(stats.f.ppf(confidence, own_freedom, its_freedom)) * its**2


def interval_with(values: Sequence[float], deviation: float, freedom: int, confidence: float = 0.95) -> Mean:
    """Student's t-interval of the mean of values whose standard deviation is known from more than themselves; unbounded without degrees of freedom."""
    mean = math.fsum(values) / len(values)
    half = float(stats.t.ppf((1 + confidence) / 2, freedom)) * deviation / math.sqrt(len(values)) if freedom else math.inf
    return Mean(mean, mean - half, mean + half, len(values))


def batch_means(values: Sequence[float], batches: int = 10, confidence: float = 0.95) -> Mean:
    """Interval of the mean of autocorrelated values: means of consecutive batches are nearly independent
    (A. M. Law, "Simulation Modeling and Analysis", batch means)."""
    size = len(values) // batches
    if size < 1:
        return t_interval(values, confidence)
    means = [math.fsum(values[i * size : (i + 1) * size]) / size for i in range(batches)]
    return t_interval(means, confidence)


PAIRS_MIN = 5
SIGNIFICANCE = 0.05
CHANGE_MIN = 0.01
"""A smaller change is no finding, however sure: an open loop's achieved rate differs by parts in 10⁵."""


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive values."""
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def percent(log: float) -> float:
    """A relative change in percent, from its logarithm; what is beyond all measure is cut."""
    return math.expm1(min(log, 50.0)) * 100


def paired_change(pairs: Sequence[tuple[float, float]], family: int = 1) -> dict[str, Any]:
    """Change from the first to the second of each pair, in percent, with its 95 % interval: Student's t on log ratios.

    `significant` asks more than the interval: with `family` metrics looked at together, each is tested at 0.05 / `family`
    (Bonferroni), so that not one comparison in a few is "found" by chance; n ≥ 5 pairs; and a change of 1 %.
    """
    logs = [math.log(after / before) for before, after in pairs]
    mean = t_interval(logs)
    strict = t_interval(logs, 1 - SIGNIFICANCE / family)

    return {
        "change_pct": percent(mean.value), "low_pct": percent(mean.low), "high_pct": percent(mean.high), "n": len(pairs),
        "significant": len(pairs) >= PAIRS_MIN and (strict.low > 0 or strict.high < 0) and abs(mean.value) >= CHANGE_MIN,
    }  # fmt: skip


def slope_upper_bound(times_s: Sequence[float], values: Sequence[float], confidence: float = 0.95) -> float | None:
    """One-sided upper bound of the slope of `values` over time, in units a second, by least squares.

    None with fewer than three readings or no spread in time.
    """
    n = len(values)
    slope = slope_of(times_s, values)
    if n < 3 or slope is None:
        return None
    t_mean, v_mean = math.fsum(times_s) / n, math.fsum(values) / n
    spread = math.fsum((t - t_mean) ** 2 for t in times_s)
    residual = math.fsum((v - v_mean - slope * (t - t_mean)) ** 2 for t, v in zip(times_s, values, strict=True))
    error = math.sqrt(residual / (n - 2) / spread)
    return slope + float(stats.t.ppf(confidence, n - 2)) * error


def slope_of(times_s: Sequence[float], values: Sequence[float]) -> float | None:
    """The slope of `values` over time, in units a second, by least squares. None without spread in time."""
    if len(times_s) < 2 or min(times_s) == max(times_s):
        return None
    return statistics.linear_regression(times_s, values).slope
