"""Field types of the experiment file: quantities in the field's units, validated names."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from hydrotest import units

_NAME = re.compile(r"^[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}$")


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(f"{value!r} is not a valid name; use letters, digits, '-' and '_', at most 63, beginning with a letter or digit")
    return value


def _positive(value: Any) -> Any:
    if value <= 0:
        raise ValueError("must be above 0")
    return value


def _at_most(most: float, shown: str) -> AfterValidator:
    """Refuses what no run can have; the bounds of single settings are `le` of their fields."""

    def check(value: Any) -> Any:
        if value > most:
            raise ValueError(f"must be at most {shown}")
        return value

    return AfterValidator(check)


def _loopback(value: str) -> str:
    try:
        address = ipaddress.IPv4Address(value)
    except ValueError as error:
        raise ValueError(f"{value!r} is not an address; write e.g. 127.0.0.2") from error
    if not address.is_loopback:
        raise ValueError(f"{value} is not an address of this machine's loopback network; write e.g. 127.0.0.2")
    return value


Loopback = Annotated[str, AfterValidator(_loopback)]
"""An address that cannot be reached from outside the machine."""

Name = Annotated[str, AfterValidator(_name)]
"""A name that is also part of file, topic and keyspace names."""


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


NamesField = Annotated[list[Name], BeforeValidator(_listed)]
TextsField = Annotated[list[str], BeforeValidator(_listed)]

SizeBytes = Annotated[int, BeforeValidator(units.size_bytes), AfterValidator(_positive), _at_most(1e16, "10,000 TB")]
DurationS = Annotated[float, BeforeValidator(units.duration_s), AfterValidator(_positive), _at_most(30 * 86_400, "30 d")]
Count = Annotated[int, BeforeValidator(units.count), AfterValidator(_positive), _at_most(10**12, "1,000 G")]
RatePerS = Annotated[float, BeforeValidator(units.rate_per_s), _at_most(1e9, "1 G/s")]
BitsPerS = Annotated[float, BeforeValidator(units.link_bits_per_s), AfterValidator(_positive), _at_most(1e14, "100,000 Gbit/s")]
Fraction = Annotated[float, BeforeValidator(units.fraction)]
Share = Annotated[float, BeforeValidator(units.share)]
Port = Annotated[int, Field(ge=1, le=65535)]
PropertyValue = bool | int | float | str
"""A server property's value, passed through in the server's form."""
