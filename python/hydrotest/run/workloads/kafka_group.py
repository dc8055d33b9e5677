"""Consumer groups that follow what another workload writes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from hydrotest.analysis.integrity.groups import group_fates
from hydrotest.hosts.deadlines import SLOW, Patience
from hydrotest.hosts.files import place
from hydrotest.jobs.jars import MAINS, job_jar
from hydrotest.load.kafka_group import Act, Member, Members, group_generator
from hydrotest.run.trials.trial import Loads, Part, TrialPlan
from hydrotest.run.workloads.base import Bench, LoadSpec, LoadWorkload, Workload, remove_quietly
from hydrotest.run.workloads.kafka import Produce
from hydrotest.spec.attach import RequestsMost
from hydrotest.spec.check_attached import most_of
from hydrotest.spec.choice import expected, narrowed
from hydrotest.spec.kafka_group import KafkaGroup, member_service, members_service
from hydrotest.store.records import Load
from hydrotest.systems.fetch import KAFKA, fetch, version_in
from hydrotest.systems.kafka.secured import TOOL_PROPERTIES, render_tool

GONE = Patience.of(its_last_commit_and_the_end_of_a_jvm=SLOW * 20.0)
JOIN_S = SLOW * 30.0
"""For a JVM to start, and for brokers to give a member its partitions."""
_INJECTED: dict[str, Act] = {"kill": "kill", "stop": "leave", "pause": "pause"}


class Group(LoadWorkload):
    """Each member is Kafka's own consumer."""

    source: Produce

    @classmethod
    def bind(cls, name: str, spec: KafkaGroup, bench: Bench, made: Mapping[str, Workload]) -> Workload:
        return cls(name, spec, expected(made[spec.reads], Produce), bench)

    def __init__(self, name: str, spec: KafkaGroup, source: Produce, bench: Bench) -> None:
        super().__init__(name, spec, bench)
        self.spec: KafkaGroup = spec
        self.source = source
        self._members = Members()
        self._argv: list[str] = []
        self._credentials: PurePath | None = None
        for group, member in spec.member_numbers:
            target = MembersTarget(member_service(name, group, member), self, ((group, member),))
            bench.background[target.name] = target
        every = MembersTarget(members_service(name), self, tuple(spec.member_numbers))
        bench.background[every.name] = every

    async def _prepare(self) -> None:
        self.bench.listener.phase(f"preparing members for {self.name}")
        fetched = await asyncio.to_thread(fetch, KAFKA, self.bench.listener.say)
        jar = await asyncio.to_thread(job_jar, "group", f"{fetched}/*", f"kafka-{version_in(fetched, KAFKA.version_jar)}")
        there, own = await self.host.copy_of(fetched), await self.host.copy_of(jar)
        self._argv = [str(await self.host.java()), f"-Xmx{self.spec.heap // 2**20}m", "-cp", f"{own}:{there}/*", MAINS["group"]]
        folder = self.host.scratch(self.bench.run)
        if rendered := render_tool(self.source.cluster, folder):
            await place(self.host, folder, rendered)
            self._credentials = folder / TOOL_PROPERTIES

    def part(self, number: int, plan: TrialPlan, load_spec: LoadSpec) -> Part:
        topic, source, cluster, own = self.source.topic(number), self.source.spec, self.source.cluster, self.bench.own
        groups = [own.begin_group(self.host, cluster, f"{topic}-{self.name}-{group}") for group in range(self.spec.groups)]
        generator = group_generator(
            self.name, self.spec, self.host, cluster, topic, source.topics, groups, self._argv, self._credentials, plan.seconds,
            self.spec.session_s(self.bench.experiment), load_spec.rate_per_s, source.arrivals.shape == "even", source.arrivals.size or 0,
            self._members, narrowed(most_of(self.bench.experiment, self.name), RequestsMost),
        )  # fmt: skip

        async def account(load: Load, _loads: Loads) -> Load:
            assert load.outcome is not None
            return load.model_copy(update={"fates": group_fates(load.outcome.extra)})

        async def tear_down() -> None:
            await asyncio.gather(*(remove_quietly(self.bench, own.remove_group(self.host, cluster, group), group) for group in groups))

        return Part(self.name, self.spec.kind, [generator], account=account, tear_down=tear_down)

    async def strike(self, which: Sequence[Member], how: str) -> None:
        """Takes members away, and returns when they are."""
        await self._members.act(which, _INJECTED[how], GONE)

    async def restore(self, which: Sequence[Member], how: str) -> None:
        """Brings members back, and returns when they have partitions to read."""
        # Members that were killed are in their group until their session is over, and may hold up others that join.
        patience = Patience.of(a_jvm_and_its_partitions=JOIN_S, the_session_of_who_was_before=self.spec.session_s(self.bench.experiment))
        await self._members.act(which, "resume" if how == "pause" else "join", patience)


@dataclass(frozen=True)
class MembersTarget:
    """Members as a fault target."""

    name: str
    group: Group
    which: tuple[Member, ...]

    async def inject(self, how: str) -> None:
        """See `FaultTarget`."""
        await self.group.strike(self.which, how)

    async def heal(self, how: str) -> None:
        """See `FaultTarget`."""
        await self.group.restore(self.which, how)
