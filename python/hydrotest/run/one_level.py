"""A test that holds some workloads at one level: what the soak and the fault share."""

from __future__ import annotations

from typing import ClassVar

from hydrotest.run.attempts import until_done
from hydrotest.run.pressing import prepare_all, press_together
from hydrotest.run.trial import Disturbance, TrialPlan
from hydrotest.run.workloads.base import Bench, Pressable
from hydrotest.spec.models import Fault, Soak
from hydrotest.store.records import Purpose, Tenancy, Trial


class OneLevelTest:
    """One trial at given rates; made again while it fails."""

    purpose: ClassVar[Purpose]

    def __init__(self, index: int, test: Soak | Fault, bench: Bench, pressables: dict[str, Pressable], done: list[Trial]) -> None:
        self.index = index
        self.test = test
        self.bench = bench
        self.pressables = [pressables[name] for name in test.workloads]
        self.warm_up_s = bench.experiment.search.warm_up
        self.is_done = any(trial.test == index and trial.status == "done" and trial.purpose == self.purpose for trial in done)

    @property
    def phase(self) -> str:
        """What the user is told that goes on."""
        return self.purpose

    @property
    def patience_s(self) -> float:
        """See `TrialPlan`."""
        raise NotImplementedError

    def disturbance(self) -> Disturbance | None:
        """What is done to a system meanwhile; a new one for each attempt."""
        return None

    async def run(self) -> None:
        """Carries the test out."""
        if self.is_done:
            return
        await prepare_all(self.pressables)
        self.bench.listener.phase(self.phase)
        tenancy: Tenancy = "combined" if len(self.pressables) > 1 else "isolated"
        plan = TrialPlan(self.purpose, self.purpose, self.warm_up_s, self.test.duration, self.index, None, tenancy,
                         patience_s=self.patience_s)  # fmt: skip
        trial = await until_done(self.bench, lambda: press_together(self.bench, plan, self.pressables, self.test.rates, self.disturbance()))
        self.bench.listener.trial_ended(trial, None, "measured")
