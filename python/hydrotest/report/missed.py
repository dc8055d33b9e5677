"""Which objectives a run missed: why its exit code is 1, where it is."""

from __future__ import annotations

from typing import Any

from hydrotest.report.unchecked import FLAWED_READS
from hydrotest.units import show_rate


def missed(summary: dict[str, Any]) -> list[str]:
    """A line for each: no limit could be told, a level or a soak was not sustained, a job did not come to its end or took too long, something was lost or
    corrupted. Nothing for a run whose exit code is 0."""
    return [*_limits(summary), *_levels(summary), *_soaks(summary), *_jobs(summary), *_integrity(summary)]


def _limits(summary: dict[str, Any]) -> list[str]:
    return [
        f"{row['workload']} ({row['tenancy']}): no limit could be told{''.join(f'; {one}' for one in row['invalid_because'])}"
        for row in summary["limits"]
        if row["limit"] is None
    ]


def _levels(summary: dict[str, Any]) -> list[str]:
    return [
        f"{row['workload']} ({row['tenancy']}): {show_rate(row['offered'])}/s were not sustained{''.join(f'; {one}' for one in row.get('reasons', []))}"
        for row in summary["levels"]
        if row["accepted"] is False
    ]


def _soaks(summary: dict[str, Any]) -> list[str]:
    return [
        f"{load['workload']} (soak): {show_rate(load['offered'])}/s were not sustained{''.join(f'; {one}' for one in load['reasons'])}"
        for soak in summary["soak"]
        for load in soak["workloads"]
        if load["accepted"] is False
    ]


def _jobs(summary: dict[str, Any]) -> list[str]:
    said = []
    for row in summary["spark"]:
        if not row["finished"]:
            said.append(f"{row['workload']} ({row['tenancy']}): {row['test']} did not come to its end")
        elif row["accepted"] is False:
            said.append(
                f"{row['workload']} ({row['tenancy']}): {row['test']} took {row['total_s']:.1f} s, its objective is {row['objective_s']:.1f} s"
            )
    return said


def _integrity(summary: dict[str, Any]) -> list[str]:
    return [
        f"{row['workload']} ({row['tenancy']}): {row[flaw]:,} of {row['acked']:,} acknowledged {row.get('unit', 'records')} {flaw}"
        for row in summary["integrity"]
        for flaw in ("lost", "corrupted")
        if row[flaw]
    ] + [
        f"{row['workload']} ({row['tenancy']}): {row[key]:,} of {row['checked_reads']:,} checked reads found {what}"
        for row in summary["integrity"]
        for key, what in FLAWED_READS.items()
        if row.get(key)
    ]
