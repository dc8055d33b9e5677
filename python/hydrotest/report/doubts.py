"""Figures that are right, and may still be misread."""

from __future__ import annotations

from hydrotest.report.levels import target
from hydrotest.summary.model import Summary


def failed_in_times(summary: Summary) -> list[str]:
    """A line for each response time with failed operations in it: many fast refusals lower every
    percentile."""
    found = [
        (f"{row.workload} ({row.client} client, {target(row)})", row.latency_includes_failed)
        for row in summary.levels
        if row.op in (None, "mix")
    ]
    found += [(f"{row.workload} ({row.tenancy}) at its limit", row.latency_includes_failed) for row in summary.limits]
    found += [(f"{load.workload} (soak)", load.latency_includes_failed) for soak in summary.soak for load in soak.workloads]
    found += [
        (f"{load.workload} ({fault.action} {fault.service})", load.latency_includes_failed)
        for fault in summary.faults
        for load in fault.workloads
    ]
    found += [(f"{row.workload} (profile)", row.latency_includes_failed) for row in summary.profiles]
    return [
        f"{name}: {failed:,} failed operations are in its response times: fast refusals lower them, time-outs raise them"
        for name, failed in found
        if failed
    ]
