"""Figures and table of a profile: what was due, what was completed, and how late, second by second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hydrotest.lazy import Lazy
from hydrotest.percentiles import BRIEF, heads
from hydrotest.report.figures.theme import FAILED, HELD, QUIET, Figure, data, spec_of
from hydrotest.report.table import NONE, Table, decimal, rate
from hydrotest.summary.base import Latency
from hydrotest.summary.model import Summary
from hydrotest.summary.profile import Profile
from hydrotest.units import show_rate

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")


def profile_figures(summary: Summary) -> list[Figure]:
    """One for each profile."""
    return [_figure(number, row) for number, row in enumerate(summary.profiles, 1) if row.series]


def _figure(number: int, row: Profile) -> Figure:
    base = alt.Chart(data([point.written() for point in row.series])).encode(x=alt.X("at_s:Q", title="seconds of the profile"))
    due = base.mark_line(color=QUIET, strokeDash=[5, 4], interpolate="step").encode(
        y=alt.Y("offered:Q", title="offered (dashed) and completed a second")
    )
    done = base.mark_line(color=HELD).encode(y="achieved:Q")
    late = base.mark_line(color=FAILED).encode(y=alt.Y("p99_ms:Q", title="p99 response, ms", scale=alt.Scale(type="log")))
    layers = alt.layer(alt.layer(due, done), late).resolve_scale(y="independent")
    cells = [
        [f"{p.at_s:.1f}", f"{p.offered:,.0f}", decimal(p.achieved, 0), decimal(p.p50_ms, 2), decimal(p.p99_ms, 2),
         decimal(p.in_flight, 0)]
        for p in row.series
    ]  # fmt: skip
    caption = "Dashed: what was due. Green: what was completed. Red, on the right: the p99 of what was due in each second."
    return Figure(f"profile-{number}-{row.workload}", f"{row.workload} at a rate that changes", caption, spec_of(layers),
                  ["second", "offered/s", "completed/s", "p50 ms", "p99 ms", "in flight"], cells)  # fmt: skip


def profile_sheet(summary: Summary) -> Table:
    """Each stretch."""
    rows = []
    for row in summary.profiles:
        for stretch in row.stretches:
            latency = stretch.latency_ms or Latency()
            course = rate(stretch.rate) if stretch.rate == stretch.end_rate else f"{rate(stretch.rate)} → {rate(stretch.end_rate)}"
            most = NONE if stretch.in_flight_max is None else f"{stretch.in_flight_max:,}"
            rows.append([row.workload, f"{stretch.from_s:.0f} … {stretch.to_s:.0f} s", course, rate(stretch.offered),
                         rate(stretch.achieved), *(decimal(latency.get(key), 2) for key in (*(one.name for one in BRIEF), "max")), most])  # fmt: skip
    columns = ["workload", "when", "rate", "offered mean", "achieved mean", *heads(every=False), "max ms", "most in flight"]
    return Table("Profile", columns, rows)


def profile_sentences(rows: Sequence[Profile]) -> list[str]:
    """What a changing rate cost at its worst."""
    out = []
    for row in rows:
        stated = [(s.latency_ms.p99, s) for s in row.stretches if s.latency_ms is not None and s.latency_ms.p99 is not None]
        if stated:
            p99, worst = max(stated, key=lambda one: one[0])
            rates = " to ".join(dict.fromkeys(show_rate(one) for one in (worst.rate, worst.end_rate)))
            out.append(
                f"{row.workload} at a rate that changes: p99 {p99:,.1f} ms at the worst, from second {worst.from_s:.0f} "
                f"to {worst.to_s:.0f}, at {rates}/s."
            )
    return out
