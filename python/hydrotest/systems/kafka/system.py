"""Kafka in KRaft mode: every host is broker and controller."""

from __future__ import annotations

import os
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from hydrotest.errors import SystemFailedError, TrialFailedError
from hydrotest.hosts.base import Host, Service
from hydrotest.hosts.command import run_command
from hydrotest.spec.fields import PropertyValue
from hydrotest.spec.models import Kafka
from hydrotest.systems.base import System, claim_port, exporter_option, jars_of, property_text
from hydrotest.systems.fetch import KAFKA, Say
from hydrotest.systems.java import COMPILERS_FIRST, find_java
from hydrotest.systems.service import OnDeath

JVM_OPTIONS = (
    "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true",
)  # fmt: skip
"""Those of Kafka's own start script."""


class KafkaSystem(System):
    """A running Kafka cluster."""

    name = "kafka"

    def __init__(self, spec: Kafka, hosts: Sequence[Host], run: str, logs: Path, on_death: OnDeath) -> None:
        super().__init__(hosts, run, logs, on_death)
        self.spec = spec
        self.version = "unknown"
        self._ports: list[tuple[int, int, int]] = []

    @property
    def endpoints(self) -> list[str]:
        return [f"{host.address}:{client}" for host, (client, _, _) in zip(self.hosts, self._ports, strict=True)]

    async def start(self, say: Say) -> None:
        java = find_java()
        folders, self.version = jars_of(KAFKA, self.spec.home, os.environ.get("KAFKA_HOME"), "libs", say)
        classpath = ":".join(f"{folder}/*" for folder in folders)
        say(f"kafka {self.version}: starting {len(self.hosts)} broker(s)")
        self._ports = [(claim_port(host, self.spec.port, "kafka"), host.free_port(), host.free_port()) for host in self.hosts]
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        for index, host in enumerate(self.hosts):
            folder = host.scratch(self.run) / f"kafka-{index}"
            folder.mkdir(parents=True, exist_ok=True)
            properties = folder / "server.properties"
            properties.write_text(render(self.properties(index, folder / "data")))
            await _format(java, classpath, properties, cluster, host)
            gauges = _resource("gauges.yaml", folder)
            exporter_port = self._ports[index][2]
            heap = f"{self.spec.heap // 2**20}m"
            argv = [
                str(java), f"-Xms{heap}", f"-Xmx{heap}", *JVM_OPTIONS, *COMPILERS_FIRST, *self.spec.jvm,
                f"-Dlog4j2.configurationFile={_resource('log4j2.xml', folder)}",
                exporter_option(exporter_port, host.address, gauges, say),
                "-cp", classpath, "kafka.Kafka", str(properties),
            ]  # fmt: skip
            log = self.logs / f"kafka-{index}.log"
            url = f"http://{host.address}:{exporter_port}/metrics"
            await self._launch(host, Service(f"kafka-{index}", argv, folder, log), url)
        await self.until_ready()

    async def until_ready(self) -> None:
        question = {"kafka": {"ask": "brokers", "bootstrap": self.endpoints}}
        await self._await_ready(question, lambda answer: len(answer["brokers"]) == len(self.hosts))

    def properties(self, index: int, data: Path) -> dict[str, PropertyValue]:
        """A broker's server properties; the experiment's `config` has the last word."""
        host = self.hosts[index]
        client, controller, _ = self._ports[index]
        copies = min(3, len(self.hosts))
        listeners = f"PLAINTEXT://{host.address}:{client},CONTROLLER://{host.address}:{controller}"
        voters = ",".join(f"{i + 1}@{h.address}:{ports[1]}" for i, (h, ports) in enumerate(zip(self.hosts, self._ports, strict=True)))
        defaults: dict[str, PropertyValue] = {
            "process.roles": "broker,controller",
            "node.id": index + 1,
            "controller.quorum.voters": voters,
            "listeners": listeners,
            "advertised.listeners": f"PLAINTEXT://{host.address}:{client}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
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
        return defaults | self.spec.config


def render(properties: dict[str, PropertyValue]) -> str:
    """A Java properties file."""
    return "".join(f"{key}={property_text(value)}\n" for key, value in properties.items())


def _resource(name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(resources.files("hydrotest.systems.kafka").joinpath(name).read_bytes())
    return path


async def _format(java: Path, classpath: str, properties: Path, cluster: str, host: Host) -> None:
    argv = [str(java), "-Xmx256m", "-cp", classpath, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)]
    try:
        await run_command("kafka.tools.StorageTool", argv, host, properties.with_name("format.log"))
    except TrialFailedError as error:
        raise SystemFailedError(
            f"kafka: its storage cannot be formatted: {error.message}", "See `config:` of kafka in the experiment."
        ) from error
