"""The numbers that a what-if moves, how far they are from what was measured, and how wrong predictions along them were."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hydrotest.predict.answer import Moved, Zone
from hydrotest.predict.scores import Scores

WITHIN = 1.02
"""Measured within so much of the asked value counts as measured."""
FAR, REFUSED = 2.0, 4.0
"""Beyond what was measured by so much: the interval is twice as wide; nothing is predicted."""
BEYOND_MAX = 2
"""Numbers that may be beyond what was measured at once."""


@dataclass(frozen=True)
class Reached:
    """A number: what it would be, and what was measured."""

    axis: str
    value: float
    measured: Sequence[float]
    is_assumed: bool = False
    """Nobody has measured it where it is to hold: its error counts, though it is the same number."""
    shift: float = 0.0
    """More than what people call it: of what may be none, so that it is far from one by a factor."""

    @property
    def reach(self) -> float:
        """By how much it is beyond what was measured, as a factor; 1 within."""
        return max(1.0, self.value / max(self.measured), min(self.measured) / self.value)

    @property
    def is_beyond(self) -> bool:
        """Whether it is outside of what was measured."""
        return self.reach > WITHIN

    @property
    def is_moved(self) -> bool:
        """Whether it was measured at no value near this one."""
        return self.is_assumed or all(abs(math.log(self.value / one)) > math.log(WITHIN) for one in self.measured)

    def row(self, scores: Scores) -> Moved:
        """For the answer, with the error of its axis."""
        known = scores.of(self.axis)
        error = known.error * (2.0 if self.reach > FAR else 1.0)
        return Moved(axis=self.axis, value=self.called, low=min(self.measured) - self.shift, high=max(self.measured) - self.shift, error=error,
                     cases=known.cases)  # fmt: skip

    @property
    def called(self) -> float:
        """As people call it."""
        return self.value - self.shift


def zone_of(numbers: Sequence[Reached]) -> Zone:
    """How far all of them are."""
    return Zone.EXTRAPOLATED if any(one.is_beyond for one in numbers) else Zone.CALIBRATED


def beyond(numbers: Iterable[Reached]) -> list[Reached]:
    """Those that are outside of what was measured."""
    return [one for one in numbers if one.is_beyond]


def combined(errors: Iterable[float]) -> float:
    """|log error| of several at once: they are independent."""
    return math.sqrt(sum(error**2 for error in errors))
