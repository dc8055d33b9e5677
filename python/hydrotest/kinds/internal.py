"""Limits inside a system: what it has a bounded number of, the gauge that shows that it is used up, and the setting that bounds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Internal:
    """One limit. `reading`: the gauge's mean over the window, or (`growth`) how much it grows a second; times `scale`."""

    what: str
    gauge: str
    """Its name begins so."""
    reading: Literal["mean", "growth"]
    full: Literal["below", "above"]
    threshold: float
    setting: str
    source: str
    scale: float = 1.0
    remedy: str = "raise it"
    """What to do with the setting."""
    spends: bool = False
    """What is full uses CPU itself, beside what was asked for; threads that are all busy only wait for theirs."""
    is_each: bool = False
    """Several gauges of one name are threads of a pool, and their mean is read; else they add up."""
    times: str | None = None
    """The gauge that its value is multiplied with at each reading."""
    unit: str | None = None
    """Of its value; None of a share, nothing where `what` says what is counted."""


# All collectors of a JVM; G1's pauses stop every thread.
JVM = (
    Internal("share of the time in garbage collection", "jvm_gc_collection_seconds_sum", "growth", "above", 0.1, "heap",
             "https://docs.oracle.com/en/java/javase/17/gctuning/garbage-first-garbage-collector-tuning.html", remedy="give the JVMs more", spends=True),
)  # fmt: skip
"""Those of every JVM, whatever runs in it."""
