"""The checks of a generator's headroom, each made to fire on a real broker."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hydrotest.analysis.limits.headroom import Headroom, judge_headroom
from hydrotest.analysis.limits.verdict import judge
from hydrotest.analysis.measured import Measured
from hydrotest.hosts.local import LocalHost
from hydrotest.hosts.node import Node
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.lifecycle.survey import survey
from hydrotest.run.lifecycle.testbed import open_testbed
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads import kafka
from hydrotest.run.workloads.base import Bench, Rated
from hydrotest.run.workloads.catalogue import make_workloads
from hydrotest.spec.models import Objective
from hydrotest.store import layout
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="session")]
PLAN = TrialPlan("room", Purpose.SEARCH, 1.0, 4.0, patience_s=30.0)
OBJECTIVE = Objective.model_validate({"p99": "200 ms"})
CGROUPS = Path("/sys/fs/cgroup")


class QuotaHost(LocalHost):
    """This machine, with nodes that get a share of a core only."""

    group: Path

    async def node(self, subcommand: str, settings: Mapping[str, Any], program: Sequence[str] = ()) -> Node:
        node = await super().node(subcommand, settings)
        if subcommand == "produce":
            (self.group / "cgroup.procs").write_text(str(node.pid))
        return node


@pytest.fixture
def five_percent_of_a_core() -> Iterator[Path]:
    """A cgroup, version 1 or 2."""
    is_first_version = (CGROUPS / "cpu" / "cgroup.procs").exists()
    group = CGROUPS / ("cpu" if is_first_version else "") / f"hydrotest-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error}")
    if is_first_version:
        (group / "cpu.cfs_period_us").write_text("100000")
        (group / "cpu.cfs_quota_us").write_text("5000")
    else:
        (group / "cpu.max").write_text("5000 100000")
    yield group
    group.rmdir()


def judged(bench: Bench, trial: Trial) -> Headroom:
    assert trial.status == "done", trial.reason
    measured = Measured.read(bench.runner.folder, trial, "ingest")
    verdict = judge(measured, OBJECTIVE)
    assert not verdict.accepted
    room = judge_headroom(measured, {"p99": 200.0})
    assert not room.has_room
    return room


async def room_of(bench: Bench, ingest: Rated, rate: float) -> Headroom:
    return judge_headroom(Measured.read(bench.runner.folder, await ingest.open_loop(rate, PLAN), "ingest"), {"p99": 200.0})


async def test_a_generator_with_a_core_has_room(bench: Bench, load_workloads: dict[str, Rated]) -> None:
    room = await room_of(bench, load_workloads["ingest"], 20_000)
    assert room.has_room, room.lacks


async def test_one_with_a_twentieth_of_a_core_has_none(
    bench: Bench, load_workloads: dict[str, Rated], five_percent_of_a_core: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # A quota binds only what the ordinary scheduler runs.
    monkeypatch.setattr("hydrotest.load.native.NICE", 0)
    ingest = load_workloads["ingest"]
    host = QuotaHost("here", tmp_path)
    host.group = five_percent_of_a_core
    ingest.hosts = [host]
    room = judged(bench, await ingest.open_loop(200_000, PLAN))
    assert {lack.code for lack in room.lacks} & {"run-delay", "wait"}


@pytest.mark.long
async def test_one_that_may_have_little_in_flight_has_none(
    bench: Bench, load_workloads: dict[str, Rated], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "IN_FLIGHT_BYTES_MAX", 50 * 110)  # fifty records
    room = judged(bench, await load_workloads["ingest"].open_loop(50_000, PLAN))
    assert "in-flight-cap" in {lack.code for lack in room.lacks}


SLOW_LINK = """\
name: slow-link
hosts:
  broker: {connect: netns, network: 1 Gbit/s}
  press:  {connect: netns, network: 20 Mbit/s}
systems: {kafka: {hosts: [broker], heap: 512 MiB}}
workloads: {ingest: {kind: kafka-produce, on: press}}
objectives: {ingest: {p99: 200 ms}}
tests: [levels: {workload: ingest, rates: [40K]}]
"""


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="emulated hosts need root")
async def test_one_behind_a_slow_link_has_none(tmp_path: Path) -> None:
    async with open_testbed(SLOW_LINK, tmp_path, Silent()) as bench:
        bench.runner.folder.write_json(
            layout.ENVIRONMENT, {"hosts": await survey(bench.experiment.hosts, bench.hosts, bench.run, Silent().say)}
        )
        ingest = make_workloads(bench)["ingest"]
        assert isinstance(ingest, Rated)
        fits = await room_of(bench, ingest, 5_000)
        assert fits.has_room, fits.lacks
        # 40,000 records of 100 bytes are 35 Mbit/s.
        room = judged(bench, await ingest.open_loop(40_000, PLAN))
        assert "link" in {lack.code for lack in room.lacks}
