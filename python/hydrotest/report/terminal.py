"""Tables and findings on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hydrotest.report.sheet import Sheet
from hydrotest.report.tables import sheets
from hydrotest.report.words import Summary, headline, not_valid


def print_sheet(sheet: Sheet, console: Console) -> None:
    """One table on the terminal."""
    table = Table(title=sheet.title, title_justify="left", title_style="bold")
    for index, head in enumerate(sheet.heads):
        numeric = all(row[index][:1].isdigit() or row[index][:1] in "–≥+-" for row in sheet.rows)
        table.add_column(head, justify="right" if numeric else "left", overflow="fold")
    for row in sheet.rows:
        table.add_row(*row)
    console.print()
    console.print(table)


def print_summary(summary: Summary, kinds: dict[str, str], console: Console) -> None:
    """Findings and tables on the terminal."""
    console.print(f"[bold]{summary['experiment']}[/bold], run {summary['run']}, {summary['status']}", highlight=False)
    for finding in headline(summary):
        console.print(f"[bold]{finding.question}[/bold]", highlight=False)
        for answer in finding.answers:
            console.print(Padding(Text(answer), (0, 0, 0, 2), expand=False), highlight=False)
    if summary["status"] != "complete":
        console.print(
            f"The run is {summary['status']}" + (f": {summary['error']}" if summary.get("error") else "."), highlight=False, markup=False
        )
    for sheet in sheets(summary, kinds):
        print_sheet(sheet, console)
    problems = not_valid(summary)
    if problems:
        console.print("\n[bold]What does not count, or not fully[/bold]")
        for problem in problems:
            console.print(f"• {problem}", highlight=False, markup=False)
