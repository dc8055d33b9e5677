"""What hosts and services used over the run, and how fast the machine itself was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from hydrotest.analysis.resources.rates import host_rates, service_rates, speed_rows
from hydrotest.lazy import Lazy
from hydrotest.report.figures.theme import Figure, data, over_trials, spec_of, thinned
from hydrotest.report.sections import Section
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.store.samples import read_samples
from hydrotest.summary.machine import Host

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")


def host_figures(run: RunFolder, trials: list[Trial], hosts: Sequence[Host]) -> list[Figure]:
    """Each host's cores, disk and network over the run, trials as bands."""
    figures = []
    start = min((trial.prepared_wall_s for trial in trials), default=0.0)
    for host in hosts:
        rates = over_trials(host_rates(read_samples(run.folder_of(t), layout.HOST_SAMPLES), host.name) for t in trials)
        if rates.is_empty():
            continue
        rates = thinned(rates.with_columns(((pl.col("wall_s") - start) / 60).alias("minute")), len(hosts))
        shares = [
            ("cpu", "cpu_cores", host.ceilings.cpu_cores),
            ("disk written", "disk_write_bytes_per_s", host.ceilings.disk_write_bytes_per_s),
            ("network out", "network_out_bytes_per_s", host.ceilings.network_bytes_per_s),
            ("memory", "memory_bytes", host.memory_bytes),
        ]
        values = [
            {"minute": round(row["minute"], 3), "resource": name, "share": round(row[column] / ceiling, 4)}
            for row in rates.iter_rows(named=True)
            for name, column, ceiling in shares
            if ceiling and row[column] is not None
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
        means = rates.select("cpu_cores", "disk_write_bytes_per_s", "network_out_bytes_per_s", "memory_bytes").mean().row(0)
        rows = [
            [name, f"{mean:,.3g}", f"{ceiling:,.3g}"]
            for (name, _, ceiling), mean in zip(shares, means, strict=True)
            if ceiling and mean is not None
        ]
        caption = f"Shares of what each resource was measured to give.{loopback_words(hosts)}"
        figures.append(
            Figure(
                f"host-{host.name}",
                f"Resources of host {host.name}",
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
    rates = over_trials(service_rates(read_samples(run.folder_of(t), layout.SERVICE_SAMPLES)) for t in trials)
    if rates.is_empty():
        return None
    drawn = rates.select("service", "cpu_cores", ((pl.col("wall_s") - start) / 60).alias("minute"))
    parts = [
        thinned(part.drop("service"), drawn["service"].n_unique()).with_columns(pl.lit(str(name[0])).alias("service"))
        for name, part in drawn.group_by("service", maintain_order=True)
    ]
    thin = pl.concat(parts)
    values = [
        {"minute": round(r["minute"], 3), "service": r["service"], "cores": round(r["cpu_cores"], 4)} for r in thin.iter_rows(named=True)
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
    table = rates.group_by("service").agg(
        pl.col("cpu_cores").mean().alias("mean"), pl.col("cpu_cores").max().alias("peak"), pl.col("memory_bytes").max()
    )
    rows = [
        [r["service"], f"{r['mean']:.2f}", f"{r['peak']:.2f}", f"{r['memory_bytes'] / 1e6:,.0f} MB"]
        for r in table.sort("service").iter_rows(named=True)
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
    speeds = over_trials(speed_rows(read_samples(run.folder_of(t), layout.HOST_SAMPLES), hosts[0].name) for t in trials)
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
