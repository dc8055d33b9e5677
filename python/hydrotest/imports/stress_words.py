"""Numbers and distributions as cassandra-stress writes them. (`OptionDistribution`.)"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hydrotest.errors import BadInputError
from hydrotest.spec.distribution import INVERTED, INVERTIBLE

DISTRIBUTIONS = ("fixed", "seq", "uniform", "gaussian", "gauss", "normal", "norm", "exp", "extr", "extreme", "qextr", "qextreme", "quantized",
                 "aqextr", "aqextreme", "weibull", "power")  # fmt: skip
_DISTRIBUTION = re.compile(r"(?P<inverted>~?)(?P<name>[a-z]+)\((?P<arguments>[^()]*)\)", re.IGNORECASE)
_NUMBER = re.compile(r"([0-9.]+)([kmb]?)", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000, "b": 1_000_000_000}


_SHAPES = {"uniform": "uniform", "seq": "sequential", "gaussian": "gaussian", "gauss": "gaussian", "normal": "gaussian", "norm": "gaussian",
           "exp": "exp", "extr": "weibull", "extreme": "weibull", "weibull": "weibull"}  # fmt: skip
_QUANTIZED = ("qextr", "qextreme")


@dataclass(frozen=True)
class Drawn:
    """A distribution in our words."""

    shape: str
    is_exact: bool
    low: int
    high: int
    """In it."""
    extras: tuple[float, ...] = ()
    """What stands behind the ends of the range."""
    inverted: bool = False
    """Counted from the other end, as there (`OptionDistribution.Inverted`)."""

    @property
    def text(self) -> str:
        """Of numbers; the second end is not in the range."""
        return f"{INVERTED * self.inverted}{self.shape}({self.low}, {self.high + 1}{''.join(f', {extra:.10g}' for extra in self.extras)})"

    @property
    def sizes(self) -> str:
        """Of sizes in bytes; both ends are in the range, and nothing is empty."""
        low = max(self.low, 1)
        extras = [f", {extra:.10g}" if self.shape == "weibull" else f", {max(round(extra), 1)} B" for extra in self.extras]
        shape = "uniform" if self.shape == "sequential" else self.shape
        return f"{INVERTED * self.inverted}{shape}({low} B, {max(self.high, low)} B{''.join(extras)})"


def number(text: str) -> int:
    """`1M`, `10k`, `100`. Raises `BadInputError`."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise BadInputError(f"{text!r} is no number of cassandra-stress", "Write e.g. 1M.")
    return round(float(match[1]) * _FACTORS[match[2].lower()])


def distribution(text: str) -> Drawn:
    """`UNIFORM(1..1M)`, `GAUSSIAN(1..100,5)`, `FIXED(5)`, `SEQ(1..10)`, `EXP(1..1M)`. Raises `BadInputError`."""
    match = _DISTRIBUTION.fullmatch(text.strip())
    if match is None or match["name"].lower() not in DISTRIBUTIONS:
        raise BadInputError(f"{text!r} is no distribution of cassandra-stress", "Write e.g. UNIFORM(1..1M).")
    name, arguments = match["name"].lower(), [part.strip() for part in match["arguments"].split(",")]
    if name == "fixed":
        value = number(arguments[0])
        return Drawn("uniform", is_exact=True, low=value, high=value)
    low_text, _, high_text = arguments[0].partition("..")
    low, high = number(low_text), number(high_text or low_text)
    shape = _SHAPES.get("extreme" if name in _QUANTIZED else name)
    extras = _extras(shape, low, high, [_real(one) for one in arguments[1:]])
    if shape is None or extras is None:
        return Drawn("uniform" if shape != "gaussian" else shape, is_exact=False, low=low, high=high)
    # The others are the same from both ends, or count.
    inverted = bool(match["inverted"]) and shape in INVERTIBLE
    return Drawn(shape, name not in _QUANTIZED and not (match["inverted"] and shape == "sequential"), low, high, extras, inverted)


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise BadInputError(f"{text!r} is no number of cassandra-stress", "Write e.g. 2.5.") from error


def _extras(shape: str | None, low: int, high: int, given: list[float]) -> tuple[float, ...] | None:
    """What follows from the arguments behind the range; None where it has no counterpart, or is no distribution."""
    match shape, given:
        case "gaussian", [sds] if sds > 0 and high > low:
            return (low + high) / 2, (high - low) / 2 / sds
        case "gaussian", [mean, sd] if sd > 0:
            return mean, sd
        # The last one of `qextreme` is its number of parts.
        case "weibull", [exponent, *_] if exponent > 0 and high - low >= 2:
            return (exponent,)
        case "exp", [] if high - low >= 2:
            return ()
        case "uniform" | "sequential" | "gaussian", []:
            return ()
        case _:
            return None


def weight_of(text: str) -> float:
    """A weight of an operation, whole where it is."""
    value = float(text)
    return int(value) if value.is_integer() else value
