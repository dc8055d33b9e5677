"""Definitions of other tools become experiments that `check` accepts, and each line of them is accounted for. The definitions are written
anew, from public descriptions of their shape."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from hydrotest.cli.app import main
from hydrotest.errors import BadInputError
from hydrotest.imports.nosqlbench import import_nosqlbench
from hydrotest.imports.note import Fate, Why
from hydrotest.imports.producer_perf import import_producer_perf
from hydrotest.imports.stress import import_stress
from hydrotest.imports.stress_words import distribution
from hydrotest.imports.yaml_lines import read_lined
from hydrotest.report.wording.imported import WORDS
from tests.imported import HERE, accepted, written

COMMANDS = {
    "write n=1000000 cl=ONE -rate threads=50": {"concurrency": {"workload": "store", "counts": [50]}},
    "read duration=10m cl=LOCAL_QUORUM -rate threads=16 -pop dist=UNIFORM(1..1M) -node n1,n2 -log file=x": {"concurrency": {"workload": "store", "counts": [16]}},
    "mixed ratio(write=1,read=3) n=100M -rate fixed=5000/s threads=64 -col size=FIXED(34) n=FIXED(5)": {"levels": {"workload": "store", "rates": [5000]}},
    "mixed ratio(write=1,read=1) duration=1h err<0.02 -rate throttle=20k/s -schema replication(factor=3) -pop seq=1..10M": {
        "levels": {"workload": "store", "rates": [20000], "duration": "3600 s"}},
    "write no-warmup n=1M -mode native cql3 user=u password=p -col size=GAUSSIAN(10..100) -errors retries=3": {
        "concurrency": {"workload": "store", "counts": [16, 64]}},
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_cassandra_stress(command: str) -> None:
    made = import_stress(f"cassandra-stress {shlex.join(command.split())}", HERE)
    accepted(made)
    assert made.experiment["tests"] == [COMMANDS[command]]
    assert all("password" not in note.said for note in made.notes)
    for word in command.split()[1:]:
        option = word.split("=")[0].split("(")[0].split("<")[0]
        if word.startswith("-"):
            assert any(option in note.said for note in made.notes), option


PROFILES: dict[str, dict[str, Any]] = {
    "blog-posts": {
        "keyspace": "blog", "table": "posts",
        "table_definition": "CREATE TABLE posts (domain text, published timeuuid, url text, author text, title text, body text, PRIMARY KEY (domain, published))",
        "columnspec": [{"name": "domain", "size": "gaussian(5..100)", "population": "uniform(1..10M)"}, {"name": "published", "cluster": "fixed(1000)"},
                       {"name": "body", "size": "gaussian(100..5000)"}],
        "insert": {"partitions": "fixed(1)", "select": "fixed(1)/1000", "batchtype": "UNLOGGED"},
        "queries": {"single": {"cql": "select * from posts where domain = ? LIMIT 1", "fields": "samerow"},
                    "timeline": {"cql": "select url, title, published from posts where domain = ? LIMIT 10", "fields": "samerow"}}},
    "sensors": {
        "keyspace": "iot", "keyspace_definition": "CREATE KEYSPACE iot WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3};",
        "table_definition": "CREATE TABLE iot.readings (sensor uuid, day date, at timestamp, value double, PRIMARY KEY ((sensor, day), at))",
        "columnspec": [{"name": "sensor", "population": "uniform(1..100K)"}, {"name": "at", "cluster": "uniform(1..1440)"}],
        "insert": {"partitions": "uniform(1..5)", "batchtype": "LOGGED"},
        "queries": {"day": {"cql": "SELECT at, value FROM readings WHERE sensor = ? AND day = ? LIMIT 100"}}},
    "accounts": {
        "table_definition": "CREATE TABLE accounts (id bigint PRIMARY KEY, name text, balance decimal)",
        "columnspec": [{"name": "id", "population": "seq(1..1M)"}, {"name": "name", "size": "fixed(20)"}],
        "queries": {"get": {"cql": "SELECT balance FROM accounts WHERE id = ?"}, "unused": {"cql": "SELECT name FROM accounts WHERE id = ?"}}},
    "events-exp": {
        "table_definition": "create table if not exists ks.events (id bigint, n int, payload blob, primary key (id, n));",
        "columnspec": [{"name": "id", "population": "exp(1..1M)"}, {"name": "payload", "size": "uniform(100..1000)"}, {"name": "n", "cluster": "gaussian(1..10)"}],
        "queries": {"get": {"cql": "select payload from events where id = ? and n = ?", "fields": "multirow"}}},
    "indexed": {
        "table_definition": "CREATE TABLE users (id uuid PRIMARY KEY, email text, country text)",
        "extra_definitions": ["CREATE INDEX ON users (country)"], "columnspec": [{"name": "id", "population": "uniform(1..1M)"}],
        "queries": {"get": {"cql": "SELECT email FROM users WHERE id = ?"}}, "token_range_queries": {"all": {"columns": "*"}}},
    "wide": {
        "table_definition": "CREATE TABLE wide (k bigint, c0 int, c1 text, c2 blob, c3 timestamp, c4 boolean, c5 double, c6 inet, PRIMARY KEY ((k), c0))",
        "columnspec": [{"name": "k", "population": "gaussian(1..10M)"}, {"name": "c2", "size": "extreme(10..1000,3)"}],
        "queries": {"row": {"cql": "select * from wide where k = ? and c0 = ?"}}},
    "collections": {
        "table_definition": "CREATE TABLE profiles (id uuid PRIMARY KEY, name text, tags set<text>, scores map<text, int>, place frozen<tuple<int, int>>)",
        "columnspec": [{"name": "id", "population": "uniform(1..1M)"}, {"name": "tags", "size": "fixed(5)"}],
        "queries": {"get": {"cql": "SELECT name FROM profiles WHERE id = ?"}}},
    "conditional": {
        "table_definition": "CREATE TABLE seats (flight int, seat int, holder text, PRIMARY KEY ((flight), seat))",
        "columnspec": [{"name": "flight", "population": "uniform(1..1000)"}, {"name": "seat", "cluster": "fixed(100)"}],
        "insert": {"partitions": "fixed(1)", "condition": "IF NOT EXISTS"}, "queries": {"get": {"cql": "SELECT holder FROM seats WHERE flight = ? AND seat = ?"}}},
}  # fmt: skip
OPS = {"collections": "insert=1,get=1", "conditional": "insert=1,get=1",
       "blog-posts": "insert=1,single=4,timeline=1", "sensors": "insert=10,day=1", "accounts": "get=1", "events-exp": "insert=1,get=3",
       "indexed": "insert=1,get=1", "wide": "insert=1,row=2"}  # fmt: skip


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_of_cassandra_stress(name: str, tmp_path: Path) -> None:
    profile = written(tmp_path, f"{name}.yaml", PROFILES[name])
    made = import_stress(f"user profile={profile} 'ops({OPS[name]})' n=1M -rate threads=32", HERE)
    spec = accepted(made)
    store = made.experiment["workloads"]["store"]
    weights = {one: float(value) for one, _, value in (pair.partition("=") for pair in OPS[name].split(","))}
    assert {one: statement["weight"] for one, statement in store["statements"].items() if one in weights} == weights
    assert "iot." not in json.dumps(store)
    assert spec.workloads["store"].kind == "cassandra"
    told = {note.line for note in made.notes if note.file == profile.name}
    assert set(read_lined(profile, "profile").lines.values()) <= told


def test_what_a_profile_has_and_hydrotest_has_not_is_named(tmp_path: Path) -> None:
    made = import_stress(f"user profile={written(tmp_path, 'c.yaml', PROFILES['collections'])} 'ops(insert=1)'", HERE)
    store = made.experiment["workloads"]["store"]
    assert store["statements"]["insert"]["cql"] == "INSERT INTO profiles (id, name, tags, scores, place) VALUES (?, ?, ?, ?, ?)"
    assert store["values"] == {"tags": {"count": "uniform(5, 6)"}}
    assert [note.said for note in made.notes if note.why is Why.COLUMN_TYPE] == []
    accepted(made)
    other = {
        "table_definition": "CREATE TABLE t (id int PRIMARY KEY, d duration, ds list<duration>, at place, v vector<float, 3>, m map<text, frozen<place>>)",
        "extra_definitions": ["CREATE INDEX ON t (v)", "CREATE TYPE place (x int, y int)"],
        "columnspec": [{"name": "at", "population": "uniform(1..5)"}, {"name": "m", "size": "exp(1..50)", "population": "uniform(1..9)"},
                       {"name": "ds", "size": "fixed(1)"}, {"name": "v", "population": "gaussian(1..100)"}],
    }  # fmt: skip
    made = import_stress(f"user profile={written(tmp_path, 'o.yaml', other)} 'ops(insert=1)'", HERE)
    store = made.experiment["workloads"]["store"]
    assert store["statements"]["insert"]["cql"] == "INSERT INTO t (id, at, v, m) VALUES (?, ?, ?, ?)"
    assert [one.split(" (")[0] for one in store["table"]] == ["CREATE TYPE place", "CREATE TABLE t", "CREATE INDEX ON t"]
    assert store["values"] == {"m": {"count": "exp(1, 51)", "each": "uniform(1, 10)"}, "v": "gaussian(1, 101)"}
    assert [note.said for note in made.notes if note.why is Why.COLUMN_TYPE] == [
        "d duration",
        "ds list<duration>",
        "columnspec at",
        "columnspec ds",
    ]
    accepted(made)
    counters = {"table_definition": "CREATE TABLE hits (page text PRIMARY KEY, n counter)"}
    with pytest.raises(BadInputError, match="counters"):
        import_stress(f"user profile={written(tmp_path, 'n.yaml', counters)} 'ops(insert=1)'", HERE)


def test_conditions_and_batches_are_kept(tmp_path: Path) -> None:
    made = import_stress(f"user profile={written(tmp_path, 'c.yaml', PROFILES['conditional'])} 'ops(insert=1)'", HERE)
    insert = made.experiment["workloads"]["store"]["statements"]["insert"]
    assert insert["cql"] == "INSERT INTO seats (flight, seat, holder) VALUES (?, ?, ?) IF NOT EXISTS"
    assert accepted(made).workloads["store"].model_dump()["statements"]["insert"]["batch"] is None
    batches = PROFILES["conditional"] | {"insert": {"partitions": "fixed(5)", "batchtype": "UNLOGGED", "select": "uniform(1..5)/5"}}
    made = import_stress(f"user profile={written(tmp_path, 'b.yaml', batches)} 'ops(insert=1)'", HERE)
    assert made.experiment["workloads"]["store"]["statements"]["insert"]["batch"] == {"rows": 5, "kind": "unlogged"}
    assert [note.said for note in made.notes if note.why is Why.BATCHES] == ["insert: select: uniform(1..5)/5"]
    accepted(made)


def test_reads_are_populated_from_the_same_rows(tmp_path: Path) -> None:
    """Only reads are asked for, so that the insert has no weight and fills the table."""
    made = import_stress(
        f"user profile={written(tmp_path, 'accounts.yaml', PROFILES['accounts'])} ops(get=1)".replace("ops(get=1)", "'ops(get=1)'"), HERE
    )
    statements = made.experiment["workloads"]["store"]["statements"]
    assert {name: one["weight"] for name, one in statements.items()} == {"insert": 0, "get": 1}
    assert statements["insert"]["cql"] == "INSERT INTO accounts (id, name, balance) VALUES (?, ?, ?)"
    assert made.experiment["workloads"]["store"]["keys"] == "sequential(1, 1000001)"


@pytest.mark.parametrize(
    ("text", "ours", "is_exact"),
    [
        ("UNIFORM(1..1M)", "uniform(1, 1000001)", True), ("fixed(5)", "uniform(5, 6)", True), ("SEQ(1..10k)", "sequential(1, 10001)", True),
        ("GAUSSIAN(1..100)", "gaussian(1, 101)", True), ("~gaussian(1..100)", "gaussian(1, 101)", False), ("gaussian(1..100,5)", "gaussian(1, 101, 50.5, 9.9)", True),
        ("norm(1..100,20,5)", "gaussian(1, 101, 20, 5)", True), ("EXP(1..1B)", "exp(1, 1000000001)", True), ("~exp(1..10)", "uniform(1, 11)", False),
        ("extreme(10..1000,3)", "weibull(10, 1001, 3)", True), ("weibull(1..9,0.5)", "weibull(1, 10, 0.5)", True),
        ("qextreme(1..1000,2,10)", "weibull(1, 1001, 2)", False), ("exp(1..2)", "uniform(1, 3)", False),
    ],
)  # fmt: skip
def test_distributions_of_cassandra_stress(text: str, ours: str, is_exact: bool) -> None:
    assert (distribution(text).text, distribution(text).is_exact) == (ours, is_exact)


def test_exponential_and_weibull_are_kept(tmp_path: Path) -> None:
    """Of keys, of values and of sizes: `check` takes them, and nothing of them is said to be changed."""
    made = import_stress("mixed n=1M -rate threads=8 -pop dist=EXP(1..1M)", HERE)
    assert made.experiment["workloads"]["store"]["keys"] == "exp(1, 1000001)"
    accepted(made)
    profile = {
        "table_definition": "CREATE TABLE events (id bigint PRIMARY KEY, n int, rank int, payload blob)",
        "columnspec": [{"name": "id", "population": "extreme(1..1M,2)"}, {"name": "n", "population": "exp(1..100k)"},
                       {"name": "rank", "population": "seq(1..10)"}, {"name": "payload", "size": "exp(10..2000)"}],
    }  # fmt: skip
    made = import_stress(f"user profile={written(tmp_path, 'e.yaml', profile)} 'ops(insert=1)'", HERE)
    store = made.experiment["workloads"]["store"]
    assert store["keys"] == "weibull(1, 1000001, 2)"
    assert store["values"] == {"n": "exp(1, 100001)", "rank": "uniform(1, 11)", "payload": "exp(10 B, 2000 B)"}
    assert [note.said for note in made.notes if note.why is Why.DISTRIBUTION] == ["columnspec rank: population: seq(1..10)"]
    accepted(made)


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
        ["omb", "none.yaml"], ["omb", "list.yaml"], ["omb", "other.yaml"], ["gatling", "x"], ["cassandra-stress", "counter_write n=1"],
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


def test_comments_in_a_table_end_with_their_line(tmp_path: Path) -> None:
    table = "CREATE TABLE posts (\n id text, -- the id\n body text, // its text\n n int, /* a\n number */ PRIMARY KEY (id)\n)"
    profile = {"table_definition": table, "columnspec": [{"name": "body", "size": "fixed(20)", "population": "uniform(1..10)"}]}
    made = import_stress(f"user profile={written(tmp_path, 'p.yaml', profile)} 'ops(insert=1)'", HERE)
    store = made.experiment["workloads"]["store"]
    assert store["table"] == "CREATE TABLE posts ( id text, body text, n int, PRIMARY KEY (id) )"
    assert store["statements"]["insert"]["cql"] == "INSERT INTO posts (id, body, n) VALUES (?, ?, ?)"
    assert Why.FROM_POPULATION in {note.why for note in made.notes}


def test_each_part_of_a_command_line_is_told_of() -> None:
    made = import_stress("mixed ratio(write=1,read=2,counter_write=3) n=10M -rate 'threads>=4' 'threads<=256' -pop 'seq=1..1M' no-wrap -cloudconf file=x "
                         "-schema 'replication(factor=3)' 'compaction(strategy=LCS)'", HERE)  # fmt: skip
    said = {note.said for note in made.notes if note.fate is Fate.LEFT_OUT}
    assert {"ratio counter_write=3", "-pop no-wrap", "-cloudconf file=x", "-schema compaction(strategy=LCS)"} <= said
    assert made.experiment["tests"] == [{"concurrency": {"workload": "store", "counts": [4, 8, 16, 32, 64, 128, 256]}}]
    fixed = import_stress("read n=1M cl=TWO -rate threads=16 fixed=5000/s", HERE)
    assert Why.OPEN_LOOP in {note.why for note in fixed.notes}
    assert fixed.experiment["workloads"]["store"]["keys"] == "gaussian(1, 1000001)"
    accepted(fixed)


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
