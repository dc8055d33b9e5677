"""Consumer groups: settings of their generator, and what is done with their members while it runs."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePath
from typing import Literal

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import Host
from hydrotest.hosts.cluster import Cluster
from hydrotest.hosts.deadlines import Patience, within
from hydrotest.hosts.node import Event, Node
from hydrotest.load.kafka import PARTITION_FETCH_BYTES
from hydrotest.load.native import Generator
from hydrotest.spec.attach import RequestsMost
from hydrotest.spec.kafka_group import HEARTBEATS_PER_SESSION, KafkaGroup, drain_s

Act = Literal["kill", "leave", "pause", "resume", "join"]
"""`Act` in rust/core/src/wire.rs."""
Member = tuple[int, int]
"""The number of a group, and of a member in it."""

GONE = "the members of the groups are gone"
SETTLE_S = 90.0
"""From the start of the JVMs until each partition has a reader, on a slow machine."""
POLL_RECORDS, FETCH_BYTES = 500, 50 << 20
"""Kafka's defaults of `max.poll.records` and `fetch.max.bytes`."""
CAPS = ("max.poll.records", "fetch.max.bytes", "max.partition.fetch.bytes")
"""What a member takes at once: no more than the owner of a cluster allows, whatever `config` says."""
POLL_S = 0.1
"""Of what is allowed, a poll returns as much as is allowed in this time."""
HEARTBEAT_S = 3.0
"""Kafka's default of `heartbeat.interval.ms`."""
_ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "roundrobin": "org.apache.kafka.clients.consumer.RoundRobinAssignor",
    "sticky": "org.apache.kafka.clients.consumer.StickyAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}


class Members:
    """The members of a generator's groups, while it runs."""

    def __init__(self) -> None:
        self._node: Node | None = None
        self._waiting: dict[tuple[Member, bool], list[asyncio.Future[None]]] = defaultdict(list)

    def run_by(self, node: Node | None) -> None:
        """The node that runs them; None: they are gone, and what is asked of them is not done."""
        self._node = node
        for futures in self._waiting.values():
            for future in futures:
                if not future.done():
                    future.set_exception(TrialFailedError(GONE))
        self._waiting.clear()

    def on_event(self, event: Event) -> None:
        """Takes in that something that was asked for is done."""
        for future in self._waiting.pop(((event["group"], event["member"]), event["is_there"]), []):
            if not future.done():  # nobody waits for what comes too late
                future.set_result(None)

    async def act(self, which: Sequence[Member], act: Act, patience: Patience) -> None:
        """Does something with members, all at once, and returns when it is done. Raises `OverdueError`, and `TrialFailedError`
        where they are gone: their generator has failed."""
        if self._node is None:
            raise TrialFailedError(GONE)
        is_there = act in ("resume", "join")
        done: list[asyncio.Future[None]] = []
        for group, member in which:
            future = asyncio.get_running_loop().create_future()
            self._waiting[(group, member), is_there].append(future)
            done.append(future)
            await self._node.command("member", group=group, member=member, act=act)
        await within(asyncio.gather(*done), patience, "a member of a group", act)


def properties(workload: KafkaGroup, endpoints: Sequence[str], most: RequestsMost | None = None) -> dict[str, str]:
    """Settings of Kafka's consumer. `most`: what the owner of the cluster allows to all members together."""
    own: dict[str, object] = {
        "bootstrap.servers": ",".join(endpoints), "auto.offset.reset": "none", "group.protocol": workload.protocol,
        "isolation.level": workload.isolation, "enable.auto.commit": str(workload.commit == "auto").lower(),
        "auto.commit.interval.ms": round(workload.commit_every * 1e3),
    }  # fmt: skip
    if workload.protocol == "classic":
        own["session.timeout.ms"] = round(workload.session * 1e3)
        own["heartbeat.interval.ms"] = round(min(HEARTBEAT_S, workload.session / HEARTBEATS_PER_SESSION) * 1e3)
        if workload.assignor is not None:
            own["partition.assignment.strategy"] = _ASSIGNORS[workload.assignor]
    elif workload.assignor is not None:
        own["group.remote.assignor"] = workload.assignor
    if most is not None:
        # A member is held back between polls, and only what it has fetched already can be more than is allowed.
        share = 1 / (workload.groups * workload.members)
        own["max.poll.records"] = math.ceil(min(POLL_RECORDS, most.rate * POLL_S * share))
        own["fetch.max.bytes"] = fetch = math.ceil(min(FETCH_BYTES, most.rate_per_s * share))
        own["max.partition.fetch.bytes"] = min(PARTITION_FETCH_BYTES, fetch)
    given = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in workload.config.items()}
    for key in CAPS if most is not None else ():
        if given.get(key, "").isdecimal():
            given[key] = str(min(int(given[key]), int(str(own[key]))))
    return {key: str(value) for key, value in own.items()} | given


def group_generator(name: str, workload: KafkaGroup, host: Host, cluster: Cluster, topic: str, topics: int, groups: Sequence[str],
                    argv: Sequence[str], credentials: PurePath | None, seconds: float, session_s: float,
                    offered: float | None, is_even: bool, burst: int, members: Members | None = None, most: RequestsMost | None = None) -> Generator:  # fmt: skip
    """The generator of a workload's groups, whose ids are `groups`. `argv`: the program of a member; `credentials`: a file on the
    host; `offered`: the rate at which the topic is written, which each group reads; `most`: what the owner of the cluster allows."""
    settings = {
        "cluster": cluster.wire(), "topic": topic, "topics": topics, "seconds": seconds, "argv": list(argv), "groups": list(groups),
        "members": workload.members, "properties": properties(workload, cluster.addresses, most),
        "credentials": None if credentials is None else str(credentials),
        "commit": workload.commit, "commit_ms": workload.commit_every * 1e3, "committed": workload.isolation == "read_committed",
        "settle_s": SETTLE_S, "drain_s": drain_s(session_s) if most is None else drain_s(session_s, seconds),
    }  # fmt: skip
    if most is not None:
        settings["most"] = {"records_per_s": most.rate, "bytes_per_s": most.rate_per_s}
    return Generator(name, workload.kind, host, "group", settings, offered=None if offered is None else offered * len(groups),
                     is_even=is_even, burst=burst * len(groups), follows=True, members=members)  # fmt: skip
