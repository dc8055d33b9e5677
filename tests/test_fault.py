"""Stalls and recovery: what was planted is found, whatever the rate."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrotest.analysis.by_test.fault import behind, recovery
from hydrotest.analysis.statistics.progress import Reading
from hydrotest.errors import TrialFailedError
from hydrotest.run.lifecycle.events import Silent
from hydrotest.run.tests import fault
from hydrotest.spec.tests.fault import Fault


def progress(rate: float, stall: tuple[float, float] | None, catch_up: float = 2.0, seconds: int = 60) -> list[Reading]:
    """An open loop at `rate` whose system stalls between two moments.

    Then it works `catch_up` times as fast until nothing waits.
    """
    out, waiting = [], 0.0
    started = completed = 0.0
    for tick in range(1, seconds * 10 + 1):
        at = tick / 10
        started += rate / 10
        waiting += rate / 10
        stands = stall is not None and stall[0] < at <= stall[1]
        done = 0.0 if stands else min(waiting, rate / 10 * catch_up)
        waiting -= done
        completed += done
        out.append(Reading(at, int(completed), int(started) - int(completed)))
    return out


def test_nothing_happens() -> None:
    found = recovery(progress(1000, None), 20, 25)
    assert found is not None
    assert (found.without_progress_s, found.recovered_s, found.caught_up_s) == (0, 0, 0)


@given(rate=st.floats(50, 1e6), begin=st.integers(10, 20), length=st.integers(1, 10))
def test_a_planted_stall_is_found(rate: float, begin: int, length: int) -> None:
    found = recovery(progress(rate, (begin, begin + length)), begin, begin + length)
    assert found is not None
    assert found.longest_stall_s == pytest.approx(length, abs=0.25)
    assert found.without_progress_s == pytest.approx(length, abs=0.25)
    # At twice the rate what waited for so long is worked off in as long again.
    assert found.recovered_s == pytest.approx(2 * length, abs=0.5)
    assert found.caught_up_s == pytest.approx(length, abs=0.5)


def in_batches(every: Sequence[Reading], batch_s: float) -> list[Reading]:
    """The same, coming out all at once every so often."""
    out, done = [], 0
    for reading in every:
        if round(reading.at_s * 10) % round(batch_s * 10) == 0:
            done = reading.completed
        out.append(reading._replace(completed=done, in_flight=reading.in_flight + reading.completed - done))
    return out


def test_pauses_between_batches_are_no_stalls() -> None:
    found = recovery(in_batches(progress(1000, None, seconds=80), 3.0), 20, 25, in_batches=True)
    assert found is not None
    assert (found.without_progress_s, found.recovered_s) == (0, 0)


def test_a_stall_of_what_comes_in_batches_is_found() -> None:
    found = recovery(in_batches(progress(1000, (20, 35), seconds=90), 3.0), 20, 35, in_batches=True)
    assert found is not None
    assert found.longest_stall_s == pytest.approx(15, abs=3.5)
    assert found.recovered_s == pytest.approx(30, abs=8)


def test_what_never_comes_back_has_not_caught_up() -> None:
    found = recovery(progress(1000, (20, 60)), 20, 30)
    assert found is not None
    assert found.recovered_s is None
    assert found.caught_up_s is None
    assert found.without_progress_s == pytest.approx(40, abs=0.2)


def test_a_slow_catch_up_is_not_back_at_the_window_end() -> None:
    found = recovery(progress(1000, (20, 30), catch_up=1.1), 20, 30)
    assert found is not None
    assert found.recovered_s is None
    assert found.longest_stall_s == pytest.approx(10, abs=0.2)


def test_nothing_before_it_nothing_to_compare() -> None:
    assert recovery(progress(1000, (0, 60)), 20, 30) is None
    assert recovery([], 20, 30) is None


def test_a_consumer_that_hears_nothing_is_behind_all_the_same() -> None:
    """The broker that is away would report its lag, so the lag reads zero all the while."""
    silent = [reading._replace(in_flight=0) for reading in progress(1000, (20, 30))]
    found = recovery(behind(silent, 1000), 20, 30)
    assert found is not None
    assert found.recovered_s == pytest.approx(20, abs=0.5)
    assert found.caught_up_s == pytest.approx(10, abs=0.5)


@pytest.mark.parametrize("fails", [TrialFailedError("the disk is slow"), asyncio.CancelledError()])
async def test_what_was_taken_away_comes_back_though_the_page_cache_cannot_be_evicted(
    fails: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But where the run is being ended, nothing is started again."""
    done: list[str] = []

    class Target:
        name = "kafka-0"

        async def inject(self, how: str) -> None:
            done.append(how)

        async def heal(self, how: str) -> None:
            done.append(f"healed of {how}")

    async def evict(_hosts: object, _run: str) -> dict[str, int]:
        raise fails

    monkeypatch.setattr(fault, "evict", evict)
    test = Fault.model_validate(
        {"test": "fault", "workloads": ["w"], "rates": {"w": 1}, "service": "kafka-0", "down": "1 ms", "at": "5 s", "cold": True}
    )
    bench = SimpleNamespace(runner=SimpleNamespace(sampling=None), listener=Silent(), systems={}, run="r")
    with pytest.raises(type(fails)):
        await fault.Strike(test, bench, 0.0)._inject(Target(), "kill")  # type: ignore[arg-type]
    assert done == (["kill", "healed of kill"] if isinstance(fails, TrialFailedError) else ["kill"])
