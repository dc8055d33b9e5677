"""Lines that fit: cells into columns, and sections into the height of a terminal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len, set_cell_size

Cell = tuple[str, str]
"""A text and its style."""
Line = list[Cell]

GAP = "  "
TAIL_LEAST = 3
"""Kept lines that are shown before a section gets more than its least."""


@dataclass(frozen=True)
class Glyphs:
    """The signs that are drawn with, of which a terminal may lack some."""

    held: str = "✓"
    missed: str = "✗"
    neither: str = "·"
    full: str = "█"
    empty: str = "░"
    inside: str = "━"
    outside: str = "·"
    middle: str = "┃"
    cut: str = "…"

    def bar(self, share: float, width: int) -> str:
        """A share of 0 to 1."""
        filled = round(min(1.0, max(0.0, share)) * width)
        return self.full * filled + self.empty * (width - filled)

    def interval(self, low: float, value: float, high: float, width: int) -> str:
        """An interval within 0 to 1."""
        first, at, last = (min(width - 1, max(0, int(share * width))) for share in (low, value, high))
        return "".join(self.middle if cell == at else self.inside if first <= cell <= last else self.outside for cell in range(width))


ASCII = Glyphs(held="+", missed="x", neither="-", full="#", empty=".", inside="=", outside=".", middle="|", cut="~")


@dataclass
class Section:
    """Some rows under a head. What does not fit is counted in its last row."""

    head: list[Line]
    rows: list[Line]
    left_out: Callable[[int], str] = field(default=lambda number: f"and {number} more")

    @property
    def least(self) -> int:
        """Rows that it has at least: one, and how many more there are."""
        return min(2, len(self.rows))

    def lines(self, rows: int) -> list[Line]:
        """In so many rows."""
        if rows >= len(self.rows):
            return [*self.head, *self.rows]
        shown = self.rows[: rows - 1]
        return [*self.head, *shown, [(self.left_out(len(self.rows) - len(shown)), "dim")]]


def in_columns(rows: Sequence[Sequence[Cell]], right: Collection[int] = ()) -> list[Line]:
    """Cells below each other. `right`: columns whose cells end below each other."""
    widths = [max(cell_len(row[at][0]) for row in rows) for at in range(len(rows[0]))] if rows else []
    out: list[Line] = []
    for row in rows:
        line: Line = []
        for at, (text, style) in enumerate(row):
            blank = " " * (widths[at] - cell_len(text))
            line.append(((blank + text if at in right else text + blank) + (GAP if at + 1 < len(row) else ""), style))
        out.append(line)
    return out


def cropped(line: Line, width: int, cut: str) -> Line:
    """The line in at most so many cells."""
    left = width
    out: Line = []
    if sum(cell_len(text) for text, _ in line) <= width:
        return line
    for text, style in line:
        if cell_len(text) >= left:
            return [*out, (set_cell_size(text, max(0, left - 1)) + cut, style)] if left > 0 else out
        out.append((text, style))
        left -= cell_len(text)
    return out


def fitted(head: list[Line], sections: Sequence[Section], tail: Sequence[Line], height: int) -> list[Line]:
    """The head, the sections (those first that matter most) and the newest lines of the tail in so many lines.

    Where there is no room for the least of each, the last sections are left out. What is free goes to all in turn.
    """
    kept = [one for one in sections if one.rows]
    tail_rows = min(TAIL_LEAST, len(tail))
    while kept and _height(head, kept, [one.least for one in kept], tail_rows) > height:
        kept.pop()
    rows = [one.least for one in kept]
    free = height - _height(head, kept, rows, tail_rows)
    if free < 0:
        tail_rows = max(0, tail_rows + free)
    while free > 0:
        wanting = [at for at, one in enumerate(kept) if rows[at] < len(one.rows)]
        if not wanting and tail_rows >= len(tail):
            break
        for at in wanting:
            rows[at] += free > 0
            free -= free > 0
        if tail_rows < len(tail) and free > 0:
            tail_rows, free = tail_rows + 1, free - 1
    blocks = [head, *(one.lines(count) for one, count in zip(kept, rows, strict=True)), list(tail)[len(tail) - tail_rows :]]
    out: list[Line] = []
    for block in blocks:
        out += ([[]] if out and block else []) + block
    return out[:height]


def _height(head: list[Line], sections: Sequence[Section], rows: Sequence[int], tail_rows: int) -> int:
    blocks = [len(head), *(len(one.head) + count for one, count in zip(sections, rows, strict=True)), tail_rows]
    return sum(blocks) + sum(1 for block in blocks if block) - 1
