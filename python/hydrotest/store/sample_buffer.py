"""Samples as they come, until a trial writes them as Parquet."""

from __future__ import annotations

import asyncio
import shutil
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from hydrotest.store import layout
from hydrotest.store.samples import bunches

CELLS_IN_MEMORY = 1_000_000
"""Values of a table that wait in memory: some hundred megabytes, as Python has them, and half a second to write."""
ROW_GROUP = 1 << 16
"""Readings that are read or passed over together. A file is in the order of what is asked for, so that it is in few groups."""


class _Table:
    """One table's readings until a trial takes them: in memory, and in files where they are too many."""

    def __init__(self, name: str, order: Sequence[str], spill: Path | None) -> None:
        self.name = name
        self._order = list(order)
        self._spill = spill
        self._rows: list[dict[str, Any]] = []
        self._cells = 0
        self._parts: list[Path] = []
        self._spilled = 0

    @property
    def is_spilled(self) -> bool:
        """Whether there is more than what is in memory."""
        return bool(self._parts)

    def add(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        self._cells += len(row)
        if self._spill is not None and self._cells >= CELLS_IN_MEMORY:
            self._spill.mkdir(parents=True, exist_ok=True)
            self._parts.append(self._spill / f"{Path(self.name).stem}-{self._spilled}.parquet")
            self._spilled += 1
            _made(self._taken()).sort(self._order).write_parquet(self._parts[-1])

    def take(self) -> Callable[[Path], None]:
        """What there is, as something that writes it to a file, in order; nothing where nothing was read. From here on the table is
        empty."""
        rows, parts = self._taken(), self._parts
        self._parts = []

        def write(path: Path) -> None:
            if not rows and not parts:
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            if parts:
                try:
                    self._merge([*(pl.scan_parquet(part, glob=False) for part in parts), *([_made(rows).lazy()] if rows else [])], path)
                finally:
                    for part in parts:
                        part.unlink(missing_ok=True)
            else:
                _made(rows).sort(self._order).write_parquet(path, row_group_size=ROW_GROUP)

        return write

    def _merge(self, scans: Sequence[pl.LazyFrame], path: Path) -> None:
        """One file of all, of which no more than a bunch of hosts (or gauges) is in memory."""
        assert self._spill is not None
        every = pl.concat(scans, how="diagonal_relaxed")
        first = self._order[0]
        counts = every.group_by(first).len().sort(first).collect()
        partial = path.with_name(f"{path.name}.partial")
        bunched: list[Path] = []
        try:
            for bunch in bunches(counts.iter_rows()):
                bunched.append(self._spill / f"{path.name}.{len(bunched)}")
                every.filter(pl.col(first).is_in(bunch)).collect().sort(self._order).write_parquet(bunched[-1], row_group_size=ROW_GROUP)
            pl.concat([pl.scan_parquet(part, glob=False) for part in bunched]).sink_parquet(partial, row_group_size=ROW_GROUP)
        finally:
            for part in bunched:
                part.unlink(missing_ok=True)
        partial.rename(path)

    def _taken(self) -> list[dict[str, Any]]:
        rows = self._rows
        self._rows, self._cells = [], 0
        return rows


def _made(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    table = pl.DataFrame(rows, infer_schema_length=None)
    # Whole numbers only, in one trial, would make a table that does not go with those of the others.
    return table.with_columns(pl.col("value").cast(pl.Float64)) if "value" in table.columns else table


class SampleBuffer:
    """Collects the output of all samplers until a trial takes it."""

    def __init__(self, spill: Path | None = None) -> None:
        """`spill`: a folder for what does not fit into memory, which is emptied; without one all is kept in memory."""
        if spill is not None:
            shutil.rmtree(spill, ignore_errors=True)
        self._spill = spill
        self._hosts = _Table(layout.HOST_SAMPLES, ["host", "wall_s"], spill)
        self._services = _Table(layout.SERVICE_SAMPLES, ["host", "service", "wall_s"], spill)
        self._gauges = _Table(layout.GAUGE_SAMPLES, ["gauge", "host", "service", "wall_s"], spill)
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
            reading = {**key, **event["host"], **own}
            self._newest[host].append(reading)
            self._hosts.add(reading)
        for service, counters in event["services"].items():
            self._services.add({**key, "service": service, **counters})
            self.service_cpu_us[service] = counters["cpu_user_us"] + counters["cpu_system_us"]
            self.service_jit_us[service] = counters.get("jit_cpu_us", 0)
        for service, gauges in event["gauges"].items():
            for name, value in gauges.items():
                self._gauges.add({**key, "service": service, "gauge": name, "value": value})
        self.gauge_errors.update(event["gauge_errors"])

    def add_gauges(self, wall_s: float, gauges: Mapping[str, Mapping[str, float]]) -> None:
        """Takes gauges that a cluster shows of its own nodes, by node: of which host each is, it does not say."""
        for service, own in gauges.items():
            for name, value in own.items():
                self._gauges.add({"host": "", "wall_s": wall_s, "service": service, "gauge": name, "value": value})

    def newest_hosts(self, host: str) -> list[dict[str, Any]]:
        """The two newest readings of a host, older first, for the live display; fewer at first."""
        return list(self._newest[host])

    def flush(self, folder: Path) -> None:
        """Writes everything below a folder, as a trial's, and starts anew."""
        self._writing()(folder)

    async def flush_while_sampling(self, folder: Path) -> None:
        """The same; what comes meanwhile is of the next trial. Of a trial of hours it takes a minute, in which hosts must still be
        heard: so in a thread, to its end, whoever cancels this."""
        is_long = any(table.is_spilled for table in self._tables)
        writing = self._writing()
        if is_long:
            await asyncio.shield(asyncio.to_thread(writing, folder))
        else:
            writing(folder)

    def close(self) -> None:
        """Drops what no trial has taken."""
        if self._spill is not None:
            shutil.rmtree(self._spill, ignore_errors=True)

    @property
    def _tables(self) -> Sequence[_Table]:
        return self._hosts, self._services, self._gauges

    def _writing(self) -> Callable[[Path], None]:
        taken = [(table.name, table.take()) for table in self._tables]

        def write(folder: Path) -> None:
            for name, write_one in taken:
                write_one(folder / name)

        return write
