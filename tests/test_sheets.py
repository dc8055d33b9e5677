"""Tables of the report: their columns, and what is in them."""

from __future__ import annotations

import pytest

from hydrotest.percentiles import heads
from hydrotest.report.page.page import with_code
from hydrotest.report.sheets import limits_sheet
from hydrotest.report.table import NONE, figure_columns
from tests.rows import summary_of


@pytest.fixture
def limit() -> dict[str, str]:
    """The one row of the table of limits, by column."""
    row = {
        "workload": "ingest", "tenancy": "isolated", "unit": "records/s", "limit": 8_000.0, "at_least": True, "low": 7_000.0, "high": 9_000.0, "safe": 6_500.0,
        "saturated": 12_345.0, "latency_ms": {"p50": 1.26, "p99": 7.5}, "stopped_by": "latency",
    }  # fmt: skip
    sheet = limits_sheet(summary_of(limits=[row]))
    assert [len(cells) for cells in sheet.rows] == [len(sheet.heads)]
    return dict(zip(sheet.heads, sheet.rows[0], strict=True))


def test_columns_of_the_table_of_limits(limit: dict[str, str]) -> None:
    before = ["workload", "tenancy", "unit", "limit", "low … high", "safe", "lapse", "saturated"]
    assert list(limit) == [*before, *heads(every=False), "stopped by", "bound by"]


def test_each_figure_of_a_limit_stands_under_its_head(limit: dict[str, str]) -> None:
    told = {
        head: limit[head] for head in ("workload", "limit", "low … high", "safe", "lapse", "saturated", "p50 ms", "p99 ms", "stopped by")
    }
    assert told == {
        "workload": "ingest", "limit": "≥ 8,000", "low … high": "7,000 … 9,000", "safe": "6,500", "lapse": NONE, "saturated": "12,300", "p50 ms": "1.3", "p99 ms": "7.5",
        "stopped by": "latency",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "is_of_figures"),
    [
        (["8,000", "≥ 9,000", "–"], True), (["174% of 1.14 cores", "90%"], True), (["+3.2 … +4.7 %", "-0.4 … +0.2 %"], True),
        (["CPU", "share of the slots"], False), (["90%", "CPU"], False), (["11: level at 1,000"], False), (["–", "–"], False), (["", "1.5"], True),
    ],
)  # fmt: skip
def test_figures_are_aligned_on_the_right_and_words_on_the_left(cells: list[str], is_of_figures: bool) -> None:
    assert figure_columns(["head"], [[cell] for cell in cells]) == [is_of_figures]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("`squeeze: 3 min` in its test", "<code>squeeze: 3 min</code> in its test"), ("`<b>` & `x`", "<code>&lt;b&gt;</code> &amp; <code>x</code>"),
        ("one ` alone", "one ` alone"), ("<script>", "&lt;script&gt;"),
    ],
)  # fmt: skip
def test_what_stands_between_backticks_is_code(text: str, html: str) -> None:
    assert with_code(text) == html
