"""Small drawings of the cards, as figures for the template: points of a path in a box of 100 by 40."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hydrotest.report.glance.model import Card, Gauge
from hydrotest.summary.limits import Chance

WIDTH, HEIGHT = 100.0, 34.0
GAUGE_END = 1.25
"""A gauge goes on behind its objective for a quarter of it, or as far as its value."""


@dataclass(frozen=True)
class CardDrawing:
    """The curve with its band (empty paths without one), and the interval, as percentages of the width."""

    band: str
    line: str
    low: float
    high: float
    value: float
    safe: float | None
    end: str


@dataclass(frozen=True)
class GaugeDrawing:
    """A value and its objective, as percentages of the width."""

    value: float
    bound: float | None


def card_drawing(card: Card, end: str) -> CardDrawing | None:
    """None for a card without an interval. `end`: the right end of the scale in words."""
    span = card.span
    if span is None or span.end <= 0:
        return None

    def at(rate: float) -> float:
        return round(min(max(rate / span.end, 0.0), 1.0) * WIDTH, 2)

    inside = [one for one in card.curve if one.rate <= span.end]
    return CardDrawing(
        _band(inside, at), _path([(at(one.rate), _y(one.holds)) for one in inside]),
        at(span.low), at(span.high), at(span.value), None if span.safe is None else at(span.safe), end,
    )  # fmt: skip


def _y(share: float) -> float:
    return round(2 + (1 - share) * (HEIGHT - 4), 2)


def _band(curve: Sequence[Chance], at_x: Callable[[float], float]) -> str:
    if len(curve) < 2:
        return ""
    above = [(at_x(one.rate), _y(one.high)) for one in curve]
    below = [(at_x(one.rate), _y(one.low)) for one in reversed(curve)]
    return _path([*above, *below]) + "Z"


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g},{y:g}" for x, y in points) if len(points) > 1 else ""


def gauge_drawing(gauge: Gauge) -> GaugeDrawing:
    """On a scale from 0 to a quarter above the objective, or to the value."""
    if gauge.bound_ms is None:
        return GaugeDrawing(WIDTH, None)
    end = max(gauge.bound_ms * GAUGE_END, gauge.value_ms)
    return GaugeDrawing(round(100 * gauge.value_ms / end, 1), round(100 * gauge.bound_ms / end, 1))
