"""What carries a dataflow from topic to topic: hydrotest's own queries in Spark, plain consumers and producers, or a job of the user's own."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import Host, Service
from hydrotest.hosts.command import last_lines
from hydrotest.hosts.node import Node
from hydrotest.jobs.jars import MAINS, job_jar
from hydrotest.load import kafka as load_kafka
from hydrotest.load.flow import FlowDriver
from hydrotest.run.workloads.base import Bench
from hydrotest.run.workloads.submission import submission
from hydrotest.spec.workloads import Dataflow, driver_service
from hydrotest.store import layout
from hydrotest.store.folder import write_whole
from hydrotest.systems.cassandra.system import CassandraSystem
from hydrotest.systems.fetch import KAFKA, SPARK_CASSANDRA, SPARK_KAFKA, fetch, version_in
from hydrotest.systems.hdfs.system import CLIENT
from hydrotest.systems.java import find_java
from hydrotest.systems.spark.system import SparkSystem, properties_text

BEGIN_S_MAX = 120.0
END_S_MAX = 60.0
ACCOUNT_S_MAX = 900.0
DRAIN_MARGIN_S = 10.0
QUIET_S = 8.0
"""A pipeline of which we see only its topics has come to its end when nothing has come out of it for so long."""
POLL_S = 0.5


@dataclass(frozen=True)
class Places:
    """Where a trial's records go."""

    input: str
    branches: dict[str, str]
    """Topics by level."""
    aggregate: str
    files: dict[str, str]
    """Folders by sink."""
    checkpoints: str


class Engine(ABC):
    """Begins and ends a pipeline for each trial."""

    reads_committed = False
    """True if what it writes counts only once it is committed."""

    def __init__(self, name: str, spec: Dataflow, bench: Bench, host: Host) -> None:
        self.name = name
        self.spec = spec
        self.bench = bench
        self.host = host
        self.cluster = bench.systems["kafka"].cluster
        self.progress: list[dict[str, Any]] = []
        """Of each batch, as far as it tells: query, wall_s, rows, …."""

    @property
    def brokers(self) -> str:
        """What clients are given."""
        return ",".join(self.cluster.addresses)

    async def ready(self) -> None:  # noqa: B027 - most have nothing that stays up
        """Starts what stays up for the whole run."""

    @abstractmethod
    async def begin(self, places: Places) -> None:
        """Starts the pipeline, and returns when it takes records. Raises `TrialFailedError`."""

    @abstractmethod
    async def drained(self, places: Places) -> bool:
        """Waits until all that lies in its topics is through; False if it still is at work after `spec.drain`."""

    @abstractmethod
    async def end(self) -> None:
        """Stops the pipeline."""

    async def counted(self, sink: dict[str, Any], levels: Sequence[str]) -> dict[str, Any]:
        """What lies in a sink of files."""
        raise TrialFailedError(f"{self.name} has no such sink as {sink}")

    async def removed(self, places: Places) -> None:  # noqa: B027 - most leave no files
        """Removes the files of a trial."""

    async def leave(self) -> None:
        """Ends what stays up."""
        await self.end()

    def sink(self, name: str, places: Places) -> dict[str, Any]:
        """A sink in the words of jobs/flow."""
        if name == "kafka":
            return {"name": name, "kind": "kafka", "topic": places.aggregate}
        if name == "cassandra":
            cassandra = self.bench.systems["cassandra"]
            assert isinstance(cassandra, CassandraSystem)
            return {"name": name, "kind": "cassandra", "addresses": cassandra.cluster.addresses, "data_center": cassandra.places[0].dc,
                    "keyspace": places.aggregate.removesuffix("-aggregate").replace("-", "_"), "consistency": self.spec.consistency,
                    "replication": min(self.spec.replication, len(cassandra.hosts))}  # fmt: skip
        return {"name": name, "kind": "files", "format": self.spec.format, "path": places.files[name]}


class SparkEngine(Engine):
    """Queries of Structured Streaming in a driver that stays up."""

    def __init__(self, name: str, spec: Dataflow, bench: Bench, host: Host) -> None:
        super().__init__(name, spec, bench, host)
        system = bench.systems["spark"]
        assert isinstance(system, SparkSystem)
        self.system = system
        self._driver: FlowDriver | None = None
        self._drivers = 0
        self._places: Places | None = None
        """Of the pipeline that runs."""
        bench.beside[self.driver_name] = StruckDriver(self)

    @property
    def driver_name(self) -> str:
        """Its driver's, among the services."""
        return driver_service(self.name)

    async def ready(self) -> None:
        await self._running()

    async def _running(self) -> FlowDriver:
        """The running driver; a new one where the last has died."""
        if self._driver is None or not self._driver.is_alive:
            await self.system.take(self.leave)
            self.bench.listener.phase(f"starting the driver of {self.name}")
            self._drivers += 1
            label = f"{self.name}-driver-{self._drivers}"
            folder = self.host.scratch(self.bench.run) / label
            log = (self.bench.runner.folder.path / layout.SYSTEM_LOGS / f"{label}.log").resolve()
            folders = [fetch(bundle, self.bench.listener.say) for bundle in (SPARK_KAFKA, SPARK_CASSANDRA)]
            jars = sorted(jar for one in folders for jar in one.glob("*.jar"))
            extra = {"spark.jars": ",".join(str(jar) for jar in jars), **{f"spark.hadoop.{key}": value for key, value in CLIENT.items()}}
            application = submission(self.bench, self.system, self.host, folder, "flow", folders, extra)
            self._driver = await FlowDriver.start(self.name, application, self.host, folder, log)
            self.progress = self._driver.progress
            await self.bench.runner.sampling.watch(self.host.name, self.driver_name, self._driver.pid)
        return self._driver

    async def begin(self, places: Places) -> None:
        driver = await self._running()
        driver.progress.clear()
        await self._pipe(driver, places)

    async def _pipe(self, driver: FlowDriver, places: Places) -> None:
        """Starts the queries, or has them go on from where their checkpoints say."""
        self._places = places
        wish = {"brokers": self.brokers, "input": places.input, "branches": places.branches,
                "sinks": [self.sink(name, places) for name in self.spec.sinks], "checkpoints": places.checkpoints,
                "trigger_ms": None if self.spec.trigger is None else round(self.spec.trigger * 1e3),
                "offsets_per_trigger": self.spec.offsets_per_trigger}  # fmt: skip
        await driver.ask("begin", BEGIN_S_MAX, **wish)

    async def strike(self, how: str) -> None:
        """Takes the driver away."""
        assert self._driver is not None
        await self._driver.signal("stop" if how == "pause" else "term" if how == "stop" else "kill")

    async def restore(self, how: str) -> None:
        """Has a driver go on: the one that was held still, or a new one, from the checkpoints."""
        assert self._driver is not None
        assert self._places is not None
        if how == "pause":
            await self._driver.signal("cont")
            return
        told = list(self.progress)
        driver = await self._running()
        driver.progress[:0] = told
        await self._pipe(driver, self._places)

    async def drained(self, places: Places) -> bool:
        driver = await self._running()
        answer = await driver.ask("drain", self.spec.drain + DRAIN_MARGIN_S, seconds=self.spec.drain)
        return bool(answer["drained"])

    async def end(self) -> None:
        if self._driver is not None and self._driver.is_alive:
            await self._driver.ask("end", END_S_MAX)

    async def counted(self, sink: dict[str, Any], levels: Sequence[str]) -> dict[str, Any]:
        driver = await self._running()
        return await driver.ask("account", ACCOUNT_S_MAX, sink=sink, levels=list(levels), brokers=self.brokers)

    async def removed(self, places: Places) -> None:
        if self._driver is not None and self._driver.is_alive:
            tables = [self.sink(name, places) for name in self.spec.sinks if name == "cassandra"]
            await self._driver.ask("remove", END_S_MAX, paths=[*places.files.values(), places.checkpoints], tables=tables)

    async def leave(self) -> None:
        if self._driver is not None:
            await self._driver.stop()
            await self.bench.runner.sampling.unwatch(self.host.name, self.driver_name)
            self._driver = None


@dataclass(frozen=True)
class StruckDriver:
    """The driver, as what a fault takes away."""

    engine: SparkEngine

    @property
    def name(self) -> str:
        """See `Struck`."""
        return self.engine.driver_name

    async def take_away(self, how: str) -> None:
        """See `Struck`."""
        await self.engine.strike(how)

    async def bring_back(self, how: str) -> None:
        """See `Struck`."""
        await self.engine.restore(how)


class ProgramEngine(Engine):
    """A program that is started for each trial, and given the path of a JSON file: brokers, group, input, branches (topic by level), aggregate, tasks, checkpoints, and
    `ready`, a file that it makes once it takes records."""

    def __init__(self, name: str, spec: Dataflow, bench: Bench, host: Host) -> None:
        super().__init__(name, spec, bench, host)
        self._node: Node | None = None
        self._starts = 0

    @abstractmethod
    async def command(self, folder: Path) -> tuple[list[str], dict[str, str]]:
        """Its arguments, up to the settings, and its environment."""

    async def begin(self, places: Places) -> None:
        self._starts += 1
        label = f"{self.name}-{self._starts}"
        folder = self.host.scratch(self.bench.run) / label
        folder.mkdir(parents=True, exist_ok=True)
        ready = folder / "ready"
        settings = {"brokers": self.brokers, "group": f"{places.aggregate}-{self._starts}", "input": places.input, "branches": places.branches,
                    "aggregate": places.aggregate, "tasks": self.spec.tasks, "checkpoints": places.checkpoints, "ready": str(ready)}  # fmt: skip
        write_whole(folder / "settings.json", json.dumps(settings))
        argv, env = await self.command(folder)
        log = (self.bench.runner.folder.path / layout.SYSTEM_LOGS / f"{label}.log").resolve()
        service = Service(label, [*argv, str(folder / "settings.json")], folder, log, env)
        self._node = await self.host.node("supervise", service.settings())
        await self._node.expect("spawned")
        await self.bench.runner.sampling.watch(self.host.name, self.name, self._node.pid)
        give_up = time.monotonic() + BEGIN_S_MAX
        while not ready.exists():
            if time.monotonic() > give_up or await self._has_ended():
                raise TrialFailedError(f"{self.name} did not become ready (it makes {ready.name!r} once it takes records): "
                                       f"{last_lines(log.read_text(errors='replace'))}")  # fmt: skip
            await asyncio.sleep(POLL_S)

    async def _has_ended(self) -> bool:
        assert self._node is not None
        return self._node.has_ended

    async def drained(self, places: Places) -> bool:
        give_up = time.monotonic() + self.spec.drain
        last, since = -1, time.monotonic()
        while time.monotonic() < give_up:
            found = await load_kafka.records_in(self.host, self.cluster, places.aggregate)
            if found != last:
                last, since = found, time.monotonic()
            elif time.monotonic() - since >= QUIET_S:
                return True
            await asyncio.sleep(POLL_S)
        return False

    async def end(self) -> None:
        if self._node is not None:
            await self._node.close()
            await self.bench.runner.sampling.unwatch(self.host.name, self.name)
            self._node = None


class PlainEngine(ProgramEngine):
    """Consumers and transactional producers, without an engine."""

    reads_committed = True

    async def command(self, folder: Path) -> tuple[list[str], dict[str, str]]:
        jars = fetch(KAFKA, self.bench.listener.say)
        classpath = f"{jars}/*"
        jar = job_jar("plain", classpath, f"kafka-{version_in(jars, KAFKA.version_jar)}")
        return [str(find_java()), "-Xmx512m", "-cp", f"{jar}:{classpath}", MAINS["plain"]], {}


class JobEngine(ProgramEngine):
    """A job of the user's own, by spark-submit."""

    async def command(self, folder: Path) -> tuple[list[str], dict[str, str]]:
        system = self.bench.systems["spark"]
        assert isinstance(system, SparkSystem)
        await system.take(self.leave)
        jars = sorted(fetch(SPARK_KAFKA, self.bench.listener.say).glob("*.jar"))
        events = (self.bench.runner.folder.path / layout.SPARK_EVENTS).resolve()
        events.mkdir(parents=True, exist_ok=True)
        properties = folder / "spark.conf"
        write_whole(properties, properties_text({**system.application(self.host, events), "spark.jars": ",".join(map(str, jars))}))
        argv = [
            str(system.home / "bin" / "spark-submit"),
            "--properties-file",
            str(properties),
            str(Path(self.spec.submit or "").resolve()),
        ]
        return argv, {**system.environment(self.host, system.conf), "PYSPARK_PYTHON": sys.executable}


def make_engine(name: str, spec: Dataflow, bench: Bench, host: Host) -> Engine:
    """The one that the experiment asks for."""
    if spec.submit is not None:
        return JobEngine(name, spec, bench, host)
    return {"spark": SparkEngine, "kafka": PlainEngine}[spec.engine](name, spec, bench, host)
