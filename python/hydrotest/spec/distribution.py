"""Distributions as cassandra-stress names them: `uniform(0, 1M)`, `sequential(1, 100K)`, `gaussian(0, 1M)` or
`gaussian(0, 1M, 500K, 100K)` (mean, standard deviation), `zipf(0, 1M)` or `zipf(0, 1M, 1.2)`; of keys, and of
sizes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from hydrotest import units
from hydrotest.spec.fields import written

Shape = Literal["sequential", "uniform", "gaussian", "zipf"]

_CALL = re.compile(r"^\s*([a-z]+)\s*\(([^()]*)\)\s*$")
_WITH_SIZES = re.compile(rf"\d\s*({'|'.join(map(re.escape, units.SIZES))})\b")
"""A size has its unit; a number has none."""
_KEY_FORMS = "uniform(0, 1M), sequential(0, 1M), gaussian(0, 1M[, mean, sd]) or zipf(0, 1M[, exponent])"
_NUMBER_FORMS = "uniform(0, 1M), gaussian(0, 1M[, mean, sd]) or zipf(0, 1M[, exponent])"
_SIZE_FORMS = "100 B, uniform(100 B, 1 KiB) or gaussian(100 B, 1 KiB[, mean, sd])"
NUMBERS_MAX = 10**18
"""Generators count in 64 bits."""
ZIPF_EXPONENT_DEFAULT = 1.0
GAUSSIAN_SDS_IN_HALF_RANGE = 3.0
"""cassandra-stress's default: the range spans three standard deviations to each side of its middle."""


class Distribution(BaseModel):
    """A distribution over the whole numbers `low` ≤ n < `high`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shape: Shape
    low: int
    high: int
    mean: float | None = None
    sd: float | None = None
    exponent: float | None = None

    @property
    def size(self) -> int:
        """How many different numbers there are."""
        return self.high - self.low

    @property
    def middle(self) -> float:
        """What is drawn on average; of a zipf the middle of its range."""
        return self.mean if self.mean is not None else (self.low + self.high - 1) / 2

    def wire(self) -> dict[str, Any]:
        """The generator's form: a closed range."""
        out: dict[str, Any] = {"shape": self.shape, "min": self.low, "max": self.high - 1}
        if self.shape == "gaussian":
            out |= {"mean": self.mean, "sd": self.sd}
        if self.shape == "zipf":
            out |= {"exponent": self.exponent}
        return out


def _arguments(text: object, shapes: tuple[str, ...], forms: str) -> tuple[str, list[str]]:
    """Shape and arguments of the text form."""
    match = _CALL.match(text) if isinstance(text, str) else None
    if match is None or match[1] not in shapes:
        raise ValueError(f"{text!r} is not a distribution; write {forms}")
    parts = [part.strip() for part in match[2].split(",")]
    extra_max = {"sequential": 0, "uniform": 0, "gaussian": 2, "zipf": 1}[match[1]]
    if not 2 <= len(parts) <= 2 + extra_max or (match[1] == "gaussian" and len(parts) == 3):
        raise ValueError(f"{text!r} has {len(parts)} arguments; write {forms}")
    return match[1], parts


def _made(
    text: object, shape: str, parts: list[str], number: Callable[[object], int], beyond: int, middle: Callable[[object], float]
) -> Distribution:
    """The distribution of these arguments: `number` reads the ends of its range, `middle` mean and standard
    deviation. `beyond` is 1 where the second end is itself in the range, else 0."""
    low, high = number(parts[0]), number(parts[1]) + beyond
    if low >= high:
        raise ValueError(f"{text!r} is empty: {parts[0]} is not below {parts[1]}")
    if high > NUMBERS_MAX:
        raise ValueError(f"{text!r} reaches beyond {NUMBERS_MAX:,}; write a smaller end")
    extras: dict[str, float] = {}
    if shape == "gaussian":
        given = len(parts) == 4
        extras["mean"] = float(middle(parts[2])) if given else (low + high) / 2
        extras["sd"] = float(middle(parts[3])) if given else (high - low) / 2 / GAUSSIAN_SDS_IN_HALF_RANGE
        if extras["sd"] <= 0:
            raise ValueError(f"{text!r}: the standard deviation must be above 0")
    if shape == "zipf":
        extras["exponent"] = units.number(parts[2]) if len(parts) == 3 else ZIPF_EXPONENT_DEFAULT
        if not 0 < extras["exponent"] < math.inf:
            raise ValueError(f"{text!r}: the exponent must be a number above 0")
    return Distribution.model_validate({"shape": shape, "low": low, "high": high, **extras})


def parse_keys(value: object) -> object:
    """Parses the text form of a distribution of keys."""
    if isinstance(value, Distribution):
        return value
    shape, parts = _arguments(value, ("sequential", "uniform", "gaussian", "zipf"), _KEY_FORMS)
    return _made(value, shape, parts, units.count, 0, units.number)


def parse_sizes(value: object) -> object:
    """The same for sizes, whose range includes both ends: `uniform(100 B, 1 KiB)`; a single size is also
    allowed."""
    if isinstance(value, Distribution):
        return value
    if not isinstance(value, str) or "(" not in value:
        size = units.size_bytes(value)
        return Distribution(shape="uniform", low=size, high=size + 1)
    shape, parts = _arguments(value, ("uniform", "gaussian"), _SIZE_FORMS)
    return _made(value, shape, parts, units.size_bytes, 1, units.size_bytes)


def show_sizes(sizes: Distribution) -> int | str:
    """The text form, in bytes."""
    if sizes.size == 1:
        return sizes.low
    rest = "" if sizes.mean is None else f", {sizes.mean:g}, {sizes.sd:g}"
    return f"{sizes.shape}({sizes.low}, {sizes.high - 1}{rest})"


class Maker(BaseModel):
    """How a column's value follows from the number of its row: the number itself, a drawn number, or a number
    of bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    make: Literal["row", "number", "bytes"]
    drawn: Distribution | None = None

    def wire(self) -> Any:
        """`ValueGenerator` of rust/cassandra/src/value_generator.rs."""
        return "row" if self.drawn is None else {self.make: self.drawn.wire()}


def parse_maker(value: object) -> object:
    """Parses the text form of a maker."""
    if isinstance(value, Maker):
        return value
    if value == "row":
        return Maker(make="row")
    if isinstance(value, str) and _WITH_SIZES.search(value):
        return Maker.model_validate({"make": "bytes", "drawn": parse_sizes(value)})
    match = _CALL.match(value) if isinstance(value, str) else None
    if match is None or match[1] not in ("uniform", "gaussian", "zipf"):
        raise ValueError(f"{value!r} makes no value; write row, {_NUMBER_FORMS}, or a size such as {_SIZE_FORMS}")
    return Maker.model_validate({"make": "number", "drawn": parse_keys(value)})


def show_maker(maker: Maker) -> str:
    """The text form, as in the file."""
    if maker.drawn is None:
        return "row"
    if maker.make == "bytes":
        return f"{show_sizes(maker.drawn)} B" if maker.drawn.size == 1 else str(show_sizes(maker.drawn))
    drawn = maker.drawn
    rest = "" if drawn.mean is None else f", {drawn.mean:g}, {drawn.sd:g}"
    rest += "" if drawn.exponent is None else f", {drawn.exponent:g}"
    return f"{drawn.shape}({drawn.low}, {drawn.high}{rest})"


def _call(*shapes: str) -> str:
    """What the text form of these looks like, for a JSON Schema."""
    return rf"^\s*({'|'.join(shapes)})\s*\([^()]*\)\s*$"


KeysField = Annotated[
    Distribution, BeforeValidator(parse_keys), written(_call("sequential", "uniform", "gaussian", "zipf"), "uniform(0, 1M)")
]
SizesField = Annotated[
    Distribution,
    BeforeValidator(parse_sizes),
    PlainSerializer(show_sizes),
    written(rf"{units.SIZE_PATTERN}|{_call('uniform', 'gaussian')}", "100 B"),
]
MakerField = Annotated[
    Maker,
    BeforeValidator(parse_maker),
    PlainSerializer(show_maker),
    written(rf"^row$|{units.SIZE_PATTERN}|{_call('uniform', 'gaussian', 'zipf')}", "uniform(0, 365)"),
]
