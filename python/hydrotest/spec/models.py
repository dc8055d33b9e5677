"""The experiment file as frozen models. What a field means stands in its description.
Cross-checks between parts are in `check`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, create_model

from hydrotest.percentiles import NAMES, PERCENTILES
from hydrotest.spec.base import Client, Model
from hydrotest.spec.fields import Count, DurationS, Fraction, Name, Port, PropertyValue, SizeBytes
from hydrotest.spec.hosts import Host, LocalHost, NetnsHost, Share
from hydrotest.spec.scale import Lab
from hydrotest.spec.tests import AnyTest, Concurrency, Levels, Saturated
from hydrotest.spec.workloads import AnyWorkload, Command, Dataflow, RatedWorkload
from hydrotest.verdicts.binding import Provable

MIB = 1 << 20
SPARK_DAEMON_BYTES = 256 * MIB
"""Heap of a master or worker; they only keep the books."""


class System(Model):
    """What every system has."""

    home: str | None = Field(
        None,
        description="A distribution of your own; else the one that KAFKA_HOME, CASSANDRA_HOME, HADOOP_HOME or SPARK_HOME names, else the pinned release "
        "(of Spark the installed pyspark).",
    )
    jvm: list[str] = Field(default_factory=list, description="JVM options behind our own, e.g. [-XX:MaxGCPauseMillis=50].")
    port: Port | None = Field(None, description="Client port; a free one if not given.")

    def placed(self, name: str) -> list[tuple[str, str]]:
        """(service, host) of each of its services; `name` is the system's."""
        hosts: list[str] = getattr(self, "hosts", [])
        return [(f"{name}-{index}", host) for index, host in enumerate(hosts)]


class Security(Model):
    """Encryption and logins. Certificates and passwords are made for the run, and gone with it."""

    tls: bool = Field(False, description="Clients' connections are encrypted.")
    client_certificates: bool = Field(False, description="Clients show a certificate of their own, too.")


class KafkaSecurity(Security):
    """Of Kafka's client listener; the brokers among themselves speak plainly, on ports of their own. hydrotest makes authority, certificates and password for
    the run, and removes them with it; they cannot be given. Not together with a `dataflow` on this Kafka."""

    sasl: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = Field(None, description="Clients log in, by this mechanism.")


class CassandraSecurity(Security):
    """Of Cassandra's client port. hydrotest makes authority, certificates and password for the run, and removes them with it; they cannot be given. Not together with the
    sink `cassandra` of a `dataflow`, nor with `client: stock`."""

    password: bool = Field(False, description="Clients log in, by user and password.")


class Kafka(System):
    """Apache Kafka in KRaft mode, each host broker and controller."""

    release: Annotated[Literal["4.3", "3.9"], BeforeValidator(str)] = Field(
        "4.3", description="Which pinned release, where neither `home` nor KAFKA_HOME names another."
    )
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

    release: Annotated[Literal["4.2", "3.5"], BeforeValidator(str)] = Field(
        "4.2", description="Which pinned release, where neither `home` nor SPARK_HOME names another."
    )
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

    def placed(self, name: str) -> list[tuple[str, str]]:
        return [(f"{name}-master", self.master), *((f"{name}-worker-{index}", host) for index, host in enumerate(self.workers))]

    def heaps(self) -> list[tuple[str, int]]:
        """(host, heap) of each of its JVMs; the driver counts with the master."""
        executors = [(host, heap) for host in self.workers for heap in (SPARK_DAEMON_BYTES, self.memory)]
        return [(self.master, SPARK_DAEMON_BYTES), (self.master, self.driver_memory), *executors]


class Hdfs(System):
    """Apache HDFS: a NameNode and DataNodes."""

    namenode: Name = Field(description="The NameNode's host.")
    datanodes: list[Name] = Field(min_length=1, description="A DataNode on each of these hosts.")
    replication: Count = Field(2, description="Copies of each block, as far as there are DataNodes.")
    config: dict[str, PropertyValue] = Field(default_factory=dict, description="Properties of hdfs-site.xml, passed through.")
    heap: SizeBytes = Field(512 * MIB, description="Java heap of the NameNode.")
    datanode_heap: SizeBytes = Field(384 * MIB, description="Java heap of each DataNode.")

    @property
    def hosts(self) -> list[str]:
        """All its hosts, the NameNode's first."""
        return list(dict.fromkeys([self.namenode, *self.datanodes]))

    def placed(self, name: str) -> list[tuple[str, str]]:
        return [(f"{name}-namenode", self.namenode), *((f"{name}-datanode-{index}", host) for index, host in enumerate(self.datanodes))]

    def heaps(self) -> list[tuple[str, int]]:
        """(host, heap) of each of its JVMs."""
        return [(self.namenode, self.heap), *((host, self.datanode_heap) for host in self.datanodes)]


AnySystem = Kafka | Cassandra | Hdfs | Spark


class Systems(Model):
    """The systems under test."""

    kafka: Kafka | None = None
    cassandra: Cassandra | None = None
    hdfs: Hdfs | None = None
    spark: Spark | None = None

    def present(self) -> dict[str, AnySystem]:
        """Those that the experiment has, by name, in the order in which they are started."""
        every: dict[str, AnySystem | None] = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: system for name, system in every.items() if system is not None}


if TYPE_CHECKING:

    class _Bounds(Model):
        """A bound of each percentile."""

else:
    _Bounds = create_model(
        "_Bounds", __base__=Model, **{one.name: (DurationS | None, Field(None, description=f"Longest acceptable {one.words}.")) for one in PERCENTILES}
    )  # fmt: skip


class Objective(_Bounds):
    """What is acceptable. Latencies are response times from the intended start. It is judged in `isolated`, `combined`, `levels` and `soak` tests; the
    others measure, and do not judge."""

    total: DurationS | None = Field(None, description="Longest acceptable time of one run of a batch job's test.")
    errors: int = Field(0, ge=0, description="Failed operations that are still acceptable in a trial.")
    loss: int = Field(0, ge=0, description="Lost records that are still acceptable in a trial.")

    def latencies_ms(self) -> dict[str, float]:
        """The latency bounds given, in milliseconds, by percentile name."""
        given: dict[str, float | None] = {name: getattr(self, name) for name in NAMES}
        return {name: bound * 1e3 for name, bound in given.items() if bound is not None}


class Search(Model):
    """How limits are searched."""

    precision: Fraction = Field(0.05, description="Limits are told to this fraction.")
    window: DurationS = Field(10.0, description="Measured window of a trial.")
    warm_up: DurationS = Field(2.0, description="Cut off before each window.")
    saturated: DurationS = Field(6.0, description="Window of the saturated rate.")
    repeats: int = Field(3, ge=3, le=9, description="Independent searches around the answer.")


class WarmUp(Model):
    """How the systems are warmed before anything is measured."""

    least: DurationS = Field(20.0, description="Each workload warms its system for at least this long (a `kafka-consume` does not).")
    most: DurationS = Field(90.0, description="And at most this long, steady or not; Cassandra has taken up to 130 s on two cores.")


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


SYSTEM_OF = {
    "kafka-produce": "kafka",
    "kafka-consume": "kafka",
    "cassandra": "cassandra",
    "spark-perf": "spark",
    "hdfs-write": "hdfs",
    "hdfs-read": "hdfs",
}
"""Which system a kind of workload presses on; a dataflow's is its engine's, and a command has its own."""


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
    published: Literal["packet-2016", "scribengin-2016"] | None = Field(None, description="Published results to be set beside ours.")
    lab: Lab | None = Field(None, description="Machines that emulated hosts are made after, and how much smaller.")

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

    def generators_apart(self, workload: str) -> list[str]:
        """Those of the hosts of its generators on whose machines no system runs."""
        systems = {self._machine(host) for system in self.systems.present().values() for host in system.hosts}
        return [host for host in self.generator_hosts(workload) if self._machine(host) not in systems]

    def has_share(self, name: str, resource: Share) -> bool:
        """True if an emulated host has a share of its own of that, written at it or at the type of machine that it is made after."""
        host = self.hosts[name]
        machine = self.lab.types.get(host.type) if self.lab is not None and host.type is not None else None
        return isinstance(host, NetnsHost) and any(getattr(one, resource) is not None for one in (host, machine) if one is not None)

    def provable_by(self, name: str, resource: str) -> Provable | None:
        """What to write so that a squeeze shows whether a resource (`cpu`, `disk`, `network`) of a host binds; None where none can."""
        host = self.hosts[name]
        shares: dict[str, Share] = {"cpu": "cores", "disk": "disk", "network": "network"}
        if resource in shares and self.has_share(name, shares[resource]):
            return Provable()
        if resource == "cpu" and isinstance(host, LocalHost):
            return Provable(None if host.squeeze == "allow" else name)
        return None

    def peers(self, workload: str) -> list[str]:
        """The hosts that do the same work of the system that a workload presses on: of Spark its workers, of HDFS its DataNodes, of the others all."""
        system = self.systems.present()[self._system(workload)]
        return system.workers if isinstance(system, Spark) else system.datanodes if isinstance(system, Hdfs) else system.hosts

    def _system(self, workload: str) -> str:
        """By name."""
        spec = self.workloads[workload]
        return ("spark" if spec.uses_spark else "kafka") if isinstance(spec, Dataflow) else SYSTEM_OF[spec.kind]

    def machines(self, workload: str) -> dict[str, set[str]]:
        """Which system (a command is one of its own) a workload presses on, and the machines that it has. All `local` hosts are one."""
        spec = self.workloads[workload]
        if isinstance(spec, Command):
            return {workload: {self._machine(host) for host in self.generator_hosts(workload)}}
        name = self._system(workload)
        return {name: {self._machine(host) for host in self.systems.present()[name].hosts}}

    def needs(self, workload: str) -> list[str]:
        """The hosts without which it does not go on: those of the system that it presses on (of a dataflow, of all that it goes through), and of its generators (of a
        dataflow, of its source, too)."""
        spec = self.workloads[workload]
        present = self.systems.present()
        names = set() if isinstance(spec, Command) else {self._system(workload)}
        if isinstance(spec, Dataflow):
            names |= {"kafka", *spec.sinks} & set(present)
        pressing = [workload, spec.reads] if isinstance(spec, Dataflow) else [workload]
        systems = [host for name, system in present.items() if name in names for host in system.hosts]
        return list(dict.fromkeys([*systems, *(host for one in pressing for host in self.generator_hosts(one))]))

    def listens_at(self, host: str) -> str:
        """What tells a host's services from those of others: its address, or its name where it has a network of its own."""
        spec = self.hosts[host]
        return spec.address if isinstance(spec, LocalHost) else host

    def _machine(self, host: str) -> str:
        connect = self.hosts[host].connect
        return connect if connect == "local" else host
