"""What a run reports while it goes on: figures and codes. The command line shows it; tests collect it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hydrotest.spec.models import Experiment
from hydrotest.spec.step import Step
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial

if TYPE_CHECKING:
    from hydrotest.analysis.limits.posterior import Estimate


@dataclass(frozen=True)
class Planned:
    """What a run is going to do."""

    experiment: Experiment
    steps: tuple[tuple[int, Step], ...]
    """Each with the place of its test in the experiment."""
    prepare_s: float
    """Estimate for what is done before anything is measured: starts of systems, first rows, least warm-ups."""
    earlier: tuple[Trial, ...]
    """Trials of the run that is resumed."""


@dataclass(frozen=True)
class TrialStart:
    """A trial that begins."""

    number: int
    purpose: Purpose
    test: int
    text: str
    """Its purpose and its loads, in words."""
    seconds: float
    """Length of its load; 0 where that is not known before."""
    offered: Mapping[str, float | None]
    """By workload: the rate that is offered, per second; None without a schedule."""
    subject: str | None = None
    """The workload that a trial of several measures."""


@dataclass(frozen=True)
class SearchState:
    """What is known of a limit so far."""

    test: int
    name: str
    """A workload, or `combined`."""
    windows: int
    """Trials that count."""
    budget: int
    """Most of them."""
    saturated: float
    """The rate that the search began below."""
    precision: float
    """It ends where the 90 % interval reaches so far to each side, as a share of the limit."""
    estimate: Estimate | None
    """With its 90 % interval; None: no window held."""
    is_fraction: bool = False
    """Of the isolated limits, instead of a rate per second."""
    is_above: bool = False
    """The limit is above all that may be tried."""
    is_over: bool = False


class Warn(Protocol):
    """Takes a warning, and what to do about it."""

    def __call__(self, what: str, hint: str | None = None) -> None: ...


class Listener(Protocol):
    """Receives a run's progress. None of these may block."""

    def planned(self, plan: Planned) -> None:
        """The run begins."""

    def say(self, text: str) -> None:
        """A line worth keeping."""

    def warn(self, what: str, hint: str | None = None) -> None:
        """Something went wrong, and the run goes on."""

    def phase(self, text: str) -> None:
        """The current phase."""

    def trial_started(self, start: TrialStart) -> None:
        """A trial began."""

    def second(self, workload: str, rate: float, p99_ms: float | None) -> None:
        """A generator's last second."""

    def host(self, name: str, shares: dict[str, float]) -> None:
        """How much of a host's resources is used, 0 to 1, by resource."""

    def trial_recorded(self, trial: Trial) -> None:
        """A trial is on disk, whatever it was for and however it ended."""

    def search(self, state: SearchState) -> None:
        """A search begins a turn, or has one more trial behind it; comes before `trial_ended`."""

    def trial_ended(self, trial: Trial, accepted: bool | None, words: str) -> None:
        """A trial ended; `accepted` is null for a trial without a verdict."""

    def test_ended(self, test: int) -> None:
        """The test at this place in the experiment is done."""


class Silent:
    """Ignores everything."""

    def planned(self, plan: Planned) -> None: ...
    def say(self, text: str) -> None: ...
    def warn(self, what: str, hint: str | None = None) -> None: ...
    def phase(self, text: str) -> None: ...
    def trial_started(self, start: TrialStart) -> None: ...
    def second(self, workload: str, rate: float, p99_ms: float | None) -> None: ...
    def host(self, name: str, shares: dict[str, float]) -> None: ...
    def trial_recorded(self, trial: Trial) -> None: ...
    def search(self, state: SearchState) -> None: ...
    def trial_ended(self, trial: Trial, accepted: bool | None, words: str) -> None: ...
    def test_ended(self, test: int) -> None: ...
