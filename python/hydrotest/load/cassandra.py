"""Cassandra workloads: tables and generator settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from hydrotest.hosts.base import ASK, Host, ask
from hydrotest.hosts.cluster import Cluster
from hydrotest.hosts.deadlines import Patience
from hydrotest.load.native import Generator, shared
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.spec.workload import SHARES_MAX

SATURATING_IN_FLIGHT = 128
"""Requests in flight that keep a small ring busy; Cassandra's own default is 128 native transport threads."""
POPULATE_S_MAX = 3600.0
SCAN_ROWS_PER_S_MIN, SCAN_BYTES_PER_S_MIN = 500.0, 1e6
"""A hundredth of a scan's speed on two cores: hosts may have a small part of one."""
VIEWS_S_MAX = 60.0
"""Views that are this far behind their tables are not waited for."""
WRITERS_PER_TRIAL = SHARES_MAX
RECALL_QUERIES = 100
"""Answers of a statement that each generator holds against an exact search in a trial, at most."""


def _content(workload: CassandraLoad, *, is_filling: bool = False) -> dict[str, Any]:
    """`Content` of rust/cassandra/src/settings.rs; one statement fills the tables before the load.

    It needs the other statements, too: together they determine which columns are keys, and so their content.
    """
    if workload.mix is not None:
        return {"standard": {"shape": _shape(workload), "write_share": 1.0 if is_filling else workload.mix.write_share}}
    statements = [
        one.wire(name, float(name == workload.filling) if is_filling else one.weight, is_filling=is_filling)
        for name, one in workload.statements.items()
    ]
    generated = {name: maker.wire() for name, maker in workload.values.items()}
    return {"own": {"statements": statements, "generators": generated, "filling": workload.filling}}


def _shape(workload: CassandraLoad) -> dict[str, int]:
    return {"columns": workload.columns, "column_bytes": workload.column_size}


def _quoted(text: str) -> str:
    return text.replace("'", "''")


async def create_table(
    host: Host, cluster: Cluster, keyspace: str, workload: CassandraLoad, data_center: str | None = None, *, is_new: bool = False
) -> str | None:
    """Makes a keyspace of our own with the workload's tables; returns what it is known by.

    `data_center`: where its copies are; None: as the workload says. Raises `TrialFailedError`, with `is_new` also where there is
    one of that name.
    """
    replication = f"{{'class': '{workload.strategy}', 'replication_factor': {workload.copies}}}"
    if replicas := workload.replicas if data_center is None else {data_center: workload.copies}:
        each = "".join(f", '{_quoted(name)}': {copies}" for name, copies in replicas.items())
        replication = f"{{'class': 'NetworkTopologyStrategy'{each}}}"
    question: dict[str, Any] = {"cluster": cluster.wire(), "keyspace": keyspace, "replication": replication, "is_new": is_new}
    if workload.table:
        question |= {"query": "create_own", "statements": workload.table}
    else:
        question |= {"query": "create_table", "shape": _shape(workload)}
    return (await ask(host, "query", {"cassandra": question}))["id"]  # type: ignore[no-any-return]


async def drop_keyspace(host: Host, cluster: Cluster, keyspace: str, identity: str | None = None) -> None:
    """Drops a keyspace of our own: the one that is known by that, whatever else has its name."""
    await ask(host, "query", {"cassandra": {"query": "drop_keyspace", "cluster": cluster.wire(), "keyspace": keyspace, "id": identity}})


async def scan(host: Host, cluster: Cluster, keyspace: str, workload: CassandraLoad, rows_per_s: float | None = None) -> dict[str, Any]:
    """Reads and checks every row of the table; `rows_per_s`: no faster than that."""
    level = workload.consistency if workload.consistency not in ("ANY", "EACH_QUORUM") else "ONE"
    question = {"query": "scan", "cluster": cluster.wire(), "keyspace": keyspace, "shape": _shape(workload), "consistency": level,
                "rows_per_s": rows_per_s}  # fmt: skip
    patience = Patience.of(an_answer=ASK.seconds, all_rows=_reading_s(workload, rows_per_s))
    result: dict[str, Any] = await ask(host, "query", {"cassandra": question}, patience)
    return result


def _reading_s(workload: CassandraLoad, rows_per_s: float | None = None) -> float:
    """The longest time in which all rows of a table are read; `rows_per_s`: no faster than that."""
    each_s = 1 / min(SCAN_ROWS_PER_S_MIN, rows_per_s or SCAN_ROWS_PER_S_MIN)
    return workload.keys.size * max(each_s, _row_bytes(workload) / SCAN_BYTES_PER_S_MIN)


def _row_bytes(workload: CassandraLoad) -> float:
    """The largest row, of tables of the user's own without what has no size in the file."""
    if not workload.table:
        return workload.columns * workload.column_size
    return sum(maker.drawn.high for maker in workload.values.values() if maker.make == "bytes" and maker.drawn is not None)


async def compare_views(host: Host, cluster: Cluster, keyspace: str, workload: CassandraLoad) -> list[dict[str, Any]]:
    """Holds the rows of each view against those of its table, until they are the same: `Compared` of rust/cassandra/src/views.rs.

    Raises `TrialFailedError` where they cannot be read from all replicas.
    """
    question = {"query": "views", "cluster": cluster.wire(), "keyspace": keyspace, "patience_s": VIEWS_S_MAX}
    # Each view and its table are read once more when the time is over.
    reading_s = 4 * len(workload.table) * _reading_s(workload)
    patience = Patience.of(an_answer=ASK.seconds, views_to_follow=VIEWS_S_MAX, all_rows=reading_s)
    return list(await ask(host, "query", {"cassandra": question}, patience))


def generators(name: str, workload: CassandraLoad, hosts: Sequence[Host], cluster: Cluster, keyspace: str, trial: int,
               load: dict[str, Any], *, filled: bool, views_filled: bool = False, recall: bool = False) -> list[Generator]:  # fmt: skip
    """A reading and writing generator on each host.

    With `filled`, each row of `keys` has been written before, and acknowledged: a row that a read does not
    find is missing. With `views_filled`, each view had the same rows as its table then. With `recall`, it finds out
    after its load what share of the nearest vectors the reads of them found.
    """
    client: Literal["native", "driver"] = "driver" if workload.client == "driver" else "native"
    settings = {
        "client": client, "cluster": cluster.wire(), "keyspace": keyspace, "content": _content(workload), "filled": filled,
        "consistency": workload.consistency, "keys": workload.keys.wire(),
        # Another seed for each trial: the same keys again would be read from a warm cache.
        "seed": trial, "operations": None, "connections": workload.connections,
        "request_timeout_ms": round(workload.timeout * 1e3), "tick_us": round(workload.tick * 1e6), "writer": trial * WRITERS_PER_TRIAL,
    }  # fmt: skip
    if workload.wakes == "answer":
        settings["each_answer"] = True
    if workload.page_size is not None:
        settings["page_rows"] = workload.page_size
    if views_filled:
        settings["views_filled"] = True
    if recall and any(statement.is_nearest for statement in workload.statements.values()):
        settings["recall_queries"] = RECALL_QUERIES
    if workload.serial_consistency is not None:
        settings["serial_consistency"] = workload.serial_consistency
    return [Generator.of_share(name, workload, share, "cql", settings, client) for share in shared(load, workload.threads, hosts)]


def populators(name: str, workload: CassandraLoad, hosts: Sequence[Host], cluster: Cluster, keyspace: str, trial: int,
               rate_per_s: float | None = None, in_flight: int = SATURATING_IN_FLIGHT) -> list[Generator]:  # fmt: skip
    """Generators that write every row of the workload's range once, to all its replicas.

    Otherwise a read at a weak level might ask a replica without the row, and count it as lost. `rate_per_s`: no faster than
    that, on a ring that others use; else so many at a time.
    """
    closed = {"closed": {"in_flight": in_flight}}
    model = closed if rate_per_s is None else {"open": {"rate_per_s": rate_per_s, "arrivals": workload.arrivals.wire(trial)}}
    load = {"model": model, "seconds": POPULATE_S_MAX, "give_up_s": None, "in_flight_max": SATURATING_IN_FLIGHT}
    filling = generators(name, workload, hosts, cluster, keyspace, trial, load, filled=False)
    keys = {"shape": "sequential", "min": workload.keys.low, "max": workload.keys.high - 1}
    for one in filling:
        one.settings.update(
            {"content": _content(workload, is_filling=True), "keys": keys, "operations": workload.keys.size, "consistency": "ALL"}
        )
    return filling
