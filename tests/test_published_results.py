"""Published results compared with ours."""

from __future__ import annotations

from typing import Any

import pytest

from hydrotest.catalogue.published import published
from hydrotest.report.published_results import beside_sheet, spark_beside_sheet
from hydrotest.summary.model import Summary
from tests.rows import summary_of

KINDS = {"ingest": "kafka-produce", "drain": "kafka-consume", "store": "cassandra"}


def summary(**changes: Any) -> Summary:
    """A run of a tenth of the published machines."""
    level = {"workload": "ingest", "tenancy": "isolated", "offered": 10_000.0, "concurrency": None, "achieved": 9_999.0, "op": None,
             "latency_ms": {"p50": 2.0, "p95": 5.0}}  # fmt: skip
    mixed = {"workload": "store", "tenancy": "isolated", "offered": None, "concurrency": 16, "achieved": 2_619.5, "op": "mix",
             "latency_ms": {"p50": 0.5, "p95": 1.5}}  # fmt: skip
    drain = {"workload": "drain", "tenancy": "isolated", "limit": 336_000.0, "at_least": True, "latency_ms": None}
    return summary_of(**{"published": {"source": "packet-2016", "scale": 0.1}, "levels": [level, mixed], "limits": [drain]} | changes)


def test_each_published_figure_that_we_have_one_for_has_a_row() -> None:
    rows = {row[0]: row for row in beside_sheet(summary(), KINDS).rows}
    assert set(rows) == {"produce at 100,000/s", "consume, peak", "Cassandra mix, 16 in flight"}
    assert rows["produce at 100,000/s"][1:9] == ["100,000", "7.8", "1.0", "10,000", "2.0", "5.0", "100,000", "1.00"]
    assert "above its own 95th percentile" in rows["produce at 100,000/s"][9]
    assert rows["consume, peak"][4] == "≥ 336,000"
    assert rows["consume, peak"][8] == "2.00"
    assert rows["Cassandra mix, 16 in flight"][8] == "1.00"


def test_a_level_that_was_not_asked_for_has_none() -> None:
    level = summary().levels[0].model_copy(update={"offered": 20_000.0})
    assert not any(row[0].startswith("produce") for row in beside_sheet(summary(levels=[level]), KINDS).rows)


@pytest.mark.parametrize("told", [None, {"source": "nobody", "scale": 1.0}])
def test_without_published_results_there_is_no_table(told: dict[str, Any] | None) -> None:
    assert beside_sheet(summary(published=told), KINDS).rows == []


def test_the_published_results_say_where_they_are_from() -> None:
    kinds = published()
    for kind in ("kafka_produce", "kafka_consume", "cassandra_mixed", "spark_perf"):
        assert all(row["source"] in kinds["sources"] for row in kinds[kind])


def test_the_spark_suite_stands_beside_the_published_one_by_scale_factor() -> None:
    row = {"workload": "batch", "tenancy": "isolated", "test": "agg-by-key", "scale_factor": 3, "data_scale": 0.01, "tasks_per_stage": 1200,
           "input_bytes": 10**9, "shuffle_read_bytes": 10**6, "shuffle_write_bytes": 10**6, "max_shuffle_read_s": 0.5, "max_shuffle_write_s": 0.1,
           "total_s": 30.0, "finished": True}  # fmt: skip
    ours = [row, row | {"test": "scheduling-throughput", "tasks_per_stage": 12000, "total_s": 10.0, "finished": False}]
    theirs, own = spark_beside_sheet(summary(spark=ours)).rows
    assert theirs[:3] == ["3", "isolated", "published"]
    assert theirs[10:12] == ["7,920", "no"]
    assert own[2:5] == ["ours", "agg-by-key, scheduling-throughput", "1,200"]
    assert own[10:12] == ["40.0", "no"]
    assert spark_beside_sheet(summary(spark=[row | {"scale_factor": 0.5}])).rows == []
    assert spark_beside_sheet(summary(spark=ours, published=None)).rows == []
