"""How operations arrive at a given rate: `even`, `poisson`, or `bursts(100)`."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from hydrotest import units
from hydrotest.spec.fields import written

_BURSTS = re.compile(r"^bursts\(\s*([^()]+?)\s*\)$")


class Arrivals(BaseModel):
    """How operations are spread over time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shape: Literal["even", "poisson", "bursts"] = "even"
    size: int | None = None
    """Operations of a burst."""

    def wire(self, seed: int) -> Any:
        """`Arrivals` of rust/core/src/arrival_process.rs. The same seed gives the same arrivals."""
        match self.shape:
            case "even":
                return "even"
            case "poisson":
                return {"poisson": {"seed": seed}}
            case "bursts":
                return {"bursts": {"size": self.size}}


def parse_arrivals(value: object) -> object:
    """Parses the text form into `Arrivals`."""
    if isinstance(value, Arrivals):
        return value
    if value in ("even", "poisson"):
        return Arrivals(shape="even" if value == "even" else "poisson")
    match = _BURSTS.match(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is not an arrival process; write even, poisson or bursts(100)")
    size = units.count(match[1])
    if size < 1:
        raise ValueError(f"{value!r}: a burst has at least one operation")
    return Arrivals(shape="bursts", size=size)


def show_arrivals(arrivals: Arrivals) -> str:
    """The text form, as in the file."""
    return arrivals.shape if arrivals.size is None else f"{arrivals.shape}({arrivals.size})"


ArrivalsField = Annotated[
    Arrivals,
    BeforeValidator(parse_arrivals),
    PlainSerializer(show_arrivals),
    written(rf"^even$|^poisson$|{_BURSTS.pattern}", "poisson"),
]
