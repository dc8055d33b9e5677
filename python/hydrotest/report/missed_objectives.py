"""The objectives that a run missed: the reason for exit code 1."""

from __future__ import annotations

from hydrotest.report.table import rate
from hydrotest.report.unchecked import flawed_reads
from hydrotest.report.views import flawed_views
from hydrotest.summary.model import Summary
from hydrotest.verdicts.limit import RateVerdict


def missed(summary: Summary) -> list[str]:
    """A line for each: no limit was found, a level or a soak was not sustained, a job did not complete or
    took too long, something was lost or corrupted. Empty for a run whose exit code is 0."""
    return [*_limits(summary), *_levels(summary), *_soaks(summary), *_jobs(summary), *_integrity(summary)]


def _limits(summary: Summary) -> list[str]:
    return [
        f"{row.workload} ({row.tenancy}): no limit was found{''.join(f'; {one}' for one in row.invalid_because)}"
        for row in summary.limits
        if row.limit is None
    ]


def _levels(summary: Summary) -> list[str]:
    gates = {number for row in summary.given_rates for number in row.trials}
    return [
        f"{row.workload}: {rate(row.offered)}/s {GATE[row.verdict]}; {row.held} of {row.windows} windows held"
        for row in summary.given_rates
        if row.verdict is not RateVerdict.HOLDS
    ] + [
        f"{row.workload} ({row.tenancy}): {rate(row.offered)}/s were not sustained{''.join(f'; {one}' for one in row.reasons)}"
        for row in summary.levels
        if row.accepted is False and row.trial not in gates
    ]


GATE = {RateVerdict.FAILS: "are not held", RateVerdict.UNKNOWN: "may be held or not"}
"""What is missed of a rate with a verdict."""


def _soaks(summary: Summary) -> list[str]:
    return [
        f"{load.workload} (soak): {rate(load.offered)}/s were not sustained{''.join(f'; {one}' for one in load.reasons)}"
        for soak in summary.soak
        for load in soak.workloads
        if load.accepted is False
    ]


def _jobs(summary: Summary) -> list[str]:
    said = []
    for row in summary.spark:
        if not row.finished:
            said.append(f"{row.workload} ({row.tenancy}): {row.test} did not come to its end")
        elif row.accepted is False:
            said.append(f"{row.workload} ({row.tenancy}): {row.test} took {row.total_s:.1f} s, its objective is {row.objective_s:.1f} s")
    return said


def _integrity(summary: Summary) -> list[str]:
    return (
        [
            f"{row.workload} ({row.tenancy}): {count:,} of {row.acked:,} acknowledged {row.unit} {flaw}"
            for row in summary.integrity
            for flaw, count in (("lost", row.lost), ("corrupted", row.corrupted))
            if count
        ]
        + [
            f"{row.workload} ({row.tenancy}): {count:,} of {row.checked_reads:,} checked reads found {what}"
            for row in summary.integrity
            for what, count in flawed_reads(row)
        ]
        + [
            f"{row.workload} ({row.tenancy}): the view {view} {what} {count:,} rows"
            for row in summary.integrity
            for view, what, count in flawed_views(row)
        ]
    )
