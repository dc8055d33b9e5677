"""What binds: what squeezes of each resource did to the rate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hydrotest.analysis.bottleneck.squeeze import BINDS
from hydrotest.lazy import Lazy
from hydrotest.report.bounds import NAMES
from hydrotest.report.figures.theme import EXCUSED, FAILED, PALETTE, QUIET, Figure, color_scale, data, rows_high, spec_of, top_legend
from hydrotest.report.sections import Section
from hydrotest.summary.limits import Job, Limit
from hydrotest.summary.model import Summary
from hydrotest.verdicts.binding import Role

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")

SHOWN = {Role.BINDS: "binds", Role.PART: "part of what binds", Role.SHARES: "shares the limit", Role.OUT: "ruled out", Role.OUT_ALONE: "ruled out",
         Role.UNKNOWN: "not known"}  # fmt: skip
COLORS = {"binds": FAILED, "part of what binds": PALETTE[1], "shares the limit": PALETTE[3], "ruled out": EXCUSED, "not known": QUIET}
OFF_SCALE = 3.0
"""Elasticities are drawn from -1 to this; what lies beyond is cut."""


def squeeze_figure(summary: Summary) -> Figure | None:
    """A forest plot: elasticity of the rate in each squeezed resource, with its 95 % interval and the threshold of binding."""
    values: list[dict[str, Any]] = []
    table = []
    bound: list[Limit | Job] = [*summary.limits, *summary.jobs]
    for row in bound:
        for one in row.bound_by.squeezed:
            hosts = " and ".join(one.hosts) if len(one.hosts) <= 3 else f"{len(one.hosts)} hosts"
            name = f"{row.workload}: {NAMES[one.resource]} of {hosts}"
            low, high = (one.low, one.high) if math.isfinite(one.low) else (one.value, one.value)
            values.append(
                {"what": name, "value": _cut(one.value), "low": _cut(low), "high": _cut(high), "finding": SHOWN[one.role], "blocks": one.n}
            )
            table.append(
                [row.workload, NAMES[one.resource], hosts, f"{one.value:.2f}", f"{low:.2f} … {high:.2f}", str(one.n), SHOWN[one.role]]
            )
    if not values:
        return None
    base = alt.Chart(data(values)).encode(
        y=alt.Y("what:N", title=None, sort=None, axis=alt.Axis(labelLimit=260)),
        color=alt.Color("finding:N", scale=color_scale({name: COLORS[name] for name in dict.fromkeys(v["finding"] for v in values)}), legend=top_legend()),
        tooltip=["what:N", alt.Tooltip("value:Q", format=".2f"), alt.Tooltip("low:Q", format=".2f"), alt.Tooltip("high:Q", format=".2f"), "finding:N", "blocks:Q"],
    )  # fmt: skip
    x = alt.X(
        "low:Q",
        title="elasticity: 1 = the rate falls as much as the resource",
        scale=alt.Scale(domainMin=min(-0.2, *(v["low"] for v in values))),
    )
    threshold = alt.Chart(data([{"at": BINDS, "label": f"binds above {BINDS:g}"}]))
    chart = alt.layer(
        threshold.mark_rule(strokeDash=[5, 4], color=QUIET).encode(x="at:Q"),
        threshold.mark_text(align="left", dx=4, baseline="top").encode(x="at:Q", y=alt.value(2), text="label:N"),
        base.mark_rule(size=3).encode(x=x, x2="high:Q"),
        base.mark_point(filled=True, size=90).encode(x="value:Q"),
    )
    heads = ["workload", "resource", "hosts", "elasticity", "95 % interval", "blocks", "finding"]
    caption = (
        "Each resource was taken away in part while the load ran. What binds lies to the right of the dashed line, with its whole interval."
    )
    return Figure(
        "squeezes", "What the rate depends on", caption, spec_of(chart, rows_high(len(values))), heads, table, Section.BOTTLENECKS
    )


def _cut(value: float) -> float:
    return min(max(value, -1.0), OFF_SCALE)
