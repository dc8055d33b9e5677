"""Definitions of other benchmarks that were imported, on real systems: what they write is all there, and what they read is right."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

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
from tests.real.conftest import HYDROTEST
from tests.test_import_nosqlbench import KEYVALUE
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


VIEWS = "views"
"""Its ring makes views, which is not the default."""


@pytest.mark.parametrize("name", [name for name in PROFILES if name != VIEWS])
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


SHORT = {"window": "3 s", "warm_up": "1 s"}
ROWS_MAX = "2000"


def whole(folder: Path, *words: object) -> dict[str, Any]:
    """What a run finds of a definition, as it is imported; only its windows are shorter."""

    def hydrotest(*arguments: object) -> None:
        done = subprocess.run([str(HYDROTEST), *map(str, arguments)], capture_output=True, text=True, check=False, cwd=folder)
        assert done.returncode in (0, 1), done.stdout + done.stderr

    hydrotest("import", *words, "--out", "mine.yaml")
    experiment = yaml.safe_load((folder / "mine.yaml").read_text())
    written(folder, "short.yaml", experiment | {"search": SHORT})
    hydrotest("run", "short.yaml", "--out", "out")
    summary: dict[str, Any] = json.loads((folder / "out/summary.json").read_text())
    return summary


async def test_groups_a_soak_and_a_backlog_of_openmessaging_benchmark_run_as_imported(tmp_path: Path) -> None:
    # A backlog of 10 MB at 2,000 records/s takes 3 s for each of two subscriptions.
    given = {**OMB["simple-workload"], "subscriptionsPerTopic": 2, "consumerPerSubscription": 2, "testDurationMinutes": 1, "producerRate": 2_000,
             "consumerBacklogSizeGB": 0.01, "useRandomizedPayloads": True}  # fmt: skip
    written(tmp_path, "workload.yaml", given)
    written(tmp_path, "driver.yaml", {**DRIVER, "commonConfig": "bootstrap.servers=b1:9092\n"})
    summary = whole(tmp_path, "omb", "workload.yaml", "--driver", "driver.yaml")
    assert [(row["missed"], row["unread"], row["corrupted"]) for row in summary["groups"]] == [(0, 0, 0)] * 4
    assert {account["lost"] for account in summary["integrity"]} == {0}
    assert summary["soak"]
    (fault, *_) = summary["faults"]
    assert fault["service"] == "kafka-members-readers"


async def test_a_baseline_of_nosqlbench_runs_as_imported(tmp_path: Path) -> None:
    text = KEYVALUE.replace("main: run", f"rampup: run driver=cql tags==block:rampup cycles={ROWS_MAX}\n    main: run")
    written(tmp_path, "cql-keyvalue.yaml", text.replace("threads=auto", "threads=4"))
    (account,) = whole(tmp_path, "nosqlbench", "cql-keyvalue.yaml")["integrity"]
    assert (account["missing_reads"], account["corrupted_reads"], account["unchecked"]) == (0, 0, [])
    assert account["checked_reads"] > 0


async def test_a_profile_with_a_view_runs_as_imported(tmp_path: Path) -> None:
    written(tmp_path, f"{VIEWS}.yaml", PROFILES[VIEWS])
    summary = whole(
        tmp_path,
        "cassandra-stress",
        f"user profile={VIEWS}.yaml 'ops({OPS[VIEWS]})' n=1M -pop seq=1..{ROWS_MAX} -rate fixed=200/s threads=4",
    )
    (account,) = summary["integrity"]
    assert (account["missing_reads"], account["corrupted_reads"]) == (0, 0)
    (view,) = account["views"]
    assert (view["view"], view["missing"], view["extra"]) == ("by_customer", 0, 0)


async def test_a_command_line_of_cassandra_stress_runs_as_imported(tmp_path: Path) -> None:
    summary = whole(tmp_path, "cassandra-stress", f"mixed ratio(write=1,read=3) n=1M -pop seq=1..{ROWS_MAX} -rate fixed=300/s threads=4")
    assert {(account["lost"], account["corrupted"]) for account in summary["integrity"]} == {(0, 0)}
    assert summary["levels"]


async def test_a_command_line_of_kafka_producer_perf_test_runs_as_imported(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("one\ntwo, longer\nthree\n")
    line = "--topic t --num-records 20000 --throughput 2000 --payload-file lines.txt --producer-props acks=all linger.ms=5 compression.type=lz4"
    summary = whole(tmp_path, "kafka-producer-perf-test", line)
    assert {(account["lost"], account["corrupted"]) for account in summary["integrity"]} == {(0, 0)}
    assert summary["levels"]
