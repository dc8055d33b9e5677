"""Tables of combined tests: isolated and combined results, and what services used."""

from __future__ import annotations

from collections import Counter

from hydrotest.report.table import NONE, Table, decimal, rate
from hydrotest.summary.model import Summary
from hydrotest.summary.together import Interference
from hydrotest.units import show_bytes


def _significant(row: Interference, metrics: int) -> str:
    """Of several metrics each is held to a part of the 5 %: an interval that leaves zero out may then be chance."""
    if row.significant:
        return "yes"
    return f"no, as one of {metrics}" if row.low_pct > 0 or row.high_pct < 0 else "no"


def interference_sheet(summary: Summary) -> Table:
    """Isolated and combined results, at the same rates."""
    number = Counter(row.workload for row in summary.interference)
    rows = [
        [row.workload, row.metric.replace("_ms", " ms"), decimal(row.isolated, 2), decimal(row.combined, 2), f"{row.change_pct:+.1f} %",
         f"{row.low_pct:+.1f} … {row.high_pct:+.1f} %", str(row.n), str(row.starved_pairs), _significant(row, number[row.workload])]
        for row in summary.interference
    ]  # fmt: skip
    return Table(
        "Interference at the same rates",
        ["workload", "metric", "isolated", "combined", "change", "95 % interval", "pairs", "of them starved", "significant"],
        rows,
        lead=("workload", "metric", "isolated", "combined", "change", "significant"),
    )


def all_out_sheet(summary: Summary) -> Table:
    """The unthrottled rate of each, alone and with all the others."""
    alone = {row.workload: row.saturated for row in summary.limits if row.tenancy == "isolated"}
    rates: dict[str, list[float]] = {}
    for row in summary.levels:
        if row.tenancy == "combined" and row.offered is None and row.concurrency is None:
            rates.setdefault(row.workload, []).append(row.achieved)
    rows = []
    for workload, found in rates.items():
        middle = sorted(found)[len(found) // 2]
        whole = alone.get(workload)
        share = f"{middle / whole:.0%}" if whole else NONE
        rows.append([workload, rate(whole), rate(middle), share, str(len(found))])
    return Table("All without a rate limit: achieved rates", ["workload", "alone", "all at once (median)", "share", "trials"], rows)


def services_sheet(summary: Summary) -> Table:
    """Use of cores, memory and disk by service, while all ran together."""
    rows = [
        [
            row.service,
            row.host,
            f"{row.cpu_cores:.2f}",
            show_bytes(row.memory_bytes),
            f"{show_bytes(row.disk_write_bytes_per_s or 0)}/s",
        ]
        for row in summary.together.services
    ]
    return Table("Services while all ran together", ["service", "host", "cores mean", "memory peak", "disk written mean"], rows)
