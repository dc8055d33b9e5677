"""The tests at given levels in the experiment file: rates, numbers in flight, or without a rate limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from hydrotest.spec.base import Client
from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import Count, DurationS, Fraction, RatePerS
from hydrotest.spec.step import OVERHEAD_S, Step, Undecided
from hydrotest.spec.tests.base import OneWorkload

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment


VERDICT_WINDOWS = 5
"""Windows until most verdicts are known with 95 %: four that agree, or six of seven."""


class Pressed(OneWorkload):
    """What tests at levels have in common."""

    if TYPE_CHECKING:
        duration: float
        client: Client | None

    def may_be_attached(self, experiment: Experiment) -> bool:
        return True

    def trials_of_s(self, experiment: Experiment) -> tuple[int, float]:
        return len(self.levels) * self.most_windows, self.duration + experiment.search.warm_up

    @property
    def levels(self) -> list[tuple[float | None, int | None]]:
        """Rate and number in flight of each level; neither: without a rate limit."""
        raise NotImplementedError

    @property
    def sure(self) -> float | None:
        """The probability with which it is to be known whether a level is held; None: each is measured once."""
        return None

    @property
    def most_windows(self) -> int:
        """Windows of a level at most."""
        return 1

    @property
    def level_words(self) -> str:
        """Its levels in words."""
        raise NotImplementedError

    def steps(self, experiment: Experiment) -> list[Step]:
        trials = len(self.levels) * (VERDICT_WINDOWS if self.sure is not None else 1)
        seconds = trials * (self.duration + experiment.search.warm_up + OVERHEAD_S)
        detail = f"{self.level_words}, {experiment.client(self)} client"
        gate = (
            Undecided(expected=trials, least=len(self.levels), most=len(self.levels) * self.most_windows) if self.sure is not None else None
        )
        return [Step(test=self.test, workload=self.workload, trials=trials, seconds=seconds, detail=detail, undecided=gate)]

    def check(self, index: int, experiment: Experiment, checker: Checker) -> None:
        """Refuses what the client cannot do instead of ignoring it."""
        super().check(index, experiment, checker)
        workload = experiment.workloads[self.workload]
        own, place = workload.own_client, self.place(index, "workload")
        if own is not None and "driver" in (own, self.client) and self.client not in (None, own):
            raise checker.fail(self.place(index, "client"), f"a test cannot change {self.workload}'s client from {own} to {self.client}",
                               "Make a workload of its own for each.")  # fmt: skip
        if workload.is_fed and self.test == "levels" and self.client is None:
            return
        if own is None:
            raise checker.fail(place, f"{self.workload} has no rate and nothing in flight", "Use it in `isolated` or `combined`.")
        refusal = workload.refusal(self.workload, self.test)
        if refusal is not None:
            raise checker.fail(place, *refusal)
        if self.client == "stock":
            workload.check_stock(self.workload, experiment, self.place(index, "client"), checker)
        refusal = workload.stock_refusal(self.test) if experiment.client(self) == "stock" else None
        if refusal is not None:
            raise checker.fail(place, *refusal)


class Levels(Pressed):
    """Measures at given rates."""

    test: Literal["levels"]
    rates: list[RatePerS] = Field(min_length=1, description="Offered rates, e.g. [100K, 1M].")
    duration: DurationS = Field(20.0, description="Measured window of each level.")
    verdict: Fraction | None = Field(
        None,
        gt=0.5,
        le=0.999,
        description="Repeats the window of each rate until it is known with this probability whether most windows hold, e.g. 95 %. Such a rate "
        "is a gate: if it is not held, the run exits with 1.",
    )
    windows: int = Field(20, ge=4, le=200, description="Most windows of a rate with a `verdict`.")
    client: Client | None = Field(None, description="Overrides the workload's client.")

    def rates_of(self, workload: str) -> list[float]:
        return list(self.rates)

    @property
    def levels(self) -> list[tuple[float | None, int | None]]:
        return [(rate, None) for rate in self.rates]

    @property
    def sure(self) -> float | None:
        return self.verdict

    @property
    def most_windows(self) -> int:
        return self.windows if self.verdict is not None else 1

    @property
    def level_words(self) -> str:
        return ", ".join(f"{rate:,.0f}/s" for rate in self.rates)

    def check(self, index: int, experiment: Experiment, checker: Checker) -> None:
        super().check(index, experiment, checker)
        if self.verdict is not None and experiment.client(self) == "stock":
            raise checker.fail(
                self.place(index, "verdict"), "windows of a stock tool are not judged", "Leave out `verdict`, or `client: stock`."
            )


class Concurrency(Pressed):
    """Measures with given numbers of operations in flight, as closed-loop tools do."""

    test: Literal["concurrency"]
    counts: list[Annotated[Count, Field(le=1_000_000)]] = Field(min_length=1, description="Operations in flight, e.g. [16, 64, 256].")
    duration: DurationS = Field(20.0, description="Measured window of each count.")
    client: Client | None = Field(None, description="Overrides the workload's client.")

    has_rates: ClassVar[bool] = False

    @property
    def levels(self) -> list[tuple[float | None, int | None]]:
        return [(None, count) for count in self.counts]

    @property
    def level_words(self) -> str:
        return f"{', '.join(str(count) for count in self.counts)} in flight"


class Saturated(Pressed):
    """Measures the rate achieved without a rate limit, never a latency."""

    test: Literal["saturated"]
    duration: DurationS = Field(10.0, description="Measured window.")
    client: Client | None = Field(None, description="Overrides the workload's client.")

    has_latency: ClassVar[bool] = False
    has_rates: ClassVar[bool] = False

    @property
    def levels(self) -> list[tuple[float | None, int | None]]:
        return [(None, None)]

    @property
    def level_words(self) -> str:
        return "without a rate limit"
