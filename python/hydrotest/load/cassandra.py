"""Cassandra workloads: tables and generator settings."""

from __future__ import annotations

from typing import Any, Literal

from hydrotest.hosts.base import Host, ask
from hydrotest.hosts.cluster import Cluster
from hydrotest.load.native import NICE, Generator
from hydrotest.spec.models import CassandraLoad

SATURATING_IN_FLIGHT = 128
"""Requests in flight that keep a small ring busy; Cassandra's own default is 128 native transport threads."""
POPULATE_S_MAX = 3600.0
WRITERS_PER_TRIAL = 64


def _shape(workload: CassandraLoad) -> dict[str, int]:
    return {"columns": workload.columns, "column_bytes": workload.column_size}


async def create_table(host: Host, cluster: Cluster, keyspace: str, workload: CassandraLoad) -> None:
    """Makes a keyspace of our own with the workload's table."""
    replication = f"{{'class': 'SimpleStrategy', 'replication_factor': {workload.replication}}}"
    question = {"ask": "create_table", "cluster": cluster.wire(), "keyspace": keyspace, "replication": replication,
                "shape": _shape(workload)}  # fmt: skip
    await ask(host, "ask", {"cassandra": question})


async def drop_keyspace(host: Host, cluster: Cluster, keyspace: str) -> None:
    """Drops a keyspace of our own."""
    await ask(host, "ask", {"cassandra": {"ask": "drop_keyspace", "cluster": cluster.wire(), "keyspace": keyspace}})


async def scan(host: Host, cluster: Cluster, keyspace: str, workload: CassandraLoad) -> dict[str, Any]:
    """Reads and checks every row of the table."""
    level = workload.consistency if workload.consistency not in ("ANY", "EACH_QUORUM") else "ONE"
    question = {"ask": "scan", "cluster": cluster.wire(), "keyspace": keyspace, "shape": _shape(workload), "consistency": level}
    result: dict[str, Any] = await ask(host, "ask", {"cassandra": question})
    return result


def generator(name: str, workload: CassandraLoad, host: Host, cluster: Cluster, keyspace: str, trial: int,
              pressure: dict[str, Any]) -> Generator:  # fmt: skip
    """A reading and writing generator."""
    client: Literal["native", "driver"] = "driver" if workload.client == "driver" else "native"
    settings = {
        "client": client, "cluster": cluster.wire(), "keyspace": keyspace, "shape": _shape(workload),
        "consistency": workload.consistency, "write_share": workload.mix.write_share, "keys": workload.keys.wire(),
        # Another seed for each trial: the same keys again would be read from a warm cache.
        "seed": trial, "operations": None, "connections": workload.connections,
        "request_timeout_ms": round(workload.timeout * 1e3), "writer": trial * WRITERS_PER_TRIAL,
        "pressure": {**pressure, "threads": workload.threads, "nice": NICE},
    }  # fmt: skip
    return Generator.pressing(name, workload, host, "cql", settings, pressure["load"], client)


def populator(name: str, workload: CassandraLoad, host: Host, cluster: Cluster, keyspace: str, trial: int) -> Generator:
    """Writes every key of the workload's range once."""
    pressure = {"load": {"closed": {"in_flight": SATURATING_IN_FLIGHT}}, "seconds": POPULATE_S_MAX, "give_up_s": None,
                "in_flight_max": SATURATING_IN_FLIGHT}  # fmt: skip
    filling = generator(name, workload, host, cluster, keyspace, trial, pressure)
    keys = {"shape": "sequential", "min": workload.keys.low, "max": workload.keys.high - 1}
    filling.settings.update({"write_share": 1.0, "keys": keys, "operations": workload.keys.size})
    return filling
