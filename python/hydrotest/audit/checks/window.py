"""What the tool printed while it ran: was the start in the figures, did the rate hold?"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from scipy import special

from hydrotest.analysis.statistics.intervals import line_through
from hydrotest.audit.claim import Claim
from hydrotest.audit.finding import Code, Finding

INTERVALS_MIN = 10
"""Fewer show no trend."""
START = 0.1
"""Share of the intervals that is looked at as the start."""
SLOW_START = 0.8
HIGH_START = 3.0
"""A start's longest latency against the longest of the rest. Of latencies whose tail falls by the power of 1.5 a tenth exceeds the others
so far in 2 of 100."""
DRIFT_MIN = 0.1
"""Change of the rate from first to last, as a share of its median."""
CONFIDENCE = 0.99


def start_is_left_out(claim: Claim) -> Iterator[Finding]:
    """A slow start that the figures hold: JIT compilation, empty caches, connections."""
    if claim.warmed_up or len(claim.intervals) < INTERVALS_MIN:
        return
    first = max(1, round(START * len(claim.intervals)))
    start, rest = claim.intervals[:first], claim.intervals[first:]
    rate, usual = statistics.fmean(one.rate for one in start), statistics.median(one.rate for one in rest)
    highest = max((one.max_ms for one in start if one.max_ms is not None), default=None)
    later = max((one.max_ms for one in rest if one.max_ms is not None), default=None)
    is_slow = rate < SLOW_START * usual
    is_high = highest is not None and later is not None and highest > HIGH_START * later > 0
    if is_slow or is_high:
        figures = {"seconds": first * claim.interval_s, "rate": rate, "usual": usual}
        yield Finding(Code.WARM_UP_IN_FIGURES, figures | ({"max": highest, "later": later} if is_high and highest and later else {}))


def rate_is_steady(claim: Claim) -> Iterator[Finding]:
    """A trend of the rate after the start, beyond what scatter of neighbours that resemble each other gives."""
    rates = [one.rate for one in claim.intervals[max(1, round(START * len(claim.intervals))) :]]
    if len(rates) < INTERVALS_MIN:
        return
    line, usual = line_through(rates), statistics.median(rates)
    if line is None or usual <= 0:
        return
    change = line.slope * (len(rates) - 1) / usual
    if abs(change) >= DRIFT_MIN and abs(line.slope) > float(special.stdtrit(line.freedom, (1 + CONFIDENCE) / 2)) * line.error:
        yield Finding(Code.DRIFT, {"change": change, "usual": usual, "seconds": len(rates) * claim.interval_s})
