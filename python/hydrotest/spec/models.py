"""The experiment file as frozen models. What a field means stands in its description.
Cross-checks between parts are in `check`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from hydrotest.spec.arrivals import Arrivals, ArrivalsField
from hydrotest.spec.base import Client, Model
from hydrotest.spec.distribution import Distribution, KeysField, MakerField, SizesField
from hydrotest.spec.fields import Count, DurationS, Fraction, Name, NamesField, Port, PropertyValue, Share, SizeBytes, TextsField
from hydrotest.spec.tests import AnyTest, Concurrency, Levels, Saturated

MIB = 1 << 20
KEY_BYTES = 8
"""Size of a record's key."""
SPARK_DAEMON_BYTES = 256 * MIB
"""Heap of a master or worker; they only keep the books."""


class LocalHost(Model):
    """This machine."""

    connect: Literal["local"] = Field(description="How the host is reached: `local`.")
    data: str | None = Field(None, description="Directory for the systems' data; its disk is what is measured.")


Host = LocalHost


class System(Model):
    """What every system has."""

    home: str | None = Field(None, description="A distribution of your own; else the fetched one.")
    jvm: list[str] = Field(default_factory=list, description="JVM options behind our own, e.g. [-XX:MaxGCPauseMillis=50].")
    port: Port | None = Field(None, description="Client port; a free one if not given.")


class Security(Model):
    """Encryption and logins. Certificates and passwords are made for the run, and gone with it."""

    tls: bool = Field(False, description="Clients' connections are encrypted.")
    client_certificates: bool = Field(False, description="Clients show a certificate of their own, too.")


class KafkaSecurity(Security):
    """Of Kafka's client listener; the brokers among themselves speak plainly, on ports of their own."""

    sasl: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = Field(None, description="Clients log in, by this mechanism.")


class CassandraSecurity(Security):
    """Of Cassandra's client port."""

    password: bool = Field(False, description="Clients log in, by user and password.")


class Kafka(System):
    """Apache Kafka in KRaft mode, each host broker and controller."""

    release: Annotated[Literal["4.3", "3.9"], BeforeValidator(str)] = Field("4.3", description="Which release is fetched.")
    hosts: list[Name] = Field(min_length=1, description="A broker on each of these hosts.")
    config: dict[str, PropertyValue] = Field(default_factory=dict, description="Lines of server.properties, passed through.")
    heap: SizeBytes = Field(1024 * MIB, description="Java heap of each broker.")
    security: KafkaSecurity | None = Field(None, description="Encryption and logins of clients.")

    def heaps(self) -> list[tuple[str, int]]:
        """(host, heap) of each of its JVMs."""
        return [(host, self.heap) for host in self.hosts]


class Cassandra(System):
    """Apache Cassandra."""

    hosts: list[Name] = Field(min_length=1, description="A node on each of these hosts.")
    config: dict[str, Any] = Field(default_factory=dict, description="Parts of cassandra.yaml, passed through.")
    heap: SizeBytes = Field(2048 * MIB, description="Java heap of each node.")
    security: CassandraSecurity | None = Field(None, description="Encryption and logins of clients.")

    def heaps(self) -> list[tuple[str, int]]:
        """(host, heap) of each of its JVMs."""
        return [(host, self.heap) for host in self.hosts]


class Spark(System):
    """Apache Spark, standalone: a master and workers; each application takes all workers."""

    master: Name = Field(description="The master's host.")
    workers: list[Name] = Field(min_length=1, description="A worker on each of these hosts.")
    config: dict[str, PropertyValue] = Field(default_factory=dict, description="Spark properties of the applications, passed through.")
    cores: Count | None = Field(None, description="Cores that each worker offers; all of its host if not given.")
    memory: SizeBytes = Field(1024 * MIB, description="Memory of the executor on each worker.")
    driver_memory: SizeBytes = Field(512 * MIB, description="Heap of the driver.")

    @property
    def hosts(self) -> list[str]:
        """All its hosts, the master's first."""
        return list(dict.fromkeys([self.master, *self.workers]))

    def heaps(self) -> list[tuple[str, int]]:
        """(host, heap) of each of its JVMs; the driver counts with the master."""
        executors = [(host, heap) for host in self.workers for heap in (SPARK_DAEMON_BYTES, self.memory)]
        return [(self.master, SPARK_DAEMON_BYTES), (self.master, self.driver_memory), *executors]


AnySystem = Kafka | Cassandra | Spark


class Systems(Model):
    """The systems under test."""

    kafka: Kafka | None = None
    cassandra: Cassandra | None = None
    spark: Spark | None = None

    def present(self) -> dict[str, AnySystem]:
        """Those that the experiment has, by name, in the order in which they are started."""
        every: dict[str, AnySystem | None] = {"kafka": self.kafka, "cassandra": self.cassandra, "spark": self.spark}
        return {name: system for name, system in every.items() if system is not None}


class Workload(Model):
    """What every workload has."""

    on: NamesField = Field(default_factory=list, description="Host or hosts that run the client; the first host if not given.")


class RatedWorkload(Workload):
    """One that is pressed at a rate, or with a number in flight."""

    generators: Count | None = Field(
        None,
        description="Generator processes, on the hosts of `on` in turn; together they keep one schedule. One for each host if not given.",
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
    acks: Annotated[Literal[-1, 0, 1], BeforeValidator(_acks)] = Field(
        -1, description="`all`, 1 or 0. Without acknowledgements nobody is told what is lost."
    )
    idempotent: bool | None = Field(
        None,
        description="The broker stores each batch once, whatever is sent again. If not given: with `acks: all`, as Kafka's own producer.",
    )
    transactions: Transactions | None = Field(None, description="Puts the records into transactions.")
    batch_size: SizeBytes = Field(16 * 1024, description="A batch is sent when it is this large …")
    linger: DurationS = Field(0.005, description="… or this old. Kafka 4's defaults: 16 KiB, 5 ms.")
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


class Mix(Model):
    """Weights of the operations."""

    write: float = Field(0, ge=0)
    read: float = Field(0, ge=0)

    @property
    def write_share(self) -> float:
        """Share of writes, 0 to 1."""
        return self.write / (self.write + self.read)


class Statement(Model):
    """A prepared statement on a table of your own; a value is made for each `?`."""

    cql: str = Field(min_length=1, description="The statement, e.g. INSERT INTO orders (customer, note) VALUES (?, ?).")
    weight: float = Field(1.0, ge=0, description="How often, beside the others.")

    @property
    def is_read(self) -> bool:
        """True for a SELECT."""
        return self.cql.split(None, 1)[0].upper() == "SELECT"


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
        None, description="The statement that writes each row of `keys` once, before; the first INSERT if there is a SELECT."
    )
    strategy: Literal["SimpleStrategy", "NetworkTopologyStrategy"] = Field("SimpleStrategy", description="How replicas are placed.")
    consistency: Literal["ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE"] = Field(
        "ONE", description="Consistency level of reads and writes."
    )
    replication: Count = Field(1, description="Replicas of each row.")
    columns: Count = Field(5, description="Blob columns of a row.")
    column_size: SizeBytes = Field(34, description="Size of each; standard1 has 5 × 34 B.")
    threads: Count = Field(1, description="Generator threads, sharing one schedule.")
    connections: Count = Field(1, description="Connections to each node, per thread.")
    tick: DurationS = Field(
        0.00025,
        description="Operations that fall due within this time begin together; from 1 ms on answers are taken in as seldom, which costs least CPU "
        "and lengthens response times by up to as much.",
    )
    timeout: DurationS = Field(10.0, description="A request unanswered for this long is an error.")

    @property
    def reads(self) -> bool:
        """True if any operation reads."""
        return self.mix.read > 0 if self.mix else any(one.is_read for one in self.statements.values())

    @property
    def filling(self) -> str | None:
        """The statement of its own that fills the tables."""
        inserts = [name for name, one in self.statements.items() if one.cql.split(None, 1)[0].upper() == "INSERT"]
        return self.populate or (inserts[0] if self.reads and inserts else None)


class SparkPerf(Workload):
    """Tests of the spark-perf suite, in turn."""

    kind: Literal["spark-perf"]
    tests: list[Literal["agg-by-key", "sort-by-key"]] = Field(min_length=1, description="Which tests.")
    scale_factor: float = Field(0.1, gt=0, description="400 × this many tasks a stage, 200 million × this many records.")
    data_scale: float = Field(1.0, gt=0, description="Shrinks the records alone; the tasks stay.")
    seed: Count = Field(5, description="Of the data.")


class Command(Workload):
    """A neighbour: any program that runs while a combined test presses, such as a backup or a batch job of your own."""

    kind: Literal["command"]
    argv: list[str] = Field(min_length=1, description="The program and its arguments; it is started anew if it ends. No secrets here.")


AnyWorkload = Annotated[KafkaProduce | KafkaConsume | CassandraLoad | SparkPerf | Command, Field(discriminator="kind")]


class Objective(Model):
    """What is acceptable. Latencies are response times from the intended start."""

    p50: DurationS | None = Field(None, description="Longest acceptable median response time.")
    p95: DurationS | None = Field(None, description="Longest acceptable 95th percentile.")
    p99: DurationS | None = Field(None, description="Longest acceptable 99th percentile.")
    p999: DurationS | None = Field(None, description="Longest acceptable 99.9th percentile.")
    total: DurationS | None = Field(None, description="Longest acceptable time of one run of a batch job's test.")
    errors: int = Field(0, ge=0, description="Failed operations that are still acceptable in a trial.")
    loss: int = Field(0, ge=0, description="Lost records that are still acceptable in a trial.")

    def latencies_ms(self) -> dict[str, float]:
        """The latency bounds given, in milliseconds, by percentile name."""
        given = {"p50": self.p50, "p95": self.p95, "p99": self.p99, "p999": self.p999}
        return {name: bound * 1e3 for name, bound in given.items() if bound is not None}


LATER_SYSTEMS = ("hdfs",)
LATER_KINDS = ("hdfs-write", "hdfs-read", "dataflow")


class Search(Model):
    """How limits are searched."""

    precision: Fraction = Field(0.05, description="Limits are told to this fraction.")
    window: DurationS = Field(10.0, description="Measured window of a trial.")
    warm_up: DurationS = Field(2.0, description="Cut off before each window.")
    saturated: DurationS = Field(6.0, description="Window of the saturated rate.")
    repeats: int = Field(3, ge=3, le=9, description="Independent searches around the answer.")


class WarmUp(Model):
    """How the systems are warmed before anything is measured."""

    least: DurationS = Field(20.0, description="Warm up at least this long per system.")
    most: DurationS = Field(90.0, description="And at most this long, steady or not.")


def _tests(value: Any) -> Any:
    """`- isolated: [a, b]` and `- levels: {…}` become one mapping with its kind."""
    if not isinstance(value, list):
        return value
    out = []
    for item in value:
        if not isinstance(item, dict) or len(item) != 1:
            keys = ", ".join(f"`{key}`" for key in item) if isinstance(item, dict) else "none"
            raise ValueError(
                f"each test is one key with its settings below it, e.g. `- isolated: [ingest]`; here are {keys} "
                "(settings need four more spaces than their test's dash)"
            )
        ((kind, body),) = item.items()
        if kind in ("isolated", "combined") and isinstance(body, list):
            body = {"workloads": body}
        if not isinstance(body, dict):
            raise ValueError(f"the test {kind!r} needs settings, e.g. `- levels: {{workload: ingest, rates: [100K]}}`")
        out.append({"test": kind, **body})
    return out


class Experiment(Model):
    """One experiment file."""

    name: Name = Field(description="Names the run's folder, topics and keyspaces.")
    hosts: dict[Name, Host] = Field(min_length=1, description="The machines, by name.")
    systems: Systems = Field(description="The systems under test; each is started for the run and stopped with it.")
    workloads: dict[Name, AnyWorkload] = Field(min_length=1, description="What presses, by name.")
    objectives: dict[Name, Objective] = Field(default_factory=dict, description="What is acceptable, by workload.")
    tests: Annotated[list[AnyTest], BeforeValidator(_tests)] = Field(min_length=1, description="What is done, in this order.")
    search: Search = Field(default_factory=Search, description="How limits are searched.")
    warm_up: WarmUp = Field(default_factory=WarmUp, description="How systems are warmed before anything is measured.")

    def objective(self, workload: str) -> Objective:
        """The workload's objective; an empty one bounds only errors and loss."""
        return self.objectives.get(workload, Objective())

    def client(self, test: Levels | Concurrency | Saturated) -> Client:
        """The client that presses in a test."""
        workload = self.workloads[test.workload]
        return test.client or (workload.client if isinstance(workload, RatedWorkload) else "native")

    def generator_hosts(self, workload: str) -> list[str]:
        """The host of each of the workload's generators; of a job or a command, the one that it is started from."""
        spec = self.workloads[workload]
        hosts = spec.on or [next(iter(self.hosts))]
        count = spec.generators if isinstance(spec, RatedWorkload) else None
        return [hosts[number % len(hosts)] for number in range(count or len(hosts))]

    def machines(self, workload: str) -> dict[str, set[str]]:
        """Which system (a command is one of its own) a workload presses on, and the machines that it has. All `local` hosts are one."""
        spec = self.workloads[workload]
        if isinstance(spec, Command):
            return {workload: {self._machine(host) for host in self.generator_hosts(workload)}}
        name = {"kafka-produce": "kafka", "kafka-consume": "kafka", "spark-perf": "spark"}.get(spec.kind, spec.kind)
        return {name: {self._machine(host) for host in self.systems.present()[name].hosts}}

    def _machine(self, host: str) -> str:
        connect = self.hosts[host].connect
        return connect if connect == "local" else host
