"""A real ring in two data centres: each has the replicas that the experiment gives it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.cassandra import Store
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.store.purposes import Purpose
from tests.real.test_ring import counted

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]

RING = """\
name: centres
hosts:
  one: {connect: local, address: 127.0.0.1, data_center: east}
  two: {connect: local, address: 127.0.0.2, data_center: west}
systems:
  cassandra: {hosts: [one, two], heap: 512 MiB, config: {write_request_timeout: 20s, read_request_timeout: 20s}}
workloads:
  store: {kind: cassandra, mix: {write: 1, read: 1}, keys: "uniform(0, 500)", replication: {east: 1, west: 1}}
tests:
  - isolated: [store]
"""
PLAN = TrialPlan("centres", Purpose.SEARCH, 1.0, 3.0, patience_s=30.0)


async def test_each_data_centre_has_its_replicas(tmp_path: Path) -> None:
    """A write at ALL goes to the other data centre where it has a replica there, and only then."""
    sent: dict[int, float] = {}
    async with open_testbed(RING, tmp_path / "ring", Silent()) as bench:
        for replication in ({"east": 1, "west": 1}, {"east": 1}):
            settings = {
                "kind": "cassandra",
                "mix": {"write": 1},
                "keys": "sequential(0, 500)",
                "replication": replication,
                "consistency": "ALL",
            }
            made = Store("store", CassandraLoad.model_validate({**settings, "timeout": "20 s"}), bench)
            made.keyspace = f"hydrotest_t_centres_{len(replication)}"
            await made.fill()
            before = sum(await counted(bench, "cassandra_messages_sent"))
            trial = await made.open_loop(200, PLAN)
            passed_on = sum(await counted(bench, "cassandra_messages_sent")) - before
            await made.finish()
            assert trial.status == "done", trial.reason
            outcome = trial.load("store").outcome
            assert outcome is not None
            assert outcome.errors == {}
            sent[len(replication)] = passed_on / sum(outcome.extra["answered"].values())
    # A message and its answer, or none; gossip is a few messages a second.
    assert sent[2] > 1.8
    assert sent[1] < 0.1
