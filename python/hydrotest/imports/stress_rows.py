"""The rows of a profile's partitions: how many there are, and what tells them apart.

There, a partition is drawn, and each clustering column has so many values below the one before it (`cluster`). Here, rows are numbered, and
neighbouring ones share a partition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from hydrotest.imports.stress_table import Table
from hydrotest.imports.stress_words import Drawn
from hydrotest.spec.distribution import Distribution, parse_keys
from hydrotest.spec.weibull import usual_scale

ROWS_MAX = 5_000_000
"""All rows are written before they are read: a thousand in each of ten million partitions would take days."""
ONE = Drawn("uniform", is_exact=True, low=1, high=1)


@dataclass(frozen=True)
class Rows:
    """What a table's rows are numbered and told apart by."""

    each: Drawn
    """Rows of a partition."""
    partitions: int
    asked: int
    """Partitions that the profile has."""
    keys: str
    values: dict[str, Any]
    """Of key columns."""
    narrow: frozenset[str]
    """Key columns whose type has fewer values than there are rows or partitions."""

    @property
    def is_cut(self) -> bool:
        """True if there are fewer rows than the profile has."""
        return self.partitions < self.asked or mean(self.each) * self.partitions > ROWS_MAX + 1

    @property
    def is_several(self) -> bool:
        """True if a partition has more than one row."""
        return self.each.high > 1


def product(parts: list[Drawn]) -> Drawn:
    """Their product, where it is a distribution; otherwise the range alone."""
    parts = [replace(one, low=max(one.low, 1), high=max(one.high, 1)) for one in parts]
    varied = [one for one in parts if one.low < one.high]
    factor = math.prod(one.low for one in parts if one.low == one.high)
    if not varied:
        return replace(ONE, low=factor, high=factor, is_exact=all(one.is_exact for one in parts))
    if len(varied) > 1:
        low, high = math.prod(one.low for one in parts), math.prod(one.high for one in parts)
        return Drawn("uniform", is_exact=False, low=low, high=high)
    (one,) = varied
    shape = "uniform" if one.shape == "sequential" else one.shape
    is_exact = one.is_exact and factor == 1 and shape == one.shape
    return replace(scaled(replace(one, shape=shape), factor), is_exact=is_exact)


def scaled(drawn: Drawn, factor: float) -> Drawn:
    """As many times as large. A gaussian's mean and deviation are numbers as well, a Weibull's exponent is none."""
    extras = tuple(extra * factor for extra in drawn.extras) if drawn.shape == "gaussian" else drawn.extras
    return replace(drawn, low=round(drawn.low * factor), high=round(drawn.high * factor), extras=extras)


def mean(drawn: Drawn) -> float:
    """What is drawn on average."""
    if drawn.low == drawn.high:
        return float(drawn.low)
    made = parse_keys(drawn.text)
    assert isinstance(made, Distribution)
    return made.middle


def rows_text(drawn: Drawn) -> dict[str, Any]:
    """`{rows: …}`."""
    return {"rows": drawn.low if drawn.low == drawn.high else drawn.text}


def rows_of(table: Table, clusters: dict[str, Drawn], population: Drawn | None, usual: int) -> Rows:
    """`population`: of the partition key; `usual`: partitions where there is none."""
    can_share = all(table.columns[name].is_plain for name in table.partition)
    below = [product([clusters.get(name, ONE) for name in table.clustering[at + 1 :]]) for at in range(len(table.clustering))]
    each = product([clusters.get(name, ONE) for name in table.clustering]) if can_share else ONE
    asked = usual if population is None else population.high - population.low + 1
    room = max(_room(table, table.partition), 1)
    partitions = min(asked, room)
    if each.high == 1:
        return _one_row_each(table, population, partitions, asked)
    partitions = max(1, min(partitions, math.floor(ROWS_MAX / mean(each))))
    rows = min(max(2, math.ceil(partitions * mean(each))), ROWS_MAX)
    narrow: set[str] = set()
    values: dict[str, Any] = {}
    for name in table.partition:
        if (table.columns[name].numbers or partitions) < partitions:
            narrow.add(name)
            values[name] = "uniform(0, 1)"
        else:
            values[name] = rows_text(each)
    for name, shared in zip(table.clustering, below, strict=True):
        column = table.columns[name]
        if not column.is_plain:
            continue
        if (column.numbers or rows) < rows / max(shared.low, 1):
            narrow.add(name)
            values[name] = f"row % {column.numbers}"
        else:
            values[name] = "row" if shared.high == 1 else rows_text(shared)
    return Rows(each, partitions, asked, _keys(population, asked, rows), values, frozenset(narrow))


def _room(table: Table, names: tuple[str, ...]) -> int:
    """How many partitions their types tell apart."""
    return max((table.columns[name].numbers or 2**62 if table.columns[name].is_plain else 2**62) for name in names)


def _one_row_each(table: Table, population: Drawn | None, partitions: int, asked: int) -> Rows:
    """A partition is a row, and the columns of its key have its number."""
    keys = population or Drawn("uniform", is_exact=True, low=0, high=asked - 1)
    if partitions < asked:
        keys = replace(keys, shape="uniform", low=0, high=partitions - 1, extras=())
    values: dict[str, Any] = {}
    narrow = set()
    for name in table.key:
        column = table.columns[name]
        if column.is_plain and (column.numbers or keys.high + 1) <= keys.high:
            narrow.add(name)
            values[name] = f"row % {column.numbers}"
    return Rows(ONE, partitions, asked, keys.text, values, frozenset(narrow))


def _keys(population: Drawn | None, asked: int, rows: int) -> str:
    """Rows by the distribution of their partitions: as many times as wide."""
    if population is None or population.low == population.high:
        return f"uniform(0, {rows})"
    factor = rows / asked
    match population.shape, population.extras:
        case "gaussian", (centre, sd):
            extras: tuple[float, ...] = ((centre - population.low) * factor, sd * factor)
        case "exp", _:
            extras = (usual_scale(asked - 1, 1.0) * factor,)
        case "weibull", (exponent, *_):
            extras = (exponent, usual_scale(asked - 1, exponent) * factor)
        case _:
            extras = ()
    return replace(population, low=0, high=rows - 1, extras=extras).text
