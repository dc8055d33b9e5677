"""Why load on a cluster that is not hydrotest's own was ended, as codes and figures."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Breached(StrEnum):
    """What is no longer met."""

    SLOW = "slow"
    """Our own few requests are slower than allowed; seconds of p99."""
    FAILED = "failed"
    """They fail."""
    BEHIND = "behind"
    """More copies are behind than before; partitions."""
    WAITING = "waiting"
    """Others wait for what we have; applications."""
    FULL = "full"
    """A disk has less free than allowed; a share."""
    SILENT = "silent"
    """The guard itself no longer hears of the cluster; seconds."""
    LATE = "late"
    """The time that was allowed is over; seconds."""


@dataclass(frozen=True)
class Breach:
    """What was no longer met, with its figure and its bound."""

    code: Breached
    system: str
    value: float | None = None
    bound: float | None = None
    where: str | None = None
    """The broker or node."""
    detail: str = ""
    """The cluster's own words."""
