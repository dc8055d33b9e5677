"""Spark, and all systems together, as complete runs on real systems; and failures of their parts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hydrotest.hosts.deadlines import until_here
from tests.real.conftest import SOON, nodes_of, own_processes, tables_of
from tests.real.test_faults import SCHEMA, check_left, wait_for

pytestmark = pytest.mark.real
Start = Callable[..., subprocess.Popen[str]]

ALL = """\
name: together
hosts:
  here: {{connect: local, data: {data}}}
systems:
  kafka: {{hosts: [here], heap: 512 MiB}}
  spark: {{master: here, workers: [here], memory: 512 MiB}}
workloads:
  ingest: {{kind: kafka-produce}}
  drain:  {{kind: kafka-consume, reads: ingest}}
  batch:  {{kind: spark-perf, tests: [agg-by-key, sort-by-key], scale_factor: 0.02, data_scale: 0.02}}
  beside: {{kind: command, argv: [sleep, "1000"]}}
objectives:
  ingest: {{p99: 1 s}}
tests:
  - isolated: [batch]
  - combined: {{workloads: [ingest, drain, batch, beside], rates: {{ingest: 5K}}, window: 3 s}}
search: {{precision: 40 %, window: 3 s, warm_up: 1 s, saturated: 3 s}}
warm_up: {{least: 8 s, most: 8 s}}
"""


@pytest.fixture
def text(tmp_path: Path) -> str:
    return ALL.format(data=tmp_path / "data")


def test_spark_alone_and_all_together(text: str, tmp_path: Path, start_run: Start) -> None:
    process = start_run(text)
    _, err = process.communicate(timeout=900)
    assert process.returncode == 0, err
    summary: dict[str, Any] = json.loads((tmp_path / "run" / "summary.json").read_text())
    jsonschema.validate(summary, SCHEMA)
    rows = {(row["test"], row["tenancy"]): row for row in summary["spark"]}
    assert ("agg-by-key", "isolated") in rows
    assert ("sort-by-key", "isolated") in rows
    for row in rows.values():
        # 400 × 0.02 partitions; sort-by-key samples in a stage of its own.
        assert row["tasks_per_stage"] == 8
        assert row["stages"] == (2 if row["test"] == "agg-by-key" else 3)
        assert row["shuffle_write_bytes"] == row["shuffle_read_bytes"] > 0
        assert row["finished"]
        assert row["total_s"] > 0
    changes = {(row["workload"], row["metric"]): row for row in summary["interference"]}
    assert changes["ingest", "p99_ms"]["n"] == 5
    assert changes["drain", "p99_ms"]["n"] == 5
    assert changes["ingest", "achieved"]["isolated"] == pytest.approx(5_000, rel=0.05)
    # A consumer hears of a record after its producer does of the acknowledgement, but both count from the intended start.
    assert changes["drain", "p50_ms"]["isolated"] > 0
    accounts = {(row["workload"], row["tenancy"]): row for row in summary["integrity"]}
    for workload in ("ingest", "drain"):
        assert accounts[workload, "combined"]["lost"] == 0
        assert accounts[workload, "combined"]["in_flight"] == 0
        assert accounts[workload, "combined"]["acked"] > 0
    assert {row["service"] for row in summary["together"]["services"]} >= {"kafka-0", "spark-master", "spark-worker-0", "beside"}
    assert "Interference at the same rates" in tables_of(tmp_path / "run")
    assert own_processes(str(tmp_path)) == []


def test_a_soak_tells_what_was_held_drift_growth_and_what_became_of_every_record(text: str, tmp_path: Path, start_run: Start) -> None:
    text = "".join(line for line in text.splitlines(keepends=True) if "spark" not in line)
    head, _, tail = text.partition("tests:\n")
    text = f"{head}tests:\n  - soak: {{workloads: [ingest, drain], rates: {{ingest: 5K}}, duration: 60 s}}\n{tail[tail.index('search:') :]}"
    # No consumer receives a record so soon: that one objective is missed in each stretch, and the exit code
    # shows it.
    process = start_run(text.replace("  ingest: {p99: 1 s}\n", "  ingest: {p99: 1 s}\n  drain: {p50: 10 us}\n"))
    out, err = process.communicate(timeout=240)
    assert process.returncode == 1, err
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    jsonschema.validate(summary, SCHEMA)
    (soak,) = summary["soak"]
    loads = {load["workload"]: load for load in soak["workloads"]}
    assert set(loads) == {"ingest", "drain"}
    assert loads["ingest"]["achieved"] == pytest.approx(5_000, rel=0.01)
    assert len(loads["ingest"]["buckets"]) == 30
    assert loads["ingest"]["accepted"] == (not loads["ingest"]["reasons"])
    assert all(bucket["met"] is (bucket["p99_ms"] <= 1_000) for bucket in loads["ingest"]["buckets"])
    assert loads["drain"]["accepted"] is False
    assert any((one.get("rule"), one.get("percentile")) == ("latency", "p50") for one in loads["drain"]["because"])
    assert len(loads["drain"]["missed_at_s"]) == 30
    assert loads["ingest"]["drift_pct"]["p99_ms"] is not None
    growth = next(service for service in soak["services"] if service["service"] == "kafka-0")
    assert growth["growth_bytes_per_hour"]["low"] <= growth["growth_bytes_per_hour"]["per_hour"] <= growth["growth_bytes_per_hour"]["high"]
    assert all(row["lost"] == 0 for row in summary["integrity"])
    assert str(tmp_path / "run" / "report.html") in out
    assert "Soak: drift" in tables_of(tmp_path / "run")


@pytest.mark.long
def test_a_killed_driver_costs_its_trial_and_is_started_anew(text: str, tmp_path: Path, start_run: Start) -> None:
    process = start_run(text.replace("[ingest, drain, batch, beside]", "[ingest, batch]"))
    wait_for(process, "together ingest at", 240)
    until_here(lambda: nodes_of(process.pid, "produce"), SOON, "a generator", "start")
    drivers = [line for line in own_processes(str(tmp_path)) if "hydrotest.jobs.Batch" in line and "java" in line]
    os.kill(int(drivers[0].split()[0]), signal.SIGKILL)
    wait_for(process, "void: the driver of batch ended by signal 9", 60)
    wait_for(process, "starting the driver of batch", 60)
    wait_for(process, "done: measured", 120)
    process.send_signal(signal.SIGINT)
    summary, _ = check_left(tmp_path, process, 3)
    assert any("driver of batch" in trial["reason"] for trial in summary["failed_trials"])
    assert {(row["test"], row["tenancy"]) for row in summary["spark"]} >= {("agg-by-key", "isolated"), ("sort-by-key", "isolated")}


@pytest.mark.long
def test_a_killed_master_ends_the_run_and_keeps_what_was_measured(text: str, tmp_path: Path, start_run: Start) -> None:
    """Whose drivers and workers say that they lost it: it is the master that is named."""
    process = start_run(text)
    wait_for(process, "alone ingest at", 240)
    (master,) = (line for line in own_processes(str(tmp_path)) if "deploy.master.Master" in line and "java" in line)
    os.kill(int(master.split()[0]), signal.SIGKILL)
    summary, err = check_left(tmp_path, process, 3)
    assert "spark-master on here ended by signal 9" in err
    assert summary["status"] == "partial"
    assert [row["tenancy"] for row in summary["spark"]].count("isolated") == 2


@pytest.mark.long
def test_a_job_that_fails_is_told_in_sparks_words(text: str, tmp_path: Path, start_run: Start) -> None:
    # Results may have one byte: every job of the driver is aborted.
    process = start_run(text.replace("memory: 512 MiB}", 'memory: 512 MiB, config: {spark.driver.maxResultSize: "1"}}'))
    _, err = process.communicate(timeout=300)
    assert process.returncode == 3
    assert "spark.driver.maxResultSize" in err
    assert own_processes(str(tmp_path)) == []


def test_too_little_memory_for_all_is_refused_with_the_sum(text: str, tmp_path: Path, start_run: Start) -> None:
    process = start_run(text.replace("memory: 512 MiB", "memory: 900 GiB"))
    _, err = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "spark 9" in err
    assert "this machine has" in err
    assert not (tmp_path / "run").exists()
