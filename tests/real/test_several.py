"""Several generators of one workload on real systems: one schedule, one account."""

from __future__ import annotations

import pytest

from hydrotest.analysis.measured import Measured
from hydrotest.run.trials.concurrent import run_concurrently
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, LoadSpec, Rated
from hydrotest.run.workloads.cassandra import Store
from hydrotest.run.workloads.kafka import Consume
from hydrotest.store.purposes import Purpose
from tests.real.conftest import windows_of

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="session")]
PLAN = TrialPlan("several", Purpose.SEARCH, 1.0, 3.0, patience_s=30.0)


async def test_three_producers_keep_one_schedule(bench: Bench, load_workloads: dict[str, Rated]) -> None:
    trial = await load_workloads["ingest"].trial(PLAN, LoadSpec(rate_per_s=20_000, times=3))
    assert trial.status == "done", trial.reason
    load, measured = trial.load("ingest"), Measured.read(bench.runner.folder, trial, "ingest")
    assert load.generators == 3
    assert load.fates is not None
    assert load.outcome is not None
    # As many as one would have sent: no share is missing, none is kept twice. What was due in the last moment and is not begun is unanswered.
    assert load.fates.sent + load.outcome.unanswered - load.outcome.completed_late == 80_001
    assert load.fates.seen == load.fates.acked == load.fates.sent
    assert (load.fates.lost, load.fates.duplicated, load.fates.corrupted, load.fates.out_of_order) == (0, 0, 0, 0)
    assert any(window.achieved == pytest.approx(20_000, rel=0.02) for window in windows_of(bench, trial, "ingest"))
    assert {part["producer"] for part in load.outcome.extra["acked"]} == {trial.number * 64 + share for share in range(3)}
    assert len({thread.name.split("@")[1] for thread in measured.threads}) == 3
    whole = Measured.read(bench.runner.folder, trial.model_copy(update={"warm_up_s": 0.0, "window_s": 4.0}), "ingest")
    # What fell due in the very last moment and was not begun counts at its age.
    assert load.fates.sent <= whole.histogram("wait").get_total_count() <= 80_001


@pytest.mark.long
async def test_in_a_closed_loop_each_has_as_many_in_flight_as_one_of_its_own(bench: Bench, load_workloads: dict[str, Rated]) -> None:
    trial = await load_workloads["ingest"].trial(PLAN, LoadSpec(in_flight=450, times=2))
    seconds = list(bench.runner.folder.seconds(trial, "ingest"))
    assert 450 < max(value for second in seconds for value in second.in_flight) <= 900


async def test_two_consumers_follow_and_see_every_record(bench: Bench, load_workloads: dict[str, Rated]) -> None:
    ingest, drain = load_workloads["ingest"], load_workloads["drain"]
    assert isinstance(drain, Consume)
    drain.hosts = drain.hosts * 2
    plan = TrialPlan("several-follow", Purpose.TOGETHER, 1.0, 3.0, tenancy="combined")
    trial = await run_concurrently(bench, plan, [ingest, drain], {"ingest": 20_000})
    assert trial.status == "done", trial.reason
    fates = trial.load("drain").fates
    assert fates is not None
    assert trial.load("drain").generators == 2
    assert fates.seen == fates.sent
    assert (fates.lost, fates.duplicated, fates.in_flight) == (0, 0, 0)
    latency = Measured.read(bench.runner.folder, trial, "drain").latency
    assert latency is not None


@pytest.mark.long
async def test_two_consumers_share_the_partitions_of_a_full_topic(load_workloads: dict[str, Rated]) -> None:
    drain = load_workloads["drain"]
    assert isinstance(drain, Consume)
    drain.source.is_prepared = True  # no warm-up here
    await drain.prepare()
    try:
        trial = await drain.trial(PLAN, LoadSpec(times=2))
    finally:
        await drain.finish()
    fates, outcome = trial.load("drain").fates, trial.load("drain").outcome
    assert fates is not None
    assert outcome is not None
    assert (fates.lost, fates.duplicated, fates.corrupted) == (0, 0, 0)
    assert {part["partition"] for part in outcome.extra["seen"]} == set(range(6))


@pytest.mark.long
async def test_three_populate_a_table_and_each_row_is_there(bench: Bench) -> None:
    store = Store("store", bench.experiment.workloads["store"], bench)  # type: ignore[arg-type]
    store.keyspace = "hydrotest_t_several"
    store.hosts = store.hosts * 3
    await store.fill()
    trial = await store.open_loop(600, PLAN)
    await store.finish()
    outcome = trial.load("store").outcome
    assert outcome is not None
    assert outcome.errors == {}
    assert 2_390 <= outcome.counts.started <= 2_401
    assert (outcome.extra["missing_reads"], outcome.extra["corrupted_reads"]) == (0, 0)
    entry = [e for e in bench.runner.folder.read_journal() if e["what"] == "rows accounted for"][-1]
    assert (entry["fates"]["seen"], entry["fates"]["lost"]) == (5_000, 0)
