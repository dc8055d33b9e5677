"""Cassandra: a ring, or a single node."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import PurePath
from typing import Any

import yaml

from hydrotest.errors import BadInputError
from hydrotest.hosts.base import Host, ask
from hydrotest.hosts.cluster import Cluster, Login, Tls
from hydrotest.hosts.deadlines import at_once
from hydrotest.spec.cassandra import Cassandra, CassandraSecurity
from hydrotest.systems.base import (
    Command,
    Distribution,
    Placement,
    Ready,
    System,
    exporter_option,
    gauges_url,
    processors_option,
    resource,
    shared_port,
)
from hydrotest.systems.cassandra.attached import AttachedCassandra
from hydrotest.systems.cassandra.ring import TOKENS, Place, even_tokens
from hydrotest.systems.credentials import AUTHORITY, Authority, Issued, new_password
from hydrotest.systems.fetch import CASSANDRA, ProgressCallback
from hydrotest.systems.java import COMPILERS_FIRST, writes_at_end
from hydrotest.systems.service import OnDeath
from hydrotest.units import show_count

_EXPORTS = (
    "java.base/jdk.internal.misc", "java.base/jdk.internal.ref", "java.base/sun.nio.ch",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi", "java.rmi/sun.rmi.registry", "java.rmi/sun.rmi.server",
    "java.sql/java.sql", "java.base/java.lang.ref", "jdk.unsupported/sun.misc",
)  # fmt: skip
_OPENS = (
    "java.base/java.lang.module", "java.base/jdk.internal.loader", "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect", "java.base/jdk.internal.math", "java.base/jdk.internal.module",
    "java.base/jdk.internal.util.jar", "java.base/jdk.internal.misc", "jdk.management/com.sun.management.internal",
    "java.base/sun.nio.ch", "java.base/java.io", "java.base/java.nio", "java.base/java.lang", "java.base/java.lang.reflect",
    "java.base/java.util", "java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic", "java.base/java.net",
)  # fmt: skip
JVM_OPTIONS = (
    "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=300", "-XX:+ParallelRefProcEnabled", "-XX:+AlwaysPreTouch",
    "-XX:+UseThreadPriorities", "-XX:+HeapDumpOnOutOfMemoryError", "-Xss256k", "-XX:+PerfDisableSharedMem",
    "-Djdk.attach.allowAttachSelf=true", "-Djava.net.preferIPv4Stack=true", "-Dio.netty.tryReflectionSetAccessible=true",
    *(part for name in _EXPORTS for part in ("--add-exports", f"{name}=ALL-UNNAMED")),
    *(part for name in _OPENS for part in ("--add-opens", f"{name}=ALL-UNNAMED")),
)  # fmt: skip
"""From Cassandra's own jvm-server.options and jvm17-server.options."""


RING_DELAY_MS = 2_000
"""How long a joining node waits for gossip of the others; Cassandra's own is 30 s."""
FIRST_LOGIN_MS = 1_000
"""Between two attempts to make the first login; Cassandra's own is 10 s."""

FIRST_LOGIN = Login("PLAIN", "cassandra", "cassandra")
"""The login that a new node has."""
RESOURCES = ("gauges.yaml", "logback.xml")
SETTINGS, RACK = "cassandra.yaml", "cassandra-rackdc.properties"
CREDENTIALS = "credentials"
"""The folder of certificates and passwords, in that of a node."""


class CassandraSystem(System):
    """A running Cassandra ring.

    All its nodes have the same ports: drivers know the other nodes only by address.
    """

    name = "cassandra"

    def __init__(
        self, spec: Cassandra, hosts: Sequence[Host], places: Sequence[Place], run: str, logs: PurePath, on_death: OnDeath
    ) -> None:
        super().__init__(hosts, run, logs, on_death)
        self.spec = spec
        self.ends_in_order = writes_at_end(spec.jvm)
        self.places = list(places)
        self.version = "unknown"
        self._client_port = 0
        self.storage_port = 0
        self._exporter_ports: dict[int, int] = {}
        self._authority: Authority | None = None
        self._issued: dict[int, Issued] = {}
        """With encryption, each node's certificate."""
        self._tls: Tls | None = None
        self._login: Login | None = None
        self._tokens = even_tokens(places, spec.config)
        """Of the nodes that begin the ring at once."""
        self._jamm: dict[str, PurePath] = {}
        """The agent's jar, by machine."""

    @property
    def endpoints(self) -> list[str]:
        return [f"{host.address}:{self._client_port}" for host in self.hosts]

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.endpoints, self._tls, self._login)

    async def start(self, say: ProgressCallback) -> None:
        await self._find(self.hosts, say)
        say(f"cassandra {self.version}: starting {show_count(len(self.hosts), 'node')}")
        self._client_port = await shared_port(self.hosts, self.spec.port, "cassandra")
        self.storage_port = await shared_port(self.hosts, None, "cassandra")
        security = self.spec.security or CassandraSecurity()
        if security.tls:
            self._authority = Authority()
            self._tls = self._authority.client(security.client_certificates)
        if security.password:
            self._login = FIRST_LOGIN
        if self._tokens is None:
            for index in range(len(self.hosts)):
                await self._join(index)
        else:
            await at_once(self._begin(index) for index in range(len(self.hosts)))
        # One after the other: together they take as long on one machine as each alone would.
        for host in self.hosts:
            self.version = (await self._await_ready(self._serves(host)))["version"]
        await self.until_ready()
        if security.password:
            await self._change_password()

    async def add_node(self, host: Host, place: Place, say: ProgressCallback) -> None:
        """Lets one more node join the running ring, and returns when all know it.

        Raises `SystemFailedError`.
        """
        await self._find([host], say)
        self.hosts.append(host)
        self.places.append(place)
        await self._join(len(self.hosts) - 1)
        await self.until_ready()

    async def _find(self, hosts: Sequence[Host], say: ProgressCallback) -> None:
        distribution = Distribution(CASSANDRA, self.spec.home, os.environ.get("CASSANDRA_HOME"), "lib")
        version = await self._find_programs(hosts, distribution, say)
        if self.version == "unknown":  # a running node has said its own
            self.version = version
        for host in hosts:
            jars = self.programs(host).jars
            found = await host.glob(jars, "jamm-*.jar")
            if not found:
                raise BadInputError(
                    "the folder holds no jamm-*.jar, which Cassandra needs as an agent", "Give a whole Cassandra distribution.", file=jars
                )
            self._jamm[host.machine] = found[0]

    async def _join(self, index: int) -> None:
        """Nodes that are not given their parts of the ring join one after the other: each takes its own from the existing ones."""
        await self._begin(index)
        await self._await_ready(self._knows(self.hosts[index], index + 1))

    async def _begin(self, index: int) -> None:
        """Starts a node."""
        host = self.hosts[index]
        self._exporter_ports[index] = await host.free_port()
        if self._authority is not None:
            self._issued[index] = self._authority.issue(_name(index), [host.address])
        await self._place(host, _name(index), self.render(index))
        await self._start(host, _name(index), self.command(index))

    def _folder(self, index: int) -> PurePath:
        return self.folder_of(self.hosts[index], _name(index))

    def render(self, index: int) -> dict[str, str]:
        """A node's files."""
        rendered = {
            SETTINGS: yaml.safe_dump(self.settings(index)),
            RACK: "".join(f"{key}={value}\n" for key, value in asdict(self.places[index]).items()),
            **{name: resource("hydrotest.systems.cassandra", name) for name in RESOURCES},
        }
        if self._authority is not None:
            credentials = self._authority.render() | self._issued[index].render()
            rendered |= {f"{CREDENTIALS}/{name}": text for name, text in credentials.items()}
        return rendered

    def command(self, index: int) -> Command:
        """How a node is started."""
        host, folder, port = self.hosts[index], self._folder(index), self._exporter_ports[index]
        programs = self.programs(host)
        heap = f"{self.spec.heap // 2**20}m"
        agents = [f"-javaagent:{self._jamm[host.machine]}", exporter_option(programs.exporter, port, folder / "gauges.yaml")]
        argv = [
            str(programs.java), f"-Xms{heap}", f"-Xmx{heap}", *JVM_OPTIONS, *COMPILERS_FIRST, *processors_option(host),
            *self.jvm_options(host, agents), *self.spec.jvm,
            f"-Dcassandra.config={(folder / SETTINGS).as_uri()}", f"-Dcassandra.storagedir={folder}",
            f"-Dcassandra-rackdc.properties={(folder / RACK).as_uri()}",
            f"-Dlogback.configurationFile={(folder / 'logback.xml').as_uri()}", f"-Dcassandra.logdir={folder}",
            "-Dcassandra-foreground=yes", "-Dcassandra.skip_wait_for_gossip_to_settle=0",
            # There is no load yet, so the ring is quiet: gossip does not need half a minute to be everywhere.
            f"-Dcassandra.ring_delay_ms={RING_DELAY_MS}",
            # The first login is there at once, not after ten seconds. Where other nodes have to agree, it is
            # tried again each time, which must not keep a core busy.
            f"-Dcassandra.superuser_setup_delay_ms={0 if len(self.hosts) == 1 else FIRST_LOGIN_MS}",
            "-cp", f"{programs.jars}/*", "org.apache.cassandra.service.CassandraDaemon",
        ]  # fmt: skip
        return Command(argv, gauges_url=gauges_url(port))

    async def _change_password(self) -> None:
        """Replaces the well-known default password."""
        login = replace(FIRST_LOGIN, password=new_password())
        question = {"query": "set_password", "cluster": self.cluster.wire(), "user": login.user, "password": login.password}
        await ask(self.hosts[0], "query", {"cassandra": question})
        self._login = login
        await self.until_ready()

    def ready(self) -> list[Ready]:
        return [self._knows(host, len(self.hosts)) for host in self.hosts]

    def _serves(self, host: Host) -> Ready:
        """A node serves, however many others it knows."""
        return Ready(self._question(host), lambda answer: answer["nodes"] > 0)

    def _knows(self, host: Host, count: int) -> Ready:
        """A node serves, and knows so many nodes, itself included."""
        return Ready(self._question(host), lambda answer: answer["nodes"] == count)

    def _question(self, host: Host) -> dict[str, Any]:
        alone = Cluster([f"{host.address}:{self._client_port}"], self._tls, self._login)
        return {"cassandra": {"query": "nodes", "cluster": alone.wire()}}

    def settings(self, index: int) -> dict[str, Any]:
        """A node's cassandra.yaml; the experiment's `config` takes precedence."""
        host, folder = self.hosts[index], self._folder(index)
        copies = min(3, len(self.hosts))
        parts: dict[str, Any]
        if self._tokens is None or index >= len(self._tokens):
            # Parts of equal size for tables with that many copies; random tokens do not give that.
            parts = {"allocate_tokens_for_local_replication_factor": copies}
        else:
            parts = {"initial_token": ",".join(map(str, self._tokens[index]))}
        # A seed takes nothing from others when it joins. All that are given their parts are seeds: none waits for another one.
        founders = self.hosts[:1] if self._tokens is None else self.hosts[: len(self._tokens)]
        seeds = ",".join(f"{host.address}:{self.storage_port}" for host in founders)
        defaults: dict[str, Any] = {
            "cluster_name": "hydrotest",
            "num_tokens": TOKENS,
            **parts,
            "default_keyspace_rf": copies,
            "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
            "endpoint_snitch": "GossipingPropertyFileSnitch",
            "seed_provider": [{"class_name": "org.apache.cassandra.locator.SimpleSeedProvider", "parameters": [{"seeds": seeds}]}],
            "listen_address": host.address,
            "rpc_address": host.address,
            "storage_port": self.storage_port,
            "native_transport_port": self._client_port,
            "commitlog_sync": "periodic",
            # Cassandra refuses it together with another mode.
            **({"commitlog_sync_period": "10000ms"} if self.spec.config.get("commitlog_sync", "periodic") == "periodic" else {}),
            "data_file_directories": [str(folder / "data")],
            "commitlog_directory": str(folder / "commitlog"),
            "saved_caches_directory": str(folder / "saved_caches"),
            "hints_directory": str(folder / "hints"),
            "cdc_raw_directory": str(folder / "cdc_raw"),
            # A dropped keyspace of ours leaves the disk at once.
            "auto_snapshot": False,
        }
        if self._login is not None:
            defaults["authenticator"] = {"class_name": "org.apache.cassandra.auth.PasswordAuthenticator"}
        if self._authority is not None and self._tls is not None:
            credentials = folder / CREDENTIALS
            defaults["client_encryption_options"] = {
                "enabled": True, "optional": False, "require_client_auth": self._tls.identity is not None,
                "ssl_context_factory": {"class_name": "org.apache.cassandra.security.PEMBasedSslContextFactory"},
                "keystore": str(credentials / self._issued[index].both_name), "truststore": str(credentials / AUTHORITY),
            }  # fmt: skip
        return defaults | self.spec.config


def _name(index: int) -> str:
    return f"cassandra-{index}"


def make(spec: Cassandra, placement: Placement) -> System:
    """See `kinds.system.SystemKind`."""
    if spec.is_attached:
        return AttachedCassandra(spec, placement.askers("cassandra"), placement.at(spec.hosts))
    places = [Place(host.data_center, host.rack) for host in (placement.experiment.hosts[name] for name in spec.hosts)]
    return CassandraSystem(spec, placement.at(spec.hosts), places, placement.run, placement.logs, placement.on_death)
