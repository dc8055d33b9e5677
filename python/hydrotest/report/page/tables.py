"""Tables as the page shows them: at most seven columns at once, figures aligned on their unit, the rest behind each row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hydrotest.report.table import NONE, Table, figure_columns

_FIGURE = re.compile(r"^((?:≥ )?[+\-−]?[\d,]*\.?\d+(?:e[+-]?\d+)?)\s*(%|[A-Za-zµ][A-Za-zµ/²]*)?$")
_FACTORS = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
WORDS_MIN = 32
"""Longer cells are sentences, which are wrapped."""


@dataclass(frozen=True)
class Cell:
    """A cell: its text, or a figure and its unit; `value` is what it is sorted by."""

    text: str
    unit: str = ""
    value: float | None = None


@dataclass(frozen=True)
class Column:
    """A column: its head, the unit that all its cells have, whether it holds figures."""

    head: str
    unit: str
    is_figure: bool
    is_words: bool

    @property
    def own_unit(self) -> str:
        """The unit, unless the head has it already, as in `p99 ms`."""
        return "" if self.unit in re.split(r"[\s/]+", self.head) else self.unit

    @property
    def label(self) -> str:
        """Head and unit in one text."""
        return f"{self.head} ({self.own_unit})" if self.own_unit else self.head


@dataclass(frozen=True)
class PageTable:
    """Columns and cells in the order of the table; `shown` are the indexes that are seen at once."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    shown: Sequence[int]

    @property
    def hidden(self) -> list[int]:
        """Columns behind each row."""
        return [index for index in range(len(self.columns)) if index not in self.shown]


def page_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], shown: Sequence[int] | None = None) -> PageTable:
    """Of cells as text. A unit that a whole column has stands in its head."""
    plain = Table(title, list(heads), [list(row) for row in rows])
    figures = figure_columns(heads, rows)
    columns, cells = [], []
    for index, head in enumerate(heads):
        texts = [row[index] for row in rows]
        own = [_cell(text) if figures[index] else Cell(text) for text in texts]
        units = {cell.unit for cell in own if cell.text != NONE}
        common = next(iter(units)) if len(units) == 1 and figures[index] else ""
        columns.append(Column(head, common, figures[index], not figures[index] and any(len(text) >= WORDS_MIN for text in texts)))
        cells.append([Cell(cell.text, "" if common else cell.unit, cell.value) for cell in own])
    return PageTable(title, columns, list(zip(*cells, strict=True)), plain.shown if shown is None else shown)


def _cell(text: str) -> Cell:
    found = _FIGURE.match(text)
    if found is None:
        first = re.search(r"[\d,]*\.?\d+", text)
        return Cell(text, value=float(first[0].replace(",", "")) if first and text != NONE else None)
    number, unit = found[1], found[2] or ""
    value = float(number.lstrip("≥ +").replace(",", "").replace("−", "-"))
    return Cell(number, unit, value * _FACTORS.get(unit[:1], 1.0) if len(unit) > 1 else value)
