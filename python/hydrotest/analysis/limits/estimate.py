"""What a search found, as the summary has it: limit, safe rate, lapses with their causes, the curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hydrotest.analysis.limits.search import ALL, TRIALS_MIN, Limit, LimitSearch
from hydrotest.store.records import Trial
from hydrotest.summary.limits import Chance, Lapse
from hydrotest.verdicts.limit import Flawed, LimitFlaw

CURVE_POINTS = 33
"""Rates at which the curve is given."""


@dataclass(frozen=True)
class Window:
    """A trial that counted, of one workload."""

    trial: Trial
    rate: float
    held: bool
    stopped_by: str | None
    """The rule that failed."""


def near_limit(windows: Sequence[Window], limit: Limit) -> tuple[list[Trial], list[Trial]]:
    """The trials that show what is at the limit: those that held within its interval, else those at the highest rate that held; and
    those that failed there or above, else all that failed."""
    estimate = limit.estimate
    held, failed = [one for one in windows if one.held], [one for one in windows if not one.held]
    if estimate is None:
        return [], [one.trial for one in failed]
    inside = [one for one in held if estimate.low <= one.rate <= estimate.high]
    highest = max(one.rate for one in held)
    at = inside or [one for one in held if one.rate == highest]
    above = [one for one in failed if one.rate >= estimate.low] or failed
    return [one.trial for one in at], [one.trial for one in above]


Causes = Callable[[Sequence[Window]], dict[str, int]]
"""How many of some failed windows failed by what."""


def estimated(search: LimitSearch, windows: Sequence[Window], causes: Causes, subject: str = ALL, scale: float = 1.0) -> dict[str, Any]:
    """Fields of a row of limits. `scale`: what a rate of the search is multiplied by; of a fraction, the isolated limit."""
    found = search.limit(subject)
    estimate = found.estimate
    value, low = (None, None) if estimate is None else (estimate.value, estimate.low)
    is_open = found.is_above or all(one.held for one in windows)
    if value is not None and low is not None and is_open:
        # More than was tried is not claimed.
        value = max(one.rate for one in windows if one.held)
        low = min(low, value)
    below = [one for one in windows if not one.held and low is not None and one.rate < low]
    return {
        "limit": None if value is None else value * scale,
        "low": None if low is None else low * scale,
        "high": None if estimate is None or is_open else estimate.high * scale,
        "interval": "90 % credible",
        "safe": None if found.safe is None else found.safe * scale,
        "confidence": search.confidence,
        "lapse": Lapse(
            share=found.lapse.value, low=found.lapse.low, high=found.lapse.high, causes=causes(below),
        ),
        "drift": found.drifts,
        "precise": found.is_precise,
        "repeats": found.windows,
        "chances": [] if estimate is None else chances(search, subject, scale),
    }  # fmt: skip


def chances(search: LimitSearch, subject: str, scale: float) -> list[Chance]:
    """The curve, over the rates that were tried and the limit's interval."""
    posterior, rates = search.posterior(subject), [rate for rate, _ in search.windows]
    estimate = posterior.limit
    low, high = min(*rates, estimate.low), max(*rates, estimate.high)
    asked = np.geomspace(low / 1.05, high * 1.05, CURVE_POINTS)
    held = posterior.held(asked.tolist())
    return [
        Chance(rate=float(rate) * scale, holds=float(mean), low=float(least), high=float(most))
        for rate, mean, least, most in zip(asked, held.mean, held.low, held.high, strict=True)
        if math.isfinite(mean)
    ]


def flaws_of(search: LimitSearch) -> list[LimitFlaw]:
    """Why what was found does not count."""
    limit, failed = search.limit(), sum(not held for _, held in search.windows)
    if limit.estimate is None:
        return [LimitFlaw(Flawed.NONE_SUSTAINED, failed, len(search.windows))]
    if search.propose() is not None and limit.windows < TRIALS_MIN:
        return [LimitFlaw(Flawed.FEW_WINDOWS, limit.windows, TRIALS_MIN)]
    return []
