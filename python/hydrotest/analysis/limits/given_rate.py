"""Does a system hold a given rate? A verdict with its probability, that stops as soon as it is known.

Windows at the rate hold or fail independently. From a uniform prior, the probability that most of them hold
after `held` of `windows` did is 1 - I(1/2; held + 1, windows - held + 1), with the regularised incomplete beta
function I (Bayes, 1763). A Bayesian verdict needs no correction for looking after each window.
"""

from __future__ import annotations

from scipy import special

from hydrotest.verdicts.limit import RateVerdict

MOST = 0.5
"""A rate is held if more than this share of its windows holds: the same bound that makes a limit."""


def holds_probability(held: int, windows: int) -> float:
    """Probability that a rate is held, after `held` of `windows` windows did."""
    return float(1 - special.betainc(held + 1, windows - held + 1, MOST))


def verdict_on(held: int, windows: int, sure: float) -> RateVerdict:
    """What is known of a rate with the probability `sure`."""
    probability = holds_probability(held, windows)
    if probability >= sure:
        return RateVerdict.HOLDS
    return RateVerdict.FAILS if 1 - probability >= sure else RateVerdict.UNKNOWN
