"""How times fall with cores."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrotest.analysis.spark.speedup import ernest_rows, flow_rows, speedup_rows
from hydrotest.analysis.spark.time_spent import OTHER, PARTS
from hydrotest.report.dataflow import executors_sheet
from hydrotest.report.spark import ernest_sheet, speedup_sheet
from hydrotest.spec.load import load_experiment
from hydrotest.summary.dataflow import ExecutorsPoint
from hydrotest.summary.limits import Limit
from hydrotest.summary.spark import CoresPoint, JobTest
from hydrotest.verdicts.binding import BoundBy, Kind
from tests.rows import a, summary_of


def row(cores: int, seconds: float, factor: float = 1.0, scheduler: float = 0.1, **more: Any) -> JobTest:
    parts = dict.fromkeys([*PARTS, OTHER], 0.0) | {"cpu": 1 - scheduler, "scheduler": scheduler}
    return a(JobTest, **{"test": "sort-by-key", "tenancy": "isolated", "data_scale": 0.01, "scale_factor": factor, "total_s": seconds, "finished": True,
            "spill_bytes": 0, "data": {"seed": 1, "unique_keys": 100, "skew": 0.0}, "time": {"parts_s": parts, "cores": cores}, **more})  # fmt: skip


@given(st.floats(1, 100), st.floats(0, 0.5), st.floats(0, 0.05))
def test_the_law_that_made_the_times_is_found(one: float, serial: float, crosstalk: float) -> None:
    spark = [row(n, one * (1 + serial * (n - 1) + crosstalk * n * (n - 1)) / n) for n in (1, 2, 4, 8, 16)]
    (found,) = speedup_rows(spark)
    assert found.serial == pytest.approx(serial, abs=0.01)
    assert found.crosstalk == pytest.approx(crosstalk, abs=0.002)
    assert (found.error_pct or 0.0) < 5


def test_where_more_cores_stop_paying_is_told_with_what_grew() -> None:
    spark = [row(1, 40.0), row(2, 21.0), row(4, 12.0), row(8, 11.5, scheduler=0.6)]
    (found,) = speedup_rows(spark)
    assert (found.from_, found.to, found.stops_paying_at) == (1, 8, 8)
    assert found.fuller is not None
    assert found.fuller.what == "scheduler"
    assert (found.serial_error or 0) > 0
    (cells,) = speedup_sheet(summary_of(speedup=[found])).rows
    assert cells[-2:] == ["8", "scheduler: 10% of the tasks' time before, 60% there"]


def test_three_points_have_a_law_and_no_error() -> None:
    (found,) = speedup_rows([row(1, 40.0), row(2, 20.0), row(4, 10.0)])
    assert (found.serial_error, found.error_pct, found.stops_paying_at) == (None, None, None)
    assert found.serial == pytest.approx(0, abs=1e-3)
    assert speedup_rows([row(1, 40.0), row(2, 20.0)]) == []
    assert speedup_rows([row(1, 40.0), row(2, 20.0), row(4, 10.0, finished=False)]) == []


@pytest.mark.parametrize("times", [[40.0, 40.0, 40.0, 40.0], [40.0, 41.0, 42.0, 43.0]])
def test_where_cores_do_not_help_one_is_fastest(times: list[float]) -> None:
    (found,) = speedup_rows([row(n, seconds) for n, seconds in enumerate(times, 1)])
    assert 1 <= (found.fastest_at or 0) < 3
    assert found.stops_paying_at == 2


def test_runs_on_as_many_cores_are_one_point_and_other_data_another_curve() -> None:
    curve = [row(1, 40.0), row(2, 21.0), row(4, 12.0)]
    (found,) = speedup_rows([*curve, row(4, 12.5), row(4, 99.0), row(2, 80.0, data={"seed": 1, "unique_keys": 100, "skew": 0.5})])
    assert found.points == [CoresPoint(cores=1, seconds=40.0), CoresPoint(cores=2, seconds=21.0), CoresPoint(cores=4, seconds=12.5)]
    assert found.stops_paying_at is None


def test_two_numbers_of_cores_do_not_tell_ernests_terms_apart() -> None:
    assert ernest_rows([row(n, 2 + 30 * size / n, size) for n in (1, 2) for size in (0.5, 1, 2)]) == []


FLOWS = """\
name: x
hosts: {a: {connect: local}, b: {connect: local, address: 127.0.0.2}}
systems:
  kafka: {hosts: [a]}
  spark: {master: a, workers: [a, b], cores: 2}
workloads:
  one: {kind: kafka-produce, record_size: 100 B, levels: {info: 8}}
  two: {kind: kafka-produce, record_size: 100 B, levels: {info: 8}}
  three: {kind: kafka-produce, record_size: 100 B, levels: {info: 8}}
  on-1: {kind: dataflow, reads: one, executors: 1}
  on-2: {kind: dataflow, reads: two, executors: 2}
  other: {kind: dataflow, reads: three, executors: 2, trigger: 1 s}
tests:
  - isolated: [on-1, on-2, other]
"""


def test_where_more_executors_stop_paying_is_told_with_what_binds(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(FLOWS)
    experiment, _ = load_experiment(tmp_path / "x.yaml")

    bound = BoundBy(Kind.RESOURCE, host="a", resource="cpu")

    def limit(workload: str, value: float, at_least: bool = False) -> Limit:
        return a(Limit, workload=workload, limit=value, valid=True, at_least=at_least, bound_by=bound)

    assert flow_rows([limit("on-1", 1000.0), limit("on-2", 1200.0, at_least=True)], experiment) == []
    (found,) = flow_rows([limit("on-2", 1200.0), limit("other", 9000.0), limit("on-1", 1000.0)], experiment)
    assert found.points == [ExecutorsPoint(executors=1, limit=1000.0), ExecutorsPoint(executors=2, limit=1200.0)]
    assert (found.stops_paying_at, found.bound, found.serial) == (2, bound, None)
    (cells,) = executors_sheet(summary_of(executors=[found])).rows
    assert cells[:2] == ["on-1, on-2", "1: 1,000, 2: 1,200"]


def test_ernests_form_is_found_from_sizes_and_cores_together() -> None:
    spark = [row(n, 2 + 30 * size / n + 0.5 * math.log(n) + 0.1 * n, size) for n in (1, 2, 4, 8) for size in (0.5, 1, 2)]
    (found,) = ernest_rows(spark)
    assert [value for _, value in found.terms] == pytest.approx([2, 30, 0.5, 0.1], rel=1e-6)
    assert found.error_pct == pytest.approx(0, abs=1e-6)
    assert ernest_sheet(summary_of(ernest=[found])).rows[0][-1] == "1 … 8 cores; beyond it is a guess"
    assert ernest_rows(spark[:4]) == []
