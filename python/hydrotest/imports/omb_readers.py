"""Who reads in a workload of OpenMessaging Benchmark: groups of Kafka's own consumer. Settings are those of its Kafka driver, whose consumers
commit by themselves (`KafkaBenchmarkConsumer.java`)."""

from __future__ import annotations

from typing import Any

from hydrotest.imports.kafka_settings import INGEST, is_access
from hydrotest.imports.note import Aim, Imported, Why, hidden, is_secret
from hydrotest.imports.yaml_lines import Lined
from hydrotest.spec.kafka_group import OWN_SETTINGS, SESSION_S, SESSION_S_MAX, SESSION_S_MIN

READERS, DRAIN = "readers", "drain"
MEMBERS_MAX = 16
"""Members of all groups together: each is a JVM, where that tool has a thread."""
FETCH_BYTES = 50 << 20
"""Kafka's default of `fetch.max.bytes`."""
BESIDE_FETCHES = 28 << 20
"""Of a member's heap: so much beside the answer that it works on and the next one; with Kafka's default the default of `heap`."""
ASSIGNORS = {
    "RangeAssignor": "range", "RoundRobinAssignor": "roundrobin", "StickyAssignor": "sticky", "CooperativeStickyAssignor": "cooperative-sticky",
}  # fmt: skip
REMOTE_ASSIGNORS = ("uniform", "range")


class Readers:
    """The groups of an experiment, and the readers of ours that check records."""

    def __init__(self, lined: Lined, out: Imported, produce: dict[str, Any], aim: Aim) -> None:
        self.lined = lined
        self.out = out
        self.produce = produce
        self.aim = aim
        self.given: dict[str, tuple[str, dict[str, Any]]] = {}
        """Settings of the driver's consumers, and where each stands."""
        self.group: dict[str, Any] = {"kind": "kafka-group", "reads": INGEST}
        self.drains: list[str] = []
        """Readers of ours."""
        self.subscriptions = lined.whole("subscriptionsPerTopic")
        self.consumers = lined.whole("consumerPerSubscription")

    @property
    def are_asked_for(self) -> bool:
        """True if anybody is to read."""
        return self.subscriptions > 0 and self.consumers > 0

    @property
    def has_groups(self) -> bool:
        """True if groups of Kafka's own consumer read. A search on a cluster that others use is of the producer alone."""
        return self.are_asked_for and not (self.aim.attach and not self.lined.number("producerRate", 0))

    @property
    def groups(self) -> int:
        """How many read everything."""
        return int(self.group.get("groups", 0))

    @property
    def session_s(self) -> float:
        """Time after which a silent member is out of its group."""
        return float(str(self.group.get("session", SESSION_S)).split()[0])

    def take(self, name: str, value: str, where: dict[str, Any]) -> None:
        """A setting of the driver's consumers; a later one of the same name counts."""
        self.given[name] = (value, where)

    def add_drain(self) -> str:
        """A reader of ours, that checks each record. Returns its name."""
        name = f"{DRAIN}{len(self.drains) + 1 if self.drains else ''}"
        self.drains.append(name)
        self.out.experiment["workloads"][name] = {"kind": "kafka-consume", "reads": INGEST} | (
            {"isolation": self.group["isolation"]} if "isolation" in self.group else {}
        )
        return name

    def settle(self, *, has_driver: bool) -> None:
        """Makes the workloads that read, when the driver is read, if there is one."""
        is_read = self.has_groups or bool(self.lined.number("producerRate", 0))
        if is_read and "isolation.level" in self.given and self._isolation(*self.given["isolation.level"]):
            del self.given["isolation.level"]
        if self.has_groups:
            self.out.experiment["workloads"][READERS] = self.group
            self._settings(has_driver=has_driver)
            self._members()
        else:
            self._nobody()

    def _isolation(self, value: str, where: dict[str, Any]) -> bool:
        if value in ("read_committed", "read_uncommitted"):
            self.group["isolation"] = value
            self.out.kept(f"isolation.level={value}", f"isolation: {value}", **where)
        return "isolation" in self.group

    def _nobody(self) -> None:
        why = Why.PRODUCER_ALONE if self.are_asked_for else Why.NO_READERS
        for name, (value, where) in self.given.items():
            self.out.left_out(f"{name}={hidden(name, value)}", Why.OF_THE_CLUSTER if is_access(name) else why, **where)
        for key, asked in (("subscriptionsPerTopic", self.subscriptions), ("consumerPerSubscription", self.consumers)):
            if key in self.lined.values and self.are_asked_for:
                self.out.left_out(f"{key}: {asked}", why, **self.lined.where(key))
            elif key in self.lined.values:
                self.out.kept(f"{key}: {asked}", "no reader", **self.lined.where(key))

    def _members(self) -> None:
        """How many groups and members there are. A group of that tool reads one topic; here each reads all of them."""
        topics, partitions = max(self.lined.whole("topics"), 1), max(self.lined.whole("partitionsPerTopic"), 1)
        groups = min(self.subscriptions, MEMBERS_MAX)
        asked = topics * self.consumers
        shared = min(asked, topics * partitions)
        members = min(shared, MEMBERS_MAX // groups)
        if members > partitions and self._is_by_topic:
            if "assignor" in self.group:
                members = shared = partitions
            else:
                self.group["assignor"] = "cooperative-sticky"
        self.group |= {"groups": groups, "members": members}
        said, where = f"subscriptionsPerTopic: {self.subscriptions}", self.lined.where("subscriptionsPerTopic")
        if groups < self.subscriptions:
            self.out.changed(said, f"{READERS}, groups: {groups}", Why.MEMBERS, **where)
        elif topics > 1:
            self.out.changed(said, f"{READERS}, groups: {groups}", Why.GROUP_OF_ALL, **where)
        else:
            self.out.kept(said, f"{READERS}, groups: {groups}", **where)
        said, where = f"consumerPerSubscription: {self.consumers}", self.lined.where("consumerPerSubscription")
        ours = f"members: {members}" + (
            f", assignor: {self.group['assignor']}" if members > partitions and "assignor" in self.group else ""
        )
        if members < shared:
            self.out.changed(said, ours, Why.MEMBERS, **where)
        elif members < asked:
            self.out.changed(said, ours, Why.IDLE, **where)
        else:
            self.out.kept(said, ours, **where)

    @property
    def _is_by_topic(self) -> bool:
        """True if members share the partitions of each topic, and not those of all together."""
        unless_given = "uniform" if self.group.get("protocol") == "consumer" else "range"
        return bool(self.group.get("assignor", unless_given) == "range")

    def _settings(self, *, has_driver: bool) -> None:
        if self._value("group.protocol").lower() == "consumer":
            self.group["protocol"] = "consumer"
        for name, (value, where) in self.given.items():
            ours = self._setting(name, value)
            if isinstance(ours, Why):
                self.out.left_out(f"{name}={hidden(name, value)}", ours, **where)
            else:
                self.out.kept(f"{name}={value}", ours, **where)
        if has_driver and "enable.auto.commit" not in self.given:
            self.out.kept("no enable.auto.commit", self._commits("false"))

    def _value(self, name: str) -> str:
        return self.given[name][0] if name in self.given else ""

    def _commits(self, value: str) -> str:
        """That tool's consumers commit after each poll, unless the driver lets Kafka's consumer do it."""
        self.group["commit"] = "auto" if value == "true" else "async"
        if value != "true":
            self.group["commit_every"] = "1 ms"
            return "commit: async, after each poll"
        return "commit: auto"

    def _setting(self, name: str, value: str) -> str | Why:
        """Takes a setting over; how it is written in the experiment, or why it is left out."""
        is_classic = self.group.get("protocol") != "consumer"
        match name:
            case "enable.auto.commit":
                return self._commits(value.lower())
            case "auto.commit.interval.ms" if value.isdecimal() and int(value) > 0:
                if self._value("enable.auto.commit").lower() != "true":
                    return Why.NOT_IN_FORCE
                self.group["commit_every"] = f"{value} ms"
                return f"commit_every: {value} ms"
            case "auto.offset.reset":
                # That tool waits until each consumer has got a record: it misses none either way.
                return "a group begins with the first record"
            case "group.protocol" if value.lower() in ("classic", "consumer"):
                return f"protocol: {value.lower()}"
            case "group.remote.assignor":
                return Why.NOT_IN_FORCE if is_classic else self._assignor(value if value in REMOTE_ASSIGNORS else None)
            case "partition.assignment.strategy":
                # The first one that all members know is taken; here all members are alike.
                first = value.split(",", maxsplit=1)[0].strip().rpartition(".")[2]
                return self._assignor(ASSIGNORS.get(first)) if is_classic else Why.NOT_IN_FORCE
            case "session.timeout.ms" if value.isdecimal():
                if not is_classic:
                    return Why.NOT_IN_FORCE
                if not SESSION_S_MIN <= int(value) / 1e3 <= SESSION_S_MAX:
                    return Why.SESSION
                self.group["session"] = f"{int(value) / 1e3:g} s"
                return f"session: {self.group['session']}"
            case _:
                return self._passed(name, value)

    def _assignor(self, ours: str | None) -> str | Why:
        if ours is None:
            return Why.NO_COUNTERPART
        self.group["assignor"] = ours
        return f"assignor: {ours}"

    def _passed(self, name: str, value: str) -> str | Why:
        """Settings of Kafka's consumer that hydrotest has no word for."""
        if is_access(name):
            return Why.OF_THE_CLUSTER
        if is_secret(name, value):
            return Why.SECRET
        if name in OWN_SETTINGS:
            return Why.SET_BY_US
        if "class" in name or name.endswith("reporters") or value.startswith(("org.", "com.", "io.")):
            return Why.CLIENT_SETTING  # a class of that tool's, which our members have not
        self.group.setdefault("config", {})[name] = value
        if name == "fetch.max.bytes" and value.isdecimal() and int(value) > FETCH_BYTES:
            self.group["heap"] = f"{(2 * int(value) + BESIDE_FETCHES) >> 20} MiB"
            return f"config: {{{name}: {value}}}, heap: {self.group['heap']}"
        return f"config: {{{name}: {value}}}"
