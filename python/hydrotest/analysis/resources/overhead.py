"""What hydrotest itself used under load: its samplers, and the exporters in the systems' services."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

import polars as pl

from hydrotest.analysis.resources.rates import read_host_rates, read_service_rates
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial


def sampler_cores(run: RunFolder, trials: Iterable[Trial], hosts: Collection[str]) -> float | None:
    """Cores of all samplers of some hosts together, the mean over the trials; null if none was read. Each host has one of its own;
    on emulated hosts all are this machine's."""
    totals = []
    for trial in trials:
        folder = run.folder_of(trial)
        rates = (read_host_rates(folder, host, ["sampler_cores"]) for host in hosts)
        means = [float(mean) for own in rates if not own.is_empty() and isinstance(mean := own["sampler_cores"].mean(), float)]
        totals += [sum(means)] if means else []
    return sum(totals) / len(totals) if totals else None


def exporter_cores(run: RunFolder, trials: Iterable[Trial]) -> dict[str, float]:
    """Cores of the exporter in each service, the mean over all readings."""
    used: dict[str, float] = defaultdict(float)
    readings: dict[str, int] = defaultdict(int)
    for trial in trials:
        for rates in read_service_rates(run.folder_of(trial), ["exporter_cores"]):
            cores = pl.col("exporter_cores")
            for service, total, count in (
                rates.group_by("service", maintain_order=True).agg(cores.sum(), cores.count().alias("n")).iter_rows()
            ):
                used[service] += total
                readings[service] += count
    return {service: used[service] / count for service, count in readings.items() if count}
