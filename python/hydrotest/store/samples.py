"""Samples as Parquet: raw counters of hosts and services, gauges as they came."""

from __future__ import annotations

import asyncio
import shutil
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import polars as pl

from hydrotest.errors import OTHERS_READ, BadInputError
from hydrotest.store import layout

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


SMALL_BYTES = 1 << 20
"""A file up to this size is read whole, and kept: a summary needs it for each host of a lab, and for each of its tests."""
KEPT_BYTES = 256 << 20
"""Of all that are kept."""
COLUMN_BYTES = 500
"""What a column takes besides its values, as measured."""
LAST = "\U0010ffff"
"""Follows each character that a name has."""
ROWS_AT_ONCE = 300_000
"""Readings of whole hosts that are read together (`read_in_parts`): a hundred megabytes of the widest table."""


def read_samples(folder: Path, name: str, where: pl.Expr | None = None, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """One of the sample tables of a trial; empty if nothing was sampled. Of a long trial it does not fit into memory: `where`
    and `columns` are what of it is needed. Columns that it does not have are left out."""
    path = folder / name
    if not path.exists():
        return pl.DataFrame()
    with _readable(path):
        scan = _scan(path)
        found = scan if where is None else scan.filter(where)
        if columns is not None:
            known = scan.collect_schema()
            found = found.select(column for column in columns if column in known)
        return found.collect()


def read_in_parts(folder: Path, name: str, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """The same of all hosts, as many whole ones at a time as are read at once (`ROWS_AT_ONCE`), in the order of the file."""
    path = folder / name
    if not path.exists():
        return
    if path.stat().st_size <= SMALL_BYTES:
        yield read_samples(folder, name, columns=columns)
        return
    for hosts in bunches(_readings_by(path, "host").items()):
        yield read_samples(folder, name, pl.col("host").is_in(hosts), columns)


def hosts_in(folder: Path, name: str) -> set[str]:
    """The hosts of a sample table."""
    path = folder / name
    return set(_readings_by(path, "host")) if path.exists() else set()


def _readings_by(path: Path, column: str) -> dict[str, int]:
    with _readable(path):
        return dict(_scan(path).group_by(column, maintain_order=True).len().collect().iter_rows())


def gauge_names(folder: Path, prefix: str) -> list[str]:
    """The gauges of a trial whose names begin so."""
    path = folder / layout.GAUGE_SAMPLES
    if not path.exists():
        return []
    with _readable(path):
        # As bounds, by which a file is passed over that is in the order of gauges.
        is_between = (pl.col("gauge") >= prefix) & (pl.col("gauge") < prefix + LAST)
        return sorted(_scan(path).filter(is_between).select(pl.col("gauge").unique()).collect()["gauge"])


def bunches(counts: Iterable[tuple[str, int]]) -> Iterator[list[str]]:
    """Names with the number of their readings, as many together as are read at once (`ROWS_AT_ONCE`)."""
    bunch: list[str] = []
    rows = 0
    for name, count in counts:
        if bunch and rows + count > ROWS_AT_ONCE:
            yield bunch
            bunch, rows = [], 0
        bunch.append(name)
        rows += count
    if bunch:
        yield bunch


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise BadInputError(f"the file is damaged: {str(error).splitlines()[0]}", OTHERS_READ, file=path) from error


def _scan(path: Path) -> pl.LazyFrame:
    stat = path.stat()
    if stat.st_size > SMALL_BYTES:
        return pl.scan_parquet(path, glob=False)
    return _read.get((path, stat.st_mtime_ns), lambda: pl.read_parquet(path, glob=False)).lazy()


Key = TypeVar("Key", bound=Hashable)


class Kept(Generic[Key]):
    """Tables that were made, of which those that were not asked for longest are dropped."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._tables: OrderedDict[Key, tuple[pl.DataFrame, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Key, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """The table of a key; made if it is not there."""
        if key in self._tables:
            self._tables.move_to_end(key)
            return self._tables[key][0]
        table = make()
        self.keep(key, table)
        return table

    @property
    def is_half_full(self) -> bool:
        """Whether more than half of what may be kept is."""
        return self._bytes > self._most_bytes / 2

    def __contains__(self, key: Key) -> bool:
        return key in self._tables

    def keep(self, key: Key, table: pl.DataFrame) -> None:
        """Takes a table, in place of what is there."""
        self._bytes -= self._tables.pop(key, (table, 0))[1]
        size = int(table.estimated_size()) + COLUMN_BYTES * (1 + table.width)
        self._tables[key] = table, size
        self._bytes += size
        while self._bytes > self._most_bytes and len(self._tables) > 1:
            _, (_, dropped) = self._tables.popitem(last=False)
            self._bytes -= dropped


_read: Kept[tuple[Path, int]] = Kept(KEPT_BYTES)

FOLDER, FILE = "folder", "file"
"""Columns of tables that were read together: the number of the folder among those that were named, and what it was read from."""
TOGETHER_BYTES = 4 << 20
"""Files that are read together, at most. What hardly changes takes a hundred times as much in memory."""


class Together(NamedTuple):
    """Tables of several trials in one."""

    table: pl.DataFrame
    """With the column `FOLDER`, in the order of folders."""
    changed_ns: Mapping[int, int]
    """When the file of each folder that is in it was changed last, from before it was read."""


def read_together(folders: Sequence[Path], name: str) -> Iterator[Together]:
    """One of the sample tables of many trials: each is a few readings, and to open one takes longer than to read it. Each is kept for
    `read_samples`. Left out are those that are kept already, that are large, that do not go together (another version's, or damaged), and
    all from where on what is kept would displace what was read before."""
    bunch: dict[int, tuple[Path, int]] = {}
    size = 0
    for number, folder in enumerate(folders):
        path = folder / name
        if not path.exists():
            continue
        stat = path.stat()
        if stat.st_size > SMALL_BYTES or (path, stat.st_mtime_ns) in _read:
            continue
        if size + stat.st_size > TOGETHER_BYTES:
            yield from _together(bunch)
            bunch, size = {}, 0
        if _read.is_half_full:
            return
        bunch[number] = path, stat.st_mtime_ns
        size += stat.st_size
    yield from _together(bunch)


def _together(bunch: Mapping[int, tuple[Path, int]]) -> Iterator[Together]:
    if len(bunch) < 2:
        return
    paths = [path for path, _ in bunch.values()]
    numbers = pl.LazyFrame({FILE: list(map(str, paths)), FOLDER: list(bunch)})
    try:
        scan = pl.scan_parquet(paths, glob=False, include_file_paths=FILE)
        every = scan.join(numbers, on=FILE, how="left", maintain_order="left").drop(FILE).collect()
    except (pl.exceptions.PolarsError, OSError):
        # One of them does not go with the others. What is wrong with it, if anything is, is reported where it is needed.
        items = list(bunch.items())
        middle = len(items) // 2
        yield from _together(dict(items[:middle]))
        yield from _together(dict(items[middle:]))
        return
    for (number,), own in every.partition_by(FOLDER, as_dict=True, include_key=False).items():
        _read.keep(bunch[number], own)
    yield Together(every, {number: changed_ns for number, (_, changed_ns) in bunch.items()})


def gauge_readings(folder: Path, prefix: str) -> Iterator[pl.Series]:
    """The readings of each gauge of each service whose name begins so."""
    for gauge in gauge_names(folder, prefix):
        own = read_samples(folder, layout.GAUGE_SAMPLES, pl.col("gauge") == gauge, ["service", "wall_s", "value"])
        for _, readings in own.sort("wall_s").group_by("service", maintain_order=True):
            yield readings["value"]
