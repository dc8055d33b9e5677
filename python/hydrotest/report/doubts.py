"""Figures that are right, and yet may be read wrongly."""

from __future__ import annotations

from typing import Any

from hydrotest.report.levels import target


def failed_in_times(summary: dict[str, Any]) -> list[str]:
    """A line for each response time with failed operations in it: many fast refusals lower every percentile."""
    found = [(f"{row['workload']} ({row['client']} client, {target(row)})", row) for row in summary["levels"] if row["op"] in (None, "mix")]
    found += [(f"{row['workload']} ({row['tenancy']}) at its limit", row) for row in summary["limits"]]
    found += [(f"{load['workload']} (soak)", load) for soak in summary.get("soak", []) for load in soak["workloads"]]
    found += [
        (f"{load['workload']} ({fault['action']} {fault['service']})", load)
        for fault in summary.get("faults", [])
        for load in fault["workloads"]
    ]
    found += [(f"{row['workload']} (profile)", row) for row in summary.get("profiles", [])]
    return [
        f"{name}: {row['latency_includes_failed']:,} failed operations are in its response times: fast refusals lower them, time-outs raise them"
        for name, row in found
        if row.get("latency_includes_failed")
    ]
