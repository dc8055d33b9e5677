"""Where each record of a dataflow went: a Sankey diagram of its steps, with what was lost drawn out.

Vega-Lite has no such mark: a flow is an area between two smooth edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hydrotest.lazy import Lazy
from hydrotest.report.figures.theme import FAILED, HELD, PALETTE, QUIET, Figure, color_scale, data, spec_of, top_legend
from hydrotest.report.sections import Section
from hydrotest.summary.dataflow import Step
from hydrotest.summary.model import Summary

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")

SAMPLES = 24
"""Points along each flow."""
LEAST = 0.02
"""A flow of records that are not there is drawn at least so wide, as a share of all: one lost record is seen."""
FATES = {"arrived once": HELD, "arrived more than once": PALETTE[1], "in flight": QUIET, "lost": FAILED}


def account_figures(summary: Summary) -> list[Figure]:
    """One for each dataflow, with the records of all its trials."""
    by_workload: dict[str, dict[str, list[Step]]] = {}
    for step in summary.dataflow:
        by_workload.setdefault(step.workload, {}).setdefault(step.hop, []).append(step)
    return [figure for workload, hops in by_workload.items() if (figure := _figure(workload, hops)) is not None]


def _fates(steps: Sequence[Step]) -> dict[str, int]:
    """Of the acknowledged records: how many had which fate at a step."""
    found = {
        "arrived once": sum(step.arrived_once for step in steps),
        "arrived more than once": sum(step.arrived_more for step in steps),
        "in flight": sum(step.in_flight for step in steps),
        "lost": sum(step.lost for step in steps),
    }
    return {name: count for name, count in found.items() if count or name in ("arrived once", "lost")}


def _figure(workload: str, hops: dict[str, list[Step]]) -> Figure | None:
    acked = sum(step.acked for step in next(iter(hops.values())))
    if not acked:
        return None
    flows: list[dict[str, Any]] = []
    labels: list[dict[str, Any]] = [{"x": 0.0, "y": 0.15, "text": f"{acked:,} acknowledged"}]
    table = []
    before = {"arrived once": (0.0, 1.0)}
    for index, (hop, steps) in enumerate(hops.items(), 1):
        fates = _fates(steps)
        there = sum(fates.values()) or 1
        after: dict[str, tuple[float, float]] = {}
        at = 0.0
        for fate, count in fates.items():
            height = max(count / there, LEAST if count else 0.0)
            after[fate] = (at, at + height)
            at += height + (0.03 if count else 0.0)
        for fate, (low, high) in after.items():
            if high > low:
                source = before.get(fate, before["arrived once"])
                share = min(high - low, source[1] - source[0])
                begin = source if fate in before else (source[1] - share, source[1])
                flows += _flow(f"{index}-{fate}", fate, index - 1, begin, (low, high))
        pinned = f"{hop}: {fates['arrived once']:,} once" + (f", {fates['lost']:,} LOST" if fates["lost"] else ", 0 lost")
        labels.append({"x": float(index), "y": (after["arrived once"][0] + after["arrived once"][1]) / 2, "text": pinned})
        table += [[hop, fate, f"{count:,}", f"{count / there:.4%}"] for fate, count in fates.items()]
        before = {fate: edges for fate, edges in after.items() if edges[1] > edges[0]} | {"arrived once": after["arrived once"]}
    none = alt.Axis(labels=False, ticks=False, domain=False, grid=False, title=None)
    present = {name: color for name, color in FATES.items() if any(flow["fate"] == name for flow in flows)}
    x = alt.X("x:Q", axis=none, scale=alt.Scale(domain=[-0.02, len(hops) + 0.02], nice=False))
    chart = alt.layer(
        alt.Chart(data(flows)).mark_area(opacity=0.55).encode(
            x=x, y=alt.Y("low:Q", axis=none, scale=alt.Scale(zero=False)), y2="high:Q", detail="flow:N",
            color=alt.Color("fate:N", scale=color_scale(present), legend=top_legend()),
        ),
        alt.Chart(data(labels[:1])).mark_text(align="left", dx=6, fontWeight=600).encode(x="x:Q", y="y:Q", text="text:N"),
        alt.Chart(data(labels[1:])).mark_text(align="right", dx=-6, fontWeight=600).encode(x="x:Q", y="y:Q", text="text:N"),
    )  # fmt: skip
    caption = "Each acknowledged record, step by step. What is not found is drawn wider than it is, so that a single one is seen."
    return Figure(f"account-{workload}", f"Where the records of {workload} went", caption, spec_of(chart, 160),
                  ["step", "fate", "records", "share"], table, Section.DATAFLOW)  # fmt: skip


def _flow(name: str, fate: str, at: int, begin: tuple[float, float], end: tuple[float, float]) -> list[dict[str, Any]]:
    """An area that goes smoothly from one edge to the other."""
    points = []
    for number in range(SAMPLES + 1):
        share = number / SAMPLES
        smooth = share * share * (3 - 2 * share)
        points.append({
            "flow": name, "fate": fate, "x": round(at + share, 4),
            "low": round(begin[0] + (end[0] - begin[0]) * smooth, 5), "high": round(begin[1] + (end[1] - begin[1]) * smooth, 5),
        })  # fmt: skip
    return points
