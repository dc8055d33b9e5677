"""What the screen knows of a run: the newest of each thing that it reports."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock

from hydrotest.cli.live import words
from hydrotest.cli.live.forecast import Forecast
from hydrotest.errors import shaped
from hydrotest.run.lifecycle.events import Planned, SearchState, TrialStart
from hydrotest.store.records import Trial

KEPT_MAX = 2_000
"""Lines that go into the terminal's scrollback at the end."""
Clock = Callable[[], float]


@dataclass(frozen=True)
class Kept:
    """A line that stays when the run is over."""

    at_s: float
    """Since the run's begin."""
    text: str
    is_held: bool | None = None
    """Of a trial with a verdict."""
    is_warning: bool = False
    is_trial: bool = False


@dataclass
class Running:
    """The trial that runs."""

    start: TrialStart
    since_s: float
    seconds: dict[str, tuple[float, float | None]] = field(default_factory=dict)
    """By workload: the rate and the p99 of its last second."""


class LiveState:
    """A listener. Events come from the run, and are read where they are drawn: `lock` keeps the two apart."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self.lock = RLock()
        self.clock = clock
        self.begin_s = clock()
        self.phase_text = "starting"
        self.plan: Planned | None = None
        self.forecast: Forecast | None = None
        self.running: Running | None = None
        self.searches: dict[tuple[int, str], SearchState] = {}
        """The one that had a trial last comes last."""
        self.hosts: dict[str, dict[str, float]] = {}
        self.kept: deque[Kept] = deque(maxlen=KEPT_MAX)
        self.kept_in_all = 0

    @property
    def elapsed_s(self) -> float:
        """Since the run's begin."""
        return self.clock() - self.begin_s

    def planned(self, plan: Planned) -> None:
        with self.lock:
            self.plan, self.forecast = plan, Forecast(plan, self.clock())

    def say(self, text: str) -> None:
        self._keep(Kept(self.elapsed_s, text))

    def warn(self, what: str, hint: str | None = None) -> None:
        self._keep(Kept(self.elapsed_s, shaped("warning", what, hint), is_warning=True))

    def phase(self, text: str) -> None:
        with self.lock:
            self.phase_text = text

    def trial_started(self, start: TrialStart) -> None:
        with self.lock:
            self.running = Running(start, self.clock())
            if self.forecast is not None:
                self.forecast.started(start, self.clock())

    def second(self, workload: str, rate: float, p99_ms: float | None) -> None:
        with self.lock:
            if self.running is not None:
                self.running.seconds[workload] = (rate, p99_ms)

    def host(self, name: str, shares: dict[str, float]) -> None:
        with self.lock:
            self.hosts[name] = shares

    def trial_recorded(self, trial: Trial) -> None:
        with self.lock:
            self.running = None
            if self.forecast is not None:
                self.forecast.recorded(trial, self.clock())

    def search(self, state: SearchState) -> None:
        with self.lock:
            self.searches.pop((state.test, state.name), None)
            self.searches[state.test, state.name] = state
            if self.forecast is not None:
                self.forecast.searched(state, self.clock())

    def trial_ended(self, trial: Trial, accepted: bool | None, words_: str) -> None:
        with self.lock:
            found = next(reversed(self.searches.values()), None) if trial.purpose.is_searched and trial.status == "done" else None
            so_far = "" if found is None else f"; {words.limit_so_far(found)}"
            text = f"{words.of_trial(trial)}: {'void: ' if trial.status == 'failed' else ''}{words_}{so_far}"
            self._keep(Kept(self.elapsed_s, text, None if trial.status == "failed" else accepted, is_trial=True))

    def test_ended(self, test: int) -> None:
        with self.lock:
            if self.forecast is not None:
                self.forecast.test_ended(test)

    def _keep(self, line: Kept) -> None:
        with self.lock:
            self.kept.append(line)
            self.kept_in_all += 1
