"""The soak in the experiment file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import DurationS
from hydrotest.spec.step import OVERHEAD_S, Step
from hydrotest.spec.tests.base import AtLevel

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

SOAK_S_MIN = 60.0
"""A shorter soak shows no drift: its interval would contain every value."""


class Soak(AtLevel):
    """Applies one level of load for a long time: drift, change points, memory growth, compaction and segment
    deletion."""

    test: Literal["soak"]
    duration: DurationS = Field(2700.0, description="How long.")

    def may_be_attached(self, experiment: Experiment) -> bool:
        return True

    def trials_of_s(self, experiment: Experiment) -> tuple[int, float]:
        return 1, self.duration + experiment.search.warm_up

    def check_times(self, index: int, experiment: Experiment, checker: Checker) -> None:
        super().check_times(index, experiment, checker)
        if self.duration < SOAK_S_MIN:
            raise checker.fail(
                self.place(index, "duration"),
                f"{self.duration:g} s are too short for a soak",
                f"Take at least {SOAK_S_MIN:g} s, or `levels`.",
            )

    def check(self, index: int, experiment: Experiment, checker: Checker) -> None:
        super().check(index, experiment, checker)
        # Topics lose their old segments during a soak, so their records must be read as they arrive.
        followed = {
            workload.source
            for workload in (experiment.workloads[name] for name in self.workloads)
            if workload.is_follower and workload.checks_records
        }
        for name in self.workloads:
            if experiment.workloads[name].needs_reader and name not in followed:
                raise checker.fail(("tests", index), f"nothing reads what {name} writes; in a soak old segments are deleted, and what was in them "
                                   "could not be accounted for", "Add a kafka-consume workload that reads it.")  # fmt: skip

    def steps(self, experiment: Experiment) -> list[Step]:
        return [
            Step(test="soak", workload=", ".join(self.workloads), trials=1, seconds=self.duration + OVERHEAD_S, detail=self.level_words())
        ]
