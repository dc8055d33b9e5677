"""hydrotest's own queries of Structured Streaming, in a driver that stays up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import Host
from hydrotest.hosts.deadlines import Patience, within
from hydrotest.load.flow import FlowDriver
from hydrotest.load.spark import READY_S_MAX, Application
from hydrotest.percentiles import PERCENTILES
from hydrotest.run.workloads.base import Bench
from hydrotest.run.workloads.engines.base import BEGIN_S_MAX, Engine, Places
from hydrotest.run.workloads.submission import SERVICES, LongLivedDriver, Needs
from hydrotest.spec.choice import expected
from hydrotest.spec.dataflow import Dataflow, driver_service, query_service
from hydrotest.spec.fields import PropertyValue
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.systems.fetch import SPARK_CASSANDRA, SPARK_KAFKA, fetch
from hydrotest.systems.hdfs.system import CLIENT

END_S_MAX = 60.0
ACCOUNT_S_MAX = 900.0
DRAIN_MARGIN_S = 10.0
PROMISES = {"kafka": "at least once", "directory": "exactly once", "hdfs": "exactly once", "cassandra": "at least once"}
"""Guarantees of Structured Streaming's sinks. Source: Spark's Structured Streaming guide, "Output Sinks"."""


class SparkEngine(Engine):
    """Queries of Structured Streaming in a driver that stays up."""

    def __init__(self, name: str, spec: Dataflow, bench: Bench, host: Host) -> None:
        super().__init__(name, spec, bench, host)
        self._kept = LongLivedDriver(name, bench, host, "flow", self._needs, self._start)
        self._whole = asyncio.Event()
        """Set while neither the driver nor a query is taken away."""
        self._whole.set()
        self._places: Places | None = None
        """Of the current pipeline."""
        bench.background[self.driver_name] = DriverTarget(self)
        source = expected(bench.experiment.workloads[spec.reads], KafkaProduce)
        for query in spec.queries(source.levels):
            bench.background[query_service(name, query)] = QueryTarget(self, query)

    @property
    def driver_name(self) -> str:
        """Its driver's name, among the services."""
        return driver_service(self.name)

    @property
    def lasting_services(self) -> tuple[str, ...]:
        return (SERVICES,)

    @property
    def starts(self) -> int:
        return self._kept.starts

    async def ready(self) -> None:
        await self._kept.running()

    async def _needs(self) -> Needs:
        folders = [await asyncio.to_thread(fetch, bundle, self.bench.listener.say) for bundle in (SPARK_KAFKA, SPARK_CASSANDRA)]
        # Of the driver's host: it hands them to its executors itself.
        jars = sorted([await self.host.copy_of(one) / jar.name for one in folders for jar in one.glob("*.jar")])
        properties: dict[str, PropertyValue] = {"spark.jars": ",".join(map(str, jars))}
        properties |= {f"spark.hadoop.{key}": value for key, value in CLIENT.items()}
        cores = self._kept.spark.spec.cores
        if self.spec.executors is not None and cores is not None:
            properties |= {"spark.executor.cores": cores, "spark.cores.max": self.spec.executors * cores}
        return folders, properties

    async def _start(self, application: Application, folder: PurePath, log: PurePath) -> FlowDriver:
        driver = await FlowDriver.start(self.name, application, self.host, folder, log)
        self.progress, self.endings = driver.progress, driver.endings
        return driver

    async def begin(self, places: Places) -> None:
        driver = await self._kept.running()
        driver.progress.clear()
        driver.endings.clear()
        await self._pipe(driver, places)

    async def _pipe(self, driver: FlowDriver, places: Places) -> None:
        """Starts the queries, or resumes them from their checkpoints."""
        self._places = places
        windows = None
        if places.windows is not None and self.spec.windows is not None:
            windows = {"topic": places.windows, "micros": round(self.spec.windows * 1e6), "tasks": self.spec.partitions}
        wish = {"brokers": self.brokers, "input": places.input, "branches": places.branches,
                "sinks": [self.sink(name, places) for name in self.spec.sinks], "checkpoints": places.checkpoints,
                "windows": windows, "restarts": self.spec.restarts, "is_real_time": self.spec.mode == "real-time",
                "trigger_ms": None if self.spec.trigger is None else round(self.spec.trigger * 1e3),
                "offsets_per_trigger": self.spec.offsets_per_trigger}  # fmt: skip
        await driver.ask("begin", BEGIN_S_MAX, **wish)

    async def inject(self, how: str) -> None:
        """Takes the driver away."""
        assert self._kept.driver is not None
        self._whole.clear()
        await self._kept.driver.signal("stop" if how == "pause" else "term" if how == "stop" else "kill")
        if how != "pause" and self._kept.driver.is_alive:
            # A driver that takes its time to end would be mistaken for its successor.
            await self._kept.driver.stop()

    async def restore(self, how: str) -> None:
        """Resumes the paused driver, or starts a new one from the checkpoints."""
        assert self._kept.driver is not None
        assert self._places is not None
        try:
            if how == "pause":
                await self._kept.driver.signal("cont")
                return
            await self._kept.driver.take_in()
            stated, ended = list(self.progress), list(self.endings)
            driver = await self._kept.running()
            driver.progress[:0] = stated
            driver.endings[:0] = ended
            await self._pipe(driver, self._places)
        finally:
            # Also on failure: nothing may wait for it.
            self._whole.set()

    async def halt(self, query: str) -> None:
        """Stops a query in the middle of its batch."""
        assert self._kept.driver is not None
        self._whole.clear()
        try:
            await self._kept.driver.ask("halt", END_S_MAX, query=query)
        except BaseException:  # a query that could not be taken away, or a run that is being ended: nothing will bring it back
            self._whole.set()
            raise

    async def resume(self, query: str) -> None:
        """Resumes it from its checkpoint."""
        assert self._kept.driver is not None
        try:
            await self._kept.driver.ask("resume", BEGIN_S_MAX, query=query)
        finally:
            self._whole.set()

    async def drained(self, places: Places) -> float | None:
        # A driver or query that was taken away on purpose comes back.
        patience = Patience.of(a_driver_to_start=READY_S_MAX, its_queries_to_begin=BEGIN_S_MAX)
        await within(self._whole.wait(), patience, self.driver_name, "come back")
        driver = self._kept.driver
        if driver is None or not driver.is_alive:
            raise TrialFailedError(f"{self.driver_name} is gone" if driver is None else driver.death or "")
        answer = await driver.ask("drain", self.spec.drain + DRAIN_MARGIN_S, seconds=self.spec.drain)
        return time.time() if answer["drained"] else None

    def promise(self, sink: str) -> str | None:
        return PROMISES[sink]

    async def end(self) -> None:
        if self._kept.driver is not None and self._kept.driver.is_alive:
            await self._kept.driver.ask("end", END_S_MAX)

    async def counted(self, sink: dict[str, Any], levels: Sequence[str], from_s: float, to_s: float) -> dict[str, Any]:
        driver = await self._kept.running()
        return await driver.ask(
            "account",
            ACCOUNT_S_MAX,
            sink=sink,
            levels=list(levels),
            brokers=self.brokers,
            from_s=from_s,
            to_s=to_s,
            percentiles={one.name: one.percent for one in PERCENTILES},
        )

    async def windowed(self, places: Places, from_s: float, to_s: float) -> dict[str, Any]:
        driver = await self._kept.running()
        return await driver.ask("counts", ACCOUNT_S_MAX, brokers=self.brokers, topic=places.windows, from_s=from_s, to_s=to_s)

    async def removed(self, places: Places) -> None:
        if self._kept.driver is None or not self._kept.driver.is_alive:
            raise TrialFailedError(f"{self.driver_name} is gone, and cannot remove what it wrote")
        tables = [self.sink(name, places) for name in self.spec.sinks if name == "cassandra"]
        await self._kept.driver.ask("remove", END_S_MAX, paths=places.roots, tables=tables)

    async def leave(self) -> None:
        await self._kept.leave()


@dataclass(frozen=True)
class DriverTarget:
    """The driver as a fault target."""

    engine: SparkEngine

    @property
    def name(self) -> str:
        """See `FaultTarget`."""
        return self.engine.driver_name

    async def inject(self, how: str) -> None:
        """See `FaultTarget`."""
        await self.engine.inject(how)

    async def heal(self, how: str) -> None:
        """See `FaultTarget`."""
        await self.engine.restore(how)


@dataclass(frozen=True)
class QueryTarget:
    """One of its queries as a fault target: its batch is cut short."""

    engine: SparkEngine
    query: str

    @property
    def name(self) -> str:
        """See `FaultTarget`."""
        return query_service(self.engine.name, self.query)

    async def inject(self, how: str) -> None:
        """See `FaultTarget`."""
        await self.engine.halt(self.query)

    async def heal(self, how: str) -> None:
        """See `FaultTarget`."""
        await self.engine.resume(self.query)
