"""A run's progress on stderr: a screen on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from hydrotest.cli.live.display import LiveProgress
from hydrotest.cli.live.words import limit_so_far
from hydrotest.errors import shaped
from hydrotest.run.lifecycle.events import Listener, SearchState, Silent, TrialStart
from hydrotest.store.records import Trial


class PlainProgress(Silent):
    """One line for each event."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._phase = ""
        self._begin = time.monotonic()
        self._search: SearchState | None = None

    def _line(self, text: str) -> None:
        head, *more = text.splitlines() or [""]
        self._print(f"{time.monotonic() - self._begin:6.0f}s  {head}")
        for line in more:
            self._print(f"{'':9}{line}")

    def _print(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def say(self, text: str) -> None:
        self._line(text)

    def warn(self, what: str, hint: str | None = None) -> None:
        self._line(shaped("warning", what, hint))

    def phase(self, text: str) -> None:
        if text != self._phase:
            self._phase = text
            self._line(text)

    def trial_started(self, start: TrialStart) -> None:
        self._line(f"trial {start.number}: {start.text}")

    def search(self, state: SearchState) -> None:
        self._search = state

    def trial_ended(self, trial: Trial, accepted: bool | None, words: str) -> None:
        mark = "void" if trial.status == "failed" else {True: "sustained", False: "rejected", None: "done"}[accepted]
        searched = self._search if trial.status == "done" and trial.purpose.is_searched else None
        so_far = "" if searched is None else f"; {limit_so_far(searched)}"
        self._line(f"trial {trial.number}: {mark}" + (f": {words}" if words != mark else "") + so_far)


def takes_a_screen(console: Console) -> bool:
    """True on a terminal that can be drawn on. `CI` asks for lines, whatever it looks like."""
    return console.file.isatty() and console.is_terminal and not console.is_dumb_terminal and not os.environ.get("CI")


@contextmanager
def progress_on(console: Console) -> Iterator[Listener]:
    """What shows a run on this console, for the length of the block."""
    if takes_a_screen(console):
        with LiveProgress(console) as live:
            yield live
    else:
        yield PlainProgress(console)
