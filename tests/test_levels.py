"""Given levels: why one was not sustained, and what its response times are made of."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from hydrotest.analysis.summary import summarise_run
from hydrotest.report.doubts import failed_in_times
from hydrotest.report.levels import cassandra_sheet, produce_sheet, rejected_sheet
from hydrotest.report.missed_objectives import missed
from hydrotest.report.table import NONE, Table
from hydrotest.report.terminal import print_summary
from hydrotest.report.wording.summary import worded
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Load, StockResult, Trial
from hydrotest.summary.model import Summary
from hydrotest.verdicts.trial import Check, Rule, TooLong
from tests.synthetic import REFUSED_US, SyntheticRun

SCHEMA = json.loads(Path("contract/summary.schema.json").read_text())
EXPERIMENT = """\
name: levels
hosts:
  here: {connect: local}
systems:
  kafka: {hosts: [here]}
  cassandra: {hosts: [here]}
workloads:
  ingest: {kind: kafka-produce}
  drain: {kind: kafka-consume, reads: ingest}
  store: {kind: cassandra, mix: {write: 1, read: 3}, keys: "uniform(0, 5K)"}
objectives:
  ingest: {p99: 50 ms}
tests:
  - levels: {workload: ingest, rates: [14, 5K, 20K]}
"""
KINDS = {"ingest": "kafka-produce", "drain": "kafka-consume", "store": "cassandra"}
LATENCY: dict[str, float | None] = {"mean": 2.0, "p50": 2.0, "p95": 3.0, "p99": 4.0, "p999": 5.0, "max": 9.0}


def summary_of(run: SyntheticRun) -> Summary:
    summary = worded(summarise_run(run.folder, run.experiment, "complete", "2026-01-01T00:00:00.000+00:00"))
    jsonschema.validate(summary.written(), SCHEMA)
    return summary


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    """A level of which all is refused, one that is sustained, one that is too much, one that is void."""
    run = SyntheticRun(tmp_path_factory.mktemp("levels"), text=EXPERIMENT)
    run.trial("level", 14, refused=14)
    run.trial("level", 5_000)
    run.trial("level", 20_000)
    run.trial("level", 6_000, overflows=3)
    return summary_of(run)


def column(sheet: Table, head: str) -> list[str]:
    return [row[sheet.heads.index(head)] for row in sheet.rows]


def test_a_rejected_level_says_which_rules_failed(summary: Summary) -> None:
    refused, held, too_much, void = summary.levels
    failed = [{check.rule for check in row.checks if not check.held} for row in summary.levels]
    assert failed[0] >= {"errors", "achieved"}
    assert failed[1] == set()
    assert failed[2] >= {"latency", "achieved", "backlog"}
    assert [row.accepted for row in summary.levels] == [False, True, False, False]
    assert refused.errors_by_name == {"MESSAGE_TOO_LARGE": 70}
    figures = {check.rule: (check.value, check.bound) for check in refused.checks}
    assert figures[Rule.ERRORS] == (70, 0)
    assert figures[Rule.ACHIEVED][0] == 0 < (figures[Rule.ACHIEVED][1] or 0)
    latency = next(check for check in too_much.checks if check.rule == "latency")
    assert latency.value == pytest.approx(400, rel=0.01)
    assert (latency.bound, latency.unit) == (50, "ms")
    (errors,) = (check for check in refused.because if isinstance(check, Check) and check.rule == Rule.ERRORS)
    assert errors.errors == {"MESSAGE_TOO_LARGE": 70}
    assert (held.because, held.reasons) == ([], [])
    assert len(too_much.reasons) == len(too_much.because) == len(failed[2])
    assert failed[3] == set()
    assert void.because == [TooLong(3)]
    assert len(void.reasons) == 1


def test_the_terminal_says_why(summary: Summary) -> None:
    sheet = rejected_sheet(summary)
    rules = {target: {rule for at, rule in zip(column(sheet, "target"), column(sheet, "rule"), strict=True) if at == target}
             for target in column(sheet, "target")}  # fmt: skip
    assert rules["14/s"] >= {"errors", "achieved"}
    assert rules["20,000/s"] >= {"latency", "achieved", "backlog"}
    assert rules["6,000/s"] == {NONE}
    assert "5,000/s" not in rules
    out = StringIO()
    print_summary(summary, KINDS, Console(file=out, width=250))
    assert "MESSAGE_TOO_LARGE 70" in out.getvalue()
    # The last output of `run`, for its exit code.
    assert any("MESSAGE_TOO_LARGE 70" in line for line in missed(summary))


def test_kafkas_table_has_the_errors(summary: Summary) -> None:
    errors = column(produce_sheet(summary, KINDS), "errors")
    # 56 of the 70 were due in the window, which leaves the first second out.
    assert errors == ["70 (56 timed)", "0", "0", "0"]


def test_a_percentile_lowered_by_refusals_is_known_as_such(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path, text=EXPERIMENT.replace("p99: 50 ms", "p99: 50 ms, errors: 100000"), base_ms=40.0)
    run.trial("level", 5_000)
    run.trial("level", 5_000, refused=4_999)
    summary = summary_of(run)
    answered, refused = summary.levels
    assert answered.latency_ms is not None
    assert refused.latency_ms is not None
    assert answered.latency_ms.p99 == pytest.approx(40, rel=0.01)
    assert refused.latency_ms.p99 == pytest.approx(REFUSED_US / 1e3, rel=0.01)
    assert (answered.latency_includes_failed, refused.latency_includes_failed) == (0, 4 * 4_999)
    assert (answered.samples, refused.samples) == (20_000, 20_000)
    assert [point.latency_includes_failed for point in summary.curves[0].points] == [0, 4 * 4_999]
    doubts = failed_in_times(summary)
    assert len(doubts) == 1
    assert f"{4 * 4_999:,}" in doubts[0]


def test_a_limit_that_allows_errors_says_that_they_are_in_its_latency(tmp_path: Path) -> None:
    text = EXPERIMENT.replace("p99: 50 ms", "p99: 50 ms, errors: 100000").replace(
        "levels: {workload: ingest, rates: [14, 5K, 20K]}", "isolated: [ingest]"
    )
    run = SyntheticRun(tmp_path, text=text + "search: {precision: 10 %, window: 4 s, warm_up: 1 s}\n")
    run.search(refused=1)
    row = summary_of(run).limits[0]
    assert row.latency_includes_failed == 4 * len(row.at_limit) > 0


def stock_trial(run: SyntheticRun, workload: str, result: StockResult) -> None:
    run.number += 1
    load = Load(workload=workload, kind=KINDS[workload], client="stock", stock=result)
    run.folder.write_trial(Trial(number=run.number, slug=f"level-{workload}", purpose=Purpose.LEVEL, tenancy="isolated", warm_up_s=1.0, window_s=4.0,
                                 prepared_wall_s=run.clock_s, ended_wall_s=run.clock_s + 6, status="done", loads=[load]))  # fmt: skip


def test_errors_of_stock_tools_are_those_that_they_print(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path, text=EXPERIMENT)
    own: dict[str, float | None] = {**LATENCY, "rate_per_s": 60.0, "count": 600.0, "errors": 5.0}
    plain: dict[str, Any] = {"bytes_per_s": None, "cpu_s": 1.0, "latency_ms": None}
    stock_trial(run, "ingest", StockResult(count=1000, seconds=10, rate_per_s=100, errors=3, errors_by_name={"RecordTooLargeException": 3},
                                           latency_from_send_ms=LATENCY, count_in_all=2000, **plain))  # fmt: skip
    stock_trial(run, "drain", StockResult(count=1000, seconds=10, rate_per_s=100, errors=None, **plain))
    stock_trial(run, "store", StockResult(count=1200, seconds=10, rate_per_s=120, errors=12, bytes_per_s=None, cpu_s=1.0, latency_ms=LATENCY,
                                          by_op={"read": own, "write": {**own, "errors": 7.0}}))  # fmt: skip
    summary = summary_of(run)
    ingest, drain, mix, read, write = summary.levels
    assert (ingest.errors, ingest.errors_known, ingest.errors_by_name) == (3, True, {"RecordTooLargeException": 3})
    assert ingest.latency_includes_failed == 0  # it times only what was stored
    assert (drain.errors, drain.errors_known) == (0, False)
    assert [row.errors for row in (mix, read, write)] == [12, 5, 7]
    assert [row.count for row in (mix, read, write)] == [1200, 600, 600]
    assert [row.samples for row in (mix, read, write)] == [1212, 605, 607]
    assert column(produce_sheet(summary, KINDS), "errors") == ["3", NONE]
    assert column(cassandra_sheet(summary, KINDS), "errors") == ["12 (12 timed)", "5 (5 timed)", "7 (7 timed)"]
    assert column(cassandra_sheet(summary, KINDS), "samples") == ["1,212", "605", "607"]
