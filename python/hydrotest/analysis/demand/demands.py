"""Demands of drivers, by non-negative least squares, and how far they show what a load needs.

cores = fixed + Σ demand × driver (Denning and Buzen, 1978). Drivers that always rose together cannot be separated; but a load in
which they rise together, too, can be predicted from them. So what decides is the load: its drivers must lie in the space that the
measured windows span.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.special import stdtrit  # as in statistics/intervals.py

FIXED = "fixed"
SPAN_MIN = 0.02
"""A direction in which the windows differ by less than this share of their length is one that they do not span."""
OUTSIDE_MAX = 0.05
"""Share of a load's drivers, scaled as in the windows, that may lie outside of what they span."""
COVERAGE = 0.9
FREEDOM_MIN = 2


@dataclass(frozen=True)
class Demand:
    """An estimate with its 90 % interval: cores, or core-seconds for each of a driver."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Observation:
    """Cores that each host of a system used in a window, and its drivers."""

    cores: float
    drivers: Mapping[str, float]
    trial: tuple[int, int]
    """Its run and trial: windows of one trial drift together."""
    windows: int = 1
    """Windows that it is the mean of."""


@dataclass(frozen=True)
class Demands:
    """What each unit of a driver costs."""

    names: tuple[str, ...]
    """`FIXED` first."""
    values: NDArray[np.float64]
    scales: NDArray[np.float64]
    """Root mean squares of the columns over the windows, each window weighing by its relative error."""
    directions: NDArray[np.float64]
    """Right singular vectors of the scaled windows, as rows."""
    lengths: NDArray[np.float64]
    """Their singular values, as shares of the root of the number of windows."""
    windows: int
    deviation: float
    """Standard deviation of |used ÷ predicted − 1|, of windows of different trials."""
    freedom: int
    error: float
    """Median of |predicted ÷ used − 1|."""
    groups: tuple[Mapping[str, float], ...]
    """Drivers that rose in proportion in all windows are one: the rarest first, the others by how many of them there were for each."""

    def cores(self, drivers: Mapping[str, float]) -> float:
        """Cores of each host at this load."""
        return float(self._row(drivers) @ self.values)

    @property
    def fixed(self) -> float:
        """Cores without any load."""
        return float(self.values[0])

    def estimate(self, name: str) -> Demand | None:
        """The demand of a driver, or what is `FIXED`; None of one that the windows do not separate from others."""
        return self.cost({name: 1.0})

    def cost(self, group: Mapping[str, float]) -> Demand | None:
        """What so much of some drivers costs together; None if the windows do not separate it from others."""
        parts = np.array([group.get(name, 0.0) for name in self.names])
        scaled, seen = parts / self.scales, self.lengths >= SPAN_MIN
        if np.linalg.norm(self.directions[~seen] @ scaled) > OUTSIDE_MAX * np.linalg.norm(scaled):
            return None
        spread = (self.directions[seen] @ scaled) / self.lengths[seen]
        half = self._quantile * self.deviation * float(np.sqrt(spread @ spread / self.windows))
        value = float(parts @ self.values)
        return Demand(value, max(0.0, value - half), value + half)

    @property
    def together(self) -> tuple[str, ...]:
        """What the windows do not separate from others."""
        return tuple(name for name in self.names if self.estimate(name) is None)

    @property
    def _quantile(self) -> float:
        return float(stdtrit(self.freedom, 0.5 + COVERAGE / 2))

    def outside(self, drivers: Mapping[str, float]) -> tuple[str, ...]:
        """Drivers of this load that the windows do not separate in the way that it needs; empty if they do."""
        unknown = tuple(name for name, rate in drivers.items() if rate > 0 and name not in self.names)
        if unknown:
            return unknown
        scaled = self._row(drivers) / self.scales
        beyond = self.directions[self.lengths < SPAN_MIN]
        parts = beyond @ scaled
        if not len(beyond) or np.linalg.norm(parts) <= OUTSIDE_MAX * np.linalg.norm(scaled):
            return ()
        weights = np.abs(parts @ beyond)
        return tuple(name for name, weight in zip(self.names, weights, strict=True) if weight >= 0.3 * weights.max())

    def relative_error(self, drivers: Mapping[str, float], least: float = 0.0) -> float:
        """Half of the 90 % interval of the cores at this load, as a share of them, or of `least` where that is more: of another window, not
        of the mean."""
        scaled = self._row(drivers) / self.scales
        seen = self.lengths >= SPAN_MIN
        parts = (self.directions[seen] @ scaled) / self.lengths[seen]
        cores = max(self.cores(drivers), 1e-9)
        spread = self.deviation * float(np.sqrt(parts @ parts / self.windows)) / cores
        return self._quantile * float(np.hypot(spread, self.deviation)) * cores / max(cores, least)

    def least_known(self, drivers: Mapping[str, float]) -> tuple[str, ...]:
        """Drivers of the direction that makes the error of this load largest."""
        scaled = self._row(drivers) / self.scales
        seen = self.lengths >= SPAN_MIN
        parts = (self.directions[seen] @ scaled) / self.lengths[seen]
        weights = np.abs(self.directions[seen][int(np.argmax(np.abs(parts)))])
        return tuple(name for name, weight in zip(self.names, weights, strict=True) if weight >= 0.3 * weights.max())

    def _row(self, drivers: Mapping[str, float]) -> NDArray[np.float64]:
        return np.array([1.0, *(drivers.get(name, 0.0) for name in self.names[1:])])


def demands(seen: Sequence[Observation], windows: Sequence[Observation] | None = None) -> Demands | None:
    """The demands; None if there are too few windows to see an error. What a service uses varies by a share of itself, so that each
    observation weighs by its relative error, and by its windows. `windows`: the single ones, where `seen` are means of some; they show how
    much a window scatters."""
    single = seen if windows is None else windows
    names = (FIXED, *sorted({name for one in seen for name, rate in one.drivers.items() if rate > 0}))
    if not seen or any(one.cores <= 0 for one in single):
        return None
    weights = np.sqrt([one.windows for one in seen])
    count = int((weights**2).sum())
    design, used = _design(seen, names)
    rows = design / used[:, None] * weights[:, None]
    norms = np.sqrt((rows**2).sum(axis=0) / count)
    # As many directions as there are names, also of fewer rows.
    _, lengths, directions = np.linalg.svd(np.pad(rows / norms, ((0, max(0, len(names) - len(rows))), (0, 0))), full_matrices=False)
    lengths = lengths / np.sqrt(count)
    rank = int((lengths >= SPAN_MIN).sum())
    if len(seen) < rank or len(single) - rank < FREEDOM_MIN:
        return None
    found, _ = nnls(rows / norms, weights)
    values = found / norms
    all_, each = _design(single, names)
    residuals = all_ @ values / each - 1
    deviation, freedom = _scatter(residuals, [one.trial for one in single], rank)
    return Demands(names, values, norms, directions, lengths, count, deviation, freedom, float(np.median(np.abs(residuals))),
                   tuple(_groups(names[1:], design[:, 1:])))  # fmt: skip


def _design(seen: Sequence[Observation], names: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A row for each, by name; and the cores that were used."""
    return np.array([[1.0, *(one.drivers.get(name, 0.0) for name in names[1:])] for one in seen]), np.array([one.cores for one in seen])


def _groups(names: Sequence[str], columns: NDArray[np.float64]) -> Iterator[Mapping[str, float]]:
    """Columns that are in proportion, together."""
    # Of those that are as many, the one with the shortest name.
    left = sorted(range(len(names)), key=lambda at: (float(f"{columns[:, at].sum():.6g}"), len(names[at])))
    while left:
        first = columns[:, left[0]]
        ratios = {at: float(columns[:, at] @ first / (first @ first)) for at in left}
        alike = [at for at in left if np.linalg.norm(columns[:, at] - ratios[at] * first) <= SPAN_MIN * np.linalg.norm(columns[:, at])]
        yield {names[at]: ratios[at] for at in alike}
        left = [at for at in left if at not in alike]


def _scatter(residuals: NDArray[np.float64], trials: Sequence[tuple[int, int]], rank: int) -> tuple[float, int]:
    """The standard deviation of a window, and its degrees of freedom: from single windows, or from the means of trials where those scatter
    more than windows that are independent would."""
    groups: dict[tuple[int, int], list[float]] = {}
    for trial, residual in zip(trials, residuals, strict=True):
        groups.setdefault(trial, []).append(float(residual))
    freedom = len(residuals) - rank
    single = float(residuals @ residuals) / freedom
    if len(groups) < 2:
        return math.sqrt(single), freedom
    means = np.array([np.mean(group) for group in groups.values()])
    between = float(means @ means) / (len(groups) - 1) * len(residuals) / len(groups)
    return (math.sqrt(single), freedom) if single >= between else (math.sqrt(between), max(FREEDOM_MIN, len(groups) - 1))
