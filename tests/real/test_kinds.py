"""Each kind of test at a given rate, as one run on real Kafka and Cassandra: what each must leave in the summary. `isolated`: test_faults.py; `combined` and `soak`:
test_together.py; `fault`: test_recovery.py; squeezes: test_squeeze.py."""

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

TEXT = """\
name: kinds
hosts:
  here: {{connect: local, data: {data}}}
systems:
  kafka:     {{hosts: [here], heap: 512 MiB}}
  cassandra: {{hosts: [here], heap: 1 GiB}}
workloads:
  ingest: {{kind: kafka-produce, partitions: 2}}
  store:  {{kind: cassandra, mix: {{write: 1, read: 3}}, keys: "uniform(0, 2K)"}}
objectives:
  ingest: {{p99: 5 s}}
  store:  {{p99: 5 s}}
tests:
  - levels:      {{workload: ingest, rates: [5, 2K], duration: 4 s}}
  - levels:      {{workload: store, rates: [500], duration: 4 s}}
  - levels:      {{workload: store, rates: [300], duration: 3 s, verdict: 90 %, windows: 8}}
  - concurrency: {{workload: store, counts: [4], duration: 4 s}}
  - saturated:   {{workload: ingest, duration: 4 s}}
  - profile:     {{workload: ingest, stretches: [{{rate: 1K, duration: 4 s}}, {{rate: 1K, to: 3K, duration: 4 s}}]}}
  - doubling:    {{workload: store, pairs: 5, duration: 3 s}}
search: {{warm_up: 1 s}}
warm_up: {{least: 8 s, most: 8 s}}
"""


def test_each_kind_of_test_leaves_its_rows(tmp_path: Path, start_run: Callable[..., subprocess.Popen[str]]) -> None:
    process = start_run(TEXT.format(data=tmp_path / "data"))
    out, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    summary: dict[str, Any] = json.loads((tmp_path / "run" / "summary.json").read_text())
    jsonschema.validate(summary, SCHEMA)
    assert summary["status"] == "complete"
    levels = {(row["workload"], row["offered"], row["concurrency"], row["op"]): row for row in summary["levels"]}
    for workload, offered, op in (("ingest", 5.0, None), ("ingest", 2_000.0, None), ("store", 500.0, "mix")):
        row = levels[workload, offered, None, op]
        assert row["accepted"], row
        assert row["achieved"] == pytest.approx(offered, rel=0.1)
        assert row["errors"] == 0
    assert {row["op"] for row in summary["levels"] if row["workload"] == "store"} >= {"mix", "read", "write"}
    (given,) = summary["given_rates"]
    assert (given["offered"], given["verdict"]) == (300, "holds"), given
    # Three windows that agree are enough for 90 %.
    assert 3 <= given["windows"] <= 8
    assert given["windows"] == len(given["trials"])
    closed = levels["store", None, 4, "mix"]
    assert closed["latency_ms"]["mean"] * closed["achieved"] / 1e3 == pytest.approx(4, rel=0.2)
    saturated = levels["ingest", None, None, None]
    assert saturated["achieved"] > 2_000
    assert saturated["latency_ms"] is None
    (profile,) = summary["profiles"]
    assert [stretch["achieved"] for stretch in profile["stretches"]] == pytest.approx([1_000, 2_000], rel=0.1)
    assert len(profile["series"]) == 8
    (doubling,) = summary["doublings"]
    assert (doubling["n"], doubling["generators"], doubling["starved_pairs"]) == (5, 1, 0)
    assert {(row["workload"], row["lost"]) for row in summary["integrity"]} == {("ingest", 0), ("store", 0)}
    assert (tmp_path / "run" / "report.html").stat().st_size > 100_000
    assert str(tmp_path / "run" / "report.html") in out
    assert "Kafka levels" in tables_of(tmp_path / "run")
    assert own_processes(str(tmp_path)) == []
