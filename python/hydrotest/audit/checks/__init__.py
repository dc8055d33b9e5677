"""The checks. Each takes a claim (or those of a file) and yields findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hydrotest.audit.checks.agreement import bytes_fit, figures_agree, rate_is_count_by_time, together_is_slower
from hydrotest.audit.checks.client import client_is_late, client_set_rate, queue_is_in_client, target_is_met, worker_rate
from hydrotest.audit.checks.latency import (
    figures_are_finite,
    mean_is_possible,
    percentiles_are_in_order,
    percentiles_have_operations,
    tail_is_whole,
)
from hydrotest.audit.checks.run import backlog_is_steady, collections_are_measured, is_finished, link_has_room, nothing_failed
from hydrotest.audit.checks.window import rate_is_steady, start_is_left_out
from hydrotest.audit.claim import Claim
from hydrotest.audit.finding import Code, Finding

CHECKS: tuple[Callable[[Claim], Iterator[Finding]], ...] = (
    figures_are_finite, percentiles_are_in_order, mean_is_possible, rate_is_count_by_time, bytes_fit, figures_agree, client_set_rate, target_is_met,
    queue_is_in_client, client_is_late, worker_rate, tail_is_whole, percentiles_have_operations, start_is_left_out, rate_is_steady, nothing_failed,
    backlog_is_steady, link_has_room, collections_are_measured, is_finished,
)  # fmt: skip
"""In the order in which findings are shown: contradictions first."""


def findings(claims: Sequence[Claim]) -> list[list[Finding]]:
    """Of each claim. One that is no figure at all is not looked at further."""
    found = []
    for claim in claims:
        unusable = [one for one in figures_are_finite(claim) if one.code in (Code.NOT_A_FIGURE, Code.NOTHING_MEASURED)]
        found.append(unusable or [one for check in CHECKS for one in check(claim)])
    for index, compared in together_is_slower(claims):
        found[index].append(compared)
    return [sorted(one, key=lambda finding: not finding.is_contradiction) for one in found]
