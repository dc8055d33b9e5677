"""Use of hosts and services, from raw samples: rates between neighbouring readings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from hydrotest.kinds.registry import SYSTEMS
from hydrotest.spec.hosts import QUOTA_PERIOD_S
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.store.samples import (
    FIRST,
    FOLDER,
    KEPT_BYTES,
    SMALL_BYTES,
    Kept,
    in_order,
    in_time,
    read_gauges_together,
    read_in_parts,
    read_samples,
    read_together,
)

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
    (_per_s("cpu_steal_us") / 1e6 / pl.col("cpu_count")).alias("stolen"),
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
    own = in_time(samples.filter(pl.col("host") == host)).lazy()
    return own.select(_rates_of(samples.columns) if needed is None else _needed(needed)).slice(1).collect()


def _rates_of(known: Collection[str]) -> list[pl.Expr]:
    """All rates that these counters give."""
    columns = [*RATES]
    columns += [expression.alias(name) for name, counter, expression in SIGNS if counter in known]
    if "cpu_periods" in known:
        # The kernel counts only periods in which a core was wanted: one throttled burst does not throttle a
        # full second.
        period_s = pl.col("cpu_period_us") / 1e6 if "cpu_period_us" in known else pl.lit(QUOTA_PERIOD_S)
        periods = pl.max_horizontal(pl.col("cpu_periods").diff(), pl.col("wall_s").diff() / period_s)
        columns.append((pl.col("cpu_throttled_periods").diff() / periods).alias("cpu_throttled"))
    return columns


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
_kept_speeds: Kept[tuple[Path, str, int]] = Kept(KEPT_BYTES)


WINDOWS_MAX = 4
"""Of a trial whose services are looked at together with others: their readings are taken once for each."""


def rates_together(run: RunFolder, trials: Sequence[Trial], timed: Collection[str] = ()) -> None:
    """What `read_host_rates`, `stolen` and `service_means` are asked for of all trials, `gauge_rows` for counters of requests, and
    `read_speeds` for the hosts `timed`, made at once and kept: most trials have a dozen readings, and a table takes as long for a dozen as
    for thousands. What cannot be made so is made, or its defect reported, where it is asked for."""
    _hosts_together(run, trials, timed)
    _services_together(run, [trial for trial in trials if len(_windows_of(trial)) <= WINDOWS_MAX])
    read_gauges_together(
        [run.folder_of(trial) for trial in trials], [kind.requests for kind in SYSTEMS.values() if kind.requests is not None]
    )


def _hosts_together(run: RunFolder, trials: Sequence[Trial], timed: Collection[str]) -> None:
    by, folders = [FOLDER, "host"], [run.folder_of(trial) for trial in trials]
    for samples, changed_ns in read_together(folders, layout.HOST_SAMPLES):
        own = samples.lazy()
        windows = {number: _own_windows_of(trials[number]) for number in changed_ns}
        found: dict[int, dict[Window, dict[str, float]]] = {number: {window: {} for window in own} for number, own in windows.items()}
        with suppress(pl.exceptions.PolarsError):
            rates = own.sort(*by, "wall_s").select(*by, *_rates_of(samples.columns)).filter(_is_same(by)).collect()
            speeds = _speeds(own.filter(pl.col("host").is_in(list(timed))), by)
            for kept, table in ((_kept, rates), (_kept_speeds, speeds)):
                for (number, host), part in table.partition_by(by, as_dict=True, include_key=False).items():
                    kept.keep((folders[number], host, changed_ns[number]), part)
            for number, window, (host, share) in _by_window(rates, windows, _was_stolen_in, ["host"], [STOLEN]):
                if share is not None:
                    found[number][window][host] = share
            for number, shares in found.items():
                _keep(_stolen, (folders[number] / layout.HOST_SAMPLES, changed_ns[number], windows[number]), shares)


def _services_together(run: RunFolder, trials: Sequence[Trial]) -> None:
    folders = [run.folder_of(trial) for trial in trials]
    for samples, changed_ns in read_together(folders, layout.SERVICE_SAMPLES):
        windows = {number: _windows_of(trials[number]) for number in changed_ns}
        found: dict[int, dict[Window, list[ServiceMean]]] = {number: {window: [] for window in own} for number, own in windows.items()}
        with suppress(pl.exceptions.PolarsError):
            rates = _service_rates(samples, MEANT, [FOLDER, *BY_SERVICE])
            for number, window, mean in _by_window(rates, windows, _is_inside, ["host", "service"], MEANS):
                found[number][window].append(ServiceMean(*mean))
            for number, means in found.items():
                _keep(_means, (folders[number] / layout.SERVICE_SAMPLES, changed_ns[number], windows[number]), means)


def _by_window(
    rates: pl.DataFrame,
    windows: Mapping[int, Sequence[Window]],
    is_inside: Callable[[pl.Expr, pl.Expr], pl.Expr],
    by: Sequence[str],
    wanted: Sequence[pl.Expr],
) -> Iterator[tuple[int, Window, list[Any]]]:
    """What is wanted of the rates in each window of each folder, apart `by` these columns, which come first."""
    every = [(number, *window) for number, own in windows.items() for window in own]
    table = pl.LazyFrame(every, schema={FOLDER: pl.Int64, "begin_s": pl.Float64, "end_s": pl.Float64}, orient="row")
    inside = rates.lazy().join(table, on=FOLDER, maintain_order="left").filter(is_inside(pl.col("begin_s"), pl.col("end_s")))
    rows = inside.group_by(FOLDER, "begin_s", "end_s", *by, maintain_order=True).agg(*wanted).collect()
    for number, begin_s, end_s, *row in rows.iter_rows():
        yield number, (begin_s, end_s), row


def _is_same(by: Sequence[str]) -> pl.Expr:
    """Whether the row before is of the same."""
    return pl.all_horizontal(pl.col(name) == pl.col(name).shift() for name in by)


def _host_rates_of(folder: Path, host: str) -> pl.DataFrame:
    return host_rates(read_samples(folder, layout.HOST_SAMPLES, pl.col("host") == host), host)


def read_speeds(folder: Path, host: str) -> pl.DataFrame:
    """The speed reference of a trial: (wall_s, speed) with speed in computations per CPU-millisecond, one row for each reading."""
    path = folder / layout.HOST_SAMPLES
    if not path.exists():
        return pl.DataFrame()
    stat = path.stat()
    if stat.st_size <= SMALL_BYTES:
        return _kept_speeds.get((folder, host, stat.st_mtime_ns), lambda: _speeds_of(folder, host))
    return _speeds_of(folder, host)


def _speeds_of(folder: Path, host: str) -> pl.DataFrame:
    samples = read_samples(folder, layout.HOST_SAMPLES, pl.col("host") == host, ["wall_s", "speed_ns"])
    return pl.DataFrame() if samples.is_empty() else _speeds(samples.lazy())


def _speeds(samples: pl.LazyFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    own = samples.filter(pl.col("speed_ns").list.len() > 0).sort(*by, "wall_s")
    return own.select(*by, "wall_s", (1e6 / pl.col("speed_ns").list.median()).alias("speed")).collect()


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


def _service_rates(samples: pl.DataFrame, needed: Collection[str], by: Sequence[str] = BY_SERVICE) -> pl.DataFrame:
    """`by`: what readings are in the order of, the time last."""
    interval = pl.col("wall_s").diff()

    def rate(counter: str) -> pl.Expr:
        if counter not in samples.columns:
            return pl.lit(None, dtype=pl.Float64)
        change = pl.col(counter).diff()
        # A restarted service counts from zero: the second in between is unknown.
        return pl.when(~pl.col(FIRST) & (change >= 0)).then(change) / interval

    return (
        in_order(samples, by)
        .lazy()
        .with_columns(
            pl.sum_horizontal(map(rate, counters), ignore_nulls=False).alias(name) / (1e6 if name.endswith("_cores") else 1)
            for name, counters in SERVICE_RATES.items()
            if name in {*needed, "cpu_cores"}
        )
        .filter(pl.col("cpu_cores").is_not_null())
        .select(*by, *(name for name in (*SERVICE_RATES, *SERVICE_LEVELS) if name in needed))
        .collect()
    )


@dataclass(frozen=True, slots=True)
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
    found: list[ServiceMean] = _kept_window(_means, path, _windows_of(trial), (begin_s, end_s), _means_in)
    return found


def _means_in(path: Path, windows: Sequence[Window]) -> dict[Window, list[ServiceMean]]:
    found: dict[Window, list[ServiceMean]] = {window: [] for window in windows}
    for rates in read_service_rates(path.parents[1], MEANT):
        for window, own in found.items():
            means = rates.lazy().filter(_is_inside(*map(pl.lit, window))).group_by("host", "service", maintain_order=True).agg(*MEANS)
            own += [ServiceMean(*row) for row in means.collect().iter_rows()]
    return found


K = TypeVar("K")
V = TypeVar("V")
Window = tuple[float, float]
MEANT = ["cpu_cores", "jit_cores"]
MEANS = [pl.col(MEANT).mean(), pl.len()]
MEANS_MAX = 20_000
"""Trials whose means are kept."""

_means: dict[tuple[Path, int, tuple[Window, ...]], dict[Window, list[ServiceMean]]] = {}
"""By file, its last change, and windows: several tables ask for them."""


def _keep(kept: dict[K, V], key: K, value: V) -> None:
    while len(kept) >= MEANS_MAX:
        del kept[next(iter(kept))]
    kept[key] = value


def _kept_window(
    kept: dict[tuple[Path, int, tuple[Window, ...]], dict[Window, V]],
    path: Path,
    windows: tuple[Window, ...],
    wanted: Window,
    make: Callable[[Path, Sequence[Window]], dict[Window, V]],
) -> V:
    """What is made of a file for a window; of all `windows` at once, if it is one of them, and kept."""
    own = windows if wanted in windows else (wanted,)
    key = path, path.stat().st_mtime_ns, own
    if key not in kept:
        _keep(kept, key, make(path, own))
    return kept[key][wanted]


def _is_inside(begin_s: pl.Expr, end_s: pl.Expr) -> pl.Expr:
    """Whether a service's reading, which is of the second before it, is in a window."""
    return (pl.col("wall_s") > begin_s + EDGE_S) & (pl.col("wall_s") <= end_s + EDGE_S)


def _windows_of(trial: Trial) -> tuple[Window, ...]:
    """All that may be asked for of a trial, so that its readings are looked at once: of a trial of hours there are millions."""
    own = _own_windows_of(trial)
    return tuple(sorted({(start, end) for start, _ in own for _, end in own}))


def _own_windows_of(trial: Trial) -> tuple[Window, ...]:
    """Those of its loads."""
    outcomes = [load.outcome for load in trial.loads if load.outcome is not None]
    starts = [outcome.started_wall_s + trial.warm_up_s for outcome in outcomes]
    ends = [min(start + trial.window_s, outcome.ended_wall_s) for start, outcome in zip(starts, outcomes, strict=True)]
    return tuple(sorted(set(zip(starts, ends, strict=True))))


def stolen(run: RunFolder, trial: Trial, start_s: float, end_s: float) -> dict[str, float]:
    """Share of each host's cores that was stolen in a window."""
    path = run.folder_of(trial) / layout.HOST_SAMPLES
    if not path.exists():
        return {}
    found: dict[str, float] = _kept_window(_stolen, path, _own_windows_of(trial), (start_s, end_s), _stolen_in)
    return dict(found)


_stolen: dict[tuple[Path, int, tuple[Window, ...]], dict[Window, dict[str, float]]] = {}
"""As `_means`."""
STOLEN = pl.col("stolen").mean()


def _stolen_in(path: Path, windows: Sequence[Window]) -> dict[Window, dict[str, float]]:
    found: dict[Window, dict[str, float]] = {window: {} for window in windows}
    for samples in read_in_parts(path.parents[1], layout.HOST_SAMPLES, ["host", "wall_s", "cpu_steal_us", "cpu_count"]):
        rates = in_order(samples, ["host", "wall_s"]).lazy().select("host", FIRST, *_needed(["stolen"])).filter(~pl.col(FIRST)).collect()
        for window, out in found.items():
            shares = rates.lazy().filter(_was_stolen_in(*map(pl.lit, window))).group_by("host", maintain_order=True).agg(STOLEN)
            out |= {host: share for host, share in shares.collect().iter_rows() if share is not None}
    return found


def _was_stolen_in(begin_s: pl.Expr, end_s: pl.Expr) -> pl.Expr:
    """Whether a host's reading is of a window, or of the second after it, in which what was taken in its last one is counted."""
    return (pl.col("wall_s") > begin_s + EDGE_S) & (pl.col("wall_s") <= end_s + 1.0)


def trial_host_rates(
    run: RunFolder, trial: Trial, host: str, start_s: float, end_s: float, needed: Collection[str] | None = None
) -> pl.DataFrame:
    """A host's rates inside a window. `needed`: see `host_rates`."""
    rates = read_host_rates(run.folder_of(trial), host, needed)
    if rates.is_empty():
        return rates
    wall_s, since_s = (rates[name].to_numpy() for name in TIMES)
    # A reading covers the time since the one before it. Of one that is due each second the rest of it may be before the window.
    is_inside = (since_s > start_s - EDGE_S) | (wall_s - since_s < EACH_SECOND_S)
    is_due = (wall_s > start_s + EDGE_S) & (wall_s <= end_s + EDGE_S)
    inside = np.flatnonzero(is_due & is_inside)
    # They follow each other, as their times ascend: a part of a table costs nothing.
    found = rates.slice(int(inside[0]) if len(inside) else 0, len(inside))
    found.drop_in_place("since_s")
    return found
