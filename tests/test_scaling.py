"""How times grow with the scale factor."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrotest.analysis.spark.scaling import scaling_rows
from hydrotest.analysis.spark.time_spent import OTHER, PARTS
from hydrotest.report.spark import scaling_sheet
from hydrotest.summary.spark import JobTest
from tests.rows import a, summary_of


def row(factor: float, seconds: float, scheduler: float = 0.1, **more: Any) -> JobTest:
    parts = dict.fromkeys([*PARTS, OTHER], 0.0) | {"cpu": 1 - scheduler, "scheduler": scheduler}
    return a(JobTest, **{"test": "agg-by-key", "tenancy": "isolated", "data_scale": 0.01, "scale_factor": factor, "total_s": seconds, "finished": True,
            "spill_bytes": 0, "data": {"seed": 1, "unique_keys": 100, "skew": 0.0}, "time": {"parts_s": parts, "cores": 4}, **more})  # fmt: skip


@given(st.floats(0, 10), st.floats(0.1, 50))
def test_a_line_is_found(fixed: float, unit: float) -> None:
    (found,) = scaling_rows([row(factor, fixed + unit * factor) for factor in (0.1, 1, 2, 3)])
    assert found.fixed_s == pytest.approx(fixed, abs=1e-6)
    assert found.per_unit_s == pytest.approx(unit)
    assert found.bends_at is None


def test_where_it_bends_is_told_with_what_grew() -> None:
    spark = [row(0.1, 1.0), row(1, 10.0), row(2, 20.0), row(3, 60.0, scheduler=0.7)]
    (found,) = scaling_rows(spark)
    assert found.bends_at == 3
    assert found.fuller is not None
    assert found.fuller.what == "scheduler"
    (cells,) = scaling_sheet(summary_of(scaling=[found])).rows
    assert cells[-2:] == ["3", "scheduler: 10% of the tasks' time before, 70% there"]
    spilled = scaling_rows([*spark[:3], row(3, 60.0, spill_bytes=10**9)])[0]
    assert spilled.fuller is not None
    assert spilled.fuller.unit == "bytes"


def test_two_points_are_no_line_and_what_hung_is_no_point() -> None:
    assert scaling_rows([row(0.1, 1.0), row(1, 10.0)]) == []
    assert scaling_rows([row(0.1, 1.0), row(1, 10.0), row(2, 30.0, finished=False)]) == []
    assert scaling_rows([row(0.1, 1.0), row(1, 10.0), row(2, 30.0, tenancy="combined")]) == []
