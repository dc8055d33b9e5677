"""What writes records to Kafka, in the experiment file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from hydrotest.spec.base import Model
from hydrotest.spec.checker import Checker
from hydrotest.spec.distribution import Distribution, KeysField, SizesField
from hydrotest.spec.fields import Count, DurationS, Name, PropertyValue, Share, SizeBytes
from hydrotest.spec.kafka import Kafka
from hydrotest.spec.lines import Path_
from hydrotest.spec.payload import STAMP_HEADER_BYTES, Payload
from hydrotest.spec.step import OVERHEAD_S
from hydrotest.spec.workload import Refusal, Scheduled

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

KEY_BYTES = 8
"""Size of a record's key."""
RECORD_BYTES_MIN = 10
"""What accounts for a record: checksum, producer, sequence; from 24 bytes on also its intended time."""
RECORD_BYTES_MAX = 100_000_000
"""Brokers take no larger request: the default of `socket.request.max.bytes` is 100 MiB."""
BATCH_OVERHEAD = 0.01
"""What a batch of one record that does not compress adds to it at most, as a share of what brokers take: its head, and the codec's own."""
BATCH_BYTES_MAX = 1_048_588
"""Kafka's default for message.max.bytes."""
LEVEL_LETTERS_MAX = 8
HEADERS_BESIDE_STAMP_MAX = 62
"""With one more, their number takes one byte (rust/kafka/src/record.rs)."""
DELETED_AFTER_S = 60.0
"""Brokers delete the segments of a deleted topic so long after it: the default of `file.delete.delay.ms`."""
BATCH_BYTES_PER_RECORD = 10
"""What the format of batches adds to a small record."""
LOG_RECORD_BYTES_MIN = 32
"""What accounts for a record, and its level."""


def _acks(value: object) -> object:
    known = {"all": -1, -1: -1, "-1": -1, 1: 1, "1": 1, 0: 0, "0": 0}
    if not isinstance(value, (str, int)) or value not in known:
        raise ValueError(f"{value!r} is not known; write all, 1 or 0")
    return known[value]


Acks = Annotated[Literal[-1, 0, 1], BeforeValidator(_acks), WithJsonSchema({"enum": ["all", 1, 0, -1, "1", "0", "-1"]})]
"""Acknowledgements of a producer, as the protocol has them; `all` is -1."""


Weight = Annotated[float, Field(ge=0)]

TOPICS_MAX = 10_000
PARTITIONS_MAX = 100_000
"""Of all topics of a workload."""
REQUESTS_MAX = 1_000
PRODUCERS_MAX = 1_000
"""Of a generator."""
PRODUCERS_PER_THREAD = 100
PRODUCED_PARTITIONS_MAX = 1_000_000
"""Partitions of all producers of a generator: each has batches and an account of its own for each."""
IDEMPOTENT_REQUESTS_MAX = 5
"""Brokers remember the last five batches of a producer (`ProducerStateEntry.NUM_BATCHES_TO_RETAIN`)."""
KEPT_BY_US = frozenset({"retention.ms", "retention.bytes", "segment.bytes", "segment.ms", "local.retention.ms", "local.retention.bytes"})
"""Settings of a topic that decide how long its records stay."""


class Headers(Model):
    """Headers of each record."""

    count: Count = Field(description="Number of headers.")
    size: SizeBytes = Field(description="Size of each header's value.")


class Transactions(Model):
    """Records become readable together, when their transaction is committed; their operations end then, too."""

    every: DurationS = Field(0.1, description="Age at which a transaction is ended.")
    aborts: Share = Field(0.0, description="Share of the transactions that are aborted on purpose; their records are not acknowledged.")


class KafkaProduce(Scheduled):
    """Writes records into a topic."""

    kind: Literal["kafka-produce"]
    topics: Count = Field(
        1, le=TOPICS_MAX, description="Topics that are alike. Records without a key go to all of them in rotation, others by their key."
    )
    partitions: Count = Field(6, le=100_000, description="Partitions of each topic.")
    replication: Count = Field(1, description="Replicas of each partition.")
    topic: dict[str, PropertyValue] = Field(
        default_factory=dict, description="Settings of the topics, passed through, e.g. {min.insync.replicas: 2, flush.messages: 1}."
    )
    record_size: SizesField = Field(
        Distribution(shape="uniform", low=100, high=101),
        description="Size of a record's value: 100 B, a distribution, {weights: {100 B: 8, 1 KB: 2}}, or the distribution in a file with a size "
        "in bytes on each line: {file: sizes.txt}.",
    )
    payload: Payload | None = Field(None, description="Values from a file, instead of random bytes of `record_size`.")
    compressible: Share = Field(
        0.0, description="Share of each value that consists of zeros, which compress well; the rest does not compress."
    )
    key: KeysField | None = Field(
        None,
        description="Numbers of the records' keys, or {file: keys.txt} with a key on each line, which are used as often as they are there. "
        "Records with the same key are in the same partition. Without keys, batches go to the partitions in rotation.",
    )
    headers: Headers | None = Field(None, description="Headers of each record.")
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = Field("none", description="Codec of the batches.")
    acks: Acks = Field(
        -1, description="Which brokers store a record before it counts as sent. Without acknowledgements, losses are not detected."
    )
    idempotent: bool | None = Field(
        None,
        description="The broker stores each batch once, even if it is sent again. If not given: true with `acks: all`, as in "
        "Kafka's own producer.",
    )
    transactions: Transactions | None = Field(None, description="Puts the records into transactions.")
    batch_size: SizeBytes = Field(16 * 1024, description="A batch is sent when it is this large …")
    linger: DurationS = Field(0.005, description="… or this old. Kafka 4's defaults: 16 KiB, 5 ms.")
    in_flight_requests: Count = Field(
        5,
        le=REQUESTS_MAX,
        description="Unanswered requests of a connection (`max.in.flight.requests.per.connection`); at most 5 with `idempotent`.",
    )
    levels: dict[Name, Weight] = Field(
        default_factory=dict,
        description="Makes them log records, which a dataflow reads. Each has a level, by these weights, e.g. {info: 8, warning: "
        "1, error: 1}. The level is in capitals, padded to 8 B, after the 24 B that account for the record.",
    )
    threads: Count | None = Field(
        None, description="Threads of each generator, sharing one schedule. If not given, one for each hundred `producers`."
    )
    producers: Count | None = Field(
        None,
        le=PRODUCERS_MAX,
        description="Producers of each generator, which take records in rotation: each has its own identity, batches and connection to each broker, "
        "as so many applications have. If not given, one for each thread.",
    )

    @property
    def producers_each(self) -> int:
        """Producers of each generator."""
        return self.threads_each if self.producers is None else self.producers

    @property
    def threads_each(self) -> int:
        """Threads of each generator. One looks after all its connections in turn, so that with more its rounds take longer."""
        return self.threads or math.ceil((self.producers or 1) / PRODUCERS_PER_THREAD)

    @property
    def value_sizes(self) -> Distribution:
        """Sizes of the values: as given, or those of the payload's contents."""
        if self.payload is None:
            return self.record_size
        try:
            return self.payload.sizes
        except (OSError, ValueError):  # `check_files` has refused it, but for a run that is over
            return self.record_size

    @property
    def partitions_in_all(self) -> int:
        """Of all its topics."""
        return self.topics * self.partitions

    @property
    def topic_config(self) -> dict[str, str]:
        """Settings of its topics as the protocol has them."""
        return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in self.topic.items()}

    @property
    def is_idempotent(self) -> bool:
        """As given, or as Kafka's own producer would be."""
        return self.acks == -1 if self.idempotent is None else self.idempotent

    @property
    def beside_value_bytes(self) -> int:
        """Key and headers of a record; of its keys the largest."""
        return self.headers_bytes + max((size for size, _ in self.key_sizes), default=0)

    @property
    def headers_bytes(self) -> int:
        """The values of a record's headers, and what accounts for it where that is in one."""
        given = 0 if self.headers is None else self.headers.count * self.headers.size
        return given + (STAMP_HEADER_BYTES if self.has_stamp_in_header else 0)

    @property
    def has_stamp_in_header(self) -> bool:
        """Its values are those of the payload's file, and nothing of ours."""
        return self.payload is not None and self.payload.stamp == "header"

    @property
    def key_sizes(self) -> list[tuple[int, float]]:
        """Sizes of the keys, with their weights; none without keys."""
        if self.key is None:
            return []
        if self.key.texts is None or self.key.weights is None:
            return [(KEY_BYTES, 1.0)]
        return [(len(text.encode()), weight) for text, (_, weight) in zip(self.key.texts, self.key.weights, strict=True)]

    @property
    def record_bytes(self) -> float:
        """Key, value and headers of a record, on average."""
        keys = sum(size * weight for size, weight in self.key_sizes) / (sum(weight for _, weight in self.key_sizes) or 1.0)
        return self.value_sizes.middle + self.headers_bytes + keys

    @property
    def copies(self) -> int:
        return self.replication

    @property
    def connections_per_node(self) -> int:
        return self.producers_each

    @property
    def operation_bytes(self) -> float:
        return self.record_bytes

    def disk_bytes(self, experiment: Experiment, rate_per_s: float, seconds: float, trials: int) -> int:
        # A topic is deleted after its trial, its segments some time later.
        at_once = min(trials, 1 + math.ceil(DELETED_AFTER_S / (seconds + OVERHEAD_S)))
        return round(rate_per_s * (self.record_bytes + BATCH_BYTES_PER_RECORD) * seconds * self.replication * at_once)

    is_squeezable: ClassVar[bool] = True
    needs_reader: ClassVar[bool] = True

    @property
    def thread_count(self) -> int:
        return self.threads_each

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        super().check(name, experiment, checker)
        place: Path_ = ("workloads", name)
        kafka = experiment.systems.of(Kafka)
        if kafka is None:
            raise checker.fail(place, f"{name} needs the system kafka", "Add it under `systems`.")
        if self.replication > len(kafka.hosts) and not kafka.is_attached:
            raise checker.fail(
                (*place, "replication"),
                f"replication {self.replication} needs as many brokers; there are {len(kafka.hosts)}",
                "Lower `replication`, or add hosts to kafka.",
            )
        if kafka.most is not None and self.partitions_in_all > kafka.most.partitions:
            raise checker.fail((*place, "partitions"), f"{self.partitions_in_all} partitions are more than `most` allows: {kafka.most.partitions}",
                               "Take fewer, or raise `most.partitions`.")  # fmt: skip
        self._check_producers(place, checker)
        self._check_topics(place, checker)
        self._check_payload(place, checker)
        self._check_records(kafka, place, checker)

    @property
    def digests(self) -> dict[str, str]:
        own = {"payload": self.payload, "record_size": self.record_size, "key": self.key}
        return {key: one.digest for key, one in own.items() if one is not None and one.digest is not None}

    def check_files(self, name: str, checker: Checker) -> None:
        self.check_listed(("workloads", name, "record_size"), self.record_size, checker)
        self.check_listed(("workloads", name, "key"), self.key, checker)
        if self.payload is not None:
            try:
                self.payload.sizes  # noqa: B018
            except (OSError, ValueError) as error:
                raise checker.fail(("workloads", name, "payload", "file"), f"the payload cannot be used: {error}",
                                   "Name a file with contents of records.") from error  # fmt: skip

    def _check_payload(self, place: Path_, checker: Checker) -> None:
        if self.payload is None:
            return
        if self.payload.registry is not None and self.payload.stamp == "value":
            raise checker.fail(
                (*place, "payload", "registry"),
                "behind the 24 B that account for a record nobody looks for a schema registry's header",
                "Write `stamp: header`, too.",
            )
        if self.has_stamp_in_header and self.headers is not None and self.headers.count > HEADERS_BESIDE_STAMP_MAX:
            raise checker.fail((*place, "headers"), f"{self.headers.count} headers are too many beside the one that accounts for a record",
                               f"Take at most {HEADERS_BESIDE_STAMP_MAX}.")  # fmt: skip
        for key in ("record_size", "compressible", "levels"):
            if key in self.model_fields_set:
                raise checker.fail(
                    (*place, key), f"`payload` and `{key}` exclude each other: values are what the file holds", "Leave one of them out."
                )

    def _check_producers(self, place: Path_, checker: Checker) -> None:
        if self.producers_each < self.threads_each:
            raise checker.fail((*place, "producers"), f"{self.producers} producers are too few for {self.threads} threads: some would have none",
                               "Take more, or fewer threads.")  # fmt: skip
        if self.producers_each * self.partitions_in_all > PRODUCED_PARTITIONS_MAX:
            raise checker.fail((*place, "producers"), f"{self.producers_each:,} producers of {self.partitions_in_all:,} partitions each are more than "
                               f"{PRODUCED_PARTITIONS_MAX:,} partitions in a generator", "Take fewer of either.")  # fmt: skip

    def _check_topics(self, place: Path_, checker: Checker) -> None:
        """Checks what would make the account of the records false, or the topics useless."""
        if self.partitions_in_all > PARTITIONS_MAX:
            raise checker.fail((*place, "topics"), f"{self.topics:,} topics of {self.partitions:,} partitions are more than {PARTITIONS_MAX:,} partitions",
                               "Take fewer of either.")  # fmt: skip
        if self.topics > 1 and self.levels:
            raise checker.fail((*place, "topics"), "a dataflow reads one topic, and `levels` are for it", "Leave `topics` or `levels` out.")
        for key, value in self.topic_config.items():
            if key == "cleanup.policy" and "compact" in value:
                raise checker.fail(
                    (*place, "topic", key), "a compacted topic removes records, and they would count as lost", "Leave it out."
                )
            if key in KEPT_BY_US:
                raise checker.fail(
                    (*place, "topic", key), f"hydrotest sets {key} itself, so that nothing is removed before it is read", "Leave it out."
                )
            if key == "min.insync.replicas" and value.isdecimal() and int(value) > self.replication:
                raise checker.fail(
                    (*place, "topic", key), f"{value} replicas in sync are more than there are: {self.replication}", "Raise `replication`."
                )

    def check_stock(self, name: str, experiment: Experiment, place: Path_, checker: Checker) -> None:
        super().check_stock(name, experiment, place, checker)
        shaped = [key for key in ("key", "headers", "transactions") if getattr(self, key) is not None]
        shaped += ["record_size"] if self.record_size.size > 1 else []
        shaped += ["compressible"] if self.compressible > 0 else []
        shaped += ["levels"] if self.levels else []
        shaped += ["topics"] if self.topics > 1 else []
        shaped += ["producers"] if (self.producers or 1) > 1 else []
        shaped += ["payload"] if self.payload is not None else []
        if shaped:
            what = "sizes of record" if shaped[0] == "record_size" else shaped[0]
            raise checker.fail(place, f"{name}: ProducerPerformance has no {what}", "Leave it out, or `client: stock`.")

    def stock_refusal(self, test: str) -> Refusal | None:
        if test != "concurrency":
            return None
        return "ProducerPerformance takes no number in flight", "Use `levels` or `saturated`, or `client: native`."

    def _check_records(self, kafka: Kafka, place: Path_, checker: Checker) -> None:
        if self.value_sizes.low < RECORD_BYTES_MIN and not self.has_stamp_in_header:
            raise checker.fail((*place, "record_size"), f"records of {self.value_sizes.low} B are too small to account for",
                               f"Take at least {RECORD_BYTES_MIN} B.")  # fmt: skip
        if self.levels:
            self._check_levels(place, checker)
        if not (given := self.topic_config.get("max.message.bytes", "1")).isdecimal():
            raise checker.fail((*place, "topic", "max.message.bytes"), f"{given!r} is no number of bytes", "Write it without a unit.")
        taken = self._taken_bytes(kafka)
        if self.largest_record_bytes > taken:
            more = "raise" if "max.message.bytes" in self.topic_config else "set"
            remedy = "." if taken == RECORD_BYTES_MAX else f", or {more} max.message.bytes under `topic`."
            raise checker.fail((*place, "payload" if self.payload else "record_size"), f"records of {self.largest_record_bytes:,} B, with key and headers, "
                               "are larger than brokers take", f"Take at most {taken:,} B{remedy}")  # fmt: skip
        of_topic, of_broker = self.topic_config.get("max.message.bytes", ""), "message.max.bytes" in kafka.config
        if of_topic.isdecimal() and self.batch_size > int(of_topic):
            raise checker.fail((*place, "batch_size"), f"batches of {self.batch_size:,} B are larger than max.message.bytes of the topic",
                               "Take smaller ones, or raise it.")  # fmt: skip
        if self.batch_size > BATCH_BYTES_MAX and not of_topic and not of_broker:
            raise checker.fail((*place, "batch_size"), f"batches of {self.batch_size:,} B are larger than brokers accept by default",
                               f"Take at most {BATCH_BYTES_MAX:,} B, or set max.message.bytes under `topic`.")  # fmt: skip
        if self.is_idempotent and self.acks != -1:
            raise checker.fail(
                (*place, "idempotent"), "an idempotent producer needs the acknowledgement of all replicas", "Write `acks: all`."
            )
        if self.is_idempotent and self.in_flight_requests > IDEMPOTENT_REQUESTS_MAX:
            raise checker.fail((*place, "in_flight_requests"), f"an idempotent producer has at most {IDEMPOTENT_REQUESTS_MAX} requests in flight",
                               "Take fewer, or write `idempotent: false`.")  # fmt: skip
        if self.transactions is not None and not self.is_idempotent:
            raise checker.fail((*place, "transactions"), "a transactional producer is idempotent too",
                               "Write `acks: all`, and leave `idempotent` out.")  # fmt: skip

    @property
    def largest_record_bytes(self) -> int:
        """With key and headers."""
        return self.value_sizes.high - 1 + self.beside_value_bytes

    @property
    def largest_batch_bytes(self) -> int:
        """A record that is larger than `batch_size` is sent in a batch of its own."""
        return max(self.batch_size, math.ceil(self.largest_record_bytes * (1 + 2 * BATCH_OVERHEAD)))

    def _taken_bytes(self, kafka: Kafka) -> int:
        """Of the largest record that brokers take."""
        given = str(self.topic_config.get("max.message.bytes", kafka.config.get("message.max.bytes", BATCH_BYTES_MAX)))
        # What is no number, brokers refuse themselves.
        batch = int(given) if given.isdecimal() else BATCH_BYTES_MAX
        return min(RECORD_BYTES_MAX, math.floor(batch * (1 - BATCH_OVERHEAD)))

    def _check_levels(self, place: Path_, checker: Checker) -> None:
        if self.record_size.low < LOG_RECORD_BYTES_MIN:
            raise checker.fail((*place, "record_size"), f"log records of {self.record_size.low} B are too small for their level",
                               f"Take at least {LOG_RECORD_BYTES_MIN} B.")  # fmt: skip
        long = [level for level in self.levels if len(level) > LEVEL_LETTERS_MAX]
        if long:
            raise checker.fail((*place, "levels", long[0]), f"a level has at most {LEVEL_LETTERS_MAX} letters", "Take a shorter name.")
        if not any(self.levels.values()):
            raise checker.fail((*place, "levels"), "no level has a weight above 0", "Give one a weight.")
