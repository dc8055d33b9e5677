"""Rows of the `levels` and `concurrency` tests, in the columns of the published tables."""

from __future__ import annotations

from collections import Counter
from functools import partial

from hydrotest.analysis.limits.decided import Decided
from hydrotest.analysis.limits.given_rate import holds_probability, verdict_on
from hydrotest.analysis.limits.verdict import judge
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.statistics.latency import latency_ms
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests.levels import Levels
from hydrotest.store.folder import RunFolder
from hydrotest.store.histograms import operations
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Load, StockResult, Trial
from hydrotest.summary.base import Latency
from hydrotest.summary.levels import GivenRate, Level


def littles_in_flight(rate_per_s: float, mean_ms: float) -> float:
    """Little's law: operations in flight = rate × mean latency (J. D. C. Little, 1961)."""
    return rate_per_s * mean_ms / 1e3


def level_rows(run: RunFolder, experiment: Experiment, trials: list[Trial]) -> list[Level]:
    """One row for each level; for a mix one for all operations and one for each kind."""
    rows: list[Level] = []
    for trial in trials:
        if trial.status == "done" and trial.purpose == Purpose.LEVEL:
            # A dataflow's source is not what the level measures.
            for load in (load for load in trial.loads if trial.is_about(load.workload)):
                rows.extend(_stock_rows(trial, load, load.stock) if load.stock is not None else _native_rows(run, experiment, trial, load))
    return rows


def given_rates(run: RunFolder, experiment: Experiment, trials: list[Trial], decided: Decided) -> list[GivenRate]:
    """A row for each rate with a verdict, in the order of the experiment. Windows count as they were decided."""
    rows = []
    for index, test in experiment.tests_of(Levels):
        for rate in test.rates if test.verdict is not None else []:
            own = [t for t in trials if t.test == index and t.status == "done" and t.purpose == Purpose.LEVEL
                   and any(load.workload == test.workload and load.offered == rate and load.outcome is not None for load in t.loads)]  # fmt: skip
            verdicts = [
                decided.of_trial(trial.number) or judge(Measured.read(run, trial, test.workload), experiment.objective(test.workload))
                for trial in own
            ]
            own = [trial for trial, verdict in zip(own, verdicts, strict=True) if verdict.counted is not None]
            verdicts = [verdict for verdict in verdicts if verdict.counted is not None]
            held = sum(verdict.accepted for verdict in verdicts)
            assert test.verdict is not None
            if own:
                rows.append(GivenRate(
                    workload=test.workload, offered=rate, windows=len(own), held=held, probability=holds_probability(held, len(own)),
                    sure=test.verdict, verdict=verdict_on(held, len(own), test.verdict),
                    stopped_by=dict(Counter(str(verdict.stopped_by) for verdict in verdicts if not verdict.accepted)),
                    trials=[trial.number for trial in own],
                ))  # fmt: skip
    return rows


def _native_rows(run: RunFolder, experiment: Experiment, trial: Trial, load: Load) -> list[Level]:
    if load.outcome is None:
        return []
    measured = Measured.read(run, trial, load.workload)
    verdict = None if load.offered is None else judge(measured, experiment.objective(load.workload))
    if not experiment.tests[trial.test].has_latency:
        return [_saturated_row(trial, load, measured)]
    is_mix = experiment.workloads[load.workload].is_mix
    level = partial(
        Level, workload=load.workload, tenancy=trial.tenancy, offered=load.offered, concurrency=load.in_flight, client=load.client,
        seconds=measured.duration_s, trial=trial.number, errors_known=True,
    )  # fmt: skip
    everything = int(measured.histogram().get_total_count())
    rows = [level(
        op="mix" if is_mix else None, achieved=measured.achieved,
        bytes_per_s=measured.bytes_per_s, count=measured.completed, errors=measured.errors,
        errors_by_name=load.outcome.errors, latency_ms=Latency.of(measured.latency), samples=everything, latency_includes_failed=measured.failed,
        in_flight_mean=measured.in_flight_mean, cpu_s_per_million=measured.cpu_s_per_million,
        accepted=None if verdict is None else verdict.counted, checks=[] if verdict is None else list(verdict.checks),
        because=[] if verdict is None else list(verdict.because), reasons=[],
    )]  # fmt: skip
    for op in operations(measured.folder, load.workload) if is_mix else []:
        histogram = measured.histogram(op=op)
        count = int(histogram.get_total_count())
        if count == 0:
            continue
        errors = measured.errors_of(op)
        rows.append(level(
            # Its part of the achieved rate, by its share of the operations begun in the window: the histogram
            # holds the unanswered ones too.
            op=op, achieved=measured.achieved * count / everything,
            bytes_per_s=None, count=round(measured.completed * count / everything), errors=sum(errors.values()),
            errors_by_name=errors, latency_ms=Latency.of(latency_ms(histogram)), samples=count,
            # Errors of one kind are counted over the whole trial only: an upper bound.
            latency_includes_failed=min(measured.failed, sum(errors.values())), in_flight_mean=None, accepted=None, checks=[], because=[], reasons=[],
        ))  # fmt: skip
    return rows


def _saturated_row(trial: Trial, load: Load, measured: Measured) -> Level:
    """The row of unthrottled load: a rate and its cost. It has no latency (docs/explanation/method.md) and no
    number in flight, which is the generator's."""
    assert load.outcome is not None
    return Level(
        workload=load.workload, tenancy=trial.tenancy, offered=None, concurrency=None, client=load.client,
        seconds=measured.duration_s, trial=trial.number, op=None, achieved=measured.achieved,
        bytes_per_s=measured.bytes_per_s, count=measured.completed, errors=measured.errors, errors_known=True,
        errors_by_name=load.outcome.errors, latency_ms=None, samples=None, latency_includes_failed=None, in_flight_mean=None,
        cpu_s_per_million=measured.cpu_s_per_million, accepted=None, checks=[], because=[], reasons=[],
    )  # fmt: skip


def _stock_rows(trial: Trial, load: Load, stock: StockResult) -> list[Level]:
    level = partial(
        Level, workload=load.workload, tenancy=trial.tenancy, offered=load.offered, concurrency=load.in_flight, client=load.client,
        seconds=stock.seconds, trial=trial.number, in_flight_mean=None, accepted=None, checks=[], because=[], reasons=[],
    )  # fmt: skip
    # cassandra-stress also times what failed. ProducerPerformance does not, and takes its percentiles from a
    # part of the records.
    timed = stock.errors if stock.latency_ms is not None else None if stock.latency_from_send_ms is None else 0
    rows = [level(
        op="mix" if stock.by_op else None, achieved=stock.rate_per_s, bytes_per_s=stock.bytes_per_s,
        count=stock.count, errors=stock.errors or 0, errors_known=stock.errors is not None, errors_by_name=stock.errors_by_name,
        latency_ms=Latency.of(stock.latency_ms),
        latency_from_send_ms=Latency.of(stock.latency_from_send_ms), latency_includes_failed=timed,
        samples=None if stock.latency_ms is None else stock.count + (timed or 0),
        cpu_s_per_million=stock.cpu_s / (stock.count_in_all or stock.count) * 1e6 if stock.cpu_s and stock.count else None,
    )]  # fmt: skip
    for op, figures in stock.by_op.items():
        rate = figures.get("rate_per_s") or 0.0
        # Folders of older runs hold neither count nor errors of one kind.
        count, errors = round(figures.get("count") or rate * stock.seconds), figures.get("errors")
        rows.append(level(
            op=op, achieved=rate, bytes_per_s=None, count=count, errors=round(errors or 0),
            errors_known=errors is not None, errors_by_name={}, latency_includes_failed=None if errors is None else round(errors),
            samples=None if errors is None else count + round(errors),
            latency_ms=Latency.of({key: figures.get(key) for key in Latency.model_fields}),
        ))  # fmt: skip
    return rows
