"""What hydrotest itself used under load: its samplers, and the exporters in the systems' services."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

import polars as pl

from hydrotest.analysis.resources.rates import read_service_rates
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.store.samples import read_samples


def sampler_cores(run: RunFolder, trials: Iterable[Trial], hosts: Collection[str]) -> float | None:
    """Cores of all samplers of some hosts together, the mean over the trials; null if none was read. Each host has one of its own;
    on emulated hosts all are this machine's."""
    totals = []
    for trial in trials:
        samples = read_samples(
            run.folder_of(trial), layout.HOST_SAMPLES, pl.col("host").is_in(list(hosts)), ["host", "wall_s", "sampler_cpu_us"]
        )
        means = []
        for _, own in samples.group_by("host", maintain_order=True) if not samples.is_empty() else ():
            mean = own.sort("wall_s").select((pl.col("sampler_cpu_us").diff() / pl.col("wall_s").diff()).mean()).item()
            means += [mean / 1e6] if mean is not None else []
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
