"""A run's screen on a terminal: on the terminal's alternate screen, so that it neither scrolls nor stays. The lines that
are worth keeping are printed when it is left."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from typing import IO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.segment import Segment

from hydrotest.cli.live.layout import ASCII, Glyphs
from hydrotest.cli.live.sections import mark, screen
from hydrotest.cli.live.state import Clock, LiveState
from hydrotest.units import show_count

REFRESH_PER_S = 2
"""The screen is drawn by the controller, whose own CPU is part of the overhead."""


class _Captured(io.TextIOBase):
    """Takes what is written to a standard stream meanwhile: it would be overdrawn, and lost with the screen."""

    def __init__(self, say: Callable[[str], None], stream: IO[str]) -> None:
        self.rich_proxied_file = stream
        """Where a console of rich's still writes to."""
        self._say = say
        self._begun = ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            if line.strip():
                self._say(line)
        return len(text)

    def isatty(self) -> bool:
        return self.rich_proxied_file.isatty()

    def fileno(self) -> int:
        return self.rich_proxied_file.fileno()

    def finish(self) -> None:
        """The last line, though it has no end."""
        if self._begun.strip():
            self.write("\n")


class LiveProgress(LiveState):
    """The screen, for the length of a `with` block; a listener. Whatever ends the block, the terminal is as before."""

    def __init__(self, console: Console, clock: Clock | None = None) -> None:
        super().__init__(*([] if clock is None else [clock]))
        self._console = console
        self._live = Live(
            self, console=console, screen=True, refresh_per_second=REFRESH_PER_S, redirect_stdout=False, redirect_stderr=False
        )
        self._block = contextlib.ExitStack()

    def __enter__(self) -> LiveProgress:
        with contextlib.ExitStack() as block:
            block.callback(self._print_kept)
            block.enter_context(self._live)
            for redirect, stream in ((contextlib.redirect_stderr, sys.stderr), (contextlib.redirect_stdout, sys.stdout)):
                captured = _Captured(self.say, stream)
                block.callback(captured.finish)
                block.enter_context(redirect(captured))
            self._block = block.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._block.close()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with self.lock:
            lines = screen(self, options.size.width, options.size.height, _glyphs(console))
        for line in lines:
            for text, style in line:
                yield Segment(text, console.get_style(style) if style else None)
            yield Segment.line()

    def _print_kept(self) -> None:
        glyphs = _glyphs(self._console)
        if self.kept_in_all > len(self.kept):
            self._console.print(
                f"({show_count(self.kept_in_all - len(self.kept), 'earlier line')} left out)", highlight=False, markup=False
            )
        for line in self.kept:
            text = line.text.replace("\n", f"\n{'':9}")
            self._console.print(f"{line.at_s:6.0f}s  {mark(line, glyphs)}{text}", highlight=False, markup=False, soft_wrap=True)


def _glyphs(console: Console) -> Glyphs:
    """Those that the terminal's encoding has."""
    encoding = getattr(console.file, "encoding", None) or "utf-8"
    return Glyphs() if encoding.lower().startswith("utf") else ASCII
