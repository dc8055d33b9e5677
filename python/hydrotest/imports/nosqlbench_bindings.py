"""Bindings of NoSQLBench, as far as they are what hydrotest makes of a row's number. (Virtual data functions, `docs.nosqlbench.io`.)"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hydrotest.imports.stress_table import SIZED, Table

TEXTS = 1_000
"""Lines that a file of texts is taken to have."""
SDS = 4
"""Standard deviations to each side of a mean: numbers are drawn from a range."""
_STEP = re.compile(r"\s*(?P<name>\w+)\s*(?:\((?P<arguments>(?:[^()']|'[^']*')*)\))?\s*(?:->\s*[\w.]+\s*)?")
_INSERT = re.compile(r"insert\s+into\s+[\w.\"]+\s*\((?P<columns>[^()]*)\)\s*values\s*\((?P<values>[^()]*)\)", re.IGNORECASE)
_MARK = re.compile(r"\{\{?(\w+)\}\}?|\?(\w+)")
_EQUAL = re.compile(r"([\w\"]+)\s*=\s*(?:\{\{?(\w+)\}\}?|\?(\w+))")
_BESIDE = {"[limit]": re.compile(r"\blimit\s+\{(\w+)\}", re.IGNORECASE), "[timestamp]": re.compile(r"\busing\s+timestamp\s+\{(\w+)\}", re.IGNORECASE),
           "[ttl]": re.compile(r"\bttl\s+\{(\w+)\}", re.IGNORECASE)}  # fmt: skip
"""Marks that are no columns, by the names that nodes give them."""
_CONVERSIONS = re.compile(r"To[A-Z]\w*|Identity")
_BEFORE_A_DRAW = ("Hash", "Add")
_DRAWN = ("Uniform", "HashRange", "Normal", "Zipf", "HashedFileExtractToString", "HashedLineToString", "AlphaNumericString", "Mod")


@dataclass(frozen=True)
class Made:
    """How a value is made here."""

    value: Any
    """As it stands under `values`."""
    is_exact: bool = True
    is_size: bool = False


def columns_of(cql: str) -> dict[str, str]:
    """The binding of each column that a statement writes or reads by, and of its other marks, by name."""
    found = _INSERT.search(cql)
    equal = {column.strip('"'): first or second for column, first, second in _EQUAL.findall(cql)}
    beside = {name: mark[1] for name, pattern in _BESIDE.items() if (mark := pattern.search(cql))}
    if found is None:
        return equal | beside
    names = [one.strip().strip('"') for one in found["columns"].split(",")]
    marks = [_MARK.fullmatch(one.strip()) for one in found["values"].split(",")]
    return {name: mark[1] or mark[2] for name, mark in zip(names, marks, strict=False) if mark is not None} | beside


def made_of(recipe: str, rows: int) -> Made | None:
    """What a recipe makes of a row's number; None where hydrotest has no counterpart, or arguments are no numbers."""
    try:
        return _made_of(recipe, rows)
    except (ValueError, OverflowError):
        return None


def _made_of(recipe: str, rows: int) -> Made | None:
    steps = [step for text in recipe.split(";") if text.strip() and (step := _STEP.fullmatch(text)) is not None]
    if len(steps) < sum(1 for text in recipe.split(";") if text.strip()):
        return None
    calls = [(step["name"], _arguments(step["arguments"])) for step in steps if not _CONVERSIONS.fullmatch(step["name"])]
    shift = sum(_number(given) for name, given in calls[1:] if name == "Add") if calls and calls[0][0] == "Normal" else 0.0
    if shift:
        calls = calls[:1]
    names = [name for name, _ in calls]
    match names:
        case []:
            return Made("row")
        case ["Mod"] if _number(calls[0][1]) < 1:
            return None
        case ["Mod"]:
            return Made("row" if _number(calls[0][1]) >= rows else f"row % {_number(calls[0][1]):.0f}")
        case ["Div"]:
            return Made({"rows": max(int(_number(calls[0][1])), 1)})
        case ["Div", "Mod"]:
            return Made({"rows": max(int(_number(calls[0][1])), 1)}, is_exact=False)
        case [*before, last] if last in _DRAWN and set(before) <= set(_BEFORE_A_DRAW) and (last != "Mod" or "Hash" in before):
            return _drawn(last, calls[-1][1], shift)
        case _ if set(names) <= {"Add", "Mul", "Div"}:
            return Made("row", is_exact=False)
    return None


def _drawn(name: str, given: list[str], shift: float) -> Made | None:
    numbers = [_number([one]) for one in given if not one.startswith("'")]
    match name, numbers:
        case "Mod", [count] if count >= 1:
            return Made(f"uniform(0, {count:.0f})")
        case (("Uniform" | "HashRange"), [low, high]) if 0 <= low < high:
            # Without an `L` it is of fractions, too: of those only the whole numbers are kept.
            return Made(f"uniform({low:.0f}, {high + 1:.0f})", is_exact=low.is_integer() and high.is_integer() and high > 1)
        case "HashRange", [high] if high > 0:
            return Made(f"uniform(0, {high:.0f})")
        case "Normal", [mean, sd] if sd > 0 and mean + shift + SDS * sd >= 1:
            centre = mean + shift
            return Made(
                f"gaussian({max(0, math.floor(centre - SDS * sd))}, {math.ceil(centre + SDS * sd) + 1}, {centre:g}, {sd:g})", is_exact=False
            )
        case "Zipf", [count, exponent] if exponent > 0:
            return Made(f"zipf(0, {count:.0f}, {exponent:g})")
        case "HashedFileExtractToString", [low, high] if 0 < low <= high:
            return Made(f"uniform({low:.0f} B, {high:.0f} B)", is_size=True)
        case "AlphaNumericString", [size] if size > 0:
            return Made(f"{size:.0f} B", is_size=True)
        case "HashedLineToString", _:
            return Made(f"uniform(0, {TEXTS})", is_exact=False)
        case _:
            return None


def fits(made: Made, name: str, table: Table, rows: int) -> bool:
    """True if a column can hold what is made."""
    column = table.columns.get(name)
    if column is None:
        return name.startswith("[")
    if not column.is_plain or (made.is_size and column.base not in SIZED):
        return False
    return column.numbers is None or made.is_size or _highest(made.value, rows) < column.numbers


def _highest(value: Any, rows: int) -> float:
    """The highest number that it makes, or more."""
    if isinstance(value, Mapping) or value == "row":
        return float(rows)
    found = re.findall(r"[0-9]+", str(value).replace("row %", ""))
    return float(found[1] if len(found) > 1 else found[0])


def _arguments(text: str | None) -> list[str]:
    return [one.strip() for one in (text or "").split(",") if one.strip()]


def _number(given: list[str]) -> float:
    """The first argument; Java's `L` behind it is its type. Raises `ValueError` where it is no number."""
    return float(given[0].rstrip("Ll")) if given else 0.0
