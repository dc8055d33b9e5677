"""The limit search against simulated systems whose limit is known. benchmarks/limits.py has more of them."""

from __future__ import annotations

import math
import statistics
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hydrotest.analysis.limits.posterior import Posterior
from hydrotest.analysis.limits.search import ALL, TRIALS_MIN, LimitSearch
from hydrotest.verdicts.limit import DRIFT_MIN
from tests.limit_systems import KINDS, Outcome, searched

SYSTEMS = 25
PRECISION, BUDGET = 0.075, 60


def run(search: LimitSearch, sustained: object) -> list[float]:
    assert callable(sustained)
    tried = []
    while (rate := search.propose()) is not None:
        tried.append(rate)
        search.record(sustained(rate))
    return tried


@cache
def outcomes(name: str) -> list[Outcome]:
    return [searched(KINDS[name], seed, PRECISION, BUDGET) for seed in range(SYSTEMS)]


@pytest.mark.parametrize("name", KINDS)
def test_the_interval_holds_the_limit_as_often_as_it_claims(name: str) -> None:
    """Of 300 it does 85 to 100 % (benchmarks/limits.py); of 25 at least 20 do with probability 0.97 where it is 0.9."""
    found = outcomes(name)
    held = sum(one.limit.estimate is not None and one.limit.estimate.low <= one.true <= one.limit.estimate.high for one in found)
    # Where half of the windows fail by themselves, 87 % of 300 are held: below the aim.
    assert held >= (19 if KINDS[name].lapse == 0.5 else 20)


@pytest.mark.parametrize(
    ("name", "error"), [("slope 0.01", 0.02), ("slope 0.03", 0.025), ("slope 0.03, lapse 0.10", 0.03), ("a cliff", 0.02)]
)
def test_the_limit_is_near_the_true_one(name: str, error: float) -> None:
    found = outcomes(name)
    assert statistics.median(abs(math.log(one.limit.estimate.value / one.true)) for one in found if one.limit.estimate) <= error


def test_a_limit_that_stands_is_seldom_said_to_move_and_one_that_rises_is() -> None:
    still = outcomes("slope 0.03")
    assert sum(one.limit.drifts >= DRIFT_MIN for one in still) <= 1
    rising = outcomes("drift +50 %")
    assert sum(one.limit.drifts >= DRIFT_MIN for one in rising) >= 12


def test_windows_that_fail_at_any_rate_are_counted_as_such() -> None:
    found = outcomes("slope 0.05, lapse 0.50")
    assert abs(statistics.mean(one.limit.lapse.value for one in found) - 0.5) <= 0.17
    assert sum(one.limit.safe is None for one in found) >= 19
    clean = outcomes("slope 0.01")
    assert all(one.limit.safe is not None for one in clean)
    # Nine of ten windows hold at most at limit / exp(2.2 slope).
    assert sum((one.limit.safe or 0) <= one.true * 1.03 for one in clean) >= 23


@settings(max_examples=25, deadline=None)
@given(st.floats(50, 5e6), st.floats(0.2, 1.3), st.sampled_from([0.05, 0.1]))
def test_a_sharp_limit_is_found_to_the_precision(saturated: float, share: float, precision: float) -> None:
    """Whatever share of the saturated rate an objective leaves, the interval holds the true limit and is as narrow as asked."""
    true = saturated * share
    search = LimitSearch(saturated, precision)
    tried = run(search, lambda rate: rate <= true)
    limit = search.limit()
    assert limit.estimate is not None
    assert limit.is_precise
    assert limit.estimate.low <= true * 1.01
    assert true <= limit.estimate.high * 1.01
    assert TRIALS_MIN <= len(tried) <= 25


def test_a_search_is_known_again_by_its_windows() -> None:
    """A resumed run gives the search what the journal holds; equal windows give equal answers and the same next rate."""
    first = LimitSearch(1000, 0.1)
    for _ in range(9):
        rate = first.propose()
        assert rate is not None
        first.record(rate < 700)
    again = LimitSearch(1000, 0.1)
    for rate, held in first.windows:
        again.record(held, rate)
    assert again.propose() == first.propose()
    assert again.limit() == first.limit()


def test_windows_at_any_rate_count() -> None:
    """Those of another version's search, too."""
    search = LimitSearch(1000, 0.1)
    for rate in (701.3, 555.0, 640.2, 780.0, 699.9, 601.0, 650.0, 660.0):
        search.record(rate < 650.1, rate)
    estimate = search.limit().estimate
    assert estimate is not None
    assert estimate.low < 655 < estimate.high


def test_rates_lie_on_a_grid_that_all_searches_share() -> None:
    one, other = (run(LimitSearch(saturated, 0.1), lambda rate: rate < 650) for saturated in (1000, 1100))
    grid = set(Posterior(1000, 0.1).asked()) | set(Posterior(1100, 0.1).asked())
    assert set(one) | set(other) <= grid
    assert set(one) & set(other)


def test_nothing_above_the_ceiling_is_tried_and_a_limit_above_it_is_said_to_be() -> None:
    search = LimitSearch(1.0, 0.15, ceiling=1.0, centre=0.5)
    tried = run(search, lambda _: True)
    assert max(tried) == 1.0
    assert search.limit().is_above
    assert len(tried) < 12


def test_a_system_that_holds_nothing_has_no_limit() -> None:
    search = LimitSearch(1000, 0.1)
    tried = run(search, lambda _: False)
    assert search.limit().estimate is None
    assert search.limit().safe is None
    assert len(tried) <= search.budget


def test_the_budget_ends_a_search_with_a_wider_interval() -> None:
    found = searched(KINDS["slope 0.12"], 3, 0.02, 12)
    assert found.trials == 12
    assert not found.limit.is_precise
    assert found.limit.estimate is not None


def test_each_of_several_workloads_has_a_curve_of_its_own_from_the_same_windows() -> None:
    search = LimitSearch(1.0, 0.15, 40, ceiling=1.0, centre=0.33, subjects=("weak", "strong"))
    while (fraction := search.propose()) is not None:
        failed = [name for name, limit in (("weak", 0.3), ("strong", 0.7)) if fraction > limit]
        search.record(not failed, failed=failed)
    weak, strong, both = (search.limit(name).estimate for name in ("weak", "strong", ALL))
    assert weak is not None
    assert strong is not None
    assert both is not None
    assert weak.low <= 0.3 <= weak.high
    assert strong.low <= 0.7 <= strong.high
    assert both.low <= 0.3 <= both.high


def test_a_workload_that_fails_at_any_fraction_does_not_hide_the_others_limit() -> None:
    """The 3 % of the quickstart: one objective is missed now and then whatever the rate, which is not the limit of all."""
    search = LimitSearch(1.0, 0.3, 30, ceiling=1.0, centre=0.33, subjects=("stalls", "store"))
    number = 0
    while (fraction := search.propose()) is not None:
        number += 1
        failed = ["stalls"] * (number % 5 in (0, 2)) + ["store"] * (fraction > 0.5)
        search.record(not failed, failed=failed)
    store, stalls = search.limit("store").estimate, search.limit("stalls")
    assert store is not None
    assert store.low <= 0.5 <= store.high
    assert stalls.lapse.value > 0.2
    assert stalls.safe is None


def test_bad_saturated_rates_are_refused() -> None:
    for bad in (0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="saturated"):
            LimitSearch(bad, 0.1)
