"""Demands: the CPU that each operation costs a service, by non-negative regression.

The law is that of utilisation (Denning and Buzen, "The Operational Analysis of Queueing Network Models", 1978):
cores used = fixed + Σ demand × rate. Rates are of *drivers*: requests, records, bytes. What two drivers cannot tell apart in the
windows at hand is not divided between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.stats import t as student

COVERAGE = 0.9
INFLATION_MAX = 100.0
"""Variance inflation (uncentred: what is fixed is one of the unknowns) from which on they are not told apart: intervals are then
ten times as wide as of that unknown alone. In a design of one driver that doubles from window to window it is about 2."""
FIXED = "fixed"
"""The name of what a service uses without any operation, among the unknowns."""
SPARE_MIN = 2
"""Windows beyond the number of unknowns: fewer leave no error to be seen."""


@dataclass(frozen=True)
class Window:
    """What one service did in one window, and the cores that it used. Windows are independent: one for each trial."""

    cores: float
    rates: Mapping[str, float]
    """Of each driver, a second."""


@dataclass(frozen=True)
class Demand:
    """An estimate with its 90 % interval: cores, or core-seconds for each of a driver."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Fit:
    """The demands of a service."""

    fixed: Demand
    """Cores that it uses without any operation."""
    demands: Mapping[str, Demand]
    windows: int
    error: float
    """Median of |predicted − used| ÷ used over the windows."""

    def cores(self, rates: Mapping[str, float]) -> float:
        """Cores at these rates."""
        return self.fixed.value + sum(demand.value * rates.get(name, 0.0) for name, demand in self.demands.items())


@dataclass(frozen=True)
class Unidentified:
    """Why windows do not tell the demands."""

    together: tuple[str, ...] = ()
    """Unknowns that they do not tell apart: drivers, and `FIXED` where one hardly changes."""
    lacking: int = 0
    """Windows that lack."""


def fit(windows: Sequence[Window], drivers: Sequence[str]) -> Fit | Unidentified:
    """The demands of `drivers`, from windows that all have a rate of each. What a service uses varies by a share of itself, so
    that each window weighs by its relative error."""
    lacking = len(drivers) + 1 + SPARE_MIN - len(windows)
    if lacking > 0:
        return Unidentified(lacking=lacking)
    used = np.array([window.cores for window in windows])
    design = np.array([[1.0, *(window.rates[name] for name in drivers)] for window in windows])
    scales = np.sqrt(np.mean((design / used[:, None]) ** 2, axis=0))
    if not scales.all():
        return Unidentified(together=tuple(name for name, scale in zip(drivers, scales[1:], strict=True) if not scale))
    rows = design / used[:, None] / scales
    if together := _not_told_apart(rows, (FIXED, *drivers)):
        return Unidentified(together=together)
    found, _ = nnls(rows, np.ones(len(windows)))
    values, errors = found / scales, _errors(rows, found) / scales
    estimates = [
        Demand(float(value), max(0.0, float(value - error)), float(value + error)) for value, error in zip(values, errors, strict=True)
    ]
    error = float(np.median(np.abs(design @ values / used - 1)))
    return Fit(estimates[0], dict(zip(drivers, estimates[1:], strict=True)), len(windows), error)


def _errors(rows: NDArray[np.float64], found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half of each interval, by Student's t: windows are few. Of all unknowns, also of those at 0, whose error is that of the others."""
    freedom = len(rows) - len(found)
    residuals = rows @ found - 1
    covariance = np.linalg.inv(rows.T @ rows) * float(residuals @ residuals) / freedom
    half: NDArray[np.float64] = np.sqrt(np.diag(covariance)) * float(student.ppf(0.5 + COVERAGE / 2, freedom))
    return half


def _not_told_apart(rows: NDArray[np.float64], unknowns: Sequence[str]) -> tuple[str, ...]:
    """Unknowns whose variance the others inflate too much: what the others leave of a column whose mean square is 1."""
    together = []
    for index, name in enumerate(unknowns):
        others, own = np.delete(rows, index, axis=1), rows[:, index]
        left = own - others @ np.linalg.lstsq(others, own, rcond=None)[0]
        if np.mean(left**2) * INFLATION_MAX <= 1.0:
            together.append(name)
    return tuple(together)
