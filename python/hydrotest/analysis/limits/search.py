"""The limit search: a pure state machine that proposes the next rate and is told how it went.

Rates lie on a fixed geometric grid (… 1.1⁰, 1.1¹, 1.1² … for 10 % precision, as preferred-number
series do), so that independent searches answer in the same terms and "accepted in two of three" is
a count, not a comparison of reals. First the bracket below the saturated rate is bisected; one
rejection is tried again before it counts. Then independent searches start around the answer, each
from a bracket of its own and with no memory of the others. They take turns, a trial each, so that all
of them meet what the machine does for a while, and a rejection is tried again a turn later, when it may
have passed.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Protocol

from hydrotest.verdicts.trial import Disturbance

TRIALS_MAX = 60
"""A bound for a system that answers at random."""

RETRIES_MAX = 20
"""Trials of one search that are repeated because they were disturbed."""

FIRST_SHARE = 0.7
"""Of the saturated rate; a first guess at what an objective leaves of it."""

Steps = Generator[float, bool, "Bracket"]


@dataclass(frozen=True)
class Bracket:
    """What one search found, as grid steps: the highest accepted, the lowest rejected. None: none was."""

    accepted: int | None
    rejected: int | None


@dataclass(frozen=True)
class Limit:
    """The answer: `low` was accepted, and `high` rejected, in a majority of the independent searches."""

    low: float | None
    high: float | None
    repeats: int
    searches: list[Bracket]

    @property
    def majority(self) -> int:
        """So many of the independent searches decide."""
        return self.repeats // 2 + 1


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
    """Which trials count neither way. A rejection while a service compiled, or while the machine itself was taken away, is
    excused a bounded number of times: a system that never stops compiling has that as its limit."""

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


@dataclass
class LimitSearch:
    """Ask `propose` for a rate, run it, `tell` whether it was sustained; until `propose` returns None."""

    saturated: float
    precision: float
    repeats: int = 3
    ceiling: float | None = None
    """No rate above this is proposed: the highest that the generator can offer."""
    first: float | None = None
    """A guess at the answer, where there is a better one than a share of the saturated rate."""
    _steps: Generator[float, bool, None] = field(init=False)
    _next: float | None = field(init=False)
    _done: dict[int, Bracket] = field(init=False, default_factory=dict)
    """By search: 0 is the main one."""
    _stage: str = field(init=False, default="main")
    _turn: int = field(init=False, default=0)
    _trials: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        if not (self.saturated > 0 and math.isfinite(self.saturated)):
            raise ValueError(f"the saturated rate must be positive, not {self.saturated}")
        self._steps = self._plan()
        self._next = next(self._steps)

    @property
    def stage(self) -> str:
        """Which search runs: `main`, `repeat-1`, …"""
        return self._stage

    @property
    def turn(self) -> int:
        """0 in the main search; then how often each independent search that is not over has had its trial, this one included."""
        return self._turn

    def propose(self) -> float | None:
        """The next rate to try; None when the search is over."""
        return self._next

    def record(self, accepted: bool) -> None:
        """How the proposed rate went."""
        self._trials += 1
        try:
            self._next = self._steps.send(accepted)
        except StopIteration:
            self._next = None
        if self._trials >= TRIALS_MAX:
            self._next = None

    def limit(self) -> Limit:
        """The answer so far; complete once `propose` returns None."""
        searches = [self._done[number] for number in sorted(self._done)]
        repeats = searches[1:]
        majority = len(repeats) // 2 + 1
        if not repeats:
            return Limit(None, None, 0, searches)
        # "Accepted in m of n" holds for every step up to the m-th highest of the accepted ones.
        accepted = sorted((b.accepted for b in repeats if b.accepted is not None), reverse=True)
        rejected = sorted(b.rejected for b in repeats if b.rejected is not None)
        low = self.rate(accepted[majority - 1]) if len(accepted) >= majority else None
        high = self.rate(rejected[majority - 1]) if len(rejected) >= majority else None
        return Limit(low, high, len(repeats), searches)

    def rate(self, step: int) -> float:
        """The rate of a grid step, to five significant digits, so that it reads well."""
        exact = (1 + self.precision) ** step
        digits = 4 - math.floor(math.log10(exact))
        return round(exact, digits)

    def step(self, rate: float) -> int:
        """The highest grid step that is not above a rate."""
        return math.floor(math.log(rate) / math.log(1 + self.precision) + 1e-6)

    def _plan(self) -> Generator[float, bool, None]:
        main = yield from self._search(self.step(self.first or self.saturated * FIRST_SHARE), max(1, self.step(1.25)))
        self._done[0] = main
        middle = (main.accepted if main.accepted is not None else main.rejected) or 0
        # Each begins at another place beside the answer, so that none inherits its luck.
        searches = {number: self._search(middle + number % 3 - 1, 1) for number in range(1, self.repeats + 1)}
        asked = {number: next(search) for number, search in searches.items()}
        while asked:
            self._turn += 1
            # Another one begins each turn: whoever does presses just after something else did.
            order = sorted(asked, key=lambda number: (number - self._turn) % self.repeats)
            for number in order:
                self._stage = f"repeat-{number}"
                accepted = yield asked[number]
                try:
                    asked[number] = searches[number].send(accepted)
                except StopIteration as over:
                    self._done[number] = over.value
                    del asked[number]

    def _search(self, start: int, stride: int) -> Steps:
        """From `start`, strides that double until an accepted and a rejected step are known, then bisection."""
        highest = self.step(self.ceiling) if self.ceiling is not None else None
        full = self.step(self.saturated)
        accepted: int | None = None
        rejected: int | None = None
        step = start if highest is None else min(start, highest)
        while True:
            if (yield from self._try(step)):
                accepted = step
            else:
                rejected = step
            if accepted is not None and accepted == highest:
                return Bracket(accepted, rejected)
            if accepted is not None and rejected is not None:
                if rejected - accepted <= 1:
                    return Bracket(accepted, rejected)
                step = (accepted + rejected) // 2
                continue
            # A stride upwards stops at the saturated rate, and goes on from there step by step: hardly anything is sustained
            # beyond it, and a trial far beyond costs the system more than it tells.
            if rejected is None and step >= full:
                stride = 1
            wanted = step + stride if rejected is None else step - stride
            step = full if step < full < wanted else wanted
            step = step if highest is None else min(step, highest)
            stride *= 2
            if self.rate(step) < 1.0:
                return Bracket(accepted, rejected)

    def _try(self, step: int) -> Generator[float, bool, bool]:
        """One rejection is tried again: machines hiccup, and one false rejection must not send a bisection wrong."""
        if (yield self.rate(step)):
            return True
        return (yield self.rate(step))
