"""Results of a long level: whether it meets its objective, drift, change points, memory growth, compaction
and segment deletion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import special

from hydrotest.analysis.by_test.fault import STALL_OPERATIONS
from hydrotest.analysis.limits.given_rate import verdict_on_stretches
from hydrotest.analysis.limits.verdict import judge
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.statistics.intervals import line_through
from hydrotest.analysis.statistics.latency import latency_ms
from hydrotest.analysis.statistics.progress import stalls
from hydrotest.lazy import Lazy
from hydrotest.spec.models import Experiment, Objective
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial
from hydrotest.store.samples import gauge_steps, in_time, read_in_parts
from hydrotest.summary.base import Latency
from hydrotest.summary.soak import Bucket, Drift, Growth, LevelChange, Soak, SoakService, SoakWorkload, Stall, Stretches

if TYPE_CHECKING:
    import ruptures
else:
    ruptures = Lazy("ruptures")


BUCKETS = 120
"""Stretches of a soak; each has its own percentiles."""
BUCKET_S_MIN = 2.0
READINGS_MIN = 10
"""With fewer readings, drift cannot be distinguished from their scatter."""
LEAST = 0.01
"""Replaces zero in a logarithm, as a share of the median."""
STALL_S_MIN = 1.0
"""A stall without completions is reported if it is at least this long."""
STALLS_MAX = 20
COMPACTED, SEGMENTS = "cassandra_compacted_bytes_total", "kafka_log_segments"
"""Gauges, of which there may be several for a service."""
SEGMENT_BUCKETS_MIN = 5
"""A change must last for this many stretches to count."""
CHANGE_MIN = 0.10
"""A step smaller than this share of the level is not reported."""


Readings = Sequence[float] | npt.NDArray[np.float64] | npt.NDArray[np.int64]


@dataclass(frozen=True)
class Slope:
    """A straight line's rise per hour, with its 95 % interval."""

    per_hour: float
    low: float
    high: float
    n: int

    @property
    def is_sure(self) -> bool:
        """True if the interval excludes a level line."""
        return self.low > 0 or self.high < 0


def slope_per_hour(times_s: Readings, values: Readings) -> Slope | None:
    """The trend of readings at (nearly) equal steps, with its 95 % interval; see `line_through`. None with
    fewer than `READINGS_MIN` readings."""
    line = line_through(values) if len(values) >= READINGS_MIN else None
    if line is None:
        return None
    an_hour = 3600 * (len(times_s) - 1) / (times_s[-1] - times_s[0])
    half = float(special.stdtrit(line.freedom, 0.975)) * line.error
    return Slope(line.slope * an_hour, (line.slope - half) * an_hour, (line.slope + half) * an_hour, len(values))


def change_points(values: Sequence[float]) -> list[int]:
    """Indexes at which the level of a series changes: PELT with a squared-error cost on the logarithms (R.
    Killick et al., "Optimal detection of changepoints with a linear computational cost", 2012); a linear
    kernel is that cost, in C. The penalty is 3·log n times the noise's variance. That comes from differences
    of neighbours, so that a step does not enlarge it and hide itself. Zero counts as `LEAST` of the median."""
    least = LEAST * float(np.median(values)) if len(values) else 0.0
    if len(values) < 2 * SEGMENT_BUCKETS_MIN or least <= 0:
        return []
    signal = np.log(np.maximum(np.asarray(values, dtype=float), least))
    noise = float(np.median(np.abs(np.diff(signal)))) / (0.6745 * math.sqrt(2))
    penalty = 3 * math.log(len(signal)) * max(noise**2, 1e-6)
    found = ruptures.KernelCPD(kernel="linear", min_size=SEGMENT_BUCKETS_MIN).fit(signal.reshape(-1, 1)).predict(pen=penalty)[:-1]
    edges = [0, *found, len(signal)]
    levels = [float(signal[a:b].mean()) for a, b in pairwise(edges)]
    return [at for at, before, after in zip(found, levels, levels[1:], strict=False) if abs(after - before) >= math.log1p(CHANGE_MIN)]


def drift_pct(times_s: Sequence[float], values: Sequence[float]) -> Drift | None:
    """A drift in percent per hour of the series' own mean, with its 95 % interval; None for a series that is
    too short, or all zeros."""
    mean = _mean(values)
    slope = slope_per_hour(times_s, [value / mean for value in values]) if mean > 0 else None
    return None if slope is None else Drift(per_hour=slope.per_hour * 100, low=slope.low * 100, high=slope.high * 100, sure=slope.is_sure)


def soak_rows(run: RunFolder, experiment: Experiment, trials: list[Trial]) -> list[Soak]:
    """One row for each soak."""
    soaks = [trial for trial in trials if trial.purpose == Purpose.SOAK and trial.status == "done"]
    return [
        Soak(trial=trial.number, seconds=trial.window_s, workloads=_workloads(run, experiment, trial), services=_services(run, trial),
         counters=_counters(run, trial))
        for trial in soaks
    ]  # fmt: skip


def _workloads(run: RunFolder, experiment: Experiment, trial: Trial) -> list[SoakWorkload]:
    rows: list[SoakWorkload] = []
    for load in trial.loads:
        if load.outcome is None:
            continue
        measured = Measured.read(run, trial, load.workload)
        objective = experiment.objective(load.workload)
        buckets = _buckets(measured, objective)
        verdict = None if load.offered is None else judge(measured, objective)
        on_stretches = verdict_on_stretches([bucket.met for bucket in buckets if bucket.met is not None])
        drift = {}
        changes = []
        series = {"achieved": [b.achieved for b in buckets], "p50_ms": [b.p50_ms for b in buckets], "p99_ms": [b.p99_ms for b in buckets]}
        for metric, readings in series.items():
            known = [(b.at_s, value) for b, value in zip(buckets, readings, strict=True) if value is not None]
            values = [value for _, value in known]
            drift[metric] = drift_pct([at for at, _ in known], values)
            edges = [0, *change_points(values), len(values)]
            changes += [
                LevelChange(metric=metric, at_s=known[at][0], before=_mean(values[a:at]), after=_mean(values[at:b]))
                for a, at, b in zip(edges, edges[1:], edges[2:], strict=False)
            ]
        rows.append(SoakWorkload(workload=load.workload, offered=load.offered, achieved=measured.achieved, errors=measured.errors,
                     latency_ms=Latency.of(measured.latency), latency_includes_failed=measured.failed,
                     gave_up=load.outcome.gave_up, drift_pct=drift, changes=changes, buckets=buckets,
                     stalls=_stalls(measured),
                     accepted=None if verdict is None else verdict.counted, because=[] if verdict is None else list(verdict.because), reasons=[],
                     missed_at_s=[b.at_s for b in buckets if b.met is False],
                     verdict=None if on_stretches is None else Stretches(**asdict(on_stretches))))  # fmt: skip
    return rows


def _stalls(measured: Measured) -> list[Stall] | None:
    """The longest stretches without completions, in order of time. None for batches, which pause."""
    if measured.source is not None:
        return None
    progress = measured.window_progress
    rate = measured.load.offered or measured.achieved
    if len(progress.wall_s) < 2 or not rate:
        return []
    found = stalls(progress.wall_s - measured.start_s, progress.completed, max(STALL_S_MIN, STALL_OPERATIONS / rate))
    longest = sorted(found, key=lambda stall: stall[0] - stall[1])[:STALLS_MAX]
    return [Stall(at_s=begin, seconds=end - begin) for begin, end in sorted(longest)]


def _buckets(measured: Measured, objective: Objective) -> list[Bucket]:
    """The window in equal stretches. Each has the rate at which operations were completed, and median and p99
    of those due in it, however late they were answered. It also has whether it met the objective's bounds of
    latency by itself (null: it has none, or nothing was due). The rate is null without readings."""
    bounds = objective.latencies_ms()
    width = max(BUCKET_S_MIN, math.ceil((measured.end_s - measured.start_s) / BUCKETS))
    rows = []
    for at, histogram in enumerate(measured.stretches(width)):
        latency = latency_ms(histogram) or {}
        begin = measured.start_s + at * width
        rows.append(Bucket(at_s=(at + 0.5) * width, achieved=measured.progress.rate(begin, begin + width), p50_ms=latency.get("p50"),
                     p99_ms=latency.get("p99"),
                     met=all((latency[name] or 0.0) <= bound for name, bound in bounds.items()) if bounds and latency else None))  # fmt: skip
    return rows


def _services(run: RunFolder, trial: Trial) -> list[SoakService]:
    """Memory growth of each service, bytes per hour."""
    rows = []
    folder = run.folder_of(trial)
    for samples in read_in_parts(folder, layout.SERVICE_SAMPLES, ["host", "service", "wall_s", "memory_bytes"]):
        for (host, service), readings in samples.group_by("host", "service", maintain_order=True):
            # Of a service that was started again, too; the first one is from before the load.
            own = in_time(readings).slice(1)
            if own.is_empty():
                continue
            slope = slope_per_hour(own["wall_s"].to_numpy(), own["memory_bytes"].to_numpy())
            growth = (
                None if slope is None else Growth(per_hour=slope.per_hour, low=slope.low, high=slope.high, n=slope.n, sure=slope.is_sure)
            )
            rows.append(SoakService(host=host, service=service, memory_bytes=own["memory_bytes"][-1], growth_bytes_per_hour=growth))
    return rows


def _counters(run: RunFolder, trial: Trial) -> dict[str, float]:
    """The systems' own work in the window: bytes compacted, log segments created and deleted. Zero if none
    was seen."""
    folder = run.folder_of(trial)
    out: dict[str, float] = {}
    if (steps := gauge_steps(folder, COMPACTED)) is not None:
        out["cassandra_compacted_bytes"] = steps.rises - steps.falls
    if (steps := gauge_steps(folder, SEGMENTS)) is not None:
        # A reading is the number of segments now: a rise counts as created, a fall as deleted. Both may hide
        # in one step.
        out |= {"kafka_segments_made": steps.rises, "kafka_segments_deleted": steps.falls}
    return out


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
