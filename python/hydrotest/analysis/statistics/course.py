"""All that a generator's second-by-second readings show, in columns: a day of them as they are written takes a gigabyte."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from hydrotest.analysis.statistics.progress import Floats, Gathered, Progress
from hydrotest.store.records import Counts, ThreadUse
from hydrotest.store.second_lines import SecondRead

COUNTERS = tuple(Counts.model_fields)
_counters = attrgetter(*COUNTERS)
_of_thread = attrgetter("name", "cpu_ns", "run_delay_ns")


class Reading(NamedTuple):
    """The end of one second."""

    wall_s: float
    counts: Counts
    threads: list[ThreadUse]


@dataclass(frozen=True)
class Course:
    """The readings at the ends of its seconds, and its progress between them."""

    progress: Progress
    _started_wall_s: float
    _wall_s: Floats
    _counts: Sequence[tuple[int, ...]]
    _threads: Sequence[tuple[tuple[str, int, int], ...]]

    @classmethod
    def of(cls, seconds: Iterable[SecondRead], started_wall_s: float) -> Course:
        """Of a generator whose second 0 is at `started_wall_s`."""
        gathered, wall_s = Gathered(started_wall_s), array("d")
        counts, threads = [], []
        for second in seconds:
            gathered.add(second)
            wall_s.append(second.wall_s)
            counts.append(_counters(second.counts))
            threads.append(tuple(map(_of_thread, second.threads)))
        return cls(gathered.progress(), started_wall_s, np.asarray(wall_s), counts, threads)

    def nearest(self, wall_s: float) -> tuple[float, Counts]:
        """Time and counters of the reading that is nearest to a moment; at the start all are zero."""
        distances = np.abs(np.concatenate(([self._started_wall_s], self._wall_s)) - wall_s)
        at = int(distances.argmin())
        return (self._started_wall_s, Counts()) if at == 0 else (float(self._wall_s[at - 1]), self._at(at - 1).counts)

    def ends(self, begin_s: float, end_s: float) -> tuple[Reading, Reading] | None:
        """The first and the last reading in (begin, end], wall time; None if there are not two."""
        inside = np.flatnonzero((self._wall_s > begin_s) & (self._wall_s <= end_s))
        return (self._at(int(inside[0])), self._at(int(inside[-1]))) if len(inside) > 1 else None

    def _at(self, index: int) -> Reading:
        counts = Counts(**dict(zip(COUNTERS, self._counts[index], strict=True)))
        threads = [ThreadUse(name=name, cpu_ns=cpu_ns, run_delay_ns=delay_ns) for name, cpu_ns, delay_ns in self._threads[index]]
        return Reading(float(self._wall_s[index]), counts, threads)
