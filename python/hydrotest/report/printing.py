"""Lines and tables on the terminal, as they are. What a run's are: `terminal`."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from hydrotest.report.table import NONE, Table, figure_columns

RECORD_GAP = 2


def print_text(text: str, console: Console) -> None:
    """Prints a line unchanged: neither markup, nor names of emojis between colons."""
    console.print(Text(text), highlight=False)


def print_head(bold: str, rest: str, console: Console) -> None:
    """Prints a line that begins in bold; both parts unchanged."""
    console.print(Text.assemble((bold, "bold"), rest), highlight=False)


def print_sheet(sheet: Table, console: Console) -> None:
    """One table on the terminal; where it is wider than that, each row by itself, a line for each column."""
    # As `Text`: what users and other systems wrote is not our markup.
    table = RichTable(title=Text(sheet.title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for head, numeric in zip(sheet.heads, figure_columns(sheet.heads, sheet.rows), strict=True):
        table.add_column(Text(head), justify="right" if numeric else "left", overflow="fold")
    for row in sheet.rows:
        table.add_row(*map(Text, row))
    console.print()
    if _widest(sheet) <= console.width:
        console.print(table, crop=False)
    else:
        _print_records(sheet, console)


def _widest(sheet: Table) -> int:
    """Columns of the terminal that a table needs; sentences, in its last column, are wrapped to a third of a line."""
    widths = [max(len(head), *(len(row[index]) for row in sheet.rows)) for index, head in enumerate(sheet.heads)]
    widths[-1] = min(widths[-1], 40)
    return sum(widths) + 2 * len(widths)


def _print_records(sheet: Table, console: Console) -> None:
    """Each row by itself. Columns without any figure or word are left out."""
    console.print(Text(sheet.title, "bold"))
    names = max(map(len, sheet.heads)) + RECORD_GAP
    for row in sheet.rows:
        console.print(Text.assemble("  ", (f"{sheet.heads[0]} ", "dim"), (row[0], "bold")))
        grid = RichTable.grid(padding=(0, 0))
        grid.add_column(width=min(names, max(8, console.width // 2)), overflow="fold")
        grid.add_column(overflow="fold")
        for head, cell in zip(sheet.heads[1:], row[1:], strict=True):
            if cell not in ("", NONE):
                grid.add_row(Text(head, "dim"), Text(cell))
        console.print(Padding(grid, (0, 0, 0, 4)), crop=False)
