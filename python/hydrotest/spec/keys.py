"""Key distributions as cassandra-stress names them: `uniform(0, 1M)`, `sequential(1, 100K)`,
`gaussian(0, 1M)` or `gaussian(0, 1M, 500K, 100K)` (mean, standard deviation), `zipf(0, 1M)` or `zipf(0, 1M, 1.2)`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from hydrotest import units

_CALL = re.compile(r"^\s*([a-z]+)\s*\(([^()]*)\)\s*$")
_FORMS = "uniform(0, 1M), sequential(0, 1M), gaussian(0, 1M[, mean, sd]) or zipf(0, 1M[, exponent])"
ZIPF_EXPONENT_DEFAULT = 1.0
GAUSSIAN_SDS_IN_HALF_RANGE = 3.0
"""cassandra-stress's default: the range spans three standard deviations to each side of its middle."""


class Keys(BaseModel):
    """A distribution over the row numbers `low` ≤ key < `high`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shape: Literal["sequential", "uniform", "gaussian", "zipf"]
    low: int
    high: int
    mean: float | None = None
    sd: float | None = None
    exponent: float | None = None

    @property
    def size(self) -> int:
        """How many different keys there are."""
        return self.high - self.low

    def wire(self) -> dict[str, Any]:
        """As the generator takes it: a closed range."""
        out: dict[str, Any] = {"shape": self.shape, "min": self.low, "max": self.high - 1}
        if self.shape == "gaussian":
            out |= {"mean": self.mean, "sd": self.sd}
        if self.shape == "zipf":
            out |= {"exponent": self.exponent}
        return out


def parse_keys(value: object) -> object:
    """Turns the text form into a `Keys`; anything else is left to pydantic."""
    if isinstance(value, Keys):
        return value
    match = _CALL.match(value) if isinstance(value, str) else None
    if match is None or match[1] not in ("sequential", "uniform", "gaussian", "zipf"):
        raise ValueError(f"{value!r} is no key distribution; write {_FORMS}")
    parts = [part.strip() for part in match[2].split(",")]
    extra_max = {"sequential": 0, "uniform": 0, "gaussian": 2, "zipf": 1}[match[1]]
    if not 2 <= len(parts) <= 2 + extra_max or (match[1] == "gaussian" and len(parts) == 3):
        raise ValueError(f"{value!r} has {len(parts)} arguments; write {_FORMS}")
    low, high = units.count(parts[0]), units.count(parts[1])
    if low >= high:
        raise ValueError(f"{value!r} holds no key: {low} is not below {high}")
    extras: dict[str, float] = {}
    if match[1] == "gaussian":
        given = len(parts) == 4
        extras["mean"] = float(units.count(parts[2])) if given else (low + high) / 2
        extras["sd"] = float(units.count(parts[3])) if given else (high - low) / 2 / GAUSSIAN_SDS_IN_HALF_RANGE
        if extras["sd"] <= 0:
            raise ValueError(f"{value!r}: the standard deviation must be above 0")
    if match[1] == "zipf":
        extras["exponent"] = float(parts[2]) if len(parts) == 3 else ZIPF_EXPONENT_DEFAULT
        if extras["exponent"] <= 0:
            raise ValueError(f"{value!r}: the exponent must be above 0")
    return Keys(shape=match[1], low=low, high=high, **extras)


KeysField = Annotated[Keys, BeforeValidator(parse_keys)]
