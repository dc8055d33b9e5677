"""The report's page, without a browser: tables of at most seven columns, units in heads, nothing left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hydrotest.analysis.summary import summarise_run
from hydrotest.report.glance.model import Card, Gauge, Span
from hydrotest.report.page.drawings import GAUGE_END, card_drawing, gauge_drawing
from hydrotest.report.page.page import render
from hydrotest.report.page.tables import page_table
from hydrotest.report.sheets import sheets
from hydrotest.report.table import COLUMNS_MAX, NONE, Table
from hydrotest.report.wording.summary import worded
from tests.synthetic import SyntheticRun


def test_a_unit_that_a_column_has_stands_in_its_head() -> None:
    table = page_table("t", ["host", "used", "size"], [["a", "12 %", "1.2 GB"], ["b", NONE, "900 MB"]])
    assert [(column.unit, column.is_figure) for column in table.columns] == [("", False), ("%", True), ("", True)]
    assert [cell.text for cell in table.rows[0]] == ["a", "12", "1.2"]
    assert [cell.unit for cell in table.rows[1]] == ["", "", "MB"]


def test_a_unit_is_named_once() -> None:
    table = page_table("t", ["p99 ms", "seconds", "memory"], [["1 ms", "2 s", "3 GB"]])
    assert [(column.own_unit, column.label) for column in table.columns] == [("", "p99 ms"), ("s", "seconds (s)"), ("GB", "memory (GB)")]


def test_figures_are_sorted_by_their_values() -> None:
    table = page_table("t", ["size"], [["1.2 GB"], ["900 MB"], ["≥ 7 GB"], ["1,234"]])
    assert [row[0].value for row in table.rows] == [1.2e9, 9e8, 7e9, 1234.0]


def test_at_most_seven_columns_are_seen_at_once() -> None:
    heads = [f"head {number}" for number in range(12)]
    table = page_table("t", heads, [heads])
    assert len(table.shown) + 1 <= COLUMNS_MAX
    assert sorted([*table.shown, *table.hidden]) == list(range(12))
    few = page_table("t", heads[:7], [heads[:7]])
    assert (list(few.shown), few.hidden) == (list(range(7)), [])


def test_every_table_names_columns_that_it_has() -> None:
    wide = [f"head {number}" for number in range(9)]
    assert Table("t", wide, [wide], lead=("head 8", "head 0")).shown == [8, 0]


def test_a_gauge_ends_behind_its_objective() -> None:
    held, above = gauge_drawing(Gauge("p99", 25.0, 50.0)), gauge_drawing(Gauge("p99", 500.0, 50.0))
    assert [held.value, held.bound] == pytest.approx([100 * 0.5 / GAUGE_END, 100 / GAUGE_END])
    assert (above.value, above.bound) == (100.0, 10.0)
    assert gauge_drawing(Gauge("p99", 5.0, None)).bound is None


def test_an_interval_is_drawn_on_its_scale() -> None:
    drawn = card_drawing(Card("w", "k", "limit", "8", "/s", span=Span(5.0, 9.0, 8.0, 10.0, safe=4.0)), "10")
    assert drawn is not None
    assert (drawn.low, drawn.value, drawn.high, drawn.safe) == (50.0, 80.0, 90.0, 40.0)
    assert card_drawing(Card("w", "k", "level", "8", "/s"), "") is None


def test_the_page_has_each_table_and_no_other_source(tmp_path: Path) -> None:
    made = SyntheticRun(tmp_path)
    made.search()
    summary = worded(summarise_run(made.folder, made.experiment, "complete", "2026-01-01T00:00:00+00:00"))
    page = render(made.folder, made.experiment, summary)
    for table in sheets(summary, {"ingest": "kafka-produce"}):
        assert f">{table.title}</b>" in page or table.title in re.findall(r"<figcaption><b>([^<]*)</b>", page)
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.findall(r'(?:src|href)="(?!#)[^"]*"', markup)
    ids = re.findall(r'\sid="([^"]+)"', markup)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', markup)) <= set(ids)
    assert 'id="line-1"' in markup
