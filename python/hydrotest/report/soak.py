"""Figures of a soak: rate and latency over its time, changes marked."""

from __future__ import annotations

from typing import Any

import altair as alt

from hydrotest.report.charts import Figure, data, spec_of


def soak_figures(summary: dict[str, Any]) -> list[Figure]:
    """One for each soak and workload."""
    return [
        _figure(number, load) for number, soak in enumerate(summary.get("soak", []), 1) for load in soak["workloads"] if load["buckets"]
    ]


def _figure(number: int, load: dict[str, Any]) -> Figure:
    values = [{"minute": b["at_s"] / 60, "p50": b["p50_ms"], "p99": b["p99_ms"], "rate": b["achieved"]} for b in load["buckets"]]
    x = alt.X("minute:Q", title="minutes of the soak")
    base = alt.Chart(data(values)).encode(x=x)
    layers: list[alt.Chart] = [
        base.mark_line(color="#e76f51").encode(
            y=alt.Y("p99:Q", title="response, ms (p99 above, median below)", scale=alt.Scale(type="log"))
        ),
        base.mark_line(color="#2a9d8f").encode(y="p50:Q"),
    ]
    marks = [
        {"minute": c["at_s"] / 60, "what": f"{c['metric'].replace('_ms', ' ms')}: {c['before']:,.3g} → {c['after']:,.3g}"}
        for c in load["changes"]
    ]
    if marks:
        layers.append(alt.Chart(data(marks)).mark_rule(strokeDash=[4, 4], color="#7a8b99").encode(x="minute:Q", tooltip="what:N"))
    rows = [[f"{v['minute']:.1f}", f"{v['rate']:,.0f}", _ms(v["p50"]), _ms(v["p99"])] for v in values]
    caption = "Each point is a stretch of the soak. Dashed lines mark where a level changed for good."
    return Figure(f"soak-{number}-{load['workload']}", f"{load['workload']} over the soak", caption, spec_of(alt.layer(*layers)),
                  ["minute", "achieved/s", "p50 ms", "p99 ms"], rows)  # fmt: skip


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
