"""Use of hosts and services, from raw samples: rates between neighbouring readings."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from hydrotest.spec.hosts import QUOTA_PERIOD_S
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.store.samples import read_samples
from hydrotest.summary.usage import HostUsage

CPU_BUSY = ("cpu_user_us", "cpu_nice_us", "cpu_system_us", "cpu_irq_us", "cpu_softirq_us")
"""Steal and iowait are not use: the first is taken away, the second is waiting."""


def _per_s(counter: str) -> pl.Expr:
    return pl.col(counter).diff() / pl.col("wall_s").diff()


SIGNS = [
    ("pressure_cpu_some", "pressure_cpu_some_us", _per_s("pressure_cpu_some_us") / 1e6),
    ("pressure_io_some", "pressure_io_some_us", _per_s("pressure_io_some_us") / 1e6),
    ("pressure_memory_some", "pressure_memory_some_us", _per_s("pressure_memory_some_us") / 1e6),
    ("run_delay", "run_delay_us", _per_s("run_delay_us") / 1e6),
    # Mean requests that wait or are served.
    ("disk_wait", "disk_wait_ms", _per_s("disk_wait_ms") / 1e3),
    ("net_drops_per_s", "net_drops", _per_s("net_drops")),
    ("queue_drops_per_s", "queue_drops", _per_s("queue_drops")),
    ("major_faults_per_s", "vm_pgmajfault", _per_s("vm_pgmajfault")),
    ("swapped_pages_per_s", "vm_pswpin", _per_s("vm_pswpin") + _per_s("vm_pswpout")),
    ("memory_dirty_bytes", "memory_dirty_bytes", pl.col("memory_dirty_bytes")),
]
"""Signs that something was waited for, or ran short: name, the counter that only some hosts have,
expression."""


EDGE_S = 0.5
"""By so much a reading's time may be outside a window: it is taken once a second."""
EACH_SECOND_S = 2.0
"""Between two readings of our own sampler there is less, unless the machine stalls."""

RATES = [
    pl.col("wall_s"),
    pl.col("wall_s").shift().alias("since_s"),
    (pl.sum_horizontal(*CPU_BUSY).diff() / 1e6 / pl.col("wall_s").diff()).alias("cpu_cores"),
    (_per_s("cpu_steal_us") / 1e6).alias("steal_cores"),
    (_per_s("cpu_iowait_us") / 1e6).alias("iowait_cores"),
    (pl.col("memory_total_bytes") - pl.col("memory_available_bytes")).alias("memory_bytes"),
    pl.col("swap_used_bytes").alias("swap_bytes"),
    *(_per_s(f"disk_{what}").alias(f"disk_{what}_per_s") for what in ("reads", "writes", "read_bytes", "write_bytes")),
    (_per_s("disk_busy_ms") / 1e3).alias("disk_busy"),
    # On one machine all traffic is on loopback; it counts as network traffic of that host.
    (_per_s("net_out_bytes") + _per_s("lo_out_bytes")).alias("network_out_bytes_per_s"),
    (_per_s("net_in_bytes") + _per_s("lo_in_bytes")).alias("network_in_bytes_per_s"),
    _per_s("tcp_out_segments").alias("tcp_segments_out_per_s"),
    _per_s("tcp_in_segments").alias("tcp_segments_in_per_s"),
    _per_s("tcp_retransmitted_segments").alias("tcp_retransmits_per_s"),
    (_per_s("sampler_cpu_us") / 1e6).alias("sampler_cores"),
]
"""Rates that every host has."""


def host_rates(samples: pl.DataFrame, host: str) -> pl.DataFrame:
    """One row for each reading but the first, which has nothing to compare with; rates per second."""
    if samples.is_empty():
        return pl.DataFrame()
    own = samples.filter(pl.col("host") == host).sort("wall_s")
    columns = [*RATES]
    columns += [expression.alias(name) for name, counter, expression in SIGNS if counter in own.columns]
    if "cpu_periods" in own.columns:
        # The kernel counts only periods in which a core was wanted: one throttled burst does not throttle a
        # full second.
        period_s = pl.col("cpu_period_us") / 1e6 if "cpu_period_us" in own.columns else pl.lit(QUOTA_PERIOD_S)
        periods = pl.max_horizontal(pl.col("cpu_periods").diff(), pl.col("wall_s").diff() / period_s)
        columns.append((pl.col("cpu_throttled_periods").diff() / periods).alias("cpu_throttled"))
    return own.select(columns).slice(1)


def read_host_rates(folder: Path, host: str) -> pl.DataFrame:
    """A host's rates over a whole trial, by its folder."""
    path = folder / layout.HOST_SAMPLES
    return _host_rates_of(folder, host, path.stat().st_mtime_ns) if path.exists() else pl.DataFrame()


@lru_cache(maxsize=512)
def _host_rates_of(folder: Path, host: str, _changed_ns: int) -> pl.DataFrame:
    """Cached, since several tables of a summary need them."""
    return host_rates(read_samples(folder, layout.HOST_SAMPLES), host)


def speed_rows(samples: pl.DataFrame, host: str) -> pl.DataFrame:
    """The speed reference: (wall_s, speed) with speed in computations per CPU-millisecond, one row for each
    reading."""
    if samples.is_empty():
        return pl.DataFrame()
    own = samples.filter((pl.col("host") == host) & (pl.col("speed_ns").list.len() > 0)).sort("wall_s")
    return own.select("wall_s", (1e6 / pl.col("speed_ns").list.median()).alias("speed"))


def service_rates(samples: pl.DataFrame) -> pl.DataFrame:
    """Per service and reading: cores used, memory, disk bytes per second, the exporter's cores."""
    if samples.is_empty():
        return pl.DataFrame()
    by = ["host", "service"]
    interval = pl.col("wall_s").diff().over(by)

    def rate(counter: str) -> pl.Expr:
        column = pl.col(counter) if counter in samples.columns else pl.lit(0)
        change = column.diff().over(by)
        # A restarted service counts from zero: the second in between is unknown.
        return pl.when(change >= 0).then(change) / interval

    return (
        samples.sort("wall_s")
        .with_columns(
            cpu_cores=(rate("cpu_user_us") + rate("cpu_system_us")) / 1e6,
            exporter_cores=rate("exporter_cpu_us") / 1e6,
            jit_cores=rate("jit_cpu_us") / 1e6,
            disk_write_bytes_per_s=rate("disk_write_bytes"),
        )
        .filter(pl.col("cpu_cores").is_not_null())
        .select(*by, "wall_s", "cpu_cores", "exporter_cores", "jit_cores", "memory_bytes", "threads", "disk_write_bytes_per_s")
    )


def compiling(run: RunFolder, trial: Trial, start_s: float, end_s: float) -> dict[str, float]:
    """Cores that each service's JIT compilers used in a window; unknown ones are left out."""
    rates = service_rates(read_samples(run.folder_of(trial), layout.SERVICE_SAMPLES))
    if rates.is_empty():
        return {}
    inside = rates.filter((pl.col("wall_s") > start_s) & (pl.col("wall_s") <= end_s + 1.0))
    means = inside.group_by("service", maintain_order=True).agg(pl.col("jit_cores").mean()).drop_nulls()
    return dict(means.iter_rows())


def stolen(run: RunFolder, trial: Trial, start_s: float, end_s: float) -> dict[str, float]:
    """Share of each host's cores that was stolen in a window."""
    samples = read_samples(run.folder_of(trial), layout.HOST_SAMPLES)
    if samples.is_empty():
        return {}
    out = {}
    for host, own in samples.group_by("host", maintain_order=True):
        rates = host_rates(own, str(host[0]))
        inside = rates.filter((pl.col("wall_s") > start_s + 0.5) & (pl.col("wall_s") <= end_s + 1.0))
        mean = inside["steal_cores"].mean()
        cores = own["cpu_count"].max()
        if isinstance(mean, int | float) and isinstance(cores, int) and cores:
            out[str(host[0])] = float(mean) / cores
    return out


def trial_host_rates(run: RunFolder, trial: Trial, host: str, start_s: float, end_s: float) -> pl.DataFrame:
    """A host's rates inside a window."""
    rates = read_host_rates(run.folder_of(trial), host)
    if rates.is_empty():
        return rates
    # A reading covers the time since the one before it. Of one that is due each second the rest of it may be before the window.
    is_inside = (pl.col("since_s") > start_s - EDGE_S) | (pl.col("wall_s") - pl.col("since_s") < EACH_SECOND_S)
    is_due = (pl.col("wall_s") > start_s + EDGE_S) & (pl.col("wall_s") <= end_s + EDGE_S)
    return rates.filter(is_due & is_inside).drop("since_s")


def summarise(rates: pl.DataFrame) -> HostUsage | None:
    """Means and peaks of some readings, each by its field's name; None without any."""
    if rates.is_empty():
        return None

    def figure(name: str) -> Any:
        column, _, which = name.rpartition("_")
        value = rates[column].mean() if which == "mean" else rates[column].max()
        return value if isinstance(value, (int, float)) else 0

    return HostUsage(**{name: figure(name) for name in HostUsage.model_fields})
