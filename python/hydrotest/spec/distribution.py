"""Distributions as cassandra-stress names them: `uniform(0, 1M)`, `sequential(1, 100K)`, `gaussian(0, 1M)` or
`gaussian(0, 1M, 500K, 100K)` (mean, standard deviation), `zipf(0, 1M)` or `zipf(0, 1M, 1.2)`, `exp(0, 1M)` or
`exp(0, 1M, 50K)` (mean), `weibull(0, 1M, 3)` or `weibull(0, 1M, 3, 400K)` (exponent, scale); of keys, and of sizes.
`~zipf(0, 1M)` is the same from the other end: the last numbers are the frequent ones."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
)

from hydrotest import units
from hydrotest.spec.means import gaussian_mean, zipf_mean
from hydrotest.spec.weibull import mean_above_low, usual_scale
from hydrotest.spec.weights import listed_keys, listed_sizes

Shape = Literal["sequential", "uniform", "gaussian", "zipf", "exp", "weibull", "weights"]
_EXTRAS: dict[str, tuple[int, ...]] = {
    "sequential": (0,),
    "uniform": (0,),
    "gaussian": (0, 2),
    "zipf": (0, 1),
    "exp": (0, 1),
    "weibull": (1, 2),
}
"""How many arguments there may be behind the ends of the range."""
KEY_SHAPES = ("sequential", "uniform", "gaussian", "zipf", "exp", "weibull")
NUMBER_SHAPES = ("uniform", "gaussian", "zipf", "exp", "weibull")
SIZE_SHAPES = ("uniform", "gaussian", "exp", "weibull")

CALL = re.compile(r"^\s*(~?[a-z]+)\s*\(([^()]*)\)\s*$")
INVERTED = "~"
INVERTIBLE = ("gaussian", "zipf", "exp", "weibull")
"""The others are the same from both ends, or count."""
_SKEWED = "zipf(0, 1M[, exponent]), exp(0, 1M[, mean]) or weibull(0, 1M, exponent[, scale])"
_KEY_FORMS = f"uniform(0, 1M), sequential(0, 1M), gaussian(0, 1M[, mean, sd]), {_SKEWED}"
NUMBER_FORMS = f"uniform(0, 1M), gaussian(0, 1M[, mean, sd]), {_SKEWED}"
SIZE_FORMS = "100 B, uniform(100 B, 1 KiB), gaussian(100 B, 1 KiB[, mean, sd]), exp(100 B, 1 KiB[, mean]) or weibull(100 B, 1 KiB, exponent[, scale])"
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
    scale: float | None = None
    inverted: bool = False
    """Counted from the other end: `low` + `high` − 1 − n instead of n."""
    weights: tuple[tuple[int, float], ...] | None = None
    """Of each number."""
    file: str | None = None
    """Where they are from, …"""
    digest: str | None = None
    """… its SHA-256, …"""
    texts: tuple[str, ...] | None = None
    """… its different lines by their numbers, if they are keys, …"""
    problem: str | None = None
    """… and why it cannot be used."""

    @model_serializer(mode="wrap")
    def _shown(self, handler: SerializerFunctionWrapHandler) -> Any:
        return show_listed(self) if self.weights is not None else handler(self)

    @property
    def size(self) -> int:
        """How many different numbers there are."""
        return self.high - self.low

    @property
    def middle(self) -> float:
        """What is drawn on average."""
        return self.low + self.high - 1 - self._middle if self.inverted else self._middle

    @property
    def _middle(self) -> float:
        if self.weights is not None:
            return sum(number * weight for number, weight in self.weights) / sum(weight for _, weight in self.weights)
        if self.scale is not None:
            return self.low + mean_above_low(self.size - 1, self.exponent or 1.0, self.scale)
        if self.shape == "zipf" and self.exponent is not None:
            return self.low - 1 + zipf_mean(self.size, self.exponent)
        if self.shape == "gaussian" and self.mean is not None and self.sd is not None:
            return gaussian_mean(self.low, self.high - 1, self.mean, self.sd)
        return self.mean if self.mean is not None else (self.low + self.high - 1) / 2

    def wire(self) -> dict[str, Any]:
        """The generator's form: a closed range, or numbers with their weights."""
        if self.weights is not None:
            return {"shape": "weights", "values": [list(pair) for pair in self.weights]}
        out: dict[str, Any] = {"shape": self.shape, "min": self.low, "max": self.high - 1}
        if self.shape == "gaussian":
            out |= {"mean": self.mean, "sd": self.sd}
        if self.shape == "zipf":
            out |= {"exponent": self.exponent}
        if self.scale is not None:
            out |= {"shape": "weibull", "exponent": self.exponent or 1.0, "scale": self.scale}
        return {"shape": "inverted", "of": out} if self.inverted else out

    @property
    def has_usual_scale(self) -> bool:
        """True if its scale is what cassandra-stress gives it, which takes none."""
        return self.scale is not None and math.isclose(self.scale, usual_scale(self.size - 1, self.exponent or 1.0))

    @property
    def shown_shape(self) -> str:
        """Its name, as in the text form."""
        return f"{INVERTED if self.inverted else ''}{self.shape}"

    @property
    def shown_extras(self) -> str:
        """The arguments behind the ends of the range, as in the text form."""
        mean = self.low + self.scale if self.shape == "exp" and self.scale is not None else self.mean
        scale = None if self.shape == "exp" else self.scale
        return "".join(f", {extra:g}" for extra in (mean, self.sd, self.exponent, scale) if extra is not None)


def _arguments(text: object, shapes: tuple[str, ...], forms: str) -> tuple[str, list[str]]:
    """Shape and arguments of the text form."""
    match = CALL.match(text) if isinstance(text, str) else None
    shape = match[1].removeprefix(INVERTED) if match else ""
    if match is None or shape not in shapes:
        raise ValueError(f"{text!r} is not a distribution; write {forms}")
    if match[1] != shape and shape not in INVERTIBLE:
        raise ValueError(f"{text!r}: {shape} has no other end to count from; leave {INVERTED} out")
    parts = [part.strip() for part in match[2].split(",")]
    if len(parts) - 2 not in _EXTRAS[shape]:
        raise ValueError(f"{text!r} has {len(parts)} arguments; write {forms}")
    return match[1], parts


def _made(
    text: object, shape: str, parts: list[str], number: Callable[[object], int], beyond: int, middle: Callable[[object], float]
) -> Distribution:
    """The distribution of these arguments: `number` reads the ends of its range, `middle` mean and standard
    deviation. `beyond` is 1 where the second end is itself in the range, else 0."""
    inverted, shape = shape.startswith(INVERTED), shape.removeprefix(INVERTED)
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
    if shape in ("exp", "weibull"):
        extras |= _tailed(text, shape, parts[2:], high - 1 - low, low, middle)
    return Distribution.model_validate({"shape": shape, "low": low, "high": high, "inverted": inverted, **extras})


def _tailed(text: object, shape: str, parts: list[str], span: int, low: int, middle: Callable[[object], float]) -> dict[str, float]:
    """Scale and exponent of `exp(low, high[, mean])` and `weibull(low, high, exponent[, scale])`, whose numbers span `span`."""
    is_exp = shape == "exp"
    exponent = 1.0 if is_exp else units.number(parts.pop(0))
    if not 0 < exponent < math.inf:
        raise ValueError(f"{text!r}: the exponent must be a number above 0")
    if not parts and span < 2:
        raise ValueError(f"{text!r} is too narrow for a scale that follows from it; write uniform, or a longer range")
    scale = middle(parts[0]) - (low if is_exp else 0) if parts else usual_scale(span, exponent)
    if not 0 < scale < math.inf:
        raise ValueError(f"{text!r}: the {'mean must be above the first end' if is_exp else 'scale must be above 0'}")
    return {"scale": scale} if is_exp else {"scale": scale, "exponent": exponent}


def parse_keys(value: object) -> object:
    """Parses the text form of a distribution of keys, or `{file: keys.txt}`."""
    if isinstance(value, Distribution):
        return value
    if isinstance(value, Mapping):
        return Distribution.model_validate(listed_keys(value))
    shape, parts = _arguments(value, KEY_SHAPES, _KEY_FORMS)
    return _made(value, shape, parts, units.count, 0, units.number)


def parse_sizes(value: object) -> object:
    """The same for sizes, whose range includes both ends: `uniform(100 B, 1 KiB)`; a single size is also
    allowed, `{weights: {100 B: 8, 1 KB: 2}}`, or `{file: sizes.txt}`."""
    if isinstance(value, Distribution):
        return value
    if isinstance(value, Mapping):
        return Distribution.model_validate(listed_sizes(value))
    if not isinstance(value, str) or "(" not in value:
        size = units.size_bytes(value)
        return Distribution(shape="uniform", low=size, high=size + 1)
    shape, parts = _arguments(value, SIZE_SHAPES, SIZE_FORMS)
    return _made(value, shape, parts, units.size_bytes, 1, units.size_bytes)


def show_listed(listed: Distribution) -> dict[str, Any]:
    """What the experiment file says of it, and which file it was."""
    if listed.file is not None:
        return {"file": listed.file, "sha256": listed.digest}
    return {"weights": {f"{number} B": weight for number, weight in listed.weights or ()}}


def show_sizes(sizes: Distribution) -> int | str | dict[str, Any]:
    """The text form, in bytes."""
    if sizes.weights is not None:
        return show_listed(sizes)
    if sizes.size == 1:
        return sizes.low
    return f"{sizes.shown_shape}({sizes.low}, {sizes.high - 1}{sizes.shown_extras})"


def call_of(*shapes: str) -> str:
    """What the text form of these looks like, for a JSON Schema."""
    either = "|".join(f"{INVERTED}?{shape}" if shape in INVERTIBLE else shape for shape in shapes)
    return rf"^\s*({either})\s*\([^()]*\)\s*$"


_FILE = {"type": "object", "properties": {"file": {"type": "string", "description": "Its path, from where hydrotest is called."}},
         "required": ["file"], "additionalProperties": False}  # fmt: skip
_WEIGHTS = {"type": "object", "properties": {"weights": {"type": "object", "additionalProperties": {"type": ["number", "string"]}}},
            "required": ["weights"], "additionalProperties": False}  # fmt: skip


def text_schema(pattern: str, example: str) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern, "examples": [example]}


KeysField = Annotated[
    Distribution, BeforeValidator(parse_keys), WithJsonSchema({"anyOf": [text_schema(call_of(*KEY_SHAPES), "uniform(0, 1M)"), _FILE]})
]
SizesField = Annotated[
    Distribution,
    BeforeValidator(parse_sizes),
    PlainSerializer(show_sizes),
    WithJsonSchema({"anyOf": [text_schema(rf"{units.SIZE_PATTERN}|{call_of(*SIZE_SHAPES)}", "100 B"), _FILE, _WEIGHTS]}),
]
