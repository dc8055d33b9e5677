"""Fields of an event, as Spark's JsonProtocol writes them. A missing field is None; a field of another shape
is an error."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

Fields = Mapping[str, Any]
NUMBER_MAX = 10**18
"""Neither times nor bytes are larger; also not what is no number (NaN)."""


class OddEventError(Exception):
    """An event that is not as Spark writes it."""


def section(fields: Fields, key: str) -> Fields | None:
    """An object in an event."""
    value = fields.get(key)
    if value is None or isinstance(value, Mapping):
        return value
    raise OddEventError(f"{key!r} is not an object")


def text(fields: Fields, key: str) -> str | None:
    """A string; equal ones share one object, since tasks repeat a few hosts."""
    value = fields.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        # Half of a character, as JSON may have it, cannot be printed.
        return sys.intern(value if value.isascii() else value.encode(errors="replace").decode())
    raise OddEventError(f"{key!r} is not a text")


def number(fields: Fields, key: str) -> float | None:
    """A number, e.g. milliseconds."""
    value = fields.get(key)
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < NUMBER_MAX:
        return value
    raise OddEventError(f"{key!r} is not a number")


def whole(fields: Fields, key: str) -> int | None:
    """An integer, e.g. bytes."""
    value = number(fields, key)
    if value is None or isinstance(value, int):
        return value
    raise OddEventError(f"{key!r} is not a whole number")


def needed(fields: Fields, key: str) -> int:
    """An integer that the event must have, e.g. the number of its stage."""
    value = whole(fields, key)
    if value is None:
        raise OddEventError(f"it has no {key!r}")
    return value


def wholes(fields: Fields, key: str) -> list[int]:
    """A list of integers; empty if missing."""
    values = fields.get(key) or []
    if isinstance(values, list) and all(isinstance(value, int) for value in values):
        return values
    raise OddEventError(f"{key!r} is not a list of numbers")


def seconds(fields: Fields | None, key: str, per_second: float) -> float | None:
    """A time in seconds, from a field with `per_second` units in a second."""
    value = number(fields, key) if fields is not None else None
    # Most times are zero: one object for all of them saves a third of a large log's memory.
    return value / per_second if value else None if value is None else 0.0
