"""Consumer groups: what an experiment may say of them, and what is made of what their generator found."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hydrotest.analysis.by_test.groups import group_rows
from hydrotest.analysis.integrity.groups import group_fates
from hydrotest.errors import BadInputError, OverdueError, TrialFailedError
from hydrotest.hosts.deadlines import Patience
from hydrotest.load.kafka_group import Members, properties
from hydrotest.report.groups import groups_sheet, rebalances_sheet
from hydrotest.spec.check import memory_needed
from hydrotest.spec.kafka_group import KafkaGroup
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.store.records import Counts, Load, Outcome, Trial
from hydrotest.summary.groups import ConsumerGroup
from tests.rows import summary_of

FILE = """\
name: groups
hosts:
  here:  {connect: local}
  there: {connect: local, address: 127.0.0.2}
systems:
  kafka: {hosts: [here]%KAFKA%}
workloads:
  ingest:  {kind: kafka-produce, partitions: 6}
  readers: {kind: kafka-group, reads: ingest, members: %MEMBERS%%READERS%}
  drain:   {kind: kafka-consume, reads: ingest}
tests:
%TESTS%
"""
FAULT = "  - fault: {{workloads: [{names}], rates: {{ingest: 1000}}, service: {service}, action: {action}}}"
TOGETHER = FAULT.format(names="ingest, readers", service="kafka-member-readers-0-2", action="kill")


def read(tmp_path: Path, readers: str = "", kafka: str = "", tests: str = TOGETHER, members: int = 3) -> Experiment:
    """The experiment with more settings of its groups and its Kafka."""
    path = tmp_path / "groups.yaml"
    path.write_text(
        FILE.replace("%READERS%", readers).replace("%MEMBERS%", str(members)).replace("%KAFKA%", kafka).replace("%TESTS%", tests)
    )
    experiment, _ = load_experiment(path)
    return experiment


def test_members_are_targets_of_faults(tmp_path: Path) -> None:
    for service in ("kafka-member-readers-0-2", "kafka-members-readers"):
        for action in ("kill", "stop", "pause"):
            read(tmp_path, tests=FAULT.format(names="ingest, readers", service=service, action=action))


@pytest.mark.parametrize(
    ("readers", "kafka", "tests", "line"),
    [
        (", protocol: consumer", ", release: '3.9'", TOGETHER, 9),
        (", protocol: consumer, assignor: sticky", "", TOGETHER, 9),
        (", assignor: uniform", "", TOGETHER, 9),
        (", protocol: consumer, session: 6 s", "", TOGETHER, 9),
        (", session: 2 s", "", TOGETHER, 9),
        (", session: 2 s", ", config: {group.min.session.timeout.ms: 3000}", TOGETHER, 9),
        (", session: 1 h", "", TOGETHER, 9),
        (", protocol: consumer", ", config: {group.consumer.session.timeout.ms: soon}", TOGETHER, 6),
        (", config: {group.instance.id: x}", "", TOGETHER, 9),
        (", config: {heartbeat.interval.ms: 100}", "", TOGETHER, 9),
        (", heap: 1 MiB", "", TOGETHER, 9),
        (", config: {group.id: x}", "", TOGETHER, 9),
        (", config: {ssl.truststore.location: x}", "", TOGETHER, 9),
        (", groups: 100", "", TOGETHER, 9),
        (", on: [here, there]", "", TOGETHER, 9),
        ("", "", FAULT.format(names="ingest, readers", service="kafka-member-readers-0-3", action="kill"), 12),
        ("", "", FAULT.format(names="ingest, readers", service="kafka-member-readers-0-0", action="slow"), 12),
        ("", "", FAULT.format(names="ingest, drain", service="kafka-member-readers-0-0", action="kill"), 12),
        ("", "", "  - isolated: [readers]", 12),
        ("", "", "  - soak: {workloads: [ingest, readers], rates: {ingest: 1000}}", 12),
    ],
)
def test_what_cannot_be_is_refused_where_it_stands(tmp_path: Path, readers: str, kafka: str, tests: str, line: int) -> None:
    with pytest.raises(BadInputError) as raised:
        read(tmp_path, readers, kafka, tests)
    assert raised.value.line == line


def test_more_members_than_partitions_are_refused(tmp_path: Path) -> None:
    read(tmp_path, members=6)
    with pytest.raises(BadInputError) as raised:
        read(tmp_path, members=7)
    assert raised.value.line == 9


def test_what_is_assigned_by_topic_needs_a_partition_of_each(tmp_path: Path) -> None:
    topics = FILE.replace("partitions: 6", "partitions: 2, topics: 3")

    def checked(assignor: str) -> None:
        path = tmp_path / "topics.yaml"
        path.write_text(topics.replace("%READERS%", assignor).replace("%MEMBERS%", "3").replace("%KAFKA%", "").replace("%TESTS%", TOGETHER))
        load_experiment(path)

    for others in (", assignor: roundrobin", ", assignor: cooperative-sticky", ", protocol: consumer"):
        checked(others)
    for by_topic in ("", ", assignor: range", ", protocol: consumer, assignor: range"):
        with pytest.raises(BadInputError) as raised:
            checked(by_topic)
        assert raised.value.line == 9


def test_a_session_may_be_shorter_where_brokers_allow_it(tmp_path: Path) -> None:
    read(tmp_path, ", session: 2 s", ", config: {group.min.session.timeout.ms: 1000}")


def test_each_member_needs_memory(tmp_path: Path) -> None:
    few, many = (memory_needed(read(tmp_path, f", groups: {groups}"))["here"] for groups in (1, 4))
    assert many - few > 9 * (128 << 20)


def group(**given: Any) -> KafkaGroup:
    return KafkaGroup.model_validate({"kind": "kafka-group", "reads": "ingest", **given})


def test_settings_of_the_consumer_are_those_of_the_protocol() -> None:
    classic = properties(group(session="9 s"), ["a:1", "b:2"])
    assert (classic["session.timeout.ms"], classic["heartbeat.interval.ms"]) == ("9000", "3000")
    assert classic["bootstrap.servers"] == "a:1,b:2"
    # A consumer refuses settings of the other protocol.
    consumer = properties(group(protocol="consumer", assignor="range", config={"max.poll.records": 7}), ["a:1"])
    assert not {"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"} & consumer.keys()
    assert (consumer["group.remote.assignor"], consumer["max.poll.records"]) == ("range", "7")


class Asked:
    """A node that takes commands and does nothing."""

    def __init__(self) -> None:
        self.commands: list[dict[str, Any]] = []

    async def command(self, command: str, **fields: Any) -> None:
        self.commands.append({"command": command, **fields})


def test_what_is_asked_of_members_is_waited_for() -> None:
    async def body() -> None:
        members, node = Members(), Asked()
        members.run_by(node)  # type: ignore[arg-type]
        asked = asyncio.create_task(members.act([(0, 1), (1, 1)], "kill", Patience.of(a_moment=5.0)))
        await asyncio.sleep(0)
        members.on_event({"group": 0, "member": 1, "is_there": False})
        members.on_event({"group": 1, "member": 1, "is_there": True})  # of an earlier wish
        await asyncio.sleep(0)
        assert not asked.done()
        members.on_event({"group": 1, "member": 1, "is_there": False})
        await asked
        assert [one["act"] for one in node.commands] == ["kill", "kill"]
        with pytest.raises(OverdueError):
            await members.act([(0, 1)], "join", Patience.of(a_moment=0.05))
        members.on_event({"group": 0, "member": 1, "is_there": True})  # too late for anybody

    asyncio.run(body())


def test_what_is_asked_of_members_that_are_gone_costs_the_trial_only() -> None:
    async def body() -> None:
        members = Members()
        members.run_by(Asked())  # type: ignore[arg-type]
        asked = asyncio.create_task(members.act([(0, 1)], "join", Patience.of(a_moment=5.0)))
        await asyncio.sleep(0.01)
        members.run_by(None)  # its generator has failed
        with pytest.raises(TrialFailedError):
            await asked
        with pytest.raises(TrialFailedError):
            await members.act([(0, 1)], "kill", Patience.of(a_moment=5.0))

    asyncio.run(body())


ACCOUNTS = [
    {"records": 90, "again": 5, "corrupted": 0, "skipped": 2, "missed": 7, "unread": 3, "first_missed": [[4, 10, 17]]},
    {"records": 100, "again": 0, "corrupted": 1, "skipped": 0, "missed": 0, "unread": 0, "first_missed": []},
]
KILLED = {"cause": "kill", "began_s": 12.0, "ended_s": 18.5, "stopped": 3, "moved": 2, "longest_s": 6.5}
OPEN = {"cause": "unasked", "began_s": 20.0, "ended_s": None, "stopped": 6, "moved": 0, "longest_s": 1.25}
FOUND = {
    "groups": [
        {"account": ACCOUNTS[0], "rebalances": [KILLED, OPEN], "commits": 12},
        {"account": ACCOUNTS[1], "rebalances": [], "commits": 0},
    ],
    "fatal": None,
}


def test_the_account_is_that_of_all_groups() -> None:
    fates = group_fates(FOUND)
    assert (fates.sent, fates.acked, fates.seen, fates.lost, fates.in_flight, fates.corrupted) == (200, 200, 190, 7, 3, 1)


def rows_of(experiment: Experiment) -> list[ConsumerGroup]:
    outcome = Outcome(counts=Counts(), started_wall_s=0, ended_wall_s=30, extra=FOUND)
    load = Load(workload="readers", kind="kafka-group", client="native", outcome=outcome)
    made = {
        "number": 3,
        "slug": "x",
        "purpose": "fault",
        "tenancy": "combined",
        "warm_up_s": 2.0,
        "window_s": 28.0,
        "prepared_wall_s": 0,
        "ended_wall_s": 30,
    }
    trials = [Trial.model_validate({**made, "status": status, "reason": None, "loads": [load]}) for status in ("done", "failed")]
    return group_rows(experiment, trials)


def test_there_is_a_row_for_each_group_of_a_trial_that_is_done(tmp_path: Path) -> None:
    first, second = rows_of(read(tmp_path, ", groups: 2, commit: sync"))
    assert (first.trial, first.group, first.members, first.records, first.again, first.commits) == (3, 0, 3, 90, 5, 12)
    # Since the window began, not since the warm-up.
    assert [(one.began_s, one.ended_s) for one in first.rebalances] == [(10.0, 16.5), (18.0, None)]
    assert [one.written() for one in first.first_missed] == [{"partition": 4, "first": 10, "end": 17}]
    assert (second.group, second.corrupted) == (1, 1)
    assert rows_of(read(tmp_path, ", groups: 2"))[0].commits is None


def test_tables_have_a_cell_for_each_column(tmp_path: Path) -> None:
    summary = summary_of(groups=[row.written() for row in rows_of(read(tmp_path))])
    for sheet, rows in ((groups_sheet(summary), 2), (rebalances_sheet(summary), 2)):
        assert [len(cells) for cells in sheet.rows] == [len(sheet.heads)] * rows
        assert set(sheet.lead) <= set(sheet.heads)
    moved = dict(zip(rebalances_sheet(summary).heads, rebalances_sheet(summary).rows[0], strict=True))
    assert (moved["took s"], moved["longest s"], moved["moved"]) == ("6.50", "6.50", "2")
