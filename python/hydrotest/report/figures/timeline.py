"""The run over its time: what was tried when, what came of it, and how full each host's resources were meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from hydrotest.analysis.limits.decided import Decided
from hydrotest.lazy import Lazy
from hydrotest.report.figures.hosts import loopback_words
from hydrotest.report.figures.readings import HostReadings
from hydrotest.report.figures.theme import (
    EXCUSED,
    FAILED,
    FAINT,
    HELD,
    PALETTE,
    Figure,
    color_scale,
    data,
    spec_of,
    top_legend,
)
from hydrotest.report.sections import Section
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial
from hydrotest.summary.model import Summary

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")

LANE = 24
"""Pixels of a lane."""
HOSTS_MAX = 12
"""More hosts than that are drawn in the heat map only, the busiest ones here."""
KINDS = {
    "warm-up": FAINT,
    "held": HELD,
    "failed": FAILED,
    "excused": EXCUSED,
    "squeeze": PALETTE[3],
    "fault": PALETTE[1],
    "measured": PALETTE[0],
}
"""Of a trial: what it was for, or what came of it."""


def timeline_figure(readings: Sequence[HostReadings], summary: Summary, trials: Sequence[Trial], decided: Decided) -> Figure | None:
    """A lane for each workload with its trials, and below it a lane for each host with its CPU."""
    if not trials:
        return None
    start = min(trial.prepared_wall_s for trial in trials)
    bars = [bar for trial in trials for bar in _bars(trial, decided, summary, start)]
    lanes = list(dict.fromkeys(bar["lane"] for bar in bars))
    cells = [cell | {"row": f"{cell['host']} cpu"} for cell in _cells(readings) if cell["resource"] == "cpu"]
    hosts = _busiest(cells)
    cells = [cell for cell in cells if cell["row"] in hosts]
    order = [*lanes, *hosts]
    y = alt.Y("lane:N", title=None, sort=order, scale=alt.Scale(domain=order), axis=alt.Axis(labelLimit=160))
    present = {name: color for name, color in KINDS.items() if any(bar["was"] == name for bar in bars)}
    marks = [
        {"minute": round((wall_s - start) / 60, 3), "what": what}
        for trial in trials if trial.fault is not None
        for wall_s, what in ((trial.fault.struck_wall_s, f"{trial.fault.action} {trial.fault.service}"), (trial.fault.ready_wall_s, f"{trial.fault.service} answers"))
    ]  # fmt: skip
    layers: list[Any] = [
        alt.Chart(data(bars)).mark_bar(height=LANE - 8, cornerRadius=2).encode(
            x=alt.X("from:Q", title="minutes since the first trial"), x2="to:Q", y=y,
            color=alt.Color("was:N", scale=color_scale(present), legend=top_legend()),
            tooltip=["trial:O", "what:N", "was:N", alt.Tooltip("why:N", title="because")],
        ),
        alt.Chart(data([cell | {"lane": cell["row"]} for cell in cells])).mark_rect().encode(
            x="from:Q", x2="to:Q", y=y,
            fill=alt.Fill("share:Q", title="share of ceiling", scale=_heat_scale(), legend=alt.Legend(orient="top", format="%", gradientLength=120)),
            tooltip=["row:N", alt.Tooltip("share:Q", format=".0%")],
        ),
    ]  # fmt: skip
    if marks:
        layers.append(
            alt.Chart(data(marks)).mark_rule(color="var(--ink)", strokeDash=[3, 3], strokeWidth=1.5).encode(x="minute:Q", tooltip="what:N")
        )
    rows = [
        [bar["trial"], bar["lane"], bar["what"], f"{bar['from']:.2f}", f"{bar['to']:.2f}", bar["was"], bar["why"] or "–"] for bar in bars
    ]
    chart = alt.layer(*layers).resolve_scale(color="independent", fill="independent")
    left_out = len({host.name for host in summary.hosts}) - len(hosts)
    caption = "Each bar is a trial; the strips below show how much of its cores each host used." + (
        f" {left_out} less busy hosts are in the next figure only." if left_out > 0 and hosts else ""
    )
    return Figure("timeline", "What ran when", caption, spec_of(chart, LANE * len(order)),
                  ["trial", "workload", "for", "from minute", "to minute", "outcome", "because"], rows, Section.USAGE)  # fmt: skip


def _bars(trial: Trial, decided: Decided, summary: Summary, start: float) -> list[dict[str, Any]]:
    begin, end = (trial.prepared_wall_s - start) / 60, (trial.ended_wall_s - start) / 60
    return [
        {"lane": load.workload, "from": round(begin, 3), "to": round(end, 3), "trial": str(trial.number), **_was(trial, load.workload, decided, summary),
         "what": trial.purpose.value + (f" at {load.offered:,.0f}/s" if load.offered is not None else "")}
        for load in trial.loads
    ]  # fmt: skip


def _was(trial: Trial, workload: str, decided: Decided, summary: Summary) -> dict[str, str]:
    """What a trial was, and why it did not hold for this workload."""
    kinds = {
        Purpose.WARM_UP: "warm-up",
        Purpose.POPULATE: "warm-up",
        Purpose.PREFILL: "warm-up",
        Purpose.SQUEEZE: "squeeze",
        Purpose.FAULT: "fault",
    }
    if trial.status == "failed":
        return {"was": "excused", "why": trial.reason or ""}
    if trial.purpose in kinds:
        return {"was": kinds[trial.purpose], "why": ""}
    points = [(curve.workload, point) for curve in summary.curves for point in curve.points if point.trial == trial.number]
    judged = decided.of_trial(trial.number)
    why = "; ".join(reason for name, point in points if name == workload for reason in point.reasons)
    if judged is not None and judged.excused:
        return {"was": "excused", "why": why}
    if judged is None and not points:
        return {"was": "measured", "why": ""}
    held = judged.accepted if judged is not None else all(point.accepted for _, point in points)
    return {"was": "held" if held else "failed", "why": "" if held else why or "another workload did not hold"}


def heat_figure(readings: Sequence[HostReadings], summary: Summary) -> Figure | None:
    """Resource × time for every host: how much of each ceiling was used."""
    cells = _cells(readings)
    if not cells:
        return None
    order = list(dict.fromkeys(f"{cell['host']} {cell['resource']}" for cell in cells))
    values = [
        {"row": f"{cell['host']} {cell['resource']}", "from": cell["from"], "to": cell["to"], "share": cell["share"]} for cell in cells
    ]
    chart = alt.Chart(data(values)).mark_rect().encode(
        x=alt.X("from:Q", title="minutes since the first trial"), x2="to:Q", y=alt.Y("row:N", title=None, sort=order, axis=alt.Axis(labelLimit=180)),
        color=alt.Color("share:Q", title="share of ceiling", scale=_heat_scale(), legend=alt.Legend(orient="top", format="%", gradientLength=120)),
        tooltip=["row:N", alt.Tooltip("from:Q", title="minute", format=".1f"), alt.Tooltip("share:Q", format=".0%")],
    )  # fmt: skip
    table = []
    for row in order:
        found = pl.Series([value["share"] for value in values if value["row"] == row])
        quantiles = [found.mean(), found.quantile(0.95), found.max()]
        host, _, resource = row.partition(" ")
        table.append([host, resource, *(f"{q:.0%}" if isinstance(q, int | float) else "–" for q in quantiles)])
    caption = f"Shares of what each resource was measured to give.{loopback_words(summary.hosts)}"
    return Figure("heat", "Which resource was used when", caption, spec_of(chart, max(60, 20 * len(order))),
                  ["host", "resource", "mean", "95th percentile", "peak"], table, Section.USAGE)  # fmt: skip


def _heat_scale() -> alt.Scale:
    return alt.Scale(scheme="yelloworangered", domain=[0, 1], clamp=True)


def _busiest(cells: Sequence[dict[str, Any]]) -> list[str]:
    """The rows that were used most, in the order of the experiment."""
    total: dict[str, float] = {}
    for cell in cells:
        total[cell["row"]] = total.get(cell["row"], 0.0) + cell["share"]
    kept = sorted(total, key=lambda row: -total[row])[:HOSTS_MAX]
    return [row for row in total if row in kept]


def _cells(readings: Sequence[HostReadings]) -> list[dict[str, Any]]:
    """The used share of each resource of each host, averaged over a cell of the time axis."""
    return [
        {
            "host": own.host,
            "resource": resource.name,
            "from": round(cell * own.cell_min, 3),
            "to": round((cell + 1) * own.cell_min, 3),
            "share": round(value / resource.ceiling, 3),
        }
        for own in readings
        for resource in own.resources
        if resource.ceiling
        for cell, value in own.cells.select("cell", resource.column).drop_nulls().iter_rows()
    ]
