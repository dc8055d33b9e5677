"""How applications run on a Spark, whoever started it: Spark on the hosts of drivers, and their settings."""

from __future__ import annotations

import asyncio
import os
from abc import ABC
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path, PurePath

from hydrotest.hosts.base import Host
from hydrotest.hosts.files import Private
from hydrotest.spec.fields import PropertyValue
from hydrotest.spec.spark import Spark
from hydrotest.systems.base import processors_option, resource
from hydrotest.systems.fetch import ProgressCallback
from hydrotest.systems.java import BRIEF
from hydrotest.systems.properties import properties_text
from hydrotest.systems.spark.home import find_spark

CONF = "conf"
PROPERTIES = "spark.conf"
LOGGING = {f"{CONF}/log4j2.properties": resource("hydrotest.systems.spark", "log4j2.properties")}
"""Of daemons and applications alike."""


class SparkClient:
    """What drivers need."""

    def __init__(self, spec: Spark, authentication: Mapping[str, PropertyValue]) -> None:
        """`authentication`: properties that only stand in private files."""
        self.spec = spec
        self.authentication = dict(authentication)
        self.own: dict[str, PropertyValue] = {}
        """Properties that the experiment's `config` does not overrule."""
        self.url = ""
        """The master's, for applications."""
        self.slots = 0
        """Most cores of an application."""
        self.names: dict[str, str] = {}
        """Host names by address, for Spark's reports of its executors."""
        self.executor_host: Host | None = None
        """One whose ports executors use; None where they take any."""
        self.version = "unknown"
        self.home = PurePath()
        """Spark on the controller's machine; `home_on` has it on a host."""
        self._homes: dict[str, PurePath] = {}
        self._java_homes: dict[str, PurePath] = {}
        """Both by machine."""
        self._holder: Callable[[], Awaitable[None]] | None = None

    async def find(self, say: ProgressCallback) -> None:
        """Finds Spark on the controller's machine. Raises `BadInputError` or `RunFailedError`."""
        self.home, self.version = await asyncio.to_thread(find_spark, self.spec.home, self.spec.release, say)

    async def take(self, leave: Callable[[], Awaitable[None]]) -> None:
        """Frees the workers for an application: only one has them at a time.

        The current one leaves, as the new one later will by `leave`.
        """
        if self._holder is not None:
            await self._holder()
        self._holder = leave

    async def bring(self, host: Host) -> None:
        """Makes Spark and a Java known on a host, and brings Spark there if need be; for one that is to have a driver, too."""
        if host.machine not in self._homes:
            self._java_homes[host.machine] = (await host.java()).parent.parent
            self._homes[host.machine] = await host.copy_of(Path(self.home))

    def home_on(self, host: Host) -> PurePath:
        """Spark's folder on a host that it was brought to."""
        return self._homes[host.machine]

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
                "SPARK_LOCAL_DIRS": str(folder / "local"), "SPARK_NO_DAEMONIZE": "1", "JAVA_HOME": java_home,
                # Of the program that only puts a command line together.
                "SPARK_LAUNCHER_OPTS": " ".join(BRIEF), **cores}  # fmt: skip

    def render_application(self, host: Host, events: PurePath, own: Mapping[str, PropertyValue]) -> dict[str, str]:
        """An application's files: its private properties (`application`, and its authentication), and a
        configuration folder."""
        return {PROPERTIES: Private(properties_text(self.application(host, events, own) | self.authentication)), **LOGGING}

    def application(self, host: Host, events: PurePath, own: Mapping[str, PropertyValue]) -> dict[str, PropertyValue]:
        """Settings of an application whose driver runs on `host`, with its `own`; without its authentication.

        The experiment's `config` takes precedence.
        """
        defaults: dict[str, PropertyValue] = {
            "spark.app.name": "hydrotest",
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
            "spark.cores.max": self.slots,
            "spark.scheduler.minRegisteredResourcesRatio": 1.0,
            "spark.ui.enabled": False,
            # One plain file, complete line by line, so that the log of a killed driver can be read.
            "spark.eventLog.enabled": True,
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.rolling.enabled": False,
            "spark.eventLog.compress": False,
        }
        return defaults | dict(own) | self.spec.config | self.own


class SparkAccess(ABC):
    """A Spark that applications run on."""

    client: SparkClient
