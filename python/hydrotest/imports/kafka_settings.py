"""Settings of Kafka's own clients, as definitions of other tools have them."""

from __future__ import annotations

import re
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.imports.note import Imported
from hydrotest.spec.kafka_produce import BATCH_BYTES_MAX, IDEMPOTENT_REQUESTS_MAX
from hydrotest.spec.payload import Payload

INGEST = "ingest"
"""The workload that writes."""
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_ALONE = re.compile(r"\s*(?P<key>[^\s=:]+)\s*")
_PAIR = re.compile(r"\s*(?P<key>[^\s=:]+)\s*[=:\s]\s*(?P<value>.*)")


def properties(text: Any) -> dict[str, tuple[str, int]]:
    """Lines of a Java properties file (`java.util.Properties.load`), as OMB's drivers have them in a text, with the number of each from 0:
    `=`, `:` or a blank behind the key, and a line goes on behind a backslash. A key alone has an empty value."""
    found: dict[str, tuple[str, int]] = {}
    lines = iter(enumerate(str(text or "").splitlines()))
    for number, first in lines:
        line = first
        if not line.strip() or line.lstrip()[0] in "#!":
            continue
        # Two are one that is meant.
        while (len(line) - len(line.rstrip("\\"))) % 2:
            line = line[:-1] + next(lines, (0, ""))[1].lstrip()
        match = _PAIR.fullmatch(line) or _ALONE.fullmatch(line)
        if match is not None:
            found[match["key"]] = (match.groupdict().get("value", "").strip(), number)
    return found


def is_access(name: str) -> bool:
    """True for a setting that says where a cluster is, or who is let in."""
    return name == "bootstrap.servers" or name.startswith(("ssl.", "sasl.", "security."))


ONLY_PRODUCERS = frozenset({
    "acks", "batch.size", "linger.ms", "buffer.memory", "compression.type", "delivery.timeout.ms", "max.request.size", "max.block.ms", "retries",
    "key.serializer", "value.serializer", "partitioner.class", "enable.idempotence", "transactional.id", "transaction.timeout.ms",
    "max.in.flight.requests.per.connection",
})  # fmt: skip
"""Settings that Kafka's consumer has not (`ProducerConfig`, Kafka 4.3)."""


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


def check_payload(produce: dict[str, Any]) -> None:
    """Raises `BadInputError` where its payload cannot be used."""
    if "payload" in produce:
        try:
            Payload.model_validate(produce["payload"]).sizes  # noqa: B018
        except (OSError, ValueError) as error:
            raise BadInputError(f"the payload cannot be used: {error}", "Name a file with contents of records.") from error
