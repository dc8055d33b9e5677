"""What happens together: how each workload's figures change next to the others, and up to which fraction each holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hydrotest.lazy import Lazy
from hydrotest.report.figures.theme import FAILED, QUIET, Figure, color_scale, data, rows_high, spec_of, top_legend
from hydrotest.report.sections import Section
from hydrotest.report.together import interference_sheet
from hydrotest.summary.model import Summary

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")

LEAST, MOST = 1e-2, 1e3
"""Ratios are drawn between these; what lies beyond is cut."""


def interference_figure(summary: Summary) -> Figure | None:
    """Dumbbells: alone at 1, next to the others at the ratio, with its 95 % interval."""
    rows = summary.interference
    if not rows:
        return None
    values = [
        {"what": f"{row.workload} {METRICS.get(row.metric, row.metric)}", "alone": 1.0, "change": _cut(1 + row.change_pct / 100),
         "low": _cut(1 + row.low_pct / 100), "high": _cut(1 + row.high_pct / 100), "isolated": row.isolated, "combined": row.combined,
         "finding": "changes" if row.significant else "no significant change"}
        for row in rows
    ]  # fmt: skip
    colors = {"changes": FAILED, "no significant change": QUIET}
    tooltip: list[alt.Tooltip | str] = [
        "what:N",
        alt.Tooltip("isolated:Q", format=",.4~g"),
        alt.Tooltip("combined:Q", format=",.4~g"),
        "finding:N",
    ]
    base = alt.Chart(data(values)).encode(
        y=alt.Y("what:N", title=None, sort=None, axis=alt.Axis(labelLimit=220)), tooltip=tooltip,
        color=alt.Color("finding:N", legend=top_legend(), scale=color_scale(colors)),
    )  # fmt: skip
    x = alt.X("alone:Q", scale=alt.Scale(type="log"), title="next to the others ÷ alone, at the same rates")
    chart = alt.layer(
        base.mark_rule(size=1, opacity=0.7).encode(x=alt.X("low:Q", scale=alt.Scale(type="log")), x2="high:Q"),
        base.mark_rule(size=5, opacity=0.55).encode(x=x, x2="change:Q"),
        base.mark_point(size=70, filled=False, strokeWidth=2).encode(x="alone:Q"),
        base.mark_point(size=100, filled=True).encode(x="change:Q"),
    )
    sheet = interference_sheet(summary)
    caption = "Hollow: alone. Full: next to the others; the thin line is its 95 % interval."
    return Figure(
        "interference",
        "How much each changes next to the others",
        caption,
        spec_of(chart, rows_high(len(values))),
        sheet.heads,
        sheet.rows,
        Section.TOGETHER,
    )


METRICS = {"achieved": "rate", "p50_ms": "median", "p99_ms": "p99"}


def _cut(ratio: float) -> float:
    return min(max(ratio, LEAST), MOST)


def fractions_figure(summary: Summary, colors: Mapping[str, str]) -> Figure | None:
    """Up to which fraction of what it reaches alone each workload holds, while all run at that fraction."""
    point = summary.safe_working_point
    known = [one for one in (point.workloads if point else []) if one.fraction is not None]
    if point is None or not known:
        return None
    values = [
        {"workload": one.workload, "fraction": one.fraction, "low": one.low, "high": one.high or one.fraction, "safe": one.safe}
        for one in known
    ]
    base = alt.Chart(data(values)).encode(
        y=alt.Y("workload:N", title=None, sort=None),
        color=alt.Color("workload:N", legend=None, scale=color_scale({one.workload: colors.get(one.workload, QUIET) for one in known})),
        tooltip=["workload:N", *(alt.Tooltip(f"{name}:Q", format=".0%") for name in ("fraction", "low", "high", "safe"))],
    )  # fmt: skip
    x = alt.X("low:Q", title="share of what it holds alone", axis=alt.Axis(format="%"), scale=alt.Scale(domainMin=0))
    rule = alt.Chart(data([{"at": point.fraction}])).mark_rule(strokeDash=[5, 4], color=QUIET).encode(x="at:Q")
    chart = alt.layer(
        rule, base.mark_rule(size=4).encode(x=x, x2="high:Q"), base.mark_point(filled=True, size=110).encode(x="fraction:Q"),
        base.mark_tick(thickness=2, size=16).encode(x="safe:Q"),
    )  # fmt: skip
    heads = ["workload", "holds up to", "90 % interval", "safe"]
    rows = [
        [one.workload, f"{one.fraction:.0%}", f"{one.low:.0%} … {one.high:.0%}" if one.low is not None and one.high is not None else "–",
         "–" if one.safe is None else f"{one.safe:.0%}"]
        for one in known
    ]  # fmt: skip
    caption = (
        "Points: where half of its own windows hold, with the interval; ticks: where it is safe; dashed: where all hold. "
        "What reads another's records runs at that one's share."
    )
    return Figure("fractions", "Who gives way first", caption, spec_of(chart, rows_high(len(values))), heads, rows, Section.TOGETHER)
