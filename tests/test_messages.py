"""The golden messages: what Python sends and understands is what Rust understands and sends (rust/*/tests read the same files)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from hydrotest.hosts import frames
from hydrotest.hosts.base import Host
from hydrotest.hosts.cluster import Cluster
from hydrotest.hosts.local import LocalHost
from hydrotest.hosts.protocol import EVENTS, GREETING
from hydrotest.load import cassandra, kafka
from hydrotest.load.kafka_group import group_generator
from hydrotest.spec.attach import RequestsMost
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.spec.kafka_group import KafkaGroup
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.store.records import Outcome, Second

MESSAGES = Path("contract/messages")
HOST: Host = LocalHost("here", Path("/tmp"))


def golden(name: str) -> Any:
    return json.loads((MESSAGES / name).read_text())


def load_settings(model: dict[str, Any], give_up: float | None, cap: int) -> dict[str, Any]:
    return {"model": model, "seconds": 5.0, "give_up_s": give_up, "in_flight_max": cap}


def test_produce_settings() -> None:
    workload = KafkaProduce.model_validate({"kind": "kafka-produce", "transactions": {}})
    first, made = kafka.producers(
        "ingest",
        workload,
        [HOST, HOST],
        Cluster(["127.0.0.1:9092"]),
        "hydrotest-x-ingest-1",
        1,
        load_settings({"open": {"rate_per_s": 1000.0, "arrivals": "even"}}, 2.05, 100_000),
    )
    assert made.settings == golden("produce.settings.json")
    assert made.offered == first.offered == 1000
    assert (first.settings["load"]["first_share"], first.number, made.number) == (0, 0, 1)


def test_consume_settings() -> None:
    assert kafka.verifier(HOST, Cluster(["127.0.0.1:9092"]), "hydrotest-x-ingest-1").settings == golden("consume.settings.json")


def test_cql_settings() -> None:
    workload = CassandraLoad.model_validate({"kind": "cassandra", "mix": {"write": 1, "read": 3}, "keys": "uniform(0, 1M)"})
    load = load_settings({"closed": {"in_flight": 128}}, None, 50_000)
    _, made = cassandra.generators("store", workload, [HOST, HOST], Cluster(["127.0.0.1:9042"]), "hydrotest_x_store", 1, load, filled=True)
    assert made.settings == golden("cql.settings.json")
    assert made.in_flight == 128


async def test_replicas_of_data_centres(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with its own number; one that is reached has them all."""
    asking = AsyncMock(return_value={"id": "1"})
    monkeypatch.setattr(cassandra, "ask", asking)
    for replication, center in ((2, None), ({"dc1": 3, "d'c": 2}, None), (3, "here")):
        workload = CassandraLoad.model_validate(
            {"kind": "cassandra", "mix": {"write": 1}, "keys": "uniform(0, 9)", "replication": replication}
        )
        assert workload.copies == (replication if isinstance(replication, int) else 5)
        await cassandra.create_table(HOST, Cluster(["a:1"]), "hydrotest_x", workload, center)
    assert [call.args[2]["cassandra"]["replication"] for call in asking.await_args_list] == [
        "{'class': 'SimpleStrategy', 'replication_factor': 2}", "{'class': 'NetworkTopologyStrategy', 'dc1': 3, 'd''c': 2}",
        "{'class': 'NetworkTopologyStrategy', 'here': 3}",
    ]  # fmt: skip


def test_shaped_settings() -> None:
    """Batches, pages, serial levels, values with parts, skewed keys, recall. What fills a table writes its rows one by one."""
    workload = CassandraLoad.model_validate(
        {
            "kind": "cassandra", "keys": "exp(0, 1K)", "table": "CREATE TABLE t (s int, k int, tags set<text>, n int, PRIMARY KEY (s, k))",
            "serial_consistency": "LOCAL_SERIAL", "page_size": 50,
            "statements": {
                "put": {"cql": "INSERT INTO t (s, k, tags, n) VALUES (?, ?, ?, ?) IF NOT EXISTS", "batch": {"rows": 10, "kind": "unlogged"}},
                "all": {"cql": "SELECT * FROM t"},
                "near": {"cql": "SELECT k FROM t ORDER BY v ANN OF ? LIMIT 5"},
            },
            "values": {"s": {"rows": 10}, "k": "row", "tags": {"count": 3, "each": "5 B"}, "n": "row % 7"},
        }
    )  # fmt: skip
    load = load_settings({"closed": {"in_flight": 128}}, None, 50_000)
    (made,) = cassandra.generators("t", workload, [HOST], Cluster(["a:1"]), "hydrotest_x", 1, load, filled=True, recall=True)
    assert made.settings == golden("cql-shaped.settings.json")
    (filler,) = cassandra.populators("t", workload, [HOST], Cluster(["a:1"]), "hydrotest_x", 1)
    assert [one.get("batch") for one in filler.settings["content"]["own"]["statements"]] == [None, None, None]
    assert "recall_queries" not in filler.settings


def test_listed_records_settings(tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text("alice\nbob\nalice\n")
    workload = KafkaProduce.model_validate(
        {"kind": "kafka-produce", "record_size": {"weights": {"100 B": 8, "1 KB": 2}}, "key": {"file": str(tmp_path / "keys.txt")}}
    )
    load = load_settings({"closed": {"in_flight": 128}}, None, 50_000)
    (made,) = kafka.producers("ingest", workload, [HOST], Cluster(["127.0.0.1:9092"]), "hydrotest-x-ingest-1", 1, load)
    assert made.settings == golden("produce-listed.settings.json")


def test_own_statements_settings() -> None:
    workload = CassandraLoad.model_validate(
        {
            "kind": "cassandra",
            "keys": "uniform(0, 1M)",
            "consistency": "LOCAL_QUORUM",
            "table": "CREATE TABLE orders (customer bigint, id int, note text, PRIMARY KEY (customer, id))",
            "statements": {
                "place": {"cql": "INSERT INTO orders (customer, id, note) VALUES (?, ?, ?)"},
                "look": {"cql": "SELECT note FROM orders WHERE customer = ? AND id = ?", "weight": 3},
            },
            "values": {"customer": "row", "id": "uniform(0, 10)", "note": "uniform(10 B, 1 KiB)"},
        }
    )
    load = load_settings({"closed": {"in_flight": 128}}, None, 50_000)
    (made,) = cassandra.generators("orders", workload, [HOST], Cluster(["127.0.0.1:9042"]), "hydrotest_x_orders", 1, load, filled=True)
    assert made.settings == golden("cql-own.settings.json")
    assert workload.filling == "place"
    # What fills the tables knows all statements: which columns are keys follows from all of them.
    (filler,) = cassandra.populators("orders", workload, [HOST], Cluster(["127.0.0.1:9042"]), "hydrotest_x_orders", 1)
    assert [(one["name"], one["weight"]) for one in filler.settings["content"]["own"]["statements"]] == [("place", 1.0), ("look", 0.0)]
    assert (filler.settings["filled"], filler.settings["operations"]) == (False, 1_000_000)


def test_group_settings() -> None:
    given = {"kind": "kafka-group", "reads": "ingest", "groups": 2, "members": 3, "assignor": "cooperative-sticky", "commit": "sync"}
    workload = KafkaGroup.model_validate({**given, "session": "9 s", "config": {"max.poll.records": 2000, "check.crcs": False}})
    made = group_generator(
        "readers", workload, HOST, Cluster(["127.0.0.1:9092"]), "hydrotest-x-ingest-1", 1, ["g-0", "g-1"], ["java", "-cp", "x"], None, 5.0,
        9.0, 1000.0, True, 0, most=RequestsMost.model_validate({"rate": "3K", "bytes": "1 MB/s", "disk": "1 GB"}),
    )  # fmt: skip
    assert made.settings == golden("group.settings.json")
    # Each group reads what is written.
    assert (made.offered, made.follows) == (2000.0, True)


def test_the_protocol_is_the_one_that_was_agreed_on() -> None:
    assert golden("greeting.json") == GREETING
    said = {json.loads(line)["event"] for line in (MESSAGES / "events.jsonl").read_text().splitlines()}
    assert said == EVENTS


def test_events_are_understood() -> None:
    events = [json.loads(line) for line in (MESSAGES / "events.jsonl").read_text().splitlines()]
    by_kind = {event.pop("event"): event for event in events}
    counts = Second.model_validate(by_kind["second"]).counts
    assert (counts.completed, counts.due, counts.in_flight) == (4, 5, 1)
    assert Outcome.model_validate(by_kind["done"]["result"]).counts.bytes == 500


def test_a_hub_understands_what_is_asked_and_is_understood() -> None:
    for line in (MESSAGES / "hub-requests.jsonl").read_text().splitlines():
        wanted = json.loads(line)
        fields = {key: value for key, value in wanted.items() if key not in ("id", "bytes", "ask")}
        body = b"x" * wanted["bytes"]
        header, _, rest = frames.frame(wanted["id"], wanted["ask"], body, **fields).partition(b"\n")
        assert json.loads(header) == wanted
        assert rest == body
    lines = (MESSAGES / "hub-replies.jsonl").read_text().splitlines()
    assert {json.loads(line)["say"] for line in lines} == frames.REPLIES
    said = [(json.loads(line), b"x" * json.loads(line)["bytes"]) for line in lines]
    whole = b"".join(json.dumps(header).encode() + b"\n" + body for header, body in said)
    for size in (1, 7, len(whole)):  # however it comes
        taken = frames.Frames()
        assert [one for start in range(0, len(whole), size) for one in taken.feed(whole[start : start + size])] == said
