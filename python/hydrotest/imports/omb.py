"""OpenMessaging Benchmark: a workload's YAML, and a Kafka driver's. (`Workload.java`, `Config.java` of its Kafka driver.)"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.imports.note import Aim, Imported, Why, allow, system
from hydrotest.imports.yaml_lines import Lined, read_lined
from hydrotest.spec.kafka_produce import BATCH_BYTES_MAX, IDEMPOTENT_REQUESTS_MAX, KEPT_BY_US

CONNECTIONS_MAX = 16
"""Threads of a generator that share its schedule; each has a connection of its own to each broker."""
SUBSCRIPTIONS_MAX = 3
RECORD_OVERHEAD = 80
"""Bytes of a record beside its value, generously."""
KEYS = 10_000
"""OMB makes so many keys beforehand (`RandomGenerator`)."""
NUMBER_MAX = 1e12
SOAK_S_MIN = 60
INGEST, DRAIN = "ingest", "drain"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def import_omb(workload: Path, driver: Path | None, aim: Aim) -> Imported:
    """The experiment of a workload. Raises `BadInputError`."""
    lined = read_lined(workload, "workload")
    if "messageSize" not in lined.values and "producerRate" not in lined.values:
        raise BadInputError("this is no workload of OpenMessaging Benchmark: it has neither `messageSize` nor `producerRate`",
                            "Name a file of its folder `workloads`.", file=workload)  # fmt: skip
    name = re.sub(r"[^a-z0-9]+", "-", str(lined.values.get("name", workload.stem)).lower()).strip("-")[:40].strip("-")
    produce: dict[str, Any] = {"kind": "kafka-produce"}
    out = Imported("OpenMessaging Benchmark", {
        "name": name or "omb", "hosts": {"here": {"connect": "local"}}, "systems": dict(system("kafka", aim, "1 GiB")), "workloads": {INGEST: produce},
    })  # fmt: skip
    _Workload(lined, out, produce).read()
    if driver is not None:
        _Driver(read_lined(driver, "driver"), out, produce, aim).read()
    settle_idempotence(out, produce)
    settle_batches(out, produce)
    _tests(lined, out, aim)
    soak = out.experiment["tests"][0].get("soak", {"rates": {INGEST: 0}, "duration": "60 s"})
    partitions = produce.get("topics", 1) * produce.get("partitions", 1)
    allow(
        out, aim, soak["rates"][INGEST], record_bytes(produce), int(soak["duration"].split()[0]), produce.get("replication", 1), partitions
    )
    return out


def record_bytes(produce: dict[str, Any]) -> float:
    """Of a record with what is beside its value, generously."""
    return (int(str(produce.get("record_size", "100 B")).split()[0]) + RECORD_OVERHEAD) * 1.1


class _Workload:
    """Its keys, one by one."""

    def __init__(self, lined: Lined, out: Imported, produce: dict[str, Any]) -> None:
        self.lined = lined
        self.out = out
        self.produce = produce
        self.readers: dict[str, Callable[[Any, dict[str, Any]], None]] = {
            "name": self._name, "topics": self._topics, "partitionsPerTopic": self._partitions, "messageSize": self._size,
            "useRandomizedPayloads": self._randomised, "randomBytesRatio": self._ratio, "randomizedPayloadPoolSize": self._pool,
            "payloadFile": self._payload, "keyDistributor": self._keys, "producersPerTopic": self._producers,
            "subscriptionsPerTopic": self._subscriptions, "consumerPerSubscription": self._consumers,
        }  # fmt: skip
        self.later = {"producerRate", "testDurationMinutes", "warmupDurationMinutes", "consumerBacklogSizeGB", "backlogDrainRatio"}
        """`_tests` reads these."""

    def read(self) -> None:
        for key, value in self.lined.values.items():
            if key in self.readers:
                self.readers[key](value, self.lined.where(key))
            elif key not in self.later:
                self.out.left_out(
                    f"{key}: {_short(value)}", Why.REPORTING if key == "logHdrLatency" else Why.NO_COUNTERPART, **self.lined.where(key)
                )

    def _whole(self, key: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise BadInputError(f"{key} is {value!r}", "Write a whole number.", file=self.lined.file, line=self.lined.lines.get(key))
        return value

    def _name(self, value: Any, where: dict[str, Any]) -> None:
        self.out.kept(f"name: {_short(value)}", f"name: {self.out.experiment['name']}", **where)

    def _topics(self, value: Any, where: dict[str, Any]) -> None:
        if (topics := self._whole("topics", value)) > 1:
            self.produce["topics"] = topics
        self.out.kept(f"topics: {value}", f"topics: {topics}", **where)

    def _partitions(self, value: Any, where: dict[str, Any]) -> None:
        self.produce["partitions"] = self._whole("partitionsPerTopic", value)
        self.out.kept(f"partitionsPerTopic: {value}", f"partitions: {value}", **where)

    def _size(self, value: Any, where: dict[str, Any]) -> None:
        size = self._whole("messageSize", value)
        self.produce["record_size"] = f"{size} B"
        self.out.kept(f"messageSize: {value}", f"record_size: {size} B", **where)

    def _randomised(self, value: Any, where: dict[str, Any]) -> None:
        if value:
            share = 1 - (_number(self.lined, "randomBytesRatio", 1.0) or 0.0)
            self.produce["compressible"] = round(share, 6)
            self.out.kept(f"useRandomizedPayloads: {value}", f"compressible: {share:g}", **where)
        else:
            self.out.kept(f"useRandomizedPayloads: {value}", "compressible: 0", **where)

    def _ratio(self, value: Any, where: dict[str, Any]) -> None:
        self.out.kept(f"randomBytesRatio: {value}", f"compressible: {self.produce.get('compressible', 0)}", **where)

    def _pool(self, value: Any, where: dict[str, Any]) -> None:
        self.out.left_out(f"randomizedPayloadPoolSize: {value}", Why.CLIENT_SETTING, **where)

    def _payload(self, value: Any, where: dict[str, Any]) -> None:
        if value:
            self.out.left_out(f"payloadFile: {value}", Why.PAYLOAD, **where)

    def _keys(self, value: Any, where: dict[str, Any]) -> None:
        shapes = {"RANDOM_NANO": f"uniform(0, {KEYS})", "KEY_ROUND_ROBIN": f"sequential(0, {KEYS})"}
        if value in shapes:
            self.produce["key"] = shapes[value]
            self.out.changed(f"keyDistributor: {value}", f"key: {shapes[value]}", Why.KEYS, **where)
        elif value == "NO_KEY":
            self.out.kept(f"keyDistributor: {value}", "no key", **where)
        else:
            self.out.left_out(f"keyDistributor: {value}", Why.NO_COUNTERPART, **where)

    def _producers(self, value: Any, where: dict[str, Any]) -> None:
        asked = self._whole("producersPerTopic", value) * int(self.produce.get("topics", self.lined.values.get("topics", 1)))
        threads = max(1, min(asked, CONNECTIONS_MAX))
        if threads > 1:
            self.produce["threads"] = threads
        if threads == asked:
            self.out.kept(f"producersPerTopic: {value}", f"threads: {threads}", **where)
        else:
            self.out.changed(f"producersPerTopic: {value}", f"threads: {threads}", Why.CONNECTIONS, **where)

    def _subscriptions(self, value: Any, where: dict[str, Any]) -> None:
        asked = self._whole("subscriptionsPerTopic", value)
        readers = min(asked, SUBSCRIPTIONS_MAX)
        for number in range(readers):
            self.out.experiment["workloads"][f"{DRAIN}{number + 1 if number else ''}"] = {"kind": "kafka-consume", "reads": INGEST}
        if readers == asked:
            self.out.kept(f"subscriptionsPerTopic: {value}", f"{readers} kafka-consume", **where)
        else:
            self.out.changed(f"subscriptionsPerTopic: {value}", f"{readers} kafka-consume", Why.SUBSCRIPTIONS, **where)

    def _consumers(self, value: Any, where: dict[str, Any]) -> None:
        if self._whole("consumerPerSubscription", value) <= 1:
            self.out.kept(f"consumerPerSubscription: {value}", "one reader", **where)
        else:
            self.out.changed(f"consumerPerSubscription: {value}", "one reader", Why.READERS, **where)


def _number(lined: Lined, key: str, without: float | None) -> float | None:
    """A number, also where YAML makes a text of it (`1e6`). Raises `BadInputError`."""
    value = lined.values.get(key)
    if value is None:
        return without
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise BadInputError(f"{key} is {value!r}", "Write a number.", file=lined.file, line=lined.lines.get(key)) from error
    if not 0 <= number < NUMBER_MAX:
        raise BadInputError(f"{key} is {value!r}", "Write a number of at least 0.", file=lined.file, line=lined.lines.get(key))
    return int(number) if number.is_integer() else number


def _tests(lined: Lined, out: Imported, aim: Aim) -> None:
    """Rate, duration and backlog decide which tests there are."""
    given = lined.values
    drains = [name for name, one in out.experiment["workloads"].items() if one["kind"] == "kafka-consume"]
    rate, minutes = _number(lined, "producerRate", 0), _number(lined, "testDurationMinutes", None)
    tests: list[dict[str, Any]] = []
    if rate:
        seconds = max(SOAK_S_MIN, round(60 * float(minutes if minutes else 5)))
        tests.append({"soak": {"workloads": [INGEST, *drains], "rates": {INGEST: rate}, "duration": f"{seconds} s"}})
        out.kept(f"producerRate: {rate}", f"soak, rates: {{{INGEST}: {rate}}}", **lined.where("producerRate"))
    else:
        out.experiment["objectives"] = {INGEST: {"p99": aim.p99}}
        tests.append({"isolated": [INGEST]})
        out.changed(f"producerRate: {rate}", f"isolated: [{INGEST}], p99: {aim.p99}", Why.OBJECTIVE, **lined.where("producerRate"))
    if minutes is not None:
        out.kept(
            f"testDurationMinutes: {minutes}",
            "duration" if "soak" in tests[0] else "the search ends by itself",
            **lined.where("testDurationMinutes"),
        )
    if "warmupDurationMinutes" in given:
        out.changed(
            f"warmupDurationMinutes: {given['warmupDurationMinutes']}", "warm_up", Why.WARM_UP, **lined.where("warmupDurationMinutes")
        )
    backlog = given.get("consumerBacklogSizeGB")
    if backlog and drains and aim.attach:
        out.left_out(f"consumerBacklogSizeGB: {backlog}", Why.READER_ALONE, **lined.where("consumerBacklogSizeGB"))
    elif backlog and drains:
        tests.append({"isolated": [DRAIN]})
        out.changed(f"consumerBacklogSizeGB: {backlog}", f"isolated: [{DRAIN}]", Why.BACKLOG, **lined.where("consumerBacklogSizeGB"))
    elif backlog is not None:
        out.kept(f"consumerBacklogSizeGB: {backlog}", "no backlog", **lined.where("consumerBacklogSizeGB"))
    if "backlogDrainRatio" in given:
        out.left_out(f"backlogDrainRatio: {given['backlogDrainRatio']}", Why.DRAIN_RATIO, **lined.where("backlogDrainRatio"))
    out.experiment["tests"] = tests


_PAIR = re.compile(r"\s*(?P<key>[^\s=:]+)\s*[=:\s]\s*(?P<value>.*)")


def properties(text: Any) -> dict[str, str]:
    """Lines of a Java properties file (`java.util.Properties.load`), as OMB's drivers have them in a text: `=`, `:` or a blank behind the
    key, and a line goes on behind a backslash."""
    lines = re.sub(r"\\\n\s*", "", str(text or "")).splitlines()
    found = (_PAIR.fullmatch(line) for line in lines if line.strip() and line.lstrip()[0] not in "#!")
    return {match["key"]: match["value"].strip() for match in found if match is not None}


class _Driver:
    """A Kafka driver's settings."""

    def __init__(self, lined: Lined, out: Imported, produce: dict[str, Any], aim: Aim) -> None:
        self.lined = lined
        self.out = out
        self.produce = produce
        self.aim = aim

    def read(self) -> None:
        driver = str(self.lined.values.get("driverClass", ""))
        if driver and "Kafka" not in driver:
            raise BadInputError(f"{driver} is no Kafka driver", "Name a driver of Kafka's protocol.", file=self.lined.file,
                                line=self.lined.lines.get("driverClass"))  # fmt: skip
        for key, value in self.lined.values.items():
            where = self.lined.where(key)
            match key:
                case "name" | "driverClass":
                    self.out.left_out(f"{key}: {_short(value)}", Why.NAME_ONLY, **where)
                case "replicationFactor":
                    self._replication(int(_number(self.lined, "replicationFactor", 1) or 1), where)
                case "topicConfig":
                    self._topic(properties(value), where)
                case "commonConfig":
                    for name, one in properties(value).items():
                        self.out.left_out(f"{name}={hidden(name, one)}", Why.OF_THE_CLUSTER, **where)
                case "producerConfig":
                    self._producer(properties(value), where)
                case "consumerConfig":
                    self._consumer(properties(value), where)
                case "reset":
                    self.out.kept(f"reset: {value}", "topics are made for each trial, and deleted after it", **where)
                case _:
                    self.out.left_out(f"{key}: {hidden(key, value)}", Why.NO_COUNTERPART, **where)

    def _replication(self, asked: int, where: dict[str, Any]) -> None:
        if asked > 1 and not self.aim.attach:
            self.out.changed(f"replicationFactor: {asked}", "replication: 1", Why.ONE_BROKER, **where)
        else:
            self.produce["replication"] = asked
            self.out.kept(f"replicationFactor: {asked}", f"replication: {asked}", **where)

    def _topic(self, given: dict[str, str], where: dict[str, Any]) -> None:
        for name, value in given.items():
            said = f"{name}={value}"
            if name in KEPT_BY_US or "compact" in value:
                self.out.left_out(said, Why.TOPIC_SETTING, **where)
            elif name == "min.insync.replicas" and value.isdecimal() and int(value) > self.produce.get("replication", 1):
                self.out.left_out(said, Why.ONE_BROKER, **where)
            else:
                self.produce.setdefault("topic", {})[name] = value
                self.out.kept(said, f"topic: {{{name}: {value}}}", **where)

    def _producer(self, given: dict[str, str], where: dict[str, Any]) -> None:
        for name, value in given.items():
            ours = producer_setting(self.produce, name, value)
            if ours is None:
                self.out.left_out(f"{name}={hidden(name, value)}", Why.CLIENT_SETTING, **where)
            else:
                self.out.kept(f"{name}={value}", ours, **where)

    def _consumer(self, given: dict[str, str], where: dict[str, Any]) -> None:
        for name, value in given.items():
            if name == "isolation.level" and value in ("read_committed", "read_uncommitted"):
                for one in self.out.experiment["workloads"].values():
                    if one["kind"] == "kafka-consume":
                        one["isolation"] = value
                self.out.kept(f"{name}={value}", f"isolation: {value}", **where)
            else:
                why = (
                    Why.GROUPS if name.startswith(("enable.auto.commit", "auto.", "group", "session", "heartbeat")) else Why.CLIENT_SETTING
                )
                self.out.left_out(f"{name}={hidden(name, value)}", why, **where)


def producer_setting(produce: dict[str, Any], name: str, value: str) -> str | None:
    """Takes a setting of Kafka's producer over; how it is written in the experiment, or None without a counterpart."""
    if name == "acks" and value in ("all", "-1", "0", "1"):
        produce["acks"] = "all" if value == "-1" else int(value) if value != "all" else value
        return f"acks: {produce['acks']}"
    if name == "linger.ms" and value.isdecimal():
        produce["linger"] = f"{max(int(value), 0)} ms" if int(value) else "10 us"
        return f"linger: {produce['linger']}"
    if name == "batch.size" and value.isdecimal() and int(value) > 0:
        produce["batch_size"] = f"{value} B"
        return f"batch_size: {value} B"
    if name == "compression.type" and value in CODECS:
        produce["compression"] = value
        return f"compression: {value}"
    if name == "enable.idempotence" and value in ("true", "false"):
        produce["idempotent"] = value == "true"
        return f"idempotent: {value}"
    if name == "max.in.flight.requests.per.connection" and value.isdecimal() and int(value) > 0:
        produce["in_flight_requests"] = int(value)
        return f"in_flight_requests: {value}"
    return None


def settle_idempotence(out: Imported, produce: dict[str, Any]) -> None:
    """As Kafka's own producer does it: with more requests in flight than brokers remember, it is not idempotent."""
    if produce.get("in_flight_requests", 0) > IDEMPOTENT_REQUESTS_MAX and "idempotent" not in produce:
        produce["idempotent"] = False
        out.kept(
            f"max.in.flight.requests.per.connection={produce['in_flight_requests']}", "idempotent: false, as Kafka's own producer does it"
        )


def settle_batches(out: Imported, produce: dict[str, Any]) -> None:
    """Its topics take batches as large as the definition has them."""
    size = int(str(produce.get("batch_size", "0 B")).split()[0])
    if size > BATCH_BYTES_MAX and "max.message.bytes" not in produce.get("topic", {}):
        produce.setdefault("topic", {})["max.message.bytes"] = 2 * size
        out.kept(f"batch.size={size}", f"topic: {{max.message.bytes: {2 * size}}}: its topics take them")


_SECRET = re.compile(r"password|passwd|pwd|\bpw\b|jaas|secret|token|credential|private|keystore", re.IGNORECASE)


def hidden(name: str, value: Any) -> str:
    """Secrets are not copied."""
    return "…" if _SECRET.search(name) or _SECRET.search(str(value)) else _short(value)


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"
