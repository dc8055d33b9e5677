"""Dataflows on real Kafka, Spark and HDFS: every record accounted for behind every step, and what is planted is found where it was planted."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.real.conftest import own_processes
from tests.real.test_faults import SCHEMA

pytestmark = pytest.mark.real
Start = Callable[..., subprocess.Popen[str]]
LOST, STRAYED, DOUBLED, DAMAGED = 7, 17, 11, 13
"""As in tests/data/flawed_job.py."""

HEAD = """\
hosts:
  here: {{connect: local, data: {data}}}
  two: {{connect: local, address: 127.0.0.2}}
  three: {{connect: local, address: 127.0.0.3}}
search: {{window: 6 s, warm_up: 2 s, repeats: 3}}
warm_up: {{least: 1 s, most: 2 s}}
"""
WHOLE = (
    HEAD
    + """\
name: dataflow-whole
systems:
  kafka: {{hosts: [here], heap: 512 MiB}}
  hdfs: {{namenode: here, datanodes: [here, two, three], replication: 2}}
  spark: {{master: here, workers: [here], cores: 8, memory: 1 GiB, driver_memory: 768 MiB}}
workloads:
  logs: {{kind: kafka-produce, partitions: 4, record_size: 500 B, levels: {{info: 8, warning: 1, error: 1}}}}
  flow: {{kind: dataflow, reads: logs, partitions: 4, sinks: [kafka, directory, hdfs], directory: "file://{data}/lake", windows: 2 s}}
  put: {{kind: hdfs-write, files: 2, file_size: 8 MiB, at_once: 2}}
  get: {{kind: hdfs-read, reads: put, at_once: 2}}
# Nobody is as quick: the level is refused, whatever this machine does.
objectives: {{flow: {{p99: 1 ms}}, logs: {{p99: 20 s}}}}
tests:
  - isolated: [put, get]
  - levels: {{workload: flow, rates: [1K], duration: 20 s}}
"""
)
OTHERS = (
    HEAD
    + """\
name: dataflow-others
systems:
  kafka: {{hosts: [here], heap: 512 MiB}}
  spark: {{master: here, workers: [here], cores: 8, memory: 1 GiB, driver_memory: 768 MiB}}
workloads:
  lines: {{kind: kafka-produce, partitions: 4, record_size: 500 B, levels: {{info: 8, warning: 1, error: 1}}}}
  plain: {{kind: dataflow, reads: lines, engine: kafka, partitions: 4}}
  logs: {{kind: kafka-produce, partitions: 4, record_size: 500 B, levels: {{info: 8, warning: 1, error: 1}}}}
  flawed: {{kind: dataflow, reads: logs, submit: {job}, partitions: 4}}
  few: {{kind: kafka-produce, partitions: 2, record_size: 500 B, levels: {{info: 8, error: 2}}}}
  quick: {{kind: dataflow, reads: few, partitions: 2, mode: real-time}}
# A source that stands still for a moment is not given up.
objectives: {{lines: {{p99: 20 s}}, logs: {{p99: 20 s}}, few: {{p99: 20 s}}}}
tests:
  - levels: {{workload: plain, rates: [2K], duration: 8 s}}
  - levels: {{workload: flawed, rates: [1K], duration: 8 s}}
  - levels: {{workload: quick, rates: [500], duration: 12 s}}
"""
)
STORED = (
    HEAD
    + """\
name: dataflow-stored
systems:
  kafka: {{hosts: [here], heap: 512 MiB}}
  # Otherwise a node that is killed forgets what it acknowledged in its last 0.1 s (CASSANDRA-13987), which then is told.
  cassandra: {{hosts: [here], heap: 1 GiB, config: {{commitlog_sync: batch}}}}
  spark: {{master: here, workers: [here], cores: 8, memory: 1 GiB, driver_memory: 768 MiB}}
workloads:
  logs: {{kind: kafka-produce, partitions: 4, record_size: 200 B, levels: {{normal: 9, alarm: 1}}}}
  flow: {{kind: dataflow, reads: logs, partitions: 4, sinks: [kafka, cassandra]}}
tests:
  - fault: {{workloads: [logs, flow], rates: {{logs: 500}}, service: spark-driver-flow, action: kill, at: 10 s, down: 3 s, duration: 50 s}}
  - fault: {{workloads: [logs, flow], rates: {{logs: 500}}, service: spark-query-flow-splitter, action: kill, at: 5 s, down: 5 s, duration: 30 s}}
  - fault: {{workloads: [logs, flow], rates: {{logs: 500}}, service: cassandra-0, action: kill, at: 5 s, down: 5 s, duration: 30 s}}
"""
)


def rows_of(
    process: subprocess.Popen[str], folder: Path, code: int
) -> tuple[dict[str, Any], dict[tuple[str, str, str | None], dict[str, Any]]]:
    """The result of a run, and its dataflow's rows by (workload, step, sink)."""
    _, err = process.communicate(timeout=900)
    assert process.returncode == code, err
    summary: dict[str, Any] = json.loads((folder / "run" / "summary.json").read_text())
    jsonschema.validate(summary, SCHEMA)
    return summary, {(row["workload"], row["hop"], row["sink"]): row for row in summary["dataflow"]}


def lasted_s(folder: Path, purpose: str) -> float:
    """The longest trial of a purpose, s: no record can have taken longer."""
    trials = [json.loads(path.read_text()) for path in (folder / "run" / "trials").glob("*/trial.json")]
    return max(float(trial["ended_wall_s"] - trial["prepared_wall_s"]) for trial in trials if trial["purpose"] == purpose)


def test_every_record_is_found_behind_every_step_and_in_every_sink(tmp_path: Path, start_run: Start) -> None:
    data = tmp_path / "Größe Ω"  # what HDFS, Spark and its streams make of such a name shows in what they leave
    process = start_run(WHOLE.format(data=data))
    summary, rows = rows_of(process, tmp_path, 1)
    steps = [("input", None), ("splitter", None), ("persister", "kafka"), ("persister", "directory"), ("persister", "hdfs")]
    acked = rows["flow", "input", None]["acked"]
    assert acked > 9_000
    for step in steps:
        row = rows["flow", *step]
        # By our own reader of topics and by Spark's account of files alike.
        assert (row["acked"], row["arrived_once"] + row["arrived_more"], row["lost"], row["in_flight"]) == (acked, acked, 0, 0), step
        assert (row["corrupted"], row["wrong_branch"]) == (0, 0)
    for sink in ("kafka", "directory", "hdfs"):
        latency = rows["flow", "persister", sink]["latency_ms"]
        assert 0 < latency["p50"] <= latency["p99"] <= latency["max"] < 1e3 * lasted_s(tmp_path, "level"), (sink, latency)
    assert (rows["flow", "windows", None]["lost"], rows["flow", "windows", None]["arrived_more"]) == (0, 0)
    (windows,) = (row for row in summary["windows"] if row["purpose"] == "level")
    assert sum(windows["counted"].values()) == windows["came"] == acked
    assert windows["counted"]["INFO"] == pytest.approx(0.8 * acked, rel=0.05)
    assert windows["windows"] >= 3 * 4  # three levels, ten seconds in windows of two
    assert windows["updates"] >= windows["windows"]
    assert 0 < windows["delays_ms"]["p50"] <= windows["delays_ms"]["p99"]
    queries = {row["query"]: row for row in summary["queries"]}
    assert {"splitter", "windows", "persist-info-kafka", "persist-error-hdfs"} <= set(queries)
    assert all(row["batches"] > 0 and row["batch_s_median"] > 0 and 0 < row["work_pct"] <= 100 for row in queries.values())
    ops = {row["op"]: row for row in summary["hdfs"] if row["is_limit"]}
    assert set(ops) == {"write", "read"}
    assert list((data / "lake").iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"experiment.yaml", "run", data.name}
    assert all(row["bytes_per_s"] > 0 and row["per_file_bytes_per_s_mean"] > 0 for row in ops.values())
    assert own_processes(str(tmp_path)) == []


@pytest.mark.long
def test_planted_flaws_are_found_and_pinned_to_their_step_and_what_has_none_is_whole(tmp_path: Path, start_run: Start) -> None:
    job = Path(__file__).parent.parent / "data" / "flawed_job.py"
    process = start_run(OTHERS.format(data=tmp_path / "data", job=job))
    summary, rows = rows_of(process, tmp_path, 1)
    # Consumers and transactional producers, and tasks that stay: each record once, whatever else.
    for row in (rows[flow, *step] for flow in ("plain", "quick") for step in (("splitter", None), ("persister", "kafka"))):
        assert (row["arrived_once"], row["arrived_more"], row["lost"], row["in_flight"], row["wrong_branch"]) == (row["acked"], 0, 0, 0, 0)
    # A batch keeps progress, and no record waits for it.
    batch_s = min(row["batch_s_median"] for row in summary["queries"] if row["workload"] == "quick" and row["query"] == "splitter")
    assert rows["quick", "persister", "kafka"]["latency_ms"]["p50"] < 1e3 * batch_s / 2
    (trial,) = (tmp_path / "run" / "trials").glob("*-level-flawed/trial.json")
    logs = next(load for load in json.loads(trial.read_text())["loads"] if load["workload"] == "logs")
    sent = [part["sent"] for part in logs["outcome"]["extra"]["acked"]]

    def planted(rest: int) -> int:
        return sum(len(range(rest, count, 100)) for count in sent)

    source, split, last = (rows["flawed", *step] for step in (("input", None), ("splitter", None), ("persister", "kafka")))
    assert (source["lost"], source["arrived_more"]) == (0, 0)
    assert split["lost_here"] == split["lost"] == planted(LOST) > 50
    # Those that are errors anyway went the right way.
    assert 0.5 * planted(STRAYED) < split["wrong_branch"] <= planted(STRAYED)
    assert split["arrived_more"] == 0
    assert last["doubled_here"] == last["arrived_more"] == planted(DOUBLED)
    # The producer of a damaged record is unknown: the record is missing, too.
    assert last["corrupted"] == last["lost_here"] == planted(DAMAGED)
    assert split["missing"][0][1] == LOST
    assert own_processes(str(tmp_path)) == []


@pytest.mark.long
def test_after_a_driver_a_query_or_a_sink_was_killed_all_goes_on_and_no_row_is_missing(tmp_path: Path, start_run: Start) -> None:
    process = start_run(STORED.format(data=tmp_path / "data"))
    _, err = process.communicate(timeout=900)
    assert process.returncode == 0, err
    summary: dict[str, Any] = json.loads((tmp_path / "run" / "summary.json").read_text())
    jsonschema.validate(summary, SCHEMA)
    kills = [f"kill {one}" for one in ("spark-driver-flow", "spark-query-flow-splitter", "cassandra-0")]
    sinks = {(row["fault"], row["sink"]): row for row in summary["dataflow"] if row["hop"] == "persister"}
    assert set(sinks) == {(kill, sink) for kill in kills for sink in ("kafka", "cassandra")}
    for (kill, sink), row in sinks.items():
        acked = row["acked"]
        assert acked > 10_000
        assert (row["arrived_once"] + row["arrived_more"], row["lost"], row["in_flight"], row["corrupted"]) == (acked, 0, 0, 0), (
            kill,
            sink,
        )
        assert 0 < row["latency_ms"]["p50"] <= row["latency_ms"]["max"] < 1e3 * lasted_s(tmp_path, "fault"), (kill, sink)
        # A row that is written again is the same row.
        assert sink == "kafka" or row["arrived_more"] == 0
    driver = {load["workload"]: load["recovery"]["longest_stall_s"] for load in summary["faults"][0]["workloads"]}
    assert driver["flow"] > max(3, driver["logs"]), driver
    # What was stopped for five seconds ended no batch in them.
    _, struck, _ = sorted((tmp_path / "run" / "trials").glob("*-fault"))
    told = (struck / "load" / "flow.batches.jsonl").read_text().splitlines()
    ends = [batch["wall_s"] for batch in map(json.loads, told) if batch["query"] == "splitter"]
    assert max(after - before for before, after in pairwise(ends)) > 5
    # Spark leaves a query dead whose table cannot be written to.
    restarts = {row["query"]: row for row in summary["queries"] if row["restarts"]}
    assert "persist-normal-cassandra" in restarts
    assert own_processes(str(tmp_path)) == []
