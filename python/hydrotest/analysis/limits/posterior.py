"""What windows that held or failed say of a limit: a posterior over threshold, slope and lapse.

A window at the rate x holds with probability (1 - lapse) / (1 + exp((ln x - ln limit) / slope)): the
logistic curve of psychophysics, where an answer is yes or no and is wrong now and then. Sources:
A. B. Watson and D. G. Pelli, QUEST (1983); L. L. Kontsevich and C. W. Tyler, the psi method (1999);
A. B. Watson, QUEST+ (2017). A second hypothesis lets the threshold move from one window to the next,
as it does while a system warms up; what is early then weighs less by itself.

All values are exact sums over a grid, so that equal windows give equal answers. Rates may have any
unit. The grid is absolute: independent searches ask for the same rates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]

SLOPES: Floats = np.array([0.004, 0.01, 0.02, 0.035, 0.06, 0.1, 0.17, 0.25])
"""Of the curve, in units of ln(rate): from a cliff to a rate that is held more seldom over half of its range."""
SLOPE_WEIGHTS: Floats = np.array([1.0, 1.0, 1.0, 1.0, 1.2, 1.5, 2.0, 2.0])
"""Prior weights. Soft edges weigh more: one that is taken for sharp ends a search too early."""
LAPSES: Floats = np.array([0.005, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7])
"""Shares of windows that fail at any rate."""
LAPSE_RARE = 0.55
"""Prior probability that hardly any do; the rest falls off by e for each 0.4 of lapse."""
CENTRE = 0.75
"""Prior median of the threshold, as a share of the guess: what an objective leaves of the saturated rate."""
SPREAD = 0.9
"""Prior standard deviation of ln(threshold): wide, so that the guess may be wrong by a factor of two."""
LOWEST, HIGHEST = 0.004, 2.2
"""Of the guess: the grid's ends."""
ASK_PER_PRECISION = 2
"""Rates that are asked for lie so many times closer than the precision."""
CELLS_PER_ASK = 2
"""The threshold's grid is so many times closer than the rates."""
MOVES_P = 0.12
"""Prior probability that the threshold moves during a search."""
MOVE_MEAN, MOVE_SD = 0.01, 0.03
"""By how much of itself it then moves per window: most systems get faster, as they warm up."""
SURE = 0.95
"""Probability of a window that "surely" holds."""
KNOWN_MAX = 128
"""Rates whose probabilities are kept, of 200 kB each."""
CHANCES = 500
"""Steps of the chance that a window holds, in its band."""
NEVER = 1e-4
"""No answer is ruled out entirely: a window may be misjudged at any rate."""


@dataclass(frozen=True)
class Estimate:
    """A median with its 90 % credible interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Held:
    """Of some rates: the probability that a window holds, and its 90 % credible band."""

    rates: Floats
    mean: Floats
    low: Floats
    high: Floats


class Posterior:
    """`guess`: a rate near which the threshold is expected, such as the saturated rate. `precision`: a share, which sets the grid."""

    def __init__(self, guess: float, precision: float, centre: float = CENTRE) -> None:
        if not (guess > 0 and math.isfinite(guess)):
            raise ValueError(f"the saturated rate must be positive, not {guess}")
        self._cell = math.log1p(precision) / (ASK_PER_PRECISION * CELLS_PER_ASK)
        first, last = (math.floor(math.log(guess * end) / self._cell) for end in (LOWEST, HIGHEST))
        self._first = first
        # Rates that are asked for lie between thresholds, not on them: a cliff just below a rate is then distinguished from one just above.
        self._thresholds: Floats = ((np.arange(first, last + 1) + 0.5) * self._cell).astype(np.float64)
        self._asks = np.array([cell for cell in range(first, last + 1) if cell % CELLS_PER_ASK == 0])
        slopes, lapses = np.meshgrid(SLOPES, LAPSES, indexing="ij")
        self._slopes, self._lapses = slopes.ravel(), lapses.ravel()
        weights = np.exp(-LAPSES / 0.4)
        weights[1:] *= (1 - LAPSE_RARE) / weights[1:].sum()
        weights[0] = LAPSE_RARE
        near = np.exp(-0.5 * ((self._thresholds - math.log(guess * centre)) / SPREAD) ** 2)
        prior = near[:, None] * (SLOPE_WEIGHTS[:, None] * weights).ravel()
        prior /= prior.sum()
        self._p: Floats = np.stack([prior * (1 - MOVES_P), prior * MOVES_P]).astype(np.float64)
        """By hypothesis (it stands; it moves), threshold, and pair of slope and lapse."""
        self._known: dict[float, Floats] = {}
        steps = np.arange(-math.ceil(4 * MOVE_SD / self._cell), math.ceil(4 * MOVE_SD / self._cell) + 1)
        kernel = np.exp(-0.5 * ((steps * self._cell - MOVE_MEAN) / MOVE_SD) ** 2)
        self._moves = _moves(len(self._thresholds), kernel / kernel.sum())
        offsets: Floats = ((np.arange(-(last - first), last - first + 1) - 0.5) * self._cell).astype(np.float64)
        self._by_offset: Floats = _holds(offsets[None, :], self._slopes[:, None], self._lapses[:, None])
        """By pair of slope and lapse, and ln(rate) - ln(threshold)."""

    def observe(self, rate: float, held: bool) -> None:
        """A window at a rate held, or failed."""
        likely = self._likely(rate)
        self._p = self._p * (likely if held else 1 - likely)
        self._p /= self._p.sum()
        self._p[1] = self._moves @ self._p[1]

    def _likely(self, rate: float) -> Floats:
        """The probability that a window holds there, by threshold, and pair of slope and lapse. Rates come again and again."""
        found = self._known.get(rate)
        if found is None:
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            found = self._known[rate] = _holds(math.log(rate) - self._thresholds[:, None], self._slopes, self._lapses)
        return found

    @property
    def drifts(self) -> float:
        """Probability that the threshold moves from window to window."""
        return float(self._p[1].sum())

    @property
    def limit(self) -> Estimate:
        """The rate that half of the windows hold, apart from lapses: now, where it moves."""
        return _quantiles(self._thresholds + self._cell / 2, self._p.sum((0, 2)), self._cell)

    def above(self, rate: float) -> float:
        """Probability that the limit is above a rate."""
        return float(self._p.sum((0, 2))[self._thresholds > math.log(rate)].sum())

    @property
    def lapse(self) -> Estimate:
        """Share of windows that fail at any rate: its mean, with a 90 % interval."""
        by_lapse = self._by_lapse()
        cumulated = np.cumsum(by_lapse)
        low, high = (float(LAPSES[int(np.searchsorted(cumulated, share))]) for share in (0.05, 0.95 - 1e-9))
        return Estimate(float(by_lapse @ LAPSES), low, high)

    @property
    def lapse_sd(self) -> float:
        """Standard deviation of the lapse."""
        by_lapse = self._by_lapse()
        return math.sqrt(max(0.0, float(by_lapse @ LAPSES**2) - float(by_lapse @ LAPSES) ** 2))

    def _by_lapse(self) -> Floats:
        found: Floats = self._p.sum((0, 1)).reshape(len(SLOPES), len(LAPSES)).sum(0)
        return found

    def held(self, rates: Sequence[float]) -> Held:
        """The probability that a window holds at each of some rates."""
        asked = np.asarray(rates, dtype=float)
        weights = self._p.sum(0).ravel()
        bands = []
        for rate in asked:
            likely = self._likely(rate).ravel()
            by_chance = np.bincount((likely * CHANCES).astype(int), weights, CHANCES + 1)
            low, high = np.searchsorted(np.cumsum(by_chance), [0.05, 0.95 - 1e-9]).clip(0, CHANCES) / CHANCES
            bands.append((float(weights @ likely), float(low), float(high)))
        mean, low, high = np.array(bands).reshape(-1, 3).T
        return Held(asked, mean, low, high)

    def safe(self, confidence: float, ceiling: float | None = None) -> float | None:
        """The highest rate that may be asked for at which the next window holds with this probability; None: not even the lowest does."""
        asked = self.asked(ceiling)
        good = np.flatnonzero(self._split().sum(1)[: len(asked)] >= confidence)
        return None if not len(good) else asked[int(good[-1])]

    def rate(self, cell: int) -> float:
        """The rate of a cell, to five significant digits, so that it reads well."""
        exact = math.exp(cell * self._cell)
        return round(exact, 4 - math.floor(math.log10(exact)))

    def _split(self) -> Floats:
        """Probability that a window holds and the threshold is this one: by rate that is asked for, and threshold."""
        # The curve depends on ln(rate) - ln(threshold) only: one product with each offset, of which each rate takes its diagonal.
        product = self._p.sum(0) @ self._by_offset
        number = len(self._thresholds)
        columns = (self._asks - self._first)[:, None] - np.arange(number)[None, :] + number - 1
        found: Floats = product[np.arange(number)[None, :], columns]
        return found

    def asked(self, ceiling: float | None = None) -> list[float]:
        """All rates that may be asked for, in order; none above a ceiling but the ceiling's own."""
        return [self.rate(int(cell)) for cell in self._asks if ceiling is None or self.rate(int(cell)) <= ceiling * (1 + 1e-9)]

    def entropies(self) -> Floats:
        """Of each rate that is asked for: the expected entropy of the threshold after a window there, in nats. The lowest tells most."""
        holds = self._split()
        threshold = self._p.sum((0, 2))
        fails = np.maximum(threshold - holds, 0.0)
        chance = holds.sum(1)
        return _entropy(holds, chance) + _entropy(fails, 1 - chance)

    def sure(self) -> float:
        """The highest rate at which a window surely holds but for lapses: windows there show these. Half of the limit's lower
        end at least: a rate far below shows what is not asked."""
        curve = 1 / (1 + np.exp(np.clip((np.log(self.asked())[:, None, None] - self._thresholds[:, None]) / SLOPES, -60, 60)))
        by_slope = self._p.sum(0).reshape(len(self._thresholds), len(SLOPES), len(LAPSES)).sum(2)
        sure = np.flatnonzero((curve * by_slope).sum((1, 2)) >= SURE)
        asked = self.asked()
        least = next(rate for rate in asked if rate >= self.limit.low / 2)
        return max(least, asked[int(sure[-1])] if len(sure) else least)


def _holds(offset: Floats, slopes: Floats, lapses: Floats) -> Floats:
    found: Floats = np.clip((1 - lapses) / (1 + np.exp(np.clip(offset / slopes, -60, 60))), NEVER, 1 - NEVER)
    return found


def _moves(count: int, kernel: Floats) -> sparse.csr_array:
    """From a distribution over thresholds to the next one, if they move by the kernel; what would leave the grid stays at its end. Sparse, and
    not a matrix for `numpy`: BLAS starts a thread on each core, beside what is measured."""
    by, at = np.meshgrid(np.arange(len(kernel)) - len(kernel) // 2, np.arange(count))
    weights = np.broadcast_to(kernel, by.shape)
    return sparse.coo_array((weights.ravel(), ((at + by).clip(0, count - 1).ravel(), at.ravel())), shape=(count, count)).tocsr()


def _quantiles(edges: Floats, weights: Floats, cell: float) -> Estimate:
    cumulated = np.concatenate([[0.0], np.cumsum(weights)])
    ends = np.concatenate([[edges[0] - cell], edges])
    low, middle, high = (math.exp(float(np.interp(share, cumulated / cumulated[-1], ends))) for share in (0.05, 0.5, 0.95))
    return Estimate(middle, low, high)


def _entropy(joint: Floats, total: Floats) -> Floats:
    """Entropy of the threshold in each row, times the row's probability."""
    found: Floats = -(joint * np.log(np.maximum(joint, 1e-30))).sum(1) + total * np.log(np.maximum(total, 1e-30))
    return found
