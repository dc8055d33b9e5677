"""A generator's progress through a trial: one series of readings in wall time, ten per second. Soaks, faults,
profiles, lag, squeezes and verdicts read it for how much was done between two moments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hydrotest.store.records import Second

STEP_S = 0.1
"""Seconds between two readings."""

Floats = npt.NDArray[np.float64]


class Reading(NamedTuple):
    """A generator's counters at one moment."""

    at_s: float
    """Seconds since the reader's zero."""
    completed: int
    in_flight: int
    failed: int = 0

    @property
    def started(self) -> int:
        """Operations started."""
        return self.completed + self.failed + self.in_flight


@dataclass(frozen=True)
class Progress:
    """Cumulative counters, aligned: the n-th value of each array was read at the n-th of `wall_s`. The first
    row is the start, where all are zero."""

    wall_s: Floats
    """Seconds since the epoch, ascending."""
    completed: Floats
    failed: Floats
    in_flight: Floats

    @classmethod
    def of(cls, seconds: Sequence[Second], started_wall_s: float) -> Progress:
        """From a generator's second-by-second readings; `started_wall_s` is its second 0. Rows with unequal
        numbers of readings are cut to the shortest. Folders of older versions keep no failures: those at a
        second's end stand for all of it."""
        rows: list[tuple[float, float, float, float]] = [(started_wall_s, 0.0, 0.0, 0.0)]
        for second in seconds:
            n = min(len(second.in_flight), len(second.completed))
            failed = second.failed or [second.counts.failed] * n
            times = [started_wall_s + at for at in second.at_s] or [second.wall_s - (n - 1 - i) * STEP_S for i in range(n)]
            rows += [(at, float(done), float(bad), float(flying))
                     for at, done, bad, flying in zip(times, second.completed, failed, second.in_flight, strict=False)
                     if at > rows[-1][0]]  # fmt: skip
        wall_s, completed, failed_, in_flight = (np.asarray(column) for column in zip(*rows, strict=True))
        return cls(wall_s, completed, failed_, in_flight)

    @property
    def started(self) -> Floats:
        """Operations started."""
        return np.asarray(self.completed + self.failed + self.in_flight)

    @property
    def end_s(self) -> float:
        """Wall time of the last reading."""
        return float(self.wall_s[-1])

    def between(self, begin_s: float, end_s: float) -> Progress:
        """The readings in (begin, end], wall time."""
        chosen = (self.wall_s > begin_s + 1e-6) & (self.wall_s <= end_s + 1e-6)
        return Progress(self.wall_s[chosen], self.completed[chosen], self.failed[chosen], self.in_flight[chosen])

    def completed_at(self, wall_s: float | Floats) -> Floats:
        """Operations completed by some moments, interpolated between readings."""
        return np.asarray(np.interp(wall_s, self.wall_s, self.completed))

    def rate(self, begin_s: float, end_s: float) -> float | None:
        """Operations completed per second between two moments. None if they lie outside the readings by more
        than a step."""
        if not len(self.wall_s) or begin_s < self.wall_s[0] - STEP_S or end_s > self.wall_s[-1] + STEP_S:
            return None
        begin_s, end_s = max(begin_s, float(self.wall_s[0])), min(end_s, self.end_s)
        if end_s <= begin_s:
            return None
        first, last = self.completed_at(np.array([begin_s, end_s]))
        return float(last - first) / (end_s - begin_s)

    def behind(self, source: Progress) -> Progress:
        """The same, with what `source` has completed and this has not as the operations in flight."""
        lag = np.maximum(0.0, source.completed_at(self.wall_s) - self.completed)
        return Progress(self.wall_s, self.completed, self.failed, lag)

    def readings(self, zero_s: float) -> list[Reading]:
        """One by one, in seconds since `zero_s`."""
        return list(self._rows(zero_s))

    def _rows(self, zero_s: float) -> Iterator[Reading]:
        for at, done, bad, flying in zip(self.wall_s, self.completed, self.failed, self.in_flight, strict=True):
            yield Reading(float(at) - zero_s, round(done), round(flying), round(bad))
