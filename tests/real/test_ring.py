"""A real ring of three nodes on this machine: requests go to the nodes that hold the rows, and a node that is away costs nothing
where the others suffice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hydrotest.analysis.integrity.views import view_accounts
from hydrotest.hosts.base import ask
from hydrotest.hosts.deadlines import until
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench
from hydrotest.run.workloads.cassandra import Store
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Outcome, RecordAccounting, Trial
from hydrotest.systems.cassandra.ring import Place
from hydrotest.systems.cassandra.system import CassandraSystem
from tests.real.conftest import SOON, Pressed

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]

RING = """\
name: ring
hosts:
  one:   {connect: local, address: 127.0.0.1, rack: r1}
  two:   {connect: local, address: 127.0.0.2, rack: r2}
  three: {connect: local, address: 127.0.0.3, rack: r3}
systems:
  # Three cold nodes on two cores now and then stand still for longer than Cassandra's own two seconds; that is not what is tested here.
  cassandra:
    hosts: [one, two, three]
    heap: 512 MiB
    config: {write_request_timeout: 20s, read_request_timeout: 20s, materialized_views_enabled: true}
workloads:
  store: {kind: cassandra, mix: {write: 1, read: 1}, keys: "uniform(0, 2K)", replication: 3}
tests:
  - isolated: [store]
"""
PLAN = TrialPlan("ring", Purpose.SEARCH, 1.0, 4.0, patience_s=30.0)
RATE = 1_000
LIGHT_RATE = 300
"""What two nodes answer even while each request that meets the third holds a thread until another is asked (`speculative_retry`)."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ring(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    async with open_testbed(RING, tmp_path_factory.mktemp("ring"), Silent()) as bench:
        yield bench


def store(bench: Bench, **settings: Any) -> Store:
    """Reads and writes of 2,000 rows."""
    chosen = {"kind": "cassandra", "mix": {"write": 1, "read": 1}, "keys": "uniform(0, 2K)", "timeout": "20 s", **settings}
    made = Store("store", CassandraLoad.model_validate(chosen), bench)
    made.keyspace = "_".join(
        ["hydrotest_t_ring", *(str(settings[key]).lower() for key in ("consistency", "replication", "client") if key in settings)]
    )
    return made


def outcome_of(trial: Trial) -> Outcome:
    assert trial.status == "done", trial.reason
    outcome = trial.load("store").outcome
    assert outcome is not None
    return outcome


def fates_told(bench: Bench) -> RecordAccounting:
    """The newest account of rows in the journal."""
    told = [entry for entry in bench.runner.folder.read_journal() if entry["what"] == "rows accounted for"]
    return RecordAccounting.model_validate(told[-1]["fates"])


async def test_a_view_on_other_nodes_holds_the_rows_of_its_table(ring: Bench) -> None:
    """Most rows of a view are on another node than those of the table, and come there later."""
    settings = {
        "kind": "cassandra", "keys": "uniform(0, 2K)", "timeout": "20 s",
        "table": ["CREATE TABLE us (id int PRIMARY KEY, email text, v int)",
                  "CREATE MATERIALIZED VIEW us_by_email AS SELECT id, email, v FROM us WHERE email IS NOT NULL AND id IS NOT NULL "
                  "PRIMARY KEY (email, id)"],
        "statements": {
            "put": {"cql": "INSERT INTO us (id, email, v) VALUES (?, ?, ?)"},
            "find": {"cql": "SELECT id, v FROM us_by_email WHERE email = ? AND id = ?", "weight": 2},
        },
    }  # fmt: skip
    users = Store("store", CassandraLoad.model_validate(settings), ring)
    users.keyspace = "hydrotest_t_ring_views"
    await users.fill()
    trial = await users.open_loop(LIGHT_RATE, PLAN)
    await users.finish()
    extra = outcome_of(trial).extra
    assert (extra["missing_reads"], extra["corrupted_reads"], extra["unchecked"]) == (0, 0, [])
    assert extra["checked_reads"] == extra["answered"]["find"] > 0
    journal = ring.runner.folder.read_journal()
    (view,) = view_accounts(ring.runner.folder, [trial], journal)["store"]
    assert (view.view, view.rows, view.missing, view.extra) == ("us_by_email", 2_000, 0, 0)
    assert view.settled_s is not None
    assert view.pending_max is not None
    # Of updates on other nodes each node keeps a time.
    assert view.behind_p99_ms is not None
    assert view.behind_p99_ms > 0


async def test_a_node_that_joins_is_found(tmp_path: Path, pressed: Callable[[Bench], Pressed]) -> None:
    """The client hears of it in mid-run, and asks it for the rows that it has taken over."""
    two_of_three = RING.replace("hosts: [one, two, three]", "hosts: [one, two]").replace("replication: 3", "replication: 1")
    async with open_testbed(two_of_three, tmp_path / "ring", Silent()) as bench:
        system = bench.systems["cassandra"]
        assert isinstance(system, CassandraSystem)
        subject = store(bench, consistency="ONE", replication=1)
        await subject.fill()
        three = bench.hosts["three"]
        joining = asyncio.create_task(system.add_node(three, Place("datacenter1", "r3"), print))
        # Most of a start is the JVM's: the load is to be there for what comes after.

        async def listens() -> bool:
            assert not joining.done()
            return await three.port_holder(system.storage_port) is not None

        await until(listens, SOON, "the third node", "listen", 0.2)
        hearing = pressed(bench)
        pressing = asyncio.create_task(subject.open_loop(LIGHT_RATE, TrialPlan("ring", Purpose.LEVEL, 1.0, 75.0, patience_s=75.0)))
        await hearing.goes_on()
        assert not pressing.done()
        assert not joining.done(), "the node had joined before anything was asked"
        await joining
        before = await counted(bench, "cassandra_completed_tasks")
        await hearing.goes_on(5)
        after = await counted(bench, "cassandra_completed_tasks")
        assert not pressing.done(), "the node took longer to join than the load lasted"
        outcome = outcome_of(await pressing)
        await subject.finish()
        assert sum(outcome.errors.values()) == 0, outcome.errors
        served = [now - then for now, then in zip(after, before, strict=True)]
        # It takes a share of the ring near a third; clients would send nothing to an unknown node.
        assert served[2] > 0.15 * sum(served), served
        assert fates_told(bench).lost == 0


@pytest.mark.parametrize("level", ["ONE", "QUORUM", "ALL"])
async def test_every_level_is_answered_and_nothing_is_lost(ring: Bench, level: str) -> None:
    subject = store(ring, consistency=level, replication=3, strategy="NetworkTopologyStrategy")
    await subject.fill()
    outcome = outcome_of(await subject.open_loop(RATE, PLAN))
    await subject.finish()
    assert outcome.errors == {}
    # At ONE a read may ask a node that a write has not reached yet: it finds the row as it was before, which is intact too.
    assert (outcome.extra["missing_reads"], outcome.extra["corrupted_reads"]) == (0, 0)
    assert fates_told(ring).lost == 0


async def counted(bench: Bench, gauge: str) -> list[float]:
    """The sum of a gauge of each node."""
    sums = []
    for service in bench.systems["cassandra"].services:
        page = (await ask(service.host, "query", {"http": {"url": service.gauges_url}}))["body"]
        sums.append(sum(float(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith(f"{gauge}{{")))
    return sums


async def test_requests_go_to_nodes_that_hold_the_row(ring: Bench) -> None:
    """With one copy of each row, a request that came to another node is passed on, and its answer passed back: two messages."""
    sent = {}
    for client in ("native", "driver"):
        subject = store(ring, consistency="ONE", replication=1, client=client)
        await subject.fill()
        before = sum(await counted(ring, "cassandra_messages_sent"))
        outcome = outcome_of(await subject.open_loop(RATE, PLAN))
        sent[client] = sum(await counted(ring, "cassandra_messages_sent")) - before
        await subject.finish()
        assert outcome.errors == {}
        # Gossip is a few messages a second; of requests sent at random to three nodes two thirds would be passed on.
        assert sent[client] < 0.05 * sum(outcome.extra["answered"].values()), sent


async def test_nodes_that_hold_a_row_take_turns(ring: Bench) -> None:
    subject = store(ring, consistency="ONE", replication=3)
    await subject.fill()
    before = await counted(ring, "cassandra_completed_tasks")
    outcome = outcome_of(await subject.open_loop(RATE, PLAN))
    after = await counted(ring, "cassandra_completed_tasks")
    await subject.finish()
    served = [now - then for now, then in zip(after, before, strict=True)]
    third = sum(outcome.extra["answered"].values()) / 3
    assert served == pytest.approx([third] * 3, rel=0.1)


async def test_a_node_that_is_killed_costs_a_quorum_nothing(ring: Bench, pressed: Callable[[Bench], Pressed]) -> None:
    """Requests that were out on it fail by name; those after it go to the others, and it is found again when it is back."""
    subject = store(ring, consistency="LOCAL_QUORUM", replication=3, strategy="NetworkTopologyStrategy")
    await subject.fill()
    system = ring.systems["cassandra"]
    victim = system.service("cassandra-2")
    assert victim is not None
    # A node waits for another as long as its slowest hundredth took so far: warm, that is short.
    outcome_of(await subject.open_loop(LIGHT_RATE, TrialPlan("ring", Purpose.LEVEL, 1.0, 10.0, patience_s=10.0)))
    hearing = pressed(ring)
    pressing = asyncio.create_task(subject.open_loop(LIGHT_RATE, TrialPlan("ring", Purpose.FAULT, 1.0, 40.0, patience_s=40.0)))
    await hearing.goes_on(3)
    await victim.inject("kill")
    await hearing.goes_on(5)
    await victim.heal("kill")
    outcome = outcome_of(await pressing)
    await system.until_ready()
    await subject.finish()
    assert outcome.counts.started == pytest.approx(LIGHT_RATE * 41, rel=0.01)
    assert sum(outcome.errors.values()) < 0.02 * outcome.counts.started, outcome.errors
    names = {name.rpartition(" ")[2] for name in outcome.errors}
    assert names <= {"ConnectionLost", "ClientTimeout", "ReadTimeout", "WriteTimeout", "Unavailable", "ReadFailure", "WriteFailure"}, names
    assert fates_told(ring).lost == 0
