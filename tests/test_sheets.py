"""Tables of the report: their columns, and what is in them."""

from __future__ import annotations

import pytest

from hydrotest.percentiles import heads
from hydrotest.report.sheets import limits_sheet
from tests.rows import summary_of


@pytest.fixture
def limit() -> dict[str, str]:
    """The one row of the table of limits, by column."""
    row = {
        "workload": "ingest", "tenancy": "isolated", "unit": "records/s", "limit": 8_000.0, "at_least": True, "low": 7_000.0, "high": 9_000.0,
        "saturated": 12_345.0, "latency_ms": {"p50": 1.26, "p99": 7.5}, "stopped_by": "latency",
    }  # fmt: skip
    sheet = limits_sheet(summary_of(limits=[row]))
    assert [len(cells) for cells in sheet.rows] == [len(sheet.heads)]
    return dict(zip(sheet.heads, sheet.rows[0], strict=True))


def test_columns_of_the_table_of_limits(limit: dict[str, str]) -> None:
    before = ["workload", "tenancy", "unit", "limit", "low … high", "saturated"]
    assert list(limit) == [*before, *heads(every=False), "stopped by", "bound by"]


def test_each_figure_of_a_limit_stands_under_its_head(limit: dict[str, str]) -> None:
    told = {head: limit[head] for head in ("workload", "limit", "low … high", "saturated", "p50 ms", "p99 ms", "stopped by")}
    assert told == {
        "workload": "ingest", "limit": "≥ 8,000", "low … high": "7,000 … 9,000", "saturated": "12,300", "p50 ms": "1.3", "p99 ms": "7.5",
        "stopped by": "latency",
    }  # fmt: skip
