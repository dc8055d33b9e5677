"""The soak: one level for a long time."""

from __future__ import annotations

from hydrotest.run.attempts import until_done
from hydrotest.run.pressing import prepare_all, press_together
from hydrotest.run.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, Pressable
from hydrotest.spec.models import Soak
from hydrotest.store.records import Tenancy, Trial

PATIENCE_S = 30.0
"""A soak goes on through stalls that would make a search's trial hopeless."""


class SoakTest:
    """Some workloads at one level."""

    def __init__(self, index: int, test: Soak, bench: Bench, pressables: dict[str, Pressable], done: list[Trial]) -> None:
        self.index = index
        self.test = test
        self.bench = bench
        self.pressables = [pressables[name] for name in test.workloads]
        self.is_done = any(trial.test == index and trial.status == "done" and trial.purpose == "soak" for trial in done)

    async def run(self) -> None:
        """Carries the test out."""
        if self.is_done:
            return
        await prepare_all(self.pressables)
        self.bench.listener.phase("soak")
        tenancy: Tenancy = "combined" if len(self.pressables) > 1 else "isolated"
        plan = TrialPlan(
            "soak", "soak", self.bench.experiment.search.warm_up, self.test.duration, self.index, None, tenancy, patience_s=PATIENCE_S
        )
        trial = await until_done(self.bench, lambda: press_together(self.bench, plan, self.pressables, self.test.rates))
        self.bench.listener.trial_ended(trial, None, "measured")
