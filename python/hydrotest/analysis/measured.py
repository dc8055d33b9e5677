"""One workload's part of a trial, read from the run folder and cut to its window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

from hydrotest.analysis.resources.rates import service_means, stolen
from hydrotest.analysis.statistics.course import Course, Reading
from hydrotest.analysis.statistics.latency import Latency, latency_ms, merged, window_histogram
from hydrotest.analysis.statistics.progress import Progress
from hydrotest.store.folder import RunFolder
from hydrotest.store.histograms import Window, decoded, stretch_histograms, window_sums
from hydrotest.store.records import Counts, Load, Trial

EDGE_S = 0.05
"""A `second` event is at most this far from the full second."""


@dataclass(frozen=True)
class ThreadShare:
    """One generator thread's use of a core in the window."""

    name: str
    cpu_share: float
    run_delay_share: float


@dataclass(frozen=True)
class Measured:
    """A native generator's trial."""

    trial: Trial
    load: Load
    folder: Path
    course: Course
    run: RunFolder

    @classmethod
    def read(cls, run: RunFolder, trial: Trial, workload: str) -> Measured:
        """Reads what the window needs."""
        folder, known = run.folder_of(trial), _known.get()
        if known is None or (found := known.get((folder, workload))) is None or found.trial != trial:
            load = trial.load(workload)
            started_wall_s = load.outcome.started_wall_s if load.outcome is not None else 0.0
            found = cls(trial, load, folder, Course.of(run.seconds(trial, workload), started_wall_s), run)
            if known is not None:
                known[folder, workload] = found
        return found

    @cached_property
    def verdicts(self) -> dict[Any, Any]:
        """Verdicts on this trial so far, by objective (`limits/verdict.py`): several tables ask for them."""
        return {}

    @cached_property
    def compiling(self) -> dict[str, float]:
        """Cores that the JIT compilers of each service used in the window."""
        means = service_means(self.run, self.trial, self.start_s, self.end_s)
        return {one.service: one.jit_cores for one in means if one.jit_cores is not None}

    @cached_property
    def stolen(self) -> dict[str, float]:
        """Share of each host's cores that the hypervisor gave to others in the window."""
        return stolen(self.run, self.trial, self.start_s, self.end_s)

    @cached_property
    def link_ceilings(self) -> dict[str, float]:
        """Measured bytes per second of each host's link; only hosts for which that is known."""
        if not self.load.hosts:
            return {}
        ceilings = {host["name"]: host["ceilings"].get("network_bytes_per_s") for host in self.run.environment()["hosts"]}
        return {host: ceiling for host, ceiling in ceilings.items() if ceiling}

    @property
    def start_s(self) -> float:
        """Wall time of the window's start."""
        assert self.load.outcome is not None
        return self.load.outcome.started_wall_s + self.trial.warm_up_s

    @property
    def end_s(self) -> float:
        """Wall time of the window's end; earlier than planned if the trial was abandoned."""
        assert self.load.outcome is not None
        return min(self.start_s + self.trial.window_s, self.load.outcome.ended_wall_s)

    @cached_property
    def _edges(self) -> tuple[tuple[float, Counts], tuple[float, Counts]]:
        """The counter readings nearest to the window's edges; zero for the start."""
        return self.course.nearest(self.start_s), self.course.nearest(self.end_s)

    @property
    def duration_s(self) -> float:
        """Seconds between the readings at the edges; 0 if the trial ended before its window."""
        (first, _), (last, _) = self._edges
        return max(0.0, last - first)

    def _rate(self, before: int, after: int) -> float:
        return (after - before) / self.duration_s if self.duration_s > 0 else 0.0

    @property
    def achieved(self) -> float:
        """Operations completed per second."""
        (_, first), (_, last) = self._edges
        return self._rate(first.completed, last.completed)

    @property
    def offered(self) -> float | None:
        """Operations per second that were due in the window: the requested rate, or for random arrivals
        and bursts those that came. A generator that is late fails by its `wait`. None in a closed loop."""
        if self.load.offered is None or self.load.is_even:
            return self.load.offered
        (_, first), (_, last) = self._edges
        return self._rate(first.due, last.due)

    @property
    def open_at_end(self) -> int:
        """Operations started and not ended at the window's end."""
        _, (_, last) = self._edges
        return last.in_flight

    @property
    def bytes_per_s(self) -> float:
        """Payload bytes per second."""
        (_, first), (_, last) = self._edges
        return self._rate(first.bytes, last.bytes)

    @property
    def completed(self) -> int:
        """Operations completed in the window."""
        (_, first), (_, last) = self._edges
        return last.completed - first.completed

    @property
    def failed(self) -> int:
        """Operations that failed in the window; their times are in its histograms, too."""
        (_, first), (_, last) = self._edges
        return last.failed - first.failed

    @property
    def errors(self) -> int:
        """Operations that failed in the whole trial: an error in the warm-up counts too."""
        assert self.load.outcome is not None
        return sum(self.load.outcome.errors.values())

    def errors_of(self, op: str) -> dict[str, int]:
        """Errors of one kind of operation, by name; the operation's name precedes the error's."""
        assert self.load.outcome is not None
        return {name: count for name, count in self.load.outcome.errors.items() if name.startswith(f"{op} ")}

    @cached_property
    def _window_ends(self) -> tuple[Reading, Reading] | None:
        """The first and the last second-by-second reading inside the window; None if there are not two."""
        return self.course.ends(self.start_s + EDGE_S, self.end_s + EDGE_S)

    def histogram(self, which: str = "response", op: str | None = None) -> HdrHistogram:
        """One of the three histograms over the window."""
        if (which, op) in self._summed:
            return self._summed[which, op]
        if op is None and which in self.sums:
            return decoded(self.sums[which])
        return window_histogram(self.folder, self.load.workload, which, op, self.start_s, self.end_s)

    @cached_property
    def _summed(self) -> dict[tuple[str, str | None], HdrHistogram]:
        """What was summed up anyway. Not all: each is 170 kB, and a run may have thousands of trials."""
        return {}

    @cached_property
    def sums(self) -> dict[str, str]:
        """Histograms of the window that were read with those of other trials (`read_together`), as `decoded` takes them."""
        return {}

    def stretches(self, width_s: float) -> list[HdrHistogram]:
        """Response times of the window by stretches of it, without a last one that is shorter. The window's histogram is their sum,
        so that the log is read once for both."""
        count = int((self.end_s - self.start_s) // width_s)
        edges_s = [*(self.start_s + at * width_s for at in range(count + 1)), self.end_s]
        found = list(stretch_histograms(self.folder, self.load.workload, "response", None, edges_s))
        self._summed["response", None] = merged(found)
        return found[:count]

    @cached_property
    def latency(self) -> Latency | None:
        """Response times, milliseconds."""
        return latency_ms(self.histogram())

    @cached_property
    def wait(self) -> Latency | None:
        """How late the generator was, milliseconds."""
        return latency_ms(self.histogram("wait"))

    @property
    def progress(self) -> Progress:
        """Its complete course, from second 0 to its end."""
        return self.course.progress

    @cached_property
    def window_progress(self) -> Progress:
        """The readings within the window. A reading belongs to the tenth of a second before it."""
        return self.progress.between(self.start_s, self.end_s + EDGE_S)

    @cached_property
    def source(self) -> Measured | None:
        """For a dataflow: its source, in the same trial."""
        return None if self.load.source is None else Measured.read(self.run, self.trial, self.load.source)

    @property
    def in_flight_mean(self) -> float | None:
        """Mean operations in flight, by Little's law: achieved × mean response."""
        values = self.window_progress.in_flight
        return float(values.mean()) if len(values) else None

    @property
    def threads(self) -> list[ThreadShare]:
        """Each generator thread's share of a core in the window."""
        if self._window_ends is None:
            return []
        first, last = self._window_ends
        wall_ns = (last.wall_s - first.wall_s) * 1e9
        before = {thread.name: thread for thread in first.threads}
        return [
            ThreadShare(t.name, (t.cpu_ns - before[t.name].cpu_ns) / wall_ns, (t.run_delay_ns - before[t.name].run_delay_ns) / wall_ns)
            for t in last.threads
            if t.name in before
        ]

    @property
    def cpu_s_per_million(self) -> float | None:
        """The generator's own CPU-seconds per million operations completed in the window."""
        if self._window_ends is None:
            return None
        first, last = self._window_ends
        done = last.counts.completed - first.counts.completed
        cpu_ns = sum(t.cpu_ns for t in last.threads) - sum(t.cpu_ns for t in first.threads)
        return cpu_ns / 1e9 / done * 1e6 if done > 0 else None


_known: ContextVar[dict[tuple[Path, str], Measured] | None] = ContextVar("known", default=None)


JUDGED = ("response", "wait")
"""Histograms of which every verdict needs those of the window."""


def read_together(run: RunFolder, trials: Sequence[Trial]) -> None:
    """Reads what verdicts need of all windows at once; only where each load is read once."""
    if _known.get() is None:
        return
    loads = [
        Measured.read(run, trial, load.workload)
        for trial in trials
        for load in trial.loads
        if load.outcome is not None and load.source is None
    ]
    asked = [(one, which) for one in loads for which in JUDGED]
    windows = [Window(one.folder, one.load.workload, which, one.start_s, one.end_s) for one, which in asked]
    for (one, which), text in zip(asked, window_sums(windows), strict=True):
        if text is not None:
            one.sums[which] = text


@contextmanager
def each_read_once() -> Iterator[None]:
    """In the block each load is read once, and its percentiles are computed once. Trials that have ended do
    not change, and most tables of a summary need each of them again."""
    token = _known.set({})
    try:
        yield
    finally:
        _known.reset(token)
