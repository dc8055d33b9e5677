"""Cassandra: a ring, or a node alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from hydrotest.errors import BadInputError
from hydrotest.hosts.base import Host, Service, ask
from hydrotest.hosts.cluster import Cluster, Login, TlsFiles
from hydrotest.spec.models import Cassandra, CassandraSecurity
from hydrotest.systems.base import System, exporter_option, jars_of, processors_option, shared_port
from hydrotest.systems.credentials import Authority, new_password
from hydrotest.systems.fetch import CASSANDRA, Say
from hydrotest.systems.java import COMPILERS_FIRST, find_java
from hydrotest.systems.service import OnDeath

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
"""Those of Cassandra's own jvm-server.options and jvm17-server.options."""


RING_DELAY_MS = 2_000
"""How long a joining node waits for news of the others; Cassandra's own is 30 s."""
FIRST_LOGIN_MS = 1_000
"""Between two attempts to make the first login; Cassandra's own is 10 s."""

FIRST_LOGIN = Login("PLAIN", "cassandra", "cassandra")
"""The login that a new node has."""


@dataclass(frozen=True)
class Place:
    """Where a node stands, by the names in cassandra-rackdc.properties."""

    dc: str
    rack: str


class CassandraSystem(System):
    """A running Cassandra ring. All its nodes have the same ports: drivers know the others by their addresses alone."""

    name = "cassandra"

    def __init__(self, spec: Cassandra, hosts: Sequence[Host], places: Sequence[Place], run: str, logs: Path, on_death: OnDeath) -> None:
        super().__init__(hosts, run, logs, on_death)
        self.spec = spec
        self.places = list(places)
        self.version = "unknown"
        self._client_port = 0
        self.storage_port = 0
        self._authority: Authority | None = None
        self._tls: TlsFiles | None = None
        self._login: Login | None = None

    @property
    def endpoints(self) -> list[str]:
        return [f"{host.address}:{self._client_port}" for host in self.hosts]

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.endpoints, self._tls, self._login)

    async def start(self, say: Say) -> None:
        folders, self.version = jars_of(CASSANDRA, self.spec.home, os.environ.get("CASSANDRA_HOME"), "lib", say)
        say(f"cassandra {self.version}: starting {len(self.hosts)} node(s)")
        self._client_port = shared_port(self.hosts, self.spec.port, "cassandra")
        self.storage_port = shared_port(self.hosts, None, "cassandra")
        security = self.spec.security or CassandraSecurity()
        if security.tls:
            self._authority = Authority(self._folder(0) / "credentials")
            self._tls = self._authority.client_files(security.client_certificates)
        if security.password:
            self._login = FIRST_LOGIN
        for index in range(len(self.hosts)):
            await self._join(index, folders, say)
        await self.until_ready()
        if security.password:
            await self._change_password()

    async def add_node(self, host: Host, place: Place, say: Say) -> None:
        """Has one more node join the running ring, and returns when all know it. Raises `SystemFailedError`."""
        folders, _ = jars_of(CASSANDRA, self.spec.home, os.environ.get("CASSANDRA_HOME"), "lib", say)
        self.hosts.append(host)
        self.places.append(place)
        await self._join(len(self.hosts) - 1, folders, say)
        await self.until_ready()

    async def _join(self, index: int, folders: Sequence[Path], say: Say) -> None:
        """One joins after the other: each takes its part of the ring from those that are there."""
        await self._start_node(index, folders, say)
        await self._until_knows(self.hosts[index], index + 1)

    def _folder(self, index: int) -> Path:
        folder = self.hosts[index].scratch(self.run) / f"cassandra-{index}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    async def _start_node(self, index: int, folders: Sequence[Path], say: Say) -> None:
        host, folder = self.hosts[index], self._folder(index)
        jamm = [jar for jars in folders for jar in jars.glob("jamm-*.jar")]
        if not jamm:
            raise BadInputError(
                f"{folders[0]} holds no jamm-*.jar, which Cassandra needs as an agent", "Give a whole Cassandra distribution."
            )
        settings = folder / "cassandra.yaml"
        settings.write_text(yaml.safe_dump(self.settings(index, folder)))
        place = folder / "cassandra-rackdc.properties"
        place.write_text("".join(f"{key}={value}\n" for key, value in asdict(self.places[index]).items()))
        exporter_port = host.free_port()
        heap = f"{self.spec.heap // 2**20}m"
        argv = [
            str(find_java()), f"-Xms{heap}", f"-Xmx{heap}", *JVM_OPTIONS, *COMPILERS_FIRST, *processors_option(host), *self.spec.jvm,
            f"-javaagent:{jamm[0]}",
            exporter_option(exporter_port, host.address, _resource("gauges.yaml", folder), say),
            f"-Dcassandra.config={settings.as_uri()}", f"-Dcassandra.storagedir={folder}", f"-Dcassandra-rackdc.properties={place.as_uri()}",
            f"-Dlogback.configurationFile={_resource('logback.xml', folder).as_uri()}", f"-Dcassandra.logdir={folder}",
            "-Dcassandra-foreground=yes", "-Dcassandra.skip_wait_for_gossip_to_settle=0",
            # Nothing has pressed yet, so the ring is quiet: news of a node need not half a minute to be everywhere.
            f"-Dcassandra.ring_delay_ms={RING_DELAY_MS}",
            # The first login is there at once, not after ten seconds; where other nodes have to agree, it is tried again each time, which must not keep a core busy.
            f"-Dcassandra.superuser_setup_delay_ms={0 if len(self.hosts) == 1 else FIRST_LOGIN_MS}",
            "-cp", ":".join(f"{jars}/*" for jars in folders), "org.apache.cassandra.service.CassandraDaemon",
        ]  # fmt: skip
        url = f"http://{host.address}:{exporter_port}/metrics"
        name = f"cassandra-{index}"
        await self._launch(host, Service(name, argv, folder, self.logs / f"{name}.log"), url)

    async def _change_password(self) -> None:
        """Nobody comes in by the password that everybody knows."""
        login = replace(FIRST_LOGIN, password=new_password())
        question = {"ask": "set_password", "cluster": self.cluster.wire(), "user": login.user, "password": login.password}
        await ask(self.hosts[0], "ask", {"cassandra": question})
        self._login = login
        await self.until_ready()

    async def until_ready(self) -> None:
        for host in self.hosts:
            await self._until_knows(host, len(self.hosts))

    async def _until_knows(self, host: Host, count: int) -> None:
        """Until a node serves, and knows so many nodes, itself included."""
        alone = Cluster([f"{host.address}:{self._client_port}"], self._tls, self._login)
        question = {"cassandra": {"ask": "nodes", "cluster": alone.wire()}}
        answer = await self._await_ready(question, lambda answer: answer["nodes"] == count)
        self.version = answer["version"]

    def settings(self, index: int, folder: Path) -> dict[str, Any]:
        """A node's cassandra.yaml; the experiment's `config` has the last word."""
        host = self.hosts[index]
        seed = f"{self.hosts[0].address}:{self.storage_port}"
        copies = min(3, len(self.hosts))
        defaults: dict[str, Any] = {
            "cluster_name": "hydrotest",
            "num_tokens": 16,
            # Parts of equal size for tables of that many copies, which random tokens do not give.
            "allocate_tokens_for_local_replication_factor": copies,
            "default_keyspace_rf": copies,
            "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
            "endpoint_snitch": "GossipingPropertyFileSnitch",
            "seed_provider": [{"class_name": "org.apache.cassandra.locator.SimpleSeedProvider", "parameters": [{"seeds": seed}]}],
            "listen_address": host.address,
            "rpc_address": host.address,
            "storage_port": self.storage_port,
            "native_transport_port": self._client_port,
            "commitlog_sync": "periodic",
            # Cassandra refuses it beside another way.
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
            own = self._authority.issue(f"cassandra-{index}", [host.address])
            defaults["client_encryption_options"] = {
                "enabled": True, "optional": False, "require_client_auth": self._tls.certificate is not None,
                "ssl_context_factory": {"class_name": "org.apache.cassandra.security.PEMBasedSslContextFactory"},
                "keystore": str(own.both), "truststore": str(self._authority.certificate),
            }  # fmt: skip
        return defaults | self.spec.config


def _resource(name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(resources.files("hydrotest.systems.cassandra").joinpath(name).read_bytes())
    return path
