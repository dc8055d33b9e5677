"""The doubling test: the same system pressed by a workload's generators and by twice as many, in ABBA order."""

from __future__ import annotations

from functools import partial

from hydrotest.run.attempts import until_done
from hydrotest.run.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, Pressing, Rated, Workload
from hydrotest.spec.tests import Doubling
from hydrotest.store.records import Trial


class DoublingTest:
    """Pairs of windows without schedule."""

    def __init__(self, index: int, test: Doubling, bench: Bench, workloads: dict[str, Workload], done: list[Trial]) -> None:
        self.index = index
        self.test = test
        self.bench = bench
        pressable = workloads[test.workload]
        assert isinstance(pressable, Rated)
        self.pressable = pressable
        self.have = {
            (trial.pair, trial.load(test.workload).generators)
            for trial in done
            if trial.test == index and trial.status == "done" and trial.purpose == "doubling"
        }

    async def run(self) -> None:
        """Carries the test out."""
        await self.pressable.prepare()
        warm_up_s, own = self.bench.experiment.search.warm_up, len(self.pressable.hosts)
        for pair in range(1, self.test.pairs + 1):
            for times in (1, 2) if pair % 2 else (2, 1):
                if (pair, own * times) in self.have:
                    continue
                self.bench.listener.phase(f"{self.test.workload}: pair {pair} of {self.test.pairs}, {own * times} generator(s)")
                plan = TrialPlan(f"doubling-{self.test.workload}", "doubling", warm_up_s, self.test.duration, self.index, pair=pair)
                trial = await until_done(self.bench, partial(self.pressable.trial, plan, Pressing(times=times)))
                self.bench.listener.trial_ended(trial, None, "measured")
