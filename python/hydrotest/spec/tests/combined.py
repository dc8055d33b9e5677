"""The combined test in the experiment file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import DurationS, Fraction, Name, RatePerS
from hydrotest.spec.step import OVERHEAD_S, SEARCH_TRIALS_MIN, Step, Undecided
from hydrotest.spec.tests.base import WINDOW_S_MIN, AllAtOnce
from hydrotest.spec.workload import LimitBy

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

COMBINED_TRIALS = 16
"""Trials of a search of the safe working point, as seen on two cores."""


class Combined(AllAtOnce):
    """All workloads at once: the safe working point, the interference, and all without a rate limit."""

    test: Literal["combined"]
    workloads: list[Name] = Field(min_length=1, description="The workloads, all at once.")
    rates: dict[Name, RatePerS] = Field(
        default_factory=dict,
        description="Rates at which the interference is measured; without them the safe working point is searched first.",
    )
    pairs: int = Field(5, ge=5, le=50, description="Pairs of isolated and combined windows.")
    window: DurationS = Field(5.0, description="Measured window of each half of a pair.")
    precision: Fraction = Field(
        0.15, description="The search ends when the 90 % interval of each workload's fraction reaches at most so far to each side."
    )
    trials: int = Field(20, ge=SEARCH_TRIALS_MIN, le=200, description="Most trials of the search of the safe working point.")

    def check_times(self, index: int, experiment: Experiment, checker: Checker) -> None:
        super().check_times(index, experiment, checker)
        if self.window < WINDOW_S_MIN:
            raise checker.fail(self.place(index, "window"), f"{self.window:g} s are too short", f"Take at least {WINDOW_S_MIN:g} s.")

    def steps(self, experiment: Experiment) -> list[Step]:
        # Each one alone, and all together; what has no limit of its own only runs next to them.
        alone = 1 + sum(experiment.workloads[name].limit_by is not LimitBy.NOTHING for name in self.workloads)
        pair_s = alone * (self.window + experiment.search.warm_up + OVERHEAD_S)
        searched = 0 if self.rates else min(COMBINED_TRIALS, self.trials)
        search_s = searched * (experiment.search.window + experiment.search.warm_up + OVERHEAD_S)
        all_out = 0 if self.rates else experiment.search.repeats
        seconds = search_s + self.pairs * pair_s + all_out * (experiment.search.saturated + OVERHEAD_S)
        what = "at given rates" if self.rates else f"safe working point to {self.precision:.0%}, all without a rate limit {all_out} times"
        return [Step(test="combined", workload=", ".join(self.workloads), trials=searched + self.pairs * alone + all_out, seconds=seconds,
                     detail=f"{what}; interference over {self.pairs} pairs",
                     undecided=Undecided(expected=searched, least=SEARCH_TRIALS_MIN, most=self.trials) if searched else None)]  # fmt: skip
