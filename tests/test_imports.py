"""Definitions of other tools become experiments that `check` accepts, and each line of them is accounted for. The definitions are written
anew, from public descriptions of their shape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hydrotest.cli.app import main
from hydrotest.imports.nosqlbench import import_nosqlbench
from hydrotest.imports.note import Fate, Why
from hydrotest.imports.producer_perf import import_producer_perf
from hydrotest.report.wording.imported import WORDS
from tests.imported import HERE, accepted, written


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


KEYVALUE = """\
description: key-value
scenarios:
  default:
    main: run driver=cql tags==block:main-.* cycles=TEMPLATE(main-cycles,10000000) threads=auto
bindings:
  seq_key: Mod(TEMPLATE(keycount,1000000000)); ToString() -> String
blocks:
  schema:
    ops:
      create-keyspace: {raw: "create keyspace if not exists TEMPLATE(keyspace,baselines) WITH replication = {'class': 'SimpleStrategy'};"}
      create-table: {raw: "create table if not exists TEMPLATE(keyspace,baselines).TEMPLATE(table,keyvalue) (key text, value text, PRIMARY KEY (key));"}
  rampup:
    ops:
      insert: {prepared: "insert into TEMPLATE(keyspace,baselines).TEMPLATE(table,keyvalue) (key, value) values ({seq_key},{seq_value});"}
  main-read:
    params: {ratio: 5}
    ops:
      select: {prepared: "select * from TEMPLATE(keyspace,baselines).TEMPLATE(table,keyvalue) where key={rw_key};"}
  main-write:
    params: {ratio: 5}
    ops:
      insert: {prepared: "insert into TEMPLATE(keyspace,baselines).TEMPLATE(table,keyvalue) (key, value) values ({rw_key}, {rw_value});"}
"""


def test_a_baseline_of_nosqlbench(tmp_path: Path) -> None:
    made = import_nosqlbench(written(tmp_path, "cql-keyvalue.yaml", KEYVALUE), HERE)
    accepted(made)
    store = made.experiment["workloads"]["store"]
    assert store["table"] == ["CREATE TABLE keyvalue (key text, value text, PRIMARY KEY (key))"]
    assert store["statements"]["main-read-select"] == {"cql": "select * from keyvalue where key=?", "weight": 5.0}
    assert store["populate"] == "rampup-insert"
    assert {note.why for note in made.notes if note.fate is Fate.CHANGED} == {Why.BINDING}


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


def test_templates_and_parameters_of_nosqlbench(tmp_path: Path) -> None:
    text = KEYVALUE.replace(
        "ratio: 5}\n    ops:\n      select", "ratio: TEMPLATE(reads,3), cl: LOCAL_QUORUM, idempotent: true}\n    ops:\n      select"
    )
    text += '  schema-astra:\n    ops:\n      create-table: {raw: "create table keyvalue (key text, value text, PRIMARY KEY (key))"}\n'
    made = import_nosqlbench(written(tmp_path, "k.yaml", text), HERE)
    store = made.experiment["workloads"]["store"]
    assert (store["consistency"], store["statements"]["main-read-select"]["weight"], len(store["table"])) == ("LOCAL_QUORUM", 3.0, 1)
    assert "params: idempotent: True" in {note.said for note in made.notes}
    accepted(made)


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
