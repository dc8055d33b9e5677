"""The report's figures, as Vega-Lite specifications. Everything is aggregated before it is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from hydrotest.analysis.measured import Measured
from hydrotest.analysis.resources.rates import host_rates, service_rates, speed_rows
from hydrotest.analysis.statistics.latency import merged, percentile_curve
from hydrotest.lazy import Lazy
from hydrotest.report.table import decimal
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.store.samples import read_samples
from hydrotest.summary.levels import Curve
from hydrotest.summary.limits import Limit
from hydrotest.summary.machine import Host
from hydrotest.summary.model import Summary

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")

POINTS_MAX = 600
"""Points along a time axis, however long the run was."""

Spec = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """A chart, its meaning in a sentence, and its table."""

    slug: str
    title: str
    caption: str
    spec: Spec
    heads: list[str]
    rows: list[list[str]]


def curve_figure(curve: Curve, limit: Limit | None) -> Figure:
    """p99 against the offered rate, every trial a point; limit and objective drawn in."""
    points: list[dict[str, Any]] = [
        {
            "offered": p.offered,
            "p50": p.p50_ms,
            "p99": p.p99_ms,
            "achieved": p.achieved,
            "verdict": "sustained" if p.accepted else "rejected",
            "why": "; ".join(p.reasons),
        }
        for p in curve.points
    ]
    source = data(points)
    verdicts = alt.Scale(domain=["sustained", "rejected"], range=["#2a9d8f", "#e76f51"])
    x = alt.X("offered:Q", title="offered, per second", scale=alt.Scale(zero=False), axis=alt.Axis(format="~s", tickCount=8))
    tooltip = [
        alt.Tooltip("offered:Q", format=",.0f"),
        alt.Tooltip("achieved:Q", format=",.0f"),
        alt.Tooltip("p50:Q", format=".2f"),
        alt.Tooltip("p99:Q", format=".2f"),
        "verdict:N",
        "why:N",
    ]
    layers: list[alt.Chart] = [
        alt.Chart(source)
        .mark_point(filled=True, size=70, opacity=0.85)
        .encode(
            x=x,
            y=alt.Y("p99:Q", title="p99 response, ms", scale=alt.Scale(type="log")),
            tooltip=tooltip,
            color=alt.Color("verdict:N", scale=verdicts, title=None, legend=alt.Legend(orient="top")),
            shape=alt.Shape("verdict:N", scale=alt.Scale(domain=["sustained", "rejected"], range=["circle", "cross"]), title=None),
        )
    ]
    objective = None if limit is None else limit.objective.get("p99_ms")
    if objective is not None:
        line = data([{"objective": objective, "label": f"objective {objective:g} ms"}])
        layers.append(alt.Chart(line).mark_rule(strokeDash=[6, 4], color="#e76f51").encode(y="objective:Q"))
        layers.append(
            alt.Chart(line).mark_text(align="left", dx=4, dy=-6, color="#e76f51").encode(y="objective:Q", x=alt.value(0), text="label:N")
        )
    if limit is not None and limit.low is not None and limit.limit is not None:
        band = data([{"low": limit.low, "limit": limit.limit, "high": limit.high or limit.low}])
        layers.append(alt.Chart(band).mark_rect(opacity=0.18, color="#2a9d8f").encode(x="low:Q", x2="high:Q"))
        layers.append(alt.Chart(band).mark_rule(color="#2a9d8f", size=2).encode(x="limit:Q"))
    heads = ["offered/s", "achieved/s", "p50 ms", "p99 ms", "verdict"]
    rows = [[f"{p['offered']:,.0f}", f"{p['achieved']:,.0f}", decimal(p["p50"], 2), decimal(p["p99"], 2), p["verdict"]] for p in points]
    caption = "Each point is a trial. The line marks the limit, the band its interval."
    return Figure(
        f"curve-{curve.workload}-{curve.tenancy}",
        f"{curve.workload}, {curve.tenancy}: response against offered rate",
        caption,
        spec_of(alt.layer(*layers)),
        heads,
        rows,
    )


def chance_figure(limit: Limit, curve: Curve | None) -> Figure | None:
    """The chance that a window holds, by rate, with its band; every trial that counted a point at 0 or 1. None without a search."""
    if not limit.chances or limit.limit is None:
        return None
    by_rate = [{"rate": one.rate, "holds": one.holds, "low": one.low, "high": one.high} for one in limit.chances]
    trials = [
        {"rate": point.offered, "holds": 1.0 if point.accepted else 0.0, "trial": point.trial,
         "verdict": "sustained" if point.accepted else "rejected", "why": "; ".join(point.reasons)}
        for point in (curve.points if curve is not None else []) if point.trial in limit.trials
    ]  # fmt: skip
    verdicts = alt.Scale(domain=["sustained", "rejected"], range=["#2a9d8f", "#e76f51"])
    x = alt.X("rate:Q", title="offered, per second", scale=alt.Scale(zero=False), axis=alt.Axis(format="~s", tickCount=8))
    y = alt.Y("holds:Q", title="chance that a window holds", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
    curve_of = alt.Chart(data(by_rate))
    layers: list[alt.Chart] = [
        curve_of.mark_area(opacity=0.18, color="#264653").encode(x=x, y=alt.Y("low:Q", title="chance that a window holds"), y2="high:Q"),
        curve_of.mark_line(color="#264653").encode(x=x, y=y),
        alt.Chart(data([{"rate": limit.limit}])).mark_rule(color="#2a9d8f", size=2).encode(x="rate:Q"),
    ]
    if limit.safe is not None:
        layers.append(alt.Chart(data([{"rate": limit.safe}])).mark_rule(color="#2a9d8f", strokeDash=[4, 4]).encode(x="rate:Q"))
    if trials:
        layers.append(
            alt.Chart(data(trials)).mark_point(filled=True, size=70, opacity=0.6)
            .encode(x="rate:Q", y="holds:Q", tooltip=["rate:Q", "trial:O", "verdict:N", "why:N"],
                    color=alt.Color("verdict:N", scale=verdicts, title=None, legend=alt.Legend(orient="top")))
        )  # fmt: skip
    heads = ["rate/s", "chance", "90 % interval"]
    rows = [[f"{one.rate:,.4g}", f"{one.holds:.0%}", f"{one.low:.0%} … {one.high:.0%}"] for one in limit.chances]
    caption = "The line is the chance that a window holds, the band its 90 % interval. Points are trials: above held, below failed. "
    caption += "The full vertical line is the limit" + (", the dashed one the safe rate." if limit.safe is not None else ".")
    return Figure(
        f"chance-{limit.workload}-{limit.tenancy}", f"{limit.workload}, {limit.tenancy}: chance that a window holds", caption,
        spec_of(alt.layer(*layers)), heads, rows,
    )  # fmt: skip


def percentile_figure(run: RunFolder, summary: Summary, trials: list[Trial]) -> Figure | None:
    """Response times at the limit on a percentile axis (distance to 100 % on a log scale)."""
    by_number = {trial.number: trial for trial in trials}
    values, rows = [], []
    for limit in summary.limits:
        numbers = limit.at_limit
        if not numbers:
            continue
        histogram = merged(Measured.read(run, by_number[number], limit.workload).histogram() for number in numbers)
        curve = [(percentile, ms) for percentile, ms in percentile_curve(histogram) if percentile < 100]
        name = limit.workload if limit.tenancy == "isolated" else f"{limit.workload}, combined"
        values += [{"workload": name, "nines": 1 / (1 - p / 100), "ms": max(ms, 0.001), "percentile": f"{p:g} %"} for p, ms in curve]
        rows += [[name, f"{p:g} %", decimal(ms, 2)] for p, ms in curve]
    if not values:
        return None
    axis = alt.Axis(
        values=[1, 2, 10, 100, 1000, 10000], labelExpr="datum.value == 1 ? '0 %' : (100 - 100 / datum.value) + ' %'", title="percentile"
    )
    chart = (
        alt.Chart(data(values))
        .mark_line(point=True)
        .encode(
            x=alt.X("nines:Q", scale=alt.Scale(type="log"), axis=axis),
            y=alt.Y("ms:Q", scale=alt.Scale(type="log"), title="response, ms"),
            color=alt.Color("workload:N", title=None, legend=alt.Legend(orient="top")),
            tooltip=["workload:N", "percentile:N", alt.Tooltip("ms:Q", format=".3f")],
        )
    )
    caption = "Response times from the intended start, all trials at the limit together."
    return Figure("percentiles", "Response times at the limit", caption, spec_of(chart), ["workload", "percentile", "ms"], rows)


def host_figures(run: RunFolder, trials: list[Trial], hosts: Sequence[Host]) -> list[Figure]:
    """Each host's cores, disk and network over the run, trials as bands."""
    figures = []
    start = min((trial.prepared_wall_s for trial in trials), default=0.0)
    for host in hosts:
        rates = over_trials(host_rates(read_samples(run.folder_of(t), layout.HOST_SAMPLES), host.name) for t in trials)
        if rates.is_empty():
            continue
        rates = _thinned(rates.with_columns(((pl.col("wall_s") - start) / 60).alias("minute")))
        shares = [
            ("cpu", "cpu_cores", host.ceilings.cpu_cores),
            ("disk written", "disk_write_bytes_per_s", host.ceilings.disk_write_bytes_per_s),
            ("network out", "network_out_bytes_per_s", host.ceilings.network_bytes_per_s),
            ("memory", "memory_bytes", host.memory_bytes),
        ]
        values = [
            {"minute": round(row["minute"], 3), "resource": name, "share": row[column] / ceiling}
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
        figures.append(Figure(f"host-{host.name}", f"What {host.name} did", caption, spec_of(chart), ["resource", "mean", "ceiling"], rows))
    return figures


def service_figure(run: RunFolder, trials: list[Trial]) -> Figure | None:
    """Cores used by each service over the run, stacked."""
    start = min((trial.prepared_wall_s for trial in trials), default=0.0)
    rates = over_trials(service_rates(read_samples(run.folder_of(t), layout.SERVICE_SAMPLES)) for t in trials)
    if rates.is_empty():
        return None
    drawn = rates.select("service", "cpu_cores", ((pl.col("wall_s") - start) / 60).alias("minute"))
    parts = [
        _thinned(part.drop("service")).with_columns(pl.lit(str(name[0])).alias("service"))
        for name, part in drawn.group_by("service", maintain_order=True)
    ]
    thin = pl.concat(parts)
    values = [{"minute": round(r["minute"], 3), "service": r["service"], "cores": r["cpu_cores"]} for r in thin.iter_rows(named=True)]
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
    thin = _thinned(speeds.with_columns(((pl.col("wall_s") - start) / 60).alias("minute"), (pl.col("speed") / mean).alias("relative")))
    values = [{"minute": round(r["minute"], 3), "relative": r["relative"]} for r in thin.iter_rows(named=True)]
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
    return Figure("speed", "The machine's own speed", caption, spec_of(chart), ["speed", "relative to the mean"], rows)


def loopback_words(hosts: Sequence[Host]) -> str:
    """The meaning of network traffic if hosts are not emulated."""
    return "" if all(host.connect == "netns" for host in hosts) else " On one machine, network is loopback traffic."


def data(values: list[dict[str, Any]]) -> alt.InlineData:
    """Rows as a chart takes them."""
    return alt.InlineData(values=values)


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


def over_trials(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """All readings of a run, in order."""
    kept = [frame for frame in frames if not frame.is_empty()]
    return pl.concat(kept, how="diagonal").sort("wall_s") if kept else pl.DataFrame()


def _thinned(frame: pl.DataFrame) -> pl.DataFrame:
    """At most `POINTS_MAX` rows, each the mean of its neighbours."""
    step = math.ceil(frame.height / POINTS_MAX)
    if step <= 1:
        return frame
    numeric = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    return frame.with_row_index("row").group_by(pl.col("row") // step, maintain_order=True).agg(pl.col(numeric).mean()).drop("row")


def spec_of(chart: alt.Chart | alt.LayerChart | alt.FacetChart) -> Spec:
    """As wide as the page."""
    spec: Spec = chart.properties(width="container", height=280).to_dict()
    return spec
