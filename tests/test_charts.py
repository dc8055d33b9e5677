"""Figures of runs that are long, or odd."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import polars as pl
import pytest

from hydrotest.analysis.summary import summarise_run
from hydrotest.report.figures import accounts, hosts, theme
from hydrotest.report.usage import by_test_sheet, usage_figures
from hydrotest.report.wording.summary import worded
from hydrotest.store import layout
from hydrotest.store.samples import read_samples
from tests.rows import summary_of
from tests.synthetic import SyntheticRun
from tests.test_summary import SCHEMA


def test_a_service_that_was_there_for_seconds_is_drawn_beside_one_of_the_whole_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = SyntheticRun(tmp_path)
    made.search()
    trials = made.folder.trials()
    path = made.folder.folder_of(trials[0])
    own = read_samples(path, layout.SERVICE_SAMPLES)
    brief = own.head(3).with_columns(pl.lit("brief").alias("service"))
    pl.concat([own, brief]).write_parquet(path / layout.SERVICE_SAMPLES)
    # So few points that the one is thinned and the other is not.
    monkeypatch.setattr(theme, "POINTS_MAX", 5)
    figure = hosts.service_figure(made.folder, trials)
    assert figure is not None
    assert [row[0] for row in figure.rows] == ["brief", "kafka-0"]
    drawn = [row["service"] for row in next(iter(figure.spec["datasets"].values()))]
    assert {"brief", "kafka-0"} == set(drawn)
    assert len(drawn) <= 2 * 5


def test_of_many_series_each_has_fewer_points() -> None:
    frame = pl.DataFrame({"minute": [float(minute) for minute in range(10_000)]})
    points = [theme.thinned(frame, series).height for series in (1, theme.SERIES_MAX, 20)]
    assert points[0] == points[1] <= theme.POINTS_MAX
    assert 20 * points[2] <= theme.SERIES_MAX * theme.POINTS_MAX


def test_usage_of_several_hosts_is_told_by_test(tmp_path: Path) -> None:
    made = SyntheticRun(tmp_path)
    made.search()
    environment = made.folder.read_json(layout.ENVIRONMENT)
    environment["hosts"].append({**environment["hosts"][0], "name": "there"})
    made.folder.write_json(layout.ENVIRONMENT, environment)
    for trial in made.folder.trials():
        path = made.folder.folder_of(trial)
        own = read_samples(path, layout.HOST_SAMPLES)
        pl.concat([own, own.with_columns(pl.lit("there").alias("host"))]).write_parquet(path / layout.HOST_SAMPLES)
    summary = worded(summarise_run(made.folder, made.experiment, "complete", "now"))
    jsonschema.validate(summary.written(), SCHEMA)
    rows = summary.usage_by_test
    assert [(row.name, row.host) for row in rows] == [("1 isolated ingest", "here"), ("1 isolated ingest", "there")]
    assert rows[1].network_out_bytes_per_s_mean == pytest.approx(2e6)
    assert len(by_test_sheet(summary).rows) == 2
    figures = usage_figures(summary)
    assert {figure.slug for figure in figures} >= {"usage-cpu", "usage-memory", "usage-segments-in", "usage-disk-writes"}
    assert all(len(figure.rows) == 2 for figure in figures)
    # The charts by workload already show a single host.
    assert usage_figures(summary.model_copy(update={"hosts": summary.hosts[:1]})) == []


def test_a_single_lost_record_is_seen_in_the_account_of_a_dataflow() -> None:
    step = {"workload": "flow", "acked": 1_000_000, "arrived_once": 1_000_000, "hop": "split", "sink": None}
    sinks = [{**step, "hop": "save", "sink": "kafka"}, {**step, "hop": "save", "sink": "hdfs", "arrived_once": 999_999, "lost": 1}]
    [figure] = accounts.account_figures(summary_of(dataflow=[step, *sinks]))
    flows = next(rows for rows in figure.spec["datasets"].values() if "flow" in rows[0])
    lost = [row for row in flows if row["fate"] == accounts.LOST]
    assert {row["flow"] for row in lost} == {f"save → hdfs-{accounts.LOST}"}
    assert all(row["high"] - row["low"] >= 0.9 * accounts.LEAST / 2 for row in lost)
    assert ["save → hdfs", accounts.LOST, "1", "0.0001%"] in figure.rows
    texts = [row["text"] for rows in figure.spec["datasets"].values() for row in rows if "text" in row]
    assert any("1 LOST" in text for text in texts)


def test_no_figure_of_a_dataflow_without_records() -> None:
    assert accounts.account_figures(summary_of(dataflow=[{"workload": "flow", "hop": "split"}])) == []
