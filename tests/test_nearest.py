"""Reads of the nearest vectors: what generators find of their recall becomes rows beside their latency, a table, and words."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from hydrotest.analysis.by_test.nearest import nearest_rows, untold_rows
from hydrotest.load.cassandra import SATURATING_IN_FLIGHT
from hydrotest.report.nearest import nearest_sentences, nearest_sheet
from hydrotest.run.workloads.cassandra import Store
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.spec.statement import Statement
from hydrotest.store import layout
from hydrotest.store.histograms import empty
from hydrotest.store.records import Trial
from hydrotest.summary.limits import Limit
from hydrotest.summary.nearest import Nearest, NearestUntold
from tests.rows import a, summary_of
from tests.synthetic import SyntheticRun

HEAD = {"statement": "near", "similarity": "cosine", "limit": 10, "dimension": 8, "rows": 1_000}


def pressed(run: SyntheticRun, purpose: str, offered: float, queries: list[list[int]], p99_us: int = 3_000, **more: Any) -> Trial:
    """A trial whose generator found this."""
    trial = run.trial(purpose, offered, **more)
    histogram = empty()
    histogram.record_value(p99_us, 100)
    (load,) = trial.loads
    assert load.outcome is not None
    log = run.folder.folder_of(trial)
    with (log / layout.histogram("ingest", "response")).open("a") as file:
        start = load.outcome.started_wall_s + 1
        file.write(f"Tag=near,{start:.3f},1.000,{p99_us / 1e6:.3f},{histogram.encode().decode()}\n")
    extra = {
        "recall": [{**HEAD, "answers": 500, "queries": queries}],
        "recall_untold": [{"statement": "all", "reason": "no_limit"}],
    }
    found = load.model_copy(update={"outcome": load.outcome.model_copy(update={"extra": extra})})
    return trial.model_copy(update={"loads": [found]})


def test_each_load_has_its_latency_and_recall_in_one_row(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path)
    slow = pressed(run, "level", 1_000, [[10, 10, 10]] * 3 + [[5, 10, 10]])
    more = pressed(run, "level", 1_000, [[4, 4, 10]] * 4, p99_us=9_000)
    fast = pressed(run, "level", 5_000, [[9, 10, 10]] * 4)
    first, second = nearest_rows(run.folder, [slow, more, fast], [])
    assert (first.trials, second.trials) == ([1, 2], [3])
    assert (first.offered, first.is_at_limit, first.queries, first.answers, first.short) == (1_000, False, 8, 1_000, 4)
    assert first.recall == pytest.approx((3 * 1 + 0.5 + 4 * 0.4) / 8)
    assert (first.low or 0) < (first.recall or 0) < (first.high or 0)
    assert first.latency_ms is not None
    # Of both windows together.
    assert [first.latency_ms.p50, first.latency_ms.max] == pytest.approx([3, 9], rel=0.01)
    assert (first.similarity, first.limit, first.dimension, first.rows) == ("cosine", 10, 8, 1_000)
    assert untold_rows([slow, more]) == [NearestUntold(workload="ingest", statement="all", reason="no_limit")]


def test_of_a_search_only_what_is_at_the_limit_counts(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path)
    below, at, above = (pressed(run, "search", rate, [[hits, 10, 10]] * 12) for rate, hits in ((1_000, 10), (9_000, 8), (12_000, 2)))
    limit = a(Limit, workload="ingest", tenancy="isolated", at_limit=[at.number])
    (row,) = nearest_rows(run.folder, [below, at, above], [limit])
    assert (row.is_at_limit, row.offered, row.trials) == (True, None, [at.number])
    assert row.recall == pytest.approx(0.8)
    failed = at.model_copy(update={"status": "failed", "reason": "it broke"})
    assert nearest_rows(run.folder, [failed], [limit]) == []


def row(**given: Any) -> Nearest:
    return a(Nearest, **{"workload": "points", "statement": "near", "tenancy": "isolated", "limit": 10, "similarity": "euclidean", "recall": 0.9712,
                         "low": 0.96, "high": 0.98, "queries": 200, "answers": 5_000, "rows": 10_000, "dimension": 128, "offered": 400,
                         "latency_ms": {"p50": 2.0, "p99": 5.25}, **given})  # fmt: skip


def test_latency_and_recall_stand_in_one_table() -> None:
    rows = [
        row(),
        row(offered=None, concurrency=16, recall=None, low=None, high=None, queries=0),
        row(offered=None, is_at_limit=True, short=3),
    ]
    sheet = nearest_sheet(summary_of(nearest=rows))
    cells = [dict(zip(sheet.heads, line, strict=True)) for line in sheet.rows]
    assert [one["load"] for one in cells] == ["400/s", "16 in flight", "at the limit"]
    assert (cells[0]["p99 ms"], cells[0]["recall@k"], cells[0]["95 % sure"]) == ("5.25", "97.1 %", "96.0 % … 98.0 %")
    assert (cells[1]["recall@k"], cells[1]["95 % sure"]) == ("–", "–")
    assert (cells[2]["short answers"], cells[2]["queries"], cells[2]["vectors"]) == ("3", "200 of 5,000", "10,000 × 128")


def test_the_load_that_counts_most_is_told_and_what_is_not_known() -> None:
    rows = [row(), row(offered=900, recall=0.5), row(offered=100), row(tenancy="combined", offered=5_000)]
    (said,) = nearest_sentences(rows, [])
    assert "50.0 %" in said
    (said,) = nearest_sentences([*rows, row(is_at_limit=True, recall=0.25)], [])
    assert "25.0 %" in said
    untold = [NearestUntold(workload="points", statement="all", reason="deleted")]
    assert len(nearest_sentences([row(recall=None)], untold)) == 1


@pytest.mark.parametrize(
    ("cql", "asks"),
    [
        ("SELECT id FROM points ORDER BY at ANN OF ? LIMIT 5", True),
        ("select id from points order by at ann\n of ? limit 5", True),
        ("SELECT id FROM points WHERE note = 'ANN OF'", False),
        ("INSERT INTO points (note) VALUES ('x')", False),
    ],
)
def test_reads_of_the_nearest_are_told_from_others(cql: str, asks: bool) -> None:
    assert Statement(cql=cql).is_nearest is asks


VECTORS = "CREATE TABLE points (id int PRIMARY KEY, at vector<float, 4>)"
INDEX = "CREATE CUSTOM INDEX ON points (at) USING 'sai'"


@pytest.mark.parametrize(("table", "in_flight"), [([VECTORS, INDEX], 2), ([VECTORS], SATURATING_IN_FLIGHT)])
async def test_an_index_of_vectors_is_filled_by_as_many_as_a_node_has_processors(table: list[str], in_flight: int) -> None:
    statements = {
        "put": {"cql": "INSERT INTO points (id, at) VALUES (?, ?)"},
        "near": {"cql": "SELECT id FROM points ORDER BY at ANN OF ? LIMIT 5"},
    }
    spec = CassandraLoad.model_validate({"kind": "cassandra", "keys": "uniform(0, 100)", "table": table, "statements": statements})
    bench = Mock()
    bench.experiment.workloads, bench.experiment.generator_hosts.return_value = {"points": spec}, ["here"]
    bench.experiment.systems.present.return_value = {}
    nodes = [Mock(processors=None, facts=AsyncMock(return_value=Mock(cores=8))), Mock(processors=2)]
    bench.hosts, bench.systems, bench.run = {"here": Mock()}, {"cassandra": Mock(hosts=nodes)}, "t"
    bench.systems["cassandra"].cluster.wire.return_value = {}
    bench.runner.claim.return_value = 1
    load = Mock(outcome=Mock(extra={"acked_keys": [[0, 100]]}, errors={}))
    bench.runner.press = AsyncMock(return_value=Mock(status="done", load=lambda _: load))
    await Store("points", spec, bench)._populate()
    (part,) = bench.runner.press.await_args.args[2]
    (generator,) = part.generators
    assert generator.settings["load"]["model"] == {"closed": {"in_flight": in_flight}}
