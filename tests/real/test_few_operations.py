"""A few operations a second are accepted; a level whose records the broker refuses is not, with the reason."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real.conftest import own_processes

pytestmark = [pytest.mark.real, pytest.mark.long]

TEXT = """\
name: few
hosts: {{here: {{connect: local, data: {data}}}}}
systems: {{kafka: {{hosts: [here], heap: 512 MiB, config: {{message.max.bytes: 100000}}}}}}
workloads:
  ingest: {{kind: kafka-produce, partitions: 2, record_size: 1 kB, acks: all, compression: lz4}}
  large:  {{kind: kafka-produce, partitions: 2, record_size: 300 kB, acks: all}}
objectives: {{ingest: {{p999: 500 ms}}}}
tests:
  - levels: {{workload: ingest, rates: [1, 2, 5, 20, 200], duration: 8 s}}
  - levels: {{workload: ingest, rates: [5], duration: 5 s, client: stock}}
  - levels: {{workload: large, rates: [10], duration: 5 s}}
warm_up: {{least: 5 s, most: 5 s}}
"""


def test_few_operations_are_held_and_refused_ones_say_why(tmp_path: Path, start_run: Callable[..., subprocess.Popen[str]]) -> None:
    process = start_run(TEXT.format(data=tmp_path / "data"))
    _, err = process.communicate(timeout=400)
    assert process.returncode == 1, err
    levels = json.loads((tmp_path / "run" / "summary.json").read_text())["levels"]
    held = {row["offered"]: row for row in levels if row["workload"] == "ingest" and row["client"] == "native"}
    assert {rate: row["reasons"] for rate, row in held.items() if not row["accepted"]} == {}
    assert list(held) == [1, 2, 5, 20, 200]
    (stock,) = (row for row in levels if row["client"] == "stock")
    assert stock["achieved"] == pytest.approx(5, rel=0.3)
    (refused,) = (row for row in levels if row["workload"] == "large")
    assert refused["accepted"] is False
    assert {check["rule"] for check in refused["checks"] if not check["held"]} >= {"achieved", "errors"}
    assert refused["errors"] > 0
    assert sum(refused["errors_by_name"].values()) == refused["errors"]
    assert own_processes(str(tmp_path)) == []
