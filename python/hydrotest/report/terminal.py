"""Tables, findings and the answers at a glance on the terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from hydrotest.report.doubts import not_valid
from hydrotest.report.glance.cards import Objectives
from hydrotest.report.glance.model import Card, Chip, Glance, Look
from hydrotest.report.glance.of_run import glance
from hydrotest.report.narrative import headline
from hydrotest.report.printing import print_head, print_sheet, print_text
from hydrotest.report.sections import QUESTIONS, Section
from hydrotest.report.sheets import sheets
from hydrotest.report.table import NONE
from hydrotest.summary.model import Summary
from hydrotest.units import show_short

__all__ = ["LINES_MAX", "print_glance", "print_head", "print_section", "print_sheet", "print_summary", "print_text"]

LINES_MAX = 40
"""Lines of the answers at a glance: a screen or two."""
MARKS = {Look.PROVEN: "✓", Look.SUSPECTED: "?", Look.UNKNOWN: "–", Look.GOOD: "✓", Look.ODD: "!", Look.BAD: "✗"}
STYLES = {
    Look.PROVEN: "bold cyan",
    Look.SUSPECTED: "yellow",
    Look.UNKNOWN: "dim",
    Look.GOOD: "green",
    Look.ODD: "yellow",
    Look.BAD: "bold red",
}
CARDS_WIDTH_MAX = 130
"""Wider, the eye loses the row."""


def print_glance(
    summary: Summary, kinds: dict[str, str], console: Console, run: str, report: str, objectives: Objectives | None = None
) -> None:
    """The answers in at most `LINES_MAX` lines. `run`: how the user names the run; `report`: where the page is."""
    found = glance(summary, kinds, objectives)
    for cards in (len(found.cards), 12, 6, 3):
        for doubts in (4, 2, 0):
            lines = _lines(summary, found, cards, doubts, console.width, run)
            lines.append(Text.assemble(("Report: ", "bold"), report))
            if len(lines) <= LINES_MAX or (doubts, cards) == (0, 3):
                for line in lines:
                    console.print(line, highlight=False, soft_wrap=True, end="\n")
                return


def _lines(summary: Summary, found: Glance, cards: int, doubts: int, width: int, run: str) -> list[Text]:
    """What is printed, line by line."""
    scratch = Console(file=io.StringIO(), width=width, force_terminal=True, color_system="standard", emoji=False, legacy_windows=False)

    def put(part: object) -> None:
        scratch.print(part, highlight=False)

    put(Text.assemble((summary.experiment, "bold"), f", run {summary.run}, {summary.status}"))
    if summary.status != "complete" and summary.error:
        put(Text(summary.error, "red"))
    if found.cards:
        put(_cards(found.cards[:cards], width))
        if cards < len(found.cards):
            put(Text(f"and {len(found.cards) - cards} more: hydrotest show {run} limits", "dim"))
    if found.together is not None:
        put(Text("Together", "bold"))
        # The others' shares stand in the sentences.
        if rest := [pair for pair in found.together.pairs if pair.own is None]:
            left = ", ".join(f"{pair.name} {pair.share:.0%}" for pair in rest)
            put(Padding(Text(f"{left} of alone."), (0, 0, 0, 2)))
        for sentence in found.together.sentences:
            put(Padding(Text(sentence), (0, 0, 0, 2)))
        if found.together.bound is not None:
            put(Padding(_chip("Bound by: ", found.together.bound, ", "), (0, 0, 0, 2)))
    if found.actions:
        put(Text("What to do next", "bold"))
        for number, action in enumerate(found.actions, 1):
            put(Padding(Text.assemble(f"{number}. {action.what.replace('`', '')} ", (action.gain.replace("`", ""), "dim")), (0, 0, 0, 2)))
    if found.doubts:
        put(Text("What does not count, or not fully", "bold"))
        for doubt in found.doubts[:doubts]:
            put(Padding(Text(doubt.replace("`", "")), (0, 0, 0, 2)))
        if doubts < len(found.doubts):
            put(Text(f"  {len(found.doubts) - doubts} {'more' if doubts else 'doubts'}: hydrotest show {run} all", "dim"))
    assert isinstance(scratch.file, io.StringIO)
    lines = [Text.from_ansi(line) for line in scratch.file.getvalue().rstrip("\n").split("\n")]
    for line in lines:
        line.rstrip()
    return lines


def _cards(cards: Sequence[Card], width: int) -> RichTable:
    """A row for each; columns that no card fills are left out."""
    columns: dict[str, list[Text]] = {
        "workload": [Text(card.workload) for card in cards],
        "result": [
            Text.assemble(
                (f"{_figure(card)} {card.unit}".strip(), "bold"),
                f"\n{card.measure}{' ' if card.span else ': ' if card.notes else ''}",
                (_notes(card), "dim"),
            )
            for card in cards
        ],
        "latency": [_gauge(card) for card in cards],
        "bound by": [Text(NONE) if card.bound is None else _chip("", card.bound) for card in cards],
        "account": [Text(NONE) if card.account is None else _chip("", card.account) for card in cards],
    }
    kept = {head: cells for head, cells in columns.items() if any(cell.plain != NONE for cell in cells)}
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, width=min(width, CARDS_WIDTH_MAX))
    for head in kept:
        table.add_column(head, overflow="fold", ratio={"bound by": 4, "result": 4, "account": 3}.get(head))
    for cells in zip(*kept.values(), strict=True):
        table.add_row(*cells)
    return table


def _figure(card: Card) -> str:
    """Its figure in few characters."""
    if card.span is None:
        return card.figure
    return f"{'≥ ' if card.at_least else ''}{show_short(card.span.value)}"


def _notes(card: Card) -> str:
    """The interval in brackets, and the safe rate; of other cards the first sentence."""
    if card.span is None:
        return "".join(card.notes[:1])
    safe = "" if card.span.safe is None else f", safe {show_short(card.span.safe)}"
    return f"[{show_short(card.span.low)}, {show_short(card.span.high)}]{safe}"


def _gauge(card: Card) -> Text:
    gauge = card.gauge
    if gauge is None:
        return Text(NONE)
    of = "" if gauge.bound_ms is None else f"\nof {gauge.bound_ms:g} ms" if gauge.is_held else f"\nabove {gauge.bound_ms:g} ms"
    return Text(f"{gauge.name} {gauge.value_ms:.1f} ms{of}", "" if gauge.is_held else "red")


def _chip(head: str, chip: Chip, before_figure: str = "\n") -> Text:
    sure = f" ({chip.look})" if chip.look in (Look.PROVEN, Look.SUSPECTED) else ""
    return Text.assemble(
        head, (f"{MARKS[chip.look]} {chip.text}{sure}", STYLES[chip.look]), (f"{before_figure}{chip.figure}" if chip.figure else "")
    )


def print_section(section: Section, summary: Summary, kinds: dict[str, str], console: Console) -> None:
    """The tables of one question; a line where there are none."""
    print_head(summary.experiment, f", run {summary.run}, {summary.status}", console)
    print_head(QUESTIONS[section], "", console)
    own = [sheet for sheet in sheets(summary, kinds) if sheet.section is section]
    for sheet in own:
        print_sheet(sheet, console)
    if not own:
        print_text("Nothing of this was measured.", console)


def print_summary(summary: Summary, kinds: dict[str, str], console: Console) -> None:
    """All findings and tables on the terminal."""
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
