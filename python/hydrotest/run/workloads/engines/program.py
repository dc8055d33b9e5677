"""A program that is started for each trial: plain consumers and producers, or a job of the user's own."""

from __future__ import annotations

import json
import sys
import time
from abc import abstractmethod
from pathlib import Path, PurePath

from hydrotest.analysis.spark.failure import means
from hydrotest.errors import OverdueError, TrialFailedError
from hydrotest.hosts.base import Host, Service
from hydrotest.hosts.command import last_lines, log_text
from hydrotest.hosts.deadlines import Patience, until
from hydrotest.hosts.files import place
from hydrotest.hosts.java import find_java
from hydrotest.hosts.node import Node
from hydrotest.jobs.jars import MAINS, job_jar
from hydrotest.load import kafka as load_kafka
from hydrotest.run.workloads.base import Bench
from hydrotest.run.workloads.engines.base import BEGIN_S_MAX, Engine, Places
from hydrotest.run.workloads.submission import events_on
from hydrotest.spec.choice import expected
from hydrotest.spec.dataflow import Dataflow
from hydrotest.store import layout
from hydrotest.systems.fetch import KAFKA, SPARK_KAFKA, fetch, version_in
from hydrotest.systems.spark.client import CONF, PROPERTIES, SparkAccess

PAUSES = 2.0
"""Multiple of the longest pause that was seen."""
QUIET_S = 8.0
"""A pipeline of which only the topics are visible has ended when nothing has come out of it for so long."""
POLL_S = 0.5


class ProgramEngine(Engine):
    """A program that is started for each trial with the path of a JSON file.

    The file holds brokers, group, input, branches (topic by level), aggregate, tasks, checkpoints, and
    `ready`, a file that the program creates once it takes records.
    """

    def __init__(self, name: str, spec: Dataflow, bench: Bench, host: Host) -> None:
        super().__init__(name, spec, bench, host)
        self._node: Node | None = None
        self._starts = 0
        self._log = PurePath()

    @abstractmethod
    async def command(self, folder: PurePath) -> tuple[list[str], dict[str, str]]:
        """Its arguments, up to the settings, and its environment."""

    async def begin(self, places: Places) -> None:
        self._starts += 1
        label = f"{self.name}-{self._starts}"
        folder = self.host.scratch(self.bench.run) / label
        ready = folder / "ready"
        settings = {"brokers": self.brokers, "group": f"{places.aggregate}-{self._starts}", "input": places.input, "branches": places.branches,
                    "aggregate": places.aggregate, "tasks": self.spec.tasks, "checkpoints": places.checkpoints, "ready": str(ready)}  # fmt: skip
        await place(self.host, folder, {"settings.json": json.dumps(settings)})
        argv, env = await self.command(folder)
        self._log = log = (self.bench.runner.folder.path / layout.SYSTEM_LOGS / f"{label}.log").resolve()
        service = Service(label, [*argv, str(folder / "settings.json")], folder, log, env)
        self._node = await self.host.node("supervise", service.settings())
        await self._node.expect("spawned")
        await self.bench.runner.sampling.watch(self.host.name, self.name, self._node.pid)

        async def look() -> bool:
            is_ready = await self.host.size(ready) is not None
            if not is_ready:
                await self._must_live()
            return is_ready

        patience = Patience.of(a_program_to_take_records=BEGIN_S_MAX)
        try:
            await until(look, patience, self.name, f"become ready (it makes {ready.name!r} once it takes records)", POLL_S)
        except OverdueError as error:
            raise TrialFailedError(f"{error.message}: {await self._said()}") from error

    async def drained(self, places: Places) -> float | None:
        """All records are through when nothing arrives for longer than the longest pause between batches."""
        last, came, longest = -1, time.time(), QUIET_S / PAUSES

        async def look() -> float | None:
            nonlocal last, came, longest
            await self._must_live()
            found = 0
            for topic in (*places.branches.values(), places.aggregate):
                found += await load_kafka.records_in(self.host, self.cluster, topic)
            now = time.time()
            if found != last:
                longest = max(longest, now - came) if last >= 0 else longest
                last, came = found, now
            # Silence before the first record is not the end.
            elif found and now - came >= PAUSES * longest:
                return came
            return None

        patience = Patience.of(what_is_on_its_way=self.spec.drain)
        try:
            return await until(look, patience, self.name, "become idle", POLL_S)
        except OverdueError as error:
            if error.who != self.name:  # a request that was not answered
                raise
            return None

    async def _must_live(self) -> None:
        if self._node is None or not self._node.is_running:
            raise TrialFailedError(f"{self.name} ended by itself: {await self._said()}")

    async def _said(self) -> str:
        """The end of its log, preceded by the cause where that is known."""
        said = await log_text(self.host, self._log)
        meaning = means(said)
        return ("" if meaning is None else f"{meaning}: ") + last_lines(said)

    async def end(self) -> None:
        if self._node is not None:
            node, self._node = self._node, None
            problem = await node.close()
            await self.bench.runner.sampling.unwatch(self.host.name, self.name)
            if problem is not None:
                raise TrialFailedError(f"{self.name}: {problem}")


class PlainEngine(ProgramEngine):
    """Consumers and transactional producers, without an engine."""

    reads_committed = True

    def promise(self, sink: str) -> str | None:
        return "exactly once"

    async def command(self, folder: PurePath) -> tuple[list[str], dict[str, str]]:
        jars = fetch(KAFKA, self.bench.listener.say)
        classpath = f"{jars}/*"
        jar = job_jar("plain", classpath, f"kafka-{version_in(jars, KAFKA.version_jar)}")
        return [str(find_java()), "-Xmx512m", "-cp", f"{jar}:{classpath}", MAINS["plain"]], {}


class JobEngine(ProgramEngine):
    """A job of the user's own, by spark-submit."""

    def promise(self, sink: str) -> str | None:
        return None

    async def command(self, folder: PurePath) -> tuple[list[str], dict[str, str]]:
        spark = expected(self.bench.systems["spark"], SparkAccess).client
        await spark.take(self.leave)
        jars = sorted(fetch(SPARK_KAFKA, self.bench.listener.say).glob("*.jar"))
        events = events_on(self.bench, self.host)
        await self.host.make_folder(events)
        await spark.bring(self.host)
        own = {"spark.jars": ",".join(map(str, jars))}
        await place(self.host, folder, spark.render_application(self.host, events, own))
        argv = [
            str(spark.home_on(self.host) / "bin" / "spark-submit"),
            "--properties-file",
            str(folder / PROPERTIES),
            str(Path(self.spec.submit or "").resolve()),
        ]
        return argv, {**spark.environment(self.host, folder / CONF, folder), "PYSPARK_PYTHON": sys.executable}
