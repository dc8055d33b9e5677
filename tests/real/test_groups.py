"""Consumer groups on a real broker, by Kafka's own consumer: each record is read, by each group, whatever happens to members."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from hydrotest.analysis.by_test.groups import group_rows
from hydrotest.analysis.resources.rates import trial_host_rates
from hydrotest.hosts.command import run_command
from hydrotest.hosts.java import find_java
from hydrotest.run.tests.fault import Strike
from hydrotest.run.trials.concurrent import prepare_all, run_concurrently
from hydrotest.run.trials.trial import Disturbance, TrialPlan
from hydrotest.run.workloads.base import Bench
from hydrotest.run.workloads.kafka import Consume, Produce
from hydrotest.run.workloads.kafka_group import Group
from hydrotest.spec.kafka_consume import KafkaConsume
from hydrotest.spec.kafka_group import KafkaGroup
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.tests.fault import Fault
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial
from hydrotest.summary.groups import ConsumerGroup
from hydrotest.systems.fetch import KAFKA, fetch
from tests.real.conftest import windows_of

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="session")]
RATE = 5_000
PLAN = TrialPlan("groups", Purpose.SEARCH, 0.5, 3.5, patience_s=30.0)
STRUCK = TrialPlan("groups", Purpose.FAULT, 0.5, 25.0, patience_s=60.0)
"""Long enough for a session of 6 s, and for a JVM to start again."""
SOURCE = {"kind": "kafka-produce", "partitions": 6, "key": "uniform(0, 1K)"}
SHORT = {"session": "6 s", "members": 3, "heap": "64 MiB"}


@dataclass
class Ran:
    """A trial with its groups' rows."""

    trial: Trial
    rows: list[ConsumerGroup]
    records: dict[str, Any] = field(default_factory=dict)


async def ran(bench: Bench, settings: dict[str, Any], plan: TrialPlan = PLAN, disturbance: Disturbance | None = None,
              source: dict[str, Any] | None = None, more: Sequence[str] = ()) -> Ran:  # fmt: skip
    """One trial of groups that follow a producer; `more`: a consumer of ours, too."""
    produce = Produce("ingest", KafkaProduce.model_validate({**SOURCE, **(source or {})}), bench)
    spec = KafkaGroup.model_validate({"kind": "kafka-group", "reads": "ingest", "heap": "64 MiB", **settings})
    group = Group("readers", spec, produce, bench)
    drain = [Consume(name, KafkaConsume(kind="kafka-consume", reads="ingest"), produce, bench) for name in more]
    await prepare_all([group])
    trial = await run_concurrently(bench, plan, [produce, group, *drain], {"ingest": RATE}, disturbance)
    assert trial.status == "done", trial.reason
    fates = trial.load("ingest").fates
    assert fates is not None
    assert fates.lost == 0
    experiment = bench.experiment.model_copy(update={"workloads": {**bench.experiment.workloads, "readers": spec}})
    return Ran(trial, group_rows(experiment, [trial]))


def struck(bench: Bench, action: str, what: str = "kafka-member-readers-0-1", down: str = "3 s", *, cold: bool = False) -> Strike:
    test = Fault.model_validate({
        "test": "fault", "workloads": ["ingest", "readers"], "rates": {"ingest": RATE}, "service": what, "action": action,
        "at": "5 s", "down": down, "duration": "25 s", "cold": cold,
    })  # fmt: skip
    return Strike(test, bench, STRUCK.warm_up_s + test.at)


PROTOCOLS: dict[str, dict[str, Any]] = {
    "classic": {"protocol": "classic"},
    "classic, cooperative": {"protocol": "classic", "assignor": "cooperative-sticky", "commit": "async", "commit_every": "1 s"},
    "classic, round robin": {"protocol": "classic", "assignor": "roundrobin"},
    "consumer": {"protocol": "consumer", "commit": "sync", "commit_every": "500 ms"},
    "consumer, range": {"protocol": "consumer", "assignor": "range"},
}
OFTEN = ("classic", "consumer")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in OFTEN else [pytest.mark.long]) for name in PROTOCOLS])
async def test_each_group_reads_each_record_once(name: str, bench: Bench) -> None:
    found = await ran(bench, {"groups": 2, "members": 3, **PROTOCOLS[name]}, more=["drain"])
    written = found.trial.load("ingest").fates
    assert written is not None
    assert len(found.rows) == 2
    for row in found.rows:
        # As many as our own consumer, which checks each record by itself, has seen.
        assert (row.records, row.again, row.missed, row.unread, row.corrupted) == (written.seen, 0, 0, 0, 0)
        assert row.rebalances == []
        assert (row.commits is None) == (PROTOCOLS[name].get("commit", "auto") == "auto")
        assert row.commits is None or row.commits > 0
    load = found.trial.load("readers")
    assert load.fates is not None
    assert load.fates.lost == 0
    assert load.outcome is not None
    assert load.outcome.counts.in_flight >= 0
    (measured, _) = windows_of(bench, found.trial, "readers")
    assert measured.latency is not None
    assert 0 < (measured.latency["p50"] or 0) <= (measured.latency["max"] or 0)


@pytest.mark.parametrize("protocol", ["classic", pytest.param("consumer", marks=pytest.mark.long)])
async def test_what_a_killed_member_had_not_committed_is_read_again(protocol: str, bench: Bench) -> None:
    session = {} if protocol == "consumer" else {"session": "6 s"}  # brokers have that of the other protocol: 45 s
    settings = {"members": 3, "protocol": protocol, "commit": "sync", "commit_every": "60 s", **session}
    found = await ran(bench, settings, STRUCK, struck(bench, "kill"))
    (row,) = found.rows
    assert (row.missed, row.unread, row.corrupted) == (0, 0, 0)
    # It committed nothing before it was killed: its successors begin at the beginning.
    assert row.again > RATE
    killed = next(one for one in row.rebalances if one.cause == "kill")
    assert killed.stopped >= 2
    assert killed.began_s == pytest.approx(5.0, abs=1.5)
    assert killed.ended_s is not None
    assert killed.longest_s >= 3.0  # nobody takes over before it is known to be gone


NEW: dict[str, Any] = {"protocol": "consumer", "members": 3, "heap": "64 MiB"}
"""Brokers have its session: 45 s."""


@pytest.mark.long
@pytest.mark.parametrize("settings", [SHORT, NEW], ids=["classic", "consumer"])
async def test_a_member_that_leaves_in_good_order_leaves_nothing_to_read_again(settings: dict[str, Any], bench: Bench) -> None:
    found = await ran(bench, {**settings, "commit": "sync", "commit_every": "1 s"}, STRUCK, struck(bench, "stop"))
    (row,) = found.rows
    assert (row.again, row.missed, row.unread) == (0, 0, 0)
    assert [one.cause for one in row.rebalances] == ["leave", "join"]
    assert all(one.longest_s < 6.0 for one in row.rebalances)  # no session had to end first


@pytest.mark.long
async def test_a_member_that_comes_back_from_a_long_pause_is_no_longer_one(bench: Bench) -> None:
    found = await ran(bench, {**SHORT, "commit": "sync", "commit_every": "1 s"}, STRUCK, struck(bench, "pause", down="11 s"))
    (row,) = found.rows
    assert (row.missed, row.unread) == (0, 0)
    paused = row.rebalances[0]
    # All give back what they have, and two partitions of the one that is silent go to others.
    assert (paused.cause, paused.stopped, paused.moved) == ("pause", 6, 2)
    assert 5.0 < paused.longest_s < 11.0


@pytest.mark.long
@pytest.mark.parametrize("settings", [SHORT, NEW], ids=["classic", "consumer"])
async def test_a_backlog_in_memory_is_worked_off_while_producing_goes_on(settings: dict[str, Any], bench: Bench) -> None:
    strike = struck(bench, "stop", "kafka-members-readers")
    found = await ran(bench, {**settings, "groups": 2, "commit": "sync", "commit_every": "1 s"}, STRUCK, strike)
    assert len(found.rows) == 2
    for row in found.rows:
        assert (row.again, row.missed, row.unread) == (0, 0, 0)
        assert row.rebalances[0].stopped == 6
        assert row.rebalances[0].longest_s >= 3.0


@pytest.mark.long
async def test_a_backlog_is_read_from_the_disk_when_all_members_come_back(bench: Bench) -> None:
    strike = struck(bench, "stop", "kafka-members-readers", cold=True)
    found = await ran(bench, {**SHORT, "commit": "sync", "commit_every": "1 s"}, STRUCK, strike, {"record_size": "2 KiB"})
    (row,) = found.rows
    evicted = [entry for entry in bench.runner.folder.read_journal() if entry["what"] == "page cache evicted"][-1]
    assert evicted["by_host"]["here"] > 3 * RATE * 2048
    (measured, _) = windows_of(bench, found.trial, "readers")
    rates = trial_host_rates(bench.runner.folder, found.trial, "here", measured.start_s, measured.end_s)
    assert float(rates["disk_read_bytes_per_s"].sum()) > 2 * RATE * 2048
    assert (row.again, row.missed, row.unread) == (0, 0, 0)
    assert row.rebalances[0].stopped == 6
    assert row.rebalances[0].longest_s >= 3.0


class Forwarded:
    """All members leave, somebody sets their group's offsets to the end, and they come back."""

    def __init__(self, bench: Bench, strike: Strike) -> None:
        self.bench = bench
        self.strike = strike

    @property
    def records(self) -> dict[str, Any]:
        return {}

    async def carry_out(self) -> None:
        await asyncio.sleep(self.strike.delay_s)
        target = self.bench.background["kafka-members-readers"]
        await target.inject("stop")
        await asyncio.sleep(2.0)
        kafka = self.bench.systems["kafka"]
        jars = await asyncio.to_thread(fetch, KAFKA, lambda _words: None)
        argv = [str(find_java()), "-cp", f"{jars}/*", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--bootstrap-server",
                kafka.cluster.addresses[0], "--reset-offsets", "--to-latest", "--all-topics", "--all-groups", "--execute"]  # fmt: skip
        host = next(iter(self.bench.hosts.values()))
        await run_command("ConsumerGroupCommand", argv, host, self.bench.runner.folder.path / "reset.log")
        await target.heal("stop")


@pytest.mark.long
async def test_what_a_group_was_made_to_pass_over_is_missed(bench: Bench) -> None:
    settings = {**SHORT, "commit": "sync", "commit_every": "1 s"}
    found = await ran(bench, settings, STRUCK, Forwarded(bench, struck(bench, "stop", "kafka-members-readers")))
    (row,) = found.rows
    assert row.missed > RATE
    assert row.unread == 0
    assert row.first_missed
    fates = found.trial.load("readers").fates
    assert fates is not None
    assert fates.lost == row.missed


async def test_values_of_others_are_read_whole(bench: Bench) -> None:
    source = {"payload": {"file": "README.md", "stamp": "header", "registry": {"id": 7, "message": 3}}, "compression": "gzip"}
    found = await ran(bench, {"members": 2}, source=source)
    (row,) = found.rows
    assert (row.again, row.missed, row.unread, row.corrupted) == (0, 0, 0, 0)
    assert windows_of(bench, found.trial, "readers")[0].latency is not None


async def test_records_of_transactions_are_read_when_they_are_committed(bench: Bench) -> None:
    source = {"transactions": {"every": "100 ms", "aborts": "20 %"}}
    found = await ran(bench, {"members": 2, "isolation": "read_committed"}, source=source)
    written = found.trial.load("ingest").fates
    assert written is not None
    (row,) = found.rows
    assert (row.records, row.again, row.missed, row.unread) == (written.seen, 0, 0, 0)
