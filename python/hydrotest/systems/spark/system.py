"""Spark standalone: a master and its workers. `load.spark` runs the drivers.

Any client that can submit an application runs code as the user of the workers. So master, workers,
drivers and executors authenticate to each other by a secret of the run. It is kept in property files
that only their owner can read; a worker gives it to its executors in the environment.
Source: Spark's "Security" page, "Spark RPC"; `SecurityManager` and `CommandUtils` of its deploy package.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from hydrotest.hosts.base import Host
from hydrotest.hosts.files import Private
from hydrotest.spec.fields import PropertyValue
from hydrotest.spec.spark import SPARK_DAEMON_BYTES, Spark
from hydrotest.systems.base import Command, Placement, Ready, System, claim_port
from hydrotest.systems.credentials import new_secret
from hydrotest.systems.fetch import ProgressCallback
from hydrotest.systems.java import writes_at_end
from hydrotest.systems.properties import properties_text
from hydrotest.systems.service import OnDeath
from hydrotest.systems.spark.attached import AttachedSpark
from hydrotest.systems.spark.client import CONF, LOGGING, SparkAccess, SparkClient
from hydrotest.units import show_count

MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
DAEMON: dict[str, PropertyValue] = {
    # The REST server takes submissions without authentication, and the web pages take requests to end an
    # application.
    "spark.master.rest.enabled": False,
    "spark.ui.killEnabled": False,
}
"""Properties of a master or worker."""


@dataclass(frozen=True)
class Daemon:
    """A master or a worker."""

    name: str
    host: Host
    main: str
    arguments: Sequence[str]


class SparkSystem(System, SparkAccess):
    """A running standalone cluster."""

    name = "spark"

    def __init__(self, spec: Spark, master: Host, workers: Sequence[Host], run: str, logs: PurePath, on_death: OnDeath) -> None:
        super().__init__(list(dict.fromkeys([master, *workers])), run, logs, on_death)
        self.spec = spec
        self.ends_in_order = writes_at_end(spec.jvm)
        self.master = master
        self.workers = list(workers)
        self.client = SparkClient(spec, {"spark.authenticate": True, "spark.authenticate.secret": new_secret()})
        self.client.names = {host.address: host.name for host in self.workers}
        self.client.executor_host = self.workers[0]
        self.version = "unknown"
        self._port = 0
        self._status_url = ""

    @property
    def endpoints(self) -> list[str]:
        return [f"{self.master.address}:{self._port}"]

    async def start_head(self, say: ProgressCallback) -> None:
        await self.client.find(say)
        self.version = self.client.version
        say(f"spark {self.version}: starting a master and {show_count(len(self.workers), 'worker')}")
        self._port = await claim_port(self.master, self.spec.port, "spark")
        self.client.url = f"spark://{self.endpoints[0]}"
        for host in self.hosts:
            await self.client.bring(host)
        status = await self.master.free_port()
        self._status_url = f"http://{self.master.address}:{status}/json/"
        master = self._master(status)
        await self._start_daemon(master)
        await self._await_ready(Ready(self._question, lambda answer: _status(answer)["status"] == "ALIVE"))

    async def start(self, say: ProgressCallback) -> None:
        for index, host in enumerate(self.workers):
            await self._start_daemon(await self._worker(index, host, self.spec.cores or (await host.facts()).cores))
        (alive,) = self.ready()
        self.client.slots = _status(await self._await_ready(alive))["cores"]

    def _master(self, status_port: int) -> Daemon:
        arguments = ["--host", self.master.address, "--port", str(self._port), "--webui-port", str(status_port)]
        return Daemon("spark-master", self.master, MASTER, arguments)

    async def _worker(self, index: int, host: Host, cores: int) -> Daemon:
        name = f"spark-worker-{index}"
        arguments = [
            "--host", host.address, "--port", str(await host.free_port()), "--webui-port", str(await host.free_port()), "--cores", str(cores),
            "--memory", f"{self.spec.memory // 2**20}m", "--work-dir", str(self.folder_of(host, name) / "work"), self.client.url,
        ]  # fmt: skip
        return Daemon(name, host, WORKER, arguments)

    @property
    def _question(self) -> dict[str, Any]:
        return {"http": {"url": self._status_url}}

    def ready(self) -> list[Ready]:
        """The master's answer when it has all workers."""
        return [Ready(self._question, lambda answer: _status(answer)["aliveworkers"] == len(self.workers))]

    async def _start_daemon(self, daemon: Daemon) -> None:
        # No other user may look into it; its files are private, too.
        await daemon.host.make_folder(self.folder_of(daemon.host, daemon.name) / CONF, 0o700)
        await self._place(daemon.host, daemon.name, self.render())
        await self._start(daemon.host, daemon.name, self.command(daemon))

    def render(self) -> dict[str, str]:
        """A daemon's files: a configuration folder of our own, free of the distribution's and the user's
        settings."""
        return {**LOGGING, f"{CONF}/spark-defaults.conf": Private(properties_text(DAEMON | self.client.authentication))}

    def command(self, daemon: Daemon) -> Command:
        """How a daemon is started."""
        folder = self.folder_of(daemon.host, daemon.name)
        argv = [str(self.client.home_on(daemon.host) / "bin" / "spark-class"), daemon.main, *daemon.arguments]
        env = self.client.environment(daemon.host, folder / CONF, folder) | {"SPARK_DAEMON_MEMORY": f"{SPARK_DAEMON_BYTES // 2**20}m"}
        if self.spec.jvm:
            env["SPARK_DAEMON_JAVA_OPTS"] = " ".join(self.spec.jvm)
        return Command(argv, env)


def _status(answer: Any) -> dict[str, Any]:
    status: dict[str, Any] = json.loads(answer["body"])
    return status


def make(spec: Spark, placement: Placement) -> System:
    """See `kinds.system.SystemKind`."""
    if spec.is_attached:
        return AttachedSpark(spec, placement.askers("spark"), placement.at(spec.hosts), placement.run, placement.logs)
    assert spec.master is not None
    return SparkSystem(spec, placement.hosts[spec.master], placement.at(spec.workers), placement.run, placement.logs, placement.on_death)
