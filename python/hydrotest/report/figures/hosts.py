"""What hosts and services used over the run, and how fast the machine itself was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from hydrotest.analysis.resources.rates import read_service_rates, read_speeds
from hydrotest.lazy import Lazy
from hydrotest.report.figures.readings import HostReadings
from hydrotest.report.figures.theme import Figure, data, over_trials, spec_of, thinned
from hydrotest.report.sections import Section
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.summary.machine import Host

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")

DRAWN = ("cpu", "disk write", "network out", "memory")
"""Resources that a host's own figure has."""


def host_figures(readings: Sequence[HostReadings], trials: list[Trial], hosts: Sequence[Host]) -> list[Figure]:
    """Each host's cores, disk and network over the run, trials as bands."""
    figures = []
    start = min((trial.prepared_wall_s for trial in trials), default=0.0)
    for own in readings:
        drawn = [resource for resource in own.resources if resource.name in DRAWN and resource.ceiling]
        values = [
            {"minute": round(row["minute"], 3), "resource": one.name, "share": round(row[one.column] / one.ceiling, 4)}
            for row in own.thin.iter_rows(named=True)
            for one in drawn
            if one.ceiling is not None and row[one.column] is not None
        ]
        bands = (
            alt.Chart(data(_bands(trials, start)))
            .mark_rect(opacity=0.12)
            .encode(
                x="from:Q",
                x2="to:Q",
                color=alt.Color("workload:N", title="trials of", scale=alt.Scale(scheme="set2"), legend=alt.Legend(orient="top")),
                tooltip=["trial:N", "workload:N", "purpose:N"],
            )
        )
        lines = (
            alt.Chart(data(values))
            .mark_line(strokeWidth=1.4)
            .encode(
                x=alt.X("minute:Q", title="minutes since the first trial"),
                y=alt.Y("share:Q", title="share of ceiling", axis=alt.Axis(format="%"), scale=alt.Scale(domainMin=0)),
                stroke=alt.Stroke("resource:N", title="resource", scale=alt.Scale(scheme="tableau10"), legend=alt.Legend(orient="bottom")),
            )
        )
        chart = alt.layer(bands, lines).resolve_scale(color="independent", stroke="independent")
        rows = [[one.name, f"{mean:,.3g}", f"{one.ceiling:,.3g}"] for one in drawn if (mean := own.means[one.column]) is not None]
        caption = f"Shares of what each resource was measured to give.{loopback_words(hosts)}"
        figures.append(
            Figure(
                f"host-{own.host}",
                f"Resources of host {own.host}",
                caption,
                spec_of(chart),
                ["resource", "mean", "ceiling"],
                rows,
                Section.USAGE,
            )
        )
    return figures


def service_figure(run: RunFolder, trials: list[Trial]) -> Figure | None:
    """Cores used by each service over the run, stacked."""
    start = min((trial.prepared_wall_s for trial in trials), default=0.0)
    parts: dict[str, list[pl.DataFrame]] = {}
    used: list[pl.DataFrame] = []
    for rates in (rates for trial in trials for rates in read_service_rates(run.folder_of(trial), ["cpu_cores", "memory_bytes"])):
        cores, memory = pl.col("cpu_cores"), pl.col("memory_bytes").max()
        used.append(
            rates.group_by("service", maintain_order=True).agg(total=cores.sum(), readings=cores.count(), peak=cores.max(), memory=memory)
        )
        for (name,), own in rates.group_by("service", maintain_order=True):
            # Those of a trial of hours are thinned at once.
            parts.setdefault(str(name), []).append(thinned(own.select("wall_s", "cpu_cores")))
    if not parts:
        return None
    values = [
        {"minute": round((wall_s - start) / 60, 3), "service": name, "cores": round(cores, 4)}
        for name, own in parts.items()
        for wall_s, cores in thinned(over_trials(own), len(parts)).iter_rows()
    ]
    chart = (
        alt.Chart(data(values))
        .mark_area(opacity=0.8)
        .encode(
            x=alt.X("minute:Q", title="minutes since the first trial"),
            y=alt.Y("cores:Q", stack="zero", title="cores used"),
            color=alt.Color("service:N", title=None, scale=alt.Scale(scheme="tableau10"), legend=alt.Legend(orient="top")),
        )
    )
    table = pl.concat(used).group_by("service").agg(
        pl.col("total", "readings").sum(), pl.col("peak", "memory").max()
    ).sort("service")  # fmt: skip
    rows = [
        [name, f"{total / readings:.2f}", f"{peak:.2f}", f"{memory / 1e6:,.0f} MB"]
        for name, total, readings, peak, memory in table.iter_rows()
    ]
    return Figure(
        "services",
        "Whose cores",
        "Cores used by each service.",
        spec_of(chart),
        ["service", "cores mean", "cores peak", "memory peak"],
        rows,
        Section.USAGE,
    )


def speed_figure(run: RunFolder, trials: list[Trial], hosts: Sequence[Host]) -> Figure | None:
    """How fast the machine itself was, by the speed reference."""
    if not hosts:
        return None
    start = min((trial.prepared_wall_s for trial in trials), default=0.0)
    speeds = over_trials(read_speeds(run.folder_of(t), hosts[0].name) for t in trials)
    if speeds.is_empty():
        return None
    mean = float(pl.Series(speeds["speed"]).cast(pl.Float64).to_numpy().mean())
    thin = thinned(speeds.with_columns(((pl.col("wall_s") - start) / 60).alias("minute"), (pl.col("speed") / mean).alias("relative")))
    values = [{"minute": round(r["minute"], 3), "relative": round(r["relative"], 4)} for r in thin.iter_rows(named=True)]
    chart = (
        alt.Chart(data(values))
        .mark_line(strokeWidth=1.2)
        .encode(
            x=alt.X("minute:Q", title="minutes since the first trial"),
            y=alt.Y("relative:Q", title="speed, mean = 1", scale=alt.Scale(zero=False)),
        )
    )
    relative = speeds["speed"] / mean
    cells = [relative.min(), relative.quantile(0.5), relative.max()]
    rows = [[name, f"{value:.3f}"] for name, value in zip(["slowest", "median", "fastest"], cells, strict=True) if isinstance(value, float)]
    caption = "A small fixed computation, timed in CPU time twice a second: where this line moves, the machine moved, not the system."
    return Figure("speed", "The machine's own speed", caption, spec_of(chart), ["speed", "relative to the mean"], rows, Section.USAGE)


def loopback_words(hosts: Sequence[Host]) -> str:
    """The meaning of network traffic if hosts are not emulated."""
    return "" if all(host.connect != "local" for host in hosts) else " On one machine, network is loopback traffic."


def _bands(trials: list[Trial], start: float) -> list[dict[str, Any]]:
    return [
        {
            "from": (t.prepared_wall_s - start) / 60,
            "to": (t.ended_wall_s - start) / 60,
            "trial": f"{t.number}",
            "workload": t.loads[0].workload,
            "purpose": t.purpose.value,
        }
        for t in trials
    ]
