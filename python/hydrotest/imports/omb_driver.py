"""A Kafka driver of OpenMessaging Benchmark. (`Config.java` and `KafkaBenchmarkDriver.java` of its Kafka driver.)"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.imports.kafka_settings import ONLY_PRODUCERS, is_access, producer_setting, properties
from hydrotest.imports.note import Aim, Imported, Why, hidden, short
from hydrotest.imports.omb_readers import Readers
from hydrotest.imports.yaml_lines import Lined
from hydrotest.spec.kafka_produce import KEPT_BY_US


def read_driver(lined: Lined, out: Imported, produce: dict[str, Any], readers: Readers, aim: Aim) -> None:
    """Takes its settings over. Raises `BadInputError`."""
    _Driver(lined, out, produce, readers, aim).read()


class _Driver:
    """A Kafka driver's settings."""

    def __init__(self, lined: Lined, out: Imported, produce: dict[str, Any], readers: Readers, aim: Aim) -> None:
        self.lined = lined
        self.out = out
        self.produce = produce
        self.readers = readers
        self.aim = aim

    def read(self) -> None:
        driver = str(self.lined.values.get("driverClass", ""))
        if driver and "Kafka" not in driver:
            raise BadInputError(f"{driver} is no Kafka driver", "Name a driver of Kafka's protocol.", file=self.lined.file,
                                line=self.lined.line("driverClass"))  # fmt: skip
        for key, value in self.lined.values.items():
            where = self.lined.where(key)
            match key:
                case "name" | "driverClass":
                    self.out.left_out(f"{key}: {short(value)}", Why.NAME_ONLY, **where)
                case "replicationFactor":
                    self._replication(int(self.lined.number("replicationFactor", 1) or 1), where)
                case "topicConfig":
                    self._topic(self._settings(key))
                case "commonConfig":
                    self._common(self._settings(key))
                case "producerConfig":
                    self._producer(self._settings(key))
                case "consumerConfig":
                    for name, one, there in self._settings(key):
                        self.readers.take(name, one, there)
                case "reset":
                    self.out.kept(f"reset: {value}", "topics are made for each trial, and deleted after it", **where)
                case _:
                    self.out.left_out(f"{key}: {hidden(key, value)}", Why.NO_COUNTERPART, **where)

    def _settings(self, key: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Name, value and place of each."""
        for name, (value, number) in properties(self.lined.values[key]).items():
            yield name, value, self.lined.inside(number, key)

    def _replication(self, asked: int, where: dict[str, Any]) -> None:
        if asked > 1 and not self.aim.attach:
            self.out.changed(f"replicationFactor: {asked}", "replication: 1", Why.ONE_BROKER, **where)
        else:
            self.produce["replication"] = asked
            self.out.kept(f"replicationFactor: {asked}", f"replication: {asked}", **where)

    def _topic(self, given: Iterable[tuple[str, str, dict[str, Any]]]) -> None:
        for name, value, where in given:
            said = f"{name}={value}"
            if name in KEPT_BY_US or "compact" in value:
                self.out.left_out(said, Why.TOPIC_SETTING, **where)
            elif name == "min.insync.replicas" and value.isdecimal() and int(value) > self.produce.get("replication", 1):
                self.out.left_out(said, Why.ONE_BROKER, **where)
            else:
                self.produce.setdefault("topic", {})[name] = value
                self.out.kept(said, f"topic: {{{name}: {value}}}", **where)

    def _producer(self, given: Iterable[tuple[str, str, dict[str, Any]]]) -> None:
        for name, value, where in given:
            ours = producer_setting(self.produce, name, value)
            if ours is None:
                self.out.left_out(f"{name}={hidden(name, value)}", Why.CLIENT_SETTING, **where)
            else:
                self.out.kept(f"{name}={value}", ours, **where)

    def _common(self, given: Iterable[tuple[str, str, dict[str, Any]]]) -> None:
        """Settings of producers and consumers alike."""
        for name, value, where in given:
            ours = producer_setting(self.produce, name, value)
            if is_access(name):
                self.out.left_out(f"{name}={hidden(name, value)}", Why.OF_THE_CLUSTER, **where)
            elif ours is not None:
                self.out.kept(f"{name}={value}", ours, **where)
            elif name in ONLY_PRODUCERS:
                self.out.left_out(f"{name}={hidden(name, value)}", Why.CLIENT_SETTING, **where)
            else:
                self.readers.take(name, value, where)
