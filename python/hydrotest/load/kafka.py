"""Kafka workloads: topics and generator settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hydrotest.hosts.base import Host, ask
from hydrotest.load.native import NICE, Generator
from hydrotest.spec.models import KafkaProduce

REQUESTS_IN_FLIGHT = 5
"""Kafka's default for max.in.flight.requests.per.connection."""
PARTITION_FETCH_BYTES = 1 << 20
"""Kafka's default for max.partition.fetch.bytes."""
CONSUMER_CONNECTIONS = 2
"""One answer is checked while the other is on its way."""
PRODUCERS_PER_TRIAL = 64
"""Producer ids set aside for each trial, so that no two trials share one."""
RECORD_OVERHEAD_BYTES = 10
"""What the batch format adds to a small record."""
VERIFY_S_MAX = 600.0


async def create_topic(
    host: Host, endpoints: Sequence[str], topic: str, workload: KafkaProduce, config: Mapping[str, str] | None = None
) -> None:
    """Makes a topic and waits until it can be used. `config` are settings of the topic itself."""
    question = {"ask": "create_topic", "bootstrap": list(endpoints), "topic": topic, "partitions": workload.partitions,
                "replication": workload.replication, "config": dict(config or {})}  # fmt: skip
    await ask(host, "ask", {"kafka": question})


async def delete_topic(host: Host, endpoints: Sequence[str], topic: str) -> None:
    """Deletes a topic of our own."""
    await ask(host, "ask", {"kafka": {"ask": "delete_topic", "bootstrap": list(endpoints), "topic": topic}})


def saturating_in_flight(workload: KafkaProduce) -> int:
    """Records in flight that keep every partition's pipeline full: full batches for each of the
    requests that a connection may have out."""
    per_batch = max(1, workload.batch_size // (workload.record_size + RECORD_OVERHEAD_BYTES))
    return REQUESTS_IN_FLIGHT * workload.partitions * per_batch


def producer(name: str, workload: KafkaProduce, host: Host, endpoints: Sequence[str], topic: str, trial: int,
             pressure: dict[str, Any], retries: bool = False) -> Generator:  # fmt: skip
    """A producing generator. `pressure` is `Pressure` of rust/core/src/wire.rs without threads and priority. With `retries` it
    outlives a broker's absence."""
    settings = {
        "bootstrap": list(endpoints), "topic": topic, "record_bytes": workload.record_size, "acks": workload.acks,
        "batch_bytes": workload.batch_size, "linger_ms": workload.linger * 1e3, "requests_in_flight": REQUESTS_IN_FLIGHT, "retries": retries,
        "producer": trial * PRODUCERS_PER_TRIAL, "pressure": {**pressure, "threads": workload.threads, "nice": NICE},
    }  # fmt: skip
    load = pressure["load"]
    return Generator(name, workload.kind, host, "produce", settings,
                     offered=load.get("open", {}).get("rate_per_s"), in_flight=load.get("closed", {}).get("in_flight"))  # fmt: skip


Reading = Literal["once", "repeat", "follow"]
"""Once: until the end that the topic had. Repeat: again from the first record until the time is over. Follow: with the
producers, until the time is over and all that they wrote is read."""


def consumer(name: str, host: Host, endpoints: Sequence[str], topic: str, seconds: float, reading: Reading,
             offered: float | None = None, retries: bool = False) -> Generator:  # fmt: skip
    """A consuming generator. `offered` is the rate at which the topic is written, when it is followed. With `retries` it
    outlives a broker's absence."""
    settings = {"bootstrap": list(endpoints), "topic": topic, "seconds": seconds, "reading": reading,
                "partition_bytes": PARTITION_FETCH_BYTES, "connections": CONSUMER_CONNECTIONS, "retries": retries, "nice": NICE}  # fmt: skip
    return Generator(name, "kafka-consume", host, "consume", settings, offered=offered)


def verifier(host: Host, endpoints: Sequence[str], topic: str) -> Generator:
    """Reads a topic from its first record to its end and checks every one."""
    return consumer("verify", host, endpoints, topic, VERIFY_S_MAX, "once")
