"""Progress of a batch job while it runs: a job that stalls, or would exceed its time, is reported with what
is full."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from hydrotest.analysis.spark.failure import in_brief
from hydrotest.units import show_bytes, show_duration

STALL_S = 25.0
"""Seconds without a task's end or a beat of the driver after which a job counts as stalled. A task may take
long: the driver's good state distinguishes a stage with long first tasks (`PATIENCE_S`)."""
PATIENCE_S = 300.0
"""Longest time for running tasks while the driver is well."""
ESTIMATE_AFTER_S = 10.0
"""Seconds after which a stage's rate is known."""
FULL_HEAP = 0.9
COLLECTING = 0.5
"""Share of the time in garbage collection from which nothing else makes progress."""


class StageBeat(BaseModel):
    """Progress of a running stage."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: int
    name: str
    tasks: int
    done: int
    active: int
    failed: int

    def __str__(self) -> str:
        return f"stage {self.stage} ({self.name}, {self.done:,} of {self.tasks:,} tasks done)"


class Beat(BaseModel):
    """A driver's report on itself, once a second (`Beat.java`)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    wall_s: float
    heap_bytes: int
    heap_max_bytes: int
    gc_s: float
    executors: int
    lost: str | None = None
    """Why the last lost executor was lost, in Spark's words."""
    stages: list[StageBeat]


@dataclass
class JobWatch:
    """Watches one run of a test. `tell` takes every beat, in order; `look` returns the problem."""

    budget_s: float
    """Most seconds of the run."""
    began_s: float
    """Wall time."""
    hosts: Mapping[str, str] = field(default_factory=dict)
    """Names by address, for Spark's messages about its executors."""
    first_word_s: float = STALL_S
    """Longest silence at the start."""
    beats: deque[Beat] = field(default_factory=lambda: deque(maxlen=round(PATIENCE_S)))
    _moved_s: float = 0.0
    _since: dict[int, tuple[float, int]] = field(default_factory=dict)
    """When each running stage was first seen, and its progress then."""

    def __post_init__(self) -> None:
        self._moved_s = self.began_s

    def tell(self, beat: Beat) -> None:
        """Takes the next beat."""
        before = {one.stage: one.done for one in self.beats[-1].stages} if self.beats else {}
        now = {one.stage: one.done for one in beat.stages}
        if now.keys() != before.keys() or any(done > before[stage] for stage, done in now.items()):
            self._moved_s = beat.wall_s
        self._since = {stage: self._since.get(stage, (beat.wall_s, done)) for stage, done in now.items()}
        self.beats.append(beat)

    def look(self, now_s: float) -> str | None:
        """Why the run must be ended, in words; None while it may continue."""
        if not self.beats:
            return None if now_s - self.began_s < self.first_word_s else f"its driver has said nothing for {now_s - self.began_s:.0f} s"
        last = self.beats[-1]
        full = what_is_full(self.beats, self.hosts)
        silent_s = now_s - last.wall_s
        if silent_s >= STALL_S:
            return _reason(last.stages, f"its driver has said nothing for {silent_s:.0f} s", full)
        still_s = last.wall_s - self._moved_s
        is_well = full is None and last.executors > 0 and any(stage.active for stage in last.stages)
        if last.stages and still_s >= (PATIENCE_S if is_well else STALL_S):
            return _reason(last.stages, f"no task has ended for {still_s:.0f} s", full)
        for stage in last.stages:
            since_s, done = self._since[stage.stage]
            elapsed, ended = last.wall_s - since_s, stage.done - done
            if elapsed < ESTIMATE_AFTER_S or ended <= 0:
                continue
            left_s = (stage.tasks - stage.done) / (ended / elapsed)
            if last.wall_s - self.began_s + left_s > self.budget_s:
                why = f"at its rate it would take another {show_duration(left_s)}, and the whole may take {show_duration(self.budget_s)}"
                return _reason([stage], why, full)
        if now_s - self.began_s > self.budget_s:
            return _reason(last.stages, f"it has taken the {show_duration(self.budget_s)} that it may", full)
        return None


def what_is_full(beats: Sequence[Beat], hosts: Mapping[str, str]) -> str | None:
    """What a job has run out of, by its latest beats; None if they show no problem. `hosts`: names by
    address."""
    last = beats[-1]
    recent = [beat for beat in beats if beat.wall_s >= last.wall_s - ESTIMATE_AFTER_S]
    wall_s = last.wall_s - recent[0].wall_s
    collecting = (last.gc_s - recent[0].gc_s) / wall_s if wall_s > 0 else 0.0
    heap = last.heap_bytes / last.heap_max_bytes if last.heap_max_bytes > 0 else 0.0
    if collecting >= COLLECTING or min(beat.heap_bytes / beat.heap_max_bytes for beat in recent if beat.heap_max_bytes > 0) >= FULL_HEAP:
        return (f"the driver's heap is full ({heap:.0%} of {show_bytes(last.heap_max_bytes)}, {collecting:.0%} of the time in garbage "
                "collection): give it more `driver_memory`")  # fmt: skip
    if last.executors == 0:
        return f"there is no executor: {'none came up' if last.lost is None else f'the last one was lost: {in_brief(last.lost, hosts)}'}"
    return None


def _reason(stages: Sequence[StageBeat], what: str, full: str | None) -> str:
    where = ", ".join(map(str, stages)) or "between stages"
    return f"{where}: {what}; {full or 'its driver is well'}"
