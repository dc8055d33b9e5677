"""A simulated course over its time: what was asked for and served, what waited, how full hosts and disks were, and what happened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from hydrotest.lazy import Lazy
from hydrotest.predict.simulation.outcome import Simulated, What, behind_column
from hydrotest.report.figures.alone import page_of
from hydrotest.report.figures.theme import FAILED, HELD, PALETTE, QUIET, data, thinned
from hydrotest.report.simulation import WORDS, moment
from hydrotest.units import show_count

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")

WIDTH, HEIGHT = 900, 130
DAY_S, HOUR_S = 86_400.0, 3600.0
MARKS_MAX = 200
COLORS = {
    What.MISSED: FAILED,
    What.MET: HELD,
    What.FAILED: PALETTE[1],
    What.CUT: PALETTE[1],
    What.RESTARTED: PALETTE[1],
    What.DISK_FULL: FAILED,
    What.SPENT: PALETTE[4],
}


def course_page(found: Simulated, series: pl.DataFrame) -> str:
    """A page that needs no network."""
    unit, name = (DAY_S, "days") if found.seconds >= 3 * DAY_S else (HOUR_S, "hours") if found.seconds >= 3 * HOUR_S else (60.0, "minutes")
    frame = thinned(series.with_columns((pl.col("seconds") / unit).alias("at")))
    marks = data([{"at": one.at_s / unit, "when": moment(one.at_s), "what": WORDS[one.what], "where": one.subject, "color": COLORS.get(one.what, QUIET)}
                  for one in found.happenings[:MARKS_MAX]])  # fmt: skip
    x = alt.X("at:Q", title=name, scale=alt.Scale(domain=[0, found.seconds / unit], nice=False))
    rules = (
        alt.Chart(marks)
        .mark_rule(strokeDash=[3, 3])
        .encode(x=x, color=alt.Color("color:N", scale=None), tooltip=["when:N", "what:N", "where:N"])
    )
    panels = [alt.layer(_lines(frame, columns, x, title, form), rules).properties(width=WIDTH, height=HEIGHT, title=head)
              for head, title, columns, form in _panels(found, frame)]  # fmt: skip
    chart = alt.vconcat(*panels, title=f"{found.name}: {show_count(found.hosts, 'host')}").resolve_scale(color="independent", x="shared")
    return page_of(chart)


def _panels(found: Simulated, frame: pl.DataFrame) -> Iterator[tuple[str, str, dict[str, str], str]]:
    """Title, axis, columns by name, and the form of figures."""
    for row in found.workloads:
        own = row.workload
        yield f"{own}: asked for and served", "operations a second", {"asked for": f"{own} offered", "served": f"{own} served"}, "~s"
        if row.backlog_max > 0:
            yield f"{own}: how long the oldest waits", "seconds", {"wait": f"{own} wait_s"}, "~s"
    shares = {name: name for name in frame.columns if name.rpartition(" ")[2] in ("cpu", "network", "disk")}
    if shares:
        yield "The fullest host", "of what it has", shares, "%"
    left = {name.removesuffix(" burst"): name for name in frame.columns if name.endswith(" burst")}
    if left:
        yield "Bursts: what the host with least has left", "share", left, "%"
    behind = {row.system: behind_column(row.system) for row in found.compaction if row.most_s > 0}
    if behind:
        yield "Compaction: how long the host most behind would rewrite", "seconds", behind, "~s"
    fills = {name.removesuffix(" fill"): name for name in frame.columns if name.endswith(" fill")}
    if fills:
        yield "The fullest disk", "share", fills, "%"


def _lines(frame: pl.DataFrame, columns: dict[str, str], x: Any, title: str, form: str) -> Any:
    rows = [
        {"at": at, "of": name, "value": value}
        for name, column in columns.items()
        for at, value in frame.select("at", column).drop_nulls().iter_rows()
    ]
    return alt.Chart(data(rows)).mark_line(strokeWidth=1.5).encode(
        x=x, y=alt.Y("value:Q", title=title, axis=alt.Axis(format=form)),
        color=alt.Color("of:N", title=None, scale=alt.Scale(domain=list(columns), range=[PALETTE[at % len(PALETTE)] for at in range(len(columns))])),
        tooltip=["of:N", alt.Tooltip("value:Q", format=".4~s")],
    )  # fmt: skip
