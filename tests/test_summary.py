"""summary.json, tables and report from a made-up run folder: true to the contract, honest in words."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from hydrotest.analysis.limits import verdict
from hydrotest.analysis.limits.search import LimitSearch
from hydrotest.analysis.summary import ROWS_ACCOUNTED, ROWS_BEGUN, UNKNOWN_ROWS, integrity_rows, summarise_run
from hydrotest.report.doubts import not_valid
from hydrotest.report.missed_objectives import missed
from hydrotest.report.narrative import end_to_end_sentence, findings
from hydrotest.report.page.page import write_report
from hydrotest.report.terminal import print_summary
from hydrotest.report.wording.summary import worded
from hydrotest.summary.limits import Limit
from hydrotest.summary.model import Summary
from hydrotest.verdicts.limit import Flawed
from hydrotest.verdicts.problem import OtherThreshold, Problem, Rejudged
from tests.rows import summary_of
from tests.synthetic import SyntheticRun

SCHEMA = json.loads(Path("contract/summary.schema.json").read_text())
KINDS = {"ingest": "kafka-produce"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> SyntheticRun:
    made = SyntheticRun(tmp_path_factory.mktemp("made"))
    made.search()
    return made


@pytest.fixture(scope="module")
def summary(run: SyntheticRun) -> Summary:
    return worded(summarise_run(run.folder, run.experiment, "complete", "2026-01-01T00:00:00.000+00:00"))


def test_the_summary_is_true_to_the_schema(summary: Summary) -> None:
    jsonschema.validate(summary.written(), SCHEMA)


def test_the_known_limit_is_found(run: SyntheticRun, summary: Summary) -> None:
    row = summary.limits[0]
    assert (row.low or 0) <= run.limit < (row.high or 0)
    assert (row.low or 0) < (row.limit or 0) < (row.high or 0)
    assert (row.safe or 0) <= (row.limit or 0)
    assert row.precise
    assert row.lapse is not None
    assert row.lapse.low < 0.05
    assert (row.drift or 1) < 0.3
    assert [one.holds for one in row.chances] == sorted((one.holds for one in row.chances), reverse=True)
    assert not row.at_least
    assert row.stopped_by == "latency"
    assert row.repeats == len(row.trials)
    assert set(row.at_limit) <= set(row.trials)
    assert row.valid


def test_latencies_are_ordered(summary: Summary) -> None:
    for latency in [row.latency_ms for row in summary.limits] + [row.latency_ms for row in summary.levels]:
        assert latency is not None
        ordered = [value or 0.0 for value in (latency.p50, latency.p95, latency.p99, latency.p999, latency.max)]
        assert ordered == sorted(ordered)


def test_each_missed_objective_is_named_and_nothing_else(summary: Summary) -> None:
    assert missed(summary) == []
    lost = summary.integrity[0].model_copy(update={"workload": "flow", "acked": 20_000, "lost": 37, "corrupted": 0})
    level = {"workload": "ingest", "tenancy": "isolated", "offered": 417_000.0, "accepted": False}
    limit = summary.limits[0].model_copy(update={"limit": None, "invalid_because": ["the search was cut short"]})
    job = {
        "workload": "batch",
        "tenancy": "isolated",
        "test": "agg-by-key",
        "finished": True,
        "accepted": False,
        "total_s": 12.44,
        "objective_s": 12.0,
    }
    hung = {**job, "test": "sort-by-key", "finished": False}
    found = missed(
        summary_of(limits=[limit], levels=[level], integrity=[lost], spark=[job, hung],
                   soak=[{"workloads": [{"workload": "store", "offered": 500.0, "accepted": False, "reasons": ["a backlog grew"]}]}])
    )  # fmt: skip
    tenancy = lost.tenancy
    assert found == [
        f"{limit.workload} ({limit.tenancy}): no limit was found; the search was cut short",
        "ingest (isolated): 417,000/s were not sustained",
        "store (soak): 500/s were not sustained; a backlog grew",
        "batch (isolated): agg-by-key took 12.4 s, its objective is 12.0 s",
        "batch (isolated): sort-by-key did not come to its end",
        f"flow ({tenancy}): 37 of 20,000 acknowledged {lost.unit} lost",
    ]


def test_usage_comes_from_counters(summary: Summary) -> None:
    usage = summary.usage[0]
    # The made-up host spends half a second of user and half of system time in each second.
    assert usage.cpu_cores_mean == pytest.approx(1.0, rel=0.01)
    assert usage.memory_bytes_peak == 2 << 30


def test_integrity_is_summed_over_all_trials(run: SyntheticRun, summary: Summary) -> None:
    row = summary.integrity[0]
    assert row.trials == run.number
    assert (row.lost, row.acked) == (0, row.sent)


def test_findings_say_how_much_at_what_latency_and_whether_anything_was_lost(summary: Summary) -> None:
    text = " ".join(findings(summary))
    assert re.search(r"How much\? ingest sustains [\d,]+ records/s \(90 % sure: [\d,]+ to [\d,]+\)\.", text)
    assert "ingest p99 2.0 ms (objective 50 ms)" in text
    assert "Bound by what? ingest: above it the response time misses its objective." in text
    assert "No workloads ran together in this run." in text
    assert "Nothing was lost of" in text
    assert not_valid(summary) == []


def test_a_loss_is_shouted(tmp_path: Path) -> None:
    made = SyntheticRun(tmp_path)
    made.trial("search", 8_000, lost=7)
    summary = summarise_run(made.folder, made.experiment, "partial", "now")
    jsonschema.validate(summary.written(), SCHEMA)
    assert any("LOST: 7 of 40,000 records of ingest" in sentence for sentence in findings(summary))


def test_an_empty_run_still_has_a_valid_summary(tmp_path: Path) -> None:
    made = SyntheticRun(tmp_path)
    summary = summarise_run(made.folder, made.experiment, "failed", "now")
    jsonschema.validate(summary.written(), SCHEMA)
    assert summary.limits == []


def test_a_limit_that_the_generator_set_is_only_at_least(tmp_path: Path) -> None:
    made = SyntheticRun(tmp_path)
    made.trial("saturated", None)
    _search_with_a_weak_generator(made)
    summary = summarise_run(made.folder, made.experiment, "complete", "now")
    row = summary.limits[0]
    assert row.at_least
    assert row.bound_by.kind == "generator"
    assert any("at least" in sentence for sentence in findings(summary))
    assert any("only “at least”" in problem for problem in not_valid(summary))


def _search_with_a_weak_generator(made: SyntheticRun) -> None:
    search = LimitSearch(made.measured(made.folder.trials()[0]).achieved, 0.1)
    while (rate := search.propose()) is not None:
        weak = rate > 5_000
        made.trial("search", rate, cpu_share=0.95 if weak else 0.2)
        search.record(not weak)


def test_the_terminal_tables(summary: Summary) -> None:
    out = StringIO()
    print_summary(summary, KINDS, Console(file=out, width=200))
    text = out.getvalue()
    for expected in ("Limits", "Integrity", "Usage while measured", "Generator", "Our own overhead", "ingest"):
        assert expected in text


@pytest.fixture(scope="module")
def report(run: SyntheticRun, summary: Summary) -> Path:
    return write_report(run.folder, run.experiment, summary)


def test_the_report_is_one_offline_file_with_every_part(report: Path) -> None:
    html = report.read_text()
    assert report.stat().st_size < 5 << 20
    body = html[html.index("<body>") :]
    markup = re.sub(r"<script>.*?</script>", "", body, flags=re.DOTALL)
    sections = re.findall(r'<section class="question" id="([\w-]+)">', markup)
    assert sections == ["limits", "bottlenecks", "integrity", "usage", "environment", "experiment"]
    figures = re.findall(r'<figure id="figure-([\w-]+)">', markup)
    assert figures == ["curve-ingest-isolated", "percentiles", "timeline", "heat", "host-here", "services", "speed"]
    assert markup.count("As a table") == len(figures)
    assert "src=" not in markup
    assert not re.search(r'<(?:link|script|img)[^>]+(?:href|src)="http', html)


def test_end_to_end_latencies_are_told_with_the_clocks_error() -> None:
    def host(offset_s: float) -> dict[str, Any]:
        return {"clock": {"offset_s": offset_s, "error_s": 0.0001}}

    followed = {"workload": "drain", "kind": "kafka-consume", "tenancy": "combined"}
    told = end_to_end_sentence(summary_of(**{"generator": [followed], "hosts": [host(0.001), host(-0.002), host(0.0)]}))
    assert told is not None
    # The two furthest from the controller's: 1.1 and 2.1 ms.
    assert "drain are end to end" in told
    assert "at most 3.20 ms" in told
    one = end_to_end_sentence(summary_of(**{"generator": [followed], "hosts": [host(0.0)]}))
    assert one is not None
    assert "one host's clock" in one
    unknown = end_to_end_sentence(summary_of(**{"generator": [followed], "hosts": [host(0.0), {}]}))
    assert unknown is not None
    assert "not compared" in unknown
    compared = end_to_end_sentence(summary_of(**{"generator": [followed | {"clock_error_ms": 0.25}], "hosts": [host(0.001), host(0.0)]}))
    assert compared is not None
    assert "0.25 ms" in compared
    # Alone it catches up, and has no latencies.
    assert end_to_end_sentence(summary_of(**{"generator": [followed | {"tenancy": "isolated"}], "hosts": [host(0.0)]})) is None


def test_of_rows_that_a_run_could_not_read_back_nothing_is_known_whatever_the_one_after_it_found() -> None:
    """A node died, and the run was resumed, with a table of its own."""
    found = UNKNOWN_ROWS.model_copy(update={"sent": 9, "acked": 9, "seen": 9, "lost": 0})
    journal: list[dict[str, Any]] = [
        {"what": ROWS_BEGUN, "workload": "store", "keyspace": "first"},
        {"what": ROWS_BEGUN, "workload": "store", "keyspace": "second"},
        {"what": ROWS_ACCOUNTED, "workload": "store", "keyspace": "second", "fates": found.model_dump()},
    ]
    (row,) = integrity_rows([], journal)
    assert (row.acked, row.lost, row.trials) == (9, None, 2)
    (whole,) = integrity_rows([], journal[1:])
    assert (whole.acked, whole.lost) == (9, 0)


def limit_of(made: SyntheticRun, **how: bool) -> tuple[Limit, list[Problem]]:
    summary = worded(summarise_run(made.folder, made.experiment, "complete", "now", **how))
    (row,) = summary.limits
    return row, summary.problem_causes


def test_an_old_run_shows_what_it_decided_whatever_the_rules_are_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = SyntheticRun(tmp_path)
    made.search()
    before, problems = limit_of(made)
    assert problems == []
    # By a stricter rule every trial would be rejected, and the search would have gone elsewhere.
    monkeypatch.setattr(verdict, "ACHIEVED_MIN", 1.5)
    after, problems = limit_of(made)
    assert (after.low, after.high, after.stopped_by, after.valid) == (before.low, before.high, before.stopped_by, True)
    assert [problem.name for problem in problems if isinstance(problem, OtherThreshold)] == ["achieved"]
    anew, changed = limit_of(made, rejudge=True)
    assert {problem.of: (problem.then, problem.now) for problem in changed if isinstance(problem, Rejudged)}["limit"] == (
        before.limit,
        None,
    )
    assert (anew.limit, anew.valid) == (None, False)


def test_a_window_at_any_rate_counts(tmp_path: Path) -> None:
    """Such as those of another version's search."""
    made = SyntheticRun(tmp_path)
    made.search()
    before, _ = limit_of(made)
    made.trial("search", 3_333.0)
    after, _ = limit_of(made)
    assert after.flaws == before.flaws == []
    assert after.repeats == before.repeats + 1


def test_a_search_that_was_cut_short_does_not_count(tmp_path: Path) -> None:
    made = SyntheticRun(tmp_path)
    made.trial("saturated", None)
    for rate in (8_000.0, 11_000.0):
        made.trial("search", rate)
    row, _ = limit_of(made)
    assert [flaw.code for flaw in row.flaws] == [Flawed.FEW_WINDOWS]
    assert not row.valid


def test_a_resumed_search_stays_on_its_grid(tmp_path: Path) -> None:
    """A second saturated trial, after a failed step, is no reason to look at another grid."""
    made = SyntheticRun(tmp_path)
    made.search()
    before, _ = limit_of(made)
    made.limit = 14_321.0
    made.trial("saturated", None)
    after, _ = limit_of(made)
    assert (after.low, after.high, after.saturated) == (before.low, before.high, before.saturated)


def test_a_run_folder_may_have_letters_that_a_pattern_has(tmp_path: Path) -> None:
    made = SyntheticRun(tmp_path / "etl [1] *?")
    made.search()
    summary = summarise_run(made.folder, made.experiment, "complete", "now")
    assert summary.usage != []


def test_what_a_search_could_not_settle_is_said(summary: Summary) -> None:
    [row] = summary.limits
    before = not_valid(summary)
    moved = summary.model_copy(update={"limits": [row.model_copy(update={"drift": 0.6})]})
    wide = summary.model_copy(update={"limits": [row.model_copy(update={"precise": False})]})
    assert len(not_valid(moved)) == len(not_valid(wide)) == len(before) + 1
