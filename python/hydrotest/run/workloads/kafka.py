"""Kafka workloads: records into a topic of their own, and reading it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import PurePath

from hydrotest.analysis.integrity.ranges import kafka_fates, normalised, size
from hydrotest.hosts.base import Host
from hydrotest.load import kafka as load_kafka
from hydrotest.load.native import Generator, run_generators
from hydrotest.run.lifecycle.attempts import until_done, until_through
from hydrotest.run.trials.trial import Loads, Part, TrialPlan
from hydrotest.run.workloads.base import UNTHROTTLED, Bench, Follower, LoadSpec, LoadWorkload, Rated, Workload, remove_quietly
from hydrotest.spec.check_attached import most_of
from hydrotest.spec.choice import expected
from hydrotest.spec.dataflow import Dataflow
from hydrotest.spec.kafka_consume import KafkaConsume
from hydrotest.spec.kafka_produce import BATCH_BYTES_PER_RECORD, KafkaProduce
from hydrotest.store.purposes import Purpose, Trait
from hydrotest.store.records import Load, Outcome, Trial

SERVICES = "kafka"
"""Prefix of the names of brokers."""
IN_FLIGHT_BYTES_MAX = 2 << 30
"""A generator must not take the memory of the system under load; a cap that is hit is reported."""
RETAINED_BYTES_MIN = 256 << 20
RETAINED_IN_ALL_MIN = 6 * RETAINED_BYTES_MIN
RETAINED_PARTITION_MIN = 4 << 20
"""Of many partitions each keeps less, and at least four of the smallest segments."""
SATURATING_MAX = 2_000_000
"""Records in flight of a generator that is to saturate: what 100 partitions take with Kafka's defaults is 70,000."""
RETAINED_ATTACHED_MS = 3_600_000
RETAINED_S = 120.0
"""A soak's topic keeps at least this much of each partition."""


class Produce(Rated):
    """Records into a topic that is made for each trial and deleted after its account."""

    def __init__(self, name: str, spec: KafkaProduce, bench: Bench) -> None:
        super().__init__(name, spec, bench)
        self.spec: KafkaProduce = spec
        self.cluster = bench.systems["kafka"].cluster
        self.last_read: Outcome | None = None
        """The result of the last reading back of all records."""
        self._is_read_warm = False

    async def _prepare(self) -> None:
        await self._warm(SERVICES)

    async def warm_with(self, reader: LoadWorkload) -> None:
        """Warms what brokers do for one that reads its records as they come, once: as much again as to take them. Seen of a broker of 0.4
        core that had never been read from: a fifth of the rate at first."""
        if not self._is_read_warm:
            with self.bench.without_cpu_quota():
                await until_through(
                    self.bench,
                    f"warming up {self.name} with {reader.name}",
                    partial(self._warm, SERVICES, partial(self.trial_with, [reader])),
                )
            self._is_read_warm = True

    def topic(self, number: int | str) -> str:
        """A topic of our own."""
        return f"hydrotest-{self.bench.run}-{self.name}-{number}"

    def part(self, number: int, plan: TrialPlan, load_spec: LoadSpec) -> Part:
        topic = self.topic(number)

        async def set_up() -> None:
            self.last_read = None
            config = self._retention(load_spec.rate_per_s or 0.0) if plan.purpose == Purpose.SOAK and not self._is_kept else {}
            await self.place_payload()
            await self.make_topic(topic, config)

        async def account(load: Load, loads: Loads) -> Load:
            followers = [other for other in loads.values() if self._is_follower(other)]
            # A squeeze asks what binds. Reading its records back would take as long again, on the host that
            # it slowed down.
            if Trait.UNREAD in plan.purpose.traits or load.outcome is None:
                return load
            if followers and followers[0].outcome is not None and not self._is_kept:  # the follower has checked every record
                return load.model_copy(update={"fates": kafka_fates(load.outcome.extra, followers[0].outcome.extra)})
            return await self._verified(load, topic, number, plan.slug)

        async def tear_down() -> None:
            await self.remove_topic(topic)

        return Part(self.name, self.spec.kind, self.generators(topic, number, load_spec, plan), set_up, None, account, tear_down)

    def _payload_on(self, host: Host) -> PurePath:
        assert self.spec.payload is not None
        return host.scratch(self.bench.run) / f"payload-{self.spec.payload.digest[:16]}"

    async def place_payload(self) -> None:
        """Puts the file with the contents of its records on the hosts of its generators; again where a host was lost and swept."""
        if self.spec.payload is not None:
            for host in dict.fromkeys(self.hosts):
                if await host.size(self._payload_on(host)) != len(self.spec.payload.content):
                    await host.put(self._payload_on(host), self.spec.payload.content)

    async def make_topic(self, topic: str, config: Mapping[str, str] | None = None) -> None:
        """Its topic, or topics, with the settings that the experiment gives them."""
        ours = dict(config or {})
        if self._most_read is not None:  # should we never come to delete it
            ours = {"retention.ms": str(RETAINED_ATTACHED_MS), **ours}
        await self.bench.own.make_topic(self.host, self.cluster, topic, self.spec, {**self.spec.topic_config, **ours}, self.spec.topics)

    async def remove_topic(self, topic: str) -> None:
        """What `make_topic` made."""
        await remove_quietly(self.bench, self.bench.own.remove_topic(self.host, self.cluster, topic, self.spec.topics), topic)

    def _is_follower(self, load: Load) -> bool:
        spec = self.bench.experiment.workload(load.workload, KafkaConsume)
        return spec is not None and spec.reads == self.name

    @property
    def _is_kept(self) -> bool:
        """True if a dataflow accounts for the records in its topic, at the end."""
        return any(flow.reads == self.name for _, flow in self.bench.experiment.workloads_of(Dataflow))

    @property
    def _most_read(self) -> float | None:
        """Bytes a second that may be read back from a cluster that others use; None: as many as it gives."""
        most = most_of(self.bench.experiment, self.name)
        return None if most is None else most.rate_per_s

    def _retention(self, rate_per_s: float) -> dict[str, str]:
        """Keeps a soak's disk from filling: old segments go, long after a follower has read them."""
        least = max(RETAINED_PARTITION_MIN, min(RETAINED_BYTES_MIN, RETAINED_IN_ALL_MIN // self.spec.partitions_in_all))
        kept = max(least, round(rate_per_s * self.spec.record_bytes * RETAINED_S / self.spec.partitions_in_all))
        return {"retention.bytes": str(kept), "segment.bytes": str(least // 4)}

    def generators(self, topic: str, number: int, load_spec: LoadSpec, plan: TrialPlan) -> list[Generator]:
        """The producing generators for one trial."""
        most = round(IN_FLIGHT_BYTES_MAX / (self.spec.record_bytes + BATCH_BYTES_PER_RECORD))
        # Of thousands of partitions a pipeline that is full everywhere would not fit into the memory.
        saturating = min(load_kafka.saturating_in_flight(self.spec), SATURATING_MAX, most) * self.generator_count
        load = load_spec.load(self.spec.arrivals, self.bench.seed(self.name, number), saturating)
        settings = self.bench.load_settings(self.name, load, plan, min(self.bench.in_flight_cap(self.name, load_spec, plan), most))
        return load_kafka.producers(
            self.name, self.spec, self.hosts * load_spec.times, self.cluster, topic, number, settings, plan.purpose == Purpose.FAULT,
            self._payload_on if self.spec.payload is not None else None,
        )  # fmt: skip

    async def _verified(self, load: Load, topic: str, number: int, slug: str) -> Load:
        """Reads every record back and adds the account."""
        assert load.outcome is not None
        folder = self.bench.runner.folder.trial_path(number, slug)
        self.bench.listener.phase(f"accounting for every record of {self.name}")
        begun = time.monotonic()
        read = await run_generators(
            [
                load_kafka.verifier(
                    self.host,
                    self.cluster,
                    topic,
                    self.spec.transactions is not None,
                    bytes_per_s=self._most_read,
                    topics=self.spec.topics,
                    batch_bytes=self.spec.largest_batch_bytes,
                )
            ],
            folder,
            lambda: None,
            lambda _w, _e: None,
            clocks=self.bench.runner.sampling.clocks,
        )
        found = read[0].outcome
        assert found is not None
        self.last_read = found
        fates = kafka_fates(load.outcome.extra, found.extra)
        self.bench.runner.folder.journal("records accounted for", trial=number, workload=self.name, seen=fates.seen,
                                         seconds=time.monotonic() - begun, memory_bytes=found.memory_bytes_max)  # fmt: skip
        return load.model_copy(update={"fates": fates})


class Consume(Follower):
    """Alone, it catches up on a topic that was filled beforehand; with its producer, it follows."""

    @classmethod
    def bind(cls, name: str, spec: KafkaConsume, bench: Bench, made: Mapping[str, Workload]) -> Workload:
        return cls(name, spec, expected(made[spec.reads], Produce), bench)

    def __init__(self, name: str, spec: KafkaConsume, source: Produce, bench: Bench) -> None:
        super().__init__(name, spec, bench)
        self.spec: KafkaConsume = spec
        self.source: Produce = source
        self.topic = source.topic(name)
        self._filled: Outcome | None = None
        self._fillings = 0
        """Number of attempts to fill a topic."""
        self._reads_committed = spec.isolation == "read_committed"

    async def prepare_together(self) -> None:
        """It only follows then, and needs no topic filled before."""
        await self.source.prepare()
        await self.source.warm_with(self)

    async def _prepare(self) -> None:
        await self.source.prepare()
        self.bench.listener.phase(f"filling a topic for {self.name}")
        trial = await until_done(self.bench, self._fill)
        self._filled = trial.load(self.source.name).outcome

    async def _fill(self) -> Trial:
        """Fills a topic, another one each time: no account covers what a failed attempt has left in its
        own."""
        if self._fillings:
            await self._remove()
            self.topic = self.source.topic(f"{self.name}-{self._fillings}")
        self._fillings += 1
        await self.source.place_payload()
        await self.source.make_topic(self.topic)
        number = self.bench.runner.claim()
        plan = TrialPlan(f"prefill-{self.name}", Purpose.PREFILL, 0.0, self.bench.experiment.search.saturated)
        filling = Part(self.source.name, self.source.spec.kind, self.source.generators(self.topic, number, UNTHROTTLED, plan))
        return await self.bench.runner.press(number, plan, [filling])

    async def _remove(self) -> None:
        await self.source.remove_topic(self.topic)

    @property
    def records(self) -> int:
        """Number of acknowledged records in the topic."""
        return 0 if self._filled is None else sum(size(normalised(part["runs"])) for part in self._filled.extra["acked"])

    async def catch_up(self, plan: TrialPlan) -> Trial:
        """Reads for a window, from the first record on, repeatedly; every record is checked."""
        return await self.trial(plan, UNTHROTTLED)

    def part(self, number: int, plan: TrialPlan, load_spec: LoadSpec) -> Part:
        generators = load_kafka.consumers(self.name, self.hosts * load_spec.times, self.source.cluster, self.topic, plan.seconds, "repeat",
                                          committed=self._reads_committed, topics=self.source.spec.topics,
                                          batch_bytes=self.source.spec.largest_batch_bytes)  # fmt: skip

        async def account(load: Load, _loads: Loads) -> Load:
            assert load.outcome is not None
            assert self._filled is not None
            return load.model_copy(update={"fates": kafka_fates(self._filled.extra, load.outcome.extra)})

        return Part(self.name, self.spec.kind, generators, account=account)

    def following(self, number: int, plan: TrialPlan, load_spec: LoadSpec) -> Part:
        """Its part in a trial in which its producer runs too: it reads records as they arrive."""
        topic, arrivals, transactions = self.source.topic(number), self.source.spec.arrivals, self.source.spec.transactions
        is_even, burst = arrivals.shape == "even", arrivals.size or 0
        if self._reads_committed and transactions is not None:
            # A transaction's records become readable together, when it is committed; those of an aborted one
            # never.
            is_even, burst = False, max(burst, round((load_spec.rate_per_s or 0.0) * transactions.every))
        generators = load_kafka.consumers(self.name, self.hosts, self.source.cluster, topic, plan.seconds, "follow", load_spec.rate_per_s,
                                          plan.purpose == Purpose.FAULT, is_even, self._reads_committed, burst, topics=self.source.spec.topics,
                                          batch_bytes=self.source.spec.largest_batch_bytes)  # fmt: skip

        async def account(load: Load, loads: Loads) -> Load:
            written = loads[self.source.name].outcome
            assert load.outcome is not None
            assert written is not None
            return load.model_copy(update={"fates": kafka_fates(written.extra, load.outcome.extra)})

        return Part(self.name, self.spec.kind, generators, account=account)

    async def finish(self) -> None:
        if self._fillings:
            await self._remove()
