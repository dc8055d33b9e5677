"""Locations of Spark's event logs: a file, a folder of rolled ones, a Databricks folder, a zip of the history
server, a directory of many of them.

A file's first bytes show how it is compressed (`event_streams`); names only show what belongs together, and
in which order.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO

from hydrotest.analysis.spark.event_streams import StreamBrokenError, decompressed
from hydrotest.errors import BadInputError

IN_PROGRESS = ".inprogress"
"""Spark's ending for a log that is still written."""
FOLDER = "eventlog_v2_"
"""A folder of rolled files is named so (RollingEventLogFilesWriter):
`eventlog_v2_APP/events_1_APP[.zstd]`, …"""
STATUS = "appstatus_"
"""The file next to them that shows whether they are still written."""
ENDINGS = ("", ".zstd", ".lz4", ".lzf", ".snappy", ".zst", ".gz", ".zip")
"""Endings of Spark's codecs, and of common ways to pack a log."""
ROLLED = re.compile(
    r"events_(?P<number>\d+)_(?P<application>.+?)(?:\.(?:zstd|lz4|lzf|snappy|zst|gz))?(?P<compact>\.compact)?(?:\.inprogress)?$"
)
"""`.compact` stands for all files up to its number (EventLogFileCompactor); the history server leaves the
originals for a while."""
DATABRICKS = re.compile(r"eventlog(?:-(?P<time>\d[\d-]*))?(?:\.\w+)?$")
"""The delivered logs of a cluster: `eventlog-2024-05-01--10-00.gz`, …, and `eventlog`, which is still
written."""
DEPTH_MAX = 4
"""Depth of folders to search below a named one: Databricks' are three deep."""
FILES_MAX = 100_000
LINE_MAX = 256 << 20
"""Most bytes of a line; a longer one is not an event, and only its start is returned."""
LOOKED_AT = 4 << 10
"""Bytes at a file's beginning that show whether it is an event log."""


@dataclass(frozen=True)
class LogFile:
    """A file of a log: on disk, or a member of a zip there."""

    path: Path
    member: str | None = None

    @property
    def inside(self) -> PurePosixPath:
        """Its path; that within a zip follows that of the zip."""
        return PurePosixPath(self.path, self.member or "")

    @property
    def name(self) -> str:
        """Without folders."""
        return self.inside.name

    @property
    def size(self) -> int:
        """Bytes on disk."""
        if self.member is None:
            return self.path.stat().st_size
        with zipfile.ZipFile(self.path) as archive:
            return archive.getinfo(self.member).file_size

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Its bytes as stored. Raises `StreamBrokenError` for what a zip does not give."""
        if self.member is None:
            with self.path.open("rb") as handle:
                yield handle
            return
        with zipfile.ZipFile(self.path) as archive:
            try:
                member = archive.open(self.member)
            except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:  # a RuntimeError: it is encrypted
                raise StreamBrokenError(f"it cannot be taken out of the zip: {error}", is_cut=False) from error
            with member:
                try:
                    yield member
                except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                    raise StreamBrokenError(f"the zip is damaged: {error}", is_cut=False) from error


@dataclass(frozen=True)
class Log:
    """The files of one application's log, oldest first. `path` finds it again."""

    path: Path
    files: tuple[LogFile, ...]
    in_progress: bool = False
    """By its names it is still written; so is the log of an application that was killed."""


def find_logs(path: Path) -> list[Log]:
    """All logs at `path`: itself, with one of Spark's endings, or in its folder or zip; none if there is
    none."""
    if not path.name:
        path = path.resolve()
    ends = [f"{ending}{still}" for ending in ENDINGS for still in ("", IN_PROGRESS)]
    names = [*(f"{path.name}{end}" for end in ends), FOLDER + path.name] if path.name else []
    for found in (path, *map(path.with_name, names)):
        if found.is_dir():
            return _logs_of(found, _files_below(found))
        if found.is_file():
            return _logs_in_zip(found) if zipfile.is_zipfile(found) else [_single(LogFile(found))]
    return _listed(path)


def _listed(path: Path) -> list[Log]:
    """The log of this name within a zip, or among rolled files of several applications in one folder."""
    parent = next((parent for parent in path.parents if parent.exists()), None)
    if parent is None:
        return []
    if parent.is_file():
        return [log for log in _logs_in_zip(parent) if log.path == path] if zipfile.is_zipfile(parent) else []
    rolled = _rolled(LogFile(file) for file in parent.iterdir() if file.is_file())
    return [Log(path, rolled[path.name])] if path.parent == parent and path.name in rolled else []


def find_log(path: Path) -> list[LogFile] | None:
    """The files of the one log at `path`; None if there is none. Raises `BadInputError` if there are
    several."""
    logs = find_logs(path)
    if len(logs) > 1:
        raise BadInputError(f"there are {len(logs)} event logs, not one", f"Name one of them, e.g. {logs[0].path}.", file=path)
    return list(logs[0].files) if logs else None


def _files_below(folder: Path) -> list[LogFile]:
    def walk(here: Path, depth: int) -> Iterator[Path]:
        for entry in sorted(here.iterdir()):
            if entry.name.startswith((".", "_")) or entry.name.endswith(".crc"):
                continue  # Hadoop's checksums and marks
            if entry.is_file():
                yield entry
            elif entry.is_dir() and depth < DEPTH_MAX:
                yield from walk(entry, depth + 1)

    files = list(islice(walk(folder, 0), FILES_MAX + 1))
    if len(files) > FILES_MAX:
        raise BadInputError(f"more than {FILES_MAX:,} files lie below it", "Name the folder of event logs.", file=folder)
    return [LogFile(file) for file in files]


def _logs_in_zip(path: Path) -> list[Log]:
    with zipfile.ZipFile(path) as archive:
        members = [LogFile(path, info.filename) for info in archive.infolist() if not info.is_dir()]
    return _logs_of(path, members)


def _logs_of(root: Path, files: Iterable[LogFile]) -> list[Log]:
    """The files below a folder or in a zip, grouped into logs in order of their paths."""
    by_folder: dict[PurePosixPath, list[LogFile]] = defaultdict(list)
    for file in files:
        by_folder[file.inside.parent].append(file)
    logs = []
    for folder, inside in by_folder.items():
        if rolled := _rolled(inside):
            still = {file.name for file in inside if file.name.endswith(IN_PROGRESS)}
            logs += [
                Log(Path(folder) if len(rolled) == 1 else Path(folder) / name, files, STATUS + name + IN_PROGRESS in still)
                for name, files in rolled.items()
            ]
            continue
        delivered = sorted((file for file in inside if DATABRICKS.match(file.name)), key=_delivery)
        if delivered:
            logs.append(Log(Path(folder), tuple(delivered)))
        for file in inside:
            if file in delivered:
                continue
            if file.member is None and file.name.endswith(".zip") and zipfile.is_zipfile(file.path):
                logs += _logs_in_zip(file.path)
            elif _is_log(file):
                logs.append(_single(file))
    # The name of a folder or zip that holds one log is that log's.
    return [replace(logs[0], path=root)] if len(logs) == 1 else sorted(logs, key=lambda log: log.path)


def _single(file: LogFile) -> Log:
    return Log(Path(file.inside), (file,), file.name.endswith(IN_PROGRESS))


def _rolled(files: Iterable[LogFile]) -> dict[str, tuple[LogFile, ...]]:
    """Rolled files by application, without those that a compacted one replaces."""
    found: dict[str, list[tuple[int, bool, LogFile]]] = defaultdict(list)
    for file in files:
        if match := ROLLED.match(file.name):
            found[match["application"]].append((int(match["number"]), match["compact"] is not None, file))
    out = {}
    for application, numbered in found.items():
        last = max((number for number, is_compact, _ in numbered if is_compact), default=-1)
        kept = [(number, file) for number, is_compact, file in numbered if number > last or (number == last and is_compact)]
        out[application] = tuple(file for _, file in sorted(kept, key=lambda one: one[0]))
    return out


def gaps(files: Iterable[LogFile]) -> list[int]:
    """Numbers of missing rolled files: they start with 1, or with what a compacted one stands for."""
    matches = [match for file in files if (match := ROLLED.match(file.name))]
    numbers = sorted(int(match["number"]) for match in matches)
    if not numbers:
        return []
    first = numbers[0] if matches[0]["compact"] else 1
    return sorted({*range(first, numbers[-1])} - {*numbers})


def _delivery(file: LogFile) -> tuple[bool, str]:
    """Order of Databricks' files: by time, and last the one without, which is still written."""
    match = DATABRICKS.match(file.name)
    time = match["time"] if match else None
    return time is None, time or ""


def raw_lines(file: LogFile) -> Iterator[bytes]:
    """A file's lines, without their ends. Raises `StreamBrokenError` after the last readable one if there
    should be more."""
    held: list[bytes] = []
    size = 0
    try:
        with file.open() as raw:
            for piece in decompressed(raw):
                begin = 0
                while (end := piece.find(b"\n", begin)) >= 0:  # looks at eight bytes at a time; `split` looks at each
                    line = piece[begin:end]
                    if held:
                        line = b"".join([*held, line] if size < LINE_MAX else held)
                        held, size = [], 0
                    yield line
                    begin = end + 1
                if begin < len(piece):
                    if size < LINE_MAX:
                        held.append(piece[begin:])
                    size += len(piece) - begin
    except StreamBrokenError:
        if held:
            yield b"".join(held)
        raise
    if held:
        yield b"".join(held)


def log_lines(file: LogFile) -> Iterator[str]:
    """The same as text."""
    return (line.decode(errors="replace") for line in raw_lines(file))


def _is_log(file: LogFile) -> bool:
    """True if a file begins as an event log does: all events name their kind."""
    start = b""
    try:
        with file.open() as raw:
            for piece in decompressed(raw):
                start += piece
                if len(start) >= LOOKED_AT:
                    break
    except StreamBrokenError:
        # The bytes before an error decide; without any, reading the file shows the error.
        return not start or b'"Event"' in start
    return b'"Event"' in start
