"""Tests of one trial: the common part of the soak, the fault and the profile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from hydrotest.run.lifecycle.attempts import until_done
from hydrotest.run.trials.concurrent import load_workloads, prepare_all, run_concurrently
from hydrotest.run.trials.trial import Disturbance, TrialPlan
from hydrotest.run.workloads.base import Bench, Workload
from hydrotest.spec.tests.fault import Fault
from hydrotest.spec.tests.soak import Soak
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Tenancy, Trial


class OneTrialTest(ABC):
    """Done once; repeated while it fails."""

    purpose: ClassVar[Purpose]

    def __init__(self, index: int, names: list[str], bench: Bench, workloads: dict[str, Workload], done: list[Trial]) -> None:
        self.index = index
        self.bench = bench
        self.load_workloads = load_workloads(workloads, names)
        self.is_done = any(trial.test == index and trial.status == "done" and trial.purpose == self.purpose for trial in done)

    @property
    def phase(self) -> str:
        """The phase that is shown to the user."""
        return self.purpose

    @abstractmethod
    async def attempt(self) -> Trial:
        """Makes the trial."""

    async def run(self) -> None:
        """Carries the test out."""
        if self.is_done:
            return
        await prepare_all(self.load_workloads)
        self.bench.listener.phase(self.phase)
        self.bench.listener.trial_ended(await until_done(self.bench, self.attempt), None, "measured")


class OneLevelTest(OneTrialTest):
    """Some workloads at given rates."""

    def __init__(self, index: int, test: Soak | Fault, bench: Bench, workloads: dict[str, Workload], done: list[Trial]) -> None:
        super().__init__(index, test.workloads, bench, workloads, done)
        self.test = test
        self.warm_up_s = bench.experiment.search.warm_up

    @property
    @abstractmethod
    def patience_s(self) -> float:
        """See `TrialPlan`."""

    def disturbance(self) -> Disturbance | None:
        """The disturbance of a system during the trial; a new one for each attempt."""
        return None

    async def attempt(self) -> Trial:
        tenancy: Tenancy = "combined" if len(self.load_workloads) > 1 else "isolated"
        plan = TrialPlan(self.purpose, self.purpose, self.warm_up_s, self.test.duration, self.index, None, tenancy,
                         patience_s=self.patience_s)  # fmt: skip
        return await run_concurrently(self.bench, plan, self.load_workloads, self.test.rates, self.disturbance())
