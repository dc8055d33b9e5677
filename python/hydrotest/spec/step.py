"""A step of a plan, and the times that its estimates assume."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

OVERHEAD_S = 3.0
"""Time of a trial in addition to its windows: set-up, the check of every record, tear-down."""


class Step(BaseModel):
    """One test of one workload."""

    model_config = ConfigDict(frozen=True)

    test: str
    workload: str
    trials: int
    seconds: float
    detail: str
