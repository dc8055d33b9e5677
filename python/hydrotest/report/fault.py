"""Figures and table of a fault: what was completed and what was in flight, with the moments of the service's absence marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hydrotest.lazy import Lazy
from hydrotest.report.charts import Figure, data, spec_of
from hydrotest.report.sheet import NONE, Sheet, decimal

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")


def fault_figures(summary: dict[str, Any]) -> list[Figure]:
    """One for each fault and workload."""
    return [
        _figure(number, fault, load)
        for number, fault in enumerate(summary.get("faults", []), 1)
        for load in fault["workloads"]
        if load["series"]
    ]


def _figure(number: int, fault: dict[str, Any], load: dict[str, Any]) -> Figure:
    x = alt.X("at_s:Q", title="seconds of the test")
    base = alt.Chart(data(load["series"])).encode(x=x)
    rate = base.mark_line(color="#2a9d8f").encode(y=alt.Y("rate:Q", title="completed a second"))
    backlog = base.mark_area(color="#e76f51", opacity=0.35).encode(y=alt.Y("in_flight:Q", title="in flight"))
    moments = [("struck_s", "taken away"), ("back_s", "brought back"), ("ready_s", "answers again")]
    marks = alt.Chart(data([{"at_s": fault[key], "what": what} for key, what in moments]))
    rules = marks.mark_rule(strokeDash=[4, 4], color="#7a8b99").encode(x="at_s:Q", tooltip="what:N")
    layers = alt.layer(backlog, rate, rules).resolve_scale(y="independent")
    rows = [[f"{point['at_s']:.1f}", f"{point['rate']:,.0f}", f"{point['in_flight']:,}"] for point in load["series"]]
    caption = (
        f"{fault['service']}: {fault['action']}. The line is what was completed, the area what was in flight. Dashed: taken away at "
        f"{fault['struck_s']:.1f} s, brought back at {fault['back_s']:.1f} s, answering again at {fault['ready_s']:.1f} s."
    )
    return Figure(f"fault-{number}-{load['workload']}", f"{load['workload']} while {fault['service']} was away", caption, spec_of(layers),
                  ["second", "completed/s", "in flight"], rows)  # fmt: skip


def fault_sheet(summary: dict[str, Any]) -> Sheet:
    """What a service's absence did to each workload."""
    rows = []
    for fault in summary.get("faults", []):
        for load in fault["workloads"]:
            found = load["recovery"] or {}
            p99 = [decimal((load["latency_ms"][phase] or {}).get("p99"), 1) for phase in ("before", "during", "after")]
            spans = [decimal(found.get(key), 1) for key in ("without_progress_s", "longest_stall_s", "recovered_s", "caught_up_s")]
            again = NONE if load["sent_again"] is None else f"{load['sent_again']:,}"
            rows.append([f"{fault['action']} {fault['service']}", load["workload"], *spans, *p99, f"{load['failed']:,}", again])
    heads = ["fault", "workload", "s without progress", "longest", "s until as before", "s catching up", "p99 ms before", "during", "after",
             "failed", "sent again"]  # fmt: skip
    return Sheet("Faults", heads, rows)
