"""Cassandra, one node."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from hydrotest.errors import BadInputError
from hydrotest.hosts.base import Host, Service
from hydrotest.spec.models import Cassandra
from hydrotest.systems.base import System, claim_port, exporter_option, jars_of
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


class CassandraSystem(System):
    """A running Cassandra node."""

    name = "cassandra"

    def __init__(self, spec: Cassandra, hosts: Sequence[Host], run: str, logs: Path, on_death: OnDeath) -> None:
        super().__init__(hosts, run, logs, on_death)
        self.spec = spec
        self.version = "unknown"
        self._client_port = 0

    @property
    def endpoints(self) -> list[str]:
        return [f"{self.hosts[0].address}:{self._client_port}"]

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
            "-cp", ":".join(f"{jars}/*" for jars in folders), "org.apache.cassandra.service.CassandraDaemon",
        ]  # fmt: skip
        url = f"http://{host.address}:{exporter_port}/metrics"
        await self._launch(host, Service("cassandra-0", argv, folder, self.logs / "cassandra-0.log"), url)
        await self.until_ready()

    async def until_ready(self) -> None:
        question = {"cassandra": {"ask": "nodes", "contact_points": self.endpoints}}
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
        return defaults | self.spec.config


def _resource(name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(resources.files("hydrotest.systems.cassandra").joinpath(name).read_bytes())
    return path
