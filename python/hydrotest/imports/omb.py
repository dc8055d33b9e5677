"""OpenMessaging Benchmark: a workload's YAML, with that of a Kafka driver. (`Workload.java` and `WorkloadGenerator.java`.)"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.imports.allowance import allow
from hydrotest.imports.kafka_settings import INGEST, settle_batches, settle_idempotence
from hydrotest.imports.note import Aim, Imported, Why, short, system
from hydrotest.imports.omb_driver import read_driver
from hydrotest.imports.omb_readers import Readers
from hydrotest.imports.omb_tests import LATER, make_tests
from hydrotest.imports.yaml_lines import Lined, read_lined
from hydrotest.spec.kafka_produce import PRODUCED_PARTITIONS_MAX, PRODUCERS_MAX

KEYS = 10_000
"""OMB makes so many keys beforehand (`RandomGenerator`)."""
_PLACEHOLDER = re.compile(r"\$\{[^}:]+:-([^}]*)\}")
"""Forks of the tool fill it in from the environment (`PlaceHolderUtils.java`)."""


def import_omb(workload: Path, driver: Path | None, aim: Aim) -> Imported:
    """The experiment of a workload. Raises `BadInputError`."""
    lined = read_lined(workload, "workload", _filled)
    if "messageSize" not in lined.values and "producerRate" not in lined.values:
        raise BadInputError("this is no workload of OpenMessaging Benchmark: it has neither `messageSize` nor `producerRate`",
                            "Name a file of its folder `workloads`.", file=workload)  # fmt: skip
    name = re.sub(r"[^a-z0-9]+", "-", str(lined.values.get("name", workload.stem)).lower()).strip("-")[:40].strip("-")
    produce: dict[str, Any] = {"kind": "kafka-produce"}
    out = Imported("OpenMessaging Benchmark", {
        "name": name or "omb", "hosts": {"here": {"connect": "local"}}, "systems": dict(system("kafka", aim, "1 GiB")), "workloads": {INGEST: produce},
    })  # fmt: skip
    out.files += [workload] if driver is None else [workload, driver]
    _Workload(lined, out, produce).read()
    readers = Readers(lined, out, produce, aim)
    if driver is not None:
        read_driver(read_lined(driver, "driver", _filled), out, produce, readers, aim)
    readers.settle(has_driver=driver is not None)
    settle_idempotence(out, produce)
    settle_batches(out, produce)
    make_tests(lined, out, readers, aim)
    out.notes.sort(key=lambda note: (note.line is None, note.file != workload.name, note.line or 0))
    allow(out, aim)
    return out


def _filled(text: str) -> str:
    """With what placeholders have by default."""
    return _PLACEHOLDER.sub(lambda found: found[1], text)


class _Workload:
    """Its keys about what is written, one by one."""

    def __init__(self, lined: Lined, out: Imported, produce: dict[str, Any]) -> None:
        self.lined = lined
        self.out = out
        self.produce = produce
        self.file = self._file()
        """That of the payload, where it is read and is here."""
        self.readers: dict[str, Callable[[Any, dict[str, Any]], None]] = {
            "name": self._name, "topics": self._topics, "partitionsPerTopic": self._partitions, "messageSize": self._size,
            "useRandomizedPayloads": self._randomised, "randomBytesRatio": self._ratio, "randomizedPayloadPoolSize": self._pool,
            "payloadFile": self._payload, "keyDistributor": self._keys, "producersPerTopic": self._producers,
        }  # fmt: skip

    def _file(self) -> Path | None:
        named = self.lined.values.get("payloadFile")
        if not isinstance(named, str) or not named or self.lined.flag("useRandomizedPayloads"):
            return None
        # That tool is called in the folder above that of its workloads.
        own = self.lined.file.resolve().parent
        folders = (Path(), own, own.parent)
        return next((folder / named for folder in folders if (folder / named).is_file()), None)

    def read(self) -> None:
        for key, value in self.lined.values.items():
            if value is None and key in LATER:
                self.out.kept(f"{key}: null", "as if it were not there", **self.lined.where(key))
            elif key in self.readers:
                self.readers[key](value, self.lined.where(key))
            elif key not in LATER:
                self.out.left_out(
                    f"{key}: {short(value)}", Why.REPORTING if key == "logHdrLatency" else Why.NO_COUNTERPART, **self.lined.where(key)
                )

    def _name(self, value: Any, where: dict[str, Any]) -> None:
        self.out.kept(f"name: {short(value)}", f"name: {self.out.experiment['name']}", **where)

    def _topics(self, value: Any, where: dict[str, Any]) -> None:
        if (topics := self.lined.whole("topics")) > 1:
            self.produce["topics"] = topics
        self.out.kept(f"topics: {value}", f"topics: {topics}", **where)

    def _partitions(self, value: Any, where: dict[str, Any]) -> None:
        self.produce["partitions"] = self.lined.whole("partitionsPerTopic")
        self.out.kept(f"partitionsPerTopic: {value}", f"partitions: {value}", **where)

    def _size(self, value: Any, where: dict[str, Any]) -> None:
        size = self.lined.whole("messageSize")
        if self.file is None:
            self.produce["record_size"] = f"{size} B"
            self.out.kept(f"messageSize: {value}", f"record_size: {size} B", **where)
        elif (there := self.file.stat().st_size) == size:
            self.out.kept(f"messageSize: {value}", "payload, whole", **where)
        else:
            self.out.changed(f"messageSize: {value}", f"payload, whole: {there} B", Why.PAYLOAD_SIZE, **where)

    def _randomised(self, value: Any, where: dict[str, Any]) -> None:
        if self.lined.flag("useRandomizedPayloads"):
            ratio = self.lined.number("randomBytesRatio", 1.0) or 0.0
            if ratio > 1:
                raise BadInputError(f"randomBytesRatio is {ratio:g}", "Write a share from 0 to 1.", file=self.lined.file,
                                    line=self.lined.line("randomBytesRatio"))  # fmt: skip
            share = 1 - ratio
            self.produce["compressible"] = round(share, 6)
            self.out.kept(f"useRandomizedPayloads: {value}", f"compressible: {share:g}", **where)
        else:
            self.out.kept(f"useRandomizedPayloads: {value}", "compressible: 0", **where)

    def _ratio(self, value: Any, where: dict[str, Any]) -> None:
        self.out.kept(f"randomBytesRatio: {value}", f"compressible: {self.produce.get('compressible', 0)}", **where)

    def _pool(self, value: Any, where: dict[str, Any]) -> None:
        self.out.left_out(f"randomizedPayloadPoolSize: {value}", Why.CLIENT_SETTING, **where)

    def _payload(self, value: Any, where: dict[str, Any]) -> None:
        if self.file is not None:
            self.produce["payload"] = {"file": str(self.file), "form": "whole", "stamp": "header"}
            self.out.changed(
                f"payloadFile: {value}", f"payload: {{file: {self.file}, form: whole, stamp: header}}", Why.STAMP_IN_HEADER, **where
            )
        elif value:
            why = Why.RANDOM_INSTEAD if self.lined.flag("useRandomizedPayloads") else Why.PAYLOAD_WHOLE
            self.out.left_out(f"payloadFile: {value}", why, **where)
        else:
            self.out.kept("payloadFile", "no file", **where)

    def _keys(self, value: Any, where: dict[str, Any]) -> None:
        shapes = {"RANDOM_NANO": f"uniform(0, {KEYS})", "KEY_ROUND_ROBIN": f"sequential(0, {KEYS})"}
        if str(value) in shapes:
            self.produce["key"] = shapes[str(value)]
            self.out.changed(f"keyDistributor: {value}", f"key: {shapes[str(value)]}", Why.KEYS, **where)
        elif value == "NO_KEY":
            self.out.kept(f"keyDistributor: {value}", "no key", **where)
        else:
            self.out.left_out(f"keyDistributor: {value}", Why.NO_COUNTERPART, **where)

    def _producers(self, value: Any, where: dict[str, Any]) -> None:
        topics = max(1, self.lined.whole("topics"))
        asked = max(1, self.lined.whole("producersPerTopic") * topics)
        producers = min(asked, PRODUCERS_MAX, max(1, PRODUCED_PARTITIONS_MAX // (topics * max(1, self.lined.whole("partitionsPerTopic")))))
        if producers > 1:
            self.produce["producers"] = producers
        if producers == asked:
            self.out.kept(f"producersPerTopic: {value}", f"producers: {producers}", **where)
        else:
            self.out.changed(f"producersPerTopic: {value}", f"producers: {producers}", Why.CONNECTIONS, **where)
