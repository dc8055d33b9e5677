"""Does a system hold a given rate? A verdict with its probability, that stops as soon as it is known.

Windows at the rate hold or fail independently. From a uniform prior, the probability that most of them hold
after `held` of `windows` did is 1 - I(1/2; held + 1, windows - held + 1), with the regularised incomplete beta
function I (Bayes, 1763). A Bayesian verdict needs no correction for looking after each window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from scipy import special

from hydrotest.verdicts.limit import RateVerdict

MOST = 0.5
"""A rate is held if more than this share of its windows holds: the same bound that makes a limit."""


STRETCHES_MIN = 20
"""With fewer stretches of one window their autocorrelation cannot be estimated."""
AUTOCORRELATION_MAX = 0.99
STRETCHES_SURE = 0.95


@dataclass(frozen=True)
class StretchVerdict:
    """Whether most stretches of one long window hold."""

    stretches: int
    held: int
    independent: float
    """So many independent stretches would be worth as much."""
    probability: float
    """That most hold, 0 to 1."""
    verdict: RateVerdict


def holds_probability(held: float, windows: float) -> float:
    """Probability that a rate is held, after `held` of `windows` independent windows did."""
    return float(1 - special.betainc(held + 1, windows - held + 1, MOST))


def verdict_on(held: float, windows: float, sure: float) -> RateVerdict:
    """What is known of a rate with the probability `sure`."""
    probability = holds_probability(held, windows)
    if probability >= sure:
        return RateVerdict.HOLDS
    return RateVerdict.FAILS if 1 - probability >= sure else RateVerdict.UNKNOWN


def verdict_on_stretches(met: Sequence[bool]) -> StretchVerdict | None:
    """What is known, with 95 %, of a rate from the stretches of one long window, in order of time. They depend on
    each other, so they count as the number of independent ones that is worth as much. None with fewer than
    `STRETCHES_MIN`."""
    if len(met) < STRETCHES_MIN:
        return None
    independent = independent_of(met)
    held = sum(met) / len(met) * independent
    return StretchVerdict(
        len(met), sum(met), independent, holds_probability(held, independent), verdict_on(held, independent, STRETCHES_SURE)
    )


def independent_of(met: Sequence[bool]) -> float:
    """The number of independent readings that is worth as much as these, n·(1 - r)/(1 + r) for an autocorrelation r of
    first order (G. V. Bayley, J. M. Hammersley, "The effective number of independent observations in an
    autocorrelated time series", 1946). r is corrected for its bias, (1 + 3 r)/n (F. H. C. Marriott, J. A. Pope,
    1954), and not below 0. Readings that are all equal count in full."""
    n, mean = len(met), sum(met) / len(met)
    variance = sum((one - mean) ** 2 for one in met)
    if variance == 0:
        return float(n)
    r = sum((one - mean) * (other - mean) for one, other in pairwise(met)) / variance
    r = min(max(r + (1 + 3 * r) / n, 0.0), AUTOCORRELATION_MAX)
    return n * (1 - r) / (1 + r)
