"""Consumer groups in the experiment file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from hydrotest.spec.attach import Most, RequestsMost
from hydrotest.spec.base import Client
from hydrotest.spec.checker import Checker
from hydrotest.spec.choice import expected
from hydrotest.spec.fields import Count, DurationS, Name, PropertyValue, SizeBytes
from hydrotest.spec.kafka import Kafka
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.lines import Path_
from hydrotest.spec.system import MIB
from hydrotest.spec.workload import LimitBy, Refusal, Workload
from hydrotest.units import show_count

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

MEMBERS_MAX = 200
"""Members of all groups of a workload: each is a JVM."""
SESSION_S = 45.0
"""Kafka's default of `session.timeout.ms` and of `group.consumer.session.timeout.ms`."""
SESSION_S_MIN, SESSION_S_MAX = 6.0, 1800.0
"""Brokers' defaults of `group.min.session.timeout.ms` and `group.max.session.timeout.ms`."""
DRAIN_S = 15.0
"""To read what was written last, besides the session of a member that was killed."""
HEAP_MIN = 32 * MIB
HEAP_BASE = 28 * MIB
"""Of a member, beside what it has fetched."""
HEARTBEATS_PER_SESSION = 3
"""Kafka recommends no fewer."""
OWN_SETTINGS = {
    "group.id": "each group gets an id of its own",
    "client.id": "each member gets an id of its own",
    "bootstrap.servers": "they are those of kafka",
    "auto.offset.reset": "a group begins with the first record, so that each can be accounted for",
    "enable.auto.commit": "write `commit`",
    "auto.commit.interval.ms": "write `commit_every`",
    "group.protocol": "write `protocol`",
    "group.remote.assignor": "write `assignor`",
    "partition.assignment.strategy": "write `assignor`",
    "isolation.level": "write `isolation`",
    "session.timeout.ms": "write `session`",
    "heartbeat.interval.ms": "it follows `session`",
    "group.instance.id": "two members of one id would fence each other",
    "key.deserializer": "members take records as they are",
    "value.deserializer": "members take records as they are",
}
"""Settings of Kafka's consumer that cannot be passed through, and why."""
Protocol = Literal["classic", "consumer"]
ASSIGNORS: dict[Protocol, tuple[str, ...]] = {
    "classic": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "consumer": ("uniform", "range"),
}


def drain_s(session_s: float, held_s: float = 0.0) -> float:
    """Longest time to read what is left when the producers have ended. `held_s`: length of a trial in which a backlog is read no faster than
    is allowed; at worst, what was written takes as long again to be read."""
    return DRAIN_S + session_s + held_s


def member_service(workload: str, group: int, member: int) -> str:
    """The name of a member, as the target of a fault."""
    return f"kafka-member-{workload}-{group}-{member}"


def members_service(workload: str) -> str:
    """The name of all members of all groups, as the target of a fault."""
    return f"kafka-members-{workload}"


def _broker_s(kafka: Kafka, key: str, default_s: float, checker: Checker) -> float:
    """A setting of brokers in milliseconds, in seconds."""
    value = kafka.config.get(key, default_s * 1e3)
    try:
        return float(value) / 1e3
    except ValueError:
        raise checker.fail(
            ("systems", "kafka", "config", key), f"{key} is {value!r}, and must be a number", "Write milliseconds."
        ) from None


class KafkaGroup(Workload):
    """Consumer groups that read what another workload writes, as applications do: each member is Kafka's own consumer, in a JVM
    of its own."""

    kind: Literal["kafka-group"]
    reads: Name = Field(description="The kafka-produce workload whose records are read.")
    groups: Count = Field(1, description="Groups; each reads all records.")
    members: Count = Field(2, description="Members of each group.")
    protocol: Protocol = Field(
        "classic", description="Kafka's protocol of groups: `classic`, or `consumer` (KIP-848: brokers assign the partitions)."
    )
    assignor: Literal["range", "roundrobin", "sticky", "cooperative-sticky", "uniform"] | None = Field(
        None, description="How partitions are assigned to members; Kafka's default if not given."
    )
    commit: Literal["auto", "sync", "async"] = Field(
        "auto", description="`auto`: Kafka's consumer commits by itself; `sync` and `async`: a member does, and waits for it or not."
    )
    commit_every: DurationS = Field(5.0, description="Time between commits.")
    session: DurationS = Field(
        SESSION_S,
        description="Time without a sign of life after which a member is out of its group. With `protocol: consumer` brokers have it: "
        "group.consumer.session.timeout.ms.",
    )
    isolation: Literal["read_uncommitted", "read_committed"] = Field(
        "read_uncommitted", description="Whether records of open and aborted transactions are read too."
    )
    heap: SizeBytes = Field(128 * MIB, description="Java heap of each member.")
    config: dict[str, PropertyValue] = Field(
        default_factory=dict, description="Settings of Kafka's consumer, passed through, e.g. {max.poll.records: 2000}."
    )

    limit_by: ClassVar[LimitBy] = LimitBy.NOTHING
    is_follower: ClassVar[bool] = True
    is_warmed: ClassVar[bool] = False
    checks_records: ClassVar[bool] = False

    @property
    def source(self) -> str | None:
        return self.reads

    @property
    def own_client(self) -> Client | None:
        return "native"

    @property
    def connections_per_node(self) -> int:
        # A member speaks to its group's coordinator over a connection of its own; one more looks at the ends of partitions.
        return 2 * self.groups * self.members + 1

    @property
    def member_numbers(self) -> list[tuple[int, int]]:
        """Each member: its group's number, and its own."""
        return [(group, member) for group in range(self.groups) for member in range(self.members)]

    def session_s(self, experiment: Experiment) -> float:
        """Time after which a silent member is out of its group."""
        kafka = experiment.systems.of(Kafka)
        if self.protocol == "classic" or kafka is None:
            return self.session
        return float(kafka.config.get("group.consumer.session.timeout.ms", SESSION_S * 1e3)) / 1e3

    def after_s(self, experiment: Experiment, seconds: float) -> float:
        return drain_s(self.session_s(experiment), seconds)

    def heaps(self, name: str, experiment: Experiment) -> list[tuple[str, int]]:
        hosts = experiment.generator_hosts(name)
        return [(host, self.heap) for host in hosts for _ in self.member_numbers]

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        super().check(name, experiment, checker)
        place: Path_ = ("workloads", name)
        checker.known(self.reads, experiment.workloads, "the workload", (*place, "reads"))
        source = experiment.workload(self.reads, KafkaProduce)
        if source is None:
            raise checker.fail((*place, "reads"), f"{self.reads!r} writes no topic", "Name a kafka-produce workload.")
        if self.members > source.partitions_in_all:
            raise checker.fail((*place, "members"), f"{self.members} members share {source.partitions_in_all} partitions: some would have none",
                               "Take fewer members, or more `partitions`.")  # fmt: skip
        by_topic = self.assignor == "range" or (self.protocol == "classic" and self.assignor is None)
        if by_topic and self.members > source.partitions:
            raise checker.fail((*place, "members"), f"{self.members} members share the {source.partitions} partitions of each topic: some would have none",
                               f"Take fewer members, or another `assignor`, e.g. {ASSIGNORS[self.protocol][-1 if self.protocol == 'classic' else 0]}.")  # fmt: skip
        if self.heap < HEAP_MIN:
            raise checker.fail(
                (*place, "heap"), f"a JVM with Kafka's consumer does not run in {self.heap:,} B", f"Take at least {HEAP_MIN >> 20} MiB."
            )
        needed = HEAP_BASE + 2 * source.largest_batch_bytes
        if self.heap < needed:
            raise checker.fail((*place, "heap"), f"a member holds two batches of up to {source.largest_batch_bytes:,} B, and {self.heap:,} B have no space for them",
                               f"Take at least {math.ceil(needed / MIB)} MiB.")  # fmt: skip
        if self.groups * self.members > MEMBERS_MAX:
            raise checker.fail(
                (*place, "members"), f"{self.groups * self.members} members are more than {MEMBERS_MAX}; each is a JVM", "Take fewer."
            )
        if len(self.on) > 1:
            raise checker.fail(
                (*place, "on"), f"the members of {name} run on one host", "Name one; another workload can have members on another."
            )
        self._check_protocol(place, experiment, checker)
        for key in self.config:
            why = OWN_SETTINGS.get(key) or ("write `security` of kafka" if key.startswith(("ssl.", "sasl.", "security.")) else None)
            if why is not None:
                raise checker.fail((*place, "config", key), f"{key} is set by hydrotest: {why}", "Leave it out of `config`.")

    def check_most(self, name: str, most: Most, experiment: Experiment, checker: Checker) -> None:
        allowed = expected(most, RequestsMost)
        source = expected(experiment.workloads[self.reads], KafkaProduce)
        top = allowed.rate_for(source.record_bytes)
        by = "rate" if top == allowed.rate else "bytes"
        for index, test in enumerate(experiment.tests):
            for rate in test.rates_of(self.reads) if name in test.names else ():
                if rate * self.groups > top:
                    raise checker.fail(test.place(index, "rates"), f"{show_count(self.groups, 'group')} of {name} read {rate * self.groups:,.10g}/s, more than "
                                       f"`most` allows: {top:,.10g}/s, by its `{by}`", f"Lower the rate, take fewer groups, or raise `most.{by}`.")  # fmt: skip

    def _check_protocol(self, place: Path_, experiment: Experiment, checker: Checker) -> None:
        kafka = experiment.systems.of(Kafka)
        if kafka is None:
            raise checker.fail(place, "consumer groups need the system kafka", "Add it under `systems`.")
        if self.protocol == "consumer" and kafka.release == "3.9":
            raise checker.fail((*place, "protocol"), "brokers of 3.9 have no `consumer` protocol that is meant for use",
                               "Write `protocol: classic`, or take `release: 4.3`.")  # fmt: skip
        known = ASSIGNORS[self.protocol]
        if self.assignor is not None and self.assignor not in known:
            raise checker.fail(
                (*place, "assignor"), f"{self.assignor} is not for the protocol {self.protocol}", f"Take one of {', '.join(known)}."
            )
        if self.protocol == "consumer" and "session" in self.model_fields_set:
            remedy = "Leave it out." if kafka.is_attached else (
                "Write group.consumer.session.timeout.ms, and group.consumer.min.session.timeout.ms, under `config` of kafka."
            )  # fmt: skip
            raise checker.fail((*place, "session"), "with `protocol: consumer` brokers have the session's timeout", remedy)
        if self.protocol == "consumer":
            _broker_s(kafka, "group.consumer.session.timeout.ms", SESSION_S, checker)
            return
        if kafka.is_attached:  # its brokers have bounds of their own
            return
        least = _broker_s(kafka, "group.min.session.timeout.ms", SESSION_S_MIN, checker)
        most = _broker_s(kafka, "group.max.session.timeout.ms", SESSION_S_MAX, checker)
        if not least <= self.session <= most:
            raise checker.fail((*place, "session"), f"brokers take sessions from {least:g} s to {most:g} s, and not {self.session:g} s",
                               "Take another one, or set group.min.session.timeout.ms or group.max.session.timeout.ms under `config` of kafka.")  # fmt: skip

    def refusal(self, name: str, test: str) -> Refusal | None:
        if test in ("combined", "fault", "soak", "calibrate"):
            return None
        return (
            f"{name} has no limit of its own: it follows {self.reads}",
            "Use it in `calibrate`, `combined`, `fault` or `soak`, next to it.",
        )
