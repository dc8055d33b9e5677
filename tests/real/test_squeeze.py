"""A bottleneck that is planted in a lab is found, and proven by squeezing: on a real broker. One in the client is found by doubling it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hydrotest.analysis.bottleneck.outcome import Squeezed, squeezed
from hydrotest.analysis.bottleneck.proof import proven
from hydrotest.analysis.bottleneck.squeeze import RELIEF, Candidate
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.survey import survey
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.run.trials.squeezer import Squeezer
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import UNTHROTTLED, LoadSpec, Rated
from hydrotest.run.workloads.catalogue import make_workloads
from hydrotest.store import layout
from hydrotest.store.purposes import Purpose
from hydrotest.verdicts.binding import BoundBy, Kind

pytestmark = [pytest.mark.real, pytest.mark.skipif(os.geteuid() != 0, reason="emulated hosts need root")]

TEXT = """\
name: squeeze
hosts:
  broker:  {connect: netns, cores: 0.6, network: 60 Mbit/s}
  clients: {connect: netns}
systems:
  kafka: {hosts: [broker], heap: 384 MiB}
workloads:
  ingest: {kind: kafka-produce, partitions: 6, replication: 1, acks: all, record_size: 1 KB, linger: 20 ms, on: clients}
tests:
  - isolated: {workloads: [ingest], squeeze: 150 s}
search: {window: 3 s, warm_up: 1 s, trials: 16}
warm_up: {least: 8 s, most: 8 s}
"""


async def squeezed_in_a_lab(tmp_path: Path, budget_s: float, load_spec: LoadSpec) -> Squeezed:
    """The result of squeezes of the workload under this load."""
    async with open_testbed(TEXT, tmp_path / "lab", Silent()) as bench:
        folder = bench.runner.folder
        hosts = await survey(bench.experiment.hosts, bench.hosts, "t", lambda text: None)
        folder.write_json(layout.ENVIRONMENT, {"hosts": hosts})
        ingest = make_workloads(bench)["ingest"]
        assert isinstance(ingest, Rated)
        await ingest.prepare()
        await ingest.trial(TrialPlan("saturated-ingest", Purpose.SATURATED, 1.0, 4.0), load_spec)
        await Squeezer(0, ingest, budget_s, bench, [], load_spec).run()
        return squeezed(folder, folder.trials(), "ingest", ["broker"], hosts, bench.experiment.needs("ingest"))


@pytest.mark.long
async def test_a_client_with_little_in_flight_is_named(tmp_path: Path) -> None:
    # One record in flight waits for its linger: next to nothing of anything is used.
    idle = await squeezed_in_a_lab(tmp_path, 60.0, LoadSpec(in_flight=1))
    bound = proven(BoundBy(Kind.UNKNOWN), idle, ["clients"])
    assert (bound.kind, bound.confirmed) == ("generator", False), (bound.because, idle)
    assert idle.doubled is not None
    assert idle.doubled.gives


async def test_a_full_link_is_proven_and_relieved(tmp_path: Path) -> None:
    found = await squeezed_in_a_lab(tmp_path, 150.0, UNTHROTTLED)
    assert found.decision.binds == [Candidate.of("broker", "network")], found
    elasticity = found.elasticities[Candidate.of("broker", "network")]
    assert elasticity.value == pytest.approx(1.0, abs=0.3)
    assert found.relief is not None
    # As much more as is given, give or take a fifth, unless something else comes first.
    assert 5 < found.relief.change.value < 120 * (RELIEF - 1)
