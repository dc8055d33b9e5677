"""Every release of a system that can be fetched is pressed, and accounts for every record."""

from __future__ import annotations

from pathlib import Path

import pytest

from hydrotest.run.events import Silent
from hydrotest.run.opened import opened
from hydrotest.run.trial import TrialPlan
from hydrotest.run.workloads.catalogue import make_pressables
from hydrotest.run.workloads.kafka import Produce

pytestmark = [pytest.mark.real, pytest.mark.long]

KAFKA = """\
name: releases
hosts: {{here: {{connect: local}}}}
systems: {{kafka: {{hosts: [here], heap: 512 MiB, release: "{release}"}}}}
workloads: {{ingest: {{kind: kafka-produce, compression: zstd}}}}
tests: [levels: {{workload: ingest, rates: [5K]}}]
"""


@pytest.mark.parametrize("release", ["3.9", "4.3"])
async def test_kafka(release: str, tmp_path: Path) -> None:
    async with opened(KAFKA.format(release=release), tmp_path, Silent()) as bench:
        assert bench.systems["kafka"].version.startswith(release)
        ingest = make_pressables(bench)["ingest"]
        assert isinstance(ingest, Produce)
        trial = await ingest.open_loop(5_000, TrialPlan("releases", "search", 0.5, 2.5))
        fates = trial.load("ingest").fates
        assert fates is not None, trial.reason
        assert fates.seen == fates.acked == fates.sent > 14_000
        assert (fates.lost, fates.duplicated, fates.corrupted) == (0, 0, 0)
