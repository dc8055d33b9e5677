"""The fault in the experiment file: its target and its action."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hydrotest.spec.checker import Checker
from hydrotest.spec.dataflow import Dataflow, driver_service, query_service
from hydrotest.spec.fields import DurationS, Name
from hydrotest.spec.hosts import GivenResource
from hydrotest.spec.kafka_group import KafkaGroup, member_service, members_service
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.lines import Path_
from hydrotest.spec.step import OVERHEAD_S, Step
from hydrotest.spec.tests.base import AtLevel

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

POSSIBLE = {
    "service": ("kill", "stop", "pause"),
    "query": ("kill",),
    "member": ("kill", "stop", "pause"),
    "host": ("pause", "cut", "mute", "deafen", "slow", "fill"),
    "system": ("roll",),
}
NEEDS: dict[str, tuple[GivenResource, str]] = {
    "slow": ("network", "speed that could be a tenth"),
    "fill": ("disk", "disk of its own that could be full"),
}
"""What a host must have of its own for an action, as a field and in words."""
FAULT_BEFORE_S_MIN = 5.0
"""The level before the fault is the reference for the time to catch up."""
FAULT_AFTER_S_MIN = 20.0
"""A JVM service needs most of this time to start."""


def service_names(experiment: Experiment) -> list[str]:
    """Names of the services of the experiment's systems, and of the drivers of its dataflows."""
    services = [service for name, system in experiment.systems.present().items() for service, _ in system.placed(name)]
    return services + [driver_service(name) for name, _ in _flows(experiment)]


def query_names(experiment: Experiment) -> list[str]:
    """Names of the queries of its dataflows."""
    return [part for name, flow in _flows(experiment) for part in _parts(experiment, name, flow)[1:]]


def member_names(experiment: Experiment) -> list[str]:
    """Names of the members of its consumer groups, and of all members of a workload."""
    return [part for name, group in experiment.workloads_of(KafkaGroup) for part in _members(name, group)]


def _members(name: str, group: KafkaGroup) -> list[str]:
    return [members_service(name), *(member_service(name, *member) for member in group.member_numbers)]


def _parts(experiment: Experiment, name: str, flow: Dataflow) -> list[str]:
    """Its driver and its queries."""
    source = experiment.workload(flow.reads, KafkaProduce)
    levels = source.levels if source is not None else {}
    return [driver_service(name), *(query_service(name, query) for query in flow.queries(levels))]


def _parts_by_workload(experiment: Experiment) -> dict[str, list[str]]:
    """What faults can strike of workloads, by workload."""
    flows = {name: _parts(experiment, name, flow) for name, flow in _flows(experiment)}
    return flows | {name: _members(name, group) for name, group in experiment.workloads_of(KafkaGroup)}


def _flows(experiment: Experiment) -> list[tuple[str, Dataflow]]:
    """The dataflows whose driver is hydrotest's own."""
    return [(name, flow) for name, flow in experiment.workloads_of(Dataflow) if flow.engine == "spark" and flow.submit is None]


class Fault(AtLevel):
    """Applies one level of load while a service is taken away and comes back: seconds without progress,
    seconds to catch up, integrity."""

    test: Literal["fault"]
    service: str | None = Field(
        None,
        description="The target: a service, by its name in the tables: `kafka-0`, `cassandra-0`, `spark-worker-0`, …; also a "
        "dataflow's driver, `spark-driver-FLOW`, or one of its queries, `spark-query-FLOW-splitter`, "
        "`spark-query-FLOW-persist-LEVEL-SINK`; or a member of a consumer group, `kafka-member-WORKLOAD-GROUP-MEMBER`, by their "
        "numbers, or all of them, `kafka-members-WORKLOAD`.",
    )
    host: Name | None = Field(None, description="Or an emulated host, with all that runs on it.")
    system: Name | None = Field(None, description="Or a system: all its services, one after the other.")
    action: Literal["kill", "stop", "pause", "cut", "mute", "deafen", "slow", "fill", "roll"] = Field(
        "kill", description="`kill` ends a service at once; `stop` ends it in good order; `pause` suspends a service or a host "
                            "with its connections open. On a host's link, `cut` takes the link away, `mute` drops all that the "
                            "host sends, `deafen` drops all that is sent to it, and `slow` leaves a tenth of its speed. `fill` "
                            "leaves no free space on a host's own disk; services that end because of it are started again when "
                            "there is free space. `roll` is for a system: each service in turn is stopped in good order, started "
                            "again after `down`, and waited for until no copy is behind.")  # fmt: skip
    at: DurationS = Field(20.0, description="Time from the start of the window to the fault.")
    down: DurationS = Field(10.0, description="Time until the service is started again, or goes on.")
    cold: bool = Field(
        False,
        description="Before the target is brought back, what the systems have on their disks is taken out of the page cache: a backlog is then "
        "read from the disks.",
    )
    duration: DurationS = Field(90.0, description="Length of the window.")

    @property
    def struck(self) -> str:
        """The target: the service, the host or the system."""
        return self.service or self.host or self.system or ""

    def may_be_attached(self, experiment: Experiment) -> bool:
        # Members of consumer groups are hydrotest's own processes.
        return self.service in member_names(experiment)

    def trials_of_s(self, experiment: Experiment) -> tuple[int, float]:
        return 1, self.duration + experiment.search.warm_up

    def steps(self, experiment: Experiment) -> list[Step]:
        fault = f"; {self.action} {self.struck} after {self.at:g} s for {self.down:g} s" + (", then from cold disks" if self.cold else "")
        return [
            Step(
                test="fault",
                workload=", ".join(self.workloads),
                trials=1,
                seconds=self.duration + OVERHEAD_S,
                detail=self.level_words() + fault,
            )
        ]

    def check(self, index: int, experiment: Experiment, checker: Checker) -> None:
        super().check(index, experiment, checker)
        self._check_fault(index, experiment, checker)

    def _check_fault(self, index: int, experiment: Experiment, checker: Checker) -> None:
        """Raises `BadInputError` for an impossible fault, or one that leaves no time to see its effect."""
        named = [kind for kind in ("service", "host", "system") if getattr(self, kind) is not None]
        if len(named) != 1:
            raise checker.fail(
                ("tests", index),
                "a fault needs a target: a service, a host or a system",
                "Name one of them: `service: kafka-0`, `host: NAME`, or `system: kafka` with `action: roll`.",
            )
        (kind,) = named
        if self.service is not None:
            queries, members = query_names(experiment), member_names(experiment)
            known = service_names(experiment) + queries + members
            checker.known(self.service, known, "the service", ("tests", index, self.test, "service"))
            kind = "query" if self.service in queries else "member" if self.service in members else kind
            for name, parts in _parts_by_workload(experiment).items():
                if self.service in parts and name not in self.workloads:
                    raise checker.fail(
                        ("tests", index), f"{self.service} is a part of {name}, which is not in this test", f"Add {name!r} to `workloads`."
                    )
        if self.host is not None:
            place: Path_ = ("tests", index, self.test, "host")
            checker.known(self.host, experiment.hosts, "the host", place)
            if not experiment.hosts[self.host].is_emulated:
                raise checker.fail(place, f"{self.host} is not an emulated host", "Choose one of its services, or use `connect: netns`.")
        if self.system is not None:
            checker.known(self.system, experiment.systems.present(), "the system", ("tests", index, self.test, "system"))
        if self.cold and any(system.is_attached for system in experiment.systems.present().values()):
            raise checker.fail(self.place(index, "cold"), "the page cache of machines that others use is left alone", "Leave `cold` out.")
        if self.action not in POSSIBLE[kind]:
            raise checker.fail(("tests", index), f"`{self.action}` is not for a {kind}", f"Take one of {', '.join(POSSIBLE[kind])}.")
        if self.host is not None and self.action in NEEDS:
            self._check_has(self.host, *NEEDS[self.action], index, experiment, checker)
        if self.at < FAULT_BEFORE_S_MIN:
            raise checker.fail(("tests", index, self.test, "at"), f"{self.at:g} s do not show how it was before",
                               f"Take at least {FAULT_BEFORE_S_MIN:g} s.")  # fmt: skip
        if self.at + self.down + FAULT_AFTER_S_MIN > self.duration:
            raise checker.fail(("tests", index), f"{self.at:g} s before and {self.down:g} s without the service leave no time to catch up in "
                               f"{self.duration:g} s", f"Let `duration` be {self.at + self.down + FAULT_AFTER_S_MIN:g} s at least.")  # fmt: skip

    def _check_has(self, name: str, share: GivenResource, what: str, index: int, experiment: Experiment, checker: Checker) -> None:
        if not experiment.has_share(name, share):
            raise checker.fail(("tests", index), f"{name} has no {what}", f"Give {name} a `{share}`.")
