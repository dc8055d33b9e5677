"""What a figure is, and what all of them share: colours, sizes, how rows are given to Altair.

Colours have a contrast of 3 to the page in light and in dark, and can be told apart by people who do not see red and
green; what held, failed or was excused has a shape of its own, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from hydrotest.lazy import Lazy
from hydrotest.report.sections import Section

if TYPE_CHECKING:
    import altair as alt
else:
    alt = Lazy("altair")

POINTS_MAX = 600
"""Points along a time axis, however long the run was."""
SERIES_MAX = 5
"""Of more series than that, each has fewer points, so that a run of many hosts has a page that loads at once."""
PALETTE = ("#2a7fc1", "#cf7208", "#14916c", "#a45fb2", "#b98900", "#2b93a8", "#8a6d5b", "#6f7f8c")
"""Of workloads, in the order of the experiment; more of them begin anew."""
HELD, FAILED, EXCUSED, QUIET, FAINT = "#14916c", "#d1495b", "#8a8f98", "#7d8790", "#b8bec6"
OUTCOMES = {"held": HELD, "failed": FAILED, "excused": EXCUSED}
SHAPES = {"held": "circle", "failed": "cross", "excused": "diamond"}
HEIGHT = 260
"""Pixels of a figure's plot."""

Spec = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """A chart, what it shows in a sentence, its table, and the question that it belongs to."""

    slug: str
    title: str
    caption: str
    spec: Spec
    heads: list[str]
    rows: list[list[str]]
    section: Section = Section.TRIALS


def colors_of(workloads: Iterable[str]) -> dict[str, str]:
    """The colour of each workload, the same in all figures."""
    return {name: PALETTE[index % len(PALETTE)] for index, name in enumerate(dict.fromkeys(workloads))}


def color_scale(colors: Mapping[str, str]) -> alt.Scale:
    """Names with their own colours."""
    return alt.Scale(domain=list(colors), range=list(colors.values()))


def top_legend(title: str | None = None) -> alt.Legend:
    """Above the plot, so that it takes none of its width."""
    return alt.Legend(orient="top", title=title)


def data(values: list[dict[str, Any]]) -> alt.InlineData:
    """Rows as a chart takes them."""
    # Altair checks each row against its schema of data, which takes longer than all else.
    with alt.utils.schemapi.debug_mode(False):
        return alt.InlineData(values=values)


def spec_of(chart: alt.Chart | alt.LayerChart | alt.FacetChart, height: int = HEIGHT, least: int = 0) -> Spec:
    """As wide as the page, which sets the width when it draws; on one that is narrower than `least` pixels it is scrolled."""
    spec: Spec = chart.properties(width="container", height=height).to_dict()
    return spec | ({"usermeta": {"minWidth": least}} if least else {})


def rows_high(count: int) -> int:
    """Height of a plot with so many named rows."""
    return max(60, 30 * count)


def over_trials(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """All readings of a run, in order."""
    kept = [frame for frame in frames if not frame.is_empty()]
    return pl.concat(kept, how="diagonal").sort("wall_s") if kept else pl.DataFrame()


def thinned(frame: pl.DataFrame, series: int = 1) -> pl.DataFrame:
    """At most `POINTS_MAX` rows, each the mean of its neighbours; fewer if it is one of many series."""
    step = math.ceil(frame.height * max(1, series / SERIES_MAX) / POINTS_MAX)
    if step <= 1:
        return frame
    numeric = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    return frame.with_row_index("row").group_by(pl.col("row") // step, maintain_order=True).agg(pl.col(numeric).mean()).drop("row")
