"""What a table of the report is: title, heads, cells as text. Which tables there are: `sheets.py`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hydrotest.report.sections import Section
from hydrotest.units import show_rate

NONE = "–"
COLUMNS_MAX = 7
"""More columns than that cannot be read at once."""
LEAD_MAX = 6
"""Columns that are shown at once of a table with more than `COLUMNS_MAX`: one is for the rest."""
_NUMBERED = re.compile(r"\d+:")


@dataclass(frozen=True)
class Table:
    """A table: title, column heads, cells as text, and the question of the report that it belongs to.

    `lead`: the heads of the columns that are shown at once, at most `LEAD_MAX`; the others are behind each row. Empty: the first ones.
    """

    title: str
    heads: list[str]
    rows: list[list[str]]
    section: Section = Section.TRIALS
    lead: tuple[str, ...] = ()

    @property
    def shown(self) -> list[int]:
        """Indexes of the columns that are shown at once: all, if those are not too many."""
        if len(self.heads) <= COLUMNS_MAX:
            return list(range(len(self.heads)))
        return [self.heads.index(head) for head in self.lead] if self.lead else list(range(LEAD_MAX))


def is_figure(cell: str) -> bool:
    """True if it is a figure, or one is not there: `1.5 GB`, `≥ 8,000`, `–`; false for words, and for `11: level`."""
    return cell[:1] in "–≥+-" or (cell[0].isdigit() and not _NUMBERED.match(cell))


def figure_columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
    """Of each column, whether it holds figures, which are aligned on the right."""
    return [all(is_figure(row[index]) for row in rows) and any(row[index] not in ("", NONE) for row in rows) for index in range(len(heads))]


def decimal(value: float | None, digits: int = 1) -> str:
    """A figure, or a dash if unknown."""
    return NONE if value is None else f"{value:,.{digits}f}"


def rate(value: float | None) -> str:
    """A rate as users write it, or a dash."""
    return NONE if value is None else show_rate(value)


def yes_no(value: bool | None) -> str:
    """A verdict, or a dash without one."""
    return NONE if value is None else "yes" if value else "no"
