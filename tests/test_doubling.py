"""The doubling test's verdict, from made-up windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from hydrotest.analysis.by_test.doubling import doubling_rows
from hydrotest.report.doubling import doubling_sentences, doubling_sheet
from hydrotest.store.records import Trial
from tests.rows import summary_of

from .synthetic import EXPERIMENT, SyntheticRun

TEXT = EXPERIMENT.replace("isolated: [ingest]", "doubling: {workload: ingest}")


def windows(run: SyntheticRun, rates: list[tuple[float, float]]) -> list[Trial]:
    """Pairs of windows: by one generator, by two."""
    trials = []
    for pair, both in enumerate(rates, 1):
        for generators, rate in zip((1, 2), both, strict=True):
            run.limit = rate
            trial = run.trial("doubling", None)
            load = trial.loads[0].model_copy(update={"generators": generators})
            trials.append(trial.model_copy(update={"pair": pair, "loads": [load]}))
    return trials


@pytest.mark.parametrize(
    ("factors", "raised", "told"),
    [
        ([1.5, 1.6, 1.55, 1.52, 1.58], True, "so the generator was the limit"),
        ([1.01, 0.99, 1.0, 1.02, 0.98], False, "got no more out of it"),
        ([0.5, 1.9, 1.1, 0.7, 1.4], None, "made no clear difference"),
        ([0.8, 0.82, 0.79, 0.81, 0.8], False, "got no more out of it"),
    ],
)
def test_verdict(factors: list[float], raised: bool | None, told: str, tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path, text=TEXT)
    (row,) = doubling_rows(run.folder, run.experiment, windows(run, [(10_000, 10_000 * factor) for factor in factors]))
    assert (row.generators, row.n, row.raised) == (1, 5, raised)
    assert row.once == pytest.approx(10_000, rel=0.01)
    assert told in doubling_sentences([row])[0]
    (cells,) = doubling_sheet(summary_of(doublings=[row])).rows
    assert cells[1] == "1 → 2"


def test_half_a_pair_says_nothing(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path, text=TEXT)
    assert doubling_rows(run.folder, run.experiment, windows(run, [(10_000, 10_000)])[:1]) == []
