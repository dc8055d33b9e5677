"""A job on other slots, cores and data: the tasks of each stage, laid out anew.

A stage takes as long as its tasks in the slots, as its CPU time on the cores of the workers, or as the driver needs to hand its tasks out one
after the other, whichever is longest, times what it took in truth over that when it was measured. What no stage accounts for is the
driver's. After the monotasks of K. Ousterhout et al. (SOSP 2017),
from the times that Spark keeps of each task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    """Seconds of each task on a worker, with a core of its own, in the order of their launches."""
    handed_s: float
    """What the driver needs to hand out one task and to take its end: it does one at a time, and the slot waits for it. 0: not known."""
    cpu_s: float
    """CPU time of all tasks."""
    correction: float
    """What it took in truth over what its tasks and its CPU time say."""

    def seconds(self, place: Place, size: Size = Size()) -> Parts:
        """As what takes it longest: the driver, the cores, or the slots."""
        lengths = self._grown(size)
        grown = float(lengths.sum() / self.lengths.sum()) if self.lengths.sum() > 0 else 1.0
        by_slots = self.correction * makespan(((lengths + self.handed_s) / place.speed).tolist(), place.slots)
        by_cores = self.correction * self.cpu_s * grown / place.speed / place.cores
        by_driver = self.correction * self.handed_s * len(lengths) / place.speed
        if by_slots >= max(by_cores, by_driver):
            return Parts(0.0, 0.0, by_slots)
        return Parts(0.0, by_cores, 0.0) if by_cores >= by_driver else Parts(by_driver, 0.0, 0.0)

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
    """Outside of stages, and of those that wait for it to hand out their tasks."""
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
            handed_s = 0.0
            if is_full:
                # Whatever a task did but compute, and wait for the network, took as long as it did since it waited for a core.
                lengths = or_zero(split["cpu"]) + or_zero(split["network wait"])
            elif cpu_s >= CONTENDED * place.cores * share:
                lengths = durations - or_zero(split[OTHER])
            else:
                # The first tasks of a stage wait longer for the driver, and several at once for each other: in the stage's time it was done
                # with all. Where cores are full, a worker's own wait for one is in there, too, and the driver's part is not known.
                waited = or_zero(split["scheduler"])
                handed_s = min(float(np.median(waited)), share / len(tasks))
                lengths = durations - waited
            part = Part(np.maximum(1e-4, lengths), handed_s, cpu_s, 1.0)
            parts.append(replace(part, correction=share / part.seconds(place).seconds))
            in_stages += share
        return cls(parts, max(0.0, seconds - in_stages))

    def on(self, place: Place, size: Size = Size()) -> Parts:
        """What it takes there. With more tasks the driver has as much more to hand out."""
        found = [part.seconds(place, size) for part in self.parts]
        outside = self.driver_s * max(1.0, size.tasks) / place.speed
        return Parts(outside + sum(one.driver_s for one in found), sum(one.cores_s for one in found), sum(one.slots_s for one in found))
