"""Dataflows: a pipeline behind a producer's topic, made for each trial, accounted for by step, and
removed."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hydrotest.analysis.dataflow.rows import Found, Step, account, acknowledged, batch_rate, windows_hop
from hydrotest.analysis.measured import Measured
from hydrotest.load import kafka as load_kafka
from hydrotest.load.native import run_generators
from hydrotest.run.lifecycle.attempts import until_done
from hydrotest.run.trials.trial import Disturbance, Loads, Part, TrialPlan
from hydrotest.run.workloads.base import UNTHROTTLED, Bench, Follower, LoadSpec, Workload, remove_quietly
from hydrotest.run.workloads.engines.base import Places
from hydrotest.run.workloads.engines.catalogue import make_engine
from hydrotest.run.workloads.kafka import Produce
from hydrotest.run.workloads.warming import Stretches
from hydrotest.spec.choice import expected, narrowed
from hydrotest.spec.dataflow import Dataflow
from hydrotest.store import layout
from hydrotest.store.folder import write_whole
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Ending, Hop, Load, RecordAccounting, Trial, Windowed
from hydrotest.systems.hdfs.client import HdfsAccess
from hydrotest.units import show_rate

WARM_UP_S = 8.0
WARM_UP_RATE = 5_000.0
"""Records a second of the first warm-up, and the maximum of later ones."""
SATURATING_RATE = 2.0
"""Multiple of the last throughput that is offered to saturate.

More than 1, since large batches have a higher throughput. Not so much more that the rest takes minutes.
"""
KEPT_UP = 0.9
"""Share of the offered rate: a pipeline that completes this much in the window may have a higher
throughput."""
ROSE = 1.2
"""Ratio of the throughput to that at half the offered rate.

A pipeline that reaches it may complete more, until it completes all. When the window ends, its last
batches can hold a tenth of what was offered in it, and more.
"""


class Flow(Follower):
    """A pipeline; the follower of its last topic reports its throughput."""

    @classmethod
    def bind(cls, name: str, spec: Dataflow, bench: Bench, made: Mapping[str, Workload]) -> Workload:
        return cls(name, spec, expected(made[spec.reads], Produce), bench)

    def __init__(self, name: str, spec: Dataflow, source: Produce, bench: Bench) -> None:
        super().__init__(name, spec, bench)
        self.spec: Dataflow = spec
        self.source: Produce = source
        self.engine = make_engine(name, spec, bench, self.host)
        self._drained = True
        self._drained_at = 0.0
        self._warm_since: int | None = None
        """The engine start since which it is warm."""
        self._through: float | None = None
        """Records a second that it completed in the last trial that offered more than enough."""

    async def _prepare(self) -> None:
        await self.source.prepare()
        await self.engine.ready()

    async def _settle(self) -> None:
        # The search begins at the throughput measured here: on hosts as they are.
        self.bench.listener.phase(f"warming up {self.name}")
        await until_done(self.bench, self._warm_up)

    async def _warm_up(self) -> Trial:
        """Applies the same rate until the throughput no longer rises, and the CPU for a record no longer falls: a pipeline that keeps up
        with the rate may be cold.

        Repeats for each new driver: no trial may measure cold code. A new driver and new executors with a quarter of a core took 20 to
        30 s for their first batch, 4 s a batch in the next trial, and 2 s in the one after it. Returns the last of its trials, or the
        first that failed.
        """
        start, known = self.engine.starts, self._through or 0.0
        trial = await self._warm_by(WARM_UP_RATE)
        pressed_s, rate = WARM_UP_S, min(WARM_UP_RATE, SATURATING_RATE * (self._through or WARM_UP_RATE))
        stretches = Stretches(self.bench.runner.sampling.buffer, self.engine.lasting_services)
        while trial.status != "failed" and not stretches.are_settled and pressed_s < self.bench.experiment.warm_up.most:
            stretches.begin()
            trial = await self._warm_by(rate)
            pressed_s += WARM_UP_S
            outcome = None if trial.status == "failed" else trial.load(self.source.name).outcome
            stretches.end(WARM_UP_S, 0 if outcome is None else outcome.counts.completed, 1 / (self._through or rate))
        if trial.status != "failed":
            self.has_warmed_up(pressed_s, stretches.are_settled, cpu_us_per_operation=[stretches.costs_us], s_per_operation=stretches.times)
            self._warm_since, self._through = start, max(known, self._through or 0.0) or None
        return trial

    async def _warm_by(self, rate_per_s: float) -> Trial:
        return await self._pressed(TrialPlan(f"warm-up-{self.name}", Purpose.WARM_UP, 0.0, WARM_UP_S), LoadSpec(rate_per_s=rate_per_s))

    async def trial(self, plan: TrialPlan, load_spec: LoadSpec, disturbance: Disturbance | None = None) -> Trial:
        """Its source produces, and it follows."""
        if (failed := await self.warm_again()) is not None:
            return failed
        if load_spec == UNTHROTTLED and self._through is not None:
            load_spec = LoadSpec(rate_per_s=self._through * SATURATING_RATE)
        return await self._pressed(plan, load_spec, disturbance)

    async def warm_again(self) -> Trial | None:
        """See `LoadWorkload`."""
        await self.engine.ready()
        if self.engine.starts == self._warm_since:
            return None
        trial = await self._warm_up()
        return trial if trial.status == "failed" else None

    async def _pressed(self, plan: TrialPlan, load_spec: LoadSpec, disturbance: Disturbance | None = None) -> Trial:
        number = self.bench.runner.claim()
        parts = [self.source.part(number, plan, load_spec), self.following(number, plan, load_spec)]
        return await self.bench.runner.press(number, replace(plan, subject=self.name), parts, disturbance)

    async def saturate(self, plan: TrialPlan) -> Trial:
        """Offers ever more, until the throughput no longer rises. Returns the trial in which most arrived.

        Kafka takes far more than a pipeline, which would then work for minutes after the trial. Far too
        much load also lengthens the batches, until hardly one of them ends in the window.
        """
        rate, before = (self._through or WARM_UP_RATE) * SATURATING_RATE, 0.0
        best, most = None, 0.0
        while True:
            trial = await self.trial(plan, LoadSpec(rate_per_s=rate))
            if trial.status == "failed":
                return trial
            achieved = Measured.read(self.bench.runner.folder, trial, self.name).achieved
            if best is None or achieved > most:
                best, most = trial, achieved
            has_kept_up = achieved >= KEPT_UP * rate
            if not has_kept_up and (self._through or 0.0) < ROSE * before:
                return best
            self.bench.listener.trial_ended(
                trial, None, f"kept up with {show_rate(rate)}/s" if has_kept_up else "more went through than of less"
            )
            rate, before = rate * SATURATING_RATE, self._through or 0.0

    def part(self, number: int, plan: TrialPlan, load_spec: LoadSpec) -> Part:
        return self.following(number, plan, load_spec)

    def following(self, number: int, plan: TrialPlan, load_spec: LoadSpec) -> Part:
        places = self._places(number)
        generators = load_kafka.consumers(self.name, self.hosts, self.source.cluster, places.aggregate, plan.seconds, "follow", load_spec.rate_per_s,
                                          plan.purpose == Purpose.FAULT, self.source.spec.arrivals.shape == "even", self.engine.reads_committed)  # fmt: skip

        async def set_up() -> None:
            for topic in places.topics:
                await self.bench.own.make_topic(self.host, self.source.cluster, topic, self.spec)
            await self.engine.begin(places)

        async def drain() -> None:
            self.bench.listener.phase(f"waiting for what is in {self.name}")
            through = await self.engine.drained(places)
            self._drained, self._drained_at = through is not None, through or time.time()
            if not self._drained:
                self.bench.listener.say(f"{self.name} was still at work {self.spec.drain:g} s after the load: the rest is in flight")

        async def accounted(load: Load, loads: Loads) -> Load:
            await self.engine.end()
            endings = [Ending.model_validate(one) for one in self.engine.endings]
            for one in endings:
                self.bench.listener.warn(f"{self.name}: {one.query} was ended by an error: {one.error}")
            source = loads[self.source.name]
            assert source.outcome is not None
            if plan.purpose in (Purpose.WARM_UP, Purpose.SATURATED) and self._drained:
                self._through = source.outcome.counts.completed / (self._drained_at - source.outcome.started_wall_s)
                self.bench.listener.say(f"{self.name}: {show_rate(self._through)}/s went through")
            load = load.model_copy(update={"source": self.source.name, "kind": self.spec.kind, "endings": endings})
            return load if plan.purpose == Purpose.WARM_UP else await self._accounted(load, source, places, number, plan)

        async def tear_down() -> None:
            await remove_quietly(self.bench, self.engine.end(), self.name)
            await remove_quietly(self.bench, self.engine.removed(places), f"files of {self.name}")
            for topic in places.topics:
                await remove_quietly(self.bench, self.bench.own.remove_topic(self.host, self.source.cluster, topic), topic)

        return Part(self.name, self.spec.kind, generators, set_up, drain, accounted, tear_down)

    def _places(self, number: int) -> Places:
        own = f"hydrotest-{self.bench.run}-{self.name}-{number}"
        # Written as Hadoop's Path expects it: Path does not undo the escapes of a URI, and would write
        # elsewhere.
        local = f"file://{self.host.scratch(self.bench.run) / own}"
        folders = {"directory": local if self.spec.directory is None else f"{self.spec.directory.rstrip('/')}/{own}"}
        if (hdfs := narrowed(self.bench.systems.get("hdfs"), HdfsAccess)) is not None:
            folders["hdfs"] = f"{hdfs.client.url}/{own}"
        files: dict[str, str] = {name: f"{folders[name]}/files" for name in self.spec.sinks if name in folders}
        # Where the aggregate goes to HDFS, so do the checkpoints: as where a driver may start on another
        # host. On machines of their own all executors must reach them.
        is_shared = "hdfs" in files or ("hdfs" in folders and bool(self.host.machine) and self.spec.directory is None)
        checkpoints = f"{folders['hdfs' if is_shared else 'directory']}/checkpoints"
        roots = sorted({path.rsplit("/", 1)[0] for path in (*files.values(), checkpoints)})
        branches = {level: f"{own}-{level}" for level in self.source.spec.levels}
        windows = None if self.spec.windows is None else f"{own}-windows"
        return Places(self.source.topic(number), branches, f"{own}-aggregate", files, checkpoints, roots, windows)

    async def _accounted(self, load: Load, source: Load, places: Places, number: int, plan: TrialPlan) -> Load:
        assert load.outcome is not None
        assert source.outcome is not None
        assert self.source.last_read is not None
        self.bench.listener.phase(f"accounting for every record of {self.name}")
        stated = self.bench.runner.folder.trial_path(number, plan.slug) / layout.batches(self.name)
        write_whole(stated, "".join(json.dumps(one) + "\n" for one in self.engine.progress))
        load_began_s = load.outcome.started_wall_s
        begin_s = load_began_s + plan.warm_up_s
        end_s = begin_s + plan.window_s

        def through(prefix: str, suffix: str = "") -> float | None:
            """Records a second of the queries with these names, from their reports in the window; None
            without reports."""
            own: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
            for one in self.engine.progress:
                if one["query"].startswith(prefix) and one["query"].endswith(suffix):
                    own[one["query"]].append((one["wall_s"], one["seconds"], one["rows"]))
            rates = [each for batches in own.values() if (each := batch_rate(batches, begin_s, end_s)) is not None]
            return sum(rates) if rates else None

        def rate(found: Found, stated: float | None) -> float:
            """The rate that the engine reports; without reports, the mean rate until all records were
            completed."""
            return found.records / (self._drained_at - load_began_s) if stated is None else stated

        split = Found.of([await self._read(topic, level, number, plan) for level, topic in places.branches.items()])
        steps = [
            Step("input", None, Found.of([self.source.last_read.extra]), None, source.outcome.counts.completed / plan.seconds),
            Step("splitter", None, split, 0, rate(split, through("splitter"))),
        ]
        for name in self.spec.sinks:
            is_followed = name == "kafka"
            found = (
                load.outcome.extra
                if is_followed
                else await self.engine.counted(self.engine.sink(name, places), list(places.branches), begin_s, end_s)
            )
            there = Found.of([found])
            steps.append(
                Step(
                    "persister",
                    name,
                    there,
                    1,
                    rate(there, through("persist-", f"-{name}")),
                    self.engine.promise(name),
                    None if is_followed else found.get("latency_ms"),
                )
            )
        hops = account(acknowledged(source.outcome.extra), steps, self._drained)
        last = next(hop for hop in hops if hop.sink == "kafka")
        windowed = None
        if self.spec.windows is not None:
            windowed = await self._windowed(self.spec.windows, places, begin_s, end_s)
            hops.append(windows_hop(hops[0], windowed, through("windows") or 0.0, self._drained))
        return load.model_copy(update={"hops": hops, "windowed": windowed, "fates": _fates(source, hops, last)})

    async def _windowed(self, length_s: float, places: Places, from_s: float, to_s: float) -> Windowed:
        """The windowed counts, with the number of records that had to be counted."""
        assert self.source.last_read is not None
        stated = await self.engine.windowed(places, from_s, to_s)
        of_query = [one for one in self.engine.progress if one["query"] == "windows"]
        return Windowed(length_s=length_s, came=self.source.last_read.counts.completed, late=sum(one["late"] for one in of_query),
                        state_rows_max=max((one["state_rows"] for one in of_query), default=0), **stated)  # fmt: skip

    async def _read(self, topic: str, level: str, number: int, plan: TrialPlan) -> dict[str, Any]:
        folder = self.bench.runner.folder.trial_path(number, plan.slug)
        reader = load_kafka.verifier(self.host, self.source.cluster, topic, self.engine.reads_committed, level)
        (read,) = await run_generators([reader], folder, lambda: None, lambda _w, _e: None, clocks=self.bench.runner.sampling.clocks)
        assert read.outcome is not None
        return read.outcome.extra

    async def finish(self) -> None:
        await remove_quietly(self.bench, self.engine.leave(), f"the engine of {self.name}")


def _fates(source: Load, hops: list[Hop], last: Hop) -> RecordAccounting:
    """The account behind the last step; flaws behind any step count."""
    assert source.outcome is not None
    sent = sum(part["sent"] for part in source.outcome.extra["acked"])
    return RecordAccounting(unit="records", sent=sent, acked=last.acked, seen=last.arrived_once + last.arrived_more, lost=max(hop.lost for hop in hops),
                 duplicated=max(hop.arrived_more for hop in hops), corrupted=max(hop.corrupted for hop in hops), out_of_order=last.out_of_order,
                 unacked_present=None, in_flight=max(hop.in_flight for hop in hops))  # fmt: skip
