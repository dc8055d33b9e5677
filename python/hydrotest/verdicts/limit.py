"""Does a limit count, and is it one? Why not, as codes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hydrotest.verdicts.trial import Lack, OfWorkload


class Stop(StrEnum):
    """What ended a search, beside the rules of a trial (`trial.Rule`)."""

    CLOSED_LOOP = "closed-loop"
    """Nothing: it is a rate without a rate limit."""
    SEARCH_END = "search-end"
    """It ended before any rule failed."""


DRIFT_MIN = 0.3
"""Probability at which a limit is said to have moved during its search. Simulated, 0 to 2 % of limits that stand are, 5 % where half of
the windows fail by themselves, and 66 % of those that rise by half (`benchmarks/limits.py`)."""


class LapseCause(StrEnum):
    """What explains a window that failed below the limit."""

    COLLECTION = "collection"
    """A garbage collector paused a service."""
    COMPACTION = "compaction"
    """Cassandra compacted."""
    STOLEN = "stolen"
    """The hypervisor took cores away."""
    COMPILING = "compiling"
    """A service's JIT compilers were busy."""


class RateVerdict(StrEnum):
    """Whether a system holds a given rate."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"
    """Its windows do not show it with the probability that was asked for."""


class Flawed(StrEnum):
    """Why a limit does not count, or counts less."""

    NOTHING_COMPLETED = "nothing-completed"
    """Not even without a rate limit."""
    NONE_SUSTAINED = "none-sustained"
    """`count` of `of` windows failed."""
    NONE_SUSTAINED_TOGETHER = "none-sustained-together"
    """No fraction of the isolated limits was."""
    STRAY_TRIALS = "stray-trials"
    """`count` of `of` trials are none that the search of this version asks for."""
    FEW_SEARCHES = "few-searches"
    """Only `count` of `of` independent searches ended. In older versions, as `STRAY_TRIALS` is."""
    FEW_WINDOWS = "few-windows"
    """The search ended, or was ended, with `count` windows, of `of` at least."""
    FEW_REPEATS = "few-repeats"
    """Only `count` of `of` repeats ended."""


@dataclass(frozen=True)
class LimitFlaw:
    """A flaw of a limit, with its counts."""

    code: Flawed
    count: int | None = None
    of: int | None = None


class Lower(StrEnum):
    """Why a limit is only a lower bound, where the generator had room."""

    NONE_REJECTED = "none-rejected"
    """No higher rate was rejected."""
    ALLOWED = "allowed"
    """`most` allows no higher rate on this cluster."""
    NONE_TRIED = "none-tried"
    """Nothing above the isolated limits is tried together."""


LowerBound = Lower | Lack | OfWorkload
"""Why a limit is only a lower bound: a generator's own lacks else."""
