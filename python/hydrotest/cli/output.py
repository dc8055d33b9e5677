"""Output of commands: data on stdout, progress and messages on stderr; JSON for programs."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hydrotest.errors import HydrotestError, shaped
from hydrotest.lazy import Lazy

if TYPE_CHECKING:
    from rich import console, text

    from hydrotest.spec.models import Experiment
else:
    console, text = Lazy("rich.console"), Lazy("rich.text")


WIDTH = 200
"""Where there is no terminal."""


def out_console() -> console.Console:
    """As wide as `COLUMNS` says, or the terminal; elsewhere wide enough for most tables."""

    class Out(console.Console):
        def on_broken_pipe(self) -> None:
            """Rich would exit with 1, which says that an objective was missed."""
            raise BrokenPipeError

    return Out(file=sys.stdout, width=shutil.get_terminal_size((WIDTH, 24)).columns, emoji=False)


def err_console() -> console.Console:
    """For messages."""
    return console.Console(stderr=True, emoji=False)


def print_json(value: Any) -> None:
    """For programs."""
    print(json.dumps(value, indent=1))


def print_error(error: Exception, on: console.Console | None = None) -> None:
    """Prints an error with its place and its hint."""
    shown = error.shaped() if isinstance(error, HydrotestError) else shaped("error", str(error))
    styled = text.Text(shown)
    styled.stylize("bold red", 0, len("error"))
    styled.highlight_regex(r"(?m)^(  -->|help:)", "bold")
    (on or err_console()).print(styled, soft_wrap=True)


def say_on_stderr() -> Callable[[str], None]:
    """Lines of progress."""
    messages = err_console()
    return lambda line: messages.print(line, highlight=False, markup=False)


def objectives_of(spec: Experiment) -> dict[str, dict[str, float]]:
    """Each workload's bounds of latency, milliseconds by percentile."""
    return {name: spec.objective(name).latencies_ms() for name in spec.workloads}


def kinds_of(spec: Experiment) -> dict[str, str]:
    """Each workload's kind."""
    return {name: workload.kind for name, workload in spec.workloads.items()}
