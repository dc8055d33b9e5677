"""Samples read from Parquet: raw counters of hosts and services, gauges as they came."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import polars as pl

from hydrotest.errors import OTHERS_READ, BadInputError
from hydrotest.store import layout

SMALL_BYTES = 1 << 20
"""A file up to this size is read whole, and kept: a summary needs it for each host of a lab, and for each of its tests."""
KEPT_BYTES = 256 << 20
"""Of all that are kept."""
COLUMN_BYTES = 500
"""What a column takes besides its values, as measured."""
LAST = "\U0010ffff"
"""Follows each character that a name has."""
COUNTED_MAX = 64
"""Files whose readings of each host are kept as a number: several tables of a summary ask for them."""
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


def _readings_by(path: Path, column: str) -> Mapping[str, int]:
    return _counted(path, path.stat().st_mtime_ns, column)


@lru_cache(maxsize=COUNTED_MAX)
def _counted(path: Path, _changed_ns: int, column: str) -> Mapping[str, int]:
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

    def share(self, is_counted: Callable[[Key], bool]) -> float:
        """How much of what may be kept is of these keys."""
        return sum(size for key, (_, size) in self._tables.items() if is_counted(key)) / self._most_bytes

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
FULL = 0.5
"""Share of what may be kept up to which files are read together."""


class Together(NamedTuple):
    """Tables of several trials in one."""

    table: pl.DataFrame
    """With the column `FOLDER`, in the order of folders."""
    changed_ns: Mapping[int, int]
    """When the file of each folder that is in it was changed last, from before it was read."""


def read_together(folders: Sequence[Path], name: str) -> Iterator[Together]:
    """One of the sample tables of many trials: each is a few readings, and to open one takes longer than to read it. Each is kept for
    `read_samples`. Left out are those that are kept already, that are large, that do not go together (another version's, or damaged), and
    all from where on these trials' own would displace each other: what was kept of other runs makes room."""
    bunch: dict[int, tuple[Path, int]] = {}
    size = 0
    own = set(folders)
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
        if not bunch and _read.share(lambda key: key[0].parents[1] in own) > FULL:
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


FIRST = "first"
"""A column: whether a row is the first of its service, or of what else rows are in the order of."""


def in_order(samples: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """By these columns, the time last, as files are written; those of older versions are in the order of time. With the column `FIRST`."""
    *names, time = by

    def marked(table: pl.DataFrame) -> pl.DataFrame:
        is_other = pl.any_horizontal(pl.col(name) != pl.col(name).shift() for name in names)
        return table.with_columns(is_other.fill_null(value=True).alias(FIRST))

    found = marked(samples)
    heads = found.lazy().filter(FIRST).select(names).collect()
    is_later = found.select((pl.col(FIRST) | (pl.col(time) >= pl.col(time).shift())).all()).item()
    return found if is_later and heads.equals(heads.unique().sort(names)) else marked(samples.sort(by))


def in_time(samples: pl.DataFrame) -> pl.DataFrame:
    """In the order of time, as those of one host, or of one service of it, are written."""
    return samples if samples["wall_s"].is_sorted() else samples.sort("wall_s")


Readings = Sequence[tuple[str, float, float]]
"""Service, time and value of one gauge, by service and time."""
OF_GAUGE = ["service", "wall_s", "value"]
GAUGES_MAX = 20_000
"""Gauges of trials whose readings are kept."""
_of_gauges: dict[tuple[Path, int, str], Readings] = {}


def gauge_rows(folder: Path, gauge: str, begin_s: float, end_s: float) -> Readings:
    """One gauge of a trial after a moment, and up to another one."""
    path = folder / layout.GAUGE_SAMPLES
    if not path.exists():
        return ()
    stat = path.stat()
    if stat.st_size > SMALL_BYTES:
        is_inside = (pl.col("wall_s") > begin_s) & (pl.col("wall_s") <= end_s)
        return list(read_samples(folder, layout.GAUGE_SAMPLES, (pl.col("gauge") == gauge) & is_inside, OF_GAUGE).iter_rows())
    key = path, stat.st_mtime_ns, gauge
    if key not in _of_gauges:
        _keep_gauge(key, list(read_samples(folder, layout.GAUGE_SAMPLES, pl.col("gauge") == gauge, OF_GAUGE).iter_rows()))
    return [reading for reading in _of_gauges[key] if begin_s < reading[1] <= end_s]


def read_gauges_together(folders: Sequence[Path], gauges: Sequence[str]) -> None:
    """What `gauge_rows` is asked for of many trials, read at once and kept."""
    for samples, changed_ns in read_together(folders, layout.GAUGE_SAMPLES):
        with suppress(pl.exceptions.PolarsError):
            own = samples.lazy().filter(pl.col("gauge").is_in(gauges)).select("gauge", FOLDER, *OF_GAUGE).collect()
            found: dict[tuple[int, str], list[tuple[str, float, float]]] = {(number, name): [] for number in changed_ns for name in gauges}
            for gauge, number, *reading in own.iter_rows():
                found[number, gauge].append((reading[0], reading[1], reading[2]))
            for (number, gauge), readings in found.items():
                _keep_gauge((folders[number] / layout.GAUGE_SAMPLES, changed_ns[number], gauge), readings)


def _keep_gauge(key: tuple[Path, int, str], readings: Readings) -> None:
    while len(_of_gauges) >= GAUGES_MAX:
        del _of_gauges[next(iter(_of_gauges))]
    _of_gauges[key] = readings


class Steps(NamedTuple):
    """By how much gauges rose from one reading to the next, and fell: in all, both from 0 up."""

    rises: float
    falls: float


def gauge_steps(folder: Path, prefix: str) -> Steps | None:
    """Of the gauges of all services whose names begin so; None if there are none."""
    found = []
    for gauge in gauge_names(folder, prefix):
        own = read_samples(folder, layout.GAUGE_SAMPLES, pl.col("gauge") == gauge, ["host", "service", "wall_s", "value"])
        step = pl.when(~pl.col(FIRST)).then(pl.col("value").diff())
        steps = in_order(own, ["host", "service", "wall_s"]).lazy().select(step.alias("step"))
        rises, falls = (pl.col("step").clip(**bound).sum() for bound in ({"lower_bound": 0}, {"upper_bound": 0}))
        found.append(Steps(*steps.select(rises.alias("rises"), (-falls).alias("falls")).collect().row(0)))
    return Steps(sum(one.rises for one in found), sum(one.falls for one in found)) if found else None
