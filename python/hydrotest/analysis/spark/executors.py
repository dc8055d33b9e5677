"""The executors of a Spark application: how many cores and slots there were at a time, and why each was
removed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Removal(StrEnum):
    """Why an executor was removed."""

    ENDED = "ended"
    """Its application was over."""
    SCALED_DOWN = "scaled-down"
    """Spark's own dynamic allocation no longer needed it."""
    DECOMMISSIONED = "decommissioned"
    """It was asked to leave in time, e.g. with a spot instance."""
    LOST = "lost"
    UNKNOWN = "unknown"
    """The log does not have it, as in Spark 1."""


_REMOVALS = (
    # Spark has no code for it, only words: ExecutorKilled, YarnAllocator's, ExecutorAllocationManager's.
    (
        re.compile(r"Executor killed by driver|exited from explicit termination request|decommission.*: spark scale down"),
        Removal.SCALED_DOWN,
    ),
    (re.compile(r"Executor decommission|Finished decommissioning"), Removal.DECOMMISSIONED),
    (re.compile(r"exit(?:ed with)? (?:code|status):? *[1-9]|FAILED"), Removal.LOST),
    (re.compile(r"driver disassociated|\bfinished\b", re.IGNORECASE), Removal.ENDED),
)


PEAKS = ("JVMHeapMemory", "JVMOffHeapMemory", "OnHeapExecutionMemory", "OnHeapStorageMemory", "ProcessTreeJVMRSSMemory")
"""Of Spark's ExecutorMetricType, in its order, what helps to size an executor."""


def removal(reason: str | None) -> Removal:
    """Why an executor was removed, by Spark's words."""
    if not (reason or "").strip():
        return Removal.UNKNOWN
    return next((kind for pattern, kind in _REMOVALS if pattern.search(reason or "")), Removal.LOST)


@dataclass(frozen=True)
class Removed:
    """A removed executor."""

    executor: str
    reason: str | None
    """Spark's words."""
    kind: Removal


@dataclass
class Executors:
    """All that were added and removed, in the order of the log."""

    cores_of: dict[str, int | None] = field(default_factory=dict)
    """For each executor that was ever there."""
    removed: list[Removed] = field(default_factory=list)
    peak_bytes: dict[str, dict[str, int]] = field(default_factory=dict)
    """Most memory of each kind (`PEAKS`) that was seen of each executor; empty where Spark did not write it."""
    _changes: list[tuple[str, int | None, float | None]] = field(default_factory=list)
    """Executor, its cores from then on (None: removed), and when."""

    def add(self, executor: str, cores: int | None, at_s: float | None = None) -> None:
        """An executor was added."""
        self.cores_of[executor] = cores
        self._changes.append((executor, cores or 0, at_s))

    def note_peaks(self, executor: str, found: Sequence[object]) -> None:
        """Takes Spark's own peaks of an executor, in the order of `PEAKS`: of a stage, or since its last heartbeat."""
        known = self.peak_bytes.get(executor)
        if known is None:
            known = self.peak_bytes[executor] = {}
        for name, value in zip(PEAKS, found, strict=True):
            if value and isinstance(value, int) and value > known.get(name, 0):
                known[name] = value

    def remove(self, executor: str, reason: str | None, at_s: float | None = None) -> None:
        """An executor was removed."""
        self.removed.append(Removed(executor, reason, removal(reason)))
        self._changes.append((executor, None, at_s))

    def was_wanted_away(self, executor: str | None) -> bool:
        """True if Spark, or the operator of its hosts, removed it on purpose: what ran on it did not fail."""
        return any(one.executor == executor and one.kind in (Removal.SCALED_DOWN, Removal.DECOMMISSIONED) for one in self.removed)

    @property
    def lost(self) -> list[Removed]:
        """Those that should have stayed."""
        return [one for one in self.removed if one.kind is Removal.LOST]

    @property
    def cores(self) -> int | None:
        """Most cores of the executors at a time: one that replaces a lost one adds none. None if unknown."""
        return self.slots(1)

    def slots(self, cpus: int) -> int | None:
        """Most tasks of so many cores that could run at a time; None if unknown."""
        return max((slots for slots, _ in self._slots_over_time(cpus)), default=0) or None

    def slots_between(self, cpus: int, begin_s: float, end_s: float) -> int | None:
        """The same of a stretch of time: executors that came after it, or had gone, do not count. Changes without a time count as before."""
        found, most = 0, 0
        for slots, at_s in self._slots_over_time(cpus):
            if at_s is not None and at_s >= end_s:
                break
            if at_s is None or at_s <= begin_s:
                found = slots
            most = max(most, slots if at_s is not None and at_s > begin_s else 0)
        return max(found, most) or None

    def _slots_over_time(self, cpus: int) -> Iterator[tuple[int, float | None]]:
        there: dict[str, int] = {}
        total = 0
        for executor, cores, at_s in self._changes:
            total -= there.pop(executor, 0)
            if cores is not None:
                there[executor] = cores // cpus
                total += there[executor]
            yield total, at_s
