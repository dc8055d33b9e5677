"""Field types of the experiment file: quantities in the field's units, validated names."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from hydrotest import units

_NAME = re.compile(r"^[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}$")


def is_name(value: str) -> bool:
    """True if it can name an experiment, a host or a workload."""
    return _NAME.fullmatch(value) is not None


def _name(value: str) -> str:
    if not is_name(value):
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


def _address(value: str) -> str:
    try:
        return str(ipaddress.IPv4Address(value))
    except ValueError as error:
        raise ValueError(f"{value!r} is not an address; write e.g. 10.0.1.11") from error


def _ports(value: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,5})-(\d{1,5})", value)
    first, last = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1024 <= first < last <= 65_535:
        raise ValueError(f"{value!r} is not a range of ports between 1024 and 65535; write e.g. 15000-15999")
    return first, last


def written(pattern: str, example: str, *, number: str | None = None) -> WithJsonSchema:
    """How the file has it, for editors: a text of that form, or (`number`) a JSON number of that type."""
    return WithJsonSchema({"type": "string" if number is None else [number, "string"], "pattern": pattern, "examples": [example]})


Loopback = Annotated[str, AfterValidator(_loopback), written(r"^127(\.[0-9]{1,3}){3}$", "127.0.0.2")]
"""An address that cannot be reached from outside the machine."""

Address = Annotated[str, AfterValidator(_address), written(r"^[0-9]{1,3}(\.[0-9]{1,3}){3}$", "10.0.1.11")]
"""An IPv4 address."""
PortRange = Annotated[
    tuple[int, int],
    BeforeValidator(lambda value: _ports(value) if isinstance(value, str) else value),
    written(r"^[0-9]+-[0-9]+$", "15000-15999"),
]
"""The first and the last of a range of ports."""

_NAME_SCHEMA = {"type": "string", "pattern": _NAME.pattern}
Name = Annotated[str, AfterValidator(_name), WithJsonSchema(_NAME_SCHEMA)]
"""A name that is also part of file, topic and keyspace names."""


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


NamesField = Annotated[
    list[Name], BeforeValidator(_listed), WithJsonSchema({"anyOf": [_NAME_SCHEMA, {"type": "array", "items": _NAME_SCHEMA}]})
]
TextsField = Annotated[
    list[str],
    BeforeValidator(_listed),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]

SizeBytes = Annotated[
    int,
    BeforeValidator(units.size_bytes),
    AfterValidator(_positive),
    _at_most(1e16, "10,000 TB"),
    written(units.SIZE_PATTERN, "16 KiB"),
]
DurationS = Annotated[
    float,
    BeforeValidator(units.duration_s),
    AfterValidator(_positive),
    _at_most(30 * 86_400, "30 d"),
    written(units.DURATION_PATTERN, "50 ms"),
]
SpanS = Annotated[
    float,
    BeforeValidator(units.duration_s),
    AfterValidator(_positive),
    _at_most(3650 * 86_400, "3,650 d"),
    written(units.DURATION_PATTERN, "30 d"),
]
"""A duration that no run could have."""
Count = Annotated[
    int,
    BeforeValidator(units.count),
    AfterValidator(_positive),
    _at_most(10**12, "1,000 G"),
    written(units.COUNT_PATTERN, "100K", number="integer"),
]
RatePerS = Annotated[float, BeforeValidator(units.rate_per_s), _at_most(1e9, "1 G/s"), written(units.RATE_PATTERN, "100K", number="number")]
BitsPerS = Annotated[
    float,
    BeforeValidator(units.link_bits_per_s),
    AfterValidator(_positive),
    _at_most(1e14, "100,000 Gbit/s"),
    written(units.LINK_PATTERN, "1 Gbit/s"),
]
Fraction = Annotated[float, BeforeValidator(units.fraction), written(units.SHARE_PATTERN, "5 %", number="number")]
Share = Annotated[float, BeforeValidator(units.share), written(units.SHARE_PATTERN, "50 %", number="number")]
Multiple = Annotated[float, BeforeValidator(units.multiple), written(units.SHARE_PATTERN, "50 %", number="number")]
Port = Annotated[int, Field(ge=1, le=65535)]
PropertyValue = bool | int | float | str
"""A server property's value, passed through in the server's form."""

DAY_S = 86_400.0
_CLOCK = re.compile(r"^(\d{1,2}):(\d{2})(?::(\d{2}))?$")
_MOMENT = re.compile(r"^(?:(\d{1,3}) ?d)? ?(\d{1,2}:\d{2}(?::\d{2})?)?$")


def _clock(text: str) -> float:
    found = _CLOCK.match(text)
    if found is None or int(found[1]) > 23 or int(found[2]) > 59 or int(found[3] or 0) > 59:
        raise ValueError(f"{text!r} is no time of day; write e.g. '20:00'")
    return int(found[1]) * 3600.0 + int(found[2]) * 60.0 + int(found[3] or 0)


def _moment(value: Any) -> Any:
    """`3d 20:05`, `20:05`, `90 s`: seconds since the simulation began."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no moment; write e.g. '3d 20:05' or '90 s'")
    found = _MOMENT.match(value.strip())
    if found is None or not found[0]:
        return units.duration_s(value)
    return int(found[1] or 0) * DAY_S + (_clock(found[2]) if found[2] else 0.0)


TimeOfDay = Annotated[float, BeforeValidator(lambda value: _clock(str(value))), written(r"^[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?$", "20:00")]
"""Seconds since midnight."""
Moment = Annotated[float, BeforeValidator(_moment), written(r"^.+$", "3d 20:05")]
"""Seconds since the simulation began."""
