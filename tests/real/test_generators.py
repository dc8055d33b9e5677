"""hydrotest's generators, and the stock tools, on real Kafka and Cassandra."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from hydrotest.analysis.integrity.ranges import kafka_fates
from hydrotest.analysis.measured import Measured
from hydrotest.audit.checks import findings
from hydrotest.audit.readers import read_output
from hydrotest.errors import BadInputError, TrialFailedError
from hydrotest.hosts.base import ask
from hydrotest.hosts.deadlines import until
from hydrotest.load import cassandra as cassandra_load
from hydrotest.load import kafka as kafka_load
from hydrotest.load import native
from hydrotest.load.native import run_generators
from hydrotest.run.trials.stock import run_stock_level
from hydrotest.run.trials.trial import TrialPlan, log_path
from hydrotest.run.workloads.base import Bench, LoadSpec, Rated
from hydrotest.run.workloads.cassandra import Store
from hydrotest.run.workloads.kafka import Consume, Produce
from hydrotest.store import layout
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial
from hydrotest.systems.base import claim_port
from tests.real.conftest import SOON, Pressed, nodes_of

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="session")]
PLAN = TrialPlan("test", Purpose.SEARCH, 1.0, 3.0, patience_s=30.0)


async def test_kafka_open_loop_holds_its_schedule_and_every_record_arrives(bench: Bench, load_workloads: dict[str, Rated]) -> None:
    trial = await load_workloads["ingest"].open_loop(20_000, PLAN)
    assert trial.status == "done", trial.reason
    measured = Measured.read(bench.runner.folder, trial, "ingest")
    outcome, fates = trial.load("ingest").outcome, trial.load("ingest").fates
    assert outcome is not None
    assert fates is not None
    # Due at 0, 1/20000, … and so exactly this many within the four seconds, none skipped, none bunched away; what is not begun at the end is unanswered.
    assert fates.sent + outcome.unanswered - outcome.completed_late == 80_001
    assert (fates.lost, fates.duplicated, fates.corrupted, fates.out_of_order, fates.in_flight) == (0, 0, 0, 0, 0)
    assert fates.seen == fates.acked == fates.sent
    assert measured.histogram("response").get_total_count() == measured.histogram("wait").get_total_count()
    latency = measured.latency
    assert latency is not None
    values = [latency[key] or 0 for key in ("p50", "p95", "p99", "p999", "max")]
    assert values == sorted(values)


async def test_kafka_closed_loop_never_exceeds_its_count(bench: Bench, load_workloads: dict[str, Rated]) -> None:
    trial = await load_workloads["ingest"].closed_loop(500, PLAN)
    seconds = list(bench.runner.folder.seconds(trial, "ingest"))
    assert max(value for second in seconds for value in second.in_flight) <= 500
    assert trial.load("ingest").fates is not None


async def test_the_checker_finds_what_was_planted(bench: Bench, load_workloads: dict[str, Rated]) -> None:
    """The same producer id twice into one topic: every sequence of the second run is a duplicate. And records
    that were acknowledged elsewhere are lost here."""
    ingest = load_workloads["ingest"]
    assert isinstance(ingest, Produce)
    topic, folder = "hydrotest-t-planted", bench.runner.folder.trial_path(900, "planted")
    await kafka_load.create_topics(ingest.host, ingest.cluster, [topic], ingest.spec)
    try:
        pair = []
        for _ in range(2):
            generators = ingest.generators(topic, 900, LoadSpec(rate_per_s=5_000.0), TrialPlan("planted", Purpose.SEARCH, 0.0, 1.0))
            pair += await run_generators(generators, folder, lambda: None, lambda _w, _e: None)
        read = await run_generators([kafka_load.verifier(ingest.host, ingest.cluster, topic)], folder, lambda: None, lambda _w, _e: None)
    finally:
        await kafka_load.delete_topics(ingest.host, ingest.cluster, {topic: None})
    first, second, seen = pair[0].outcome, pair[1].outcome, read[0].outcome
    assert first is not None
    assert second is not None
    assert seen is not None
    fates = kafka_fates(first.extra, seen.extra)
    both = kafka_fates(second.extra, seen.extra)
    assert fates.lost == 0
    # Nothing is counted twice or missed: what is there once more than the distinct ones is doubled.
    assert fates.seen is not None
    assert fates.duplicated == fates.sent + both.sent - fates.seen
    assert fates.duplicated > 0.9 * fates.sent
    elsewhere = {"acked": [{**part, "producer": part["producer"] + 7} for part in first.extra["acked"]]}
    assert kafka_fates(elsewhere, seen.extra).lost == fates.sent


async def test_a_follower_reads_until_the_producers_have_ended_however_slowly_they_come(
    bench: Bench, load_workloads: dict[str, Rated]
) -> None:
    ingest = load_workloads["ingest"]
    assert isinstance(ingest, Produce)
    topic, folder = "hydrotest-t-followed", bench.runner.folder.trial_path(901, "followed")
    await kafka_load.create_topics(ingest.host, ingest.cluster, [topic], ingest.spec)
    try:
        # The follower's own time is long over when the last record comes, and one record is far behind the other.
        generators = [
            *ingest.generators(topic, 901, LoadSpec(rate_per_s=1.5), TrialPlan("followed", Purpose.SEARCH, 0.0, 4.0)),
            *kafka_load.consumers("drain", [ingest.host], ingest.cluster, topic, 0.2, "follow"),
        ]
        written, read = await run_generators(generators, folder, lambda: None, lambda _w, _e: None)
    finally:
        await kafka_load.delete_topics(ingest.host, ingest.cluster, {topic: None})
    assert written.outcome is not None
    assert read.outcome is not None
    fates = kafka_fates(written.outcome.extra, read.outcome.extra)
    assert fates.seen == fates.acked == fates.sent > 4
    assert fates.in_flight == 0


async def test_a_consumer_catches_up_and_checks_everything(load_workloads: dict[str, Rated]) -> None:
    drain = load_workloads["drain"]
    assert isinstance(drain, Consume)
    drain.source.is_prepared = True  # no warm-up here
    await drain.prepare()
    trial = await drain.catch_up(PLAN)
    await drain.finish()
    fates, outcome = trial.load("drain").fates, trial.load("drain").outcome
    assert fates is not None
    assert outcome is not None
    assert (fates.lost, fates.corrupted, fates.duplicated) == (0, 0, 0)
    assert outcome.counts.completed > fates.sent or fates.in_flight == 0


async def test_cassandra_writes_reads_and_accounts_for_every_row(bench: Bench, load_workloads: dict[str, Rated]) -> None:
    store = load_workloads["store"]
    assert isinstance(store, Store)
    await store.prepare()
    trial = await store.open_loop(500, PLAN)
    outcome = trial.load("store").outcome
    assert outcome is not None
    assert outcome.errors == {}
    assert (outcome.extra["missing_reads"], outcome.extra["corrupted_reads"]) == (0, 0)
    assert outcome.extra["answered"]["read"] > outcome.extra["answered"]["write"] > 0
    assert 1_990 <= outcome.counts.started <= 2_001
    measured = Measured.read(bench.runner.folder, trial, "store")
    reads, writes = measured.histogram(op="read"), measured.histogram(op="write")
    assert reads.get_total_count() + writes.get_total_count() == measured.histogram().get_total_count()
    await store.finish()
    entry = [e for e in bench.runner.folder.read_journal() if e["what"] == "rows accounted for"][-1]
    assert entry["fates"]["lost"] == entry["fates"]["corrupted"] == 0
    assert entry["fates"]["seen"] == 5_000


async def test_a_driver_carries_the_same_operations(bench: Bench) -> None:
    """Both clients draw the same keys, check the same rows, and are distinguished in the records."""
    found = {}
    for client in ("native", "driver"):
        spec = bench.experiment.workloads["store"].model_copy(update={"client": client})
        store = Store("store", spec, bench)  # type: ignore[arg-type]
        store.keyspace = f"hydrotest_t_{client}"
        await store.fill()
        trial = await store.open_loop(500, PLAN)
        await store.finish()
        load = trial.load("store")
        assert load.outcome is not None
        assert load.client == client
        assert load.outcome.errors == {}
        found[client] = load.outcome.extra
    for extra in found.values():
        assert (extra["missing_reads"], extra["corrupted_reads"]) == (0, 0)
        assert sum(extra["answered"].values()) >= 1_990


async def test_reads_of_rows_that_are_not_there_are_counted(bench: Bench) -> None:
    store = Store("store", bench.experiment.workloads["store"], bench)  # type: ignore[arg-type]
    store.keyspace = "hydrotest_t_empty"
    await cassandra_load.create_table(store.host, store.cluster, store.keyspace, store.spec)
    trial = await store.open_loop(200, PLAN)
    await cassandra_load.drop_keyspace(store.host, store.cluster, store.keyspace)
    outcome = trial.load("store").outcome
    assert outcome is not None
    assert outcome.extra["missing_reads"] > 0


async def test_only_our_own_topics_and_keyspaces_are_removed(bench: Bench) -> None:
    host = bench.hosts["here"]
    with pytest.raises(TrialFailedError, match="not hydrotest's own"):
        await kafka_load.delete_topics(host, bench.systems["kafka"].cluster, {"orders": None})
    with pytest.raises(TrialFailedError, match="not hydrotest's own"):
        await ask(
            host,
            "query",
            {"cassandra": {"query": "drop_keyspace", "cluster": bench.systems["cassandra"].cluster.wire(), "keyspace": "shop"}},
        )


async def test_gauges_and_services_are_sampled(bench: Bench) -> None:
    import polars as pl  # noqa: PLC0415

    path = bench.runner.folder.trial_path(901, "gauges")
    wanted = ("kafka_broker_request_handler_idle", "kafka_network_processor_wait", "kafka_log_flush_mean_ms", "kafka_under_replicated_partitions",
              "cassandra_pending_tasks", "cassandra_blocked_tasks", "cassandra_compactions_pending", "jvm_gc_collection_seconds_sum")  # fmt: skip
    seen: set[str] = set()

    async def look() -> bool:
        bench.runner.sampling.buffer.flush(path)
        file = path / "samples/gauges.parquet"
        seen.update(pl.read_parquet(file)["gauge"].to_list() if file.exists() else [])
        return all(any(gauge.startswith(name) for gauge in seen) for name in wanted)

    await until(look, SOON, "the samplers", f"tell of {wanted}", 1.0)
    services = pl.read_parquet(path / "samples/services.parquet")
    assert set(services["service"].to_list()) == {"kafka-0", "cassandra-0"}
    assert services["exporter_cpu_us"].max() != 0


async def test_a_generator_that_stands_still_costs_its_trial_and_nothing_else(
    bench: Bench, load_workloads: dict[str, Rated], pressed: Callable[[Bench], Pressed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "SILENT_S_MAX", 5.0)
    hearing = pressed(bench)
    task = asyncio.ensure_future(load_workloads["ingest"].open_loop(5_000, TrialPlan("still", Purpose.SEARCH, 1.0, 600.0)))
    await hearing.goes_on()
    (generator,) = nodes_of(os.getpid(), "produce")
    os.kill(generator, signal.SIGSTOP)
    trial = await task
    assert trial.status == "failed"
    assert "produce on here" in (trial.reason or "")
    assert not Path(f"/proc/{generator}").exists()
    after = await load_workloads["ingest"].open_loop(5_000, PLAN)
    assert after.status == "done"


async def test_a_killed_generator_costs_its_trial_and_nothing_else(
    bench: Bench, load_workloads: dict[str, Rated], pressed: Callable[[Bench], Pressed]
) -> None:
    hearing = pressed(bench)
    task = asyncio.ensure_future(load_workloads["ingest"].open_loop(5_000, TrialPlan("killed", Purpose.SEARCH, 1.0, 8.0)))
    await hearing.goes_on()
    (generator,) = nodes_of(os.getpid(), "produce")
    os.kill(generator, signal.SIGKILL)
    trial = await task
    assert trial.status == "failed"
    assert "ended by signal 9" in (trial.reason or "")
    after = await load_workloads["ingest"].open_loop(5_000, PLAN)
    assert after.status == "done"


def audit_agrees(bench: Bench, trial: Trial, workload: str, rate: float) -> None:
    """`hydrotest audit` reads what the tool has printed: the same rate, and nothing in it contradicts itself."""
    printed = read_output(log_path(bench.runner.folder, trial.number, trial.slug, layout.stock_output(workload)))
    assert any(claim.rate is not None and claim.rate.value == pytest.approx(rate, rel=0.01) for claim in printed.claims)
    assert [found for of_claim in findings(printed.claims) for found in of_claim if found.is_contradiction] == []


async def test_the_stock_producer_is_read_into_the_same_record(bench: Bench, load_workloads: dict[str, Rated]) -> None:
    trial = await run_stock_level(bench, load_workloads["ingest"], TrialPlan("stock", Purpose.LEVEL, 1.0, 3.0), 5_000.0, None)
    assert trial.status == "done", trial.reason
    stock = trial.load("ingest").stock
    assert stock is not None
    assert stock.rate_per_s == pytest.approx(5_000, rel=0.05)
    # It times from its own call of send, which is no response time.
    assert stock.latency_ms is None
    assert stock.latency_from_send_ms is not None
    assert stock.errors == 0
    audit_agrees(bench, trial, "ingest", stock.rate_per_s)


@pytest.mark.long
async def test_the_stock_consumer_is_read_into_the_same_record(bench: Bench, load_workloads: dict[str, Rated]) -> None:
    drain = load_workloads["drain"]
    await drain.prepare()
    try:
        trial = await run_stock_level(bench, drain, TrialPlan("stock-drain", Purpose.LEVEL, 1.0, 3.0), None, None)
    finally:
        await drain.finish()
    assert trial.status == "done", trial.reason
    assert isinstance(drain, Consume)
    stock = trial.load("drain").stock
    assert stock is not None
    assert stock.count >= drain.records
    assert stock.rate_per_s > 0
    assert stock.cpu_s is not None
    assert stock.latency_ms is None
    audit_agrees(bench, trial, "drain", stock.rate_per_s)


@pytest.mark.long
async def test_cassandra_stress_is_read_into_the_same_record(bench: Bench, load_workloads: dict[str, Rated]) -> None:
    trial = await run_stock_level(bench, load_workloads["store"], TrialPlan("stress", Purpose.LEVEL, 1.0, 5.0), None, 8)
    assert trial.status == "done", trial.reason
    stock = trial.load("store").stock
    assert stock is not None
    assert set(stock.by_op) == {"read", "write"}
    assert stock.rate_per_s > 0
    assert stock.errors == 0
    audit_agrees(bench, trial, "store", stock.rate_per_s)


async def test_a_taken_port_names_its_holder(bench: Bench) -> None:
    port = int(bench.systems["kafka"].endpoints[0].rpartition(":")[2])
    with pytest.raises(BadInputError, match=rf"port {port} for kafka is taken by java \(pid \d+\)"):
        await claim_port(bench.hosts["here"], port, "kafka")
