"""The profile: one workload at a rate that changes."""

from __future__ import annotations

from hydrotest.run.trials.one_trial import OneTrialTest
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, LoadSpec, Rated, Workload
from hydrotest.spec.choice import expected
from hydrotest.spec.tests.profile import Profile
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial


class ProfileTest(OneTrialTest):
    """Steps and ramps."""

    purpose = Purpose.PROFILE

    def __init__(self, index: int, test: Profile, bench: Bench, workloads: dict[str, Workload], done: list[Trial]) -> None:
        super().__init__(index, [test.workload], bench, workloads, done)
        self.test = test

    @property
    def phase(self) -> str:
        return f"profile of {self.test.workload}"

    async def attempt(self) -> Trial:
        workload = expected(self.load_workloads[0], Rated)
        # No warm-up is cut off, and nothing ends it early: the time after its peak is part of the answer.
        plan = TrialPlan(
            f"profile-{self.test.workload}", Purpose.PROFILE, 0.0, self.test.duration, self.index, patience_s=self.test.duration
        )
        return await workload.trial(plan, LoadSpec(stretches=tuple(self.test.stretches)))
