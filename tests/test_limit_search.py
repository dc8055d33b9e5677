"""The limit search against simulated systems whose limit is known."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hydrotest.analysis.limits.search import TRIALS_MAX, LimitSearch


def run(search: LimitSearch, sustained: object) -> list[float]:
    assert callable(sustained)
    tried = []
    while (rate := search.propose()) is not None:
        tried.append(rate)
        search.record(sustained(rate))
    return tried


@given(st.floats(50, 5e6), st.floats(0.2, 1.3), st.sampled_from([0.05, 0.1]))
def test_a_sharp_limit_is_found_to_the_precision(saturated: float, share: float, precision: float) -> None:
    """Whatever share of the saturated rate an objective leaves, the interval holds the true limit and is as narrow as asked."""
    true = saturated * share
    search = LimitSearch(saturated, precision)
    tried = run(search, lambda rate: rate <= true)
    limit = search.limit()
    assert limit.low is not None
    assert limit.high is not None
    assert limit.low <= true < limit.high
    assert limit.high / limit.low <= (1 + precision) * 1.001
    assert limit.repeats == 3
    assert len(tried) <= TRIALS_MAX


@settings(max_examples=50)
@given(st.integers(0, 10_000))
def test_noise_near_the_limit_moves_the_answer_little(seed: int) -> None:
    """Within 10 % of the limit the verdict is a gamble, and one trial in 50 fails for no reason."""
    noise = random.Random(seed)
    true = 40_000.0

    def sustained(rate: float) -> bool:
        return rate <= true * noise.uniform(0.93, 1.07) and noise.random() > 0.02

    search = LimitSearch(70_000, 0.1)
    run(search, sustained)
    limit = search.limit()
    assert limit.low is not None
    assert 0.7 * true <= limit.low <= 1.25 * true


def test_one_false_rejection_does_not_send_the_search_wrong() -> None:
    calls = 0

    def sustained(rate: float) -> bool:
        nonlocal calls
        calls += 1
        return calls != 1 and rate <= 1000

    search = LimitSearch(1500, 0.1)
    run(search, sustained)
    limit = search.limit()
    assert limit.low is not None
    assert limit.low <= 1000 < limit.low * 1.1 * 1.001


def test_nothing_sustained_is_no_limit() -> None:
    search = LimitSearch(1000, 0.1)
    run(search, lambda rate: False)
    assert search.limit().low is None


def test_a_stride_stops_at_the_saturated_rate_first() -> None:
    search = LimitSearch(1000, 0.1)
    tried = run(search, lambda rate: rate <= 950)
    assert max(tried) <= 1000 * 1.1


def test_more_than_the_saturated_rate_can_be_found() -> None:
    search = LimitSearch(1000, 0.1)
    run(search, lambda rate: rate <= 2500)
    limit = search.limit()
    assert limit.low is not None
    assert limit.high is not None
    assert limit.low <= 2500 < limit.high


def test_a_ceiling_is_never_passed() -> None:
    search = LimitSearch(1000, 0.1, ceiling=500)
    tried = run(search, lambda rate: True)
    assert max(tried) <= 500
    assert search.limit().high is None


def test_searches_are_independent_and_on_one_grid() -> None:
    """Two searches from other saturated rates answer on the same grid, so that their intervals can be compared."""
    limits = []
    for saturated in (1400.0, 1733.0):
        search = LimitSearch(saturated, 0.1)
        run(search, lambda rate: rate <= 1000)
        limits.append(search.limit())
    assert (limits[0].low, limits[0].high) == (limits[1].low, limits[1].high)


def test_a_saturated_rate_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        LimitSearch(0, 0.1)


def test_a_majority_decides() -> None:
    """Accepted by two of three searches is low; rejected by two of three is high."""
    answers = {"main": 1000.0, "repeat-1": 900.0, "repeat-2": 1000.0, "repeat-3": 1100.0}
    search = LimitSearch(1500, 0.05)
    while (rate := search.propose()) is not None:
        search.record(rate <= answers[search.stage])
    limit = search.limit()
    assert limit.low is not None
    assert limit.high is not None
    assert limit.low <= 1000 < limit.high


@pytest.mark.parametrize("disturbed", range(1, 6))
def test_what_lasts_a_turn_does_not_move_the_limit(disturbed: int) -> None:
    """Every trial of one round is rejected; each is repeated in the next one, when the disturbance has
    passed."""
    search = LimitSearch(1500, 0.1)
    while (rate := search.propose()) is not None:
        search.record(rate <= 1000 and search.turn != disturbed)
    limit = search.limit()
    assert limit.low is not None
    assert limit.low <= 1000 < limit.low * 1.1 * 1.001


def test_independent_searches_take_turns() -> None:
    """In each round all unfinished searches have one trial, and each of them begins some round."""
    search = LimitSearch(1500, 0.1)
    turns: dict[int, list[str]] = {}
    while (rate := search.propose()) is not None:
        turns.setdefault(search.turn, []).append(search.stage)
        search.record(rate <= 1000)
    assert set(turns.pop(0)) == {"main"}
    assert all(len(set(stages)) == len(stages) for stages in turns.values())
    assert [stages[0] for stages in turns.values()][:3] == ["repeat-1", "repeat-2", "repeat-3"]
