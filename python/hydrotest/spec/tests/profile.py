"""The profile in the experiment file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hydrotest.spec.base import Model
from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import DurationS, RatePerS
from hydrotest.spec.step import OVERHEAD_S, Step
from hydrotest.spec.tests.base import WINDOW_S_MIN, OneWorkload
from hydrotest.spec.workload import Scheduled

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment


class Stretch(Model):
    """A part of a profile; the rate changes evenly from `rate` to `to`."""

    rate: RatePerS = Field(description="The rate at its start.")
    to: RatePerS | None = Field(None, description="The rate at its end; the same if not given.")
    duration: DurationS = Field(description="Its length in whole seconds, since latencies are kept by the second.")

    @property
    def end_rate(self) -> float:
        """The rate at its end."""
        return self.rate if self.to is None else self.to

    @property
    def operations(self) -> float:
        """Number of operations due in it."""
        return (self.rate + self.end_rate) / 2 * self.duration


class Profile(OneWorkload):
    """Applies a changing rate, in steps and ramps, as one trial."""

    test: Literal["profile"]
    stretches: list[Stretch] = Field(
        min_length=1,
        description="The stretches, one after the other, e.g. [{rate: 50K, duration: 10 s}, {rate: 50K, to: 200K, duration: 30 s}].",
    )

    @property
    def duration(self) -> float:
        """Length of all stretches, in seconds."""
        return sum(stretch.duration for stretch in self.stretches)

    def steps(self, experiment: Experiment) -> list[Step]:
        course = ", ".join(f"{s.rate:,.0f} to {s.end_rate:,.0f}/s in {s.duration:g} s" for s in self.stretches)
        return [Step(test="profile", workload=self.workload, trials=1, seconds=self.duration + OVERHEAD_S, detail=course)]

    def check(self, index: int, experiment: Experiment, checker: Checker) -> None:
        super().check(index, experiment, checker)
        place = self.place(index, "workload")
        workload = experiment.workload(self.workload, Scheduled)
        if workload is None:
            raise checker.fail(place, f"{self.workload} has no schedule of its own", "Name a kafka-produce or a cassandra workload.")
        if workload.client == "stock":
            raise checker.fail(place, f"{self.workload}: a stock client's rate does not change", "Use `levels` with it.")
        if workload.arrivals.shape != "even":
            raise checker.fail(
                place, f"{self.workload} has `arrivals`; the operations of a profile come evenly", "Make a workload of its own for it."
            )
        refusal = workload.refusal(self.workload, self.test)
        if refusal is not None:
            raise checker.fail(place, *refusal)
        for at, stretch in enumerate(self.stretches):
            if stretch.duration != round(stretch.duration):
                raise checker.fail(self.place(index, "stretches", at, "duration"), f"{stretch.duration:g} s: latencies are kept by the second",
                                   "Take whole seconds.")  # fmt: skip
            if stretch.duration < WINDOW_S_MIN:
                raise checker.fail(
                    self.place(index, "stretches", at, "duration"),
                    f"{stretch.duration:g} s are too short",
                    f"Take at least {WINDOW_S_MIN:g} s.",
                )
