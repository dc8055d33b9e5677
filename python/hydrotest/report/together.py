"""Figures and tables of combined tests: isolated and combined results, and the use of resources over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from hydrotest.analysis.resources.rates import host_rates
from hydrotest.lazy import Lazy
from hydrotest.report.charts import Figure, data, loopback_words, over_trials, spec_of
from hydrotest.report.table import NONE, Table, decimal, rate
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.store.samples import read_samples
from hydrotest.summary.machine import Host
from hydrotest.summary.model import Summary
from hydrotest.summary.together import Interference
from hydrotest.units import show_bytes

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")

HEAT_COLUMNS_MAX = 120
"""Cells along the time axis of the heat map, however long the run was."""


def interference_figure(summary: Summary) -> Figure | None:
    """The change from isolated to combined, with its interval; a bar that crosses zero shows no significant
    change."""
    rows = summary.interference
    if not rows:
        return None
    values = [
        {
            "what": f"{row.workload} {row.metric.replace('_ms', ' ms')}",
            "change": 1 + row.change_pct / 100,
            "low": max(1e-3, 1 + row.low_pct / 100),
            "high": min(1e3, 1 + row.high_pct / 100),
            "finding": "significant" if row.significant else "no significant difference",
        }
        for row in rows
    ]
    color = alt.Color(
        "finding:N",
        title=None,
        legend=alt.Legend(orient="top"),
        scale=alt.Scale(domain=["significant", "no significant difference"], range=["#e76f51", "#7a8b99"]),
    )
    x = alt.X("low:Q", scale=alt.Scale(type="log"), title="combined ÷ isolated, at the same rates")
    base = alt.Chart(data(values)).encode(y=alt.Y("what:N", title=None, sort=None), color=color)
    chart = alt.layer(
        base.mark_rule(size=3).encode(x=x, x2="high:Q"),
        base.mark_point(filled=True, size=90).encode(x="change:Q"),
        alt.Chart(data([{"one": 1}])).mark_rule(strokeDash=[5, 4], color="#7a8b99").encode(x="one:Q"),
    )
    sheet = interference_sheet(summary)
    caption = (
        "Each point is the geometric mean over the pairs, the line its 95 % interval; left of the dashed line it fell, right of it it rose."
    )
    return Figure("interference", "Isolated and combined", caption, spec_of(chart), sheet.heads, sheet.rows)


def heat_figure(run: RunFolder, trials: list[Trial], hosts: Sequence[Host]) -> Figure | None:
    """Resource × time for every host: how much of each ceiling was used."""
    start = min((trial.prepared_wall_s for trial in trials), default=0.0)
    values: list[dict[str, Any]] = []
    table: list[list[str]] = []
    for host in hosts:
        rates = over_trials(host_rates(read_samples(run.folder_of(t), layout.HOST_SAMPLES), host.name) for t in trials)
        if rates.is_empty():
            continue
        ceilings = host.ceilings
        shares = {
            "cpu": ("cpu_cores", ceilings.cpu_cores),
            "memory": ("memory_bytes", host.memory_bytes),
            "disk write": ("disk_write_bytes_per_s", ceilings.disk_write_bytes_per_s),
            "disk read": ("disk_read_bytes_per_s", ceilings.disk_read_bytes_per_s),
            "network out": ("network_out_bytes_per_s", ceilings.network_bytes_per_s),
            "network in": ("network_in_bytes_per_s", ceilings.network_bytes_per_s),
        }
        minutes = (pl.col("wall_s") - start) / 60
        width = max(1 / 60, float(rates.select(minutes.max()).item()) / HEAT_COLUMNS_MAX)
        cells = rates.with_columns((minutes // width).cast(pl.Int32).alias("cell")).group_by("cell", maintain_order=True).mean()
        for name, (column, ceiling) in shares.items():
            if not ceiling:
                continue
            values += [
                {
                    "row": f"{host.name} {name}",
                    "from": round(cell * width, 3),
                    "to": round((cell + 1) * width, 3),
                    "share": round(value / ceiling, 3),
                }
                for cell, value in cells.select("cell", column).drop_nulls().iter_rows()
            ]
            found = rates[column].drop_nulls()
            quantiles = [found.mean(), found.quantile(0.95), found.max()]
            table.append([host.name, name, *(f"{float(q) / ceiling:.0%}" if isinstance(q, int | float) else "–" for q in quantiles)])
    if not values:
        return None
    chart = (
        alt.Chart(data(values))
        .mark_rect()
        .encode(
            x=alt.X("from:Q", title="minutes since the first trial"),
            x2="to:Q",
            y=alt.Y("row:N", title=None, sort=None),
            color=alt.Color(
                "share:Q",
                title="share of ceiling",
                scale=alt.Scale(scheme="yelloworangered", domain=[0, 1], clamp=True),
                legend=alt.Legend(orient="top", format="%"),
            ),
            tooltip=["row:N", alt.Tooltip("from:Q", title="minute", format=".1f"), alt.Tooltip("share:Q", format=".0%")],
        )
    )
    caption = f"Shares of what each resource was measured to give.{loopback_words(hosts)}"
    return Figure("heat", "Which resource, when", caption, spec_of(chart), ["host", "resource", "mean", "95th percentile", "peak"], table)


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
