"""The one series of a generator's progress: readings lie where they were read, and what is asked between two moments is theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hydrotest.analysis.statistics.progress import Progress
from hydrotest.store.merging import merged_seconds
from hydrotest.store.records import Counts, Second
from tests.synthetic import SyntheticRun

START_S = 1_000.0


def second(number: int, completed: list[int], in_flight: list[int], at_s: list[float] | None = None) -> Second:
    return Second(wall_s=START_S + number + 1, counts=Counts(started=completed[-1] + in_flight[-1], completed=completed[-1]), in_flight=in_flight,
                  completed=completed, at_s=at_s or [], p99_ms=None, threads=[])  # fmt: skip


def even(seconds: int, a_tenth: int = 10, missing: int | None = None) -> list[Second]:
    rows = [second(number, [(number * 10 + i + 1) * a_tenth for i in range(10)], [3] * 10) for number in range(seconds)]
    return [row for number, row in enumerate(rows) if number != missing]


def test_readings_of_an_older_folder_are_placed_in_their_second() -> None:
    first, *_, last = Progress.of(even(1), START_S).readings(START_S)[1:]
    assert [first.at_s, last.at_s] == pytest.approx([0.1, 1.0])
    assert (first.completed, last.completed, last.in_flight, last.started) == (10, 100, 3, 103)


def test_a_reporter_that_was_held_back_says_when_it_read() -> None:
    late = [second(0, [10, 70], [0, 0], [0.1, 0.7])]
    assert [reading.at_s for reading in Progress.of(late, START_S).readings(START_S)] == pytest.approx([0.0, 0.1, 0.7])


def test_what_is_completed_between_two_moments() -> None:
    progress = Progress.of(even(10), START_S)
    assert progress.rate(START_S + 2, START_S + 8) == pytest.approx(100)
    assert progress.rate(START_S + 2.05, START_S + 2.07) == pytest.approx(100)
    assert progress.rate(START_S + 8, START_S + 12) is None
    assert Progress.of([], START_S).rate(START_S, START_S + 1) is None


def test_a_missing_second_shifts_nothing() -> None:
    """Two series by their indexes would be a second apart behind it."""
    source, own = Progress.of(even(10), START_S), Progress.of(even(10, missing=4), START_S)
    lag = own.behind(source).between(START_S + 6, START_S + 10).in_flight
    assert lag.max() == pytest.approx(0.0, abs=1e-6)


def test_generators_together_keep_their_times() -> None:
    stamped = [second(0, [1, 2], [0, 0], [0.1, 0.25])]
    (together,) = merged_seconds([stamped, stamped])
    assert (together.completed, together.at_s) == ([2, 4], [0.1, 0.25])


def test_the_synthetic_runs_of_these_tests_have_one(tmp_path: Path) -> None:
    run = SyntheticRun(tmp_path)
    measured = run.measured(run.trial("level", 8_000, seconds=20, stall=(8.0, 12.0)))
    assert measured.progress.rate(measured.start_s + 8, measured.start_s + 10) == pytest.approx(0.0)
    assert measured.progress.in_flight.max() == pytest.approx(32_000, rel=0.02)
