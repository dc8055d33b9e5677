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

CHARACTER = 6.8
"""Pixels of a character of a label, at most."""
SAMPLES = 24
"""Points along each flow."""
LEAST = 0.04
"""A flow of records that did not arrive once is drawn at least so high, as a share of all: one lost record is seen."""
GAP = 0.06
"""Between the bands of two sinks."""
ONCE, LOST = "arrived once", "lost"
FATES = {ONCE: HELD, "arrived more than once": PALETTE[1], "in flight": QUIET, LOST: FAILED}
Stages = dict[str, dict[str, list[Step]]]
"""The steps of a dataflow by hop and sink, in their order."""


def account_figures(summary: Summary) -> list[Figure]:
    """One for each dataflow, with the records of all its trials."""
    by_workload: dict[str, Stages] = {}
    for step in summary.dataflow:
        by_workload.setdefault(step.workload, {}).setdefault(step.hop, {}).setdefault(step.sink or "", []).append(step)
    return [figure for workload, stages in by_workload.items() if (figure := _figure(workload, stages)) is not None]


def _fates(steps: Sequence[Step]) -> dict[str, int]:
    """Of the acknowledged records: how many had which fate at a step."""
    found = {
        ONCE: sum(step.arrived_once for step in steps),
        "arrived more than once": sum(step.arrived_more for step in steps),
        "in flight": sum(step.in_flight for step in steps),
        LOST: sum(step.lost for step in steps),
    }
    return {name: count for name, count in found.items() if count or name in (ONCE, LOST)}


def _figure(workload: str, stages: Stages) -> Figure | None:
    acked = sum(step.acked for own in next(iter(stages.values())).values() for step in own)
    if not acked:
        return None
    flows: list[dict[str, Any]] = []
    labels: list[dict[str, Any]] = [{"x": 0.0, "y": 0.15, "text": f"{acked:,} acknowledged"}]
    table = []
    for index, (hop, sinks) in enumerate(stages.items()):
        # Each sink of a step gets all records: its band is as wide as its share of the drawing.
        for at, (sink, steps) in enumerate(sinks.items()):
            name, fates = f"{hop} → {sink}" if sink else hop, _fates(steps)
            band = (at / len(sinks), (at + 1) / len(sinks))
            begins, ends = _edges(fates, band, 0.0), _edges(fates, band, GAP if len(sinks) > 1 else 0.0)
            for fate, end in ends.items():
                flows += _flow(f"{name}-{fate}", fate, index, begins[fate], end)
            pinned = f"{f'→ {sink}' if sink else hop}: {fates[ONCE]:,} once, " + (f"{fates[LOST]:,} LOST" if fates[LOST] else "0 lost")
            labels.append({"x": float(index + 1), "y": (band[0] + band[1]) / 2, "text": pinned})
            there = sum(fates.values()) or 1
            table += [[name, fate, f"{count:,}", f"{count / there:.4%}"] for fate, count in fates.items()]
    none = alt.Axis(labels=False, ticks=False, domain=False, grid=False, title=None)
    present = {name: color for name, color in FATES.items() if any(flow["fate"] == name for flow in flows)}
    x = alt.X("x:Q", axis=none, scale=alt.Scale(domain=[-0.02, len(stages) + 0.02], nice=False))
    chart = alt.layer(
        alt.Chart(data(flows)).mark_area(opacity=0.55).encode(
            x=x, y=alt.Y("low:Q", axis=none, scale=alt.Scale(zero=False)), y2="high:Q", detail="flow:N",
            color=alt.Color("fate:N", scale=color_scale(present), legend=top_legend()),
        ),
        alt.Chart(data(labels[:1])).mark_text(align="left", dx=6, fontWeight=600).encode(x="x:Q", y="y:Q", text="text:N"),
        alt.Chart(data(labels[1:])).mark_text(align="right", dx=-6, fontWeight=600).encode(x="x:Q", y="y:Q", text="text:N"),
    )  # fmt: skip
    least = round(len(stages) * CHARACTER * (2 + max(len(label["text"]) for label in labels)))
    caption = "Each acknowledged record, step by step. What is not found is drawn wider than it is, so that a single one is seen."
    return Figure(f"account-{workload}", f"Where the records of {workload} went", caption, spec_of(chart, 90 + 50 * max(map(len, stages.values())), least),
                  ["step", "fate", "records", "share"], table, Section.DATAFLOW)  # fmt: skip


def _edges(fates: dict[str, int], band: tuple[float, float], gap: float) -> dict[str, tuple[float, float]]:
    """Where the flow of each fate lies in its band, but for a gap: what is lost above, each at least so high that it is seen."""
    there, width = sum(fates.values()) or 1, (band[1] - band[0]) * (1 - gap)
    rest = {fate: max(count / there, LEAST) * width for fate, count in fates.items() if count and fate != ONCE}
    found = {ONCE: (band[0], band[0] + max(width - sum(rest.values()), 0.0))}
    at = found[ONCE][1]
    for fate, height in rest.items():
        found[fate] = (at, at + height)
        at += height
    return found


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
