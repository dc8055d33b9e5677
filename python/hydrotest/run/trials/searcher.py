"""Carries out a limit search, trial by trial, whatever it searches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hydrotest.analysis.limits.decided import JUDGED, SEARCH_BEGAN, Decided, thresholds
from hydrotest.analysis.limits.search import LimitSearch, RetryBudget
from hydrotest.analysis.limits.verdict import Verdict
from hydrotest.analysis.together.combined import TogetherVerdict
from hydrotest.errors import RunFailedError
from hydrotest.report.wording.trial import disturbances_words, failures_words
from hydrotest.run.lifecycle.attempts import VOID_MAX, until_done
from hydrotest.run.workloads.base import Bench
from hydrotest.store.records import Trial
from hydrotest.summary.base import finite


class Searcher:
    """One search: `attempt` runs a trial at the proposed value, in a stage; `judge` gives its verdict."""

    def __init__(self, test: int, name: str, search: LimitSearch, bench: Bench,
                 attempt: Callable[[float, str], Awaitable[Trial]], judge: Callable[[Trial], Verdict | TogetherVerdict]) -> None:  # fmt: skip
        self.name = name
        self.search = search
        self.decided = Decided.read(bench.runner.folder)
        if self.decided.saturated(test, name) is None:
            bench.runner.folder.journal(SEARCH_BEGAN, test=test, name=name, saturated=search.saturated, thresholds=thresholds())
        self.bench = bench
        self.attempt = attempt
        self.judge = judge
        self.retries = RetryBudget()
        self.voids = 0

    def replay(self, trial: Trial, proposed: float | None) -> None:
        """Gives the search a trial of an earlier run, if it is the one that the search asks for."""
        if proposed == self.search.propose():
            verdict, then = self.judge(trial), self.decided.of_trial(trial.number)
            if not self.retries.take(verdict) if then is None else not then.excused:
                self.search.record(verdict.accepted if then is None else then.accepted)

    @property
    def over(self) -> bool:
        """Nothing is left to try."""
        return self.search.propose() is None

    async def run_turn(self, turn: int) -> None:
        """Goes on until this round of the search is over: 0 is the complete main search, then each
        independent one has a trial."""
        while (proposed := self.search.propose()) is not None and self.search.turn == turn:
            stage = self.search.stage
            self.bench.listener.phase(f"{self.name}: {stage} search")
            value = proposed
            trial = await until_done(self.bench, lambda: self.attempt(value, stage))  # noqa: B023 - awaited here
            verdict = self.judge(trial)
            excused = self.retries.take(verdict)
            words = "sustained" if verdict.accepted else "; ".join(failures_words(verdict.because))
            if excused and verdict.disturbed:
                words = f"repeated, since {disturbances_words(verdict.disturbed)}: {words}"
            self.bench.listener.trial_ended(trial, verdict.accepted, words)
            self.bench.runner.folder.journal(
                JUDGED, trial=trial.number, proposed=value, accepted=verdict.accepted, void=verdict.void is not None, excused=excused,
                stopped_by=verdict.stopped_by, because=finite(list(verdict.because)),
            )  # fmt: skip
            if not excused:
                self.search.record(verdict.accepted)
            self.voids += verdict.void is not None
            if self.voids >= VOID_MAX:
                raise RunFailedError(f"{VOID_MAX} trials of {self.name} were void; the last one: {failures_words(verdict.because)[0]}")
