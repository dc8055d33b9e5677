"""Figures and table of a fault: what was completed and what was in flight, with the moments of the service's
absence marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hydrotest.lazy import Lazy
from hydrotest.report.figures.theme import PALETTE, QUIET, Figure, data, spec_of
from hydrotest.report.table import NONE, Table, decimal
from hydrotest.summary.fault import Fault, FaultWorkload
from hydrotest.summary.model import Summary

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")


def fault_figures(summary: Summary) -> list[Figure]:
    """One for each fault and workload."""
    return [_figure(number, fault, load) for number, fault in enumerate(summary.faults, 1) for load in fault.workloads if load.series]


def _figure(number: int, fault: Fault, load: FaultWorkload) -> Figure:
    x = alt.X("at_s:Q", title="seconds of the test", scale=alt.Scale(domainMin=0, nice=False))
    base = alt.Chart(data([point.written() for point in load.series])).encode(x=x)
    rate = base.mark_line(color=PALETTE[0]).encode(y=alt.Y("rate:Q", title="completed a second"))
    backlog = base.mark_area(color=PALETTE[1], opacity=0.35).encode(y=alt.Y("in_flight:Q", title="in flight"))
    moments = [(fault.struck_s, "taken away"), (fault.back_s, "brought back"), (fault.ready_s, "answers again")]
    marks = alt.Chart(data([{"at_s": at_s, "what": what} for at_s, what in moments]))
    rules = marks.mark_rule(strokeDash=[4, 4], color=QUIET).encode(x="at_s:Q", tooltip="what:N")
    layers = alt.layer(backlog, rate, rules).resolve_scale(y="independent")
    rows = [[f"{point.at_s:.1f}", f"{point.rate:,.0f}", f"{point.in_flight:,}"] for point in load.series]
    caption = (
        f"{fault.service}: {fault.action}. The line is what was completed, the area what was in flight. Dashed: taken away at "
        f"{fault.struck_s:.1f} s, brought back at {fault.back_s:.1f} s, answering again at {fault.ready_s:.1f} s."
    )
    return Figure(f"fault-{number}-{load.workload}", f"{load.workload} while {fault.service} was away", caption, spec_of(layers),
                  ["second", "completed/s", "in flight"], rows)  # fmt: skip


def fault_sheet(summary: Summary) -> Table:
    """What a service's absence did to each workload."""
    rows = []
    for fault in summary.faults:
        for load in fault.workloads:
            found, phases = load.recovery, load.latency_ms
            p99 = [decimal(None if latency is None else latency.p99, 1) for latency in (phases.before, phases.during, phases.after)]
            seconds = [found.without_progress_s, found.longest_stall_s, found.recovered_s, found.caught_up_s] if found else [None] * 4
            spans = [decimal(one, 1) for one in seconds]
            again = NONE if load.sent_again is None else f"{load.sent_again:,}"
            rows.append([f"{fault.action} {fault.service}", load.workload, *spans, *p99, f"{load.failed:,}", again])
    heads = ["fault", "workload", "s without progress", "longest", "s until as before", "s catching up", "p99 ms before", "during", "after",
             "failed", "sent again"]  # fmt: skip
    return Table("Faults", heads, rows)


TAKEN_AWAY = {
    "kill": "killed", "stop": "stopped in good order", "pause": "paused", "cut": "cut off from the others",
    "mute": "silenced, so that nothing that it sent arrived", "deafen": "made deaf, so that nothing that was sent to it arrived",
    "slow": "left with a tenth of its link", "fill": "left without room on its disk", "roll": "restarted service by service",
}  # fmt: skip


def fault_sentences(rows: Sequence[Fault]) -> list[str]:
    """What a service's absence cost."""
    return [
        f"{row.service} was {TAKEN_AWAY[row.action]} and answered again after {row.ready_s - row.struck_s:.1f} s: "
        + "".join(f"{one} ended by it and was started again; " for one in row.ended)
        + "; ".join(_recovered(load) for load in row.workloads) + "."
        for row in rows
    ]  # fmt: skip


def _recovered(load: FaultWorkload) -> str:
    found = load.recovery
    failed = f", {load.failed:,} operations failed" if load.failed else ""
    if found is None:
        return f"{load.workload} completed nothing before it, so nothing can be compared{failed}"
    if found.recovered_s == 0:
        return f"{load.workload} went on undisturbed{failed}"
    stood = found.without_progress_s
    stalled = f"{load.workload} completed nothing for {stood:.1f} s" if stood else f"{load.workload} never stopped, but fell behind"
    if found.recovered_s is None:
        return f"{stalled} and had not caught up when the test ended{failed}"
    return f"{stalled} and was back after {found.recovered_s:.1f} s, {found.caught_up_s:.1f} s of them catching up{failed}"
