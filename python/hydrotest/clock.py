"""Time as a parameter, so that tests need not wait."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Source of the time."""

    def monotonic_s(self) -> float:
        """Seconds since an arbitrary point; for durations."""
        ...

    def wall_s(self) -> float:
        """Seconds since the Unix epoch; for time stamps."""
        ...


class SystemClock:
    """The machine's clock."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def wall_s(self) -> float:
        return time.time()


def iso(wall_s: float) -> str:
    """A time stamp as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(wall_s, UTC).isoformat(timespec="milliseconds")
