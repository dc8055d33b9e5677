"""What every test has in the experiment file."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from hydrotest.spec.base import Model
from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import Name, RatePerS
from hydrotest.spec.lines import Path_
from hydrotest.spec.step import Step

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

WINDOW_S_MIN = 3.0
"""A shorter window cannot show steadiness: counters are read once a second."""


class Test(Model):
    """What all tests have in common."""

    __test__ = False

    finds_limits: ClassVar[bool] = False
    """Its results can be rates of later tests."""

    has_latency: ClassVar[bool] = True
    """False for tests without a rate limit: they measure a rate, never a latency."""

    has_rates: ClassVar[bool] = True
    """False if it loads a system without a rate limit."""

    if TYPE_CHECKING:
        test: str

    def may_be_attached(self, experiment: Experiment) -> bool:
        """Whether it can be carried out on a cluster that is there already."""
        return False

    def rates_of(self, workload: str) -> list[float]:
        """The rates that it gives to a workload; empty if it finds them itself."""
        return []

    def trials_of_s(self, experiment: Experiment) -> tuple[int, float]:
        """How many trials of a workload there are at most, and how long each is, seconds; for tests that may be attached."""
        raise NotImplementedError

    @property
    def names(self) -> list[str]:
        """The workloads of the test."""
        raise NotImplementedError

    @property
    def needs_squeeze(self) -> bool:
        """True if it reduces resources of hosts."""
        return False

    def check_times(self, index: int, experiment: Experiment, checker: Checker) -> None:
        """Raises `BadInputError` for windows that are too short."""

    def check(self, index: int, experiment: Experiment, checker: Checker) -> None:
        """Raises `BadInputError` for what does not fit the rest of the file; `index` is its place among the
        tests."""

    def steps(self, experiment: Experiment) -> list[Step]:
        """What it does, for the plan."""
        raise NotImplementedError

    def place(self, index: int, *keys: str | int) -> Path_:
        """The path of a part of it in the file."""
        return ("tests", index, self.test, *keys)


class OneWorkload(Test):
    """A test of one workload, in windows of one length."""

    workload: Name = Field(description="Which workload.")

    if TYPE_CHECKING:

        @property
        def duration(self) -> float:
            """Length of its window, s; some tests have it as a field."""
            ...

    @property
    def names(self) -> list[str]:
        return [self.workload]

    def check_times(self, index: int, experiment: Experiment, checker: Checker) -> None:
        if self.duration < WINDOW_S_MIN:
            raise checker.fail(self.place(index, "duration"), f"{self.duration:g} s are too short", f"Take at least {WINDOW_S_MIN:g} s.")

    def check(self, index: int, experiment: Experiment, checker: Checker) -> None:
        checker.known(self.workload, experiment.workloads, "the workload", self.place(index, "workload"))


class SomeWorkloads(Test):
    """A test of some workloads."""

    workloads: list[Name] = Field(min_length=1, description="The workloads, all at once.")

    @property
    def names(self) -> list[str]:
        return self.workloads

    def check_times(self, index: int, experiment: Experiment, checker: Checker) -> None:
        if len(set(self.workloads)) < len(self.workloads):
            raise checker.fail(("tests", index), "a workload stands twice in one test", "Name each once.")

    def check(self, index: int, experiment: Experiment, checker: Checker) -> None:
        for at, name in enumerate(self.workloads):
            short = self.place(index, at)
            where = short if short in checker.document.lines else self.place(index, "workloads", at)
            checker.known(name, experiment.workloads, "the workload", where)
            workload = experiment.workloads[name]
            if workload.own_client == "stock":
                raise checker.fail(where, f"{name}: a stock client keeps no schedule, so it cannot be used in this test",
                                   "Use `levels`, `concurrency` or `saturated` with it.")  # fmt: skip
            refusal = workload.refusal(name, self.test)
            if refusal is not None:
                raise checker.fail(where, *refusal)
            self.check_company(name, where, experiment, checker)

    def check_company(self, name: str, where: Path_, experiment: Experiment, checker: Checker) -> None:
        """Checks that what its workloads need is in the test, too."""

    def check_followed(self, name: str, where: Path_, experiment: Experiment, checker: Checker) -> None:
        """Checks that what a workload follows is in the test, too."""
        workload = experiment.workloads[name]
        if workload.is_follower and workload.source not in self.workloads:
            raise checker.fail(
                where, f"{name} follows what {workload.source} writes, which is not in this test", f"Add {workload.source!r}."
            )


class AllAtOnce(SomeWorkloads):
    """A test in which its workloads run together, at a rate if they have one."""

    if TYPE_CHECKING:

        @property
        def rates(self) -> dict[str, float]:
            """Rates by workload; a field of each such test."""
            ...

    def check_company(self, name: str, where: Path_, experiment: Experiment, checker: Checker) -> None:
        self.check_followed(name, where, experiment, checker)

    def check(self, index: int, experiment: Experiment, checker: Checker) -> None:
        super().check(index, experiment, checker)
        self._check_rates(index, experiment, checker)
        jobs = [name for name in self.workloads if experiment.workloads[name].is_job]
        if len(jobs) > 1:
            raise checker.fail(("tests", index), f"{' and '.join(jobs)} cannot run at once: an application takes all of Spark's workers",
                               "Put their tests into one workload, or each into a test of its own.")  # fmt: skip

    def _check_rates(self, index: int, experiment: Experiment, checker: Checker) -> None:
        """Every workload with a rate needs one: a given rate, or in a combined test its isolated limit from
        an earlier test."""
        for name in self.rates:
            checker.known(name, self.workloads, "the workload", self.place(index, "rates", name))
            if not experiment.workloads[name].is_scheduled:
                raise checker.fail(
                    self.place(index, "rates", name),
                    f"{name} has no rate of its own",
                    "Leave it out here; kafka-produce and cassandra workloads have one.",
                )
        pressed = [name for name in self.workloads if experiment.workloads[name].is_scheduled]
        if not pressed:
            raise checker.fail(("tests", index), "nothing in this test has a rate", "Add a kafka-produce or a cassandra workload.")
        earlier = {name for before in experiment.tests[:index] if before.finds_limits for name in before.names}
        lacking = [name for name in pressed if name not in (self.rates or earlier)]
        if lacking:
            remedy = "Give its rate too." if self.rates else f"Put `- isolated: [{', '.join(pressed)}]` before it, or give `rates`."
            raise checker.fail(("tests", index), f"no rate is known for {', '.join(lacking)}", remedy)


class AtLevel(AllAtOnce):
    """What tests at one level have in common."""

    rates: dict[Name, RatePerS] = Field(min_length=1, description="The rate of each workload that has one.")

    if TYPE_CHECKING:
        duration: float

    def rates_of(self, workload: str) -> list[float]:
        return [self.rates[workload]] if workload in self.rates else []

    def level_words(self) -> str:
        """Its rates in words."""
        return ", ".join(f"{name} {rate:,.0f}/s" for name, rate in self.rates.items())
