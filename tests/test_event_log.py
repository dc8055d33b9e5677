"""Spark's event log, from a real one (Spark 4.2.0, agg-by-key, three tasks of each stage kept)."""

from __future__ import annotations

import json
from pathlib import Path

from hydrotest.analysis.event_log import parse_event_log, read_event_log

LOG = Path("tests/data/spark-event-log.jsonl")
GROUP = "iteration-4"


def test_stages_are_summed_by_job_group() -> None:
    log = read_event_log(LOG)
    assert log.cut is None
    assert list(log.groups) == [GROUP]
    first, second = log.groups[GROUP].stages
    events = [json.loads(line) for line in LOG.read_text().splitlines()]
    written = sum(
        e["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"] for e in events if e["Event"] == "SparkListenerTaskEnd"
    )
    assert first.tasks == second.tasks == log.groups[GROUP].tasks_per_stage == 3
    assert first.shuffle_write_bytes == written > 0
    assert second.shuffle_write_bytes == 0
    assert second.shuffle_read_bytes > 0
    assert first.input_bytes > 0  # it reads what lies in memory
    assert 0 < first.max_shuffle_write_s <= first.shuffle_write_s
    assert first.cpu_s <= first.run_s * 1.1


def test_a_cut_log_gives_what_it_has_and_says_so() -> None:
    text = LOG.read_text()
    cut = parse_event_log(text[: len(text) // 2].splitlines())
    assert cut.cut is not None
    assert "is cut" in cut.cut
    assert sum(stage.tasks for stage in cut.groups[GROUP].stages) < 6


def test_a_log_without_its_end_says_so() -> None:
    assert parse_event_log(LOG.read_text().splitlines()[:-1]).cut == "it ends before its application did"


def test_a_missing_log_is_empty_and_says_so(tmp_path: Path) -> None:
    log = read_event_log(tmp_path / "none")
    assert log.groups == {}
    assert log.cut == "it is not there"


def test_the_log_of_a_driver_that_still_runs_is_found(tmp_path: Path) -> None:
    (tmp_path / "app-1.inprogress").write_text(LOG.read_text())
    assert read_event_log(tmp_path / "app-1").groups
