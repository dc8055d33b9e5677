"""What a run reports while it goes on. The command line shows it; tests collect it."""

from __future__ import annotations

from typing import Protocol

from hydrotest.store.records import Trial


class Listener(Protocol):
    """Receives a run's progress. None of these may block."""

    def say(self, text: str) -> None:
        """A line worth keeping."""

    def phase(self, text: str) -> None:
        """The current phase."""

    def progress(self, done_s: float, total_s: float) -> None:
        """Estimated seconds: done, and in total."""

    def trial_started(self, number: int, text: str, seconds: float) -> None:
        """A trial began that takes this long."""

    def second(self, workload: str, rate: float, p99_ms: float | None) -> None:
        """A generator's last second."""

    def host(self, name: str, shares: dict[str, float]) -> None:
        """How much of a host's resources is used, 0 to 1, by resource."""

    def trial_ended(self, trial: Trial, accepted: bool | None, words: str) -> None:
        """A trial ended; `accepted` is null for a trial without a verdict."""


class Silent:
    """Ignores everything."""

    def say(self, text: str) -> None: ...
    def phase(self, text: str) -> None: ...
    def progress(self, done_s: float, total_s: float) -> None: ...
    def trial_started(self, number: int, text: str, seconds: float) -> None: ...
    def second(self, workload: str, rate: float, p99_ms: float | None) -> None: ...
    def host(self, name: str, shares: dict[str, float]) -> None: ...
    def trial_ended(self, trial: Trial, accepted: bool | None, words: str) -> None: ...
