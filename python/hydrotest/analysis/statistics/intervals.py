"""Intervals: means, paired changes, the trend of autocorrelated readings."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special  # the functions behind scipy.stats, whose import alone takes half a second of CPU

from hydrotest.summary.together import Change
from hydrotest.verdicts.figures import Mean


def t_interval(values: Sequence[float], confidence: float = 0.95) -> Mean:
    """Student's t-interval of the mean of independent values. With one value the interval is unbounded."""
    if not values:
        raise ValueError("no values")
    return interval_with(values, *pooled_deviation([values]), confidence)


def pooled_deviation(groups: Sequence[Sequence[float]]) -> tuple[float, int]:
    """The standard deviation that groups of values have in common, whatever their means, and its degrees of
    freedom (Fisher's pooled variance). (0, 0) if no group has two values."""
    known = [group for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in known)
    if freedom == 0:
        return 0.0, 0
    squares = math.fsum((value - math.fsum(group) / len(group)) ** 2 for group in known for value in group)
    return math.sqrt(squares / freedom), freedom


def scatters_more(one: tuple[float, int], other: tuple[float, int], confidence: float = 0.99) -> bool:
    """True if a standard deviation (with its degrees of freedom) is significantly above another: Fisher's
    F-test of variances, one-sided."""
    (own, own_freedom), (its, its_freedom) = one, other
    if not own_freedom or not its_freedom:
        return False
    return own**2 > float(special.fdtri(own_freedom, its_freedom, confidence)) * its**2


def interval_with(values: Sequence[float], deviation: float, freedom: int, confidence: float = 0.95) -> Mean:
    """Student's t-interval of the mean of values whose standard deviation is known from more than themselves;
    unbounded without degrees of freedom."""
    mean = math.fsum(values) / len(values)
    half = float(special.stdtrit(freedom, (1 + confidence) / 2)) * deviation / math.sqrt(len(values)) if freedom else math.inf
    return Mean(mean, mean - half, mean + half, len(values))


SHARES_MIN = 10
"""Of fewer shares that are not whole, how much they differ is not known."""


def share_interval(shares: Sequence[float], parts: float, confidence: float = 0.95) -> Mean:
    """The mean of independent shares, each 0 to 1 and of so many parts, with its interval: E. B. Wilson's (1927) for as many
    independent parts as scatter like the shares do, with Student's t (as of surveys in clusters: C. Franco et al.,
    "Comparative Study of Confidence Intervals for Proportions in Complex Sample Surveys", 2019).

    Where few shares miss anything, the largest deviation counts up to twice: those that miss much are rare, and there may be more. Where
    fewer than `SHARES_MIN` miss anything, or hold anything, each counts as one part, whatever it is made of; such an interval holds the
    truth more often than it says.
    """
    n = len(shares)
    mean = math.fsum(shares) / n
    if n < 2:
        return Mean(mean, 0.0, 1.0, n)
    squares = [(share - mean) ** 2 for share in shares]
    telling = min(sum(share < 1 for share in shares), sum(share > 0 for share in shares))
    size: float = n
    if telling >= SHARES_MIN and max(squares) > 0:
        variance = (math.fsum(squares) + min(1, 2 * SHARES_MIN / telling) * max(squares)) / (n - 1)
        size = min(max(mean * (1 - mean) / (variance / n), n), n * parts)
    z = float(special.stdtrit(n - 1, (1 + confidence) / 2))
    middle = (mean + z**2 / (2 * size)) / (1 + z**2 / size)
    half = z * math.sqrt(mean * (1 - mean) / size + (z / (2 * size)) ** 2) / (1 + z**2 / size)
    return Mean(mean, max(0.0, middle - half), min(1.0, middle + half), n)


PAIRS_MIN = 5
SIGNIFICANCE = 0.05
CHANGE_MIN = 0.01
"""A smaller change is not reported, however significant: an open loop's achieved rate differs by parts in
10⁵."""
NOTHING = 1e-3
"""Replaces zero in a ratio, as a share of the other value: zero has no logarithm."""


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of positive values; the plain mean if one is zero."""
    if min(values) <= 0:
        return math.fsum(values) / len(values)
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def log_ratio(before: float, after: float) -> float:
    """The logarithm of a change, neither value negative nor both zero; a zero counts as `NOTHING` of the
    other."""
    return math.log(max(after, NOTHING * before) / max(before, NOTHING * after))


def percent(log: float) -> float:
    """A relative change in percent, from its logarithm; extreme values are cut."""
    return math.expm1(min(log, 50.0)) * 100


def paired_change(pairs: Sequence[tuple[float, float]], family: int = 1) -> Change:
    """Change from the first to the second of each pair, in percent, with its 95 % interval: Student's t on
    log ratios.

    `significant` needs more than the interval. With `family` metrics compared together, each is tested at
    0.05 / `family` (Bonferroni), so that chance does not "find" one in a few. It also needs n ≥ 5 pairs, and
    a change of 1 %.

    A side that is zero counts as `NOTHING` of the other; `starved_pairs` are those whose second is zero. If
    most are, the change is significant, whatever the interval: logarithms of something and of nothing scatter
    too much for one. Pairs of two zeros show nothing.
    """
    known = [(before, after) for before, after in pairs if before > 0 or after > 0]
    logs = [log_ratio(before, after) for before, after in known]
    starved = sum(after <= 0 for _, after in known)
    mean = t_interval(logs)
    strict = t_interval(logs, 1 - SIGNIFICANCE / family)
    is_sure = len(known) >= PAIRS_MIN and (strict.low > 0 or strict.high < 0) and abs(mean.value) >= CHANGE_MIN

    return Change(
        change_pct=percent(mean.value), low_pct=percent(mean.low), high_pct=percent(mean.high), n=len(known),
        significant=is_sure or starved * 2 > len(known), starved_pairs=starved,
    )  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A straight line through readings at equal steps: its slope (units per step), the slope's error, and its
    degrees of freedom."""

    slope: float
    error: float
    freedom: float


READINGS_MIN = 5
RHO_MAX = 0.98
"""Above it a series of seconds cannot be distinguished from one that never returns to its mean."""
RHO_MARGIN = 0.25
"""The autocorrelation is taken to be higher by so many of its standard errors. Too low a value makes
intervals too narrow; too high a value does little harm. Simulated with 40 to 120 readings and neighbours
correlated by 0 to 0.9: 93.3 to 96.8 % of 95 % intervals contain the slope; without it 90.2 to 96.5 %."""


Values = Sequence[float] | npt.NDArray[np.float64] | npt.NDArray[np.int64]


def line_through(values: Values) -> Line | None:
    """A trend in autocorrelated readings at equal steps; None with fewer than five readings. It is
    generalised least squares with noise of first order (S. J. Prais, C. B. Winsten, "Trend Estimators and
    Serial Correlation", 1954). The autocorrelation comes from least squares' residuals, without the bias of a
    fitted line (F. H. C. Marriott, J. A. Pope, "Bias in the estimation of autocorrelations", 1954). The
    degrees of freedom are those of as many independent readings. With plain least squares only 65 of 95
    intervals hold where neighbours are correlated by 0.9."""
    n = len(values)
    if n < READINGS_MIN:
        return None
    y = np.asarray(values, dtype=float)
    t = np.arange(n) - (n - 1) / 2
    residual = y - y.mean() - (t @ y) / (t @ t) * t
    square = float(residual @ residual)
    if square <= 1e-18 * max(1.0, float(y @ y)):
        return Line(float((t @ y) / (t @ t)), 0.0, n - 2)  # a line without any scatter
    seen = float(residual[1:] @ residual[:-1]) / square
    rho = (seen * n + 2) / max(n - 4, 1)
    rho = min(rho + RHO_MARGIN * math.sqrt((1 - min(rho, 1.0) ** 2) / n), RHO_MAX) if rho > 0 else 0.0
    first = math.sqrt(1 - rho**2)
    # What is fitted to: a constant, and the time, each without what is known from the reading before.
    one, time, z = (np.concatenate([[first * values[0]], values[1:] - rho * values[:-1]]) for values in (np.ones(n), t, y))
    inverse = np.linalg.inv(np.array([[one @ one, one @ time], [one @ time, time @ time]]))
    constant, slope = inverse @ np.array([one @ z, time @ z])
    left = z - constant * one - slope * time
    error = math.sqrt(float(left @ left) / (n - 2) * float(inverse[1, 1]))
    return Line(float(slope), error, max(1.0, n * (1 - rho) / (1 + rho) - 3))


def slope_upper_bound(times_s: Values, values: Values, confidence: float = 0.95) -> float | None:
    """One-sided upper bound of the trend of `values`, read at (nearly) equal steps of time, in units per
    second; see `line_through`.

    None with fewer than five readings or no spread in time.
    """
    line = line_through(values)
    if line is None or times_s[-1] <= times_s[0]:
        return None
    step_s = float(times_s[-1] - times_s[0]) / (len(times_s) - 1)
    return (line.slope + float(special.stdtrit(line.freedom, confidence)) * line.error) / step_s


def slope_of(times_s: Sequence[float], values: Sequence[float]) -> float | None:
    """The slope of `values` over time, in units per second, by least squares. None without spread in time."""
    if len(times_s) < 2 or min(times_s) == max(times_s):
        return None
    return statistics.linear_regression(times_s, values).slope
