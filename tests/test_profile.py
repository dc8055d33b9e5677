"""A rate that changes: due times, completed operations in each stretch, and the report."""

from __future__ import annotations

from typing import Any

import pytest

from hydrotest.analysis.by_test.profile import offered_at
from hydrotest.report.profile import profile_figures, profile_sentences, profile_sheet
from hydrotest.spec.tests.profile import Profile
from tests.rows import summary_of

PROFILE = Profile.model_validate(
    {
        "test": "profile",
        "workload": "ingest",
        "stretches": [{"rate": "1K", "duration": "10 s"}, {"rate": "1K", "to": "3K", "duration": "20 s"}],
    }
)


def row() -> dict[str, Any]:
    latency = {"p50": 1.0, "p99": 8.0, "p999": 9.0, "max": 9.5}
    series = [{"at_s": 0.5, "offered": 1000.0, "achieved": 990.0, "in_flight": 12, "p50_ms": 1.0, "p99_ms": 8.0}]
    stretch = {"from_s": 0.0, "to_s": 10.0, "rate": 1000.0, "end_rate": 3000.0, "offered": 2000.0, "achieved": 1990.0, "in_flight_max": 12}
    return {"workload": "ingest", "stretches": [stretch | {"latency_ms": latency}], "series": series}


def test_what_is_due_follows_the_stretches() -> None:
    assert [offered_at(PROFILE, at) for at in (0, 9.9, 10, 20, 30)] == pytest.approx([1000, 1000, 1000, 2000, 0])
    assert [stretch.operations for stretch in PROFILE.stretches] == [10_000, 40_000]
    assert PROFILE.duration == 30


def test_it_is_told_in_a_table_a_figure_and_a_sentence() -> None:
    summary = summary_of(profiles=[row()])
    (cells,) = profile_sheet(summary).rows
    assert cells[:5] == ["ingest", "0 … 10 s", "1,000 → 3,000", "2,000", "1,990"]
    (figure,) = profile_figures(summary)
    assert figure.rows == [["0.5", "1,000", "990", "1.00", "8.00", "12"]]
    assert profile_sentences(summary.profiles) == [
        "ingest at a rate that changes: p99 8.0 ms at the worst, from second 0 to 10, at 1,000 to 3,000/s."
    ]
