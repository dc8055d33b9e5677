"""The profile: one workload at a rate that changes."""

from __future__ import annotations

from hydrotest.run.attempts import until_done
from hydrotest.run.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, Pressable, Pressing, Rated
from hydrotest.spec.models import Profile
from hydrotest.store.records import Trial


class ProfileTest:
    """Steps and ramps, as one trial."""

    def __init__(self, index: int, test: Profile, bench: Bench, pressables: dict[str, Pressable], done: list[Trial]) -> None:
        self.index = index
        self.test = test
        self.bench = bench
        pressable = pressables[test.workload]
        assert isinstance(pressable, Rated)
        self.pressable = pressable
        self.is_done = any(trial.test == index and trial.status == "done" and trial.purpose == "profile" for trial in done)

    async def run(self) -> None:
        """Carries the test out."""
        if self.is_done:
            return
        await self.pressable.prepare()
        self.bench.listener.phase(f"profile of {self.test.workload}")
        # Nothing of it is cut off, and nothing ends it early: what it does after its peak is part of the answer.
        plan = TrialPlan(f"profile-{self.test.workload}", "profile", 0.0, self.test.duration, self.index, patience_s=self.test.duration)
        trial = await until_done(self.bench, lambda: self.pressable.trial(plan, Pressing(stretches=tuple(self.test.stretches))))
        self.bench.listener.trial_ended(trial, None, "measured")
