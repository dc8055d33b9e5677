"""Samples as Parquet: raw counters of hosts and services, gauges as they came."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from hydrotest.errors import OTHERS_READ, BadInputError
from hydrotest.store import layout


class SampleBuffer:
    """Collects the output of a host's sampler until a trial takes it."""

    def __init__(self) -> None:
        self._hosts: list[dict[str, Any]] = []
        self._services: list[dict[str, Any]] = []
        self._gauges: list[dict[str, Any]] = []
        self._newest: defaultdict[str, deque[dict[str, Any]]] = defaultdict(lambda: deque(maxlen=2))
        self.service_cpu_us: dict[str, int] = {}
        """CPU time of each watched service so far, at the newest reading."""
        self.service_jit_us: dict[str, int] = {}
        """Of that, what its JIT compilers used."""
        self.gauge_errors: dict[str, str] = {}
        """The last failed scrape of each service."""

    def add(self, host: str, event: dict[str, Any]) -> None:
        """Takes one `sample` event of rust/node/src/sample.rs."""
        key = {"host": host, "wall_s": event["wall_s"]}
        own = {"sampler_cpu_us": event["sampler_cpu_us"], "speed_ns": event["speed_ns"]}
        if event["host"]:  # what monitors a machine may read its services apart
            self._hosts.append({**key, **event["host"], **own})
            self._newest[host].append(self._hosts[-1])
        for service, counters in event["services"].items():
            self._services.append({**key, "service": service, **counters})
            self.service_cpu_us[service] = counters["cpu_user_us"] + counters["cpu_system_us"]
            self.service_jit_us[service] = counters.get("jit_cpu_us", 0)
        for service, gauges in event["gauges"].items():
            self._gauges.extend({**key, "service": service, "gauge": name, "value": value} for name, value in gauges.items())
        self.gauge_errors.update(event["gauge_errors"])

    def add_gauges(self, wall_s: float, gauges: Mapping[str, Mapping[str, float]]) -> None:
        """Takes gauges that a cluster shows of its own nodes, by node: of which host each is, it does not say."""
        for service, own in gauges.items():
            self._gauges.extend(
                {"host": "", "wall_s": wall_s, "service": service, "gauge": name, "value": value} for name, value in own.items()
            )

    def newest_hosts(self, host: str) -> list[dict[str, Any]]:
        """The two newest readings of a host, older first, for the live display; fewer at first."""
        return list(self._newest[host])

    def flush(self, folder: Path) -> None:
        """Writes everything below a folder, as a trial's, and starts anew."""
        for rows, name in (
            (self._hosts, layout.HOST_SAMPLES),
            (self._services, layout.SERVICE_SAMPLES),
            (self._gauges, layout.GAUGE_SAMPLES),
        ):
            if rows:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                table = pl.DataFrame(rows, infer_schema_length=None)
                if name == layout.GAUGE_SAMPLES:
                    # Whole numbers only, in one trial, would make a table that does not go with those of the others.
                    table = table.with_columns(pl.col("value").cast(pl.Float64))
                table.write_parquet(folder / name)
        self._hosts, self._services, self._gauges = [], [], []


def read_samples(folder: Path, name: str) -> pl.DataFrame:
    """One of the sample tables of a trial; empty if nothing was sampled."""
    path = folder / name
    return _read(path, path.stat().st_mtime_ns) if path.exists() else pl.DataFrame()


@lru_cache(maxsize=512)
def _read(path: Path, _changed_ns: int) -> pl.DataFrame:
    """Cached: a summary needs the file for each host of a lab, and for each of its tests."""
    try:
        return pl.read_parquet(path, glob=False)
    except pl.exceptions.PolarsError as error:
        raise BadInputError(f"the file is damaged: {str(error).splitlines()[0]}", OTHERS_READ, file=path) from error
