"""The safe working point: a curve over the fraction, who gives way first, what would hold where an objective is missed anyway."""

from __future__ import annotations

from pathlib import Path

import pytest

from hydrotest.analysis.summary import summarise_run
from hydrotest.analysis.together.combined import Together
from hydrotest.analysis.together.search import first_to_fail, judge_together, safe_search
from hydrotest.report.narrative import point_sentences, unthrottled_sentences
from hydrotest.spec.choice import expected
from hydrotest.spec.tests.combined import Combined
from hydrotest.summary.limits import Lapse
from hydrotest.summary.together import FractionOf
from tests.synthetic import EXPERIMENT, SyntheticRun

TOGETHER = EXPERIMENT.replace(
    "- isolated: [ingest]", "- isolated: [ingest]\n  - combined: {workloads: [ingest], precision: 8 %, trials: 40}"
)
STALLED_MS = 130.0


def searched(tmp_path: Path, stalled: tuple[int, ...] = (), held: float = 0.49) -> tuple[SyntheticRun, Together]:
    """A combined search: above the fraction `held` windows miss the objective of 50 ms, and at any fraction those of each ten
    that are `stalled` do."""
    made = SyntheticRun(tmp_path, text=TOGETHER)
    made.search()
    test = expected(made.experiment.tests[1], Combined)
    search = safe_search(made.experiment, test)
    number = 0
    while (fraction := search.propose()) is not None:
        number += 1
        slow = 400.0 if fraction > held else STALLED_MS if number % 10 in stalled else None
        trial = made.trial("search", fraction * made.limit, latency_ms=slow, test=1, fraction=fraction, tenancy="combined")
        verdict = judge_together(made.folder, made.experiment, trial)
        search.record(verdict.accepted, failed=tuple(verdict.stopped_by))
    return made, Together(made.folder, made.experiment, made.folder.trials(), {"ingest": made.limit}, 1)


def test_the_known_fraction_is_found(tmp_path: Path) -> None:
    made, together = searched(tmp_path)
    point = together.safe_working_point()
    assert point is not None
    assert point.low <= 0.49 <= point.high
    assert point.safe is not None
    assert point.safe <= 0.55
    assert point.relaxed == []
    assert point.rates["ingest"] == pytest.approx(point.fraction * made.limit)
    summary = summarise_run(made.folder, made.experiment, "complete", "now")
    row = next(row for row in summary.limits if row.tenancy == "combined")
    assert row.limit is not None
    isolated = next(row for row in summary.limits if row.tenancy == "isolated").limit
    assert row.limit == pytest.approx(point.fraction * (isolated or 0.0), rel=0.02)


def test_where_an_objective_is_missed_at_any_fraction_the_latency_is_given_at_which_it_holds(tmp_path: Path) -> None:
    """Four of ten windows stall whatever the rate: that is no limit of 3 %."""
    _, together = searched(tmp_path, stalled=(1, 4, 6, 9))
    point = together.safe_working_point()
    assert point is not None
    assert point.safe is None
    assert point.workloads[0].safe is None
    assert point.workloads[0].lapse.high >= 0.2
    assert point.fraction > 0.25
    [easier] = point.relaxed
    assert (easier.percentile, easier.asked_ms) == ("p99", 50.0)
    assert STALLED_MS <= easier.bound_ms <= 1.1 * STALLED_MS
    assert easier.fraction is not None
    assert easier.low is not None
    assert easier.high is not None
    assert easier.low <= 0.49 <= easier.high


def share(workload: str, fraction: float, *, width: float = 0.05, at_least: bool = False) -> FractionOf:
    return FractionOf(workload=workload, fraction=fraction, low=fraction - width, high=None if at_least else fraction + width, safe=None,
                      lapse=Lapse(share=0.0, low=0.0, high=0.05, causes={}), at_least=at_least)  # fmt: skip


def test_who_gives_way_first_is_said_where_it_is_clear() -> None:
    assert first_to_fail([share("a", 0.3), share("b", 0.6)]) == "a"
    assert first_to_fail([share("a", 0.3), share("b", 0.33)]) is None
    assert first_to_fail([share("a", 1.2, at_least=True), share("b", 0.6)]) == "b"
    assert first_to_fail([share("a", 1.2, at_least=True)]) is None


def test_all_are_measured_together_where_all_hold(tmp_path: Path) -> None:
    _, plain = searched(tmp_path / "plain")
    point = plain.safe_working_point()
    assert point is not None
    assert plain.working_fraction == point.low
    _, stalling = searched(tmp_path / "stalling", stalled=(1, 4, 6, 9))
    point = stalling.safe_working_point()
    assert point is not None
    assert stalling.working_fraction == point.relaxed[0].low


def test_the_sentences_are_short(tmp_path: Path) -> None:
    _, together = searched(tmp_path)
    point = together.safe_working_point()
    assert point is not None
    assert all(len(sentence.split()) <= 25 for sentence in point_sentences(point))


def test_what_all_reach_without_a_rate_limit_is_put_next_to_what_each_reaches_alone(tmp_path: Path) -> None:
    """A manager asks for it where latency objectives leave little."""
    made, _ = searched(tmp_path)
    made.trial("all-out", None, test=1, tenancy="combined")
    summary = summarise_run(made.folder, made.experiment, "complete", "now")
    [sentence] = unthrottled_sentences(summary)
    assert "100%" in sentence
    assert unthrottled_sentences(summary.model_copy(update={"limits": summary.limits[:1]})) == []
