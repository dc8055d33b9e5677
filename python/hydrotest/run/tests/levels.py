"""The tests that measure at given levels: rates, numbers in flight, or as fast as it goes."""

from __future__ import annotations

from functools import partial

from hydrotest.run.lifecycle.attempts import until_done
from hydrotest.run.trials.stock import run_stock_level
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, LoadSpec, Rated, Workload
from hydrotest.spec.choice import expected
from hydrotest.spec.tests.levels import Pressed
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial
from hydrotest.units import show_rate


class LevelsTest:
    """Given rates, given numbers in flight, or as fast as it can."""

    def __init__(self, index: int, test: Pressed, bench: Bench, workloads: dict[str, Workload], done: list[Trial]) -> None:
        self.index = index
        self.test = test
        self.bench = bench
        self.workload = expected(workloads[test.workload], Rated)
        self.done = [t for t in done if t.test == index and t.status == "done" and t.purpose == Purpose.LEVEL and t.is_about(test.workload)]

    async def run(self) -> None:
        """Carries the test out."""
        client = self.bench.experiment.client(self.test)
        # Levels are measured in order, so what an earlier run has done is the first so many of them.
        for rate, in_flight in self.test.levels[len(self.done) :]:
            await self.workload.prepare()
            what = f"{show_rate(rate)}/s" if rate is not None else f"{in_flight} in flight" if in_flight else "as fast as it can"
            self.bench.listener.phase(f"{self.test.workload}: level {what}, {client} client")
            plan = TrialPlan(
                f"level-{self.test.workload}", Purpose.LEVEL, self.bench.experiment.search.warm_up, self.test.duration, self.index
            )
            attempt = partial(self._level, client, plan, rate, in_flight)
            trial = await until_done(self.bench, attempt)
            self.bench.listener.trial_ended(trial, None, "measured")

    async def _level(self, client: str, plan: TrialPlan, rate: float | None, in_flight: int | None) -> Trial:
        if client == "stock":
            return await run_stock_level(self.bench, self.workload, plan, rate, in_flight)
        return await self.workload.trial(plan, LoadSpec(rate, in_flight))
