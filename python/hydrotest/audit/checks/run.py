"""What went with the run: failures, backlogs, links, garbage collections."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hydrotest.analysis.statistics.intervals import line_through
from hydrotest.audit.claim import Claim
from hydrotest.audit.finding import Code, Finding

LINKS_BITS_PER_S = tuple(gbps * 1e9 for gbps in (0.1, 1, 2, 2.5, 5, 10, 20, 25, 40, 50, 100, 200))
"""Nominal speeds of links, and of two that are bonded."""
FULL = 0.85
"""Of a use that was seen on a link: above it queues grow."""
USUAL_BITS_PER_S = tuple(gbps * 1e9 for gbps in (1, 10, 25, 100))
PAYLOAD_FULL = (0.9, 0.95)
"""Of a payload, where nothing is known of the link: TCP carries 94.9 % of a link's speed in frames of 1,500 bytes, and no more. Rates
just below that are rarely a chance."""
BACKLOG_SHARE = 0.05
"""A backlog that grows by this share of the rate is one that consumers cannot follow."""
READINGS_MIN = 10


def nothing_failed(claim: Claim) -> Iterator[Finding]:
    """Errors, which most tools leave in their latencies and out of their headline."""
    failed = claim.errors.value if claim.errors is not None else float(sum(claim.errors_by_name.values()))
    if failed > 0:
        counted = {"count": claim.count.value} if claim.count is not None else {}
        yield Finding(Code.FAILED, {"errors": failed, **counted}, {name: f"{count}" for name, count in claim.errors_by_name.items()})


def backlog_is_steady(claim: Claim) -> Iterator[Finding]:
    """Consumers that fall behind: end-to-end latencies are then of the backlog's age."""
    readings = [one.backlog for one in claim.intervals if one.backlog is not None]
    if len(readings) < READINGS_MIN or claim.rate is None:
        return
    line = line_through(readings)
    if line is not None and line.slope / claim.interval_s > BACKLOG_SHARE * claim.rate.value:
        yield Finding(Code.BACKLOG_GROWS, {"per_s": line.slope / claim.interval_s, "rate": claim.rate.value, "last": readings[-1]})


def link_has_room(claim: Claim) -> Iterator[Finding]:
    """A rate that is a link's nominal speed measures the link."""
    if claim.link_bits_per_s is not None:
        bits, links, low, high = claim.link_bits_per_s.value, LINKS_BITS_PER_S, FULL, 1.0
    elif claim.bytes_per_s is not None:
        bits, links, (low, high) = claim.bytes_per_s.value * 8, USUAL_BITS_PER_S, PAYLOAD_FULL
    else:
        return
    for nominal in links:
        if low * nominal <= bits <= high * nominal:
            yield Finding(Code.LINK_FULL, {"bits_per_s": bits, "nominal": nominal})


def collections_are_measured(claim: Claim) -> Iterator[Finding]:
    """Zero collections whose mean is no number: nobody counted them (cassandra-stress without JMX)."""
    if (
        claim.collections is not None
        and claim.collections.value == 0
        and claim.collection_mean_ms is not None
        and math.isnan(claim.collection_mean_ms.value)
    ):
        yield Finding(Code.COLLECTIONS_NOT_MEASURED)


def is_finished(claim: Claim) -> Iterator[Finding]:
    """A load that did not come to its end."""
    if not claim.is_finished:
        yield Finding(Code.NOT_FINISHED)
