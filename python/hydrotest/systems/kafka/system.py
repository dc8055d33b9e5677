"""Kafka in KRaft mode: every host is broker and controller."""

from __future__ import annotations

import asyncio
import os
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from hydrotest.errors import SystemFailedError, TrialFailedError
from hydrotest.hosts.base import Host, ask
from hydrotest.hosts.cluster import Cluster
from hydrotest.hosts.command import run_command
from hydrotest.hosts.files import Private, place
from hydrotest.spec.fields import PropertyValue
from hydrotest.spec.kafka import Kafka
from hydrotest.systems.base import (
    Command,
    Distribution,
    Placement,
    Ready,
    System,
    claim_port,
    exporter_option,
    gauges_url,
    processors_option,
    resource,
)
from hydrotest.systems.fetch import KAFKA, KAFKA_3_9, ProgressCallback
from hydrotest.systems.java import BRIEF, COMPILERS_FIRST, writes_at_end
from hydrotest.systems.kafka.attached import AttachedKafka
from hydrotest.systems.kafka.secured import LISTENER, Secured
from hydrotest.systems.properties import properties_text
from hydrotest.systems.service import OnDeath
from hydrotest.units import show_count

JVM_OPTIONS = (
    "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true",
)  # fmt: skip
"""From Kafka's own start script."""


RELEASES = {"4.3": KAFKA, "3.9": KAFKA_3_9}
PROPERTIES = "server.properties"
RESOURCES = ("gauges.yaml", "log4j2.xml", "log4j.properties")
CREDENTIALS = "kafka-credentials"
"""The folder of credentials, on each host."""


@dataclass(frozen=True)
class Ports:
    """The ports of one broker."""

    client: int
    controller: int
    exporter: int
    internal: int
    """For traffic between brokers, where the clients' port is secured."""


class KafkaSystem(System):
    """A running Kafka cluster."""

    name = "kafka"

    def __init__(self, spec: Kafka, hosts: Sequence[Host], run: str, logs: PurePath, on_death: OnDeath) -> None:
        super().__init__(hosts, run, logs, on_death)
        self.spec = spec
        self.ends_in_order = writes_at_end(spec.jvm)
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

    async def start(self, say: ProgressCallback) -> None:
        distribution = Distribution(RELEASES[self.spec.release], self.spec.home, os.environ.get("KAFKA_HOME"), "libs")
        self.version = await self._find_programs(self.hosts, distribution, say)
        say(f"kafka {self.version}: starting {show_count(len(self.hosts), 'broker')}")
        self._ports = [
            Ports(await claim_port(host, self.spec.port, "kafka"), *[await host.free_port() for _ in range(3)]) for host in self.hosts
        ]
        if self.spec.security is not None:
            self._secured = Secured.make(self.spec.security, [host.address for host in self.hosts])
        for index, host in enumerate(self.hosts):
            if self._secured is not None and (credentials := self._secured.render(index)):
                await place(host, self._credentials(index), credentials)
            await self._place(host, _name(index), self.render(index))
        cluster = cluster_id(uuid.uuid4().bytes)
        await asyncio.gather(*(self._format(index, cluster) for index in range(len(self.hosts))))
        for index, host in enumerate(self.hosts):
            await self._start(host, _name(index), self.command(index))
        await self._make_logins()
        await self.until_ready()

    def render(self, index: int) -> dict[str, str]:
        """A broker's files. Its properties may hold a password."""
        own = {PROPERTIES: Private(properties_text(self.properties(index)))}
        return own | {name: resource("hydrotest.systems.kafka", name) for name in RESOURCES}

    def command(self, index: int) -> Command:
        """How a broker is started."""
        host, folder, port = self.hosts[index], self._folder(index), self._ports[index].exporter
        programs = self.programs(host)
        heap = f"{self.spec.heap // 2**20}m"
        argv = [
            str(programs.java), f"-Xms{heap}", f"-Xmx{heap}", *JVM_OPTIONS, *COMPILERS_FIRST, *processors_option(host),
            *self.jvm_options(host, [exporter_option(programs.exporter, port, folder / "gauges.yaml")]), *self.spec.jvm,
            f"-Dlog4j2.configurationFile={(folder / 'log4j2.xml').as_uri()}",
            f"-Dlog4j.configuration={(folder / 'log4j.properties').as_uri()}",
            "-cp", f"{programs.jars}/*", "kafka.Kafka", str(folder / PROPERTIES),
        ]  # fmt: skip
        return Command(argv, gauges_url=gauges_url(port))

    def _folder(self, index: int) -> PurePath:
        return self.folder_of(self.hosts[index], _name(index))

    def _credentials(self, index: int) -> PurePath:
        return self.folder_of(self.hosts[index], CREDENTIALS)

    async def _format(self, index: int, cluster: str) -> None:
        folder, programs = self._folder(index), self.programs(self.hosts[index])
        classes = [] if self.recorded is not None else self.jvm_options(self.hosts[index], [])
        argv = [str(programs.java), *BRIEF, *classes, "-Xmx256m", "-cp", f"{programs.jars}/*", "kafka.tools.StorageTool", "format", "-t", cluster,
                "-c", str(folder / PROPERTIES)]  # fmt: skip
        try:
            await run_command("kafka.tools.StorageTool", argv, self.hosts[index], folder / "format.log")
        except TrialFailedError as error:
            raise SystemFailedError(
                f"kafka: its storage cannot be formatted: {error.message}", "See `config:` of kafka in the experiment."
            ) from error

    async def _make_logins(self) -> None:
        """Gives the cluster, by the brokers' own listener, the logins that its properties do not contain."""
        scram = None if self._secured is None else self._secured.scram()
        if scram is None:
            return
        inside = Cluster([f"{host.address}:{ports.internal}" for host, ports in zip(self.hosts, self._ports, strict=True)])
        await self._await_ready(self._there(inside))
        await ask(self.hosts[0], "query", {"kafka": {"query": "set_scram", "cluster": inside.wire(), **scram}})

    def ready(self) -> list[Ready]:
        return [self._there(self.cluster)]

    def whole(self) -> list[Ready]:
        return [self._there(self.cluster, lambda answer: answer["behind"] == 0)]

    def _there(self, cluster: Cluster, also: Callable[[Any], bool] = lambda _: True) -> Ready:
        question = {"kafka": {"query": "brokers", "cluster": cluster.wire()}}
        return Ready(question, lambda answer: len(answer["brokers"]) == len(self.hosts) and also(answer))

    def properties(self, index: int) -> dict[str, PropertyValue]:
        """A broker's server properties; the experiment's `config` takes precedence."""
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
            "log.dirs": str(self._folder(index) / "data"),
            "auto.create.topics.enable": False,
            "offsets.topic.replication.factor": copies,
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": 1,
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            # Topics of ended trials leave the disk at once: else it fills, and their removal falls into the
            # next trial.
            "log.segment.delete.delay.ms": 0,
            # A soak's old segments go when they are due, not five minutes later.
            "log.retention.check.interval.ms": 10_000,
            "delete.topic.enable": True,
        }
        secured = {} if self._secured is None else self._secured.server_properties(index, self._credentials(index))
        return defaults | secured | self.spec.config


def _name(index: int) -> str:
    return f"kafka-{index}"


def cluster_id(seed: bytes) -> str:
    """Sixteen bytes in Kafka's format of an id: URL-safe base64.

    It never begins with a dash, which its tools would take as an option.
    """
    return urlsafe_b64encode(bytes([seed[0] & 0x7F]) + seed[1:]).decode().rstrip("=")


def make(spec: Kafka, placement: Placement) -> System:
    """See `kinds.system.SystemKind`."""
    if spec.is_attached:
        return AttachedKafka(spec, placement.askers("kafka"), placement.at(spec.hosts))
    return KafkaSystem(spec, placement.at(spec.hosts), placement.run, placement.logs, placement.on_death)
