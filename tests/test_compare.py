"""Two runs beside each other: told apart where they differ, and never silently where the question differs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hydrotest.analysis.compare import Comparison, Row, Run, compare
from hydrotest.analysis.summary import summarise_run
from hydrotest.cli.app import main
from tests.made_up import EXPERIMENT, MadeUpRun


def finished(made: MadeUpRun) -> MadeUpRun:
    made.search()
    summary = summarise_run(made.folder, made.experiment, "complete", "2026-01-01T00:00:00.000+00:00")
    made.folder.write_json("summary.json", summary)
    return made


def read(made: MadeUpRun) -> Run:
    return Run(made.folder, made.experiment, json.loads((made.folder.path / "summary.json").read_text()))


def row(found: Comparison, what: str) -> Row:
    return next(row for row in found.rows if row.what == what)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> MadeUpRun:
    return finished(MadeUpRun(tmp_path_factory.mktemp("base")))


def test_a_run_is_not_told_apart_from_itself(base: MadeUpRun) -> None:
    found = compare(read(base), read(base))
    assert found.differences == []
    assert {r.word for r in found.rows} == {"not told apart"}
    assert {r.what for r in found.rows} == {"limit", "p50 at the same rates", "p99 at the same rates", "cores at the same rates"}


def test_a_higher_limit_is_faster(base: MadeUpRun, tmp_path: Path) -> None:
    better = finished(MadeUpRun(tmp_path, limit=15_000.0))
    limit = row(compare(read(base), read(better)), "limit")
    assert limit.word == "faster"
    assert limit.change_pct is not None
    assert 40 < limit.change_pct < 60
    assert row(compare(read(better), read(base)), "limit").word == "slower"


def test_a_lower_latency_at_the_same_rates_is_faster(base: MadeUpRun, tmp_path: Path) -> None:
    better = finished(MadeUpRun(tmp_path, base_ms=1.5))
    found = compare(read(base), read(better))
    assert row(found, "limit").word == "not told apart"
    p99 = row(found, "p99 at the same rates")
    assert p99.n >= 3
    assert p99.change_pct is not None
    assert p99.change_pct < 0


def test_other_hardware_and_settings_are_said(base: MadeUpRun, tmp_path: Path) -> None:
    other = finished(MadeUpRun(tmp_path, text=EXPERIMENT.replace("precision: 10 %", "precision: 5 %"), cores=4))
    found = compare(read(base), read(other))
    assert "hardware: cores of here: 2 → 4" in found.differences
    assert "setting: search.precision: 0.1 → 0.05" in found.differences


def test_another_question_gets_no_verdict(base: MadeUpRun, tmp_path: Path) -> None:
    other = finished(MadeUpRun(tmp_path, text=EXPERIMENT.replace("kind: kafka-produce", "kind: kafka-produce, record_size: 1 KB")))
    found = compare(read(base), read(other))
    assert [r.word for r in found.rows] == ["not comparable"]
    assert any("record_size: 100 → 1000 (so ingest is not compared)" in line for line in found.differences)


def test_the_command_prints_differences_first(base: MadeUpRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = finished(MadeUpRun(tmp_path, limit=15_000.0, cores=4))
    assert main(["compare", str(base.folder.path), str(other.folder.path)]) == 0
    out = capsys.readouterr().out
    assert out.index("hardware: cores") < out.index("Compared")
    assert "faster" in out
    assert main(["compare", str(base.folder.path), str(tmp_path / "nothing")]) == 2
