"""Demands from windows of made-up systems whose laws are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hydrotest.analysis.demand.demands import FIXED, Demand, Demands, Observation, demands
from hydrotest.analysis.demand.rows import demand_rows
from tests.synthetic import SyntheticRun

SYSTEMS = 200
NOISE = 0.05


def made_up(random: np.random.Generator, windows: int = 14) -> tuple[list[Observation], list[float]]:
    """A broker-like service: fixed cores, requests, records and bytes, over a design that moves each of them."""
    truth = [random.uniform(0.02, 0.2), random.uniform(20e-6, 100e-6), random.uniform(0.2e-6, 2e-6), random.uniform(1e-9, 10e-9)]
    found = []
    for number in range(windows):
        records = 10 ** random.uniform(3.5, 5.5)
        size, per_batch = (100.0, 1000.0)[number % 2], 10 ** random.uniform(0.5, 2.2)
        rates = {"requests": records / per_batch, "records": records, "bytes": records * size}
        cores = truth[0] + sum(demand * rate for demand, rate in zip(truth[1:], rates.values(), strict=True))
        found.append(Observation(cores * (1 + NOISE * random.standard_normal()), rates, (0, number)))
    return found, truth


def covers(estimate: Demand, true: float) -> bool:
    return estimate.low <= true <= estimate.high


def seen(windows: list[tuple[float, dict[str, float]]]) -> Demands:
    found = demands([Observation(cores, rates, (0, trial)) for trial, (cores, rates) in enumerate(windows)])
    assert found is not None
    return found


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    random = np.random.default_rng(28)
    held, cores = [], []
    for _ in range(SYSTEMS):
        windows, truth = made_up(random)
        found = demands(windows)
        assert found is not None
        estimates = [found.estimate(name) for name in (FIXED, "requests", "records", "bytes")]
        held += [estimate is not None and covers(estimate, true) for estimate, true in zip(estimates, truth, strict=True)]
        # A load that was not among them, between the others.
        rates = {"requests": 2_000.0, "records": 60_000.0, "bytes": 24e6}
        true = truth[0] + sum(demand * rate for demand, rate in zip(truth[1:], rates.values(), strict=True))
        cores.append(abs(found.cores(rates) / true - 1))
    assert 0.86 <= np.mean(held) <= 0.94
    assert np.quantile(cores, 0.95) <= 0.10


@pytest.mark.parametrize("drivers", [("records",), ("requests", "records")])
def test_what_is_exact_is_found_exactly(drivers: tuple[str, ...]) -> None:
    loads = [{"records": records, "requests": requests} for records, requests in
             [(1e4, 900.0), (2e4, 200.0), (5e4, 1500.0), (9e4, 300.0), (1e5, 100.0), (3e4, 1000.0)]]  # fmt: skip
    found = seen([(0.15 + 1e-6 * load["records"] + (50e-6 * load["requests"] if "requests" in drivers else 0.0), {name: load[name] for name in drivers})
                  for load in loads])  # fmt: skip
    assert found.fixed == pytest.approx(0.15)
    records = found.estimate("records")
    assert records is not None
    assert records.value == pytest.approx(1e-6)
    assert found.error == pytest.approx(0.0, abs=1e-9)
    assert found.cores({"records": 1e6}) == pytest.approx(1.15)


def test_what_windows_do_not_tell_apart_is_not_divided() -> None:
    rates = (1e4, 2e4, 3e4, 5e4, 8e4, 9e4)
    assert seen([(0.1 + 1e-6 * rate, {"records": rate, "bytes": 100.0 * rate}) for rate in rates]).together == ("bytes", "records")
    assert seen([(0.1 + 1e-6 * rate, {"records": rate, "idle": 5.0}) for rate in rates]).together == (FIXED, "idle")
    assert seen([(0.1 + 1e-6 * rate, {"records": rate}) for rate in rates]).together == ()
    assert demands([Observation(0.1, {"records": rate}, (0, 0)) for rate in rates[:3]]) is None
    assert demands([]) is None


def test_no_demand_is_negative() -> None:
    random = np.random.default_rng(3)
    found = seen([(1e-6 * rate * (1 + NOISE * random.standard_normal()), {"records": float(rate)}) for rate in np.linspace(1e4, 1e5, 8)])
    fixed, records = found.estimate(FIXED), found.estimate("records")
    assert fixed is not None
    assert records is not None
    assert fixed.value >= 0.0
    assert fixed.low == 0.0
    assert covers(records, 1e-6)


def test_a_run_shows_what_its_operations_cost(tmp_path: Path) -> None:
    """The services of a made-up run use ¾ of a core, whatever they do: nothing of it is an operation's."""
    run = SyntheticRun(tmp_path)
    for rate in (5_000.0, 10_000.0, 20_000.0, 30_000.0, 40_000.0):
        run.trial("level", rate)
    (row,) = demand_rows(run.folder, run.experiment, run.folder.trials())
    assert (row.system, row.services, row.windows) == ("kafka", 1, 5)
    assert row.fixed_cores is not None
    assert row.fixed_cores.value == pytest.approx(0.75, rel=1e-3)
    (operation,) = row.operations
    assert operation.workload == "ingest"
    assert operation.cpu_us.value == pytest.approx(0.0, abs=1e-3)
    (alike,) = demand_rows(run.folder, run.experiment, run.folder.trials()[:2])
    assert (alike.fixed_cores, alike.lacking) == (None, 2)
