"""Tables and statements of the user's own, of every type that values are made for, on a real Cassandra."""

from __future__ import annotations

from typing import Any

import pytest

from hydrotest.analysis.integrity.reads import reads_by_workload
from hydrotest.analysis.measured import Measured
from hydrotest.errors import RunFailedError
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench
from hydrotest.run.workloads.cassandra import Store
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="session")]
PLAN = TrialPlan("own", Purpose.SEARCH, 0.5, 2.0, patience_s=30.0)

ORDERS: dict[str, Any] = {
    "kind": "cassandra",
    "keys": "uniform(0, 2K)",
    "table": """CREATE TABLE orders (
        customer uuid, day date, id int, a ascii, b bigint, c blob, d boolean, e decimal, f double, g float, h inet, i smallint,
        j text, k time, l timestamp, m timeuuid, n tinyint, o varint, PRIMARY KEY ((customer, day), id))""",
    "statements": {
        "place": {
            "cql": "INSERT INTO orders (customer, day, id, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        },
        "look": {
            "cql": "SELECT customer, day, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o FROM orders WHERE customer = ? AND day = ? AND id = ?",
            "weight": 3,
        },
        "list": {"cql": "SELECT id, j FROM orders WHERE customer = ? AND day = ?"},
        "once": {"cql": "INSERT INTO orders (customer, day, id, j) VALUES (?, ?, ?, ?) IF NOT EXISTS", "weight": 0.1},
        "change": {"cql": "UPDATE orders SET j = ? WHERE customer = ? AND day = ? AND id = ?"},
    },
    "values": {"day": "uniform(0, 30)", "id": "zipf(0, 100)", "j": "uniform(1 B, 200 B)"},
}


def store(bench: Bench, settings: dict[str, Any], keyspace: str) -> Store:
    made = Store("store", CassandraLoad.model_validate(settings), bench)
    made.keyspace = keyspace
    return made


async def clean(made: Store, rate: float) -> Trial:
    """A trial of a table that was filled, without errors, with each row found as it was written; the account of its rows is in the journal."""
    await made.fill()
    trial = await made.open_loop(rate, PLAN)
    await made.finish()
    assert trial.status == "done", trial.reason
    outcome = trial.load("store").outcome
    assert outcome is not None
    assert outcome.errors == {}
    assert (outcome.extra["missing_reads"], outcome.extra["corrupted_reads"]) == (0, 0)
    return trial


def extra_of(trial: Trial) -> dict[str, Any]:
    outcome = trial.load("store").outcome
    assert outcome is not None
    return outcome.extra


async def test_what_is_read_is_what_was_written(bench: Bench) -> None:
    orders = store(bench, ORDERS, "hydrotest_t_orders")
    trial = await clean(orders, 500)
    extra = extra_of(trial)
    answered = extra["answered"]
    assert set(answered) == {"place", "look", "list", "once", "change"}
    assert answered["look"] > 2 * answered["place"] > 0
    # Each row is there and its own: nothing of the reads is left out, and no `IF NOT EXISTS` is a write.
    assert extra["unchecked"] == []
    assert extra["checked_reads"] == answered["look"] + answered["list"]
    assert extra["not_applied"] == {"place": 0, "once": answered["once"], "change": 0}
    assert answered["once"] > 0
    measured = Measured.read(bench.runner.folder, trial, "store")
    assert measured.histogram(op="look").get_total_count() > 0


@pytest.mark.long
@pytest.mark.parametrize(
    "keys", ["exp(0, 3K, 300)", "weibull(0, 3K, 0.7)", "zipf(0, 3K)", "gaussian(0, 3K)", {"file": "README.md"}], ids=lambda keys: str(keys)[:7]
)  # fmt: skip
async def test_each_row_that_keys_ask_for_is_there(keys: Any, bench: Bench) -> None:
    """However often they are drawn: each is written once beforehand, and found again at the end."""
    settings = {"kind": "cassandra", "keys": keys, "mix": {"write": 1, "read": 3}}
    drawn = store(bench, settings, "hydrotest_t_keys")
    extra = extra_of(await clean(drawn, 500))
    assert extra["checked_reads"] == extra["answered"]["read"] > 0
    entry = [e for e in bench.runner.folder.read_journal() if e["what"] == "rows accounted for"][-1]
    assert (entry["fates"]["lost"], entry["fates"]["corrupted"]) == (0, 0)
    assert entry["fates"]["seen"] == drawn.spec.keys.size > 50


async def test_rows_that_others_changed_are_found(bench: Bench) -> None:
    """Another workload writes the same rows with other values: every checked read reports it."""
    orders = store(bench, ORDERS, "hydrotest_t_changed")
    await orders.fill()
    other = {**ORDERS, "statements": {"change": ORDERS["statements"]["change"]}, "values": {**ORDERS["values"], "j": "300 B"}}
    spoiler = store(bench, other, "hydrotest_t_changed")
    spoiled = await spoiler.open_loop(1_000, PLAN)
    assert spoiled.status == "done", spoiled.reason
    looking = store(bench, {**ORDERS, "statements": {**ORDERS["statements"], "change": {"cql": ORDERS["statements"]["change"]["cql"], "weight": 0}}},
                    "hydrotest_t_changed")  # fmt: skip
    trial = await looking.open_loop(500, PLAN)
    await orders.finish()
    outcome = trial.load("store").outcome
    assert outcome is not None
    assert outcome.extra["corrupted_reads"] > 0


async def test_rows_that_are_not_there_are_missing(bench: Bench) -> None:
    """Rows that were written, and that another workload has deleted: of this one's statements, none does."""
    statements = {"place": {**ORDERS["statements"]["place"], "weight": 0}, "look": ORDERS["statements"]["look"]}
    orders = store(bench, {**ORDERS, "statements": statements}, "hydrotest_t_missing")
    await orders.fill()
    whole = await orders.open_loop(200, PLAN)
    delete = {"cql": "DELETE FROM orders WHERE customer = ? AND day = ? AND id = ?"}
    spoiler = store(bench, {**ORDERS, "statements": {"delete": delete}}, "hydrotest_t_missing")
    spoiled = await spoiler.open_loop(1_000, PLAN)
    assert spoiled.status == "done", spoiled.reason
    trial = await orders.open_loop(200, PLAN)
    await orders._drop(orders.keyspace)
    before, after = whole.load("store").outcome, trial.load("store").outcome
    assert before is not None
    assert after is not None
    assert (before.extra["missing_reads"], before.extra["corrupted_reads"]) == (0, 0)
    # 2,000 rows, and 2,500 deletions at random: 71 of 100 rows are gone.
    assert 0.4 < after.extra["missing_reads"] / after.extra["checked_reads"] < 0.95
    assert (after.extra["corrupted_reads"], after.extra["unchecked"]) == (0, [])


async def test_rows_that_nothing_has_written_are_not_lost(bench: Bench) -> None:
    orders = store(bench, {**ORDERS, "statements": {"look": ORDERS["statements"]["look"]}}, "hydrotest_t_never")
    await orders.fill()
    trial = await orders.open_loop(200, PLAN)
    await orders._drop(orders.keyspace)
    outcome = trial.load("store").outcome
    assert outcome is not None
    assert (outcome.extra["missing_reads"], outcome.extra["checked_reads"]) == (0, 0)
    (presence,) = [row for row in outcome.extra["unchecked"] if row["what"] == "presence"]
    assert (presence["reason"], presence["absent"]) == ("not_populated", outcome.extra["answered"]["look"])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"table": "CREATE TABLE orders (customer uuid PRIMARY KEY, lasts duration)",
          "statements": {"place": {"cql": "INSERT INTO orders (customer, lasts) VALUES (?, ?)"}}, "populate": "place"}, "column lasts is of type"),
        ({"table": "CREATE TABLE orders (customer uuid PRIMARY KEY, tags set<text>)", "values": {"tags": "5 B"},
          "statements": {"place": {"cql": "INSERT INTO orders (customer, tags) VALUES (?, ?)"}}, "populate": "place"}, "column tags is a collection"),
        ({"values": {"n": "uniform(0, 1M)"}}, "column n is of type TinyInt and cannot hold 999999"),
        ({"statements": {"look": {"cql": "SELECT nothing FROM orders WHERE customer = ? AND day = ?"}}, "populate": "look"}, "Undefined column name nothing"),
    ],
)  # fmt: skip
async def test_what_does_not_fit_is_told(change: dict[str, Any], told: str, bench: Bench) -> None:
    orders = store(bench, {**ORDERS, **change}, "hydrotest_t_unfit")
    try:
        with pytest.raises(RunFailedError, match=told):
            await orders.fill()
    finally:
        await orders._drop("hydrotest_t_unfit")


PROFILES: dict[str, Any] = {
    "kind": "cassandra",
    "keys": "uniform(0, 500)",
    "table": [
        "CREATE TYPE place (x int, names frozen<set<text>>)",
        """CREATE TABLE profiles (
            id int PRIMARY KEY, tags set<text>, scores map<text, int>, log list<bigint>, at frozen<tuple<int, text>>, home frozen<place>, work place,
            nested map<int, frozen<list<frozen<set<int>>>>>, fixed frozen<set<uuid>>, embedding vector<float, 8>, counts vector<int, 3>)""",
    ],
    "statements": {
        "put": {
            "cql": "INSERT INTO profiles (id, tags, scores, log, at, home, work, nested, fixed, embedding, counts) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        },
        "look": {
            "cql": "SELECT id, tags, scores, log, at, home, work, nested, fixed, embedding, counts FROM profiles WHERE id = ?",
            "weight": 3,
        },
        "more": {"cql": "SELECT tags FROM profiles WHERE id = ?"},
    },
    "values": {
        "tags": {"count": "uniform(0, 20)", "each": "uniform(1 B, 3 B)"},
        "log": {"count": "exp(0, 50)"},
        "embedding": "uniform(0, 100)",
    },
}


@pytest.mark.long
async def test_values_with_parts_are_read_as_they_were_written(bench: Bench) -> None:
    """Sets and maps in the order of the node, empty collections as null."""
    profiles = store(bench, PROFILES, "hydrotest_t_profiles")
    extra = extra_of(await clean(profiles, 300))
    assert extra["unchecked"] == []
    assert extra["checked_reads"] == extra["answered"]["look"] + extra["answered"]["more"] > 0


VECTORS: dict[str, Any] = {
    "kind": "cassandra", "keys": "uniform(0, 400)",
    "table": [
        "CREATE TABLE points (id int PRIMARY KEY, tag int, at vector<float, 16>)",
        "CREATE CUSTOM INDEX ON points (at) USING 'StorageAttachedIndex' WITH OPTIONS = {'similarity_function': 'euclidean'}",
        "CREATE CUSTOM INDEX ON points (tag) USING 'StorageAttachedIndex'",
    ],
    "statements": {
        "put": {"cql": "INSERT INTO points (id, tag, at) VALUES (?, ?, ?)"},
        "near": {"cql": "SELECT id FROM points ORDER BY at ANN OF ? LIMIT 5", "weight": 3},
        "like": {"cql": "SELECT tag, id FROM points WHERE tag = ? ORDER BY at ANN OF ? LIMIT 5", "weight": 3},
        "some": {"cql": "SELECT tag FROM points ORDER BY at ANN OF ? LIMIT 5"},
    },
    "values": {"tag": "row % 4", "at": "uniform(1, 100)"},
}  # fmt: skip


@pytest.mark.long
async def test_the_nearest_vectors_are_asked_for_and_their_recall_is_told(bench: Bench) -> None:
    """Of a few hundred vectors an index finds nearly all; the rows are written again meanwhile, as they were."""
    points = store(bench, VECTORS, "hydrotest_t_points")
    await points.fill()
    trial = await points.open_loop(100, PLAN)
    await points.finish()
    assert trial.status == "done", trial.reason
    outcome = trial.load("store").outcome
    assert outcome is not None
    extra = outcome.extra
    assert (outcome.errors, extra["checked_reads"]) == ({}, 0)
    assert {(one["statement"], one["what"], one["reason"]) for one in extra["unchecked"]} == {
        (name, "read", "nearest") for name in ("near", "like", "some")
    }
    assert extra["recall_untold"] == [{"statement": "some", "reason": "no_key"}]
    told = {one["statement"]: one for one in extra["recall"]}
    assert set(told) == {"near", "like"}
    for name, one in told.items():
        assert (one["similarity"], one["limit"], one["dimension"], one["rows"]) == ("euclidean", 5, 16, 400)
        assert one["answers"] == extra["answered"][name]
        assert len(one["queries"]) == min(one["answers"], 100) > 20
        # A search of all rows by another function, or of other rows, would agree with one in a hundred.
        assert sum(hits for hits, _, _ in one["queries"]) / sum(there for _, _, there in one["queries"]) > 0.8, one
        assert all(there == 5 for _, _, there in one["queries"])


@pytest.mark.long
async def test_the_recall_is_not_told_where_rows_are_deleted(bench: Bench) -> None:
    statements = {**VECTORS["statements"], "drop": {"cql": "DELETE FROM points WHERE id = ?", "weight": 0.1}}
    points = store(bench, {**VECTORS, "statements": statements}, "hydrotest_t_points_gone")
    await points.fill()
    trial = await points.open_loop(100, PLAN)
    await points._drop(points.keyspace)
    outcome = trial.load("store").outcome
    assert outcome is not None
    assert outcome.extra["recall"] == []
    assert {one["statement"]: one["reason"] for one in outcome.extra["recall_untold"]} == {
        "near": "deleted",
        "like": "deleted",
        "some": "no_key",
    }


SERIES: dict[str, Any] = {
    "kind": "cassandra",
    "keys": "sequential(0, 8K)",
    "table": "CREATE TABLE series (sensor int, at timestamp, reading double, PRIMARY KEY (sensor, at))",
    "statements": {
        "put": {"cql": "INSERT INTO series (sensor, at, reading) VALUES (?, ?, ?)", "batch": {"rows": 10, "kind": "unlogged"}},
        "look": {"cql": "SELECT sensor, at, reading FROM series WHERE sensor = ? AND at = ?"},
        "whole": {"cql": "SELECT at, reading FROM series WHERE sensor = ?"},
    },
    "values": {"at": "row"},
    "page_size": 7,
}
SHARED: dict[str, Any] = {"one partition": {"rows": 10}, "several": "row % 80", "by a distribution": {"rows": "exp(1, 200)"}}


@pytest.mark.long
@pytest.mark.parametrize("sensor", SHARED)
async def test_batches_of_rows_and_reads_of_many_pages(sensor: str, bench: Bench) -> None:
    """Each row of a batch has values of its own, in one partition or in several; a read of a partition has all its pages."""
    series = store(bench, {**SERIES, "values": {"at": "row", "sensor": SHARED[sensor]}}, f"hydrotest_t_series_{list(SHARED).index(sensor)}")
    extra = extra_of(await clean(series, 200))
    assert extra["checked_reads"] == extra["answered"]["look"] > 0
    assert [(one["statement"], one["reason"]) for one in extra["unchecked"]] == [("whole", "range")]
    # Partitions of 10, of 100, and of some other number of rows; 7 are on a page.
    pages = extra["further_pages"] / extra["answered"]["whole"]
    expected = {"one partition": (1, 1), "several": (14, 15), "by a distribution": (1, 29)}[sensor]
    assert expected[0] <= pages <= expected[1]
    # Each batch is ten rows, and the next one the next ten.
    assert sum(last - first for first, last in extra["acked_keys"]) == 10 * extra["answered"]["put"]


@pytest.mark.long
@pytest.mark.parametrize(("kind", "table", "change", "sets"), [
    ("logged", "v int", "UPDATE odd SET v = ? WHERE k = ?", True), ("counter", "v counter", "UPDATE odd SET v = v + ? WHERE k = ?", False),
])  # fmt: skip
async def test_logged_and_counter_batches(kind: str, table: str, change: str, sets: bool, bench: Bench) -> None:
    settings = {
        "kind": "cassandra", "keys": "uniform(0, 300)", "table": f"CREATE TABLE odd (k int PRIMARY KEY, {table})", "populate": "change",
        "statements": {"change": {"cql": change, "batch": {"rows": 5, "kind": kind}}, "look": {"cql": "SELECT k, v FROM odd WHERE k = ?"}},
    }  # fmt: skip
    odd = store(bench, settings, f"hydrotest_t_odd_{kind}")
    extra = extra_of(await clean(odd, 200))
    assert extra["checked_reads"] == extra["answered"]["look"] > 0
    # What a counter has come to depends on all additions before.
    assert [(one["what"], one["reason"]) for one in extra["unchecked"]] == ([] if sets else [("values", "counter")])


@pytest.mark.long
@pytest.mark.parametrize("level", ["SERIAL", "LOCAL_SERIAL"])
async def test_conditional_writes_are_agreed_upon_at_a_level(level: str, bench: Bench) -> None:
    """A new row is written, and found there by each later write of it; a batch in one partition is written whole or not at all."""
    settings = {
        "kind": "cassandra", "keys": "uniform(0, 100)", "serial_consistency": level,
        "table": "CREATE TABLE seats (flight int, seat int, holder text, PRIMARY KEY (flight, seat))",
        "statements": {
            "book": {"cql": "INSERT INTO seats (flight, seat, holder) VALUES (?, ?, ?) IF NOT EXISTS", "batch": {"rows": 4}},
            "change": {"cql": "UPDATE seats SET holder = ? WHERE flight = ? AND seat = ? IF EXISTS"},
        },
        "values": {"flight": {"rows": 4}, "seat": "row"},
    }  # fmt: skip
    seats = store(bench, settings, f"hydrotest_t_seats_{level.lower()}")
    await seats.fill()
    trial = await seats.open_loop(200, PLAN)
    await seats.finish()
    outcome = trial.load("store").outcome
    assert outcome is not None
    assert outcome.errors == {}
    (account,) = [row for name, row in reads_by_workload([trial]).items() if name == "store"]
    counts = {row.statement: row for row in account.conditional}
    assert set(counts) == {"book", "change"}
    # 25 flights are booked once each, whoever is first.
    assert counts["book"].answered - counts["book"].not_applied == 25
    assert 0 < counts["change"].not_applied < counts["change"].answered
    assert (counts["book"].timed_out, counts["change"].timed_out) == (0, 0)
