"""Limits inside the systems: what their gauges showed. Each system's kind defines which there are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import polars as pl

from hydrotest.kinds.internal import Internal
from hydrotest.kinds.registry import internal_limits
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.store.samples import read_samples
from hydrotest.verdicts.evidence import InsideLine


@dataclass(frozen=True)
class Gauged:
    """What a limit's gauge showed of one service."""

    limit: Internal
    host: str
    service: str
    value: float

    @property
    def is_full(self) -> bool:
        """True if it may be what binds."""
        return self.value < self.limit.threshold if self.limit.full == "below" else self.value > self.limit.threshold

    @property
    def nearness(self) -> float:
        """How near it is to being full, as a share of what makes it so. What is full below a threshold is a
        share of idle time: its busy time counts."""
        value, threshold = (self.value, self.limit.threshold) if self.limit.full == "above" else (1 - self.value, 1 - self.limit.threshold)
        return max(0.0, value) / threshold

    def evidence(self) -> InsideLine:
        """A line of the verdict's evidence."""
        limit = self.limit
        return InsideLine(limit.what, self.host, self.service, self.value, limit.unit, limit.threshold, limit.full, self.is_full, limit.spends, limit.setting,
                          limit.remedy, limit.source)  # fmt: skip


def gauged(run: RunFolder, windows: Sequence[tuple[Trial, float, float]], needed: Collection[str] | None = None) -> list[Gauged]:
    """What the gauges of each service showed over some windows (trial, begin, end; wall time); `needed`: only
    services on these hosts, and nodes that a cluster shows of itself, whose hosts are not known."""
    frames = []
    for trial, begin, end in windows:
        samples = read_samples(run.folder_of(trial), layout.GAUGE_SAMPLES, pl.col("wall_s").is_between(begin, end))
        if samples.columns:
            frames.append(samples.with_columns(pl.lit(trial.number).alias("trial")))
    if not frames:
        return []
    every = pl.concat(frames)
    found = []
    for limit in internal_limits():
        own = every.filter(pl.col("gauge").str.starts_with(limit.gauge))
        if limit.times is not None:
            other = every.filter(pl.col("gauge").str.starts_with(limit.times)).select("trial", "host", "service", "wall_s", times="value")
            own = own.join(other, on=["trial", "host", "service", "wall_s"]).with_columns(pl.col("value") * pl.col("times"))
        for (host, service), readings in own.group_by("host", "service", maintain_order=True):
            value = _read(limit, readings)
            if value is not None and (needed is None or not host or host in needed):
                found.append(Gauged(limit, str(host), str(service), value))
    return found


def _read(limit: Internal, readings: pl.DataFrame) -> float | None:
    """Several gauges of one name (collectors, pools) add up, or their mean is taken; the windows' mean."""
    values = []
    for _, window in readings.group_by("trial", maintain_order=True):
        value = pl.col("value")
        sums = window.group_by("wall_s", maintain_order=True).agg(value.mean() if limit.is_each else value.sum()).sort("wall_s")
        if limit.reading == "mean":
            values.append(float(sums["value"].mean()))  # type: ignore[arg-type] # of numbers
        elif len(sums) > 1:
            seconds = sums["wall_s"][-1] - sums["wall_s"][0]
            values.append(float(sums["value"][-1] - sums["value"][0]) / seconds)
    return sum(values) / len(values) * limit.scale if values else None
