"""Recorded runs of real systems (tests/data/runs): summed up anew, their figures are the same to the last digit."""

from __future__ import annotations

import json
import math
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hydrotest.cli.entry import main
from hydrotest.report.terminal import LINES_MAX
from hydrotest.store import layout
from hydrotest.store.folder import STARTED, RunFolder

RUNS = sorted((Path(__file__).parent / "data" / "runs").iterdir())
TEXTS = {
    "detail",
    "there",
    "what",
    "why",
    "caveats",
    "provable_by",
    "reasons",
    "invalid_because",
    "at_least_because",
    "why_not",
    "words",
    "problems",
    "sign",
}
"""Fields with words, which golden files hold (see test_wording.py), and `sign`, which was in words before it was a code."""
SINCE = {"hydrotest", "run", "finished"}
"""Fields that say what made the summary, from which folder, and when: the runs took the end's time a moment after their journal did."""
RENAMED = {"the machine that hosts are emulated on": "(machine)"}
"""Names that were words before they were codes."""


SEARCHED = {"limit", "low", "high", "interval", "repeats", "at_least", "latency_ms", "latency_includes_failed", "searches"}
"""Fields of a limit that an older search found by bracket and bisection: its windows are read by the posterior now."""


def unpacked(run: Path, into: Path) -> Path:
    """The folder of a recorded run."""
    with tarfile.open(run) as tar:
        tar.extractall(into, filter="data")
    return into / run.name.partition(".")[0]


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every figure, code and name below a value, with where it stands."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in TEXTS | SINCE:
                yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        yield (*path, "length"), len(value)
        for at, item in enumerate(value):
            yield from leaves(item, (*path, at))
    else:
        yield path, RENAMED.get(value, value) if isinstance(value, str) else value


def same(now: Any, then: Any) -> bool:
    """Equal; floats but for the order in which another processor adds."""
    if isinstance(now, float) and isinstance(then, float):
        return math.isclose(now, then, rel_tol=1e-9)
    return bool(now == then)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name.partition(".")[0])
def test_a_recorded_run_shows_the_same_figures(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = unpacked(run, tmp_path)
    assert main(["show", str(folder), "--json"]) == 0
    now = dict(leaves(json.loads(capsys.readouterr().out)))
    then = dict(leaves(json.loads((folder / layout.SUMMARY).read_text())))
    searched = {path[:2] for path, value in then.items() if path[0] == "limits" and path[-1] == "interval" and value == "searches"}
    others = {path: value for path, value in then.items() if path[:2] not in searched or path[2] not in SEARCHED}
    assert {path: (value, now.get(path, "nothing")) for path, value in others.items() if not same(now.get(path, "nothing"), value)} == {}
    for row in searched:
        assert now[*row, "low"] <= then[*row, "high"]
        assert then[*row, "low"] <= now[*row, "high"]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name.partition(".")[0])
def test_a_recorded_run_has_a_report_and_tables(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = unpacked(run, tmp_path)
    assert main(["report", str(folder)]) == 0
    assert Path(capsys.readouterr().out.strip()).stat().st_size > 100_000
    assert main(["show", str(folder)]) == 0
    assert 5 < len(capsys.readouterr().out.splitlines()) <= LINES_MAX
    assert main(["show", str(folder), "all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 20


def test_a_folder_of_a_newer_format_is_refused_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = unpacked(RUNS[0], tmp_path)
    RunFolder(folder).journal(STARTED, format=layout.FORMAT + 1)
    assert main(["show", str(folder)]) == 2
    refused = capsys.readouterr().err
    assert str(layout.FORMAT + 1) in refused
    assert str(folder) in refused
