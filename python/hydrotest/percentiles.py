"""All percentiles: of objectives, of measurements, and in tables. A new one needs a line here, and `make docs`,
which writes docs/reference/experiment.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Percentile:
    """One percentile of a latency."""

    name: str
    """Its key in an objective, and in summary.json."""
    percent: float
    words: str
    """Its meaning, in a sentence."""
    head: str = ""
    """Above a column of its own; its name if not given."""
    is_brief: bool = True
    """Shown in each table; else only in those that show all."""

    @property
    def label(self) -> str:
        """For a head or a title: p99.9 for p999."""
        return f"p{self.percent:g}"


PERCENTILES = (
    Percentile("p50", 50.0, "median response time", head="median ms"),
    Percentile("p95", 95.0, "95th percentile", is_brief=False),
    Percentile("p99", 99.0, "99th percentile"),
    Percentile("p999", 99.9, "99.9th percentile"),
)
BRIEF = tuple(one for one in PERCENTILES if one.is_brief)
NAMES = tuple(one.name for one in PERCENTILES)
FIGURES = ("mean", *NAMES, "max")
"""Figures of a latency, in the order of tables."""


def heads(*, every: bool) -> list[str]:
    """Heads of the columns of percentiles, milliseconds: of all of them, or of the brief ones."""
    return [one.head or f"{one.label} ms" for one in PERCENTILES] if every else [f"{one.label} ms" for one in BRIEF]


def figures(latency: Mapping[str, float | None] | None) -> dict[str, float | None] | None:
    """A latency with all of its figures: null for those that a tool does not report."""
    return None if latency is None else {name: latency.get(name) for name in FIGURES}
