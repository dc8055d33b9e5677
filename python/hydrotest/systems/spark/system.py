"""Spark standalone: a master and its workers. `load.spark` runs the drivers.

Any client that can submit an application runs code as the user of the workers. So master, workers,
drivers and executors authenticate to each other by a secret of the run. It is kept in property files
that only their owner can read; a worker gives it to its executors in the environment.
Source: Spark's "Security" page, "Spark RPC"; `SecurityManager` and `CommandUtils` of its deploy package.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from hydrotest.hosts.base import Host
from hydrotest.hosts.files import Private
from hydrotest.spec.fields import PropertyValue
from hydrotest.spec.spark import SPARK_DAEMON_BYTES, Spark
from hydrotest.systems.base import Command, Placement, Ready, System, claim_port, processors_option, resource
from hydrotest.systems.credentials import new_secret
from hydrotest.systems.fetch import ProgressCallback
from hydrotest.systems.properties import properties_text
from hydrotest.systems.service import OnDeath
from hydrotest.systems.spark.home import find_spark
from hydrotest.units import show_count

CONF = "conf"
PROPERTIES = "spark.conf"
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
DAEMON: dict[str, PropertyValue] = {
    # The REST server takes submissions without authentication, and the web pages take requests to end an
    # application.
    "spark.master.rest.enabled": False,
    "spark.ui.killEnabled": False,
}
"""Properties of a master or worker."""
LOGGING = {f"{CONF}/log4j2.properties": resource("hydrotest.systems.spark", "log4j2.properties")}
"""Of daemons and applications alike."""


@dataclass(frozen=True)
class Daemon:
    """A master or a worker."""

    name: str
    host: Host
    main: str
    arguments: Sequence[str]


class SparkSystem(System):
    """A running standalone cluster."""

    name = "spark"

    def __init__(self, spec: Spark, master: Host, workers: Sequence[Host], run: str, logs: PurePath, on_death: OnDeath) -> None:
        super().__init__(list(dict.fromkeys([master, *workers])), run, logs, on_death)
        self.spec = spec
        self.master = master
        self.workers = list(workers)
        self.names = {host.address: host.name for host in self.workers}
        """Host names by address, for Spark's reports of its executors."""
        self.version = "unknown"
        self.home = PurePath()
        """Spark on the controller's machine; `home_on` has it on a host."""
        self._homes: dict[str, PurePath] = {}
        self._java_homes: dict[str, PurePath] = {}
        """Both by machine."""
        self._port = 0
        self._status_url = ""
        self._slots = 0
        """Slots of all workers."""
        self._authentication: dict[str, PropertyValue] = {"spark.authenticate": True, "spark.authenticate.secret": new_secret()}
        """For private files only."""
        self._holder: Callable[[], Awaitable[None]] | None = None

    async def take(self, leave: Callable[[], Awaitable[None]]) -> None:
        """Frees the workers for an application: only one has them at a time.

        The current one leaves, as the new one later will by `leave`.
        """
        if self._holder is not None:
            await self._holder()
        self._holder = leave

    @property
    def endpoints(self) -> list[str]:
        return [f"{self.master.address}:{self._port}"]

    @property
    def url(self) -> str:
        """The master's URL for applications."""
        return f"spark://{self.endpoints[0]}"

    async def start(self, say: ProgressCallback) -> None:
        self.home, self.version = await asyncio.to_thread(find_spark, self.spec.home, self.spec.release, say)
        say(f"spark {self.version}: starting a master and {show_count(len(self.workers), 'worker')}")
        self._port = await claim_port(self.master, self.spec.port, "spark")
        for host in self.hosts:
            await self.bring(host)
        status = await self.master.free_port()
        self._status_url = f"http://{self.master.address}:{status}/json/"
        master = self._master(status)
        await self._start_daemon(master)
        await self._await_ready(Ready(self._question, lambda answer: _status(answer)["status"] == "ALIVE"))
        for index, host in enumerate(self.workers):
            await self._start_daemon(await self._worker(index, host, self.spec.cores or (await host.facts()).cores))
        (alive,) = self.ready()
        self._slots = _status(await self._await_ready(alive))["cores"]

    async def bring(self, host: Host) -> None:
        """Makes Spark and a Java known on a host, and brings Spark there if need be; for one that is to have a driver, too."""
        if host.machine not in self._homes:
            self._java_homes[host.machine] = (await host.java()).parent.parent
            self._homes[host.machine] = await host.copy_of(Path(self.home))

    def home_on(self, host: Host) -> PurePath:
        """Spark's folder on a host that it was brought to."""
        return self._homes[host.machine]

    def _master(self, status_port: int) -> Daemon:
        arguments = ["--host", self.master.address, "--port", str(self._port), "--webui-port", str(status_port)]
        return Daemon("spark-master", self.master, MASTER, arguments)

    async def _worker(self, index: int, host: Host, cores: int) -> Daemon:
        name = f"spark-worker-{index}"
        arguments = [
            "--host", host.address, "--port", str(await host.free_port()), "--webui-port", str(await host.free_port()), "--cores", str(cores),
            "--memory", f"{self.spec.memory // 2**20}m", "--work-dir", str(self.folder_of(host, name) / "work"), self.url,
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
        return {**LOGGING, f"{CONF}/spark-defaults.conf": Private(properties_text(DAEMON | self._authentication))}

    def command(self, daemon: Daemon) -> Command:
        """How a daemon is started."""
        folder = self.folder_of(daemon.host, daemon.name)
        argv = [str(self.home_on(daemon.host) / "bin" / "spark-class"), daemon.main, *daemon.arguments]
        env = self.environment(daemon.host, folder / CONF, folder) | {"SPARK_DAEMON_MEMORY": f"{SPARK_DAEMON_BYTES // 2**20}m"}
        if self.spec.jvm:
            env["SPARK_DAEMON_JAVA_OPTS"] = " ".join(self.spec.jvm)
        return Command(argv, env)

    def environment(self, host: Host, conf: PurePath, folder: PurePath) -> dict[str, str]:
        """The environment of Spark's scripts.

        SPARK_LOCAL_IP is the only address that they listen on. SPARK_LOCAL_DIRS, below the process's own
        `folder`, gets shuffles and spills. By default that is /tmp: another disk than the one that is
        measured and bounded, and a killed executor leaves them there.
        """
        java_home = str(self._java_homes[host.machine])
        if not host.machine:
            java_home = os.environ.get("JAVA_HOME", java_home)
        # Executors take their environment from their worker, so that they too know the cores of its host.
        cores = {"JAVA_TOOL_OPTIONS": " ".join(options)} if (options := processors_option(host)) else {}
        return {"SPARK_HOME": str(self.home_on(host)), "SPARK_CONF_DIR": str(conf), "SPARK_LOCAL_IP": host.address,
                "SPARK_LOCAL_DIRS": str(folder / "local"), "SPARK_NO_DAEMONIZE": "1", "JAVA_HOME": java_home, **cores}  # fmt: skip

    def render_application(self, host: Host, events: PurePath, own: Mapping[str, PropertyValue]) -> dict[str, str]:
        """An application's files: its private properties (`application`, and its authentication), and a
        configuration folder."""
        return {PROPERTIES: Private(properties_text(self.application(host, events, own) | self._authentication)), **LOGGING}

    def application(self, host: Host, events: PurePath, own: Mapping[str, PropertyValue]) -> dict[str, PropertyValue]:
        """Settings of an application whose driver runs on `host`, with its `own`; without its authentication.

        The experiment's `config` takes precedence.
        """
        defaults: dict[str, PropertyValue] = {
            "spark.master": self.url,
            "spark.submit.deployMode": "client",
            "spark.driver.host": host.address,
            "spark.driver.bindAddress": host.address,
            "spark.driver.memory": f"{self.spec.driver_memory // 2**20}m",
            "spark.executor.memory": f"{self.spec.memory // 2**20}m",
            # No task starts before all executors are there (or half a minute is over). Otherwise data kept in
            # memory would be where the first ones are, and later tasks go where their data is. Only this
            # maximum
            # gives the scheduler their number.
            "spark.cores.max": self._slots,
            "spark.scheduler.minRegisteredResourcesRatio": 1.0,
            "spark.ui.enabled": False,
            # One plain file, complete line by line, so that the log of a killed driver can be read.
            "spark.eventLog.enabled": True,
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.rolling.enabled": False,
            "spark.eventLog.compress": False,
        }
        return defaults | dict(own) | self.spec.config


def _status(answer: Any) -> dict[str, Any]:
    status: dict[str, Any] = json.loads(answer["body"])
    return status


def make(spec: Spark, placement: Placement) -> SparkSystem:
    """See `kinds.system.SystemKind`."""
    return SparkSystem(spec, placement.hosts[spec.master], placement.at(spec.workers), placement.run, placement.logs, placement.on_death)
