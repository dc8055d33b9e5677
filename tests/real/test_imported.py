"""Definitions of other benchmarks that were imported, on real systems: what they write is all there, and what they read is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hydrotest.imports.omb import import_omb
from hydrotest.imports.stress import import_stress
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench
from hydrotest.run.workloads.cassandra import Store
from hydrotest.run.workloads.kafka import Produce
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.store.purposes import Purpose
from tests.imported import HERE, written
from tests.test_import_omb import DRIVER, OMB
from tests.test_import_stress import OPS, PROFILES

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.asyncio(loop_scope="session")]
PLAN = TrialPlan("imported", Purpose.SEARCH, 0.5, 1.5, patience_s=30.0)
TOPICS_MAX = 50
"""One broker on a small machine takes seconds for a thousand partitions."""
PRODUCERS_MAX = 200
RATE_MAX = 5_000
BATCH_MAX = 100
ROWS = "uniform(0, 2K)"
"""Instead of millions."""


@pytest.mark.parametrize("name", OMB)
async def test_a_workload_of_openmessaging_benchmark_runs(name: str, bench: Bench, tmp_path: Path) -> None:
    driver = {**DRIVER, "replicationFactor": 1, "topicConfig": "min.insync.replicas=1\nflush.messages=1\n"}
    made = import_omb(written(tmp_path, "workload.yaml", OMB[name]), written(tmp_path, "driver.yaml", driver), HERE)
    ingest: dict[str, Any] = dict(made.experiment["workloads"]["ingest"])
    for key, most in (("topics", TOPICS_MAX), ("producers", PRODUCERS_MAX)):
        if key in ingest:
            ingest[key] = min(ingest[key], most)
    spec = KafkaProduce.model_validate(ingest)
    trial = await Produce("ingest", spec, bench).open_loop(min(OMB[name].get("producerRate") or RATE_MAX, RATE_MAX), PLAN)
    assert trial.status == "done", trial.reason
    load = trial.load("ingest")
    assert load.fates is not None
    assert load.outcome is not None
    assert load.outcome.errors == {}
    assert load.fates.seen == load.fates.acked == load.fates.sent > 0
    assert (load.fates.lost, load.fates.duplicated, load.fates.corrupted) == (0, 0, 0)


@pytest.mark.parametrize("name", PROFILES)
async def test_a_profile_of_cassandra_stress_runs(name: str, bench: Bench, tmp_path: Path) -> None:
    profile = written(tmp_path, f"{name}.yaml", PROFILES[name])
    made = import_stress(f"user profile={profile} 'ops({OPS[name]})' n=1M -rate threads=8", HERE)
    store_of = made.experiment["workloads"]["store"]
    for statement in store_of["statements"].values():
        if "batch" in statement:
            # As the import's note says: Cassandra takes no batch above 50 KiB.
            statement["batch"]["rows"] = min(statement["batch"]["rows"], BATCH_MAX)
    spec = CassandraLoad.model_validate({**store_of, "keys": ROWS, "replication": 1})
    store = Store("store", spec, bench)
    store.keyspace = f"hydrotest_t_{name.replace('-', '_')}"
    try:
        await store.fill()
        trial = await store.open_loop(200, PLAN)
    finally:
        await store.finish()
    assert trial.status == "done", trial.reason
    outcome = trial.load("store").outcome
    assert outcome is not None
    assert outcome.errors == {}
    assert outcome.counts.completed > 200
    assert (outcome.extra["missing_reads"], outcome.extra["corrupted_reads"]) == (0, 0)
