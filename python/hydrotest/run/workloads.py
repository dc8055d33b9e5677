"""Workloads bound to running systems: how each is prepared, pressed and accounted for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from hydrotest.analysis.integrity import kafka_fates, normalised, rows_fates, size
from hydrotest.analysis.steady import is_settled
from hydrotest.analysis.summary import UNKNOWN_ROWS
from hydrotest.errors import RunFailedError, TrialFailedError
from hydrotest.hosts.base import Host
from hydrotest.load import cassandra as cassandra_load
from hydrotest.load import kafka as kafka_load
from hydrotest.load.native import Generator, run_generators
from hydrotest.run.events import Listener
from hydrotest.run.trial import TrialPlan, TrialRunner
from hydrotest.spec.models import CassandraLoad, Experiment, KafkaConsume, KafkaProduce
from hydrotest.store.records import Load, Outcome, Trial
from hydrotest.systems.base import System

GIVE_UP_S = 2.0
"""An open-loop trial whose oldest operation is this much older than the objective allows is hopeless:
far more than 1 % of a window of seconds is late by then."""
IN_FLIGHT_MARGIN_S = 1.0
"""The in-flight cap lies this far beyond what can be in flight before the trial is given up."""
CQL_IN_FLIGHT_MAX = 50_000
"""Two connections of 32,768 streams each, less a reserve."""
WARM_UP_CHUNK_S = 8.0
SATURATED_WARM_UP_SHARE = 0.7
"""Of the longest warm-up; the rest is left for pressing by schedule."""
SCHEDULED_WARM_UP_RATE = 0.6
"""Of the rate without schedule: surely below the limit, and near enough to it."""
KEYSPACE_NAME_MAX = 48
"""Cassandra's own bound."""

Pressing = dict[str, dict[str, float]]
"""`Load` of rust/core/src/wire.rs: open with a rate, or closed with a number in flight."""


@dataclass
class Bench:
    """What pressing needs: the experiment, the hosts and systems that run, the trial runner."""

    experiment: Experiment
    run: str
    hosts: dict[str, Host]
    systems: dict[str, System]
    runner: TrialRunner
    listener: Listener

    def pressure(self, workload: str, load: Pressing, seconds: float, in_flight_cap: int) -> dict[str, object]:
        """`Pressure` of rust/core/src/wire.rs, without what only the workload knows."""
        bounds = self.experiment.objective(workload).latencies_ms()
        give_up = GIVE_UP_S + max(bounds.values(), default=0.0) / 1e3 if "open" in load else None
        return {"load": load, "seconds": seconds, "give_up_s": give_up, "in_flight_max": in_flight_cap}


class Pressable(ABC):
    """A workload that can be pressed, trial by trial."""

    def __init__(self, name: str, bench: Bench) -> None:
        self.name = name
        self.bench = bench
        self.host = bench.hosts[bench.experiment.generator_host(name)]
        self.is_prepared = False

    async def prepare(self) -> None:
        """Sets up and warms the system; once."""
        if not self.is_prepared:
            await self._prepare()
            self.is_prepared = True

    @abstractmethod
    async def _prepare(self) -> None: ...

    async def finish(self) -> None:  # noqa: B027 - most have nothing left to do
        """Accounts for what is left and removes what was made."""

    @abstractmethod
    async def open_loop(self, rate_per_s: float, plan: TrialPlan) -> Trial:
        """One trial by schedule."""

    @abstractmethod
    async def closed_loop(self, in_flight: int | None, plan: TrialPlan) -> Trial:
        """One trial with a fixed number in flight; None: as many as saturate."""

    async def _warm(self, service_prefix: str, press: Callable[[float | None, TrialPlan], Awaitable[Trial]]) -> None:
        """Presses in chunks until the system's CPU cost per operation has settled, within the experiment's bounds:
        first without schedule, then by schedule as the trials will be, since other code is hot there."""
        bounds = self.bench.experiment.warm_up
        costs: list[list[float]] = [[], []]
        pressed, rate, settled = 0.0, 0.0, [False, False]
        for phase, until in enumerate((bounds.most * SATURATED_WARM_UP_SHARE, bounds.most)):
            while pressed < until and not (settled[phase] and pressed >= bounds.least):
                self.bench.listener.phase(f"warming up {service_prefix} with {self.name}")
                before = self._service_cpu_us(service_prefix)
                offered = rate * SCHEDULED_WARM_UP_RATE if phase == 1 and rate else None
                trial = await press(offered, TrialPlan(f"warm-up-{self.name}", "warm-up", 0.0, WARM_UP_CHUNK_S))
                if trial.status == "failed":
                    raise RunFailedError(f"{self.name} cannot be warmed up: {trial.reason}")
                outcome = trial.load(self.name).outcome
                pressed += WARM_UP_CHUNK_S
                if outcome is not None and outcome.counts.completed:
                    costs[phase].append((self._service_cpu_us(service_prefix) - before) / outcome.counts.completed)
                    rate = outcome.counts.completed / WARM_UP_CHUNK_S if offered is None else rate
                settled[phase] = is_settled(costs[phase])
        self.bench.runner.folder.journal("warmed up", workload=self.name, seconds=pressed, settled=all(settled),
                                         cpu_us_per_operation=costs)  # fmt: skip
        self.bench.listener.say(f"{self.name}: {'settled' if all(settled) else 'not settled'} after {pressed:.0f} s of warm-up")

    def _service_cpu_us(self, prefix: str) -> int:
        cpu = self.bench.runner.sampling.buffer.service_cpu_us
        return sum(value for name, value in cpu.items() if name.startswith(prefix))


class Produce(Pressable):
    """Records into a topic that is made for each trial and deleted after its account."""

    def __init__(self, name: str, spec: KafkaProduce, bench: Bench) -> None:
        super().__init__(name, bench)
        self.spec = spec
        self.endpoints = bench.systems["kafka"].endpoints

    async def _prepare(self) -> None:
        async def chunk(rate: float | None, plan: TrialPlan) -> Trial:
            load = self._saturating() if rate is None else {"open": {"rate_per_s": rate}}
            return await self._trial(plan, load, verify=False)

        await self._warm("kafka", chunk)

    def _saturating(self) -> Pressing:
        return {"closed": {"in_flight": kafka_load.saturating_in_flight(self.spec)}}

    async def open_loop(self, rate_per_s: float, plan: TrialPlan) -> Trial:
        return await self._trial(plan, {"open": {"rate_per_s": rate_per_s}}, verify=True)

    async def closed_loop(self, in_flight: int | None, plan: TrialPlan) -> Trial:
        load: Pressing = {"closed": {"in_flight": in_flight}} if in_flight is not None else self._saturating()
        return await self._trial(plan, load, verify=True)

    def topic(self, number: int | str) -> str:
        """A topic of our own."""
        return f"hydrotest-{self.bench.run}-{self.name}-{number}"

    async def _trial(self, plan: TrialPlan, load: Pressing, verify: bool) -> Trial:
        number = self.bench.runner.claim()
        topic = self.topic(number)
        try:
            generator = self.generator(topic, number, load, plan.seconds)

            async def set_up() -> None:
                await kafka_load.create_topic(self.host, self.endpoints, topic, self.spec)

            async def account(loads: list[Load]) -> list[Load]:
                return [await self.verified(loads[0], topic, number, plan.slug)] if verify else loads

            return await self.bench.runner.press(number, plan, [generator], account, set_up=set_up)
        finally:
            await remove_quietly(self.bench, kafka_load.delete_topic(self.host, self.endpoints, topic), topic)

    def generator(self, topic: str, number: int, load: Pressing, seconds: float) -> Generator:
        """The producing generator for one trial."""
        rate = load["open"]["rate_per_s"] if "open" in load else 0.0
        give_up = GIVE_UP_S + max(self.bench.experiment.objective(self.name).latencies_ms().values(), default=0.0) / 1e3
        cap = max(100_000, round(rate * (give_up + IN_FLIGHT_MARGIN_S)))
        pressure = self.bench.pressure(self.name, load, seconds, cap)
        return kafka_load.producer(self.name, self.spec, self.host, self.endpoints, topic, number, pressure)

    async def verified(self, load: Load, topic: str, number: int, slug: str) -> Load:
        """Reads every record back and adds the account."""
        assert load.outcome is not None
        folder = self.bench.runner.folder.trial_path(number, slug)
        self.bench.listener.phase(f"accounting for every record of {self.name}")
        read = await run_generators([kafka_load.verifier(self.host, self.endpoints, topic)], folder, lambda: None, lambda _w, _e: None)
        assert read[0].outcome is not None
        fates = kafka_fates(load.outcome.extra, read[0].outcome.extra)
        return load.model_copy(update={"fates": fates})


class Consume(Pressable):
    """Catching up on a topic that was filled beforehand."""

    def __init__(self, name: str, spec: KafkaConsume, source: Produce, bench: Bench) -> None:
        super().__init__(name, bench)
        self.spec = spec
        self.source = source
        self.topic = source.topic(name)
        self._filled: Outcome | None = None

    async def _prepare(self) -> None:
        await self.source.prepare()
        self.bench.listener.phase(f"filling a topic for {self.name}")
        await kafka_load.create_topic(self.host, self.source.endpoints, self.topic, self.source.spec)
        number = self.bench.runner.claim()
        seconds = self.bench.experiment.search.saturated
        load: Pressing = {"closed": {"in_flight": kafka_load.saturating_in_flight(self.source.spec)}}
        generator = self.source.generator(self.topic, number, load, seconds)
        trial = await self.bench.runner.press(number, TrialPlan(f"prefill-{self.name}", "prefill", 0.0, seconds), [generator])
        if trial.status == "failed":
            raise RunFailedError(f"the topic for {self.name} cannot be filled: {trial.reason}")
        self._filled = trial.load(self.source.name).outcome

    @property
    def records(self) -> int:
        """Acknowledged records that lie in the topic."""
        return 0 if self._filled is None else sum(size(normalised(part["runs"])) for part in self._filled.extra["acked"])

    async def catch_up(self, plan: TrialPlan) -> Trial:
        """Reads for a window, from the first record on, again and again; every record is checked."""
        number = self.bench.runner.claim()
        generator = kafka_load.consumer(self.name, self.host, self.source.endpoints, self.topic, plan.seconds, repeat=True)

        async def account(loads: list[Load]) -> list[Load]:
            outcome = loads[0].outcome
            assert outcome is not None
            assert self._filled is not None
            return [loads[0].model_copy(update={"fates": kafka_fates(self._filled.extra, outcome.extra)})]

        return await self.bench.runner.press(number, plan, [generator], account)

    async def open_loop(self, rate_per_s: float, plan: TrialPlan) -> Trial:
        raise TrialFailedError(f"{self.name} has no rate of its own")

    async def closed_loop(self, in_flight: int | None, plan: TrialPlan) -> Trial:
        return await self.catch_up(plan)

    async def finish(self) -> None:
        if self.is_prepared:
            await remove_quietly(self.bench, kafka_load.delete_topic(self.host, self.source.endpoints, self.topic), self.topic)


class Store(Pressable):
    """Rows in a keyspace that lives as long as the run."""

    def __init__(self, name: str, spec: CassandraLoad, bench: Bench) -> None:
        super().__init__(name, bench)
        self.spec = spec
        self.endpoints = bench.systems["cassandra"].endpoints
        # The number keeps apart what a keyspace's name cannot: `a-b` from `a_b`, and long names that begin alike.
        number = list(bench.experiment.workloads).index(name)
        self.keyspace = f"hydrotest_{bench.run}_{number}_{name}".replace("-", "_").lower()[:KEYSPACE_NAME_MAX]
        self._written: list[Outcome] = []
        self.stock_keyspace = f"{self.keyspace[: KEYSPACE_NAME_MAX - 6]}_stock"
        self.stock_filled = False
        """cassandra-stress has a keyspace of its own, filled once."""

    async def _prepare(self) -> None:
        await cassandra_load.create_table(self.host, self.endpoints, self.keyspace, self.spec)
        # Reads must find a row, and random writes must fall on rows whose presence can be checked.
        if self.spec.mix.read > 0 or self.spec.keys.shape != "sequential":
            await self._populate()

        async def chunk(rate: float | None, plan: TrialPlan) -> Trial:
            return await (self.closed_loop(None, plan) if rate is None else self.open_loop(rate, plan))

        await self._warm("cassandra", chunk)

    async def _populate(self) -> None:
        self.bench.listener.phase(f"populating {self.spec.keys.size:,} rows for {self.name}")
        number = self.bench.runner.claim()
        filling = cassandra_load.populator(self.name, self.spec, self.host, self.endpoints, self.keyspace, number)
        seconds = self.spec.keys.size / 10_000
        trial = await self.bench.runner.press(number, TrialPlan(f"populate-{self.name}", "populate", 0.0, seconds), [filling])
        if trial.status == "failed":
            raise RunFailedError(f"the table for {self.name} cannot be populated: {trial.reason}")
        self._note(trial)

    def _note(self, trial: Trial) -> None:
        outcome = trial.load(self.name).outcome
        if outcome is not None:
            self._written.append(outcome)

    async def open_loop(self, rate_per_s: float, plan: TrialPlan) -> Trial:
        return await self._trial(plan, {"open": {"rate_per_s": rate_per_s}})

    async def closed_loop(self, in_flight: int | None, plan: TrialPlan) -> Trial:
        return await self._trial(plan, {"closed": {"in_flight": in_flight or cassandra_load.SATURATING_IN_FLIGHT}})

    async def _trial(self, plan: TrialPlan, load: Pressing) -> Trial:
        number = self.bench.runner.claim()
        pressure = self.bench.pressure(self.name, load, plan.seconds, CQL_IN_FLIGHT_MAX)
        generator = cassandra_load.generator(self.name, self.spec, self.host, self.endpoints, self.keyspace, number, pressure)
        trial = await self.bench.runner.press(number, plan, [generator])
        self._note(trial)
        return trial

    async def finish(self) -> None:
        """Reads every row back, accounts for it, and drops the keyspaces."""
        if self.stock_filled:
            await self._drop(self.stock_keyspace)
        if not self._written:
            return
        acked = normalised(run for outcome in self._written for run in outcome.extra["acked_keys"])
        attempted = normalised(run for outcome in self._written for run in outcome.extra["attempted_keys"])
        self.bench.listener.phase(f"accounting for every row of {self.name}")
        try:
            scanned = await cassandra_load.scan(self.host, self.endpoints, self.keyspace, self.spec)
        except TrialFailedError as error:
            unknown = UNKNOWN_ROWS.model_copy(update={"sent": size(attempted), "acked": size(acked)})
            self.bench.runner.folder.journal("rows accounted for", workload=self.name, fates=unknown.model_dump(), reason=error.message)
            self.bench.listener.say(f"{self.name}: its rows could not be read back: {error.message}")
            return
        fates = rows_fates(attempted, acked, scanned)
        self.bench.runner.folder.journal("rows accounted for", workload=self.name, fates=fates.model_dump())
        await self._drop(self.keyspace)

    async def _drop(self, keyspace: str) -> None:
        await remove_quietly(self.bench, cassandra_load.drop_keyspace(self.host, self.endpoints, keyspace), keyspace)


async def remove_quietly(bench: Bench, removal: Awaitable[None], what: str) -> None:
    """Removes something of ours; where the system is gone, so is it, and the run's own error is the one to hear."""
    try:
        await removal
    except TrialFailedError as error:
        bench.runner.folder.journal("not removed", what_was=what, reason=error.message)


def make_pressables(bench: Bench) -> dict[str, Pressable]:
    """All workloads of the experiment, by name."""
    out: dict[str, Pressable] = {}
    for name, spec in bench.experiment.workloads.items():
        if isinstance(spec, KafkaProduce):
            out[name] = Produce(name, spec, bench)
        elif isinstance(spec, CassandraLoad):
            out[name] = Store(name, spec, bench)
    for name, spec in bench.experiment.workloads.items():
        if isinstance(spec, KafkaConsume):
            source = out[spec.reads]
            assert isinstance(source, Produce)
            out[name] = Consume(name, spec, source, bench)
    return out
