"""Simulated systems with a known limit, for the search's tests and for benchmarks/limits.py."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hydrotest.analysis.limits.search import Limit, LimitSearch

SATURATED = 1e6
SETTLES_AFTER = 25
"""Windows until a limit that drifts has reached its end."""


@dataclass(frozen=True)
class Kind:
    """How windows of some systems hold or fail near their limit, which lies between 40 and 100 % of the saturated rate."""

    slope: float
    """Of the logistic edge, in ln(rate)."""
    lapse: float = 0.0
    """Share of windows that fail at any rate."""
    rises_by: float = 1.0
    """The limit at the end, as a multiple of that at the beginning."""
    told: float = 1.0
    """What the search takes for the saturated rate, as a multiple of it."""
    bursts: bool = False
    """Every 20 windows or so begins a burst of failures: 1 + Poisson(2) windows."""


KINDS = {
    "slope 0.01": Kind(0.01),
    "slope 0.03": Kind(0.03),
    "slope 0.06": Kind(0.06),
    "slope 0.03, lapse 0.10": Kind(0.03, 0.10),
    "slope 0.05, lapse 0.25": Kind(0.05, 0.25),
    "slope 0.05, lapse 0.50": Kind(0.05, 0.50),
    "drift +50 %": Kind(0.03, rises_by=1.5),
    "slope 0.12": Kind(0.12),
    "saturated rate 30 % too low": Kind(0.03, 0.02, told=0.7),
    "saturated rate 30 % too high": Kind(0.03, 0.02, told=1.3),
    "bursts of failures": Kind(0.03, bursts=True),
    "a cliff": Kind(0.001),
}


@dataclass(frozen=True)
class Outcome:
    """What a search found of a system."""

    true: float
    """The limit, at the end."""
    limit: Limit
    trials: int


class System:
    """One system of a kind; the same for the same seed."""

    def __init__(self, kind: Kind, seed: int) -> None:
        self.kind = kind
        self._random = np.random.default_rng(seed)
        self._limit = SATURATED * self._random.uniform(0.4, 1.0)
        self._burst = 0
        self.windows = 0

    @property
    def limit(self) -> float:
        """Of the next window."""
        return float(self._limit * self.kind.rises_by ** (min(self.windows / SETTLES_AFTER, 1.0) - 1.0))

    def holds(self, rate: float) -> bool:
        """Whether the next window holds at a rate."""
        above = (math.log(rate) - math.log(self.limit)) / self.kind.slope
        chance = (1 - self.kind.lapse) / (1 + math.exp(max(-60.0, min(60.0, above))))
        held = bool(self._random.random() < chance)
        if self.kind.bursts:
            if self._burst == 0 and self._random.random() < 1 / 20:
                self._burst = 1 + int(self._random.poisson(2))
            held = held and self._burst == 0
            self._burst = max(0, self._burst - 1)
        self.windows += 1
        return held


def searched(kind: Kind, seed: int, precision: float, budget: int) -> Outcome:
    """Carries a search out."""
    system = System(kind, seed)
    search = LimitSearch(SATURATED * kind.told, precision, budget)
    while (rate := search.propose()) is not None:
        search.record(system.holds(rate))
    return Outcome(system.limit, search.limit(), system.windows)
