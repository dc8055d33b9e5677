"""A broker's host cut off during a run, on a cluster of three in a lab: nothing is lost, and the report
shows the cost."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.real.conftest import own_processes
from tests.real.test_faults import SCHEMA

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.skipif(os.geteuid() != 0, reason="emulated hosts need root")]
Start = Callable[..., subprocess.Popen[str]]

TEXT = """\
name: lab-faults
hosts:
  a: {{connect: netns, network: 200 Mbit/s, data: {data}}}
  b: {{connect: netns, network: 200 Mbit/s}}
  c: {{connect: netns, network: 200 Mbit/s, disk: 100 MB/s, disk_size: 1 GiB}}
  clients: {{connect: netns}}
systems:
  kafka:
    hosts: [a, b, c]
    heap: 384 MiB
    config: {{min.insync.replicas: 2, replica.lag.time.max.ms: 3000, broker.session.timeout.ms: 3000}}
workloads:
  ingest: {{kind: kafka-produce, partitions: 6, replication: 3, acks: all, idempotent: true, on: clients}}
  drain:  {{kind: kafka-consume, reads: ingest, on: clients}}
tests:
  - fault: {{workloads: [ingest, drain], rates: {{ingest: 3K}}, host: b, action: cut, at: 8 s, down: 12 s, duration: 40 s}}
  - fault: {{workloads: [ingest, drain], rates: {{ingest: 3K}}, host: c, action: fill, at: 8 s, down: 8 s, duration: 40 s}}
  - fault: {{workloads: [ingest, drain], rates: {{ingest: 3K}}, system: kafka, action: roll, at: 8 s, down: 1 s, duration: 90 s}}
search: {{precision: 40 %, window: 3 s, warm_up: 1 s, saturated: 3 s}}
warm_up: {{least: 8 s, most: 8 s}}
"""


def test_hosts_cut_off_or_without_room_and_a_rolling_restart_cost_time_and_no_record(tmp_path: Path, start_run: Start) -> None:
    process = start_run(TEXT.format(data=tmp_path / "data"))
    _, err = process.communicate(timeout=500)
    assert process.returncode == 0, err
    summary: dict[str, Any] = json.loads((tmp_path / "run" / "summary.json").read_text())
    jsonschema.validate(summary, SCHEMA)
    cut, filled, rolled = summary["faults"]
    assert (cut["service"], cut["action"]) == ("b", "cut")
    loads = {load["workload"]: load for load in cut["workloads"]}
    # A third of the partitions is led from the host that is away: its records wait for another leader.
    assert loads["ingest"]["recovery"]["recovered_s"] > 1
    # A broker that cannot write ends, and is restarted once the disk has free space.
    assert (filled["service"], filled["action"], filled["ended"]) == ("c", "fill", ["kafka-2"])
    assert (rolled["service"], rolled["action"]) == ("kafka", "roll")
    assert rolled["ready_s"] < 90
    assert {load["workload"]: load["failed"] for load in rolled["workloads"]}["ingest"] == 0
    assert all(row["lost"] == 0 and row["corrupted"] == 0 for row in summary["integrity"])
    assert {row["host"] for row in summary["usage"]} == {"a", "b", "c", "clients"}
    assert own_processes(str(tmp_path)) == []
    assert not list(Path("/run/netns").glob("hydrotest-run-*"))
