"""The calibration in the experiment file."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import DurationS, Multiple, Name
from hydrotest.spec.hosts import GivenResource
from hydrotest.spec.lines import Path_
from hydrotest.spec.step import OVERHEAD_S, Step
from hydrotest.spec.tests.base import SomeWorkloads
from hydrotest.spec.workload import Scheduled
from hydrotest.units import show_duration

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

CALIBRATED_S_MIN = 5.0
"""Begin and end of a window show what was before and what comes; three readings must be left."""
ROUNDS_MIN = 2
"""The machine drifts between rounds: one alone does not show by how much."""
RATES = (0.02, 0.15, 0.4, 0.65)
"""Rates by schedule, as shares of the rate without a rate limit: nearly idle, and up to what a schedule with smaller batches may still
hold."""

NAMES = {"cpu": "cores", "network": "links", "disk": "disks"}
"""Resources in words."""
GIVEN_MIN, GIVEN_MAX = 0.01, 8.0


class Calibrate(SomeWorkloads):
    """Measures what operations cost, one workload after the other: at several rates, and without a rate limit with all and with less of
    the cores of its system's hosts. What reads another one's records is measured together with it, and with those before it that read them,
    too: so the first shows what one consumer group costs, the second what two do. `predict` stands on it."""

    test: Literal["calibrate"]
    workloads: list[Name] = Field(min_length=1, description="The workloads, each alone; a kafka-consume or kafka-group with what it reads.")
    budget: DurationS = Field(
        600.0,
        description="Rounds over all workloads are repeated for about so long; a trial in which the hypervisor took cores away once more.",
    )
    window: DurationS = Field(6.0, description="Length of each window. Between two with other cores there is one with all of them.")
    cores: list[Multiple] = Field(
        default=[0.5],
        description="What the system's hosts have of their cores in such a window, e.g. [50 %, 2]; on emulated hosts that have `cores`.",
    )
    network: list[Multiple] = Field(default_factory=list, description="The same of their links; on emulated hosts that have `network`.")
    disk: list[Multiple] = Field(default_factory=list, description="The same of their disks; on emulated hosts that have `disk`.")

    has_latency: ClassVar[bool] = False
    has_rates: ClassVar[bool] = False

    @property
    def rounds(self) -> int:
        """How often each workload is measured."""
        return max(ROUNDS_MIN, int(self.budget // self._round_s))

    @property
    def given(self) -> list[tuple[Literal["cpu", "network", "disk"], float]]:
        """What is given in a window: the resource, and how many times what the hosts have."""
        return [*(("cpu", one) for one in self.cores), *(("network", one) for one in self.network), *(("disk", one) for one in self.disk)]

    @property
    def _round_s(self) -> float:
        turns = 2 * len(self.given) + 1 + len(RATES)
        return len(self.workloads) * (turns * self.window + 2 * OVERHEAD_S)

    def check_times(self, index: int, experiment: Experiment, checker: Checker) -> None:
        super().check_times(index, experiment, checker)
        if self.window < CALIBRATED_S_MIN or self.window != round(self.window):
            raise checker.fail(
                self.place(index, "window"),
                f"{self.window:g} s is no length for a window",
                f"Take whole seconds, at least {CALIBRATED_S_MIN:g} s.",
            )
        for key in ("cores", "network", "disk"):
            for at, one in enumerate(getattr(self, key)):
                if not GIVEN_MIN <= one <= GIVEN_MAX:
                    raise checker.fail(
                        self.place(index, key, at),
                        f"{one:g} times what a host has cannot be given",
                        f"Take {GIVEN_MIN:.0%} to {GIVEN_MAX:g} times.",
                    )
        if self.budget < ROUNDS_MIN * self._round_s:
            raise checker.fail(self.place(index, "budget"), f"{show_duration(self.budget)} are too short for {ROUNDS_MIN} rounds",
                               f"Take at least {show_duration(ROUNDS_MIN * self._round_s)}.")  # fmt: skip

    def check(self, index: int, experiment: Experiment, checker: Checker) -> None:
        super().check(index, experiment, checker)
        self._check_given(index, experiment, checker)
        for name in self.workloads:
            workload = experiment.workload(name, Scheduled)
            if self._is_reader(name, experiment):
                continue  # it has the schedule of what it reads, which is here, too
            if workload is None:
                raise checker.fail(
                    self.place(index, "workloads"), f"{name} has no schedule of its own", "Name a kafka-produce or a cassandra workload."
                )
            if workload.arrivals.shape != "even":
                raise checker.fail(self.place(index, "workloads"), f"{name} has `arrivals`; the operations of a calibration come evenly",
                                   "Make a workload of its own for it.")  # fmt: skip

    def check_company(self, name: str, where: Path_, experiment: Experiment, checker: Checker) -> None:
        if self._is_reader(name, experiment):
            self.check_followed(name, where, experiment, checker)

    @staticmethod
    def _is_reader(name: str, experiment: Experiment) -> bool:
        """Whether all that it does is to read what another workload writes: a dataflow does more."""
        spec = experiment.workloads[name]
        return spec.is_follower and not spec.is_job

    def measured(self, experiment: Experiment) -> dict[str, list[str]]:
        """Each workload with all that run while it is measured: itself; or what it reads, and those that read it, too, up to itself."""
        found: dict[str, list[str]] = {}
        for at, name in enumerate(self.workloads):
            spec = experiment.workloads[name]
            alike = [one for one in self.workloads[:at] if experiment.workloads[one].source == spec.source]
            found[name] = [*filter(None, [spec.source]), *alike, name] if self._is_reader(name, experiment) else [name]
        return found

    def _check_given(self, index: int, experiment: Experiment, checker: Checker) -> None:
        """What the file asks for must be possible; `cores` that it does not name are left out where they are not."""
        keys: tuple[GivenResource, ...] = ("cores", "network", "disk")
        for key in keys:
            for name in self.workloads if key in self.model_fields_set and getattr(self, key) else []:
                system = experiment.systems.present().get(experiment.workloads[name].presses_on or "")
                lacking = [host for host in (system.hosts if system is not None else []) if not experiment.has_share(host, key)]
                if lacking:
                    raise checker.fail(self.place(index, key), f"{lacking[0]} has no `{key}` of its own, of which more or less could be given",
                                       f"Give emulated hosts (`connect: netns`) `{key}`, or leave it out here.")  # fmt: skip

    def steps(self, experiment: Experiment) -> list[Step]:
        shares = ", ".join(f"{share:.0%} of the {NAMES[resource]}" for resource, share in self.given)
        by_rate = self.rounds * (len(RATES) * self.window + OVERHEAD_S)
        without = self.rounds * ((2 * len(self.given) + 1) * self.window + experiment.search.warm_up + OVERHEAD_S)
        given = f"with all that hosts have{f' and with {shares}' if shares else ''}"
        detail = f"{self.rounds} rounds without a rate limit, {given}, and at {len(RATES)} rates"
        return [Step(test="calibrate", workload=name, trials=2 * self.rounds, seconds=by_rate + without, detail=detail)
                for name in self.workloads]  # fmt: skip
