"""What presses on the systems, as frozen models. What a field means stands in its description."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from hydrotest.spec.arrivals import Arrivals, ArrivalsField
from hydrotest.spec.base import Client, Model
from hydrotest.spec.distribution import Distribution, KeysField, MakerField, SizesField
from hydrotest.spec.fields import Count, DurationS, Name, NamesField, Share, SizeBytes, TextsField

KEY_BYTES = 8
"""Size of a record's key."""


class Workload(Model):
    """What every workload has."""

    on: NamesField = Field(default_factory=list, description="Host or hosts that run the client; the first host if not given.")


class RatedWorkload(Workload):
    """One that is pressed at a rate, or with a number in flight."""

    generators: Count | None = Field(
        None,
        description="Generator processes, on the hosts of `on` in turn; together they keep one schedule; without one each has its own number in flight. "
        "One for each host if not given.",
    )
    client: Client = Field(
        "native",
        description="`native`: hydrotest's generator; `stock`: the system's own tool; `driver`: an application's driver (Cassandra).",
    )


class Scheduled(RatedWorkload):
    """One whose operations follow a schedule of their own."""

    arrivals: ArrivalsField = Field(
        Arrivals(), description="How operations come at a given rate: `even`, `poisson` (as from many clients) or `bursts(100)`."
    )


def _acks(value: object) -> object:
    return {"all": -1, -1: -1, 1: 1, "1": 1, 0: 0, "0": 0}.get(value, value) if isinstance(value, (str, int)) else value


Acks = Annotated[Literal[-1, 0, 1], BeforeValidator(_acks)]
"""Acknowledgements of a producer, as the protocol has them; `all` is -1."""


Weight = Annotated[float, Field(ge=0)]


class Headers(Model):
    """Headers of each record."""

    count: Count = Field(description="How many.")
    size: SizeBytes = Field(description="Size of each one's value.")


class Transactions(Model):
    """Records become readable together, when their transaction is committed; that is also when they are at their end."""

    every: DurationS = Field(0.1, description="A transaction is ended when it is this old.")
    aborts: Share = Field(0.0, description="Share of the transactions that are aborted on purpose; their records are not acknowledged.")


class KafkaProduce(Scheduled):
    """Records into a topic."""

    kind: Literal["kafka-produce"]
    partitions: Count = Field(6, description="Partitions of the topic.")
    replication: Count = Field(1, description="Replicas of each partition.")
    record_size: SizesField = Field(
        Distribution(shape="uniform", low=100, high=101), description="Size of a record's value: 100 B, or a distribution."
    )
    compressible: Share = Field(0.0, description="Share of each value that is zeros, and so compresses away; the rest does not.")
    key: KeysField | None = Field(
        None, description="Numbers of the records' keys; records with one key are in one partition. Without it batches go round."
    )
    headers: Headers | None = Field(None, description="Headers of each record.")
    compression: Literal["none", "gzip", "lz4", "zstd"] = Field("none", description="Codec of the batches.")
    acks: Acks = Field(
        -1, description="Which brokers store it before it counts as sent. Without acknowledgements nobody is told what is lost."
    )
    idempotent: bool | None = Field(
        None,
        description="The broker stores each batch once, whatever is sent again. If not given: with `acks: all`, as Kafka's own producer.",
    )
    transactions: Transactions | None = Field(None, description="Puts the records into transactions.")
    batch_size: SizeBytes = Field(16 * 1024, description="A batch is sent when it is this large …")
    linger: DurationS = Field(0.005, description="… or this old. Kafka 4's defaults: 16 KiB, 5 ms.")
    levels: dict[Name, Weight] = Field(
        default_factory=dict,
        description="Makes them log records: each has a level, by these weights, e.g. {info: 8, warning: 1, error: 1}; it stands behind the 24 B that "
        "account for the record, in capitals, filled up to 8 B. What a dataflow reads.",
    )
    threads: Count = Field(1, description="Generator threads, sharing one schedule.")

    @property
    def is_idempotent(self) -> bool:
        """As given, or as Kafka's own producer would be."""
        return self.acks == -1 if self.idempotent is None else self.idempotent

    @property
    def beside_value_bytes(self) -> int:
        """Key and headers of a record."""
        headers = 0 if self.headers is None else self.headers.count * self.headers.size
        return headers + (0 if self.key is None else KEY_BYTES)

    @property
    def record_bytes(self) -> float:
        """Key, value and headers of a record, on average."""
        return self.record_size.middle + self.beside_value_bytes


class KafkaConsume(RatedWorkload):
    """Reads what another workload writes."""

    kind: Literal["kafka-consume"]
    reads: Name = Field(description="The kafka-produce workload whose records are read.")
    isolation: Literal["read_uncommitted", "read_committed"] = Field(
        "read_uncommitted", description="Whether records of open and aborted transactions are read too."
    )


SinkName = Literal["kafka", "directory", "hdfs", "cassandra"]


class Dataflow(Workload):
    """A pipeline that log records go through: topic → splitter by level → a topic for each level → a persister each → aggregate, as a Spark application of Structured
    Streaming with a query for each of these steps. Each acknowledged record is accounted for behind every step."""

    kind: Literal["dataflow"]
    reads: Name = Field(description="The kafka-produce workload, with `levels`, that feeds it. Its topic is the first of the pipeline.")
    engine: Literal["spark", "kafka"] = Field(
        "spark",
        description="`spark`: Structured Streaming, a query for each step; `kafka`: plain consumers and transactional producers, without an engine.",
    )
    submit: str | None = Field(
        None,
        description="Or a Spark job of your own (a .py file), submitted for each trial with the path of a JSON file: brokers, input, branches (topic "
        "by level), aggregate, checkpoints, and ready, a file that it makes once it takes records. hydrotest makes the topics, feeds and checks them.",
    )
    tasks: Count = Field(1, description="Of `engine: kafka`: threads of each step.")
    executors: Count | None = Field(
        None,
        description="Spark's executors, each with all `cores` of a worker; as many as there are workers if not given. Dataflows that differ in nothing else show "
        "how the limit rises with them.",
    )
    partitions: Count = Field(8, description="Partitions of each of its own topics: one for each level, and the aggregate.")
    replication: Count = Field(1, description="Replicas of each of these partitions.")
    sinks: list[SinkName] = Field(
        default_factory=lambda: list[SinkName](["kafka"]),
        min_length=1,
        description="Where the aggregate goes, several at once: `kafka`, a topic, which is always among them, since it is followed for latency; `directory`, "
        "files on the driver's host; `hdfs`, files there; `cassandra`, rows of a table, by `foreachBatch`.",
    )
    directory: str | None = Field(
        None,
        description="Where the sink `directory` is, as an address that Hadoop's file systems know: file:///mnt/lake, s3a://bucket/lake. Each trial has a folder of "
        "its own below it, which is removed once it is counted. On the driver's host, with the systems' data, if not given.",
    )
    consistency: Literal["ONE", "QUORUM", "ALL", "LOCAL_QUORUM"] = Field("LOCAL_QUORUM", description="Of what is written to Cassandra.")
    format: Literal["parquet", "json"] = Field("parquet", description="Of the files.")
    windows: DurationS | None = Field(
        None,
        description="Beside the splitter, a stateful query counts what comes in, by level and by windows of this length of the records' "
        "intended time, into a topic of its own; its counts are checked, too.",
    )
    mode: Literal["micro-batch", "real-time"] = Field(
        "micro-batch",
        description="`real-time`: Spark's low-latency mode, in which tasks stay and take each record as it comes. Each then needs a slot of its own: "
        "one for each partition of each query's topic. Into topics only.",
    )
    trigger: DurationS | None = Field(
        None,
        description="A batch of each query begins so often; one after the other if not given. In real-time mode progress is kept so often; 5 s if "
        "not given.",
    )

    @property
    def uses_spark(self) -> bool:
        """True if it has Spark's workers for itself."""
        return self.engine == "spark" or self.submit is not None

    offsets_per_trigger: Count | None = Field(None, description="Most records of one batch (`maxOffsetsPerTrigger`).")
    drain: DurationS = Field(
        180.0,
        description="What is still in the pipeline when the load is over may take so long to come through; the rest is told as in flight.",
    )
    restarts: int = Field(
        10,
        ge=0,
        description="Spark leaves a query dead that an error has ended. So often each is started again, from its checkpoint and after 5 s, as "
        "whoever runs it would do; the next time the trial fails.",
    )

    def queries(self, levels: Iterable[str]) -> list[str]:
        """The names of its queries, as jobs/flow/Pipeline.java gives them."""
        return [
            "splitter",
            *(["windows"] if self.windows is not None else []),
            *(f"persist-{level}-{sink}" for level in levels for sink in self.sinks),
        ]


def driver_service(workload: str) -> str:
    """What the Spark driver of a workload is called among the services."""
    return f"spark-driver-{workload}"


def query_service(workload: str, query: str) -> str:
    """What a query of a dataflow is called, as what a fault strikes."""
    return f"spark-query-{workload}-{query}"


class Mix(Model):
    """Weights of the operations."""

    write: float = Field(0, ge=0)
    read: float = Field(0, ge=0)

    @property
    def write_share(self) -> float:
        """Share of writes, 0 to 1."""
        return self.write / (self.write + self.read)


_BEFORE_VERB = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|//[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
"""Blanks and comments."""


def verb(cql: str) -> str:
    """The word that a statement begins with, in capitals; empty if there is none."""
    words = _BEFORE_VERB.sub("", cql, count=1).split(None, 1)
    return words[0].upper() if words else ""


class Statement(Model):
    """A prepared statement on a table of your own; a value is made for each `?`."""

    cql: str = Field(min_length=1, description="The statement, e.g. INSERT INTO orders (customer, note) VALUES (?, ?).")
    weight: float = Field(1.0, ge=0, description="How often, beside the others.")

    @property
    def is_read(self) -> bool:
        """True for a SELECT."""
        return verb(self.cql) == "SELECT"


class CassandraLoad(Scheduled):
    """Reads and writes of single rows of cassandra-stress's standard1 table (`mix`), or statements on tables of your own (`table`,
    `statements`)."""

    kind: Literal["cassandra"]
    mix: Mix | None = Field(None, description="Weights of writes and reads, e.g. {write: 1, read: 3}.")
    keys: KeysField = Field(description="Which rows: sequential, uniform, gaussian or zipf over a range.")
    table: TextsField = Field(
        default_factory=list, description="CREATE TABLE … of your own, or a list of such statements; no keyspace is named."
    )
    statements: dict[Name, Statement] = Field(default_factory=dict, description="Statements on your own tables, by name.")
    values: dict[str, MakerField] = Field(
        default_factory=dict,
        description="How the values of your tables' columns follow from their row, by column; if not given, the partition key is the row's "
        "number, and the rest suits its type.",
    )
    populate: Name | None = Field(
        None,
        description="The statement that writes each row of `keys` once, before; the first INSERT if there is a SELECT. Without one, rows "
        "that a read does not find are not taken for lost.",
    )
    strategy: Literal["SimpleStrategy", "NetworkTopologyStrategy"] = Field("SimpleStrategy", description="How replicas are placed.")
    consistency: Literal["ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE"] = Field(
        "ONE", description="Consistency level of reads and writes."
    )
    replication: Count = Field(1, description="Replicas of each row.")
    columns: Count = Field(5, description="Blob columns of a row.")
    column_size: SizeBytes = Field(34, description="Size of each; standard1 has 5 × 34 B.")
    threads: Count = Field(1, description="Generator threads, sharing one schedule.")
    connections: Count = Field(
        1,
        description="Connections to each node, per thread, that take turns. More are opened for what a node that falls behind may have out.",
    )
    tick: DurationS = Field(
        0.00025,
        description="Operations that fall due within this time begin together. From 1 ms on answers, too, are taken in only once a tick, which costs the client least "
        "CPU and lengthens each response time by up to a tick.",
    )
    timeout: DurationS = Field(10.0, description="A request unanswered for this long is an error.")

    @property
    def reads(self) -> bool:
        """True if any operation reads."""
        return self.mix.read > 0 if self.mix else any(one.is_read for one in self.statements.values())

    @property
    def is_filled_before(self) -> bool:
        """True if each row of `keys` is written once, before: reads must find a row, and random writes to the default table must
        fall on rows whose presence can be checked."""
        return self.filling is not None if self.statements else self.reads or self.keys.shape != "sequential"

    @property
    def filling(self) -> str | None:
        """The statement of its own that fills the tables."""
        inserts = [name for name, one in self.statements.items() if verb(one.cql) == "INSERT"]
        return self.populate or (inserts[0] if self.reads and inserts else None)


SparkTest = Literal[
    "scheduling-throughput",
    "agg-by-key",
    "agg-by-key-int",
    "agg-by-key-naive",
    "sort-by-key",
    "sort-by-key-int",
    "count",
    "count-with-filter",
    "scan-filter",
    "broadcast-join",
    "shuffled-join",
    "skewed-join",
    "window",
    "group-by",
    "k-means",
    "logistic-regression",
    "als",
]
"""Core (RDDs, as spark-perf has them), SQL, MLlib."""


class SparkPerf(Workload):
    """Tests of the Spark suite, in turn: spark-perf's core tests, SQL and MLlib; each checks its own answer."""

    kind: Literal["spark-perf"]
    tests: list[SparkTest] = Field(min_length=1, description="Which tests.")
    scale_factor: float = Field(0.1, gt=0, description="400 × this many tasks a stage; 200 million × this many records in the core tests, 100 million facts in "
                                "those of SQL, 10 million rows in those of MLlib.")  # fmt: skip
    data_scale: float = Field(1.0, gt=0, description="Shrinks the records alone; the tasks stay.")
    unique_keys: Count | None = Field(None, description="Distinct keys; 20,000 × scale_factor if not given.")
    skew: float = Field(0.0, ge=0, lt=1, description="0: all keys are as frequent; towards 1 the first ones are drawn ever more often: "
                        "the frequency of the r-th key falls as r to the power of −skew.")  # fmt: skip
    seed: Count = Field(5, description="Of the data.")
    cores: Count | None = Field(None, description="Cores that its application takes at most, spread over the workers; all of theirs if not given. Workloads that "
                                "differ in nothing else show how time falls with cores.")  # fmt: skip
    budget: DurationS = Field(1800.0, description="One run of a test may take so long; what would take longer, or makes no progress, is ended and "
                              "told of, with what is full.")  # fmt: skip


class HdfsWrite(Workload):
    """Writes files into HDFS, some at once, as Hadoop's TestDFSIO does: first one at a time, then twice as many, until no more goes through."""

    kind: Literal["hdfs-write"]
    files: Count = Field(8, description="Files of each pass.")
    file_size: SizeBytes = Field(64 << 20, description="Size of each.")
    at_once: Count = Field(8, description="Most that are written at once.")
    replication: Count | None = Field(None, description="Copies of each block; the system's if not given.")
    block_size: SizeBytes = Field(128 << 20, description="Size of the blocks.")
    seed: Count = Field(7, description="Of their content.")


class HdfsRead(Workload):
    """Reads the files that another workload has written, and checks their content. What was just written lies in the page cache, as far as it fits."""

    kind: Literal["hdfs-read"]
    reads: Name = Field(description="The hdfs-write workload whose files are read.")
    at_once: Count = Field(8, description="Most that are read at once.")


class Command(Workload):
    """A neighbour: any program that runs while a combined test presses, such as a backup or a batch job of your own."""

    kind: Literal["command"]
    argv: list[str] = Field(min_length=1, description="The program and its arguments; it is started anew if it ends. No secrets here.")


AnyWorkload = Annotated[
    KafkaProduce | KafkaConsume | Dataflow | CassandraLoad | HdfsWrite | HdfsRead | SparkPerf | Command, Field(discriminator="kind")
]
