"""Rows of the `levels` and `concurrency` tests, in the columns of the published tables."""

from __future__ import annotations

from typing import Any

from hydrotest.analysis.latency import latency_ms, operations
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.verdict import judge
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests import Saturated
from hydrotest.spec.workloads import CassandraLoad
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Load, Trial


def littles_in_flight(rate_per_s: float, mean_ms: float) -> float:
    """Little's law: operations in flight = rate × mean latency (J. D. C. Little, 1961)."""
    return rate_per_s * mean_ms / 1e3


def level_rows(run: RunFolder, experiment: Experiment, trials: list[Trial]) -> list[dict[str, Any]]:
    """One row a level; for a mix one for all operations and one for each kind."""
    rows: list[dict[str, Any]] = []
    for trial in trials:
        if trial.status == "done" and trial.purpose == "level":
            # What feeds a dataflow is not what the level is about.
            for load in (load for load in trial.loads if trial.is_about(load.workload)):
                rows.extend(_stock_rows(trial, load) if load.stock is not None else _native_rows(run, experiment, trial, load))
    return rows


def _native_rows(run: RunFolder, experiment: Experiment, trial: Trial, load: Load) -> list[dict[str, Any]]:
    if load.outcome is None:
        return []
    measured = Measured.read(run, trial, load.workload)
    accepted = judge(measured, experiment.objective(load.workload)).accepted if load.offered is not None else None
    if isinstance(experiment.tests[trial.test], Saturated):
        return [_saturated_row(trial, load, measured)]
    is_mix = isinstance(experiment.workloads[load.workload], CassandraLoad)
    common = {"workload": load.workload, "tenancy": trial.tenancy, "offered": load.offered, "concurrency": load.in_flight,
              "client": load.client, "seconds": measured.duration_s, "trial": trial.number}  # fmt: skip
    rows = [{
        **common, "op": "mix" if is_mix else None, "achieved": measured.achieved,
        "bytes_per_s": measured.bytes_per_s, "count": measured.completed, "errors": measured.errors,
        "latency_ms": measured.latency, "in_flight_mean": measured.in_flight_mean, "accepted": accepted,
        "cpu_s_per_million": measured.cpu_s_per_million,
    }]  # fmt: skip
    everything = max(1, int(measured.histogram().get_total_count()))
    for op in operations(measured.folder, load.workload) if is_mix else []:
        histogram = measured.histogram(op=op)
        count = int(histogram.get_total_count())
        if count == 0:
            continue
        rows.append({
            # Its share of the operations begun in the window, of what was achieved: the histogram holds the unanswered ones too.
            **common, "op": op, "achieved": measured.achieved * count / everything,
            "bytes_per_s": None, "count": round(measured.completed * count / everything), "errors": measured.errors_of(op),
            "latency_ms": latency_ms(histogram), "in_flight_mean": None, "accepted": None,
        })  # fmt: skip
    return rows


def _saturated_row(trial: Trial, load: Load, measured: Measured) -> dict[str, Any]:
    """Pressed without schedule: a rate and its cost, never a latency (docs/method.md), nor a number in flight, which is the generator's."""
    return {
        "workload": load.workload, "tenancy": trial.tenancy, "offered": None, "concurrency": None, "client": load.client,
        "seconds": measured.duration_s, "trial": trial.number, "op": None, "achieved": measured.achieved,
        "bytes_per_s": measured.bytes_per_s, "count": measured.completed, "errors": measured.errors, "latency_ms": None,
        "in_flight_mean": None, "accepted": None, "cpu_s_per_million": measured.cpu_s_per_million,
    }  # fmt: skip


def _stock_rows(trial: Trial, load: Load) -> list[dict[str, Any]]:
    stock = load.stock
    assert stock is not None
    common = {"workload": load.workload, "tenancy": trial.tenancy, "offered": load.offered, "concurrency": load.in_flight,
              "client": load.client, "seconds": stock.seconds, "trial": trial.number, "in_flight_mean": None, "accepted": None}  # fmt: skip
    rows = [{**common, "op": "mix" if stock.by_op else None, "achieved": stock.rate_per_s, "bytes_per_s": stock.bytes_per_s,
             "count": stock.count, "errors": stock.errors or 0, "latency_ms": stock.latency_ms,
             "latency_from_send_ms": stock.latency_from_send_ms,
             "cpu_s_per_million": stock.cpu_s / (stock.count_in_all or stock.count) * 1e6 if stock.cpu_s and stock.count else None}]  # fmt: skip
    for op, figures in stock.by_op.items():
        rate = figures.get("rate_per_s") or 0.0
        latency = {key: figures.get(key) for key in ("mean", "p50", "p95", "p99", "p999", "max")}
        rows.append({**common, "op": op, "achieved": rate, "bytes_per_s": None, "count": round(rate * stock.seconds), "errors": 0,
                     "latency_ms": latency})  # fmt: skip
    return rows
