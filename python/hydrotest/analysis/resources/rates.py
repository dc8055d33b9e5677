"""Use of hosts and services, from raw samples: rates between neighbouring readings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import polars as pl

from hydrotest.spec.hosts import QUOTA_PERIOD_S
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.store.samples import KEPT_BYTES, SMALL_BYTES, Kept, read_in_parts, read_samples
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


def host_rates(samples: pl.DataFrame, host: str, needed: Collection[str] | None = None) -> pl.DataFrame:
    """One row for each reading but the first, which has nothing to compare with; rates per second. `needed`: no more than these
    of `RATES`, and the time."""
    if samples.is_empty():
        return pl.DataFrame()
    own = samples.filter(pl.col("host") == host).sort("wall_s")
    if needed is not None:
        return own.select(_needed(needed)).slice(1)
    columns = [*RATES]
    columns += [expression.alias(name) for name, counter, expression in SIGNS if counter in own.columns]
    if "cpu_periods" in own.columns:
        # The kernel counts only periods in which a core was wanted: one throttled burst does not throttle a
        # full second.
        period_s = pl.col("cpu_period_us") / 1e6 if "cpu_period_us" in own.columns else pl.lit(QUOTA_PERIOD_S)
        periods = pl.max_horizontal(pl.col("cpu_periods").diff(), pl.col("wall_s").diff() / period_s)
        columns.append((pl.col("cpu_throttled_periods").diff() / periods).alias("cpu_throttled"))
    return own.select(columns).slice(1)


TIMES = ("wall_s", "since_s")


def _needed(names: Collection[str]) -> list[pl.Expr]:
    return [rate for rate in RATES if (name := rate.meta.output_name()) in names or name in TIMES]


def read_host_rates(folder: Path, host: str, needed: Collection[str] | None = None) -> pl.DataFrame:
    """A host's rates over a whole trial, by its folder. `needed`: see `host_rates`; there may be more."""
    path = folder / layout.HOST_SAMPLES
    if not path.exists():
        return pl.DataFrame()
    stat = path.stat()
    if stat.st_size <= SMALL_BYTES:
        return _kept.get((folder, host, stat.st_mtime_ns), lambda: _host_rates_of(folder, host))
    if needed is None:
        return _host_rates_of(folder, host)
    counters = {"host", *(counter for rate in _needed(needed) for counter in rate.meta.root_names())}
    return host_rates(read_samples(folder, layout.HOST_SAMPLES, pl.col("host") == host, sorted(counters)), host, needed)


_kept: Kept[tuple[Path, str, int]] = Kept(KEPT_BYTES)
"""Several tables of a summary need them."""


def _host_rates_of(folder: Path, host: str) -> pl.DataFrame:
    return host_rates(read_samples(folder, layout.HOST_SAMPLES, pl.col("host") == host), host)


def read_speeds(folder: Path, host: str) -> pl.DataFrame:
    """The speed reference of a trial: (wall_s, speed) with speed in computations per CPU-millisecond, one row for each reading."""
    samples = read_samples(folder, layout.HOST_SAMPLES, pl.col("host") == host, ["wall_s", "speed_ns"])
    if samples.is_empty():
        return pl.DataFrame()
    own = samples.filter(pl.col("speed_ns").list.len() > 0).sort("wall_s")
    return own.select("wall_s", (1e6 / pl.col("speed_ns").list.median()).alias("speed"))


SERVICE_RATES = {
    "cpu_cores": ("cpu_user_us", "cpu_system_us"),
    "exporter_cores": ("exporter_cpu_us",),
    "jit_cores": ("jit_cpu_us",),
    "disk_write_bytes_per_s": ("disk_write_bytes",),
}
"""The counters that each rate of a service is made from."""
SERVICE_LEVELS = ("memory_bytes", "threads")
BY_SERVICE = ["host", "service", "wall_s"]


def read_service_rates(folder: Path, needed: Collection[str]) -> Iterator[pl.DataFrame]:
    """Per service and reading: host, service, time and what is `needed` of `SERVICE_RATES` (per second; cores) and `SERVICE_LEVELS`.
    Those of some hosts at a time (`store.samples.read_in_parts`), in the order of hosts, services and time; none if nothing was
    sampled."""
    counters = [counter for rate, own in SERVICE_RATES.items() if rate in {*needed, "cpu_cores"} for counter in own]
    columns = [*BY_SERVICE, *counters, *(level for level in SERVICE_LEVELS if level in needed)]
    for samples in read_in_parts(folder, layout.SERVICE_SAMPLES, columns):
        yield _service_rates(samples, needed)


def _service_rates(samples: pl.DataFrame, needed: Collection[str]) -> pl.DataFrame:
    is_same = (pl.col("host") == pl.col("host").shift()) & (pl.col("service") == pl.col("service").shift())
    interval = pl.col("wall_s").diff()

    def rate(counter: str) -> pl.Expr:
        if counter not in samples.columns:
            return pl.lit(None, dtype=pl.Float64)
        change = pl.col(counter).diff()
        # A restarted service counts from zero: the second in between is unknown.
        return pl.when(is_same & (change >= 0)).then(change) / interval

    return (
        _in_order(samples)
        .with_columns(
            pl.sum_horizontal(map(rate, counters), ignore_nulls=False).alias(name) / (1e6 if name.endswith("_cores") else 1)
            for name, counters in SERVICE_RATES.items()
            if name in {*needed, "cpu_cores"}
        )
        .filter(pl.col("cpu_cores").is_not_null())
        .select(*BY_SERVICE, *(name for name in (*SERVICE_RATES, *SERVICE_LEVELS) if name in needed))
    )


def _in_order(samples: pl.DataFrame) -> pl.DataFrame:
    """By `BY_SERVICE`, as it is written; files of older versions are in the order of time."""
    host, service, wall_s = (pl.col(name) for name in BY_SERVICE)
    is_same_host, is_same = host == host.shift(), (host == host.shift()) & (service == service.shift())
    is_later = (host > host.shift()) | (is_same_host & (service > service.shift())) | (is_same & (wall_s >= wall_s.shift()))
    return samples if samples.select(is_later.slice(1).all()).item() else samples.sort(BY_SERVICE)


@dataclass(frozen=True)
class ServiceMean:
    """A service over a window."""

    host: str
    service: str
    cpu_cores: float
    jit_cores: float | None
    """Of its JIT compilers, which is in `cpu_cores`; null where they are not known."""
    readings: int


def service_means(run: RunFolder, trial: Trial, begin_s: float, end_s: float) -> Sequence[ServiceMean]:
    """Each service in a window of a trial, in the order of hosts and names."""
    path = run.folder_of(trial) / layout.SERVICE_SAMPLES
    if not path.exists():
        return ()
    # All that may be asked for of this trial, with one look at its readings: of a trial of hours there are millions.
    outcomes = [load.outcome for load in trial.loads if load.outcome is not None]
    starts = [outcome.started_wall_s + trial.warm_up_s for outcome in outcomes]
    ends = [min(start + trial.window_s, outcome.ended_wall_s) for start, outcome in zip(starts, outcomes, strict=True)]
    windows = tuple(sorted({(start, end) for start in starts for end in ends}))
    if (begin_s, end_s) not in windows:
        windows = ((begin_s, end_s),)
    return _service_means(run.folder_of(trial), path.stat().st_mtime_ns, windows)[begin_s, end_s]


@lru_cache(maxsize=4096)
def _service_means(
    folder: Path, _changed_ns: int, windows: tuple[tuple[float, float], ...]
) -> Mapping[tuple[float, float], Sequence[ServiceMean]]:
    """Cached: several tables ask."""
    found: dict[tuple[float, float], list[ServiceMean]] = {window: [] for window in windows}
    for rates in read_service_rates(folder, ["cpu_cores", "jit_cores"]):
        for begin_s, end_s in windows:
            # A reading is of the second before it.
            inside = rates.filter((pl.col("wall_s") > begin_s + EDGE_S) & (pl.col("wall_s") <= end_s + EDGE_S))
            means = inside.group_by("host", "service", maintain_order=True).agg(pl.col("cpu_cores", "jit_cores").mean(), pl.len())
            found[begin_s, end_s] += [ServiceMean(*row) for row in means.iter_rows()]
    return found


def stolen(run: RunFolder, trial: Trial, start_s: float, end_s: float) -> dict[str, float]:
    """Share of each host's cores that was stolen in a window."""
    folder, out = run.folder_of(trial), {}
    for samples in read_in_parts(folder, layout.HOST_SAMPLES, ["host", "wall_s", "cpu_steal_us", "cpu_count"]):
        for (host,), own in samples.group_by("host", maintain_order=True):
            rates = own.sort("wall_s").select("wall_s", steal=_per_s("cpu_steal_us") / 1e6)
            mean = rates.filter((pl.col("wall_s") > start_s + EDGE_S) & (pl.col("wall_s") <= end_s + 1.0))["steal"].mean()
            cores = own["cpu_count"].max()
            if isinstance(mean, int | float) and isinstance(cores, int) and cores:
                out[str(host)] = float(mean) / cores
    return out


def trial_host_rates(
    run: RunFolder, trial: Trial, host: str, start_s: float, end_s: float, needed: Collection[str] | None = None
) -> pl.DataFrame:
    """A host's rates inside a window. `needed`: see `host_rates`."""
    rates = read_host_rates(run.folder_of(trial), host, needed)
    if rates.is_empty():
        return rates
    # A reading covers the time since the one before it. Of one that is due each second the rest of it may be before the window.
    is_inside = (pl.col("since_s") > start_s - EDGE_S) | (pl.col("wall_s") - pl.col("since_s") < EACH_SECOND_S)
    is_due = (pl.col("wall_s") > start_s + EDGE_S) & (pl.col("wall_s") <= end_s + EDGE_S)
    return rates.filter(is_due & is_inside).drop("since_s")


@dataclass(frozen=True)
class Totals:
    """Of some readings of a host: what their mean and peak are made from, by the columns of its rates."""

    sums: Mapping[str, float]
    counts: Mapping[str, int]
    peaks: Mapping[str, float]


USED = list(dict.fromkeys(name.rpartition("_")[0] for name in HostUsage.model_fields))
"""The rates that `HostUsage` has."""


def totals_of(rates: pl.DataFrame) -> Totals | None:
    """None without readings."""
    if rates.is_empty():
        return None
    columns = rates.select(USED)
    sums, counts, peaks = (frame.row(0, named=True) for frame in (columns.sum(), columns.count(), columns.max()))
    return Totals(sums, counts, {name: peak for name, peak in peaks.items() if peak is not None})


def usage_of(parts: Sequence[Totals]) -> HostUsage | None:
    """Means and peaks of all readings of some windows, each by its field's name; None without any. 0 where a counter was never read."""
    if not parts:
        return None

    def figure(name: str) -> float:
        column, _, which = name.rpartition("_")
        if which == "peak":
            return max((part.peaks[column] for part in parts if column in part.peaks), default=0)
        count = sum(part.counts[column] for part in parts)
        return sum(part.sums[column] for part in parts) / count if count else 0

    return HostUsage.model_validate({name: figure(name) for name in HostUsage.model_fields})
