"""Demands from windows of made-up systems whose laws are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hydrotest.analysis.demand.fit import Demand, Fit, Unidentified, Window, fit
from hydrotest.analysis.demand.rows import demand_rows
from tests.synthetic import SyntheticRun

SYSTEMS = 200
NOISE = 0.05


def made_up(random: np.random.Generator, windows: int = 14) -> tuple[list[Window], list[float]]:
    """A broker-like service: fixed cores, requests, records and bytes, over a design that moves each of them."""
    truth = [random.uniform(0.02, 0.2), random.uniform(20e-6, 100e-6), random.uniform(0.2e-6, 2e-6), random.uniform(1e-9, 10e-9)]
    found = []
    for number in range(windows):
        records = 10 ** random.uniform(3.5, 5.5)
        size, per_batch = (100.0, 1000.0)[number % 2], 10 ** random.uniform(0.5, 2.2)
        rates = {"requests": records / per_batch, "records": records, "bytes": records * size}
        cores = truth[0] + sum(demand * rate for demand, rate in zip(truth[1:], rates.values(), strict=True))
        found.append(Window(cores * (1 + NOISE * random.standard_normal()), rates))
    return found, truth


def covers(estimate: Demand, true: float) -> bool:
    return estimate.low <= true <= estimate.high


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    random = np.random.default_rng(28)
    held, cores = [], []
    for _ in range(SYSTEMS):
        windows, truth = made_up(random)
        found = fit(windows, ("requests", "records", "bytes"))
        assert isinstance(found, Fit), found
        held += [covers(estimate, true) for estimate, true in zip([found.fixed, *found.demands.values()], truth, strict=True)]
        # A load that was not among them, between the others.
        rates = {"requests": 2_000.0, "records": 60_000.0, "bytes": 24e6}
        true = truth[0] + sum(demand * rate for demand, rate in zip(truth[1:], rates.values(), strict=True))
        cores.append(abs(found.cores(rates) / true - 1))
    assert 0.86 <= np.mean(held) <= 0.94
    assert np.quantile(cores, 0.95) <= 0.10


@pytest.mark.parametrize("drivers", [("records",), ("requests", "records")])
def test_what_is_exact_is_found_exactly(drivers: tuple[str, ...]) -> None:
    windows = [
        Window(0.15 + 1e-6 * records + (50e-6 * requests if "requests" in drivers else 0.0), {"records": records, "requests": requests})
        for records, requests in [(1e4, 900.0), (2e4, 200.0), (5e4, 1500.0), (9e4, 300.0), (1e5, 100.0), (3e4, 1000.0)]
    ]
    found = fit(windows, drivers)
    assert isinstance(found, Fit)
    assert found.fixed.value == pytest.approx(0.15)
    assert found.demands["records"].value == pytest.approx(1e-6)
    assert found.error == pytest.approx(0.0, abs=1e-9)
    assert found.cores({"records": 1e6, "requests": 0.0}) == pytest.approx(1.15)


def test_what_windows_do_not_tell_apart_is_not_divided() -> None:
    alike = [Window(0.1 + 1e-6 * rate, {"records": rate, "bytes": 100.0 * rate, "idle": 5.0}) for rate in (1e4, 2e4, 3e4, 5e4, 8e4, 9e4)]
    assert fit(alike, ("records", "bytes")) == Unidentified(together=("records", "bytes"))
    assert fit(alike, ("records", "idle")) == Unidentified(together=("fixed", "idle"))
    assert fit([Window(0.1, {"records": 0.0})] * 5, ("records",)) == Unidentified(together=("records",))
    assert isinstance(fit(alike, ("records",)), Fit)
    assert fit(alike[:2], ("records",)) == Unidentified(lacking=2)


def test_no_demand_is_negative() -> None:
    random = np.random.default_rng(3)
    windows = [Window(1e-6 * rate * (1 + NOISE * random.standard_normal()), {"records": rate}) for rate in np.linspace(1e4, 1e5, 8)]
    found = fit(windows, ("records",))
    assert isinstance(found, Fit)
    assert found.fixed.value >= 0.0
    assert found.fixed.low == 0.0
    assert covers(found.demands["records"], 1e-6)


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
