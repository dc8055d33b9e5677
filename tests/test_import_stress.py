"""Command lines and profiles of cassandra-stress become experiments that `check` accepts. They are written anew, from public descriptions of
their shape."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from hydrotest.errors import BadInputError
from hydrotest.imports.note import Fate, Imported, Why
from hydrotest.imports.stress import import_stress
from hydrotest.imports.stress_words import distribution
from hydrotest.imports.yaml_lines import read_lined
from hydrotest.spec.distribution import Distribution, parse_keys
from hydrotest.spec.weibull import usual_scale
from tests.imported import HERE, THERE, accepted, notes_of, written

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
PROFILES["many-types"] = {
    "table_definition": "CREATE TABLE odd (name text, choice boolean, date timestamp, address inet, dbl double, lval bigint, fval float, uid timeuuid, "
                        "value blob, PRIMARY KEY((name, choice), date)) WITH compaction = { 'class':'LeveledCompactionStrategy' } AND comment='many types'",
    "columnspec": [{"name": "date", "cluster": "gaussian(1..20)"}, {"name": "lval", "population": "fixed(1)"}],
    "insert": {"partitions": "fixed(1)", "batchtype": "LOGGED", "select": "fixed(1)/1"},
    "queries": {"simple1": {"cql": "select * from odd where name = ? and choice = ? LIMIT 100", "fields": "samerow"}}}  # fmt: skip
PROFILES |= {
    "time-series": {
        "keyspace_definition": "CREATE KEYSPACE ts WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 3, 'dc2': 2};",
        "table_definition": "CREATE TABLE metrics (metric text, time timestamp, value float, tag text, PRIMARY KEY (metric, time)) WITH CLUSTERING ORDER BY (time DESC) "
                            "AND compaction = {'class': 'TimeWindowCompactionStrategy'}",
        "columnspec": [{"name": "metric", "size": "fixed(20)", "population": "seq(1..10K)"}, {"name": "time", "cluster": "fixed(288)"},
                       {"name": "value", "population": "~exp(1..1M)"}, {"name": "tag", "size": "uniform(3..12)"}],
        "insert": {"partitions": "fixed(1)", "select": "fixed(1)/288", "batchtype": "UNLOGGED"},
        "queries": {"last": {"cql": "select value from metrics where metric = ? limit 1", "fields": "samerow"},
                    "since": {"cql": "select time, value from metrics where metric = ? and time > ? limit 50", "fields": "samerow"}}},
    "counters": {
        "table_definition": "CREATE TABLE visits (page text, day int, hits counter, bytes counter, PRIMARY KEY ((page), day))",
        "columnspec": [{"name": "page", "size": "uniform(5..50)", "population": "gaussian(1..100K,5)"}, {"name": "day", "cluster": "fixed(30)"},
                       {"name": "hits", "population": "fixed(1)"}],
        "insert": {"partitions": "fixed(1)", "batchtype": "COUNTER"},
        "queries": {"page": {"cql": "select hits, bytes from visits where page = ? and day = ?"}}},
    "conditional-updates": {
        "table_definition": "CREATE TABLE stock (item bigint PRIMARY KEY, left int, note text)",
        "columnspec": [{"name": "item", "population": "uniform(1..100)"}, {"name": "left", "population": "fixed(5)"}],
        "insert": {"partitions": "fixed(1)", "condition": "IF left = ?"}, "queries": {"get": {"cql": "select left, note from stock where item = ?"}}},
    "views": {
        "table_definition": "CREATE TABLE orders (id bigint, customer bigint, total double, note text, PRIMARY KEY (id))",
        "extra_definitions": ["CREATE MATERIALIZED VIEW by_customer AS SELECT * FROM orders WHERE customer IS NOT NULL AND id IS NOT NULL PRIMARY KEY (customer, id)"],
        "columnspec": [{"name": "id", "population": "uniform(1..1M)"}, {"name": "customer", "population": "uniform(1..10K)"},
                       {"name": "note", "size": "qextreme(10..500,2,8)"}],
        "queries": {"mine": {"cql": "select * from by_customer where customer = ?", "fields": "samerow"}}},
    "statics": {
        "table_definition": "CREATE TABLE rooms (room uuid, at timeuuid, title text static, line text, PRIMARY KEY (room, at))",
        "columnspec": [{"name": "room", "population": "uniform(1..10K)"}, {"name": "at", "cluster": "uniform(10..100)"}, {"name": "title", "size": "fixed(30)"},
                       {"name": "line", "size": "~extreme(10..1000,1)"}],
        "queries": {"title": {"cql": "select title from rooms where room = ? limit 1"}, "lines": {"cql": "select line from rooms where room = ? limit 20"}}},
}  # fmt: skip
OPS = {"many-types": "insert=1,simple1=9", "time-series": "insert=20,last=2,since=1", "counters": "insert=1,page=1", "conditional-updates": "insert=1,get=1",
       "views": "insert=1,mine=2", "statics": "insert=3,title=1,lines=1",
       "collections": "insert=1,get=1", "conditional": "insert=1,get=1",
       "blog-posts": "insert=1,single=4,timeline=1", "sensors": "insert=10,day=1", "accounts": "get=1", "events-exp": "insert=1,get=3",
       "indexed": "insert=1,get=1", "wide": "insert=1,row=2"}  # fmt: skip


def test_a_keyspace_before_names_is_the_profiles_own(tmp_path: Path) -> None:
    given = {
        "keyspace": "ks", "table_definition": "CREATE TABLE ks.c (id bigint, v text, PRIMARY KEY (id))",
        "extra_definitions": ['CREATE MATERIALIZED VIEW "ks".m AS SELECT * FROM ks.c WHERE v IS NOT NULL AND id IS NOT NULL PRIMARY KEY (v, id)'],
        "columnspec": [{"name": "id", "population": "uniform(1..100)"}], "queries": {"get": {"cql": "select v from ks.c where id = ?"}},
    }  # fmt: skip
    made = import_stress(f"user profile={written(tmp_path, 'p.yaml', given)} 'ops(insert=1,get=1)' n=1M -rate threads=4", HERE)
    accepted(made)
    assert "ks" not in json.dumps(made.experiment["workloads"])
    with pytest.raises(BadInputError, match="default table"):
        import_stress(f"user profile={tmp_path / 'p.yaml'} 'ops(insert=1)' n=1M -rate threads=4", THERE)


@pytest.mark.parametrize(
    "command",
    ["write n=1M -rate fixed=20000/s -col size=fixed(10000)", "write duration=30m -rate fixed=200000/s -schema replication(factor=3)"],
)
def test_what_is_allowed_is_what_a_command_line_takes(command: str) -> None:
    accepted(import_stress(command, THERE))


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
    lines, sections = read_lined(profile, "profile").lines, [("columnspec",), ("queries",), ("insert",)]
    assert {line for place, line in lines.items() if len(place) == 1 or place[:-1] in sections} - {
        lines.get(section) for section in sections
    } <= told


def test_what_a_profile_has_and_hydrotest_has_not_is_named(tmp_path: Path) -> None:
    made = import_stress(f"user profile={written(tmp_path, 'c.yaml', PROFILES['collections'])} 'ops(insert=1)'", HERE)
    store = made.experiment["workloads"]["store"]
    assert store["statements"]["insert"]["cql"] == "INSERT INTO profiles (id, name, tags, scores, place) VALUES (?, ?, ?, ?, ?)"
    assert store["values"] == {
        "tags": {"count": "uniform(5, 6)", "each": "uniform(5 B, 5 B)"}, "name": "uniform(4 B, 8 B)", "scores": {"count": "uniform(4, 9)"},
    }  # fmt: skip
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


def profile(
    folder: Path, columns: str, specs: dict[str, dict[str, str]], ops: str = "insert=1", command: str = "", **more: Any
) -> tuple[Imported, dict[str, Any]]:
    """A profile of a table `t`, and its workload; `specs` by column, `ops` and `command` behind the profile."""
    given = {
        "table_definition": f"CREATE TABLE t ({columns})",
        "columnspec": [{"name": name, **one} for name, one in specs.items()],
        **more,
    }
    made = import_stress(f"user profile={written(folder, 't.yaml', given)} 'ops({ops})' {command}", HERE)
    accepted(made)
    return made, made.experiment["workloads"]["store"]


SERIES = "sensor int, day int, at timestamp, v double, PRIMARY KEY ((sensor), day, at)"


@pytest.mark.parametrize(
    ("specs", "keys", "values", "fate"),
    [
        # A hundred rows in each of a thousand partitions.
        ({"sensor": {"population": "uniform(1..1000)"}, "at": {"cluster": "fixed(100)"}}, "uniform(0, 100000)",
         {"sensor": {"rows": 100}, "day": {"rows": 100}, "at": "row"}, Fate.KEPT),
        # Ten days of a hundred rows each.
        ({"sensor": {"population": "seq(1..50)"}, "day": {"cluster": "fixed(10)"}, "at": {"cluster": "fixed(100)"}}, "sequential(0, 50000)",
         {"sensor": {"rows": 1000}, "day": {"rows": 100}, "at": "row"}, Fate.KEPT),
        ({"sensor": {"population": "fixed(1)"}, "at": {"cluster": "uniform(1..9)"}}, "uniform(0, 5)",
         {"sensor": {"rows": "uniform(1, 10)"}, "day": {"rows": "uniform(1, 10)"}, "at": "row"}, Fate.KEPT),
        # The product of two distributions is none that hydrotest has.
        ({"sensor": {"population": "uniform(1..10)"}, "day": {"cluster": "uniform(1..3)"}, "at": {"cluster": "exp(1..9)"}}, "uniform(0, 140)",
         {"sensor": {"rows": "uniform(1, 28)"}, "day": {"rows": "exp(1, 10)"}, "at": "row"}, Fate.CHANGED),
        ({"sensor": {"population": "gaussian(1..100,20,5)"}, "day": {"cluster": "gaussian(1..9,4,2)"}, "at": {"cluster": "fixed(10)"}}, None,
         {"sensor": {"rows": "gaussian(10, 91, 40, 20)"}, "day": {"rows": 10}, "at": "row"}, Fate.CHANGED),
    ],
)  # fmt: skip
def test_rows_of_a_partition(
    specs: dict[str, dict[str, str]], keys: str | None, values: dict[str, Any], fate: Fate, tmp_path: Path
) -> None:
    made, store = profile(tmp_path, SERIES, specs)
    assert keys is None or store["keys"] == keys
    assert {name: store["values"][name] for name in ("sensor", "day", "at")} == values
    assert {found for note in made.notes if "cluster" in note.said for found in [note.fate]} == {fate}


@pytest.mark.parametrize(
    ("population", "shape", "extra"),
    [("exp(1..1000)", "exp", {"scale": 10 * usual_scale(999, 1.0)}), ("extreme(1..1000,3)", "weibull", {"scale": 10 * usual_scale(999, 3.0), "exponent": 3.0}),
     ("gaussian(101..1100,500,50)", "gaussian", {"mean": 3990.0, "sd": 500.0}), ("uniform(5..1004)", "uniform", {})],
)  # fmt: skip
def test_rows_are_drawn_as_their_partitions_were(population: str, shape: str, extra: dict[str, float], tmp_path: Path) -> None:
    _, store = profile(tmp_path, SERIES, {"sensor": {"population": population}, "at": {"cluster": "fixed(10)"}})
    keys = parse_keys(store["keys"])
    assert isinstance(keys, Distribution)
    assert (keys.shape, keys.low, keys.high) == (shape, 0, 10_000)
    assert {name: getattr(keys, name) for name in extra} == pytest.approx(extra)


def test_no_more_rows_than_can_be_written_beforehand(tmp_path: Path) -> None:
    made, store = profile(tmp_path, SERIES, {"sensor": {"population": "uniform(1..10M)"}, "at": {"cluster": "fixed(1000)"}})
    assert (store["keys"], store["values"]["sensor"]) == ("uniform(0, 5000000)", {"rows": 1000})
    assert notes_of(made, "columnspec sensor") == {(Fate.CHANGED, Why.ROWS)}
    assert notes_of(made, "columnspec at") == {(Fate.KEPT, None)}
    made, store = profile(tmp_path, SERIES, {"sensor": {"population": "fixed(1)"}, "at": {"cluster": "fixed(100M)"}})
    assert store["keys"] == "uniform(0, 5000000)"
    assert notes_of(made, "columnspec sensor") == {(Fate.CHANGED, Why.ROWS)}


def test_keys_of_types_with_few_values(tmp_path: Path) -> None:
    made, store = profile(tmp_path, "name text, choice boolean, at tinyint, n smallint, PRIMARY KEY ((name, choice), at)",
                          {"name": {"population": "uniform(1..100)"}, "at": {"cluster": "fixed(20)", "population": "uniform(1..9)"},
                           "n": {"population": "uniform(1..100k)"}})  # fmt: skip
    assert store["values"] == {"name": {"rows": 20}, "choice": "uniform(0, 1)", "at": "row % 128", "n": "uniform(1, 32768)"}
    assert notes_of(made, "choice") | notes_of(made, "at tinyint") == {(Fate.CHANGED, Why.NARROW)}
    assert notes_of(made, "columnspec at: population") == {(Fate.CHANGED, Why.BY_ROW)}
    assert notes_of(made, "columnspec n:") == {(Fate.CHANGED, Why.DISTRIBUTION)}
    alone, store = profile(tmp_path, "k smallint PRIMARY KEY, v int", {"k": {"population": "uniform(1..1M)"}})
    assert store["keys"] == "uniform(0, 32768)"
    assert notes_of(alone, "columnspec k") == {(Fate.CHANGED, Why.ROWS)}
    parted, store = profile(tmp_path, "k frozen<tuple<int, int>>, c int, PRIMARY KEY (k, c)", {"c": {"cluster": "fixed(5)"}})
    assert notes_of(parted, "columnspec c") == {(Fate.LEFT_OUT, Why.ROWS_PER_PARTITION)}
    assert "values" not in store


@pytest.mark.parametrize(
    ("insert", "cluster", "batch", "fate"),
    [
        ({"partitions": "fixed(1)", "select": "fixed(1)/100", "batchtype": "UNLOGGED"}, "fixed(100)", None, Fate.KEPT),
        ({"partitions": "fixed(1)", "batchtype": "UNLOGGED"}, "fixed(100)", {"rows": 100, "kind": "unlogged"}, Fate.KEPT),
        ({"partitions": "fixed(1)", "select": "fixed(1)/10"}, "fixed(100)", {"rows": 10, "kind": "logged"}, Fate.KEPT),
        ({"partitions": "fixed(3)", "select": "fixed(1)/1"}, "fixed(10)", {"rows": 30, "kind": "logged"}, Fate.KEPT),
        ({"partitions": "fixed(5)", "select": "fixed(1)/5"}, "fixed(1)", {"rows": 5, "kind": "logged"}, Fate.KEPT),
        # Rows that follow each other would be of two partitions, and not of five.
        ({"partitions": "fixed(5)", "select": "fixed(1)/5"}, "fixed(10)", {"rows": 10, "kind": "logged"}, Fate.CHANGED),
        ({"partitions": "fixed(1)", "select": "fixed(1)/1000"}, "fixed(10)", None, Fate.CHANGED),
        ({"partitions": "fixed(1)", "select": "uniform(1..10)/10"}, "fixed(10)", {"rows": 6, "kind": "logged"}, Fate.CHANGED),
        ({"partitions": "uniform(1..5)"}, "fixed(1)", {"rows": 3, "kind": "logged"}, Fate.CHANGED),
        ({"partitions": "fixed(1)"}, "uniform(1..9)", {"rows": 5, "kind": "logged"}, Fate.CHANGED),
        ({"partitions": "fixed(10)"}, "fixed(1000)", {"rows": 1000, "kind": "logged"}, Fate.CHANGED),
    ],
)  # fmt: skip
def test_rows_of_an_insert(insert: dict[str, str], cluster: str, batch: dict[str, Any] | None, fate: Fate, tmp_path: Path) -> None:
    made, store = profile(tmp_path, SERIES, {"at": {"cluster": cluster}}, insert=insert)
    assert store["statements"]["insert"].get("batch") == batch
    assert {note.fate for note in made.notes if note.said.startswith(("insert: partitions", "insert: select"))} == {fate}


def test_an_insert_that_is_not_given_writes_whole_partitions(tmp_path: Path) -> None:
    made, store = profile(tmp_path, SERIES, {"at": {"cluster": "fixed(100)"}})
    assert store["statements"]["insert"]["batch"] == {"rows": 100, "kind": "logged"}
    assert notes_of(made, "insert: select") == {(Fate.KEPT, None)}


def test_conditions(tmp_path: Path) -> None:
    seats = PROFILES["conditional"]
    made = import_stress(f"user profile={written(tmp_path, 'c.yaml', seats)} 'ops(insert=1)'", HERE)
    statements = made.experiment["workloads"]["store"]["statements"]
    assert statements == {"insert": {"cql": "INSERT INTO seats (flight, seat, holder) VALUES (?, ?, ?) IF NOT EXISTS", "weight": 1.0,
                                     "batch": {"rows": 100, "kind": "logged"}}}  # fmt: skip
    accepted(made)
    # A condition on a column needs an UPDATE, and another statement that fills the table.
    other = seats | {"insert": {"partitions": "fixed(2)", "condition": "IF holder = NULL"}}
    made = import_stress(f"user profile={written(tmp_path, 'u.yaml', other)} 'ops(insert=1,get=1)'", HERE)
    store = made.experiment["workloads"]["store"]
    assert store["statements"]["insert"] == {
        "cql": "UPDATE seats SET holder = ? WHERE flight = ? AND seat = ? IF holder = NULL", "weight": 1, "batch": {"rows": 100, "kind": "logged"},
    }  # fmt: skip
    assert (store["populate"], store["statements"]["fill"]["weight"]) == ("fill", 0)
    assert notes_of(made, "insert: partitions") == {(Fate.CHANGED, Why.BATCHES)}  # a condition holds in one partition
    accepted(made)
    alone, store = profile(tmp_path, "k int PRIMARY KEY", {}, insert={"condition": "IF k = 1"}, queries={"get": {"cql": "SELECT k FROM t WHERE k = ?"}},
                           ops="get=1")  # fmt: skip
    assert notes_of(alone, "insert: condition") == {(Fate.LEFT_OUT, Why.KEY_ALONE)}
    assert list(store["statements"]) == ["fill", "get"]


def test_a_table_of_counters(tmp_path: Path) -> None:
    queries = {"get": {"cql": "SELECT n FROM t WHERE page = ?"}}
    _, store = profile(tmp_path, 'page text, day int, "N" counter, m counter, PRIMARY KEY (page, day)', {"N": {"population": "fixed(3)"},
                       "day": {"cluster": "fixed(7)"}}, ops="insert=1,get=1", queries=queries, insert={"batchtype": "UNLOGGED"})  # fmt: skip
    assert store["statements"]["insert"] == {
        "cql": 'UPDATE t SET "N" = "N" + ?, m = m + ? WHERE page = ? AND day = ?', "weight": 1, "batch": {"rows": 7, "kind": "counter"},
    }  # fmt: skip
    assert store["populate"] == "insert"
    assert store["values"]["N"] == "uniform(3, 4)"


def test_counters_of_the_command_line() -> None:
    made = import_stress("counter_write n=1M add=UNIFORM(1..5) -col n=FIXED(2) -rate threads=8", HERE)
    store = made.experiment["workloads"]["store"]
    assert store["table"] == 'CREATE TABLE counter1 (key blob PRIMARY KEY, "C0" counter, "C1" counter)'
    assert store["statements"] == {
        "counter_write": {"cql": 'UPDATE counter1 SET "C0" = "C0" + ?, "C1" = "C1" + ? WHERE key = ?', "weight": 1}
    }
    assert (store["keys"], store["values"]) == ("sequential(1, 1000001)", {"C0": "uniform(1, 6)", "C1": "uniform(1, 6)"})
    accepted(made)
    both = import_stress("mixed ratio(counter_write=1,counter_read=3) n=1M", HERE)
    store = both.experiment["workloads"]["store"]
    assert {name: one["weight"] for name, one in store["statements"].items()} == {"counter_write": 1, "counter_read": 3}
    assert store["populate"] == "counter_write"
    accepted(both)
    other = import_stress("mixed ratio(write=1,counter_write=1)", HERE)
    assert notes_of(other, "ratio counter_write") == {(Fate.LEFT_OUT, Why.ONE_KIND)}
    accepted(other)


def test_a_command_line_goes_before_the_profile(tmp_path: Path) -> None:
    specs = {"sensor": {"population": "uniform(1..1000)"}, "at": {"cluster": "fixed(10)"}}
    command = (
        "-pop seq=1..100 no-wrap -insert partitions=fixed(2) select-ratio=fixed(1)/1 batchtype=UNLOGGED visits=fixed(5) -rate threads=4"
    )
    made, store = profile(tmp_path, SERIES, specs, command=command)
    assert (store["keys"], store["statements"]["insert"]["batch"]) == ("sequential(0, 1000)", {"rows": 20, "kind": "unlogged"})
    assert notes_of(made, "-pop seq") == {(Fate.KEPT, None)}
    assert notes_of(made, "columnspec sensor") == {(Fate.CHANGED, Why.NARROWER)}
    assert notes_of(made, "-insert visits") | notes_of(made, "-pop no-wrap") == {(Fate.LEFT_OUT, Why.NO_COUNTERPART)}
    assert notes_of(import_stress("write n=5 -insert partitions=fixed(2)", HERE), "-insert") == {(Fate.LEFT_OUT, Why.OWN_TABLE)}


@pytest.mark.parametrize(
    ("schema", "attach", "copies", "fates"),
    [
        ("replication(factor=3)", True, 3, {Fate.KEPT}), ("replication(factor=3)", False, None, {Fate.CHANGED}),
        ("replication(strategy=NetworkTopologyStrategy,dc1=3) keyspace=k", True, 3, {Fate.KEPT, Fate.LEFT_OUT}),
        ("replication(strategy=NetworkTopologyStrategy,dc1=3,dc2=2)", True, None, {Fate.LEFT_OUT}),
        ("compaction(strategy=LeveledCompactionStrategy)", True, None, {Fate.LEFT_OUT}),
    ],
)  # fmt: skip
def test_replicas(schema: str, attach: bool, copies: int | None, fates: set[Fate]) -> None:
    made = import_stress(f"write n=1M -rate threads=8 -schema {shlex.join(schema.split())}", THERE if attach else HERE)
    assert made.experiment["workloads"]["store"].get("replication") == copies
    assert {note.fate for note in made.notes if note.said.startswith("-schema")} == fates
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
        ("GAUSSIAN(1..100)", "gaussian(1, 101)", True), ("~gaussian(1..100)", "~gaussian(1, 101)", True), ("gaussian(1..100,5)", "gaussian(1, 101, 50.5, 9.9)", True),
        ("norm(1..100,20,5)", "gaussian(1, 101, 20, 5)", True), ("EXP(1..1B)", "exp(1, 1000000001)", True), ("~exp(1..10)", "~exp(1, 11)", True),
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
