"""The tests that measure at given levels: rates, numbers in flight, or as fast as it goes."""

from __future__ import annotations

from collections import deque
from functools import partial

from hydrotest.analysis.limits.decided import JUDGED, Decided
from hydrotest.analysis.limits.given_rate import verdict_on
from hydrotest.analysis.limits.verdict import judge
from hydrotest.analysis.measured import Measured
from hydrotest.run.lifecycle.attempts import until_done
from hydrotest.run.trials.stock import run_stock_level
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, LoadSpec, Rated, Workload
from hydrotest.spec.choice import expected
from hydrotest.spec.tests.levels import Pressed
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial
from hydrotest.summary.base import finite
from hydrotest.units import show_rate
from hydrotest.verdicts.limit import RateVerdict


class LevelsTest:
    """Given rates, given numbers in flight, or as fast as it can."""

    def __init__(self, index: int, test: Pressed, bench: Bench, workloads: dict[str, Workload], done: list[Trial]) -> None:
        self.index = index
        self.test = test
        self.bench = bench
        self.workload = expected(workloads[test.workload], Rated)
        self.decided = Decided.read(bench.runner.folder)
        self.done = [t for t in done if t.test == index and t.status == "done" and t.purpose == Purpose.LEVEL and t.is_about(test.workload)]

    async def run(self) -> None:
        """Carries the test out."""
        client = self.bench.experiment.client(self.test)
        # Levels are measured in order, so what an earlier run has done belongs to the first of them.
        done = deque(self.done)
        for rate, in_flight in self.test.levels:
            await self._level_until_known(client, rate, in_flight, done)

    async def _level_until_known(self, client: str, rate: float | None, in_flight: int | None, done: deque[Trial]) -> None:
        """One window; of a level with a verdict so many as it needs."""
        held = 0
        for number in range(1, self.test.most_windows + 1):
            trial = done.popleft() if done else await self._measured(client, rate, in_flight)
            if self.test.sure is None:
                return
            held += self._holds(trial, rate)
            known = verdict_on(held, number, self.test.sure)
            if known is not RateVerdict.UNKNOWN:
                self.bench.listener.say(f"{self.test.workload}: {known} {show_rate(rate or 0.0)}/s, {held} of {number} windows held")
                return

    def _holds(self, trial: Trial, rate: float | None) -> bool:
        """Whether a window held, as it was decided when it was measured."""
        folder = self.bench.runner.folder
        then = self.decided.of_trial(trial.number)
        if then is not None:
            return then.accepted
        verdict = judge(Measured.read(folder, trial, self.test.workload), self.bench.experiment.objective(self.test.workload))
        folder.journal(JUDGED, trial=trial.number, proposed=rate, accepted=verdict.accepted, void=verdict.void is not None, excused=False,
                       stopped_by=verdict.stopped_by, because=finite(list(verdict.because)))  # fmt: skip
        return verdict.accepted

    async def _measured(self, client: str, rate: float | None, in_flight: int | None) -> Trial:
        await self.workload.prepare()
        what = f"{show_rate(rate)}/s" if rate is not None else f"{in_flight} in flight" if in_flight else "as fast as it can"
        self.bench.listener.phase(f"{self.test.workload}: level {what}, {client} client")
        plan = TrialPlan(f"level-{self.test.workload}", Purpose.LEVEL, self.bench.experiment.search.warm_up, self.test.duration, self.index)
        attempt = partial(self._level, client, plan, rate, in_flight)
        trial = await until_done(self.bench, attempt)
        self.bench.listener.trial_ended(trial, None, "measured")
        return trial

    async def _level(self, client: str, plan: TrialPlan, rate: float | None, in_flight: int | None) -> Trial:
        if client == "stock":
            return await run_stock_level(self.bench, self.workload, plan, rate, in_flight)
        return await self.workload.trial(plan, LoadSpec(rate, in_flight))
