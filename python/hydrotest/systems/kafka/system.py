"""Kafka in KRaft mode: every host is broker and controller."""

from __future__ import annotations

import asyncio
import os
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from hydrotest.errors import SystemFailedError, TrialFailedError
from hydrotest.hosts.base import Host, Service, ask
from hydrotest.hosts.cluster import Cluster
from hydrotest.hosts.command import run_command
from hydrotest.spec.fields import PropertyValue
from hydrotest.spec.models import Kafka
from hydrotest.systems.base import System, claim_port, exporter_option, jars_of, processors_option
from hydrotest.systems.credentials import write_private
from hydrotest.systems.fetch import KAFKA, KAFKA_3_9, Say
from hydrotest.systems.java import COMPILERS_FIRST, find_java
from hydrotest.systems.kafka.secured import LISTENER, Secured
from hydrotest.systems.properties import properties_text
from hydrotest.systems.service import OnDeath

JVM_OPTIONS = (
    "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true",
)  # fmt: skip
"""Those of Kafka's own start script."""


RELEASES = {"4.3": KAFKA, "3.9": KAFKA_3_9}


@dataclass(frozen=True)
class Ports:
    """Those of one broker."""

    client: int
    controller: int
    exporter: int
    internal: int
    """For the brokers among themselves, where the clients' one is secured."""


class KafkaSystem(System):
    """A running Kafka cluster."""

    name = "kafka"

    def __init__(self, spec: Kafka, hosts: Sequence[Host], run: str, logs: Path, on_death: OnDeath) -> None:
        super().__init__(hosts, run, logs, on_death)
        self.spec = spec
        self.version = "unknown"
        self._ports: list[Ports] = []
        self._secured: Secured | None = None

    @property
    def endpoints(self) -> list[str]:
        return [f"{host.address}:{ports.client}" for host, ports in zip(self.hosts, self._ports, strict=True)]

    @property
    def cluster(self) -> Cluster:
        secured = self._secured
        return Cluster(self.endpoints) if secured is None else Cluster(self.endpoints, secured.tls, secured.login)

    async def start(self, say: Say) -> None:
        java = find_java()
        folders, self.version = jars_of(RELEASES[self.spec.release], self.spec.home, os.environ.get("KAFKA_HOME"), "libs", say)
        classpath = ":".join(f"{folder}/*" for folder in folders)
        say(f"kafka {self.version}: starting {len(self.hosts)} broker(s)")
        self._ports = [
            Ports(claim_port(host, self.spec.port, "kafka"), host.free_port(), host.free_port(), host.free_port()) for host in self.hosts
        ]
        if self.spec.security is not None:
            self._secured = Secured.make(self.spec.security, self.hosts[0].scratch(self.run) / "kafka-credentials")
        files = [self._write_properties(index) for index in range(len(self.hosts))]
        cluster = cluster_id(uuid.uuid4().bytes)
        await asyncio.gather(*(_format(java, classpath, file, cluster, host) for file, host in zip(files, self.hosts, strict=True)))
        for index, (host, properties) in enumerate(zip(self.hosts, files, strict=True)):
            folder = properties.parent
            gauges = _resource("gauges.yaml", folder)
            exporter_port = self._ports[index].exporter
            heap = f"{self.spec.heap // 2**20}m"
            argv = [
                str(java), f"-Xms{heap}", f"-Xmx{heap}", *JVM_OPTIONS, *COMPILERS_FIRST, *processors_option(host), *self.spec.jvm,
                f"-Dlog4j2.configurationFile={_resource('log4j2.xml', folder).as_uri()}",
                f"-Dlog4j.configuration={_resource('log4j.properties', folder).as_uri()}",
                exporter_option(exporter_port, host.address, gauges, say),
                "-cp", classpath, "kafka.Kafka", str(properties),
            ]  # fmt: skip
            log = self.logs / f"kafka-{index}.log"
            url = f"http://{host.address}:{exporter_port}/metrics"
            await self._launch(host, Service(f"kafka-{index}", argv, folder, log), url)
        await self._make_logins()
        await self.until_ready()

    def _write_properties(self, index: int) -> Path:
        folder = self.hosts[index].scratch(self.run) / f"kafka-{index}"
        folder.mkdir(parents=True, exist_ok=True)
        return write_private(folder / "server.properties", properties_text(self.properties(index, folder / "data")).encode())

    async def _make_logins(self) -> None:
        """Tells the cluster, by the brokers' own listener, of logins that its properties do not hold."""
        scram = None if self._secured is None else self._secured.scram()
        if scram is None:
            return
        inside = Cluster([f"{host.address}:{ports.internal}" for host, ports in zip(self.hosts, self._ports, strict=True)])
        await self._until_there(inside)
        await ask(self.hosts[0], "ask", {"kafka": {"ask": "set_scram", "cluster": inside.wire(), **scram}})

    async def until_ready(self) -> None:
        await self._until_there(self.cluster)

    async def until_whole(self) -> None:
        await self._until_there(self.cluster, lambda answer: answer["behind"] == 0)

    async def _until_there(self, cluster: Cluster, also: Callable[[Any], bool] = lambda _: True) -> None:
        question = {"kafka": {"ask": "brokers", "cluster": cluster.wire()}}
        await self._await_ready(question, lambda answer: len(answer["brokers"]) == len(self.hosts) and also(answer))

    def properties(self, index: int, data: Path) -> dict[str, PropertyValue]:
        """A broker's server properties; the experiment's `config` has the last word."""
        host = self.hosts[index]
        own = self._ports[index]
        copies = min(3, len(self.hosts))
        voters = ",".join(
            f"{i + 1}@{h.address}:{ports.controller}" for i, (h, ports) in enumerate(zip(self.hosts, self._ports, strict=True))
        )
        if self._secured is None:
            names = {"PLAINTEXT": ("PLAINTEXT", own.client)}
        else:
            names = {LISTENER: (self._secured.protocol, own.client), "INTERNAL": ("PLAINTEXT", own.internal)}
        listeners = [f"{name}://{host.address}:{port}" for name, (_, port) in names.items()]
        protocols = [f"{name}:{protocol}" for name, (protocol, _) in names.items()]
        defaults: dict[str, PropertyValue] = {
            "process.roles": "broker,controller",
            "node.id": index + 1,
            "controller.quorum.voters": voters,
            "listeners": ",".join([*listeners, f"CONTROLLER://{host.address}:{own.controller}"]),
            "advertised.listeners": ",".join(listeners),
            "listener.security.protocol.map": ",".join([*protocols, "CONTROLLER:PLAINTEXT"]),
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": list(names)[-1],
            "log.dirs": str(data),
            "auto.create.topics.enable": False,
            "offsets.topic.replication.factor": copies,
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": 1,
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            # Topics of ended trials leave the disk at once: or it fills, and their removal falls into the next trial.
            "log.segment.delete.delay.ms": 0,
            # A soak's old segments go when they are due, not five minutes later.
            "log.retention.check.interval.ms": 10_000,
            "delete.topic.enable": True,
        }
        secured = {} if self._secured is None else self._secured.server_properties(index, host.address)
        return defaults | secured | self.spec.config


def _resource(name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(resources.files("hydrotest.systems.kafka").joinpath(name).read_bytes())
    return path


def cluster_id(seed: bytes) -> str:
    """Sixteen bytes as Kafka writes an id: URL-safe base64, never beginning with a dash, which its tools would take for an option."""
    return urlsafe_b64encode(bytes([seed[0] & 0x7F]) + seed[1:]).decode().rstrip("=")


async def _format(java: Path, classpath: str, properties: Path, cluster: str, host: Host) -> None:
    argv = [str(java), "-Xmx256m", "-cp", classpath, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)]
    try:
        await run_command("kafka.tools.StorageTool", argv, host, properties.with_name("format.log"))
    except TrialFailedError as error:
        raise SystemFailedError(
            f"kafka: its storage cannot be formatted: {error.message}", "See `config:` of kafka in the experiment."
        ) from error
