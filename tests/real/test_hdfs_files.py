"""Operations on files in HDFS: timed by size, order and rate, and read from the disks where that is asked for."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.real.conftest import HYDROTEST
from tests.real.disks import disk_bytes

pytestmark = [pytest.mark.real, pytest.mark.long]

FILES = """\
name: files
hosts:
  here: {{connect: local, data: {data}}}
systems:
  hdfs: {{namenode: here, datanodes: [here]}}
workloads:
  put:    {{kind: hdfs-write, files: 4, file_size: 32 MiB, at_once: 1, operation: 300 kB}}
  get:    {{kind: hdfs-read, reads: put, at_once: 1, operation: 3 MiB}}
  cold:   {{kind: hdfs-read, reads: put, at_once: 1, cold: true}}
  random: {{kind: hdfs-read, reads: put, at_once: 2, operation: 100 kB, order: random}}
  paced:  {{kind: hdfs-read, reads: put, at_once: 4, order: random, rate: 20/s}}
  slow:   {{kind: hdfs-write, files: 4, file_size: 8 MiB, at_once: 4, operation: 1 MiB, rate: 8/s}}
tests:
  - isolated: [put, get, random, cold, paced, slow]
search: {{repeats: 3}}
"""
BYTES = 4 * (32 << 20)


def test_operations_are_timed_and_cold_files_come_from_the_disk(tmp_path: Path) -> None:
    (tmp_path / "files.yaml").write_text(FILES.format(data=tmp_path / "data"))
    argv = [str(HYDROTEST), "run", str(tmp_path / "files.yaml"), "--out", str(tmp_path / "run")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads((tmp_path / "run" / "summary.json").read_text())["hdfs"]
    assert {row["workload"] for row in rows} == {"put", "get", "cold", "random", "paced", "slow"}
    for row in rows:
        assert 0 < row["latency_ms"]["p50"] <= row["latency_ms"]["p99"] <= row["latency_ms"]["max"], row
    sizes = {row["workload"]: row["operation_bytes"] for row in rows}
    assert sizes == {"put": 300_000, "get": 3 << 20, "cold": 1 << 20, "random": 100_000, "paced": 1 << 20, "slow": 1 << 20}
    # 128 operations of 1 MiB at 20 a second take at least so long, however many are at once.
    paced = [row for row in rows if row["workload"] == "paced"]
    assert all(row["offered"] == 20 and row["bytes_per_s"] <= 20.5 * (1 << 20) for row in paced)
    slow = [row for row in rows if row["workload"] == "slow"]
    assert all(row["offered"] == 8 and row["bytes_per_s"] <= 8.5 * (1 << 20) for row in slow)
    read = {name: disk_bytes(tmp_path / "run", name) for name in ("get", "cold")}
    assert read["cold"] > 0.9 * BYTES
    assert read["get"] < 0.1 * BYTES
