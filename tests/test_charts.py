"""Figures of runs that are long, or odd."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import polars as pl
import pytest

from hydrotest.report import charts
from hydrotest.store import layout
from hydrotest.store.samples import read_samples
from tests.made_up import MadeUpRun


def test_a_service_that_was_there_for_seconds_is_drawn_beside_one_of_the_whole_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeUpRun(tmp_path)
    made.search()
    trials = made.folder.trials()
    path = made.folder.folder_of(trials[0])
    own = read_samples(path, layout.SERVICE_SAMPLES)
    brief = own.head(3).with_columns(pl.lit("brief").alias("service"))
    pl.concat([own, brief]).write_parquet(path / layout.SERVICE_SAMPLES)
    # So few points that the one is thinned and the other is not.
    monkeypatch.setattr(charts, "POINTS_MAX", 5)
    figure = charts.service_figure(made.folder, trials)
    assert figure is not None
    assert [row[0] for row in figure.rows] == ["brief", "kafka-0"]
    drawn = [row["service"] for row in next(iter(figure.spec["datasets"].values()))]
    assert {"brief", "kafka-0"} == set(drawn)
    assert len(drawn) <= 2 * 5


def test_no_sheet_is_left_out_of_the_report() -> None:
    """What the tables have, the page has: it chooses by their titles what stands where."""
    template = resources.files("hydrotest.report").joinpath("templates/report.html").read_text()
    below = re.findall(r"title\.startswith\(\(([^)]*)\)\)", template)
    shown_first, shown_below = (set(re.findall(r'"([^"]+)"', titles)) for titles in below)
    # Whatever is not named stands first; Integrity has a place of its own.
    assert shown_first == shown_below | {"Integrity"}
