"""Definitions of other tools become experiments that `check` accepts, and each line of them is accounted for. The definitions are written
anew, from public descriptions of their shape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hydrotest.cli.entry import main
from hydrotest.errors import BadInputError
from hydrotest.imports.note import Fate, Why
from hydrotest.imports.producer_perf import import_producer_perf
from hydrotest.report.wording.imported import WORDS
from tests.imported import HERE, THERE, accepted, notes_of, written


def test_a_command_line_of_the_producer() -> None:
    made = import_producer_perf(
        "bin/kafka-producer-perf-test.sh --topic t --num-records 50000000 --record-size 100 --throughput 100000 --payload-file p.txt "
        "--producer.config client.properties --producer-props acks=1 linger.ms=0 compression.type=zstd max.in.flight.requests.per.connection=1",
        HERE,
    )  # fmt: skip
    accepted(made)
    ingest = made.experiment["workloads"]["ingest"]
    assert {key: ingest[key] for key in ("record_size", "acks", "compression", "in_flight_requests")} == {
        "record_size": "100 B", "acks": 1, "compression": "zstd", "in_flight_requests": 1,
    }  # fmt: skip
    assert made.experiment["tests"] == [{"levels": {"workload": "ingest", "rates": [100000.0], "duration": "500 s"}}]
    assert {note.why for note in made.notes if note.fate is Fate.LEFT_OUT} == {Why.PAYLOAD, Why.SECRET, Why.NAME_ONLY}
    assert import_producer_perf("--num-records 10 --record-size 100 --throughput -1", HERE).experiment["tests"] == [
        {"saturated": {"workload": "ingest"}}
    ]


def test_a_payload_that_is_there_is_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "p.txt", "a line\na longer line\n")
    command = "--topic t --payload-file p.txt --payload-delimiter '\\n' --throughput 1000000 --num-records 20000000"
    made = import_producer_perf(command, HERE)
    accepted(made)
    assert made.experiment["workloads"]["ingest"]["payload"] == {"file": "p.txt", "stamp": "header"}
    assert notes_of(made, "--payload-file") | notes_of(made, "--payload-delimiter") == {(Fate.CHANGED, Why.IN_TURN), (Fate.KEPT, None)}
    there = import_producer_perf(command, THERE)
    accepted(there)
    assert there.experiment["systems"]["kafka"]["most"]["bytes"] == "52 MB/s"  # of 9.5 B, and what is beside them
    other = import_producer_perf("--payload-file p.txt --payload-delimiter ; --payload-monotonic", HERE)
    assert notes_of(other, "--payload-f") | notes_of(other, "--payload-d") == {(Fate.LEFT_OUT, Why.PAYLOAD)}
    assert notes_of(other, "--payload-m") == {(Fate.LEFT_OUT, Why.PAYLOAD_MONOTONIC)}
    written(tmp_path, "p.txt", "")
    with pytest.raises(BadInputError, match="payload"):
        import_producer_perf(command, THERE)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "w.yaml", {"topics": 10, "partitionsPerTopic": 10, "messageSize": 1024, "producerRate": 10_000})
    assert main(["import", "omb", "w.yaml", "--out", "mine.yaml"]) == 0
    assert capsys.readouterr().out == "mine.yaml\n"
    assert main(["check", "mine.yaml"]) == 0
    assert "# Imported from OpenMessaging Benchmark:" in (tmp_path / "mine.yaml").read_text()
    assert main(["import", "omb", "w.yaml", "--out", "mine.yaml"]) == 2
    capsys.readouterr()
    assert main(["import", "kafka-producer-perf-test", "--topic t --record-size 100 --throughput 10", "--json", "--force"]) == 0
    assert {note["fate"] for note in json.loads(capsys.readouterr().out)["notes"]} == {"kept", "left-out"}


def test_the_definition_itself_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    profile = "table_definition: CREATE TABLE mine (k int PRIMARY KEY, v int)\n"
    written(tmp_path, "mine.yaml", profile)
    written(tmp_path, "load.yaml", {"name": "load", "topics": 1, "messageSize": 100, "producerRate": 100})
    for words in (["cassandra-stress", "user profile=mine.yaml"], ["omb", "load.yaml"]):
        assert main(["import", *words, "--force"]) == 0
        name = capsys.readouterr().out.split()[-1]
        assert main(["check", name]) == 0
        assert name in ("hydrotest-mine.yaml", "hydrotest-load.yaml")
    assert main(["import", "omb", "load.yaml", "--out", "load.yaml", "--force"]) == 2
    assert (tmp_path / "mine.yaml").read_text() == profile


@pytest.mark.parametrize(
    "words",
    [
        ["omb", "none.yaml"], ["omb", "list.yaml"], ["omb", "other.yaml"], ["gatling", "x"], ["cassandra-stress", "legacy n=1"],
        ["cassandra-stress", "user ops(insert=1)"], ["cassandra-stress", "write -pop 'dist=ODD(1)'"], ["cassandra-stress", "'"],
        ["kafka-producer-perf-test", "hello"], ["kafka-producer-perf-test", "--throughput many"], ["nosqlbench", "other.yaml"],
        ["nosqlbench", "broken.yaml"], ["cassandra-stress", "write", "--driver", "w.yaml"],
    ],
)  # fmt: skip
def test_what_cannot_be_imported_is_refused(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "list.yaml", "- 1\n")
    written(tmp_path, "other.yaml", "a: 1\n")
    written(tmp_path, "broken.yaml", "a: [\n")
    assert main(["import", *words]) == 2
    assert not list(tmp_path.glob("*stress*"))


def test_each_reason_has_words_and_is_used() -> None:
    assert set(WORDS) == set(Why)
    source = "".join(path.read_text() for path in Path("python/hydrotest/imports").glob("*.py"))
    assert [why.name for why in Why if source.count(f"Why.{why.name}") == 0] == []


@pytest.mark.parametrize(
    "words",
    [
        ["cassandra-stress", "write n=1M -rate threads=16"], ["cassandra-stress", "mixed duration=2m -rate fixed=200000/s"],
        ["kafka-producer-perf-test", "--record-size 100 --num-records 100 --throughput 200000"],
        ["kafka-producer-perf-test", "--record-size 1000 --num-records 5000000 --throughput 200000 --producer-props batch.size=2097152"],
        ["kafka-producer-perf-test", "--record-size 100 --throughput -1 \\\n --num-records 5"],
    ],
)  # fmt: skip
def test_definitions_for_a_cluster_that_is_there(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["import", *words, "--attach", "b1:9092,b2:9092", "--out", "mine.yaml"]) == 0
    assert main(["check", "mine.yaml"]) == 0


@pytest.mark.parametrize(
    "text", ["blocks: 7\n", "blocks: {main: x}\n", "blocks: {main: {ops: 5, params: [1]}}\n", "bindings: [1]\nblocks:\n  - {tags: null}\n"]
)
def test_odd_workloads_are_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "w.yaml", text)
    assert main(["import", "nosqlbench", "w.yaml"]) == 2
    written(tmp_path, "o.yaml", {"messageSize": 100, "topics": None})
    assert main(["import", "omb", "o.yaml"]) == 2
    assert main(["import", "cassandra-stress", "write -rate fixed=1.2.3/s"]) == 2
