"""Which percentiles there are: of objectives, of what is measured, and in tables. A further one is a line here, and one in docs/experiment.md (`make docs`)."""

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
    """What it is, in a sentence."""
    head: str = ""
    """Above a column of its own; its name if not given."""
    is_brief: bool = True
    """Stands in each table; else only in those that show all."""

    @property
    def label(self) -> str:
        """In a head or a title: p99.9 of p999."""
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
"""What is kept of a latency, in the order of tables."""


def heads(*, every: bool) -> list[str]:
    """Heads of the columns of percentiles, milliseconds: of all of them, or of the brief ones."""
    return [one.head or f"{one.label} ms" for one in PERCENTILES] if every else [f"{one.label} ms" for one in BRIEF]


def figures(latency: Mapping[str, float | None] | None) -> dict[str, float | None] | None:
    """A latency with each figure that a latency has: what a tool does not tell is null."""
    return None if latency is None else {name: latency.get(name) for name in FIGURES}
