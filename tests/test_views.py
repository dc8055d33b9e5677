"""Materialised views: what the load expects of them, what becomes of their account, and how it is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from hydrotest.analysis.integrity.views import BEHIND_US, PENDING, VIEWS_COMPARED, are_same, view_accounts
from hydrotest.analysis.summary import ROWS_BEGUN, integrity_rows
from hydrotest.errors import TrialFailedError
from hydrotest.load import cassandra
from hydrotest.report.missed_objectives import missed
from hydrotest.report.views import view_sentences, views_sheet
from hydrotest.run.workloads.cassandra import Store
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.spec.tables import has_views, may_index_vectors
from hydrotest.store import layout
from hydrotest.store.sample_buffer import SampleBuffer
from hydrotest.summary.integrity import Integrity
from tests.rows import summary_of
from tests.synthetic import SyntheticRun

VIEW = "CREATE MATERIALIZED VIEW us_by_email AS SELECT id FROM us WHERE email IS NOT NULL AND id IS NOT NULL PRIMARY KEY (email, id)"
USERS: dict[str, Any] = {
    "kind": "cassandra", "keys": "uniform(0, 100)", "table": ["CREATE TABLE us (id int PRIMARY KEY, email text)", VIEW],
    "statements": {
        "put": {"cql": "INSERT INTO us (id, email) VALUES (?, ?)"}, "find": {"cql": "SELECT id FROM us_by_email WHERE email = ? AND id = ?"},
    },
}  # fmt: skip


def compared(missing: int = 0, extra: int = 0, first: int = 0, settled: float | None = 0.0) -> dict[str, Any]:
    return {"view": "us_by_email", "table": "us", "rows": 100, "missing_first": first, "missing": missing, "extra_first": 0, "extra": extra,
            "settled_s": settled}  # fmt: skip


def accounts(tmp_path: Path, views: list[dict[str, Any]], **more: Any) -> list[Integrity]:
    """Of two trials, whose gauges were read."""
    run = SyntheticRun(tmp_path)
    trials = [run.trial("level", 100), run.trial("level", 200)]
    for trial, behind in zip(trials, (2_000.0, 500.0), strict=True):
        buffer = SampleBuffer()
        for second in range(3):
            gauges = {"cassandra-0": {PENDING: float(second), BEHIND_US: behind}}
            buffer.add("here", {"wall_s": second, "host": {}, "services": {}, "gauges": gauges, "gauge_errors": {}, "speed_ns": [1],
                                "sampler_cpu_us": 0})  # fmt: skip
        (run.folder.folder_of(trial) / layout.GAUGE_SAMPLES).unlink(missing_ok=True)
        buffer.flush(run.folder.folder_of(trial))
    journal = [
        {"what": ROWS_BEGUN, "workload": "ingest", "keyspace": "k"},
        {"what": VIEWS_COMPARED, "workload": "ingest", "keyspace": "k", "views": views, **more},
    ]
    return integrity_rows([], journal, view_accounts(run.folder, trials, journal))


def test_a_view_that_holds_the_rows_of_its_table_is_told_with_how_far_it_was_behind(tmp_path: Path) -> None:
    (row,) = accounts(tmp_path, [compared(first=7, settled=2.5)])
    (view,) = row.views
    assert (view.pending_max, view.behind_p99_ms, view.settled_s, view.missing_first) == (2, 2.0, 2.5, 7)
    summary = summary_of(integrity=[row])
    assert views_sheet(summary).rows == [["ingest", "us_by_email", "us", "100", "7", "0", "0", "2.5", "2", "2.0"]]
    assert missed(summary) == []
    assert len(view_sentences([row])) == 1


def test_a_view_that_lacks_rows_is_held_against_the_run(tmp_path: Path) -> None:
    (row,) = accounts(tmp_path, [compared(missing=3, extra=1, first=9, settled=None)])
    said = missed(summary_of(integrity=[row]))
    assert len(said) == 2
    assert "3" in said[0]
    (sentence,) = view_sentences([row])
    assert "3" in sentence


def test_views_that_could_not_be_read_are_not_known(tmp_path: Path) -> None:
    (row,) = accounts(tmp_path, [], reason="not all replicas answer")
    (view,) = row.views
    assert (view.view, view.missing, view.reason) == (None, None, "not all replicas answer")
    assert missed(summary_of(integrity=[row])) == []
    assert "not all replicas answer" in view_sentences([row])[0]


def store(monkeypatch: pytest.MonkeyPatch, answer: AsyncMock) -> Store:
    """Its populating fills all rows."""
    spec, bench = CassandraLoad.model_validate(USERS), Mock()
    bench.experiment.workloads, bench.experiment.generator_hosts.return_value = {"users": spec}, ["here"]
    bench.hosts, bench.systems, bench.run = {"here": Mock()}, {"cassandra": Mock()}, "t"
    bench.experiment.systems.present.return_value = {}
    bench.own.make_keyspace = AsyncMock()
    made = Store("users", spec, bench)
    monkeypatch.setattr(made, "_populate", AsyncMock())
    monkeypatch.setattr(cassandra, "ask", answer)
    return made


@pytest.mark.parametrize(
    ("answer", "is_filled"),
    [
        (AsyncMock(return_value=[compared()]), True),
        (AsyncMock(return_value=[compared(missing=1, settled=None)]), False),
        (AsyncMock(side_effect=TrialFailedError("not all replicas answer")), False),
    ],
)
async def test_rows_of_a_view_are_expected_only_where_it_was_filled(
    answer: AsyncMock, is_filled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = store(monkeypatch, answer)
    await users.fill()
    question = answer.await_args_list[0].args[2]["cassandra"]
    assert (question["query"], question["keyspace"]) == ("views", users.keyspace)
    pressing = Mock(times=1)
    pressing.load.return_value = {"open": {"rate_per_s": 1.0, "arrivals": "even"}}
    users.bench.load_settings.return_value = {"model": pressing.load.return_value}  # type: ignore[attr-defined]
    (generator,) = users.part(2, Mock(), pressing).generators
    assert generator.settings.get("views_filled", False) is is_filled


def test_views_and_indexes_are_told_from_tables() -> None:
    assert has_views(USERS["table"])
    assert not has_views(
        ["CREATE TABLE t (note text) WITH comment = 'CREATE MATERIALIZED VIEW'", "-- CREATE MATERIALIZED VIEW\nCREATE TABLE u"]
    )
    vectors = "CREATE TABLE t (k int PRIMARY KEY, v vector<float, 3>)"
    assert may_index_vectors([vectors, "create custom index ON t (v) USING 'sai'"])
    assert not may_index_vectors([vectors])
    assert not may_index_vectors(["CREATE TABLE t (k int PRIMARY KEY, v text)", "CREATE INDEX ON t (v)"])


def test_views_are_the_same_only_where_nothing_differs() -> None:
    assert are_same([compared(), compared(first=5)])
    assert not are_same([compared(), compared(extra=1)])
