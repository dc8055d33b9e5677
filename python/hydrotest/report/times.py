"""Over what time a trend is shown."""

from __future__ import annotations

from dataclasses import dataclass

from hydrotest.summary.soak import Soak
from hydrotest.units import show_duration

HOUR_S = 3600.0


@dataclass(frozen=True)
class Times:
    """A time, by which a change per hour is multiplied, and its words."""

    hours: float
    words: str


def times_of(soak: Soak) -> Times:
    """An hour; of a shorter soak its own length, since beyond it nothing was measured. By an hour a level that
    halves in a minute would fall by far more than all of it."""
    if soak.seconds >= HOUR_S:
        return Times(1.0, "an hour")
    return Times(soak.seconds / HOUR_S, f"in {show_duration(soak.seconds)}")


def metric_name(metric: str) -> str:
    """A metric of the summary as one says it."""
    return {"achieved": "rate", "p50_ms": "median", "p99_ms": "p99"}.get(metric, metric.removesuffix(" s") + " time")
