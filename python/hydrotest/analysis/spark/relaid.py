"""A job on other slots, cores and data: the tasks of each stage, laid out anew.

A stage takes as long as its tasks in the slots, or as its CPU time on the cores of the workers, whichever is longer, times what it took in
truth over that when it was measured. What no stage accounts for is the driver's. After the monotasks of K. Ousterhout et al. (SOSP 2017),
from the times that Spark keeps of each task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hydrotest.analysis.spark.task_table import DURATION, or_zero
from hydrotest.analysis.spark.tasks import Group
from hydrotest.analysis.spark.time_spent import OTHER, makespan, parts_of, wall_shares_s

CONTENDED = 0.8
"""Share of the workers' cores that a stage's tasks use, from which on they wait for cores, and the part of their time that nothing explains
is that wait."""
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """What a job has."""

    slots: int
    """Tasks that run at a time."""
    cores: float
    """Cores of all workers together."""
    speed: float = 1.0
    """Of a core, as a multiple of those that were measured."""


@dataclass(frozen=True)
class Size:
    """How much more there is to do than when it was measured."""

    tasks: float = 1.0
    """Times as many tasks, each with as much data."""
    data: float = 1.0
    """Times as much data in each task."""


@dataclass(frozen=True)
class Part:
    """A stage of a job."""

    lengths: Values
    """Seconds of each task with a core of its own, in the order of their launches."""
    cpu_s: float
    """CPU time of all tasks."""
    correction: float
    """What it took in truth over what its tasks and its CPU time say."""

    def seconds(self, place: Place, size: Size) -> tuple[float, float]:
        """By its tasks in the slots, and by its CPU time."""
        lengths = self._grown(size) / place.speed
        grown = float(lengths.sum() * place.speed / self.lengths.sum()) if self.lengths.sum() > 0 else 1.0
        by_cores = self.cpu_s * grown / place.speed / place.cores
        return self.correction * makespan(lengths.tolist(), place.slots), self.correction * by_cores

    def _grown(self, size: Size) -> Values:
        """One task alone, as a result has, stays one. Of more or fewer tasks the lengths are distributed as they were."""
        count = len(self.lengths)
        if count > 1 and size.tasks != 1:
            number = max(1, round(count * size.tasks))
            lengths = self.lengths[(np.arange(number) * count / number).astype(int)]
        else:
            lengths = self.lengths
        return np.asarray(lengths * size.data)


@dataclass(frozen=True)
class Parts:
    """Seconds of a job by what makes it take so long."""

    driver_s: float
    cores_s: float
    """Of stages whose CPU time fills the cores."""
    slots_s: float
    """Of those that wait for slots, or for their longest task."""

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.driver_s + self.cores_s + self.slots_s


@dataclass(frozen=True)
class Relaid:
    """A job that was measured, ready to be laid out anew."""

    parts: Sequence[Part]
    driver_s: float

    @classmethod
    def of(cls, group: Group, seconds: float, place: Place, *, is_full: bool = False) -> Relaid:
        """From a run of it that took so long. `is_full`: the workers' cores were used up, by tasks or by what else a JVM does."""
        shares = wall_shares_s(group.stages)
        parts, in_stages = [], 0.0
        for stage in group.stages:
            tasks = stage.done_tasks.by_launch
            share = shares.get((stage.number, stage.attempt), 0.0)
            if not tasks or share <= 0:
                continue
            split, durations = tasks.derived(parts_of), tasks.figure(DURATION)
            cpu_s = float(or_zero(split["cpu"]).sum())
            if is_full:
                # Whatever a task did but compute, and wait for the network, took as long as it did since it waited for a core.
                lengths = or_zero(split["cpu"]) + or_zero(split["network wait"])
            elif cpu_s >= CONTENDED * place.cores * share:
                lengths = durations - or_zero(split[OTHER])
            else:
                lengths = durations
            lengths = np.maximum(1e-4, lengths)
            ideal = max(makespan(lengths.tolist(), place.slots), cpu_s / place.cores)
            parts.append(Part(lengths, cpu_s, share / ideal))
            in_stages += share
        return cls(parts, max(0.0, seconds - in_stages))

    def on(self, place: Place, size: Size = Size()) -> Parts:
        """What it takes there. With more tasks the driver has as much more to hand out."""
        by_slots = by_cores = 0.0
        for part in self.parts:
            slots_s, cores_s = part.seconds(place, size)
            if cores_s > slots_s:
                by_cores += cores_s
            else:
                by_slots += slots_s
        return Parts(self.driver_s * size.tasks / place.speed if size.tasks > 1 else self.driver_s / place.speed, by_cores, by_slots)
