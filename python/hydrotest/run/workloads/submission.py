"""Submits a program of `jobs/` to the Spark under test, and keeps its driver up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Generic, TypeVar

from hydrotest.hosts.base import Host
from hydrotest.hosts.files import place
from hydrotest.jobs.jars import MAINS, job_jar
from hydrotest.load.spark import Application, Submitted
from hydrotest.run.lifecycle.fetching import fetch_file
from hydrotest.run.workloads.base import Bench
from hydrotest.spec.choice import expected
from hydrotest.spec.dataflow import driver_service
from hydrotest.spec.fields import PropertyValue
from hydrotest.store import layout
from hydrotest.systems.base import System
from hydrotest.systems.spark.client import CONF, PROPERTIES, SparkAccess, SparkClient

PORT_TRIES = 100
SERVICES = "spark"
"""How the names of the services of Spark begin: masters, workers with their executors, drivers."""


async def submission(
    bench: Bench,
    spark: SparkClient,
    host: Host,
    folder: PurePath,
    job: str,
    jars: Sequence[PurePath] = (),
    extra: Mapping[str, PropertyValue] | None = None,
) -> Application:
    """A program of `jobs/` as an application whose driver runs on `host`, with its files in `folder`.

    `jars`: folders of jars that it needs in addition to Spark's; `extra`: properties of its own. The
    experiment's `config` takes precedence.
    """
    events = events_on(bench, host)
    await host.make_folder(events)
    await spark.bring(host)
    own = {**(extra or {}), **(await _ports(spark, host) if host.machine else {})}
    await place(host, folder, spark.render_application(host, events, own))
    jar = await host.copy_of(job_jar(job, ":".join(f"{path}/*" for path in (spark.home / "jars", *jars)), spark.version))
    argv = [str(spark.home_on(host) / "bin" / "spark-class"), "org.apache.spark.deploy.SparkSubmit",
            "--properties-file", str(folder / PROPERTIES), "--class", MAINS[job], str(jar)]  # fmt: skip
    return Application(argv, spark.environment(host, folder / CONF, folder), spark.names, bench.runner.breached)


def events_on(bench: Bench, host: Host) -> PurePath:
    """Where the event logs of drivers on a host are: the run folder, or a folder there."""
    return host.data_directory / layout.SPARK_EVENTS if host.machine else (bench.runner.folder.path / layout.SPARK_EVENTS).resolve()


async def _ports(spark: SparkClient, driver: Host) -> dict[str, PropertyValue]:
    """Ports of an application that the network between machines lets pass; executors of one machine take the next ones."""
    own: dict[str, PropertyValue] = {
        "spark.driver.port": await driver.free_port(),
        "spark.driver.blockManager.port": await driver.free_port(),
    }
    executors = {} if spark.executor_host is None else {"spark.blockManager.port": await spark.executor_host.free_port()}
    return {**own, **executors, "spark.port.maxRetries": PORT_TRIES}


D = TypeVar("D", bound=Submitted)
Needs = tuple[Sequence[PurePath], Mapping[str, PropertyValue]]
"""Folders of jars in addition to Spark's own, on the controller's machine, and properties."""


class LongLivedDriver(Generic[D]):
    """The driver of a workload's program.

    It stays up for the run and has Spark's workers for itself; restarted if it dies.
    """

    def __init__(
        self,
        name: str,
        bench: Bench,
        host: Host,
        job: str,
        needs: Callable[[], Awaitable[Needs]],
        start: Callable[[Application, PurePath, PurePath], Awaitable[D]],
    ) -> None:
        """`needs` is called before each start; `start` gets the application, its folder and its log."""
        self.name = name
        self.bench = bench
        self.host = host
        self.job = job
        self._needs = needs
        self._start = start
        self.system: System = bench.systems["spark"]
        self.spark = expected(self.system, SparkAccess).client
        self.driver: D | None = None
        self._log = PurePath()
        self.starts = 0
        """Number of starts."""

    async def running(self) -> D:
        """The driver, started if need be. Raises `TrialFailedError` with the end of its log."""
        if self.driver is None or not self.driver.is_alive:
            await self.spark.take(self.leave)
            self.bench.listener.phase(f"starting the driver of {self.name}")
            self.starts += 1
            label = f"{self.name}-driver-{self.starts}"
            folder = self.host.scratch(self.bench.run) / label
            self._log = log = self.system.log_folder(self.host) / f"{label}.log"
            jars, extra = await self._needs()
            application = await submission(self.bench, self.spark, self.host, folder, self.job, jars, extra)
            self.driver = await self._start(application, folder, log)
            await self.bench.runner.sampling.watch(self.host.name, driver_service(self.name), self.driver.pid)
        return self.driver

    async def leave(self) -> None:
        """Ends the driver; another may be started later."""
        if self.driver is not None:
            driver, self.driver = self.driver, None
            try:
                await driver.stop()
                await self.bench.runner.sampling.unwatch(self.host.name, driver_service(self.name))
            finally:
                await self._fetch()

    async def _fetch(self) -> None:
        """Brings what a driver on another machine has written into the run folder."""
        run = self.bench.runner.folder.path
        await fetch_file(self.host, self._log, run / layout.SYSTEM_LOGS)
        for log in await self.host.glob(events_on(self.bench, self.host), "*") if self.host.machine else ():
            await fetch_file(self.host, log, run / layout.SPARK_EVENTS)
