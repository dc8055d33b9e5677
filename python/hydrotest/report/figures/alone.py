"""Figures that are pages of their own, beside an answer on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import vl_convert

from hydrotest.lazy import Lazy
from hydrotest.predict.answer import Answer
from hydrotest.predict.plan import Size
from hydrotest.report.figures.theme import HEIGHT, PALETTE, colors_of, data
from hydrotest.report.wording.prediction import resource_words
from hydrotest.units import show_names, show_rate

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")

VEGA_LITE = "6.4"
WIDTH = 760


def page_of(chart: alt.TopLevelMixin) -> str:
    """A page that needs no network."""
    page: str = vl_convert.vegalite_to_html(chart.to_dict(), vl_version=VEGA_LITE, bundle=True)
    return page


def plans_page(found: Size) -> str:
    """What each plan costs, over the headroom that it has."""
    rows = [
        {"plan": " + ".join(f"{part.count} × {part.machine}" for part in plan.parts), "usd": round(plan.usd_month), "headroom": plan.headroom,
         "family": show_names(sorted({part.machine.partition(".")[0] for part in plan.parts})),
         "binds": ", ".join(f"{resource_words(part.binds)} of {', '.join(part.systems)}" for part in plan.parts)}
        for plan in found.plans
    ]  # fmt: skip
    needs = ", ".join(f"{name} {show_rate(rate)}/s" for name, rate in found.needs.items())
    chart = alt.Chart(data(rows)).mark_point(filled=True, size=110).encode(
        x=alt.X("headroom:Q", title="how much more than the need it carries", axis=alt.Axis(format="%"), scale=alt.Scale(zero=True)),
        y=alt.Y("usd:Q", title="USD a month", scale=alt.Scale(zero=True)),
        color=alt.Color("family:N", title=None, scale=alt.Scale(range=list(PALETTE))), shape=alt.Shape("family:N", title=None),
        tooltip=["plan:N", alt.Tooltip("usd:Q", format=",", title="USD a month"), alt.Tooltip("headroom:Q", format="+.0%"), "binds:N"],
    ).properties(width=WIDTH, height=HEIGHT * 1.5, title=f"What carries {needs}")  # fmt: skip
    return page_of(chart)


def capacity_page(answer: Answer) -> str:
    """The limit of each workload over the number of hosts: read the other way, how many hosts a load needs."""
    colors = colors_of(one.workload for one in answer.predictions)
    panels = []
    for one in answer.predictions:
        rows = [
            {"hosts": at.hosts, "limit": at.limit, "low": at.low, "high": at.high, "binds": resource_words(at.resource)}
            for at in one.capacity
        ]
        if len(rows) < 2:
            continue
        x = alt.X("hosts:Q", title=f"hosts of {one.binds.system}", axis=alt.Axis(tickMinStep=1, format="d"), scale=alt.Scale(zero=True))
        base, color = alt.Chart(data(rows)), colors[one.workload]
        now = next((at for at in one.capacity if at.hosts == one.at.get(f"{one.binds.system}.hosts")), None)
        up = alt.Y("low:Q", title=f"{one.unit or 'operations'} a second", axis=alt.Axis(format="~s"))
        tips = ["hosts:Q", *(alt.Tooltip(f"{name}:Q", format=",.3r") for name in ("limit", "low", "high")), "binds:N"]
        layers = [
            base.mark_area(opacity=0.2, color=color).encode(x=x, y=up, y2="high:Q"),
            base.mark_line(color=color, point=True).encode(x=x, y="limit:Q", tooltip=tips),
        ]
        if now is not None:
            mark = data([{"hosts": now.hosts, "limit": now.limit}])
            layers.append(alt.Chart(mark).mark_point(size=160, color=color, strokeWidth=2).encode(x=x, y="limit:Q"))
        panels.append(
            alt.layer(*layers).properties(
                width=WIDTH, height=HEIGHT, title=f"{one.workload}: limit with its 90 % interval; the ring is what was asked"
            )
        )
    return page_of(alt.vconcat(*panels))
