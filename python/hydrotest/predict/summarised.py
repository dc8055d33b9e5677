"""What a run has found, from its summary.json, as far as predictions and costs need it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field, ValidationError

from hydrotest.errors import BadInputError
from hydrotest.store import layout
from hydrotest.store.folder import REBUILT, RunFolder


class FoundLimit(BaseModel):
    """The limit of a workload, in operations a second."""

    workload: str
    tenancy: str
    limit: float | None = None
    safe: float | None = None
    at_least: bool = False
    objective: dict[str, float | None] | None = None

    @property
    def has_latency(self) -> bool:
        """Whether its objective bounds a latency."""
        return any(key.endswith("_ms") and bound for key, bound in (self.objective or {}).items())


class FoundPoint(BaseModel):
    """The share of their limits that workloads have at once."""

    at_least: bool = False
    fraction: float
    rates: dict[str, float]


class Found(BaseModel):
    """What is needed of a summary; other keys are left out, and versions before wrote fewer."""

    limits: list[FoundLimit] = Field(default_factory=list)
    safe_working_point: FoundPoint | None = None


def read_found(folder: RunFolder) -> Found:
    """Of a run that ended; nothing of one that did not. Raises `BadInputError` where the file is damaged."""
    if not folder.has(layout.SUMMARY):
        return Found()
    value: Any = folder.read_json(layout.SUMMARY)
    try:
        return Found.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        what = f"the file is damaged: {f'{place}: ' if place else ''}{first['msg']}"
        raise BadInputError(what, REBUILT, file=folder.path / layout.SUMMARY) from error
