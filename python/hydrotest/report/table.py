"""What a table of the report is: title, heads, cells as text. Which tables there are: `sheets.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hydrotest.units import show_rate

NONE = "–"


@dataclass(frozen=True)
class Table:
    """A table: title, column heads, cells as text, and the question of the report that it belongs to."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    section: Literal["findings", "integrity", "unchecked", "usage"] = "findings"


def decimal(value: float | None, digits: int = 1) -> str:
    """A figure, or a dash if unknown."""
    return NONE if value is None else f"{value:,.{digits}f}"


def rate(value: float | None) -> str:
    """A rate as users write it, or a dash."""
    return NONE if value is None else show_rate(value)


def yes_no(value: bool | None) -> str:
    """A verdict, or a dash without one."""
    return NONE if value is None else "yes" if value else "no"
