"""What one sees first, on the page and on the terminal: a card for each workload, what happens together, what to do
next. Figures and codes; how they look is for the page and the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from hydrotest.report.sections import Section
from hydrotest.summary.limits import Chance


class Look(StrEnum):
    """How sure an answer is."""

    PROVEN = "proven"
    SUSPECTED = "suspected"
    UNKNOWN = "unknown"
    GOOD = "good"
    """Of an account: nothing is missing."""
    ODD = "odd"
    """Of an account: nothing is known to be missing, but something was doubled, out of order, or not accounted for."""
    BAD = "bad"


@dataclass(frozen=True)
class Chip:
    """An answer in a few words, with the one figure that supports it."""

    look: Look
    text: str
    figure: str = ""


@dataclass(frozen=True)
class Span:
    """An interval on a scale that begins at 0 and ends at `end`."""

    low: float
    high: float
    value: float
    end: float
    safe: float | None = None


@dataclass(frozen=True)
class Gauge:
    """A latency and its objective (None: it has none), milliseconds."""

    name: str
    value_ms: float
    bound_ms: float | None

    @property
    def is_held(self) -> bool:
        """True unless it is above its objective."""
        return self.bound_ms is None or self.value_ms <= self.bound_ms


@dataclass(frozen=True)
class Card:
    """The answers about one workload."""

    workload: str
    kind: str
    measure: str
    """What `figure` is: a limit, a median time."""
    figure: str
    unit: str
    safe: str = ""
    """The rate to run at, in a sentence; empty where there is none."""
    notes: Sequence[str] = ()
    """At most two short sentences."""
    span: Span | None = None
    gauge: Gauge | None = None
    bound: Chip | None = None
    account: Chip | None = None
    curve: Sequence[Chance] = ()
    section: Section = Section.LIMITS
    at_least: bool = False
    """`figure` is a lower bound."""
    is_provisional: bool = False
    """The search ended early, or its limit may have moved."""
    is_missed: bool = False
    """Its objective was missed, or nothing was found."""


@dataclass(frozen=True)
class Pair:
    """What a workload reaches alone, what it holds where all hold, and what it would hold by itself next to the others (None: not
    known); in its unit."""

    workload: str
    unit: str
    alone: float
    together: float
    own: float | None = None
    part: str = ""
    """Of a batch workload: its test."""

    @property
    def name(self) -> str:
        """The workload, with its part."""
        return f"{self.workload} {self.part}".rstrip()

    @property
    def share(self) -> float:
        """Of what it reaches alone."""
        return self.together / self.alone


@dataclass(frozen=True)
class TogetherGlance:
    """What all reach at once, and why not more."""

    pairs: Sequence[Pair] = ()
    sentences: Sequence[str] = ()
    bound: Chip | None = None


@dataclass(frozen=True)
class Action:
    """Something to do next, and what it is expected to give; `gain` is empty where nothing was measured."""

    what: str
    gain: str
    section: Section
    rank: int


@dataclass(frozen=True)
class Glance:
    """All of it."""

    cards: Sequence[Card]
    together: TogetherGlance | None
    actions: Sequence[Action]
    doubts: Sequence[str] = field(default=())
    """What does not count, or not fully."""
