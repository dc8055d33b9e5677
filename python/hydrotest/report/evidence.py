"""The evidence of each verdict: for each host's resources the use, what waited for them, and the result of a
squeeze or of the use."""

from __future__ import annotations

from collections.abc import Sequence

from hydrotest.analysis.bottleneck.evidence import inside, throttled, used, uses, waited
from hydrotest.analysis.bottleneck.squeeze import SHARE_MIN
from hydrotest.report.bounds import ceiling_words, elasticity_words, named
from hydrotest.report.table import NONE, Table
from hydrotest.report.wording.figures import show_sign
from hydrotest.summary.limits import Job, Limit
from hydrotest.summary.model import Summary
from hydrotest.units import show_figure
from hydrotest.verdicts.binding import BoundBy, SqueezeRow
from hydrotest.verdicts.evidence import Line, UseLine


def evidence_sheet(summary: Summary) -> Table:
    """A line for each resource of a host that was used much, waited for, or squeezed, and for each limit
    inside a system that was full."""
    rows = []
    every: list[Limit | Job] = [*summary.limits, *summary.jobs]
    for row in every:
        bound, head = row.bound_by, [row.workload, row.tenancy if isinstance(row, Limit) else "isolated"]
        for line in uses(bound.evidence):
            rows += [[*head, *cells] for cells in _resource(bound, line)]
        rows += [
            [*head, one.host or NONE, one.what,
             f"{show_figure(one.value, one.unit)}, full {one.when} {show_figure(one.threshold, one.unit)}" + (", without a rate limit" if one.unthrottled else ""),
             NONE, NONE, f"setting: {one.setting}"]
            for one in inside(bound.evidence)
        ]  # fmt: skip
    heads = ["workload", "tenancy", "host", "what", "used", "waited for", "squeezed", "so"]
    return Table("What the verdicts stand on", heads, rows, lead=("workload", "tenancy", "host", "what", "used", "so"))


def _resource(bound: BoundBy, line: UseLine) -> list[list[str]]:
    """One row of cells, or none."""
    resource, host, share = line.resource, line.host, line.value
    squeezes = [
        elasticity_words(one) + (" (together)" if len(one.hosts) > 1 else "") + _freely(one, resource, host)
        for one in bound.squeezed if one.resource == resource and host in one.hosts
    ]  # fmt: skip
    waits = _waits(bound.evidence, resource, host)
    if not squeezes and not waits and (share is None or share < SHARE_MIN):
        return []
    why = [one.why for one in bound.ruled_out if (one.resource, one.hosts) == (resource, (host,))]
    binds = bound.confirmed and resource == bound.resource and host in bound.binds
    so = "binds" if binds else f"ruled out: {why[0]}" if why else NONE
    stated = NONE if share is None else f"{share:.0%} of {ceiling_words(line)}"
    return [[host, named(resource, [line]), stated, "; ".join(waits) or NONE, "; ".join(squeezes) or NONE, so]]


def _freely(one: SqueezeRow, resource: str, host: str) -> str:
    """Its use in the unchanged blocks of a squeeze."""
    return "".join(f" at {line.value:.0%}" for line in used(one.freely, resource, [host]))


def _waits(evidence: Sequence[Line], resource: str, host: str) -> list[str]:
    """Signs that something waited for it, or that it ran short."""
    stated = [show_sign(line.sign, line.value, line.unit) for line in waited(evidence, resource, host)]
    held_back = throttled(evidence, host) if resource == "cpu" else 0.0
    return [*stated, f"held back by its quota in {held_back:.0%} of its periods"] if held_back > 0 else stated
