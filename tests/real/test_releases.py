"""Older releases of a system take load like the newest, which all other tests use, and account for every
record."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.catalogue import make_workloads
from hydrotest.run.workloads.kafka import Produce
from hydrotest.store.purposes import Purpose

pytestmark = [pytest.mark.real, pytest.mark.long]

KAFKA = """\
name: releases
hosts: {{here: {{connect: local}}}}
systems: {{kafka: {{hosts: [here], heap: 512 MiB, release: "{release}"}}}}
workloads: {{ingest: {{kind: kafka-produce, compression: zstd}}}}
tests: [levels: {{workload: ingest, rates: [5K]}}]
"""


SPARK = """\
name: releases
hosts: {{here: {{connect: local, data: {data}}}}}
systems: {{spark: {{master: here, workers: [here], memory: 512 MiB, release: "{release}"}}}}
workloads: {{batch: {{kind: spark-perf, tests: [agg-by-key, sort-by-key-int, shuffled-join, k-means], scale_factor: 0.02, data_scale: 0.02}}}}
tests: [isolated: [batch]]
warm_up: {{least: 1 s, most: 1 s}}
"""


@pytest.mark.parametrize("release", ["3.5"])
def test_spark(release: str, tmp_path: Path, start_run: Callable[..., subprocess.Popen[str]]) -> None:
    """The suite is compiled against each, and answers rightly on it."""
    process = start_run(SPARK.format(release=release, data=tmp_path / "data"))
    _, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["systems"][0]["version"].startswith(release)
    assert [row["test"] for row in summary["spark"]] == ["agg-by-key", "sort-by-key-int", "shuffled-join", "k-means"]
    assert all(row["finished"] for row in summary["spark"])
    assert summary["problems"] == []


@pytest.mark.parametrize("release", ["3.9"])
async def test_kafka(release: str, tmp_path: Path) -> None:
    async with open_testbed(KAFKA.format(release=release), tmp_path, Silent()) as bench:
        assert bench.systems["kafka"].version.startswith(release)
        ingest = make_workloads(bench)["ingest"]
        assert isinstance(ingest, Produce)
        trial = await ingest.open_loop(5_000, TrialPlan("releases", Purpose.SEARCH, 0.5, 2.5, patience_s=30.0))
        fates = trial.load("ingest").fates
        assert fates is not None, trial.reason
        assert fates.seen == fates.acked == fates.sent > 14_000
        assert (fates.lost, fates.duplicated, fates.corrupted) == (0, 0, 0)
