"""Records whose values come from a file, topics that are many, and settings of topics: what is accepted, and what is refused with its line."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest

from hydrotest.cli.commands.run import open_folder
from hydrotest.errors import BadInputError
from hydrotest.hosts.cluster import Cluster
from hydrotest.hosts.local import LocalHost
from hydrotest.load import kafka
from hydrotest.load.kafka import producers, topic_names
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.spec.models import Experiment
from hydrotest.spec.payload import STAMP_BYTES, STAMP_HEADER_BYTES, Payload, Registry

LOAD = {"model": {"closed": {"in_flight": 1}}, "seconds": 1.0, "give_up_s": None, "in_flight_max": 1}
HEAD = """\
name: payload
hosts: {here: {connect: local}}
systems: {kafka: {hosts: [here]}}
workloads:
  ingest: {kind: kafka-produce, %s}
tests: [levels: {workload: ingest, rates: [100]}]
"""


def produce(keys: str) -> KafkaProduce:
    workload = experiment_of(parse_document(HEAD % keys, Path("experiment.yaml"))).workloads["ingest"]
    assert isinstance(workload, KafkaProduce)
    return workload


def test_sizes_are_those_of_the_contents(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"one\r\n\ntwo, longer\nx")
    sizes = produce(f"payload: {{file: {tmp_path / 'lines'}}}").value_sizes
    assert (sizes.low - STAMP_BYTES, sizes.high - 1 - STAMP_BYTES, sizes.middle - STAMP_BYTES) == (1, 11, 5)
    (tmp_path / "prefixed").write_bytes(b"\0\0\0\3one\0\0\0\1x")
    assert produce(f"payload: {{file: {tmp_path / 'prefixed'}, form: length-prefixed}}").value_sizes.middle == STAMP_BYTES + 2
    assert produce(f"payload: {{file: {tmp_path / 'lines'}, form: whole, stamp: header}}").value_sizes.middle == len(
        b"one\r\n\ntwo, longer\nx"
    )


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\0\0\0\7one", b"\0\0"])
def test_a_file_without_contents_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "payload"
    path.write_bytes(content)
    form = "lines" if content in (b"", b"\n\n") else "length-prefixed"
    with pytest.raises(BadInputError, match="the payload cannot be used") as refused:
        produce(f"payload: {{file: {path}, form: {form}}}")
    assert refused.value.line == 5


def test_what_excludes_a_payload_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("x\n")
    for other in ("record_size: 100 B", "compressible: 0.5", "levels: {info: 1}"):
        with pytest.raises(BadInputError, match=f"`payload` and `{other.split(':')[0]}` exclude each other"):
            produce(f"payload: {{file: {tmp_path / 'p'}}}, {other}")
    with pytest.raises(BadInputError, match="the payload cannot be used"):
        produce("payload: {file: /nowhere}")
    assert Payload(file=str(tmp_path / "p")).content == b"x\n"


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ("topic: {cleanup.policy: compact}", "removes records"), ("topic: {retention.ms: 1000}", "sets retention.ms itself"),
        ("topic: {min.insync.replicas: 2}", "more than there are"), ("in_flight_requests: 6", "at most 5 requests in flight"),
        ("topics: 10000, partitions: 100", "more than 100,000 partitions"), ("topics: 2, levels: {info: 1}", "a dataflow reads one topic"),
        ("topics: 0", "topics"), ("in_flight_requests: 2000, idempotent: false", "in_flight_requests"),
        ("batch_size: 2 MB", "larger than brokers accept"), ("topic: {max.message.bytes: 10000}", "larger than max.message.bytes of the topic"),
    ],
)  # fmt: skip
def test_what_would_make_the_account_false_is_refused(keys: str, why: str) -> None:
    with pytest.raises(BadInputError, match=why) as refused:
        produce(keys)
    assert refused.value.line == 5


def test_what_a_topic_takes_may_be_sent() -> None:
    assert produce("batch_size: 2 MB, topic: {max.message.bytes: 4000000}").batch_size == 2_000_000


def test_the_stock_consumer_reads_one_topic() -> None:
    text = HEAD.replace("%s}", "topics: 4}\n  drain: {kind: kafka-consume, reads: ingest}").replace(
        "levels: {workload: ingest, rates: [100]}", "saturated: {workload: drain, client: stock}"
    )
    with pytest.raises(BadInputError, match="ConsumerPerformance reads one topic"):
        experiment_of(parse_document(text, Path("experiment.yaml")))


def test_a_run_that_is_over_is_read_without_its_payload(tmp_path: Path) -> None:
    text = HEAD % f"payload: {{file: {tmp_path / 'gone'}}}"
    assert experiment_of(parse_document(text, Path("experiment.yaml")), opens_files=False).workloads["ingest"].kind == "kafka-produce"


def test_a_run_goes_on_with_the_same_payload_only(tmp_path: Path) -> None:
    payload = tmp_path / "payload"
    payload.write_text("one\n")
    text = HEAD % f"payload: {{file: {payload}}}"

    def spec() -> Experiment:
        return experiment_of(parse_document(text, Path("experiment.yaml")))

    folder = open_folder(text.encode(), spec(), tmp_path / "run", resume=False)
    folder.unlock()
    open_folder(text.encode(), spec(), tmp_path / "run", resume=True).unlock()
    payload.write_text("two\n")
    with pytest.raises(BadInputError):
        open_folder(text.encode(), spec(), tmp_path / "run", resume=True)


def test_topics_and_their_settings() -> None:
    workload = produce("topics: 3, partitions: 4, topic: {flush.messages: 1, unclean.leader.election.enable: true}, in_flight_requests: 5")
    assert workload.partitions_in_all == 12
    assert workload.topic_config == {"flush.messages": "1", "unclean.leader.election.enable": "true"}
    assert topic_names("hydrotest-x", 3) == ["hydrotest-x-0", "hydrotest-x-1", "hydrotest-x-2"]
    assert topic_names("hydrotest-x", 1) == ["hydrotest-x"]


def test_a_stamp_in_a_header_leaves_the_value_to_others(tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(b"\0\0\0\1x\0\0\0\3one")
    given = f"file: {tmp_path / 'p'}, form: length-prefixed, stamp: header"
    alone = produce(f"payload: {{{given}}}")
    assert (alone.value_sizes.low, alone.value_sizes.high - 1) == (1, 3)
    assert alone.beside_value_bytes == STAMP_HEADER_BYTES
    known = produce(f"payload: {{{given}, registry: {{id: 7}}}}")
    assert known.value_sizes.middle == alone.value_sizes.middle + 5
    (made,) = producers(
        "ingest", known, [LocalHost("here", tmp_path)], Cluster(["127.0.0.1:9092"]), "t", 1, LOAD, payload=lambda _: tmp_path / "p"
    )
    assert made.settings["records"]["payload"] == {
        "path": str(tmp_path / "p"), "form": "length_prefixed", "stamp_in_header": True, "prefix": [0, 0, 0, 0, 7],
    }  # fmt: skip
    with pytest.raises(BadInputError) as refused:
        produce(f"payload: {{file: {tmp_path / 'p'}, form: length-prefixed, registry: {{id: 7}}}}")
    assert refused.value.line == 5


@pytest.mark.parametrize(
    ("given", "prefix"),
    [
        ({"id": 258}, b"\0\0\0\1\2"),
        # A path of one index: its length and the index, as zigzag numbers of variable length; the first message is a zero.
        ({"id": 1, "message": 0}, b"\0\0\0\0\1\0"),
        ({"id": 1, "message": 1}, b"\0\0\0\0\1\2\2"),
        ({"id": 1, "message": 100}, b"\0\0\0\0\1\2\xc8\1"),
    ],
)
def test_the_header_of_a_schema_registry(given: dict[str, int], prefix: bytes) -> None:
    assert Registry.model_validate(given).prefix == prefix


async def test_brokers_have_time_for_each_of_many_topics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 partitions take a broker on two cores more than half a minute, and longer while it removes as many."""
    ask = AsyncMock(return_value={"ids": {}})
    monkeypatch.setattr(kafka, "ask", ask)
    host, cluster = LocalHost("here", tmp_path), Mock()
    for topics, partitions in ((1, 6), (10_000, 1), (1, 5_000)):
        names = kafka.topic_names("hydrotest-t", topics)
        await kafka.create_topics(host, cluster, names, produce(f"partitions: {partitions}"))
        await kafka.delete_topics(host, cluster, dict.fromkeys(names))
    few, _, many, removed, parts, _ = (call.args[3].seconds for call in ask.await_args_list)
    assert many == removed >= few + 300
    assert parts >= few + 150
