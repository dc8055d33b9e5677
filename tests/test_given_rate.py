"""Verdicts on a given rate: how often they are wrong, how many windows they take."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hydrotest.analysis.limits.decided import JUDGED
from hydrotest.analysis.limits.given_rate import holds_probability, independent_of, verdict_on, verdict_on_stretches
from hydrotest.analysis.summary import summarise_run
from hydrotest.report.missed_objectives import missed
from hydrotest.spec.load import load_experiment
from hydrotest.verdicts.limit import RateVerdict
from tests.synthetic import EXPERIMENT, SyntheticRun

SURE, MOST_WINDOWS = 0.95, 20


def verdict_of(rng: np.random.Generator, chance: float) -> tuple[RateVerdict, int]:
    held = 0
    for number in range(1, MOST_WINDOWS + 1):
        held += int(rng.random() < chance)
        known = verdict_on(held, number, SURE)
        if known is not RateVerdict.UNKNOWN:
            return known, number
    return RateVerdict.UNKNOWN, MOST_WINDOWS


def test_four_windows_that_agree_are_enough() -> None:
    assert verdict_on(4, 4, SURE) == RateVerdict.HOLDS
    assert verdict_on(0, 4, SURE) == RateVerdict.FAILS
    assert verdict_on(3, 3, SURE) == RateVerdict.UNKNOWN
    assert holds_probability(5, 10) == pytest.approx(0.5)


def test_verdicts_are_as_seldom_wrong_as_they_claim() -> None:
    """Over all rates, as a search meets them: at most 5 % of what is said to hold, or to fail, does the other."""
    rng = np.random.default_rng(3)
    said, wrong = 0, 0
    for _ in range(2_000):
        chance = float(rng.random())
        known, _ = verdict_of(rng, chance)
        said += known is not RateVerdict.UNKNOWN
        wrong += (known is RateVerdict.HOLDS and chance < 0.5) or (known is RateVerdict.FAILS and chance > 0.5)
    assert said > 1_400
    assert wrong <= 0.05 * said


def test_a_rate_that_is_held_is_seldom_refused() -> None:
    rng = np.random.default_rng(4)
    found = [verdict_of(rng, 0.9) for _ in range(500)]
    assert sum(known is RateVerdict.FAILS for known, _ in found) <= 5
    assert sum(known is RateVerdict.HOLDS for known, _ in found) >= 480
    assert sum(windows for _, windows in found) / len(found) < 6


def stretches(rng: np.random.Generator, count: int, chance: float, kept: float) -> list[bool]:
    """Each stretch does as the one before with the probability `kept`; else it holds with `chance`."""
    found = [bool(rng.random() < chance)]
    for _ in range(count - 1):
        found.append(found[-1] if rng.random() < kept else bool(rng.random() < chance))
    return found


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.6, 0.8])
@pytest.mark.parametrize("count", [60, 120])
def test_stretches_that_depend_on_each_other_do_not_make_a_verdict_surer(count: int, kept: float) -> None:
    """Where half of them hold, each of the two verdicts is wrong; 5 % of each are claimed."""
    rng = np.random.default_rng(5)
    found = [verdict_on_stretches(stretches(rng, count, 0.5, kept)) for _ in range(500)]
    for wrong in (RateVerdict.HOLDS, RateVerdict.FAILS):
        assert sum(one is not None and one.verdict is wrong for one in found) <= 40  # 8 %


def test_a_soak_that_holds_is_said_to() -> None:
    rng = np.random.default_rng(6)
    found = [verdict_on_stretches(stretches(rng, 120, 0.9, 0.6)) for _ in range(200)]
    assert sum(one is not None and one.verdict is RateVerdict.HOLDS for one in found) >= 190


def test_stretches_count_as_fewer_if_neighbours_are_alike() -> None:
    assert independent_of([True] * 40) == 40
    assert independent_of([True, False] * 20) == 40
    assert independent_of(([True] * 10 + [False] * 10) * 3) < 10
    assert verdict_on_stretches([True] * 19) is None


GATE = EXPERIMENT.replace("isolated: [ingest]", "levels: {workload: ingest, rates: [5K, 20K], verdict: 95 %, duration: 4 s}")


def test_a_gate_that_is_not_held_is_a_missed_objective(tmp_path: Path) -> None:
    made = SyntheticRun(tmp_path, text=GATE)
    for rate in (5_000.0, 20_000.0):
        for _ in range(4):
            made.trial("level", rate)
    summary = summarise_run(made.folder, made.experiment, "complete", "now")
    assert [(row.offered, row.verdict, row.windows, row.held) for row in summary.given_rates] == [
        (5_000.0, RateVerdict.HOLDS, 4, 4), (20_000.0, RateVerdict.FAILS, 4, 0),
    ]  # fmt: skip
    assert len(missed(summary)) == 1


def test_windows_of_a_gate_count_as_they_were_decided(tmp_path: Path) -> None:
    made = SyntheticRun(tmp_path, text=GATE)
    for _ in range(4):
        trial = made.trial("level", 5_000.0)
        made.folder.journal(JUDGED, trial=trial.number, proposed=5_000.0, accepted=False, excused=False, stopped_by="latency")
    shown = [summarise_run(made.folder, made.experiment, "complete", "now", rejudge=anew).given_rates[0].held for anew in (False, True)]
    assert shown == [0, 4]


def test_a_verdict_needs_windows_that_are_judged(tmp_path: Path) -> None:
    file = tmp_path / "stock.yaml"
    file.write_text(GATE.replace("verdict: 95 %", "verdict: 95 %, client: stock"))
    with pytest.raises(Exception, match="not judged"):
        load_experiment(file)
