"""What every part of summary.json has in common."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, create_model, model_validator

from hydrotest.percentiles import PERCENTILES

Number = Annotated[int | float, WithJsonSchema({"type": "number"})]
"""A figure. An integer stays an integer, so that it is written as it came."""
Count = Annotated[int, Field(ge=0)]


def finite(value: Any) -> Any:
    """Plain data for JSON, which has no infinity and no NaN: they become null. What is frozen becomes an
    object."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: finite(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _figures(value: Any) -> Any:
    """Figures that are not finite become null; rows and verdicts stay unchanged."""
    if isinstance(value, dict):
        return {key: _figures(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_figures(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Row(BaseModel):
    """A part of the summary. Frozen; it refuses unknown fields, and contains no infinity and no NaN.

    Fields with a default came later, or are present only where they have a meaning. What is not given is not
    written.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True, serialize_by_alias=True, defer_build=True
    )

    @model_validator(mode="before")
    @classmethod
    def _only_finite(cls, value: Any) -> Any:
        return _figures(value)

    def written(self) -> dict[str, Any]:
        """The part as it is in the file."""
        written: dict[str, Any] = finite(self.model_dump(exclude_unset=True))
        return written


if TYPE_CHECKING:

    class _Latency(Row):
        """The percentiles that code names; `hydrotest.percentiles` has them all."""

        mean: Number | None = None
        p50: Number | None = None
        p95: Number | None = None
        p99: Number | None = None
        p999: Number | None = None
        max: Number | None = None

else:
    _Latency = create_model("_Latency", __base__=Row, **{
        "mean": (Number | None, Field(None, description="Mean.")),
        **{one.name: (Number | None, Field(None, description=f"{one.words[:1].upper()}{one.words[1:]}.")) for one in PERCENTILES},
        "max": (Number | None, Field(None, description="The longest.")),
    })  # fmt: skip


class Latency(_Latency):
    """Response times from the intended send time."""

    def get(self, figure: str) -> float | None:
        """One of `percentiles.FIGURES`, milliseconds."""
        value: float | None = getattr(self, figure)
        return value

    @classmethod
    def of(cls, figures: Mapping[str, float | None] | None) -> Self | None:
        """From milliseconds by percentile; None for None."""
        return None if figures is None else cls.model_validate(dict(figures))


NO_LATENCY = "null: nothing was timed"
FAILED_IN_TIMES = "Failed operations among the timed ones."
WORKLOAD = "The workload's name in the experiment."
TENANCY = "`isolated`: it ran alone; `combined`: together with others."
BECAUSE = "Why it was not sustained, as codes and figures."
IN_WORDS = "The same in words."
TRIAL = "Number of the trial."
PURPOSE = "The purpose of the trial."
