"""A step of a plan, and the times that its estimates assume."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

OVERHEAD_S = 3.0
"""Time of a trial in addition to its windows: set-up, the check of every record, tear-down."""
SEARCH_TRIALS_MIN = 8
"""Windows of a search at least: with fewer, the slope of the edge is the prior's and not the system's."""


class Undecided(BaseModel):
    """A number of trials that follows from what they find."""

    model_config = ConfigDict(frozen=True)

    expected: int
    least: int
    most: int


class Step(BaseModel):
    """One test of one workload."""

    model_config = ConfigDict(frozen=True)

    test: str
    workload: str
    trials: int
    seconds: float
    detail: str
    undecided: Undecided | None = None
    """Of its trials, those of a search, of a gate or of a squeeze."""
