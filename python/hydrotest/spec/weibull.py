"""The Weibull distribution over a range of whole numbers, as cassandra-stress has it: `EXTREME`, and with the
exponent 1 `EXP`. (`OptionDistribution`, `DistributionOffsetApache`.)

A number is `low` and the whole part of what is drawn; what lies beyond the range is its last number.
"""

from __future__ import annotations

import math

SUMMED_MAX = 10_000
"""Terms that are added up; the rest of the sum is an integral, where neighbouring terms are nearly equal."""
NO_TAIL = 700.0
"""e to the minus so much is 0, as far as a float knows."""


def usual_scale(span: int, exponent: float) -> float:
    """The scale by which the last of `span` + 1 numbers has the probability 1/√span. `span` is at least 2."""
    return float(span / (math.log(span) / 2) ** (1 / exponent))


def mean_above_low(span: int, exponent: float, scale: float) -> float:
    """What is drawn on average, less `low`: the sum of the probabilities to reach 1, 2, … `span`."""

    def reaches(number: float) -> float:
        return math.exp(-min((number / scale) ** exponent, NO_TAIL))

    def area(number: float) -> float:
        """Of `reaches` from 0 on: a lower incomplete gamma function (DLMF 8.2.1)."""
        return scale / exponent * _lower_gamma(1 / exponent, (number / scale) ** exponent)

    last = min(span, SUMMED_MAX)
    summed = math.fsum(reaches(number) for number in range(1, last + 1))
    # Euler–Maclaurin, first order (DLMF 2.10.1).
    return summed + area(span) - area(last) - (reaches(last) - reaches(span)) / 2


def _lower_gamma(order: float, upto: float) -> float:
    """By its series, whose terms are all positive (DLMF 8.7.1)."""
    if upto > NO_TAIL:
        return math.gamma(order)
    term = total = 1 / order
    number = order
    while term > total * 1e-16:
        number += 1
        term *= upto / number
        total += term
    return float(total * upto**order * math.exp(-upto))
