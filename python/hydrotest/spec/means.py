"""What distributions of whole numbers give on average, in closed form."""

from __future__ import annotations

import math

SUMMED_MAX = 10_000
"""Terms that are added up; the rest of a sum is an integral, where neighbouring terms are nearly equal."""


def zipf_mean(count: int, exponent: float) -> float:
    """The mean rank of 1 to `count`, where rank r has the weight r^−exponent."""
    return _powers(count, exponent - 1) / _powers(count, exponent)


def _powers(count: int, exponent: float) -> float:
    """The sum of r^−exponent over 1 to `count`."""
    last = min(count, SUMMED_MAX)
    summed = math.fsum(rank**-exponent for rank in range(1, last + 1))
    if count == last:
        return summed
    # ∫ x^−e dx from `last` to `count`; the first order of Euler–Maclaurin (DLMF 2.10.1).
    power = 1 - exponent
    area = math.log(count / last) if abs(power) < 1e-12 else (count**power - last**power) / power
    return float(summed + area + (count**-exponent - last**-exponent) / 2)


def gaussian_mean(low: int, last: int, mean: float, sd: float) -> float:
    """Of a normal distribution, rounded, that is drawn again while outside of `low` to `last`: cut off half a number beyond
    them."""
    below, above = (low - 0.5 - mean) / sd, (last + 0.5 - mean) / sd
    inside = _up_to(above) - _up_to(below)
    if inside < 1e-9:  # hardly ever: the end that is nearer to the mean
        return min(max(mean, low), last)
    return mean + sd * (_density(below) - _density(above)) / inside


def _density(number: float) -> float:
    return math.exp(-(number**2) / 2) / math.sqrt(2 * math.pi)


def _up_to(number: float) -> float:
    return (1 + math.erf(number / math.sqrt(2))) / 2
