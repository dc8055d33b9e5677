"""Records of every shape, and every way to have them acknowledged, on a real broker: each arrives once, and each is checked."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hydrotest.analysis.limits.verdict import judge
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.resources.rates import trial_host_rates
from hydrotest.hosts.command import run_command
from hydrotest.hosts.java import find_java
from hydrotest.run.trials.concurrent import run_concurrently
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, LoadSpec
from hydrotest.run.workloads.kafka import Consume, Produce
from hydrotest.spec.kafka_consume import KafkaConsume
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.tests.profile import Stretch
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial
from hydrotest.systems.fetch import KAFKA, fetch
from hydrotest.verdicts.trial import Rule
from tests.real.conftest import windows_of

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="session")]
PLAN = TrialPlan("shapes", Purpose.SEARCH, 0.5, 1.5, patience_s=30.0)
LONGER = TrialPlan("shapes", Purpose.SEARCH, 0.5, 3.5, patience_s=30.0)
"""For what a moment's standstill at its end would change."""

SHAPES: dict[str, tuple[float, dict[str, Any]]] = {
    "smallest": (20_000, {"record_size": "10 B"}),
    "largest": (20, {"record_size": "1 MB", "batch_size": "1 MB"}),
    "larger than brokers take by default": (
        10,
        {"record_size": "uniform(2 MB, 8 MB)", "partitions": 6, "topic": {"max.message.bytes": 10_000_000}},
    ),
    "of many sizes": (5_000, {"record_size": "uniform(10 B, 4 KiB)"}),
    "with keys and headers": (20_000, {"key": "zipf(0, 10K)", "headers": {"count": 3, "size": "20 B"}, "partitions": 16}),
    "gzip": (10_000, {"compression": "gzip", "compressible": "50 %"}),
    "snappy": (2_000, {"compression": "snappy", "compressible": "50 %", "record_size": "uniform(10 B, 60 KiB)", "batch_size": "200 kB"}),
    "lz4": (20_000, {"compression": "lz4", "record_size": "gaussian(100 B, 1 KiB)", "key": "uniform(0, 1K)"}),
    "zstd": (20_000, {"compression": "zstd", "compressible": "90 %"}),
    "in a thousand partitions": (20_000, {"partitions": 1_000}),
    "in a thousand partitions, with keys": (1_000, {"partitions": 1_000, "key": "uniform(0, 1M)"}),
    "in many topics": (20_000, {"topics": 100, "partitions": 3}),
    "in many topics, with keys": (5_000, {"topics": 20, "partitions": 7, "key": "uniform(0, 1M)", "threads": 2}),
    "in topics and transactions": (20_000, {"topics": 5, "partitions": 2, "transactions": {"every": "100 ms"}}),
    "with settings of its topic": (5_000, {"topic": {"flush.messages": 1, "min.insync.replicas": 1}}),
    "snappy that the broker reads": (5_000, {"compression": "snappy", "topic": {"compression.type": "gzip"}}),
    "snappy that the broker writes": (5_000, {"compression": "gzip", "topic": {"compression.type": "snappy"}}),
    "one request at a time": (20_000, {"in_flight_requests": 1}),
    "from a file": (20_000, {"payload": {"file": "README.md"}, "compression": "gzip"}),
    "from a file, for other consumers": (
        20_000,
        {"payload": {"file": "README.md", "stamp": "header", "registry": {"id": 7}}, "headers": {"count": 2, "size": "5 B"}},
    ),
    "a whole file": (5_000, {"payload": {"file": "README.md", "form": "whole", "stamp": "header"}, "compression": "lz4"}),
    "of sizes by weights": (5_000, {"record_size": {"weights": {"10 B": 8, "1 KB": 2}}, "compression": "lz4"}),
    "of sizes and with keys from files": (
        5_000,
        {"record_size": {"file": "tests/data/sizes.txt"}, "key": {"file": "README.md"}, "threads": 2},
    ),
    "of exponential sizes": (5_000, {"record_size": "exp(10 B, 100 KB, 500 B)", "key": "weibull(0, 1M, 0.5)"}),
    "acknowledged by the leader": (20_000, {"acks": 1}),
    "not idempotent": (20_000, {"idempotent": False}),
    "of several threads": (20_000, {"threads": 3}),
    "of many producers": (20_000, {"producers": 200, "threads": 3}),
    "of a thousand producers": (10_000, {"producers": 1_000, "partitions": 24, "linger": "20 ms"}),
    "of many producers, with keys, in transactions": (5_000, {"producers": 20, "threads": 2, "key": "uniform(0, 1K)", "transactions": {}}),
    "in transactions": (20_000, {"transactions": {"every": "100 ms"}, "threads": 2}),
    "in transactions, closely": (20_000, {"transactions": {"every": "5 ms"}, "key": "uniform(0, 1K)"}),
}


OFTEN = ("of many sizes", "with keys and headers", "zstd", "of many producers", "in transactions", "in many topics, with keys")
"""Those that every change is tested with; the others are in `make test-full`."""


async def pressed(bench: Bench, rate: float, settings: dict[str, Any], plan: TrialPlan = PLAN) -> Trial:
    spec = KafkaProduce.model_validate({"kind": "kafka-produce", **settings})
    trial = await Produce("ingest", spec, bench).open_loop(rate, plan)
    assert trial.status == "done", trial.reason
    return trial


@pytest.mark.parametrize("shape", [pytest.param(shape, marks=[] if shape in OFTEN else [pytest.mark.long]) for shape in SHAPES])
async def test_every_record_arrives_once_and_intact(shape: str, bench: Bench) -> None:
    rate, settings = SHAPES[shape]
    load = (await pressed(bench, rate, settings)).load("ingest")
    assert load.fates is not None
    assert load.outcome is not None
    assert load.outcome.errors == {}
    assert len({one["producer"] for one in load.outcome.extra["acked"]}) == settings.get("producers", settings.get("threads", 1))
    assert load.fates.sent == pytest.approx(2 * rate, rel=0.05)
    assert load.fates.seen == load.fates.acked == load.fates.sent
    assert (load.fates.lost, load.fates.duplicated, load.fates.corrupted, load.fates.out_of_order) == (0, 0, 0, 0)


@pytest.mark.long
async def test_contents_behind_their_lengths_arrive_as_they_are(bench: Bench, tmp_path: Path) -> None:
    """Of any bytes, line ends among them: as Avro and Protobuf messages are kept in a file."""
    contents = [bytes([n]) * (n * 7) + b"\n\0" for n in range(1, 60)]
    messages = tmp_path / "messages.bin"
    messages.write_bytes(b"".join(struct.pack(">I", len(one)) + one for one in contents))
    payload = {"file": str(messages), "form": "length-prefixed", "stamp": "header", "registry": {"id": 3, "message": 2}}
    load = (await pressed(bench, 5_000, {"payload": payload, "compression": "zstd"})).load("ingest")
    assert load.fates is not None
    assert load.fates.seen == load.fates.acked == load.fates.sent == pytest.approx(10_000, rel=0.05)
    assert (load.fates.lost, load.fates.duplicated, load.fates.corrupted, load.fates.out_of_order) == (0, 0, 0, 0)
    assert load.outcome is not None
    assert load.outcome.errors == {}


@pytest.mark.parametrize("arrivals", ["poisson", pytest.param("bursts(500)", marks=pytest.mark.long)])
async def test_operations_come_as_they_were_asked_to(arrivals: str, bench: Bench) -> None:
    trial = await pressed(bench, 20_000, {"arrivals": arrivals}, LONGER)
    load = trial.load("ingest")
    measured = Measured.read(bench.runner.folder, trial, "ingest")
    assert load.fates is not None
    assert measured.offered is not None
    assert not load.is_even
    # Within five standard deviations of a Poisson count, or one burst.
    assert load.fates.sent == pytest.approx(80_000, abs=1_414)
    # To 1 %, but for a burst that has come with the window's end.
    assert any(
        window.achieved == pytest.approx(window.offered, abs=0.01 * (window.offered or 0.0) + load.burst / window.duration_s)
        for window in windows_of(bench, trial, "ingest")
    )
    assert (load.fates.lost, load.fates.duplicated) == (0, 0)
    assert measured.wait is not None
    assert measured.wait["p99"] is not None


async def test_a_rate_that_changes_offers_all_that_is_due(bench: Bench) -> None:
    spec = KafkaProduce.model_validate({"kind": "kafka-produce", "threads": 2})
    wanted = [{"rate": "5K", "duration": "2 s"}, {"rate": "5K", "to": "20K", "duration": "2 s"}]
    stretches = tuple(Stretch.model_validate(one) for one in wanted)
    plan = TrialPlan("profile", Purpose.PROFILE, 0.0, 4.0, patience_s=30.0)
    load = (await Produce("ingest", spec, bench).trial(plan, LoadSpec(stretches=stretches))).load("ingest")
    assert load.fates is not None
    assert load.offered == pytest.approx(8_750)
    assert load.fates.sent == pytest.approx(10_000 + 25_000, abs=200)
    assert (load.fates.lost, load.fates.duplicated) == (0, 0)


@pytest.mark.long
@pytest.mark.parametrize("producers", [1, 50])
async def test_without_acknowledgements_loss_is_not_known_and_what_arrived_is(producers: int, bench: Bench) -> None:
    load = (await pressed(bench, 20_000, {"acks": 0, "producers": producers})).load("ingest")
    assert load.fates is not None
    assert load.outcome is not None
    assert load.outcome.counts.completed > 0.9 * load.fates.sent > 0
    assert (load.fates.acked, load.fates.lost) == (0, None)
    assert load.fates.seen == load.fates.unacked_present == load.fates.sent
    assert (load.fates.duplicated, load.fates.corrupted) == (0, 0)


@pytest.mark.long
async def test_zeros_compress_and_the_rest_does_not(bench: Bench) -> None:
    """Bytes on the wire show how well the codec compressed the values."""
    written = {}
    for compressible in ("0 %", "90 %"):
        trial = await pressed(bench, 20_000, {"compression": "zstd", "compressible": compressible, "record_size": "1 KiB"})
        measured = Measured.read(bench.runner.folder, trial, "ingest")
        written[compressible] = network_bytes(bench, trial, measured)
    assert written["90 %"] < 0.5 * written["0 %"]


def network_bytes(bench: Bench, trial: Trial, measured: Measured) -> float:
    """Bytes a second on loopback in the window."""
    rates = trial_host_rates(bench.runner.folder, trial, "here", measured.start_s, measured.end_s)
    return float(rates["network_out_bytes_per_s"].mean())  # type: ignore[arg-type] # of numbers


async def test_what_a_transaction_aborts_is_not_read_and_nothing_else_is_missing(bench: Bench) -> None:
    settings = {"transactions": {"every": "20 ms", "aborts": "25 %"}}
    load = (await pressed(bench, 20_000, settings, LONGER)).load("ingest")
    assert load.fates is not None
    assert load.outcome is not None
    ended = load.outcome.extra["transactions"]
    assert ended["aborted"] == pytest.approx(0.25 * (ended["committed"] + ended["aborted"]), abs=1)
    assert ended["aborted"] > 10
    assert load.outcome.errors == {}
    # Aborted ones were sent, but never acknowledged; readers of committed records do not see them.
    assert 0.6 * load.fates.sent < load.fates.acked < 0.9 * load.fates.sent
    assert load.fates.seen == load.fates.acked
    assert (load.fates.lost, load.fates.duplicated, load.fates.unacked_present, load.fates.in_flight) == (0, 0, 0, 0)


@pytest.mark.parametrize("isolation", ["read_committed", pytest.param("read_uncommitted", marks=pytest.mark.long)])
async def test_a_follower_reads_by_its_isolation(isolation: str, bench: Bench) -> None:
    spec = KafkaProduce.model_validate({"kind": "kafka-produce", "transactions": {"every": "50 ms", "aborts": "50 %"}})
    ingest = Produce("ingest", spec, bench)
    reader = KafkaConsume.model_validate({"kind": "kafka-consume", "reads": "ingest", "isolation": isolation})
    drain = Consume("drain", reader, ingest, bench)
    plan = TrialPlan("isolation", Purpose.TOGETHER, 0.5, 2.0, tenancy="combined")
    trial = await run_concurrently(bench, plan, [ingest, drain], {"ingest": 10_000})
    assert trial.status == "done", trial.reason
    fates = trial.load("drain").fates
    assert fates is not None
    assert (fates.lost, fates.duplicated, fates.out_of_order) == (0, 0, 0)
    aborted = fates.sent - fates.acked
    assert aborted > 0.3 * fates.sent
    assert fates.unacked_present == (0 if isolation == "read_committed" else aborted)


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
async def test_a_follower_that_keeps_up_with_transactions_is_accepted(isolation: str, bench: Bench) -> None:
    """At a low rate, where markers are a good part of the offsets: six partitions, twenty transactions a second, a quarter of them aborted."""
    spec = KafkaProduce.model_validate({"kind": "kafka-produce", "partitions": 6, "transactions": {"every": "50 ms", "aborts": "25 %"}})
    ingest = Produce("ingest", spec, bench)
    reader = KafkaConsume.model_validate({"kind": "kafka-consume", "reads": "ingest", "isolation": isolation})
    plan = TrialPlan("followed", Purpose.TOGETHER, 1.0, 6.0, tenancy="combined")
    trial = await run_concurrently(bench, plan, [ingest, Consume("drain", reader, ingest, bench)], {"ingest": 1_000})
    assert trial.status == "done", trial.reason
    measured = Measured.read(bench.runner.folder, trial, "drain")
    *_, second = bench.runner.folder.seconds(trial, "drain")
    _, last = measured.course.nearest(second.wall_s)
    assert last.skipped > 0.04 * last.started
    assert last.in_flight <= 0.02 * last.due
    # The share and the backlog of what it may read; how steady it comes is the producer's doing.
    rules = {check.rule: check.held for check in judge(measured, bench.experiment.objective("drain")).checks}
    assert rules[Rule.ACHIEVED]
    assert rules[Rule.BACKLOG]
    assert rules[Rule.LOSS]


@pytest_asyncio.fixture(loop_scope="session")
async def quota(bench: Bench, tmp_path: Path) -> AsyncIterator[None]:
    """Any client may write 20 kB/s, set by Kafka's own tool, for one test."""

    async def change(*what: str) -> None:
        argv = [str(find_java()), "-cp", f"{fetch(KAFKA, print)}/*", "kafka.admin.ConfigCommand", "--bootstrap-server",
                bench.systems["kafka"].endpoints[0], "--alter", *what, "--entity-type", "clients", "--entity-default"]  # fmt: skip
        await run_command("kafka.admin.ConfigCommand", argv, bench.hosts["here"], tmp_path / "quota.log")

    await change("--add-config", "producer_byte_rate=20000")
    yield
    await change("--delete-config", "producer_byte_rate")


@pytest.mark.long
@pytest.mark.usefixtures("quota")
async def test_a_client_above_its_quota_says_so(bench: Bench) -> None:
    produce = Produce("ingest", KafkaProduce.model_validate({"kind": "kafka-produce"}), bench)
    trial = await produce.open_loop(2_000, PLAN)
    verdict = judge(Measured.read(bench.runner.folder, trial, "ingest"), bench.experiment.objective("ingest"))
    assert not verdict.accepted
    assert verdict.throttled is not None, verdict.because
    assert verdict.throttled in verdict.because
