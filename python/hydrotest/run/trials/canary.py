"""A few requests a second of ours to every node of a cluster that others use: what they see, we see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from hydrotest.hosts.base import Host
from hydrotest.load import cassandra as load_cassandra
from hydrotest.load import kafka as load_kafka
from hydrotest.load.native import Generator
from hydrotest.run.workloads.own import OwnThings
from hydrotest.spec.arrivals import Arrivals
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.spec.kafka import KafkaProduce
from hydrotest.systems.attached import AttachedSystem

REQUESTS_PER_NODE_S = 10.0
RETENTION_MS = 3_600_000
IN_FLIGHT_MAX = 100_000


def canary_name(system: str, run: str) -> str:
    """What a run's canary writes to: by the end of this name other runs find it."""
    return {"kafka": f"hydrotest-{run}-canary", "cassandra": f"hydrotest_{run}_canary"}[system]


class Canary(Protocol):
    """Makes what it needs in a cluster; `OwnThings.clear` removes it."""

    async def __call__(self, system: AttachedSystem, host: Host, own: OwnThings, run: str, seconds: float, copies: int) -> Generator:
        """The generator of its requests, for so many seconds. Raises `TrialFailedError`."""
        ...


def _load(nodes: int, seconds: float) -> dict[str, Any]:
    """`LoadSettings` of rust/core/src/wire.rs without shares and priority."""
    schedule = {"rate_per_s": REQUESTS_PER_NODE_S * nodes, "arrivals": Arrivals().wire(0)}
    return {"model": {"open": schedule}, "seconds": seconds, "give_up_s": None, "in_flight_max": IN_FLIGHT_MAX}


async def _kafka(system: AttachedSystem, host: Host, own: OwnThings, run: str, seconds: float, copies: int) -> Generator:
    """Records to a topic with a partition on each broker."""
    assert system.facts is not None
    nodes = len(system.facts.nodes)
    topic = canary_name("kafka", run)
    spec = KafkaProduce(kind="kafka-produce", partitions=nodes, replication=min(copies, nodes))
    await own.make_topic(host, system.cluster, topic, spec, {"retention.ms": str(RETENTION_MS)})
    (generator,) = load_kafka.producers("canary", spec, [host], system.cluster, topic, 0, _load(nodes, seconds), retries=True)
    return generator


async def _cassandra(system: AttachedSystem, host: Host, own: OwnThings, run: str, seconds: float, copies: int) -> Generator:
    """Writes of rows that lie on all nodes."""
    assert system.facts is not None
    nodes = len(system.facts.nodes)
    keyspace = canary_name("cassandra", run)
    settings = {"kind": "cassandra", "mix": {"write": 1}, "keys": f"uniform(0, {1000 * nodes})", "replication": min(copies, nodes),
                "consistency": "LOCAL_QUORUM"}  # fmt: skip
    spec = CassandraLoad.model_validate(settings)
    await own.make_keyspace(host, system.cluster, keyspace, spec, system.data_center)
    (generator,) = load_cassandra.generators("canary", spec, [host], system.cluster, keyspace, 0, _load(nodes, seconds), filled=False)
    return generator


CANARIES: Mapping[str, Canary] = {"kafka": _kafka, "cassandra": _cassandra}
"""By system."""
