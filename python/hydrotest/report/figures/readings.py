"""The readings of each host over a run, made as few as figures show. They are read once for all figures: a soak of a day on a
hundred hosts has nine million of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from hydrotest.analysis.resources.rates import read_host_rates
from hydrotest.report.figures.theme import over_trials, thinned
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.summary.machine import Host

CELLS_MAX = 120
"""Cells of a row along the time axis, however long the run was."""
CELLS_MIN = 24
"""However many hosts there are."""
ALL_CELLS_MAX = 14_400
"""Cells of all rows: a page of so many loads at once."""


@dataclass(frozen=True)
class Resource:
    """One resource of a host, by the column of its rates."""

    name: str
    column: str
    ceiling: float | None


@dataclass(frozen=True)
class HostReadings:
    """A host's rates over a run: `minute` since the first trial, and the columns of its resources."""

    host: str
    resources: tuple[Resource, ...]
    thin: pl.DataFrame
    """As many rows as a line shows; each the mean of its neighbours."""
    means: Mapping[str, float | None]
    """Over all readings."""
    cells: pl.DataFrame
    """The mean of each cell that has readings, by its number."""
    cell_min: float
    """Minutes that a cell is long."""


def read_hosts(run: RunFolder, trials: Sequence[Trial], hosts: Sequence[Host]) -> list[HostReadings]:
    """Those of each host that was sampled."""
    start = min((trial.prepared_wall_s for trial in trials), default=0.0)
    found = []
    for host in hosts:
        resources = resources_of(host)
        columns = list(dict.fromkeys(one.column for one in resources))
        rates = over_trials(_needed(read_host_rates(run.folder_of(trial), host.name, columns), columns) for trial in trials)
        if rates.is_empty():
            continue
        rates = rates.with_columns(((pl.col("wall_s") - start) / 60).alias("minute"))
        cell_min = max(1 / 60, float(rates.select(pl.col("minute").max()).item()) / cells_of(len(hosts) * len(resources)))
        cells = rates.group_by((pl.col("minute") // cell_min).cast(pl.Int32).alias("cell"), maintain_order=True).mean()
        means = rates.select(columns).mean().row(0, named=True)
        found.append(HostReadings(host.name, resources, thinned(rates, len(hosts)), means, cells, cell_min))
    return found


def _needed(rates: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    return rates if rates.is_empty() else rates.select("wall_s", *columns)


def cells_of(rows: int) -> int:
    """Cells of each of so many rows."""
    return min(CELLS_MAX, max(CELLS_MIN, math.floor(ALL_CELLS_MAX / max(1, rows))))


def resources_of(host: Host) -> tuple[Resource, ...]:
    """What is shown of a host."""
    ceilings = host.ceilings
    return (
        Resource("cpu", "cpu_cores", ceilings.cpu_cores),
        Resource("memory", "memory_bytes", host.memory_bytes),
        Resource("disk write", "disk_write_bytes_per_s", ceilings.disk_write_bytes_per_s),
        Resource("disk read", "disk_read_bytes_per_s", ceilings.disk_read_bytes_per_s),
        Resource("network out", "network_out_bytes_per_s", ceilings.network_bytes_per_s),
        Resource("network in", "network_in_bytes_per_s", ceilings.network_bytes_per_s),
    )
