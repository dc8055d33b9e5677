"""Carries a limit search out, trial by trial, whatever is searched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hydrotest.analysis.limits.decided import JUDGED, SEARCH_BEGAN, Decided, thresholds
from hydrotest.analysis.limits.search import LimitSearch, RetryBudget
from hydrotest.analysis.limits.verdict import Verdict
from hydrotest.analysis.together.search import TogetherVerdict
from hydrotest.errors import RunFailedError
from hydrotest.report.wording.trial import disturbances_words, failures_words
from hydrotest.run.lifecycle.attempts import GO_ON, VOID_MAX, until_done
from hydrotest.run.lifecycle.events import SearchState
from hydrotest.run.workloads.base import Bench
from hydrotest.store.records import Trial
from hydrotest.summary.base import finite

TURN_TRIALS = 4
"""Trials of one workload in a row, where several are searched in turns: each change of the workload costs a longer warm-up, and all
are to meet what the machine does for a while."""


class Searcher:
    """One search: `attempt` runs a trial at what is proposed; `judge` states what came of it."""

    def __init__(self, test: int, name: str, search: LimitSearch, bench: Bench,
                 attempt: Callable[[float], Awaitable[Trial]], judge: Callable[[Trial], Verdict | TogetherVerdict],
                 is_fraction: bool = False) -> None:  # fmt: skip
        self.test = test
        self.name = name
        self.is_fraction = is_fraction
        self.search = search
        self.decided = Decided.read(bench.runner.folder)
        if self.decided.saturated(test, name) is None:
            bench.runner.folder.journal(SEARCH_BEGAN, test=test, name=name, saturated=search.saturated, thresholds=thresholds())
        self.bench = bench
        self.attempt = attempt
        self.judge = judge
        self.retries = RetryBudget()
        self.voids = 0

    def replay(self, trial: Trial, rate: float | None) -> None:
        """Gives the search a trial that an earlier run made at this rate."""
        verdict, then = self.judge(trial), self.decided.of_trial(trial.number)
        if rate is not None and self.decided.counts(trial.number, verdict, self.retries):
            held, stopped = (verdict.accepted, verdict.stopped_by) if then is None else (then.accepted, then.stopped_by)
            self.search.record(held, rate, _failed(stopped))

    @property
    def over(self) -> bool:
        """Nothing is left to try, or there is no time for it."""
        return self.search.propose() is None or not self.bench.has_time

    async def run_turn(self) -> None:
        """Some trials in a row, until the turn or the search is over."""
        self._report()
        for _ in range(TURN_TRIALS):
            proposed = self.search.propose()
            if proposed is None or not self.bench.has_time:
                return
            await self._run_trial(proposed)

    async def _run_trial(self, rate: float) -> None:
        self.bench.listener.phase(f"{self.name}: limit search, trial {len(self.search.windows) + 1} of at most {self.search.budget}")
        trial = await until_done(self.bench, lambda: self.attempt(rate))
        verdict = self.judge(trial)
        excused = self.retries.take(verdict)
        words = "sustained" if verdict.accepted else "; ".join(failures_words(verdict.because))
        if excused and verdict.disturbed:
            words = f"repeated, since {disturbances_words(verdict.disturbed)}: {words}"
        self.bench.runner.folder.journal(
            JUDGED, trial=trial.number, proposed=rate, accepted=verdict.accepted, void=verdict.void is not None, excused=excused,
            stopped_by=verdict.stopped_by, because=finite(list(verdict.because)),
        )  # fmt: skip
        if not excused:
            self.search.record(verdict.accepted, failed=_failed(verdict.stopped_by))
        self._report()
        self.bench.listener.trial_ended(trial, verdict.accepted, words)
        self.voids += verdict.void is not None
        if self.voids >= VOID_MAX:
            raise RunFailedError(f"{VOID_MAX} trials of {self.name} were void; the last one: {failures_words(verdict.because)[0]}", GO_ON)

    def _report(self) -> None:
        found = self.search.limit()
        self.bench.listener.search(SearchState(
            self.test, self.name, found.windows, self.search.budget, self.search.saturated, self.search.precision, found.estimate,
            is_fraction=self.is_fraction, is_above=found.is_above, is_over=self.over,
        ))  # fmt: skip


def _failed(stopped_by: object) -> list[str]:
    """The workloads that did not hold, of several."""
    return list(stopped_by) if isinstance(stopped_by, dict) else []
