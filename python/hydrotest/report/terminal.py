"""Tables and findings on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from hydrotest.report.narrative import headline, not_valid
from hydrotest.report.sheets import sheets
from hydrotest.report.table import Table, figure_columns
from hydrotest.summary.model import Summary

COLUMN_LEAST = 4
"""Columns have as many characters, or as many as they need: on a narrower terminal a table's lines are wrapped, but no column is left out."""


def print_text(text: str, console: Console) -> None:
    """Prints a line unchanged: neither markup, nor names of emojis between colons."""
    console.print(Text(text), highlight=False)


def print_head(bold: str, rest: str, console: Console) -> None:
    """Prints a line that begins in bold; both parts unchanged."""
    console.print(Text.assemble((bold, "bold"), rest), highlight=False)


def print_sheet(sheet: Table, console: Console) -> None:
    """One table on the terminal."""
    # As `Text`: what users and other systems wrote is not our markup.
    table = RichTable(title=Text(sheet.title), title_justify="left", title_style="bold")
    for head, numeric in zip(sheet.heads, figure_columns(sheet.heads, sheet.rows), strict=True):
        table.add_column(Text(head), justify="right" if numeric else "left", overflow="fold")
    for row in sheet.rows:
        table.add_row(*map(Text, row))
    least = sum(3 + min(COLUMN_LEAST, max(map(len, (head, *(row[index] for row in sheet.rows))))) for index, head in enumerate(sheet.heads))
    if console.width <= least:
        table.width = least + 1
    console.print()
    console.print(table, crop=False)


def print_summary(summary: Summary, kinds: dict[str, str], console: Console) -> None:
    """Findings and tables on the terminal."""
    print_head(summary.experiment, f", run {summary.run}, {summary.status}", console)
    for finding in headline(summary):
        print_head(finding.question, "", console)
        for answer in finding.answers:
            console.print(Padding(Text(answer), (0, 0, 0, 2), expand=False), highlight=False)
    if summary.status != "complete":
        print_text(f"The run is {summary.status}" + (f": {summary.error}" if summary.error else "."), console)
    for sheet in sheets(summary, kinds):
        print_sheet(sheet, console)
    problems = not_valid(summary)
    if problems:
        console.print("\n[bold]What does not count, or not fully[/bold]")
        for problem in problems:
            print_text(f"• {problem}", console)
