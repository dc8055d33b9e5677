"""The limit search: proposes the next rate, and is given what came of it; until the limit is known.

Each rate is asked for where it tells most of the threshold (`posterior.py`). The search ends at the
asked precision, or when its budget of trials is used up: then the interval is wider, and says so. It
takes any windows at any rates, so that a resumed run, or a report, gives it what the journal holds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from hydrotest.analysis.limits.posterior import CENTRE, Estimate, Posterior
from hydrotest.spec.models import Search
from hydrotest.spec.step import SEARCH_TRIALS_MIN
from hydrotest.verdicts.trial import Disturbance

RETRIES_MAX = 20
"""Trials of one search that are repeated because they were disturbed."""

TRIALS_MIN = SEARCH_TRIALS_MIN

BEYOND_P = 0.9
"""Probability that the limit is above all that may be tried, or below, at which the search ends with that as its answer."""

LAPSE_SEEN, LAPSE_SD_MAX = 0.12, 0.1
"""Where more windows than this fail by themselves, the search goes on until it knows the share of them this well (standard deviation)."""

LAPSE_EVERY = 3
"""Every so many trials one is spent on a rate that surely holds but for lapses, while their share is not known."""

FIRST_SHARE = 0.02
"""A search from below begins at this share of the highest rate that may be tried …"""
STEP = 1.5
"""… and asks for no rate that is more than so many times the highest that held."""

SAME_MAX = 4
"""Windows in a row at one rate at most: what happens for a while must not answer for the system."""


class Judged(Protocol):
    """What a trial proved."""

    @property
    def accepted(self) -> bool:
        """It was sustained."""
        ...

    @property
    def void(self) -> object | None:
        """Why it counts neither way."""
        ...

    @property
    def stopped_by(self) -> Any:
        """The rule that failed; of several workloads together, by workload. None or empty: none did."""
        ...

    @property
    def disturbed(self) -> tuple[Disturbance, ...]:
        """What else explains a rejection, so that it proves nothing of the system."""
        ...


class RetryBudget:
    """Which trials count neither way. A rejection while a service compiled, or while cores were stolen, is repeated a
    bounded number of times: a system that never stops compiling has that as its limit."""

    def __init__(self) -> None:
        self.left = RETRIES_MAX

    def take(self, judged: Judged) -> bool:
        """True if this trial is to be repeated."""
        if judged.void is not None:
            return True
        if judged.accepted or not judged.disturbed or self.left == 0:
            return False
        self.left -= 1
        return True


@dataclass(frozen=True)
class Limit:
    """The answer of a search."""

    estimate: Estimate | None
    """The rate that half of the windows hold, apart from lapses. None: no window held."""
    safe: float | None
    """The rate at which `confidence` of the windows hold; None where lapses alone exceed that, or no window held."""
    lapse: Estimate
    drifts: float
    """Probability that the limit moved during the search."""
    windows: int
    is_precise: bool
    """The interval is within the asked precision."""
    is_above: bool
    """The limit is above all that may be tried."""


ALL = ""
"""The subject of a search that has one; of several workloads together: all of them hold."""


@dataclass
class LimitSearch:
    """Ask `propose` for a rate, run it, `record` whether it was sustained; until `propose` returns None.

    A window of several workloads answers for each: they are `subjects`, next to `ALL`, which holds where all do.
    """

    saturated: float
    precision: float
    budget: int = 40
    """Windows at most."""
    ceiling: float | None = None
    """No rate above this is proposed: the highest that may be tried."""
    centre: float = CENTRE
    """Where the limit is expected, as a share of the saturated rate."""
    confidence: float = 0.9
    """Share of windows that hold at the safe rate."""
    from_below: bool = False
    """Others use the system: no rate is far above one that held."""
    subjects: tuple[str, ...] = ()
    posteriors: dict[str, Posterior] = field(init=False)
    windows: list[tuple[float, bool]] = field(init=False, default_factory=list)
    """Rates and whether all held, in order."""
    _some: set[str] = field(init=False, default_factory=set)
    """Subjects of which a window held."""
    _next: float | None = field(init=False, default=None)
    _is_chosen: bool = field(init=False, default=False)
    """Whether `_next` is of today: a report records many windows, and asks for no rate."""

    def __post_init__(self) -> None:
        names = (ALL, *self.subjects) if len(self.subjects) > 1 else (ALL,)
        self.posteriors = {name: Posterior(self.saturated, self.precision, self.centre) for name in names}
        self._asked = self.posteriors[ALL].asked(self.ceiling)

    def propose(self) -> float | None:
        """The next rate to try; None when the search is over."""
        if not self._is_chosen:
            self._next, self._is_chosen = self._choose(), True
        return self._next

    def record(self, held: bool, rate: float | None = None, failed: Collection[str] = ()) -> None:
        """How the proposed rate went, or another one. `failed`: the subjects that did not hold."""
        at = self.propose() if rate is None else rate
        if at is None:
            raise ValueError("the search is over: name the rate of this window")
        self.windows.append((at, held))
        for name, posterior in self.posteriors.items():
            own = held if name == ALL else name not in failed
            posterior.observe(at, own)
            if own:
                self._some.add(name)
        self._is_chosen = False

    def limit(self, subject: str = ALL) -> Limit:
        """The answer so far; complete once `propose` returns None."""
        name = subject if subject in self.posteriors else ALL
        posterior, some = self.posteriors[name], name in self._some
        return Limit(
            posterior.limit if some else None,
            posterior.safe(self.confidence, self.ceiling) if some else None,
            posterior.lapse,
            posterior.drifts,
            len(self.windows),
            self._is_precise(posterior),
            self._is_above(posterior),
        )

    def posterior(self, subject: str = ALL) -> Posterior:
        """What is known of a subject."""
        return self.posteriors.get(subject, self.posteriors[ALL])

    def _is_precise(self, posterior: Posterior) -> bool:
        estimate = posterior.limit
        return math.log(estimate.high / estimate.low) <= 2 * math.log1p(self.precision)

    def _is_above(self, posterior: Posterior) -> bool:
        return posterior.above(self._asked[-1]) >= BEYOND_P

    def _is_known(self, posterior: Posterior) -> bool:
        if self._is_above(posterior) or posterior.above(self._asked[1]) <= 1 - BEYOND_P:
            return True
        return len(self.windows) >= TRIALS_MIN and self._is_precise(posterior) and _knows_lapse(posterior)

    def _choose(self) -> float | None:
        number = len(self.windows)
        open_ = [one for one in self.posteriors.values() if not (number and self._is_known(one))]
        if not open_ or number >= self.budget:
            return None
        asked = self._allowed()
        if self.from_below and all(held and rate < asked[-1] for rate, held in self.windows):
            return asked[-1]
        unsure = [one for one in open_ if not _knows_lapse(one)]
        if number >= TRIALS_MIN and unsure and number % LAPSE_EVERY == 0:
            return min(unsure[0].sure(), asked[-1])
        tells = sum(one.entropies()[: len(asked)] for one in open_)
        recent = [rate for rate, _ in self.windows[-SAME_MAX:]]
        tired = {rate for rate, times in Counter(recent).items() if times == SAME_MAX}
        best = [asked[int(at)] for at in np.argsort(tells, kind="stable")]
        return next((rate for rate in best if rate not in tired), best[0])

    def _allowed(self) -> list[float]:
        """The rates that may be asked for now."""
        if not self.from_below:
            return self._asked
        held = max((rate for rate, held in self.windows if held), default=None)
        most = self._asked[-1] * FIRST_SHARE if held is None else held * STEP
        return [rate for rate in self._asked if rate <= most] or self._asked[:1]


def limit_search(saturated: float, settings: Search, allowed: float | None = None) -> LimitSearch:
    """The search of one workload's limit, as an experiment asks for it. `allowed`: the highest rate that may be tried, on a
    system that others use."""
    return LimitSearch(
        saturated, settings.precision, settings.trials, allowed, confidence=settings.confidence, from_below=allowed is not None
    )


def _knows_lapse(posterior: Posterior) -> bool:
    return posterior.lapse.value < LAPSE_SEEN or posterior.lapse_sd <= LAPSE_SD_MAX
