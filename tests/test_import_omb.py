"""Workloads and drivers of OpenMessaging Benchmark become experiments that `check` accepts. They are written anew, from public descriptions of
their shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hydrotest.cli.entry import main
from hydrotest.errors import BadInputError
from hydrotest.imports.note import Aim, Fate, Imported, Why
from hydrotest.imports.omb import import_omb
from hydrotest.imports.omb_readers import MEMBERS_MAX
from hydrotest.imports.producer_perf import import_producer_perf
from hydrotest.imports.stress import import_stress
from hydrotest.report.wording.imported import note_words
from tests.imported import HERE, THERE, accepted, notes_of, written

KB = {"messageSize": 1024, "subscriptionsPerTopic": 1, "consumerPerSubscription": 1, "producersPerTopic": 1, "testDurationMinutes": 5}
OMB: dict[str, dict[str, Any]] = {
    "simple-workload": {"name": "Simple Workload 1 producer on 1 topic", "topics": 1, "partitionsPerTopic": 10, **KB, "keyDistributor": "NO_KEY",
                        "payloadFile": "payload/payload-1Kb.data", "producerRate": 10000, "consumerBacklogSizeGB": 0},
    "1-topic-1-partition-100b": {"topics": 1, "partitionsPerTopic": 1, **KB, "messageSize": 100, "useRandomizedPayloads": True, "randomBytesRatio": 0.5,
                                 "randomizedPayloadPoolSize": 1000, "producerRate": 50000},
    "1-topic-16-partitions-1kb": {"topics": 1, "partitionsPerTopic": 16, **KB, "producerRate": 50000},
    "1-topic-100-partitions-1kb-4p-4c-2000k": {"topics": 1, "partitionsPerTopic": 100, **KB, "producersPerTopic": 4, "consumerPerSubscription": 4,
                                               "producerRate": 2_000_000},
    "1-topic-3-partition-100b-3producers": {"topics": 1, "partitionsPerTopic": 3, **KB, "messageSize": 100, "producersPerTopic": 3, "producerRate": 1_000_000},
    "10-topics-10-partitions-1kb": {"topics": 10, "partitionsPerTopic": 10, **KB, "producersPerTopic": 2, "producerRate": 200_000},
    "100-topics-1-partition-1kb": {"topics": 100, "partitionsPerTopic": 1, **KB, "producerRate": 50_000},
    "200-topics-1-partition-1kb": {"topics": 200, "partitionsPerTopic": 1, **KB, "producerRate": 50_000, "warmupDurationMinutes": 5},
    "1000-topics-10-partitions-1kb": {"topics": 1000, "partitionsPerTopic": 10, **KB, "producerRate": 100_000, "logHdrLatency": False},
    "keys-round-robin": {"topics": 1, "partitionsPerTopic": 16, **KB, "keyDistributor": "KEY_ROUND_ROBIN", "producerRate": 20_000},
    "keys-random": {"topics": 1, "partitionsPerTopic": 16, **KB, "keyDistributor": "RANDOM_NANO", "producerRate": 20_000},
    "max-rate-1-topic-16-partitions-1kb": {"topics": 1, "partitionsPerTopic": 16, **KB, "producerRate": 0},
    "backlog-1-topic-16-partitions-1kb": {"topics": 1, "partitionsPerTopic": 16, **KB, "producerRate": 100_000, "consumerBacklogSizeGB": 100,
                                          "backlogDrainRatio": 1.0},
    "1-topic-2-subscriptions-1kb": {"topics": 1, "partitionsPerTopic": 8, **KB, "subscriptionsPerTopic": 2, "producerRate": 40_000},
    "1-topic-6-subscriptions-1kb": {"topics": 1, "partitionsPerTopic": 8, **KB, "subscriptionsPerTopic": 6, "producerRate": 40_000},
    "10kb-100mb": {"topics": 1, "partitionsPerTopic": 100, **KB, "messageSize": 10240, "producersPerTopic": 50, "producerRate": 10_000},
}  # fmt: skip
DRIVER = {
    "name": "Kafka", "driverClass": "io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver", "replicationFactor": 3, "reset": True,
    "topicConfig": "min.insync.replicas=2\nflush.messages=1\nretention.ms=60000\n", "commonConfig": "bootstrap.servers=b1:9092\nsasl.jaas.config=secret\n",
    "producerConfig": "acks=all\nlinger.ms=1\nbatch.size=131072\ncompression.type=snappy\nmax.in.flight.requests.per.connection=10\nbuffer.memory=1\n",
    "consumerConfig": "auto.offset.reset=earliest\nisolation.level=read_committed\n",
}  # fmt: skip


@pytest.mark.parametrize("aim", [HERE, THERE], ids=["here", "attached"])
@pytest.mark.parametrize("name", OMB)
def test_workloads_of_openmessaging_benchmark(name: str, aim: Aim, tmp_path: Path) -> None:
    given = {"name": name, **OMB[name]}
    made = import_omb(written(tmp_path, "workload.yaml", given), written(tmp_path, "driver.yaml", DRIVER), aim)
    told = {(note.file, note.line) for note in made.notes}
    lines = {("workload.yaml", number) for number in range(1, len(given) + 1)}
    assert lines <= told, "each line has a note"
    ingest = made.experiment["workloads"]["ingest"]
    assert (ingest.get("topics", 1), ingest["partitions"]) == (given["topics"], given["partitionsPerTopic"])
    assert ingest["compression"] == "snappy"
    assert (ingest["in_flight_requests"], ingest["idempotent"]) == (10, False)
    assert ingest.get("replication", 1) == (3 if aim.attach else 1)
    assert ingest["topic"] == ({"min.insync.replicas": "2"} if aim.attach else {}) | {"flush.messages": "1"}
    assert all("secret" not in note.said for note in made.notes)
    readers = [one for one in made.experiment["workloads"].values() if "reads" in one]
    assert {one.get("isolation") for one in readers} <= {"read_committed"}
    assert readers or (aim.attach and not given["producerRate"])
    accepted(made)


def test_transactions_and_settings_that_are_hydrotests_own(tmp_path: Path) -> None:
    made = import_producer_perf("--transaction-duration-ms 200 --transactional-id x --throughput 10", HERE)
    assert made.experiment["workloads"]["ingest"]["transactions"] == {"every": "200 ms"}
    accepted(made)
    driver = DRIVER | {"topicConfig": "local.retention.ms=1\nretention.bytes=2\n"}
    kept = import_omb(written(tmp_path, "w.yaml", OMB["simple-workload"]), written(tmp_path, "d.yaml", driver), HERE)
    assert "topic" not in kept.experiment["workloads"]["ingest"]
    accepted(kept)


def omb(folder: Path, driver: dict[str, Any] | None = None, aim: Aim = HERE, **given: Any) -> Imported:
    """What a workload of OpenMessaging Benchmark becomes, with what it says beside `KB`."""
    there = None if driver is None else written(folder, "driver.yaml", driver)
    made = import_omb(
        written(folder, "workload.yaml", {"topics": 1, "partitionsPerTopic": 16, **KB, "producerRate": 50_000, **given}), there, aim
    )
    accepted(made)
    return made


def test_what_an_omb_workload_becomes(tmp_path: Path) -> None:
    def of(name: str, aim: Aim = HERE) -> Imported:
        return import_omb(written(tmp_path, f"{name}.yaml", OMB[name]), None, aim)

    tests = {name: of(name).experiment["tests"] for name in OMB}
    assert tests["simple-workload"] == [
        {"soak": {"workloads": ["ingest", "readers", "drain"], "rates": {"ingest": 10000}, "duration": "300 s"}}
    ]
    assert tests["max-rate-1-topic-16-partitions-1kb"] == [{"isolated": ["ingest"]}, {"combined": ["ingest", "readers"]}]
    assert of("1-topic-1-partition-100b").experiment["workloads"]["ingest"]["compressible"] == 0.5
    attached = of("1-topic-6-subscriptions-1kb", THERE)
    assert attached.experiment["workloads"]["readers"]["groups"] == 6
    assert attached.experiment["systems"]["kafka"]["most"]["rate"] >= 6 * 40_000
    searched = of("max-rate-1-topic-16-partitions-1kb", THERE)
    assert set(searched.experiment["workloads"]) == {"ingest"}
    assert notes_of(searched, "subscriptionsPerTopic") == {(Fate.LEFT_OUT, Why.PRODUCER_ALONE)}
    backlog = of("backlog-1-topic-16-partitions-1kb", THERE)
    assert "cold" not in backlog.experiment["tests"][1]["fault"]
    assert notes_of(backlog, "consumerBacklog") == {(Fate.CHANGED, Why.BACKLOG_THERE)}
    accepted(backlog)


def test_lines_of_a_drivers_settings_are_their_own(tmp_path: Path) -> None:
    driver = (
        "name: Kafka\ntopicConfig: |\n  min.insync.replicas=1\n\n  max.message.bytes=2000000\n"
        "commonConfig: |\n  max.request.size=9\n  # note \\\n  client.rack=a\n  lonely\n"
    )
    made = import_omb(written(tmp_path, "w.yaml", OMB["simple-workload"]), written(tmp_path, "d.yaml", driver), HERE)
    accepted(made)
    lines = {note.said: note.line for note in made.notes if note.file == "d.yaml" and note.line is not None}
    assert lines == {
        "name: Kafka": 1, "min.insync.replicas=1": 3, "max.message.bytes=2000000": 5, "max.request.size=9": 7, "client.rack=a": 9, "lonely=": 10,
    }  # fmt: skip
    assert notes_of(made, "max.request.size") == {(Fate.LEFT_OUT, Why.CLIENT_SETTING)}


def test_flags_may_be_texts_and_shares_are_shares(tmp_path: Path) -> None:
    given = {**OMB["1-topic-1-partition-100b"], "useRandomizedPayloads": "${RANDOM:-false}"}
    assert "compressible" not in import_omb(written(tmp_path, "w.yaml", given), None, HERE).experiment["workloads"]["ingest"]
    for key, value in (("randomBytesRatio", 1.5), ("useRandomizedPayloads", "maybe")):
        with pytest.raises(BadInputError) as caught:
            import_omb(written(tmp_path, "w.yaml", OMB["1-topic-1-partition-100b"] | {key: value}), None, HERE)
        assert caught.value.line is not None
    nothing = import_omb(
        written(tmp_path, "w.yaml", OMB["simple-workload"] | {"consumerBacklogSizeGB": None, "payloadFile": None}), None, HERE
    )
    assert notes_of(nothing, "consumerBacklogSizeGB") | notes_of(nothing, "payloadFile") == {(Fate.KEPT, None)}


@pytest.mark.parametrize(("rate", "size"), [(100, 1_000_000), (50_000, 1024), (0, 100_000)])
def test_what_is_allowed_is_what_the_definition_takes(rate: int, size: int, tmp_path: Path) -> None:
    made = omb(tmp_path, aim=THERE, producerRate=rate, messageSize=size)
    most = made.experiment["systems"]["kafka"]["most"]
    mb_per_s = int(most["bytes"].split()[0])
    assert rate * size / 1e6 <= mb_per_s <= max(1.5 * rate * size / 1e6, 150)
    # Five minutes of it, in one copy.
    assert int(most["disk"].split()[0]) <= 3 * mb_per_s * 400 / 1e3 + 1


def test_a_payload_that_is_here_is_each_records_value(tmp_path: Path) -> None:
    (tmp_path / "workloads").mkdir()
    (tmp_path / "payload").mkdir()
    (tmp_path / "payload/one.data").write_bytes(b"x" * 1024)
    given = {**OMB["simple-workload"], "payloadFile": "payload/one.data"}

    def of(**more: Any) -> Imported:
        return import_omb(written(tmp_path / "workloads", "w.yaml", given | more), None, HERE)

    made = of(useRandomizedPayloads=False)
    ingest = made.experiment["workloads"]["ingest"]
    assert ingest["payload"] == {"file": str(tmp_path / "payload/one.data"), "form": "whole", "stamp": "header"}
    assert "record_size" not in ingest
    assert notes_of(made, "payloadFile") == {(Fate.CHANGED, Why.STAMP_IN_HEADER)}
    assert notes_of(made, "messageSize") == {(Fate.KEPT, None)}
    accepted(made)
    assert notes_of(of(useRandomizedPayloads=False, messageSize=100), "messageSize") == {(Fate.CHANGED, Why.PAYLOAD_SIZE)}
    random = of(useRandomizedPayloads=True)
    assert notes_of(random, "payloadFile") == {(Fate.LEFT_OUT, Why.RANDOM_INSTEAD)}
    assert "payload" not in random.experiment["workloads"]["ingest"]
    assert notes_of(of(payloadFile="payload/gone.data"), "payloadFile") == {(Fate.LEFT_OUT, Why.PAYLOAD_WHOLE)}


@pytest.mark.parametrize(
    ("given", "groups", "members", "assignor", "whys"),
    [
        ({"subscriptionsPerTopic": 6, "consumerPerSubscription": 2}, 6, 2, None, set()),
        ({"consumerPerSubscription": 100, "partitionsPerTopic": 100}, 1, MEMBERS_MAX, None, {Why.MEMBERS}),
        ({"subscriptionsPerTopic": 4, "consumerPerSubscription": 5}, 4, 4, None, {Why.MEMBERS}),
        ({"subscriptionsPerTopic": 40}, MEMBERS_MAX, 1, None, {Why.MEMBERS}),
        ({"consumerPerSubscription": 8, "partitionsPerTopic": 3}, 1, 3, None, {Why.IDLE}),
        ({"topics": 10, "partitionsPerTopic": 10}, 1, 10, None, {Why.GROUP_OF_ALL}),
        ({"topics": 4, "partitionsPerTopic": 3, "consumerPerSubscription": 2}, 1, 8, "cooperative-sticky", {Why.GROUP_OF_ALL}),
        ({"topics": 1000, "partitionsPerTopic": 1}, 1, MEMBERS_MAX, "cooperative-sticky", {Why.GROUP_OF_ALL, Why.MEMBERS}),
    ],
)  # fmt: skip
def test_subscriptions_are_groups_and_consumers_their_members(
    given: dict[str, Any], groups: int, members: int, assignor: str | None, whys: set[Why], tmp_path: Path
) -> None:
    made = omb(tmp_path, **given)
    readers = made.experiment["workloads"]["readers"]
    assert (readers["groups"], readers["members"], readers.get("assignor")) == (groups, members, assignor)
    found = notes_of(made, "subscriptionsPerTopic") | notes_of(made, "consumerPerSubscription")
    assert {why for _, why in found} - {None} == whys


@pytest.mark.parametrize(
    ("topics", "each", "producers", "fate"),
    [(1, 1, None, Fate.KEPT), (1, 50, 50, Fate.KEPT), (200, 1, 200, Fate.KEPT), (1000, 2, 1000, Fate.CHANGED)],
)
def test_producers_are_as_many(topics: int, each: int, producers: int | None, fate: Fate, tmp_path: Path) -> None:
    made = omb(tmp_path, topics=topics, partitionsPerTopic=1, producersPerTopic=each)
    ingest = made.experiment["workloads"]["ingest"]
    assert ingest.get("producers") == producers
    assert {found for found, _ in notes_of(made, "producersPerTopic")} == {fate}


def test_members_that_share_each_topic_are_no_more_than_its_partitions(tmp_path: Path) -> None:
    driver = DRIVER | {"consumerConfig": "partition.assignment.strategy=org.apache.kafka.clients.consumer.RangeAssignor\n"}
    made = omb(tmp_path, driver, topics=4, partitionsPerTopic=3, consumerPerSubscription=2)
    assert made.experiment["workloads"]["readers"]["members"] == 3
    assert notes_of(made, "consumerPerSubscription") == {(Fate.CHANGED, Why.IDLE)}


def test_settings_of_the_consumers(tmp_path: Path) -> None:
    given = (
        "enable.auto.commit=true\nauto.commit.interval.ms=1000\nauto.offset.reset=latest\nmax.poll.records=2000\nsession.timeout.ms=10000\n"
        "partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor,org.apache.kafka.clients.consumer.RangeAssignor\n"
        "heartbeat.interval.ms=3000\ngroup.instance.id=x\nsasl.mechanism=PLAIN\ninterceptor.classes=com.acme.Slow\nssl.key.password=S3CRET\n"
        "fetch.max.bytes=104857600\n"
    )  # fmt: skip
    common = "bootstrap.servers=b1:9092\ndefault.api.timeout.ms=600000\nacks=1\n"
    made = omb(tmp_path, DRIVER | {"consumerConfig": given, "commonConfig": common})
    assert made.experiment["workloads"]["readers"] == {
        "kind": "kafka-group", "reads": "ingest", "groups": 1, "members": 1, "commit": "auto", "commit_every": "1000 ms", "session": "10 s",
        "assignor": "cooperative-sticky", "heap": "228 MiB",
        "config": {"default.api.timeout.ms": "600000", "max.poll.records": "2000", "fetch.max.bytes": "104857600"},
    }  # fmt: skip
    left = {note.said.split("=")[0]: note.why for note in made.notes if note.file == "driver.yaml" and note.fate is Fate.LEFT_OUT}
    assert left | {
        "heartbeat.interval.ms": Why.SET_BY_US, "group.instance.id": Why.SET_BY_US, "sasl.mechanism": Why.OF_THE_CLUSTER,
        "interceptor.classes": Why.CLIENT_SETTING, "ssl.key.password": Why.OF_THE_CLUSTER, "bootstrap.servers": Why.OF_THE_CLUSTER,
    } == left  # fmt: skip
    assert "S3CRET" not in json.dumps([note_words(note) for note in made.notes])


def test_the_new_protocol_of_groups(tmp_path: Path) -> None:
    given = "session.timeout.ms=10000\npartition.assignment.strategy=org.x.RangeAssignor\ngroup.protocol=CONSUMER\ngroup.remote.assignor=range\n"
    made = omb(tmp_path, DRIVER | {"consumerConfig": given}, topics=2, consumerPerSubscription=10)
    readers = made.experiment["workloads"]["readers"]
    assert (readers["protocol"], readers["assignor"], readers["members"]) == ("consumer", "range", 16)
    assert "session" not in readers
    assert notes_of(made, "session") | notes_of(made, "partition.ass") == {(Fate.LEFT_OUT, Why.NOT_IN_FORCE)}
    free = omb(tmp_path, DRIVER | {"consumerConfig": "group.protocol=consumer\n"}, topics=10, partitionsPerTopic=1)
    assert "assignor" not in free.experiment["workloads"]["readers"]


@pytest.mark.parametrize(("given", "commit"), [("", "async"), ("enable.auto.commit=false", "async"), ("enable.auto.commit=true", "auto")])
def test_consumers_of_that_tool_commit_after_each_poll(given: str, commit: str, tmp_path: Path) -> None:
    readers = omb(tmp_path, DRIVER | {"consumerConfig": given}).experiment["workloads"]["readers"]
    assert readers["commit"] == commit
    assert readers.get("commit_every") == ("1 ms" if commit == "async" else None)
    assert "commit" not in omb(tmp_path).experiment["workloads"]["readers"]  # without a driver as Kafka's consumer does it
    odd = omb(tmp_path, DRIVER | {"consumerConfig": "session.timeout.ms=1000\nauto.commit.interval.ms=5\n"})
    assert notes_of(odd, "session") == {(Fate.LEFT_OUT, Why.SESSION)}
    assert notes_of(odd, "auto.commit") == {(Fate.LEFT_OUT, Why.NOT_IN_FORCE)}


def test_a_backlog_is_built_while_all_members_are_away(tmp_path: Path) -> None:
    def fault(**given: Any) -> tuple[Imported, dict[str, Any]]:
        made = omb(tmp_path, **given)
        return made, made.experiment["tests"][1]["fault"]

    # 1 GiB at 1,024 B × 50,000/s takes 20.97 s, which members are silent for without losing their place.
    made, small = fault(consumerBacklogSizeGB=1, backlogDrainRatio=1.0)
    assert small == {
        "workloads": ["ingest", "readers"], "rates": {"ingest": 50_000}, "service": "kafka-members-readers", "action": "pause", "at": "20 s",
        "down": "21 s", "duration": "101 s",
    }  # fmt: skip
    assert notes_of(made, "consumerBacklog") | notes_of(made, "backlogDrain") == {(Fate.KEPT, None)}
    # Two subscriptions build it in half of the time: each has its part of it.
    assert fault(consumerBacklogSizeGB=1, subscriptionsPerTopic=2)[1]["down"] == "11 s"
    made, large = fault(consumerBacklogSizeGB=512, backlogDrainRatio=0.9)
    assert (large["down"], large["action"], large["cold"], large["duration"]) == ("84 s", "stop", True, "272 s")
    assert notes_of(made, "consumerBacklog") == {(Fate.CHANGED, Why.BACKLOG)}
    assert notes_of(made, "backlogDrain") == {(Fate.CHANGED, Why.DRAIN_RATIO)}
    assert fault(consumerBacklogSizeGB=1, producerRate=100)[1]["down"] == "300 s"


@pytest.mark.parametrize(
    ("given", "why"),
    [({"producerRate": 0}, Why.BACKLOG_RATE), ({"subscriptionsPerTopic": 0}, Why.NO_READERS), ({"consumerPerSubscription": 0}, Why.NO_READERS)],
)  # fmt: skip
def test_a_backlog_that_cannot_be_built_is_named(given: dict[str, Any], why: Why, tmp_path: Path) -> None:
    made = omb(tmp_path, **given, consumerBacklogSizeGB=1, backlogDrainRatio=1.0)
    assert notes_of(made, "consumerBacklog") | notes_of(made, "backlogDrain") == {(Fate.LEFT_OUT, why)}
    assert [test for test in made.experiment["tests"] if "fault" in test] == []
    assert notes_of(omb(tmp_path, backlogDrainRatio=1.0), "backlogDrain") == {(Fate.LEFT_OUT, Why.NO_BACKLOG)}


def test_placeholders_have_what_they_have_by_default(tmp_path: Path) -> None:
    made = omb(tmp_path, testDurationMinutes="${ombTestDuration:-15}")
    assert made.experiment["tests"][0]["soak"]["duration"] == "900 s"


def test_a_message_of_the_wrong_kind_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as refused:
        import_omb(written(tmp_path, "w.yaml", {"messageSize": 1024, "topics": "many"}), None, HERE)
    assert (refused.value.line, refused.value.file) == (2, tmp_path / "w.yaml")


def test_secrets_are_not_copied(tmp_path: Path) -> None:
    driver = DRIVER | {
        "commonConfig": 'sasl.jaas.config=org.apache.PlainLoginModule required \\\n  username="alice" password="S3CRET";\nssl.truststore.password: S3CRET\n',
        "producerConfig": "acks: 1\nlinger.ms 3\n", "saslPassword": "S3CRET",
    }  # fmt: skip
    made = import_omb(written(tmp_path, "w.yaml", OMB["simple-workload"]), written(tmp_path, "d.yaml", driver), HERE)
    stress = import_stress("write n=1000 -rate threads=8 --password S3CRET -mode native cql3 user=u password=S3CRET", HERE)
    assert "S3CRET" not in json.dumps([note_words(note) for note in (*made.notes, *stress.notes)])
    ingest = made.experiment["workloads"]["ingest"]
    assert (ingest["acks"], ingest["linger"]) == (1, "3 ms")


@pytest.mark.parametrize("minutes", [1, 60, 90, 600])
def test_what_is_written_is_accepted_however_long_it_takes(minutes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "w.yaml", OMB["simple-workload"] | {"testDurationMinutes": minutes, "producerRate": "1e3"})
    for more in ([], ["--attach", "b1:9092,b2:9092"]):
        assert main(["import", "omb", "w.yaml", "--out", "mine.yaml", "--force", *more]) == 0
        assert main(["check", "mine.yaml"]) == 0
