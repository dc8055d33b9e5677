"""Figures that a finding must not repeat, or show beyond what was measured."""

from __future__ import annotations

import pytest

from hydrotest.report.narrative import integrity_sentence
from hydrotest.report.sheets import integrity_sheet
from hydrotest.report.soak import soak_sentences, soak_sheet
from hydrotest.summary.integrity import Integrity
from hydrotest.summary.model import Summary
from hydrotest.summary.soak import Soak
from tests.rows import a, summary_of


def soak_of(seconds: float) -> Summary:
    """A soak whose p99 falls by 37 times its mean an hour, and whose broker grows by 240 MB an hour."""
    drift = {"per_hour": -3_720.0, "low": -3_840.0, "high": -3_600.0, "sure": True}
    growth = {"per_hour": 240e6, "low": 120e6, "high": 360e6, "n": 60, "sure": True}
    soak = a(Soak, seconds=seconds, workloads=[{"workload": "ingest", "drift_pct": {"p99_ms": drift}}],
             services=[{"service": "kafka-0", "growth_bytes_per_hour": growth}])  # fmt: skip
    return summary_of(soak=[soak])


@pytest.mark.parametrize(
    ("seconds", "drift", "growth"),
    [(60.0, ("-62.0 %", "-64.0 … -60.0 %"), ("+4.0 MB", "+2.0 … +6.0 MB")),
     (7200.0, ("-3,720.0 %", "-3,840.0 … -3,600.0 %"), ("+240.0 MB", "+120.0 … +360.0 MB"))],
)  # fmt: skip
def test_a_trend_is_shown_over_no_longer_than_was_measured(seconds: float, drift: tuple[str, str], growth: tuple[str, str]) -> None:
    sheet = soak_sheet(soak_of(seconds))
    rows = [dict(zip(sheet.heads, row, strict=True)) for row in sheet.rows]
    assert [(row["change"], row["95 % interval"]) for row in rows] == [drift, growth]


def test_the_sentence_shows_the_same_change_as_the_table() -> None:
    (short,) = soak_sentences(soak_of(60.0).soak)
    assert "-62 %" in short
    assert "4 MB" in short
    assert "an hour" not in short
    (long,) = soak_sentences(soak_of(7200.0).soak)
    assert "-3720 % an hour" in long


def integrity(**counts: int) -> Integrity:
    return a(Integrity, workload="flow", **{"acked": 22_000, "lost": 0, "tenancy": "isolated", **counts})


def test_flaws_that_were_not_found_are_left_out() -> None:
    said = integrity_sentence([integrity(corrupted=0, duplicated=0, out_of_order=11_345)])
    assert "11,345" in said
    assert "corrupted" not in said
    assert "doubled" not in said
    assert "1 corrupted" in integrity_sentence([integrity(corrupted=1, duplicated=0, out_of_order=2)])


def test_rows_of_the_account_are_distinct() -> None:
    rows = [integrity(), a(Integrity, workload="flow", tenancy="combined", acked=22_000)]
    sheet = integrity_sheet(summary_of(integrity=rows))
    assert [dict(zip(sheet.heads, row, strict=True))["tenancy"] for row in sheet.rows] == ["isolated", "combined"]
