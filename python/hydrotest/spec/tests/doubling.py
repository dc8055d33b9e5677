"""The doubling in the experiment file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import DurationS
from hydrotest.spec.step import OVERHEAD_S, Step
from hydrotest.spec.tests.base import OneWorkload

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment


class Doubling(OneWorkload):
    """Runs without a rate limit, alternately with the workload's generators and with twice as many. If twice
    as many achieve more, the generator was the limit."""

    test: Literal["doubling"]
    pairs: int = Field(5, ge=5, le=50, description="Pairs of windows.")
    duration: DurationS = Field(6.0, description="Measured window of each half of a pair.")

    def steps(self, experiment: Experiment) -> list[Step]:
        trials = 2 * self.pairs
        seconds = trials * (self.duration + experiment.search.warm_up + OVERHEAD_S)
        own = len(experiment.generator_hosts(self.workload))
        detail = f"{self.pairs} pairs without a rate limit, {own} and {2 * own} generators"
        return [Step(test="doubling", workload=self.workload, trials=trials, seconds=seconds, detail=detail)]

    def check(self, index: int, experiment: Experiment, checker: Checker) -> None:
        super().check(index, experiment, checker)
        workload, place = experiment.workloads[self.workload], self.place(index, "workload")
        if workload.own_client in (None, "stock"):
            raise checker.fail(place, f"{self.workload} has no generator of hydrotest's to double", "Name a workload that has one.")
        workload.check_shares(self.workload, experiment, 2 * len(experiment.generator_hosts(self.workload)), place, checker)
