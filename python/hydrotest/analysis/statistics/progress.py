"""A generator's progress through a trial: one series of readings in wall time, ten per second. Soaks, faults,
profiles, lag, squeezes and verdicts read it for how much was done between two moments."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hydrotest.store.second_lines import SecondRead

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
    def of(cls, seconds: Iterable[SecondRead], started_wall_s: float) -> Progress:
        """From a generator's second-by-second readings; `started_wall_s` is its second 0. Rows with unequal
        numbers of readings are cut to the shortest. Folders of older versions keep no failures: those at a
        second's end stand for all of it."""
        gathered = Gathered(started_wall_s)
        for second in seconds:
            gathered.add(second)
        return gathered.progress()

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


def stalls(at_s: Floats, completed: Floats, least_s: float) -> list[tuple[float, float]]:
    """Stretches (begin, end) of at least `least_s` in which nothing was completed; `completed` was read at the moments `at_s`."""
    goes_on = np.flatnonzero(completed[1:] > completed[:-1])
    begins = np.concatenate((at_s[:1], at_s[goes_on + 1]))
    ends = np.concatenate((at_s[goes_on], at_s[-1:]))
    long = ends - begins >= least_s
    return list(zip(begins[long].tolist(), ends[long].tolist(), strict=True))


class Gathered:
    """Progress as it is read: of a day, second by second, so that only its columns are in memory."""

    def __init__(self, started_wall_s: float) -> None:
        self._started_wall_s = started_wall_s
        self._wall_s, self._completed, self._failed, self._in_flight = (array("d", [first]) for first in (started_wall_s, 0.0, 0.0, 0.0))

    def add(self, second: SecondRead) -> None:
        """Its readings, behind those before it."""
        if len(second.at_s) == len(second.completed) == len(second.failed) == len(second.in_flight):
            self._wall_s.extend(map(self._started_wall_s.__add__, second.at_s))
            self._completed.extend(second.completed)
            self._failed.extend(second.failed)
            self._in_flight.extend(second.in_flight)
            return
        n = min(len(second.in_flight), len(second.completed))
        times = [self._started_wall_s + at for at in second.at_s[:n]] or [second.wall_s - (n - 1 - i) * STEP_S for i in range(n)]
        failed = second.failed or [second.counts.failed] * n
        n = min(len(times), len(failed))
        for column, values in (
            (self._wall_s, times), (self._completed, second.completed), (self._failed, failed), (self._in_flight, second.in_flight),
        ):  # fmt: skip
            column.extend(values[:n])

    def progress(self) -> Progress:
        """All of it, but readings that are no later than one before them."""
        wall_s = np.asarray(self._wall_s)
        is_later = np.concatenate(([True], wall_s[1:] > np.maximum.accumulate(wall_s)[:-1]))
        completed, failed, in_flight = (np.asarray(column)[is_later] for column in (self._completed, self._failed, self._in_flight))
        return Progress(wall_s[is_later], completed, failed, in_flight)
