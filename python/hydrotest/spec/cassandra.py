"""Cassandra in the experiment file, and what reads and writes its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from hydrotest.spec.attach import Answering, ClientSecurity
from hydrotest.spec.base import Model
from hydrotest.spec.checker import Checker
from hydrotest.spec.distribution import KeysField
from hydrotest.spec.fields import Count, DurationS, Name, SizeBytes, TextsField
from hydrotest.spec.lines import Path_
from hydrotest.spec.maker import MakerField
from hydrotest.spec.secret import Secret
from hydrotest.spec.statement import Statement, verb
from hydrotest.spec.system import MIB, JavaSystem
from hydrotest.spec.tables import check_tables
from hydrotest.spec.workload import Scheduled

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

COLUMN_BYTES_MIN = 24
"""Bytes that account for a row."""
REPLICAS_NEEDED = {"TWO": 2, "THREE": 3}
"""Replicas that these consistency levels need at any replication; the needs of other levels follow the
replication."""


SHARED_MAX = 9_000_000
"""Numbers that drawn numbers of rows share; generators keep each of them (rust/cassandra/src/shares.rs)."""


class CassandraSecurity(ClientSecurity):
    """Security of Cassandra's client port. hydrotest creates the authority, certificates and password for the
    run and removes them at its end; they cannot be given. Not possible with the sink `cassandra` of a
    `dataflow`, or with `client: stock`. Of a ring that is there already (`attach`), they are what clients need."""

    password: bool | Secret = Field(
        False, description="Clients log in with user and password. With `attach`: where the user's password is, e.g. {env: NAME}."
    )

    example: ClassVar[str] = "user: hydrotest, password: {env: CASSANDRA_PASSWORD}"

    def check_access(self, name: str, is_attached: bool, checker: Checker) -> None:
        super().check_access(name, is_attached, checker)
        if (is_attached and self.password is True) or (not is_attached and not isinstance(self.password, bool)):
            raise checker.fail(("systems", name, "security", "password"), "hydrotest makes the password of a ring that it starts, and no other",
                               f"With `attach`, write e.g. `{self.example}`; else `password: true`.")  # fmt: skip


class Cassandra(Answering, JavaSystem):
    """Apache Cassandra. Or a ring that is there already (`attach`), also of another make that speaks CQL."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["hosts"]}, {"required": ["attach"]}]})
    only_started: ClassVar[frozenset[str]] = frozenset({"config", "heap", "home", "jvm", "port"})

    may_be_remote: ClassVar[bool] = True

    hosts: list[Name] = Field(default_factory=list, description="A node on each of these hosts.")
    config: dict[str, Any] = Field(default_factory=dict, description="Settings of cassandra.yaml, passed through.")
    heap: SizeBytes = Field(2048 * MIB, description="Java heap of each node.")
    security: CassandraSecurity | None = Field(None, description="Encryption and logins of clients.")

    own_settings: ClassVar[frozenset[str]] = frozenset({
        "listen_address", "listen_interface", "rpc_address", "rpc_interface", "broadcast_address", "broadcast_rpc_address", "seed_provider",
        "storage_port", "ssl_storage_port", "native_transport_port", "data_file_directories", "local_system_data_file_directory",
        "commitlog_directory", "saved_caches_directory", "hints_directory", "cdc_raw_directory",
    })  # fmt: skip

    def heaps(self) -> list[tuple[str, int]]:
        """(host, heap) of each of its JVMs."""
        return [] if self.is_attached else [(host, self.heap) for host in self.hosts]

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        self.check_attached(name, experiment, checker)
        self._check_ring(experiment, checker)
        super().check(name, experiment, checker)
        if self.security is not None:
            self.security.check(name, checker)
            self.security.check_access(name, self.is_attached, checker)

    def _check_ring(self, experiment: Experiment, checker: Checker) -> None:
        """Its nodes know each other by their addresses alone."""
        first_at: dict[str, str] = {}
        for index, name in enumerate(self.hosts):
            address = experiment.listens_at(name)
            other = first_at.setdefault(address, name)
            if other != name:
                raise checker.fail(("systems", "cassandra", "hosts", index), f"{other} and {name} both have the address {address}; Cassandra's "
                                   "nodes need one each", f"Give {name} another, e.g. `address: 127.0.0.{index + 1}`.")  # fmt: skip


class Mix(Model):
    """Weights of the operations."""

    write: float = Field(0, ge=0)
    read: float = Field(0, ge=0)

    @property
    def write_share(self) -> float:
        """Share of writes, 0 to 1."""
        return self.write / (self.write + self.read)


class CassandraLoad(Scheduled):
    """Reads and writes of single rows of cassandra-stress's standard1 table (`mix`), or statements on tables
    of your own (`table`, `statements`)."""

    kind: Literal["cassandra"]
    mix: Mix | None = Field(None, description="Weights of writes and reads, e.g. {write: 1, read: 3}.")
    keys: KeysField = Field(
        description="Which rows: in sequence, by a distribution over a range, or {file: keys.txt}: a row for each different line, used as often as "
        "the line is there."
    )
    table: TextsField = Field(
        default_factory=list,
        description="CREATE TABLE … of your own, or a list of such statements, also of types, indexes and materialised views; no keyspace is named.",
    )
    statements: dict[Name, Statement] = Field(default_factory=dict, description="Statements on your own tables, by name.")
    values: dict[str, MakerField] = Field(
        default_factory=dict,
        description="How the column values of your tables follow from their row, by column. If not given, the partition key is "
        "the row's number, and the other values suit their type. `row % 100` is what is left of it "
        "after a division; {rows: 'exp(1, 1K)'} a number that so many neighbouring rows share: a partition of so many rows. Of collections: "
        "{count: 'uniform(1, 6)', each: 'uniform(0, 100)'}.",
    )
    populate: Name | None = Field(
        None,
        description="The statement that writes each row of `keys` once, beforehand; if not given, the first INSERT, provided that "
        "there is a SELECT. Without one, rows that a read does not find do not count as lost.",
    )
    strategy: Literal["SimpleStrategy", "NetworkTopologyStrategy"] = Field("SimpleStrategy", description="How replicas are placed.")
    consistency: Literal["ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE"] = Field(
        "ONE", description="Consistency level of reads and writes."
    )
    serial_consistency: Literal["SERIAL", "LOCAL_SERIAL"] | None = Field(
        None, description="Level at which the conditions of writes (IF …) are agreed upon; if not given, Cassandra's own: SERIAL."
    )
    replication: Count | dict[str, Count] = Field(
        1, description="Replicas of each row; or of each data centre, e.g. {dc1: 3, dc2: 2}, by NetworkTopologyStrategy."
    )
    page_size: Count | None = Field(
        None,
        le=1_000_000,
        description="Rows of a page. A read that follows all its pages is one operation. If not given, each read has one page.",
    )
    columns: Count = Field(5, le=10_000, description="Blob columns of a row.")
    column_size: SizeBytes = Field(34, description="Size of each column; standard1 has 5 × 34 B.")
    threads: Count = Field(1, description="Generator threads, sharing one schedule.")
    connections: Count = Field(
        1,
        le=10_000,
        description="Connections to each node, per thread, used in rotation. More are opened for the requests in flight to a node "
        "that falls behind.",
    )
    tick: DurationS = Field(
        0.00025,
        description="Operations due within this time start together. From 1 ms on, answers are also read only once a tick: least "
        "client CPU, but each response time is longer by up to a tick.",
    )
    timeout: DurationS = Field(10.0, description="A request unanswered for this long is an error.")

    @property
    def reads(self) -> bool:
        """True if any operation reads."""
        return self.mix.read > 0 if self.mix else any(one.is_read for one in self.statements.values())

    @property
    def is_filled_before(self) -> bool:
        """True if each row of `keys` is written once, beforehand: reads must find a row, and random writes to
        the default table must hit rows whose presence can be checked."""
        return self.filling is not None if self.statements else self.reads or self.keys.shape != "sequential"

    @property
    def filling(self) -> str | None:
        """The user's statement that fills the tables."""
        inserts = [name for name, one in self.statements.items() if verb(one.cql) == "INSERT"]
        return self.populate or (inserts[0] if self.reads and inserts else None)

    is_squeezable: ClassVar[bool] = True
    is_mix: ClassVar[bool] = True
    may_be_driven: ClassVar[bool] = True

    @property
    def thread_count(self) -> int:
        return self.threads

    @property
    def rows_before(self) -> int:
        return self.keys.size

    @property
    def digests(self) -> dict[str, str]:
        return {} if self.keys.digest is None else {"keys": self.keys.digest}

    def check_files(self, name: str, checker: Checker) -> None:
        self.check_listed(("workloads", name, "keys"), self.keys, checker)

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        super().check(name, experiment, checker)
        place: Path_ = ("workloads", name)
        cassandra = experiment.systems.of(Cassandra)
        if cassandra is None:
            raise checker.fail(place, f"{name} needs the system cassandra", "Add it under `systems`.")
        if cassandra.is_attached:
            self._check_attached(place, checker)
        else:
            self._check_replicas(place, [experiment.hosts[host].data_center for host in cassandra.hosts], checker)
        if self.consistency == "ANY" and self.reads:
            raise checker.fail((*place, "consistency"), "Cassandra reads nothing at the level ANY", "Take ONE.")
        needed = REPLICAS_NEEDED.get(self.consistency, 1)
        if self.copies < needed:
            raise checker.fail(
                (*place, "consistency"),
                f"consistency {self.consistency} needs {needed} replicas of each row; replication is {self.copies}",
                "Raise `replication`, or take a weaker level.",
            )
        self._check_content(place, cassandra, checker)
        if self.column_size < COLUMN_BYTES_MIN:
            raise checker.fail((*place, "column_size"), f"columns of {self.column_size} B are too small to account for",
                               f"Take at least {COLUMN_BYTES_MIN} B.")  # fmt: skip

    def _check_replicas(self, place: Path_, nodes: list[str], checker: Checker) -> None:
        """`nodes`: the data centre of each."""
        if isinstance(self.replication, int):
            if self.replication > len(nodes):
                raise checker.fail((*place, "replication"), f"replication {self.replication} needs as many nodes; there are {len(nodes)}",
                                   "Lower `replication`, or add hosts to cassandra.")  # fmt: skip
            return
        if "strategy" in self.model_fields_set and self.strategy == "SimpleStrategy":
            raise checker.fail((*place, "strategy"), "SimpleStrategy knows no data centres", "Leave it out.")
        if not self.replication:
            raise checker.fail((*place, "replication"), "no data centre has a replica", f"Write e.g. {{{nodes[0]}: 1}}.")
        for name, copies in self.replication.items():
            checker.known(name, sorted(set(nodes)), "the data centre", (*place, "replication", name))
            if copies > nodes.count(name):
                raise checker.fail((*place, "replication", name), f"replication {copies} needs as many nodes in {name}; there are {nodes.count(name)}",
                                   "Lower it, or give more hosts of cassandra this `data_center`.")  # fmt: skip

    @property
    def replicas(self) -> dict[str, int]:
        """Of each data centre; none where they are not told apart."""
        return {} if isinstance(self.replication, int) else self.replication

    def _check_attached(self, place: Path_, checker: Checker) -> None:
        """Checks what a ring that others use cannot bear, or what would not be known of it."""
        if self.statements:
            raise checker.fail((*place, "statements"), "on a ring that is there already, only the default table is written: its size is known",
                               "Write `mix` instead.")  # fmt: skip
        if self.replicas:
            raise checker.fail((*place, "replication"), "on a ring that is there already, copies are in the data centre that is reached alone",
                               "Write their number, e.g. 3.")  # fmt: skip
        if "strategy" in self.model_fields_set and self.strategy == "SimpleStrategy":
            raise checker.fail((*place, "strategy"), "SimpleStrategy puts copies anywhere, also into another data centre",
                               "Leave it out: they are in the data centre that is reached.")  # fmt: skip

    @property
    def copies(self) -> int:
        return self.replication if isinstance(self.replication, int) else sum(self.replication.values())

    @property
    def connections_per_node(self) -> int:
        return self.threads * self.connections

    @property
    def operation_bytes(self) -> float:
        return self.columns * self.column_size

    def disk_bytes(self, experiment: Experiment, rate_per_s: float, seconds: float, trials: int) -> int:
        # What is overwritten stays until it is compacted, and to compact the largest tables takes as much again.
        rows = self.rows_before + rate_per_s * (self.mix.write_share if self.mix else 1.0) * seconds * trials
        return round(2 * rows * self.columns * self.column_size * self.copies)

    def check_stock(self, name: str, experiment: Experiment, place: Path_, checker: Checker) -> None:
        super().check_stock(name, experiment, place, checker)
        if self.replicas:
            raise checker.fail(
                place,
                f"{name}: cassandra-stress makes its keyspace with a number of replicas",
                "Write e.g. `replication: 3`, or leave `client: stock` out.",
            )
        if self.keys.file is not None:
            raise checker.fail(
                place,
                f"{name}: cassandra-stress draws no keys from a file",
                "Write e.g. `keys: uniform(0, 1M)`, or leave `client: stock` out.",
            )
        cassandra = experiment.systems.of(Cassandra)
        if cassandra is not None and cassandra.security is not None:
            raise checker.fail(place, "cassandra-stress takes a password on its command line only, where everybody can read it",
                               "Leave `security` out, or `client: stock`.")  # fmt: skip

    def _check_content(self, place: Path_, cassandra: Cassandra, checker: Checker) -> None:
        """Checks the load: the mix of the default table, or tables and statements of the user's own."""
        if not self.statements:
            if self.mix is None:
                raise checker.fail(place, "there is neither a mix nor a statement", "Write e.g. `mix: {write: 1, read: 3}`.")
            if self.mix.write + self.mix.read <= 0:
                raise checker.fail((*place, "mix"), "the mix is empty", "Write e.g. {write: 1, read: 3}.")
            for key in ("table", "values", "populate", "serial_consistency", "page_size"):
                if getattr(self, key):
                    raise checker.fail((*place, key), f"`{key}` is about statements of your own, and there are none", "Add `statements`.")
            return
        if self.mix is not None:
            raise checker.fail((*place, "mix"), "statements of your own have weights, and no mix", "Leave one of them out.")
        if not self.table:
            raise checker.fail((*place, "statements"), "there is no table for them", "Add `table: CREATE TABLE …`.")
        if self.client != "native":
            raise checker.fail((*place, "client"), f"`client: {self.client}` knows the default table only", "Leave it out.")
        check_tables(self.table, None if cassandra.is_attached else cassandra.config, (*place, "table"), checker)
        for name, maker in self.values.items():
            numbers = (
                self.keys.high / maker.drawn.middle if maker.make == "shared" and maker.drawn is not None and maker.drawn.size > 1 else 0
            )
            if numbers > SHARED_MAX:
                raise checker.fail((*place, "values", name), f"{self.keys.high:,} rows have about {numbers:,.0f} numbers that neighbours share, too many to draw",
                                   "Take fewer rows, more of them for each number, or as many for each: {rows: 10}.")  # fmt: skip
        for name, statement in self.statements.items():
            statement.check(name, (*place, "statements", name), checker)
        if self.serial_consistency is not None and not any(statement.is_conditional for statement in self.statements.values()):
            raise checker.fail((*place, "serial_consistency"), "no statement has a condition", "Add IF … to one, or leave it out.")
        if all(statement.weight == 0 for statement in self.statements.values()):
            raise checker.fail((*place, "statements"), "no statement has a weight above 0", "Give one a weight.")
        if self.populate is not None:
            checker.known(self.populate, self.statements, "the statement", (*place, "populate"))
            if verb(self.statements[self.populate].cql) not in ("INSERT", "UPDATE", "BEGIN"):
                raise checker.fail((*place, "populate"), f"{self.populate} writes no rows", "Name an INSERT, UPDATE or BATCH.")
