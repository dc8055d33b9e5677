"""Services killed, stopped and paused during a run, on real systems: the run goes on, and shows the cost."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.real.conftest import own_processes, tables_of
from tests.real.test_faults import SCHEMA

pytestmark = pytest.mark.real
Start = Callable[..., subprocess.Popen[str]]

DURATION_S = 35
KILLED_S = 60
"""A JVM that was killed starts anew, and is cold then."""
TEXT = """\
name: recovery
hosts:
  here: {{connect: local, data: {data}}}
systems:
{systems}
workloads:
{workloads}
tests:
{tests}
search: {{precision: 40 %, window: 3 s, warm_up: 1 s, saturated: 3 s}}
warm_up: {{least: 8 s, most: 8 s}}
"""


def run(tmp_path: Path, start_run: Start, systems: str, workloads: str, tests: list[str]) -> tuple[dict[str, Any], str]:
    body = "".join(f"  - fault: {{{test}, at: 5 s, down: 4 s}}\n" for test in tests)
    process = start_run(TEXT.format(data=tmp_path / "data", systems=systems, workloads=workloads, tests=body))
    out, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    summary: dict[str, Any] = json.loads((tmp_path / "run" / "summary.json").read_text())
    jsonschema.validate(summary, SCHEMA)
    assert own_processes(str(tmp_path)) == []
    return summary, out


@pytest.mark.parametrize(("how", "lasts"), [("pause", DURATION_S), pytest.param("kill", KILLED_S, marks=pytest.mark.long)])
def test_a_broker_away_costs_time_and_no_record(how: str, lasts: int, tmp_path: Path, start_run: Start) -> None:
    systems = "  kafka: {hosts: [here], heap: 512 MiB}"
    workloads = "  ingest: {kind: kafka-produce}\n  drain: {kind: kafka-consume, reads: ingest}"
    # `stop`: test_lab_faults.py, whose brokers are stopped one after the other.
    test = f"workloads: [ingest, drain], rates: {{ingest: 5K}}, service: kafka-0, action: {how}, duration: {lasts} s"
    summary, out = run(tmp_path, start_run, systems, workloads, [test])
    assert [row["action"] for row in summary["faults"]] == [how]
    for row in summary["faults"]:
        assert row["struck_s"] == pytest.approx(5, abs=1)
        assert row["back_s"] - row["struck_s"] >= 4
        loads = {load["workload"]: load for load in row["workloads"]}
        for load in loads.values():
            # Away for 4 s and its start: nothing can have been acknowledged meanwhile.
            assert load["recovery"]["longest_stall_s"] >= 3.5
            assert load["recovery"]["recovered_s"] >= load["recovery"]["longest_stall_s"] - 0.5
            assert load["recovery"]["caught_up_s"] is not None
            assert load["failed"] == 0
            assert load["fates"]["lost"] == 0
            assert load["fates"]["in_flight"] == 0
            assert load["latency_ms"]["during"]["max"] >= 3_500
            assert load["latency_ms"]["before"]["p50"] < load["latency_ms"]["during"]["p50"]
        # The producer is idempotent: what is sent again is stored once.
        assert loads["ingest"]["fates"]["duplicated"] == 0
        assert loads["ingest"]["fates"]["acked"] == pytest.approx((lasts + 1) * 5_000, rel=0.02)
    if how == "pause":
        assert summary["faults"][0]["workloads"][0]["sent_again"] == 0
    assert str(tmp_path / "run" / "report.html") in out
    assert "Faults" in tables_of(tmp_path / "run")


@pytest.mark.long
def test_a_node_away_fails_operations_and_no_row(tmp_path: Path, start_run: Start) -> None:
    systems = "  cassandra: {hosts: [here], heap: 1 GiB}"
    workloads = '  store: {kind: cassandra, mix: {write: 1, read: 3}, keys: "uniform(0, 10K)"}'
    tests = [f"workloads: [store], rates: {{store: 1K}}, service: cassandra-0, action: kill, duration: {KILLED_S} s"]
    summary, _ = run(tmp_path, start_run, systems, workloads, tests)
    (load,) = summary["faults"][0]["workloads"]
    assert load["recovery"]["longest_stall_s"] >= 3.5
    assert load["recovery"]["recovered_s"] is not None
    assert load["failed"] > 1_000
    assert sum(load["errors"].values()) == load["failed"]
    (account,) = summary["integrity"]
    assert account["lost"] == 0


@pytest.mark.long
def test_a_spark_worker_away_delays_its_jobs_and_nobody_else(tmp_path: Path, start_run: Start) -> None:
    systems = "  kafka: {hosts: [here], heap: 512 MiB}\n  spark: {master: here, workers: [here], memory: 512 MiB}"
    workloads = "  ingest: {kind: kafka-produce}\n  batch: {kind: spark-perf, tests: [agg-by-key, sort-by-key], scale_factor: 0.02, data_scale: 0.02}"
    tests = [f"workloads: [ingest, batch], rates: {{ingest: 2K}}, service: spark-worker-0, action: kill, duration: {DURATION_S} s"]
    summary, _ = run(tmp_path, start_run, systems, workloads, tests)
    (row,) = summary["faults"]
    (load,) = row["workloads"]
    assert load["workload"] == "ingest"
    assert load["failed"] == 0
    assert load["fates"]["lost"] == 0
    # Its driver waits for the worker and goes on with it: right answers before and after.
    assert {found["test"] for found in summary["spark"]} == {"agg-by-key", "sort-by-key"}
    assert all(found["finished"] for found in summary["spark"])
