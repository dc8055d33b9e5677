"""A run's progress: a live display on a terminal, plain lines elsewhere. All of it on stderr."""

from __future__ import annotations

import time

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as RichTable
from rich.text import Text

from hydrotest.store.records import Trial
from hydrotest.units import show_duration, show_rate

REFRESH_PER_S = 2
"""The display is drawn by the controller, whose own CPU is part of the overhead."""


class PlainProgress:
    """One line for each event."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._phase = ""
        self._begin = time.monotonic()

    def _line(self, text: str) -> None:
        self._console.print(f"{time.monotonic() - self._begin:6.0f}s  {text}", highlight=False, markup=False, soft_wrap=True)

    def say(self, text: str) -> None:
        self._line(text)

    def phase(self, text: str) -> None:
        if text != self._phase:
            self._phase = text
            self._line(text)

    def progress(self, done_s: float, total_s: float) -> None: ...

    def trial_started(self, number: int, text: str, seconds: float) -> None:
        self._line(f"trial {number}: {text}")

    def second(self, workload: str, rate: float, p99_ms: float | None) -> None: ...

    def host(self, name: str, shares: dict[str, float]) -> None: ...

    def trial_ended(self, trial: Trial, accepted: bool | None, words: str) -> None:
        mark = "void" if trial.status == "failed" else {True: "sustained", False: "rejected", None: "done"}[accepted]
        self._line(f"trial {trial.number}: {mark}" + (f": {words}" if words != mark else ""))


class LiveProgress:
    """Phase, trial, time left, live rate and p99, host bars; kept lines scroll above."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._phase = "starting"
        self._trial = ""
        self._trial_ends = 0.0
        self._trial_seconds = 1.0
        self._rates: dict[str, str] = {}
        self._hosts: dict[str, dict[str, float]] = {}
        self._begin = time.monotonic()
        self._total_s: float | None = None
        self._live = Live(self, console=console, refresh_per_second=REFRESH_PER_S, transient=True)

    def __enter__(self) -> LiveProgress:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __rich__(self) -> Group:
        now = time.monotonic()
        elapsed = now - self._begin
        left = "" if self._total_s is None else f", about {show_duration(max(0.0, self._total_s - elapsed))} left"
        rows: list[Text | RichTable] = [Text(f"{self._phase}  ({show_duration(elapsed)}{left})", style="bold")]
        if self._trial:
            done = min(1.0, 1 - max(0.0, self._trial_ends - now) / self._trial_seconds)
            line = RichTable.grid(padding=(0, 1))
            line.add_row(Text(self._trial), ProgressBar(total=1.0, completed=done, width=20), Text("  ".join(self._rates.values())))
            rows.append(line)
        for name, shares in self._hosts.items():
            line = RichTable.grid(padding=(0, 1))
            cells: list[Text | ProgressBar] = [Text(name)]
            for resource, share in shares.items():
                cells += [Text(resource), ProgressBar(total=1.0, completed=share, width=12), Text(f"{share:4.0%}")]
            line.add_row(*cells)
            rows.append(line)
        return Group(*rows)

    def say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False)

    def phase(self, text: str) -> None:
        self._phase = text

    def progress(self, done_s: float, total_s: float) -> None:
        self._total_s = total_s

    def trial_started(self, number: int, text: str, seconds: float) -> None:
        self._trial = f"trial {number}: {text}"
        self._trial_seconds = seconds
        self._trial_ends = time.monotonic() + seconds
        self._rates = {}

    def second(self, workload: str, rate: float, p99_ms: float | None) -> None:
        p99 = "" if p99_ms is None else f", p99 {p99_ms:.1f} ms"
        self._rates[workload] = f"{workload} {show_rate(rate)}/s{p99}"

    def host(self, name: str, shares: dict[str, float]) -> None:
        self._hosts[name] = shares

    def trial_ended(self, trial: Trial, accepted: bool | None, words: str) -> None:
        mark = {True: "✓", False: "✗", None: "·"}[accepted]
        load = trial.loads[0]
        rate = f" {load.offered:,.0f}/s" if load.offered is not None else ""
        self._console.print(f"{mark} {trial.number:3} {load.workload}{rate}: {words}", highlight=False, markup=False)
        self._trial = ""
