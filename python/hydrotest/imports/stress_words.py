"""Numbers and distributions as cassandra-stress writes them. (`OptionDistribution`.)"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hydrotest.errors import BadInputError

DISTRIBUTIONS = ("fixed", "seq", "uniform", "gaussian", "gauss", "normal", "norm", "exp", "extr", "extreme", "qextr", "qextreme", "quantized",
                 "aqextr", "aqextreme", "weibull", "power")  # fmt: skip
_DISTRIBUTION = re.compile(r"(?P<inverted>~?)(?P<name>[a-z]+)\((?P<arguments>[^()]*)\)", re.IGNORECASE)
_NUMBER = re.compile(r"([0-9.]+)([kmb]?)", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000, "b": 1_000_000_000}


@dataclass(frozen=True)
class Drawn:
    """A distribution in our words."""

    text: str
    is_exact: bool
    low: int
    high: int
    """In it."""


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
        return Drawn(f"uniform({value}, {value + 1})", is_exact=True, low=value, high=value)
    low_text, _, high_text = arguments[0].partition("..")
    low, high = number(low_text), number(high_text or low_text)
    ours = {
        "uniform": "uniform",
        "seq": "sequential",
        "gaussian": "gaussian",
        "gauss": "gaussian",
        "normal": "gaussian",
        "norm": "gaussian",
    }.get(name)
    is_exact = ours is not None and not match["inverted"] and len(arguments) == 1
    return Drawn(f"{ours or 'uniform'}({low}, {high + 1})", is_exact, low, high)


def weight_of(text: str) -> float:
    """A weight of an operation, whole where it is."""
    value = float(text)
    return int(value) if value.is_integer() else value
