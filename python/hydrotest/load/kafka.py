"""Kafka workloads: topics and generator settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any, Literal, Protocol

from hydrotest.errors import OverdueError
from hydrotest.hosts.base import ASK, Host, ask
from hydrotest.hosts.cluster import Cluster
from hydrotest.hosts.deadlines import Patience
from hydrotest.load.native import NICE, Generator, shared
from hydrotest.spec.kafka_consume import CONSUMER_CONNECTIONS
from hydrotest.spec.kafka_produce import BATCH_BYTES_PER_RECORD, KafkaProduce
from hydrotest.spec.workload import SHARES_MAX

PARTITION_FETCH_BYTES = 1 << 20
"""Kafka's default for max.partition.fetch.bytes."""
PRODUCERS_PER_TRIAL = SHARES_MAX
"""Producer ids set aside for each trial at least, so that no two trials share one."""
IDS_MAX = 1 << 16
"""The ids start again after so many; a topic is written in one trial only."""
BATCHES_PER_PRODUCER = 2
"""That keep a producer without schedule busy: one is filled while another is on its way."""
VERIFY_S_MAX = 600.0
KILLED_S = 60.0
"""`EMPTY_WAIT` of rust/kafka/src/group_admin.rs."""
EACH_PARTITION_S = 0.04
"""Longer than what hydrotest-node waits for each of them (`wait_for` of rust/kafka/src/partitions.rs), twice."""


class Parted(Protocol):
    """Settings for making topics."""

    @property
    def partitions(self) -> int: ...

    @property
    def replication(self) -> int: ...


def topic_names(topic: str, topics: int) -> list[str]:
    """The names of a workload's topics, as generators have them (rust/kafka/src/topics.rs)."""
    return [topic] if topics == 1 else [f"{topic}-{number}" for number in range(topics)]


async def create_topics(
    host: Host, cluster: Cluster, topics: Sequence[str], workload: Parted, config: Mapping[str, str] | None = None
) -> tuple[dict[str, str | None], str | None]:
    """Makes topics that are alike and waits until they can be used. `config` are settings of the topics themselves. Returns
    the ids of those that were made by name, where brokers give one, and why not all of them can be used; None if all can."""
    question = {"query": "create_topics", "cluster": cluster.wire(), "topics": list(topics), "partitions": workload.partitions,
                "replication": workload.replication, "config": dict(config or {})}  # fmt: skip
    answer = await ask(host, "query", {"kafka": question}, _patience(len(topics) * workload.partitions))
    return answer["ids"], answer.get("refused")


def _patience(partitions: int) -> Patience:
    """Until brokers have made so many, or removed them."""
    return Patience.of(an_answer=ASK.seconds, each_partition=EACH_PARTITION_S * partitions)


async def records_in(host: Host, cluster: Cluster, topic: str) -> int:
    """The number of records written to a topic, including those that transactions add."""
    answer = await ask(host, "query", {"kafka": {"query": "ends", "cluster": cluster.wire(), "topic": topic}})
    return int(answer["records"])


async def delete_topics(host: Host, cluster: Cluster, topics: Mapping[str, str | None]) -> None:
    """Deletes topics of our own, by name and id: those with these ids, whatever else has their names."""
    named = [{"name": name, "id": identity} for name, identity in topics.items()]
    question = {"query": "delete_topics", "cluster": cluster.wire(), "topics": named}
    await ask(host, "query", {"kafka": question}, _patience(len(named)))


async def delete_group(host: Host, cluster: Cluster, group: str) -> None:
    """Removes a consumer group of our own, once it has no members. Raises `OverdueError` where some are left: those that were killed are in
    it until their session is over."""
    question = {"query": "delete_groups", "cluster": cluster.wire(), "groups": [group]}
    answer = await ask(host, "query", {"kafka": question}, Patience.of(an_answer=ASK.seconds, members_that_were_killed=KILLED_S))
    if answer["with_members"]:
        raise OverdueError(f"group {group}", "lose its members", KILLED_S, "those that were killed are in it until their session is over")


def saturating_in_flight(workload: KafkaProduce) -> int:
    """Records in flight that keep every partition's pipeline full.

    Full batches for each of the requests that a connection may have outstanding; and for each producer.
    """
    per_batch = max(1, int(workload.batch_size // (workload.record_bytes + BATCH_BYTES_PER_RECORD)))
    return max(workload.in_flight_requests * workload.partitions_in_all, BATCHES_PER_PRODUCER * workload.producers_each) * per_batch


def producers(name: str, workload: KafkaProduce, hosts: Sequence[Host], cluster: Cluster, topic: str, trial: int,
              load: dict[str, Any], retries: bool = False, payload: Callable[[Host], PurePath] | None = None) -> list[Generator]:  # fmt: skip
    """A producing generator on each host. `payload`: where the workload's payload is on a host.

    `load` is `LoadSettings` of rust/core/src/wire.rs without shares and priority.
    With `retries` they outlive a broker's absence.
    """
    settings = {
        "cluster": cluster.wire(), "topic": topic, "topics": workload.topics, "codec": workload.compression, "acks": workload.acks,
        "idempotent": workload.is_idempotent, "transactions": _transactions(workload), "batch_bytes": workload.batch_size, "linger_ms": workload.linger * 1e3,
        "requests_in_flight": workload.in_flight_requests, "retries": retries,
        "producers": workload.producers_each, "producer": first_id(workload, len(hosts), trial),
    }  # fmt: skip
    if workload.wakes == "answer":
        settings["each_answer"] = True
    return [
        Generator.of_share(name, workload, share, "produce", settings | {"records": _records(workload, payload and payload(share.host))})
        for share in shared(load, workload.threads_each, hosts)
    ]


def first_id(workload: KafkaProduce, generators: int, trial: int) -> int:
    """The first id of the producers of a trial; the others follow (rust/kafka/src/client.rs)."""
    own = generators * workload.threads_each * math.ceil(workload.producers_each / workload.threads_each)
    each = max(PRODUCERS_PER_TRIAL, own)
    return trial % (IDS_MAX // each) * each


def _transactions(workload: KafkaProduce) -> dict[str, float] | None:
    """`TransactionSettings` of rust/kafka/src/transaction.rs."""
    wanted = workload.transactions
    return None if wanted is None else {"every_ms": wanted.every * 1e3, "aborts": wanted.aborts}


def _records(workload: KafkaProduce, payload: PurePath | None) -> dict[str, Any]:
    """`RecordSettings` of rust/kafka/src/record.rs."""
    headers = workload.headers
    form = {} if payload is None or workload.payload is None else {
        "payload": {"path": str(payload), "form": workload.payload.form.replace("-", "_"),
                    "stamp_in_header": workload.payload.stamp == "header", "prefix": list(workload.payload.prefix)},
    }  # fmt: skip
    texts = {} if workload.key is None or workload.key.texts is None else {"key_texts": list(workload.key.texts)}
    return {**form, **texts, "size": workload.value_sizes.wire(), "compressible": workload.compressible,
            "key": None if workload.key is None else workload.key.wire(),
            "headers": headers.count if headers else 0, "header_bytes": headers.size if headers else 0,
            **({"levels": list(workload.levels.items())} if workload.levels else {})}  # fmt: skip


Reading = Literal["once", "repeat", "follow"]
"""How a topic is read.

Once: until the end that the topic had. Repeat: from the first record, repeatedly, until the time is
over. Follow: with the producers, until the time is over and all that they wrote is read.
"""


def consumers(name: str, hosts: Sequence[Host], cluster: Cluster, topic: str, seconds: float, reading: Reading,
              offered: float | None = None, retries: bool = False, is_even: bool = True,
              committed: bool = False, burst: int = 0, bytes_per_s: float | None = None, topics: int = 1,
              batch_bytes: int = 0) -> list[Generator]:  # fmt: skip
    """A consuming generator on each host; each reads a part of the partitions.

    When the topic is followed, `offered` is the rate at which it is written. `is_even`: records become
    readable evenly; `burst`: how many become readable at once. With `retries` they outlive a broker's
    absence; `committed`: they leave out records that no transaction has committed; `bytes_per_s`: they
    read no more than that, together; `topics`: how many there are (`topic_names`); `batch_bytes`: of the
    largest batch. A broker gives one that is larger than asked for of the first partition only.
    """
    settings = {"cluster": cluster.wire(), "topic": topic, "topics": topics, "seconds": seconds, "reading": reading,
                "partition_bytes": max(PARTITION_FETCH_BYTES, batch_bytes), "connections": CONSUMER_CONNECTIONS, "committed": committed, "retries": retries,
                "shares": len(hosts), "nice": NICE,
                **({} if bytes_per_s is None else {"bytes_per_s": bytes_per_s / len(hosts)})}  # fmt: skip
    make = partial(Generator, name, "kafka-consume", offered=offered, is_even=is_even, burst=burst, follows=reading == "follow")
    return [make(host, "consume", {**settings, "share": share}, share) for share, host in enumerate(hosts)]


def verifier(host: Host, cluster: Cluster, topic: str, committed: bool = False, level: str | None = None,
             bytes_per_s: float | None = None, topics: int = 1, batch_bytes: int = 0) -> Generator:  # fmt: skip
    """Reads a topic from its first record to its end and checks each; see `consumers`.

    `level`: the level of all its log records.
    """
    (reader,) = consumers(
        "verify", [host], cluster, topic, VERIFY_S_MAX, "once", committed=committed, bytes_per_s=bytes_per_s, topics=topics,
        batch_bytes=batch_bytes,
    )  # fmt: skip
    return reader if level is None else replace(reader, settings={**reader.settings, "level": level})
