"""Figures that are right, and yet may be read wrongly."""

from __future__ import annotations

from typing import Any

from hydrotest.units import show_rate


def failed_in_times(summary: dict[str, Any]) -> list[str]:
    """A line for each response time with failed operations in it: a refusal comes fast, and many of them lower every percentile."""
    found = [(_level(row), row) for row in summary["levels"] if row["op"] in (None, "mix")]
    found += [(f"{row['workload']} ({row['tenancy']}) at its limit", row) for row in summary["limits"]]
    found += [(f"{load['workload']} (soak)", load) for soak in summary.get("soak", []) for load in soak["workloads"]]
    found += [
        (f"{load['workload']} ({fault['action']} {fault['service']})", load)
        for fault in summary.get("faults", [])
        for load in fault["workloads"]
    ]
    found += [(f"{row['workload']} (profile)", row) for row in summary.get("profiles", [])]
    return [
        f"{name}: {row['latency_includes_failed']:,} failed operations are in its response times, which may look better, or worse, than those that users got answers in"
        for name, row in found
        if row.get("latency_includes_failed")
    ]


def _level(row: dict[str, Any]) -> str:
    asked = (
        f" at {show_rate(row['offered'])}/s"
        if row["offered"] is not None
        else f" with {row['concurrency']} in flight"
        if row["concurrency"]
        else ""
    )
    return f"{row['workload']} ({row['client']} client){asked}"
