"""Dataflows: a pipeline of Structured Streaming behind a producer's topic, made for each trial, accounted for step by step, and removed."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from hydrotest.analysis.dataflow import Found, Step, account, acknowledged
from hydrotest.errors import RunFailedError
from hydrotest.load import kafka as load_kafka
from hydrotest.load.flow import FlowDriver
from hydrotest.load.native import run_generators
from hydrotest.run.trial import Disturbance, Loads, Part, TrialPlan
from hydrotest.run.workloads.base import SATURATING, Bench, Follower, Pressing, remove_quietly
from hydrotest.run.workloads.kafka import Produce
from hydrotest.run.workloads.submission import submission
from hydrotest.spec.workloads import Dataflow
from hydrotest.store import layout
from hydrotest.store.folder import write_whole
from hydrotest.store.records import Fates, Hop, Load, Trial
from hydrotest.systems.fetch import SPARK_KAFKA, fetch
from hydrotest.systems.hdfs.system import CLIENT, HdfsSystem
from hydrotest.systems.spark.system import SparkSystem
from hydrotest.units import show_rate

BEGIN_S_MAX = 120.0
END_S_MAX = 60.0
ACCOUNT_S_MAX = 900.0
DRAIN_MARGIN_S = 10.0
FLOOD_S = 3.0
"""The first records of all come as fast as Kafka takes them, so that it is seen how fast the pipeline is."""
WARM_UP_S = 10.0
SATURATING_RATE = 1.3
"""Of the rate at which records last went through: surely more than that, and not so much more that the rest takes minutes."""


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


class Flow(Follower):
    """A pipeline; how much goes through it is told by who follows its last topic."""

    def __init__(self, name: str, spec: Dataflow, source: Produce, bench: Bench) -> None:
        super().__init__(name, bench)
        self.spec = spec
        self.source: Produce = source
        system = bench.systems["spark"]
        assert isinstance(system, SparkSystem)
        self.system = system
        self._driver: FlowDriver | None = None
        self._drivers = 0
        self._drained = True
        self._drained_at = 0.0
        self._through: float | None = None
        """Records a second that went through in the last trial that had more than enough."""

    async def _prepare(self) -> None:
        await self.source.prepare()
        await self.driver()
        self.bench.listener.phase(f"warming up spark with {self.name}")
        for seconds in (FLOOD_S, WARM_UP_S):
            trial = await self.trial(TrialPlan(f"warm-up-{self.name}", "warm-up", 0.0, seconds), SATURATING)
            if trial.status == "failed":
                raise RunFailedError(f"{self.name} cannot be warmed up: {trial.reason}")

    async def driver(self) -> FlowDriver:
        """The running driver; a new one where the last has died."""
        if self._driver is None or not self._driver.is_alive:
            await self.system.take(self._leave)
            self.bench.listener.phase(f"starting the driver of {self.name}")
            self._drivers += 1
            label = f"{self.name}-driver-{self._drivers}"
            folder = self.host.scratch(self.bench.run) / label
            log = (self.bench.runner.folder.path / layout.SYSTEM_LOGS / f"{label}.log").resolve()
            jars = sorted(fetch(SPARK_KAFKA, self.bench.listener.say).glob("*.jar"))
            extra = {"spark.jars": ",".join(str(jar) for jar in jars), **{f"spark.hadoop.{key}": value for key, value in CLIENT.items()}}
            application = submission(self.bench, self.system, self.host, folder, "flow", extra)
            self._driver = await FlowDriver.start(self.name, application, self.host, folder, log)
            await self.bench.runner.sampling.watch(self.host.name, f"spark-driver-{self.name}", self._driver.pid)
        return self._driver

    async def _leave(self) -> None:
        """Ends its driver, for which another may be started later."""
        if self._driver is not None:
            await self._driver.stop()
            await self.bench.runner.sampling.unwatch(self.host.name, f"spark-driver-{self.name}")
            self._driver = None

    async def trial(self, plan: TrialPlan, pressing: Pressing, disturbance: Disturbance | None = None) -> Trial:
        """Its source presses, and it follows."""
        if pressing == SATURATING and self._through is not None:
            pressing = Pressing(rate_per_s=self._through * SATURATING_RATE)
        number = self.bench.runner.claim()
        parts = [self.source.part(number, plan, pressing), self.following(number, plan, pressing)]
        return await self.bench.runner.press(number, plan, parts, disturbance)

    def part(self, number: int, plan: TrialPlan, pressing: Pressing) -> Part:
        return self.following(number, plan, pressing)

    def following(self, number: int, plan: TrialPlan, pressing: Pressing) -> Part:
        places = self._places(number)
        generators = load_kafka.consumers(self.name, self.hosts, self.source.cluster, places.aggregate, plan.seconds, "follow", pressing.rate_per_s,
                                          plan.purpose == "fault", self.source.spec.arrivals.shape == "even")  # fmt: skip

        async def set_up() -> None:
            for topic in (*places.branches.values(), places.aggregate):
                await load_kafka.create_topic(self.host, self.source.cluster, topic, self.spec)
            driver = await self.driver()
            driver.progress.clear()
            driver.died.clear()
            await driver.ask("begin", BEGIN_S_MAX, **self._wish(places))

        async def drain() -> None:
            self.bench.listener.phase(f"waiting for what is in {self.name}")
            driver = await self.driver()
            answer = await driver.ask("drain", self.spec.drain + DRAIN_MARGIN_S, seconds=self.spec.drain)
            self._drained, self._drained_at = answer["drained"], time.time()
            if not self._drained:
                self.bench.listener.say(f"{self.name} was still at work {self.spec.drain:g} s after the load: the rest is in flight")

        async def accounted(load: Load, loads: Loads) -> Load:
            await (await self.driver()).ask("end", END_S_MAX)
            source = loads[self.source.name]
            assert source.outcome is not None
            if plan.purpose in ("warm-up", "saturated") and self._drained:
                self._through = source.outcome.counts.completed / (self._drained_at - source.outcome.started_wall_s)
                self.bench.listener.say(f"{self.name}: {show_rate(self._through)}/s went through")
            load = load.model_copy(update={"source": self.source.name})
            return load if plan.purpose == "warm-up" else await self._accounted(load, source, places, number, plan)

        async def tear_down() -> None:
            await self._removed(places)

        return Part(self.name, self.spec.kind, generators, set_up, drain, accounted, tear_down)

    def _places(self, number: int) -> Places:
        stem = self.source.topic(number)
        own = f"hydrotest-{self.bench.run}-{self.name}-{number}"
        folder = (self.host.scratch(self.bench.run) / own).resolve()
        return Places(
            stem,
            {level: f"{own}-{level}" for level in self.source.spec.levels},
            f"{own}-aggregate",
            {"directory": f"{folder.as_uri()}/files", "hdfs": f"{self._hdfs_url}/{own}/files"},
            f"{self._hdfs_url}/{own}/checkpoints" if "hdfs" in self.spec.sinks else f"{folder.as_uri()}/checkpoints",
        )

    @property
    def _hdfs_url(self) -> str:
        hdfs = self.bench.systems.get("hdfs")
        return hdfs.url if isinstance(hdfs, HdfsSystem) else ""

    def _wish(self, places: Places) -> dict[str, Any]:
        """What `begin` of jobs/flow/Pipeline.java takes."""
        return {"brokers": ",".join(self.source.cluster.addresses), "input": places.input, "branches": places.branches,
                "sinks": [self._sink(name, places) for name in self.spec.sinks], "checkpoints": places.checkpoints,
                "trigger_ms": None if self.spec.trigger is None else round(self.spec.trigger * 1e3),
                "offsets_per_trigger": self.spec.offsets_per_trigger}  # fmt: skip

    def _sink(self, name: str, places: Places) -> dict[str, Any]:
        if name == "kafka":
            return {"name": name, "kind": "kafka", "topic": places.aggregate}
        return {"name": name, "kind": "files", "format": self.spec.format, "path": places.files[name]}

    async def _accounted(self, load: Load, source: Load, places: Places, number: int, plan: TrialPlan) -> Load:
        assert load.outcome is not None
        assert source.outcome is not None
        assert self.source.last_read is not None
        self.bench.listener.phase(f"accounting for every record of {self.name}")
        driver = await self.driver()
        told = self.bench.runner.folder.trial_path(number, plan.slug) / layout.batches(self.name)
        write_whole(told, "".join(json.dumps(one) + "\n" for one in driver.progress))
        branches = [await self._read(topic, level, number, plan) for level, topic in places.branches.items()]
        begin_s = load.outcome.started_wall_s + plan.warm_up_s
        end_s = max(begin_s + 1e-9, load.outcome.ended_wall_s)

        def rate(prefix: str, suffix: str = "") -> float:
            rows = [int(one["rows"]) for one in driver.progress
                    if one["query"].startswith(prefix) and one["query"].endswith(suffix) and begin_s <= one["wall_s"] < end_s]  # fmt: skip
            return sum(rows) / (end_s - begin_s)

        steps = [
            Step("input", None, Found.of([self.source.last_read.extra]), None, source.outcome.counts.completed / plan.seconds),
            Step("splitter", None, Found.of(branches), 0, rate("splitter")),
        ]
        for name in self.spec.sinks:
            if name == "kafka":
                found = Found.of([load.outcome.extra])
            else:
                wish = {
                    "sink": self._sink(name, places),
                    "levels": list(places.branches),
                    "brokers": ",".join(self.source.cluster.addresses),
                }
                found = Found.of([await driver.ask("account", ACCOUNT_S_MAX, **wish)])
            steps.append(Step("persister", name, found, 1, rate("persist-", f"-{name}")))
        hops = account(acknowledged(source.outcome.extra), steps, self._drained)
        last = next(hop for hop in hops if hop.sink == "kafka")
        return load.model_copy(update={"hops": hops, "fates": _fates(source, hops, last)})

    async def _read(self, topic: str, level: str, number: int, plan: TrialPlan) -> dict[str, Any]:
        folder = self.bench.runner.folder.trial_path(number, plan.slug)
        reader = load_kafka.verifier(self.host, self.source.cluster, topic, level=level)
        (read,) = await run_generators([reader], folder, lambda: None, lambda _w, _e: None)
        assert read.outcome is not None
        return read.outcome.extra

    async def _removed(self, places: Places) -> None:
        if self._driver is not None and self._driver.is_alive:
            for what, fields in (
                ("end", {}),
                ("remove", {"paths": [*(places.files[name] for name in self.spec.sinks if name in places.files), places.checkpoints]}),
            ):
                await remove_quietly(self.bench, _done(self._driver, what, fields), f"{what} of {self.name}")
        for topic in (*places.branches.values(), places.aggregate):
            await remove_quietly(self.bench, load_kafka.delete_topic(self.host, self.source.cluster, topic), topic)

    async def finish(self) -> None:
        await self._leave()


async def _done(driver: FlowDriver, what: str, fields: dict[str, Any]) -> None:
    await driver.ask(what, END_S_MAX, **fields)


def _fates(source: Load, hops: list[Hop], last: Hop) -> Fates:
    """Those behind the whole pipeline; what is flawed behind any step is."""
    assert source.outcome is not None
    sent = sum(part["sent"] for part in source.outcome.extra["acked"])
    return Fates(unit="records", sent=sent, acked=last.acked, seen=last.arrived_once + last.arrived_more, lost=max(hop.lost for hop in hops),
                 duplicated=max(hop.arrived_more for hop in hops), corrupted=max(hop.corrupted for hop in hops), out_of_order=last.out_of_order,
                 unacked_present=None, in_flight=max(hop.in_flight for hop in hops))  # fmt: skip
