"""Cassandra, one node."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from hydrotest.errors import BadInputError
from hydrotest.hosts.base import Host, Service, ask
from hydrotest.hosts.cluster import Cluster, Login, TlsFiles
from hydrotest.spec.models import Cassandra, CassandraSecurity
from hydrotest.systems.base import System, claim_port, exporter_option, jars_of
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


FIRST_LOGIN = Login("PLAIN", "cassandra", "cassandra")
"""The login that a new node has."""


class CassandraSystem(System):
    """A running Cassandra node."""

    name = "cassandra"

    def __init__(self, spec: Cassandra, hosts: Sequence[Host], run: str, logs: Path, on_death: OnDeath) -> None:
        super().__init__(hosts, run, logs, on_death)
        self.spec = spec
        self.version = "unknown"
        self._client_port = 0
        self._authority: Authority | None = None
        self._tls: TlsFiles | None = None
        self._login: Login | None = None

    @property
    def endpoints(self) -> list[str]:
        return [f"{self.hosts[0].address}:{self._client_port}"]

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.endpoints, self._tls, self._login)

    async def start(self, say: Say) -> None:
        java = find_java()
        host = self.hosts[0]
        folders, self.version = jars_of(CASSANDRA, self.spec.home, os.environ.get("CASSANDRA_HOME"), "lib", say)
        say(f"cassandra {self.version}: starting {len(self.hosts)} node(s)")
        jamm = [jar for folder in folders for jar in folder.glob("jamm-*.jar")]
        if not jamm:
            raise BadInputError(
                f"{folders[0]} holds no jamm-*.jar, which Cassandra needs as an agent", "Give a whole Cassandra distribution."
            )
        self._client_port = claim_port(host, self.spec.port, "cassandra")
        folder = host.scratch(self.run) / "cassandra-0"
        folder.mkdir(parents=True, exist_ok=True)
        security = self.spec.security or CassandraSecurity()
        if security.tls:
            self._authority = Authority(folder / "credentials")
            self._tls = self._authority.client_files(security.client_certificates)
        if security.password:
            self._login = FIRST_LOGIN
        settings = folder / "cassandra.yaml"
        settings.write_text(yaml.safe_dump(self.settings(folder)))
        exporter_port = host.free_port()
        heap = f"{self.spec.heap // 2**20}m"
        argv = [
            str(java), f"-Xms{heap}", f"-Xmx{heap}", *JVM_OPTIONS, *COMPILERS_FIRST, *self.spec.jvm,
            f"-javaagent:{jamm[0]}",
            exporter_option(exporter_port, host.address, _resource("gauges.yaml", folder), say),
            f"-Dcassandra.config=file://{settings}", f"-Dcassandra.storagedir={folder}",
            f"-Dlogback.configurationFile={_resource('logback.xml', folder)}", f"-Dcassandra.logdir={folder}",
            "-Dcassandra-foreground=yes", "-Dcassandra.skip_wait_for_gossip_to_settle=0",
            # The first login is there at once, not after ten seconds.
            "-Dcassandra.superuser_setup_delay_ms=0",
            "-cp", ":".join(f"{jars}/*" for jars in folders), "org.apache.cassandra.service.CassandraDaemon",
        ]  # fmt: skip
        url = f"http://{host.address}:{exporter_port}/metrics"
        await self._launch(host, Service("cassandra-0", argv, folder, self.logs / "cassandra-0.log"), url)
        await self.until_ready()
        if security.password:
            await self._change_password()

    async def _change_password(self) -> None:
        """Nobody comes in by the password that everybody knows."""
        login = replace(FIRST_LOGIN, password=new_password())
        question = {"ask": "set_password", "cluster": self.cluster.wire(), "user": login.user, "password": login.password}
        await ask(self.hosts[0], "ask", {"cassandra": question})
        self._login = login
        await self.until_ready()

    async def until_ready(self) -> None:
        question = {"cassandra": {"ask": "nodes", "cluster": self.cluster.wire()}}
        answer = await self._await_ready(question, lambda answer: answer["nodes"] == len(self.hosts))
        self.version = answer["version"]

    def settings(self, folder: Path) -> dict[str, Any]:
        """cassandra.yaml; the experiment's `config` has the last word."""
        host = self.hosts[0]
        storage_port = host.free_port()
        seed = f"{host.address}:{storage_port}"
        defaults: dict[str, Any] = {
            "cluster_name": "hydrotest",
            "num_tokens": 16,
            "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
            "endpoint_snitch": "SimpleSnitch",
            "seed_provider": [{"class_name": "org.apache.cassandra.locator.SimpleSeedProvider", "parameters": [{"seeds": seed}]}],
            "listen_address": host.address,
            "rpc_address": host.address,
            "storage_port": storage_port,
            "native_transport_port": self._client_port,
            "commitlog_sync": "periodic",
            "commitlog_sync_period": "10000ms",
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
            own = self._authority.issue("cassandra-0", [host.address])
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
