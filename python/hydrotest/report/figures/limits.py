"""How much, and at what latency: each trial against its rate, the curve of the chance that a window holds, and
latencies by percentile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hydrotest.analysis.limits.decided import Decided
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.statistics.latency import merged, percentile_curve
from hydrotest.lazy import Lazy
from hydrotest.report.figures.theme import OUTCOMES, QUIET, SHAPES, Figure, color_scale, data, spec_of, top_legend
from hydrotest.report.sections import Section
from hydrotest.report.table import decimal
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.summary.levels import Curve, Point
from hydrotest.summary.limits import Limit
from hydrotest.summary.model import Summary

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")

HISTOGRAMS = {"response": "response, from the intended start", "service": "service, from the actual send", "wait": "wait until it was sent"}
"""The three of each trial, and what they time."""


def outcome_of(point: Point, decided: Decided) -> str:
    """Whether a trial held, failed, or does not count."""
    judged = None if point.trial is None else decided.of_trial(point.trial)
    if judged is not None and judged.excused:
        return "excused"
    return "held" if point.accepted else "failed"


def limit_figures(summary: Summary, decided: Decided, colors: Mapping[str, str]) -> list[Figure]:
    """One for each workload and tenancy whose rates were offered."""
    limits = {(row.workload, row.tenancy): row for row in summary.limits}
    return [
        _figure(curve, limits.get((curve.workload, curve.tenancy)), decided, colors.get(curve.workload, QUIET)) for curve in summary.curves
    ]


def _figure(curve: Curve, limit: Limit | None, decided: Decided, color: str) -> Figure:
    points: list[dict[str, Any]] = [
        {"rate": p.offered, "p50": p.p50_ms, "p99": p.p99_ms, "achieved": p.achieved, "outcome": outcome_of(p, decided), "trial": p.trial,
         "why": "; ".join(p.reasons)}
        for p in curve.points
    ]  # fmt: skip
    has_chances = limit is not None and limit.limit is not None and bool(limit.chances)
    x = alt.X(
        "rate:Q", title=None if has_chances else "offered, per second", scale=alt.Scale(zero=False), axis=alt.Axis(format="~s", tickCount=6)
    )
    latency = alt.layer(*_marks(limit, color), *_trials(points, x, limit))
    chart = latency.properties(width="container", height=220)
    if has_chances:
        assert limit is not None
        chart = alt.vconcat(chart, _chances(limit, color).properties(width="container", height=110), spacing=8).resolve_scale(
            x="shared", color="independent", shape="independent"
        )
    spec = chart.to_dict()
    heads = ["offered/s", "achieved/s", "p50 ms", "p99 ms", "outcome", "trial", "because"]
    rows = [[f"{p['rate']:,.0f}", f"{p['achieved']:,.0f}", decimal(p["p50"], 2), decimal(p["p99"], 2), p["outcome"],
             "–" if p["trial"] is None else str(p["trial"]), p["why"] or "–"] for p in points]  # fmt: skip
    caption = "Each point is a trial. It fails by its latency, rate or backlog; excused ones, which something else explains, do not count."
    if limit is not None and limit.limit is not None:
        caption += " The line marks the limit, where half of the windows hold, the band its interval, the dashed line the safe rate."
    if has_chances:
        caption += " Below: the chance that a window holds, with its band."
    beside = "" if curve.tenancy == "isolated" else ", next to the others"
    return Figure(
        f"curve-{curve.workload}-{curve.tenancy}",
        f"{curve.workload}{beside}: latency by offered rate",
        caption,
        spec,
        heads,
        rows,
        Section.LIMITS,
    )


def _marks(limit: Limit | None, color: str) -> list[alt.Chart]:
    """The limit with its interval, and the safe rate."""
    if limit is None or limit.limit is None:
        return []
    layers = []
    if limit.low is not None:
        band = data([{"low": limit.low, "high": limit.high or limit.limit}])
        layers.append(alt.Chart(band).mark_rect(opacity=0.16, color=color).encode(x="low:Q", x2="high:Q"))
    layers.append(alt.Chart(data([{"rate": limit.limit}])).mark_rule(color=color, size=2).encode(x="rate:Q"))
    if limit.safe is not None:
        layers.append(alt.Chart(data([{"rate": limit.safe}])).mark_rule(color=color, strokeDash=[4, 4]).encode(x="rate:Q"))
    return layers


def _trials(points: list[dict[str, Any]], x: alt.X, limit: Limit | None) -> list[alt.Chart]:
    tooltip = [alt.Tooltip("trial:O"), alt.Tooltip("rate:Q", format=",.0f"), alt.Tooltip("achieved:Q", format=",.0f"),
               alt.Tooltip("p50:Q", format=".2f"), alt.Tooltip("p99:Q", format=".2f"), "outcome:N", alt.Tooltip("why:N", title="because")]  # fmt: skip
    shown = alt.Chart(data(points)).mark_point(filled=True, size=80, opacity=0.85).encode(
        x=x, y=alt.Y("p99:Q", title="p99 response, ms", scale=alt.Scale(type="log")), tooltip=tooltip,
        color=alt.Color("outcome:N", scale=color_scale(OUTCOMES), legend=top_legend()),
        shape=alt.Shape("outcome:N", scale=alt.Scale(domain=list(SHAPES), range=list(SHAPES.values())), legend=top_legend()),
    )  # fmt: skip
    objective = None if limit is None else limit.objective.get("p99_ms")
    if objective is None:
        return [shown]
    line = data([{"objective": objective, "label": f"objective {objective:g} ms"}])
    rule = alt.Chart(line).mark_rule(strokeDash=[6, 4], color=OUTCOMES["failed"]).encode(y="objective:Q")
    text = alt.Chart(line).mark_text(align="left", dx=4, dy=-6).encode(y="objective:Q", x=alt.value(0), text="label:N")
    return [shown, rule, text]


def _chances(limit: Limit, color: str) -> alt.LayerChart | alt.FacetChart:
    x = alt.X("rate:Q", title="offered, per second", axis=alt.Axis(format="~s", tickCount=6), scale=alt.Scale(zero=False))
    y = alt.Y("low:Q", title="window holds", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=3))
    by_rate = alt.Chart(data([{"rate": one.rate, "holds": one.holds, "low": one.low, "high": one.high} for one in limit.chances]))
    return alt.layer(
        by_rate.mark_area(opacity=0.2, color=color).encode(x=x, y=y, y2="high:Q"),
        by_rate.mark_line(color=color).encode(x=x, y=alt.Y("holds:Q")),
        alt.Chart(data([{"rate": limit.limit}])).mark_rule(color=color, size=2).encode(x="rate:Q"),
    )


def percentile_figure(run: RunFolder, summary: Summary, trials: list[Trial], colors: Mapping[str, str]) -> Figure | None:
    """All three latencies of each workload at its limit, by percentile (distance to 100 % on a log scale)."""
    by_number = {trial.number: trial for trial in trials}
    values, rows = [], []
    for limit in summary.limits:
        if limit.tenancy != "isolated" or not limit.at_limit:
            continue
        for which, meaning in HISTOGRAMS.items():
            histogram = merged(Measured.read(run, by_number[number], limit.workload).histogram(which) for number in limit.at_limit)
            curve = [(percentile, ms) for percentile, ms in percentile_curve(histogram) if 0 < percentile < 100]
            values += [{"workload": limit.workload, "timed": meaning, "nines": 1 / (1 - p / 100), "ms": max(ms, 0.01), "percentile": f"{p:g} %"}
                       for p, ms in curve]  # fmt: skip
            rows += [[limit.workload, which, f"{p:g} %", decimal(ms, 2)] for p, ms in curve]
    if not values:
        return None
    labels = "datum.value == 1 ? '0 %' : (100 - 100 / datum.value) + ' %'"
    axis = alt.Axis(values=[1, 2, 10, 100, 1000, 10000], labelExpr=labels, title="percentile")
    chart = alt.Chart(data(values)).mark_line().encode(
        x=alt.X("nines:Q", scale=alt.Scale(type="log"), axis=axis),
        y=alt.Y("ms:Q", scale=alt.Scale(type="log"), title="ms"),
        color=alt.Color("workload:N", scale=color_scale({name: color for name, color in colors.items() if any(v["workload"] == name for v in values)}),
                        legend=top_legend()),
        strokeDash=alt.StrokeDash("timed:N", sort=list(HISTOGRAMS.values()), legend=top_legend()),
        tooltip=["workload:N", "timed:N", "percentile:N", alt.Tooltip("ms:Q", format=".3f")],
    )  # fmt: skip
    caption = (
        "The windows that held at the limit, or just below it. Where response and service part, requests waited before they were sent."
    )
    return Figure(
        "percentiles",
        "Latency at the limit, by percentile",
        caption,
        spec_of(chart),
        ["workload", "timed", "percentile", "ms"],
        rows,
        Section.LIMITS,
    )
