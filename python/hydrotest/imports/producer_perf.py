"""A command line of kafka-producer-perf-test (`ProducerPerformance`)."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.imports.allowance import allow
from hydrotest.imports.kafka_settings import INGEST, check_payload, producer_setting, settle_batches, settle_idempotence
from hydrotest.imports.note import Aim, Imported, Why, system, unlimited

DURATION_S = (10, 600)
"""Shortest and longest level that is made of a number of records."""
TRANSACTION_MS = 3_000
"""`ProducerPerformance.DEFAULT_TRANSACTION_DURATION_MS`."""
SECRET = ("--producer.config", "--command-config")


def words_of(text: str, tool: str) -> list[str]:
    """A command line's words. Raises `BadInputError` where quotation marks do not match."""
    try:
        return shlex.split(text.replace("\\\n", " "))
    except ValueError as error:
        raise BadInputError(
            f"the command line of {tool} cannot be read: {error}", "Put it into quotation marks of the other kind."
        ) from error


def import_producer_perf(text: str, aim: Aim) -> Imported:
    """The experiment of a command line. Raises `BadInputError`."""
    words = words_of(text, "kafka-producer-perf-test")
    while words and not words[0].startswith("-"):
        words.pop(0)
    if not words:
        raise BadInputError(
            "the command line of kafka-producer-perf-test has no option", "Write it, e.g. '--topic t --num-records 1000000 …'."
        )
    produce: dict[str, Any] = {"kind": "kafka-produce", "partitions": 6}
    out = Imported("kafka-producer-perf-test", {
        "name": "producer-perf", "hosts": {"here": {"connect": "local"}}, "systems": dict(system("kafka", aim, "1 GiB")), "workloads": {INGEST: produce},
    })  # fmt: skip
    given = _options(words)
    for name, values in given.items():
        _take(name, values, out, produce)
    _payload(given, out, produce)
    settle_idempotence(out, produce)
    settle_batches(out, produce)
    _tests(given, out, aim)
    check_payload(produce)
    allow(out, aim)
    return out


def _options(words: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    name = None
    for word in words:
        if word.startswith("--"):
            name, is_given, value = word.partition("=")
            found.setdefault(name, []).extend([value] if is_given else [])
        elif name is None:
            raise BadInputError(
                f"{word!r} is no option of kafka-producer-perf-test", "Write its command line, e.g. '--topic t --num-records 1000000 …'."
            )
        else:
            found[name].append(word)
    return found


def _take(name: str, values: list[str], out: Imported, produce: dict[str, Any]) -> None:
    said, value = f"{name} {' '.join(values)}".strip(), values[0] if values else ""
    match name:
        case "--record-size" if value.isdecimal():
            produce["record_size"] = f"{value} B"
            out.kept(said, f"record_size: {value} B")
        case "--producer-props" | "--command-property":
            for pair in values:
                key, _, setting = pair.partition("=")
                ours = producer_setting(produce, key, setting)
                if ours is not None:
                    out.kept(f"{name} {pair}", ours)
                elif key in ("bootstrap.servers", "client.id"):
                    out.left_out(f"{name} {key}=…", Why.OF_THE_CLUSTER)
                else:
                    out.left_out(f"{name} {key}=…", Why.CLIENT_SETTING)
        case "--topic" | "--bootstrap-server":
            out.left_out(said, Why.OF_THE_CLUSTER if name == "--bootstrap-server" else Why.NAME_ONLY)
        case "--payload-file" | "--payload-delimiter":
            pass  # `_payload` has both
        case "--payload-monotonic":
            out.left_out(said, Why.PAYLOAD_MONOTONIC)
        case "--producer.config" | "--command-config":
            out.left_out(name, Why.SECRET)
        case "--transactional-id":
            produce.setdefault("transactions", {"every": f"{TRANSACTION_MS} ms"})
            out.kept(name, "transactions")
        case "--transaction-duration-ms" if value.isdecimal():
            produce["transactions"] = {"every": f"{value} ms"}
            out.kept(said, f"transactions: {{every: {value} ms}}")
        case "--print-metrics" | "--reporting-interval":
            out.left_out(said, Why.REPORTING)
        case "--warmup-records":
            out.changed(said, "warm_up", Why.WARM_UP)
        case "--num-records" | "--throughput":
            pass  # `_tests` has both
        case _:
            out.left_out(said, Why.NO_COUNTERPART)


def _payload(given: dict[str, list[str]], out: Imported, produce: dict[str, Any]) -> None:
    """Values from a file, a line each; they are taken over where the file is here, so that they can be looked at."""
    delimiter = " ".join(given.get("--payload-delimiter", []))
    file = next(iter(given.get("--payload-file", ())), None)
    if file is not None and Path(file).is_file() and delimiter in ("", "\\n", "\n"):
        produce["payload"] = {"file": file, "stamp": "header"}
        out.changed(f"--payload-file {file}", f"payload: {{file: {file}, stamp: header}}", Why.IN_TURN)
    elif file is not None:
        out.left_out(f"--payload-file {file}", Why.PAYLOAD)
    if delimiter:
        (
            out.kept(f"--payload-delimiter {delimiter}", "form: lines")
            if "payload" in produce
            else out.left_out(f"--payload-delimiter {delimiter}", Why.PAYLOAD)
        )


def _tests(given: dict[str, list[str]], out: Imported, aim: Aim) -> None:
    throughput, records = (next(iter(given.get(name, ())), "") for name in ("--throughput", "--num-records"))
    try:
        rate, count = float(throughput or -1), float(records or 0)
    except ValueError as error:
        raise BadInputError(f"--throughput {throughput} --num-records {records}: {error}", "Write numbers.") from error
    if rate > 0:
        seconds = min(max(round(count / rate) if count else DURATION_S[0], DURATION_S[0]), DURATION_S[1])
        out.experiment["tests"] = [{"levels": {"workload": INGEST, "rates": [rate], "duration": f"{seconds} s"}}]
        out.kept(f"--throughput {throughput}", f"levels, rates: [{rate:g}]")
        if records:
            out.changed(f"--num-records {records}", f"duration: {seconds} s", Why.COUNT_AS_TIME)
    else:
        unlimited(out, aim, f"--throughput {throughput or -1}", INGEST, {"saturated": {"workload": INGEST}})
        if records:
            out.left_out(f"--num-records {records}", Why.COUNT_AS_TIME)
