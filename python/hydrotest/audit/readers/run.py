"""Our own runs, from their summaries: levels, limits and soaks, by the rules that others are held to."""

from __future__ import annotations

from collections.abc import Iterator

from hydrotest.audit.claim import Audited, Claim, Loop, Tool
from hydrotest.printed.figures import Printed
from hydrotest.summary.base import Latency
from hydrotest.summary.model import Summary

ROUNDED = 2e-3
"""Histograms hold three digits."""


def read_summary(file: str, summary: Summary) -> Audited:
    """A claim for each. A closed loop (`concurrency`) is meant to be one, so that its client is not said to set the rate."""
    return Audited(file, Tool.HYDROTEST, tuple(_claims(summary)))


def _claims(summary: Summary) -> Iterator[Claim]:
    for level in summary.levels:
        if level.count:
            # Operations of one kind are counted in the window, and their rate is over the whole window, too.
            yield Claim(
                Tool.HYDROTEST, f"level, trial {level.trial}", f"{level.workload}{f', {level.op}' if level.op else ''}", rate=Printed(level.achieved),
                count=Printed(float(level.count)), seconds=Printed(level.seconds), latency_ms=_latency(level.latency_ms), loop=Loop.OPEN,
                errors=Printed(float(level.errors)) if level.errors_known else None,
            )  # fmt: skip
    for limit in summary.limits:
        if limit.limit is not None:
            yield Claim(
                Tool.HYDROTEST,
                f"limit, {limit.tenancy}",
                limit.workload,
                rate=Printed(limit.limit),
                latency_ms=_latency(limit.latency_ms),
                loop=Loop.OPEN,
            )
    for soak in summary.soak:
        for own in soak.workloads:
            yield Claim(
                Tool.HYDROTEST, f"soak, trial {soak.trial}", own.workload, rate=Printed(own.achieved), seconds=Printed(soak.seconds),
                latency_ms=_latency(own.latency_ms), loop=Loop.OPEN, errors=Printed(float(own.errors)),
            )  # fmt: skip


def _latency(latency: Latency | None) -> dict[str, Printed]:
    figures = latency.model_dump() if latency is not None else {}
    return {name: Printed(value, ROUNDED * value) for name, value in figures.items() if value is not None}
