"""The isolated test in the experiment file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from pydantic import Field

from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import DurationS, Name
from hydrotest.spec.hosts import GivenResource
from hydrotest.spec.step import OVERHEAD_S, Step, Undecided
from hydrotest.spec.tests.base import SomeWorkloads
from hydrotest.units import show_duration

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

SQUEEZE_ROUND_S = 40.0
"""A round with four candidates takes about this long."""


class Isolated(SomeWorkloads):
    """Finds each workload's limit while the others idle."""

    test: Literal["isolated"]
    workloads: list[Name] = Field(min_length=1, description="The workloads, one after the other.")
    squeeze: DurationS | None = Field(
        None, description="Prove what binds each limit, by squeezes of at most about this length each. A squeeze takes away part "
                          "of the resources of emulated hosts, and of the cores of local hosts with `squeeze: allow`, and gives "
                          "it back. Meanwhile the workload runs without a rate limit (tests of Spark: over and over). Without "
                          "squeezes, what binds is only suspected.")  # fmt: skip

    finds_limits: ClassVar[bool] = True

    def may_be_attached(self, experiment: Experiment) -> bool:
        return True

    def trials_of_s(self, experiment: Experiment) -> tuple[int, float]:
        search = experiment.search
        return search.trials, search.window + search.warm_up

    @property
    def needs_squeeze(self) -> bool:
        return self.squeeze is not None

    def check(self, index: int, experiment: Experiment, checker: Checker) -> None:
        super().check(index, experiment, checker)
        shares = any(experiment.has_share(name, resource) for name in experiment.hosts for resource in get_args(GivenResource))
        may = any(host.may_run_cpu_hog for host in experiment.hosts.values())
        # On machines of their own the same file finds limits; what binds is proven where it is rehearsed.
        is_fleet = any(host.is_remote for host in experiment.hosts.values())
        if self.squeeze is not None and not shares and not may and not is_fleet:
            raise checker.fail(self.place(index, "squeeze"), "no host has a share of something that could be squeezed",
                               "Give emulated hosts (`connect: netns`) `cores`, `disk` or `network`, or write `squeeze: allow` at a host, or leave it out.")  # fmt: skip

    def steps(self, experiment: Experiment) -> list[Step]:
        limits = [experiment.workloads[name].limit_step(name, experiment) for name in self.workloads]
        squeezed = [name for name in self.workloads if self.squeeze is not None and experiment.workloads[name].is_squeezable]
        return [*limits, *(self._squeeze_step(name, experiment, self.squeeze or 0.0) for name in squeezed)]

    def _squeeze_step(self, name: str, experiment: Experiment, budget_s: float) -> Step:
        trials = max(1, math.ceil(budget_s / SQUEEZE_ROUND_S)) + 1
        return Step(test="isolated", workload=name, trials=trials, seconds=budget_s + trials * (experiment.search.warm_up + OVERHEAD_S),
                    detail=f"squeezes for at most {show_duration(budget_s)}, to prove what binds",
                    undecided=Undecided(expected=trials, least=0, most=trials))  # fmt: skip
