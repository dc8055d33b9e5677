"""Latencies against each other, and against how many operations there were."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from hydrotest.audit.claim import SHARE_BELOW, Claim, Loop
from hydrotest.audit.finding import Code, Finding
from hydrotest.printed.figures import Printed

BEYOND_MIN = 10
"""A percentile with fewer operations beyond it is set by a handful: its relative error is about 1 ÷ √n."""
LIFTED_MIN = 2.0
"""A tail is called cut off from this factor on."""


def figures_are_finite(claim: Claim) -> Iterator[Finding]:
    """NaN, infinity, a negative figure; nothing counted."""
    named = {"rate": claim.rate, "seconds": claim.seconds, "count": claim.count, "errors": claim.errors,
             "threads": None if claim.threads is None else Printed(claim.threads),
             **{f"{name}_ms": value for name, value in claim.latency_ms.items()}}  # fmt: skip
    if any(one is not None and one.value == 0 for one in (claim.rate, claim.count, claim.seconds)):
        yield Finding(Code.NOTHING_MEASURED, {"errors": claim.errors.value} if claim.errors else {})
        return
    for name, figure in named.items():
        if figure is not None and (not math.isfinite(figure.value) or figure.value < 0):
            yield Finding(Code.NOT_A_FIGURE, {"value": figure.value}, {"figure": name})


def _ordered(claim: Claim) -> list[tuple[str, float, Printed]]:
    known = [(name, share, claim.latency_ms[name]) for name, share in SHARE_BELOW.items() if name in claim.latency_ms]
    return [*known, *([("max", 1.0, claim.latency_ms["max"])] if "max" in claim.latency_ms else [])]


def percentiles_are_in_order(claim: Claim) -> Iterator[Finding]:
    """A higher percentile is never the smaller one."""
    ordered = _ordered(claim)
    for (name, _, lower), (its_name, _, higher) in itertools.pairwise(ordered):
        if lower.low > higher.high:
            yield Finding(Code.OUT_OF_ORDER, {"lower": lower.value, "higher": higher.value}, {"lower": name, "higher": its_name})


def mean_is_possible(claim: Claim) -> Iterator[Finding]:
    """The mean lies between what percentiles allow: each part of the operations is at least as slow as the percentile below it, and at
    most as slow as the one above it. Histograms round the rank of a percentile, so that one operation more or fewer may be beyond it."""
    mean, ordered = claim.latency_ms.get("mean"), _ordered(claim)
    if mean is None or not ordered or any(True for _ in percentiles_are_in_order(claim)):
        return
    low = high = 0.0
    below, at_least = 0.0, 0.0
    operations = _operations(claim)
    rank = 1 / operations if operations else 0.0
    for _, share, value in ordered:
        low += (share - below) * at_least
        high += (share - below + rank) * value.high
        low -= rank * max(value.low, 0.0)
        below, at_least = share, max(value.low, 0.0)
    low += (1 - below) * at_least
    if mean.high < low:
        yield Finding(Code.MEAN_IMPOSSIBLE, {"mean": mean.value, "low": low})
    elif below == 1.0 and mean.low > high:
        yield Finding(Code.MEAN_IMPOSSIBLE, {"mean": mean.value, "high": high})


def _operations(claim: Claim) -> float | None:
    if claim.count is not None:
        return claim.count.value
    return claim.rate.value * claim.seconds.value if claim.rate is not None and claim.seconds is not None else None


def percentiles_have_operations(claim: Claim) -> Iterator[Finding]:
    """The highest percentile that only a handful of operations stand behind."""
    operations = _operations(claim)
    if operations is None:
        return
    thin = [name for name, share, _ in _ordered(claim) if share < 1 and operations * (1 - share) < BEYOND_MIN]
    if thin:
        first = thin[0]
        yield Finding(
            Code.TOO_FEW_FOR_PERCENTILE, {"count": operations, "beyond": operations * (1 - SHARE_BELOW[first])}, {"figure": first}
        )


def tail_is_whole(claim: Claim) -> Iterator[Finding]:
    """In a closed loop a pause of the system delays what is in flight and nothing else. By its schedule, rate × pause operations would
    have waited, from nothing up to the whole pause. So of the longest pause alone the share f = rate × max ÷ count, and the percentile q
    is at least max × (1 − (1 − q) ÷ f): if all threads waited."""
    longest, rate, operations = claim.latency_ms.get("max"), claim.rate, _operations(claim)
    if claim.loop is not Loop.CLOSED or longest is None or rate is None or not operations:
        return
    due = rate.value * longest.value / 1e3
    share = min(due / operations, 1.0)
    for name, below, printed in reversed(_ordered(claim)):
        beyond = 1 - below
        if name == "max" or share <= beyond:
            continue
        lifted = longest.value * (1 - beyond / share)
        if lifted >= LIFTED_MIN * max(printed.high, 1e-9):
            yield Finding(Code.TAIL_CUT_OFF, {"max": longest.value, "due": due, "share": share, "printed": printed.value, "lifted": lifted,
                                              **({"threads": claim.threads} if claim.threads else {})}, {"figure": name})  # fmt: skip
            return
