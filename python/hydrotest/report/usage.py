"""Use of hosts: tables, and figures by test as in the published reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hydrotest.lazy import Lazy
from hydrotest.report.figures.theme import Figure, data, spec_of
from hydrotest.report.sections import Section
from hydrotest.report.table import Table
from hydrotest.summary.model import Summary
from hydrotest.summary.usage import HostUsage, UsageByTest
from hydrotest.units import show_bytes

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")

FIGURES = (
    ("cpu", "CPU", "cores", "cpu_cores", 1.0),
    ("memory", "Memory", "GB", "memory_bytes", 1e-9),
    ("network-out", "Network out", "Mbit/s", "network_out_bytes_per_s", 8e-6),
    ("network-in", "Network in", "Mbit/s", "network_in_bytes_per_s", 8e-6),
    ("segments-out", "TCP segments out", "segments/s", "tcp_segments_out_per_s", 1.0),
    ("segments-in", "TCP segments in", "segments/s", "tcp_segments_in_per_s", 1.0),
    ("disk-writes", "Disk writes", "writes/s", "disk_writes_per_s", 1.0),
)
"""Slug, title, unit, key of the summary without `_mean` and `_peak`, factor to the unit."""
FLOWS = FIGURES[2:]
"""All but CPU and memory."""


def usage_sheet(summary: Summary) -> Table:
    """Use of each host while each workload was measured."""
    before = [] if summary.baseline is None else [(row.host, "others, before any load", row) for row in summary.baseline.hosts]
    measured = [(row.host, row.workload or "all together", row) for row in summary.usage]
    rows = [_cells(host, when, usage) for host, when, usage in [*before, *measured]]
    heads = [
        "host",
        "workload",
        "cores mean",
        "cores peak",
        "memory peak",
        "swap peak",
        "disk written peak",
        "writes/s peak",
        "network out peak",
        "TCP segments out/s",
    ]
    return Table(
        "Usage while measured", heads, rows, lead=("host", "workload", "cores mean", "cores peak", "memory peak", "network out peak")
    )


def _cells(host: str, when: str, usage: HostUsage) -> list[str]:
    return [
        host,
        when,
        f"{usage.cpu_cores_mean:.2f}",
        f"{usage.cpu_cores_peak:.2f}",
        show_bytes(usage.memory_bytes_peak),
        show_bytes(usage.swap_bytes_peak),
        f"{show_bytes(usage.disk_write_bytes_per_s_peak)}/s",
        f"{usage.disk_writes_per_s_peak:,.0f}",
        f"{show_bytes(usage.network_out_bytes_per_s_peak)}/s",
        f"{usage.tcp_segments_out_per_s_peak:,.0f}",
    ]


def by_test_sheet(summary: Summary) -> Table:
    """Use of each host in each test, mean and peak; only with several hosts, since a single one is shown by
    workload."""
    rows = [
        [
            row.name,
            row.host,
            f"{row.cpu_cores_mean:.2f} / {row.cpu_cores_peak:.2f}",
            f"{show_bytes(row.memory_bytes_mean)} / {show_bytes(row.memory_bytes_peak)}",
            show_bytes(row.swap_bytes_peak),
            *(" / ".join(f"{value * scale:,.1f}" for value in row.mean_and_peak(key)) for _, _, _, key, scale in FLOWS),
        ]
        for row in _by_test(summary)
    ]
    heads = ["test", "host", "cores", "memory", "swap peak", *(f"{title}, {unit}" for _, title, unit, _, _ in FLOWS)]
    return Table("Usage by test and host, mean / peak", heads, rows)


def usage_figures(summary: Summary) -> list[Figure]:
    """One figure for each resource: the mean of each host in each test as a bar, its peak as a mark."""
    rows = _by_test(summary)
    return [_figure(rows, *what) for what in FIGURES] if rows else []


def _by_test(summary: Summary) -> list[UsageByTest]:
    return summary.usage_by_test if len(summary.hosts) > 1 else []


def _figure(rows: list[UsageByTest], slug: str, title: str, unit: str, key: str, scale: float) -> Figure:
    values: list[dict[str, Any]] = []
    for row in rows:
        mean, peak = row.mean_and_peak(key)
        values.append({"test": row.name, "host": row.host, "mean": mean * scale, "peak": peak * scale})
    base = alt.Chart(data(values)).encode(
        x=alt.X("test:N", title=None, sort=None, axis=alt.Axis(labelAngle=-25)),
        xOffset=alt.XOffset("host:N", sort=None),
        color=alt.Color("host:N", title=None, sort=None, scale=alt.Scale(scheme="tableau10"), legend=alt.Legend(orient="top")),
        tooltip=["test:N", "host:N", alt.Tooltip("mean:Q", format=",.3f"), alt.Tooltip("peak:Q", format=",.3f")],
    )
    chart = alt.layer(
        base.mark_bar().encode(y=alt.Y("mean:Q", title=unit)), base.mark_tick(thickness=2, size=8).encode(y=alt.Y("peak:Q", title=unit))
    )
    cells = [[value["test"], value["host"], f"{value['mean']:,.3g}", f"{value['peak']:,.3g}"] for value in values]
    caption = "The mean of each host while it was measured as a bar, its highest second as a mark."
    return Figure(
        f"usage-{slug}",
        f"{title} by test and host",
        caption,
        spec_of(chart),
        ["test", "host", f"mean, {unit}", f"peak, {unit}"],
        cells,
        Section.USAGE,
    )
