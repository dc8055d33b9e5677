"""Limits inside a system: a bounded resource, the gauge that shows that it is used up, and the setting
that bounds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Internal:
    """One limit. `reading`: the gauge's mean over the window, or (`growth`) how much it grows a second;
    times `scale`."""

    what: str
    gauge: str
    """The prefix of its name."""
    reading: Literal["mean", "growth"]
    full: Literal["below", "above"]
    threshold: float
    setting: str
    source: str
    scale: float = 1.0
    remedy: str = "raise it"
    """What to do with the setting."""
    spends: bool = False
    """A full resource uses CPU itself, in addition to that of the requests; busy threads only wait for
    theirs."""
    is_each: bool = False
    """Several gauges of one name are threads of a pool, and their mean is read; else they are summed."""
    times: str | None = None
    """The gauge by which its value is multiplied at each reading."""
    unit: str | None = None
    """The unit of its value; None for a share, empty where `what` names the counted things."""


@dataclass(frozen=True)
class Theirs:
    """A series of an exporter that is widely used, which shows what one of hydrotest's gauges shows."""

    name: str
    gauge: str
    """Ours, as an `Internal` names it."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that the series must have."""
    scale: float = 1.0
    """Ours is so many times theirs."""


# All collectors of a JVM; G1's pauses stop every thread.
JVM = (
    Internal("share of the time in garbage collection", "jvm_gc_collection_seconds_sum", "growth", "above", 0.1, "heap",
             "https://docs.oracle.com/en/java/javase/17/gctuning/garbage-first-garbage-collector-tuning.html", remedy="give the JVMs more", spends=True),
)  # fmt: skip
"""Limits of every JVM, whatever it runs."""
