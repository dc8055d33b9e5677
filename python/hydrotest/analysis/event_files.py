"""The files of Spark's event log: one, or a folder of rolled ones; plain or compressed; of an application that ended, or one that did not."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import zstandard

from hydrotest.errors import BadInputError

IN_PROGRESS = ".inprogress"
"""Spark's ending for a log that is still written."""
FOLDER = "eventlog_v2_"
"""A folder of rolled files is named so (RollingEventLogFilesWriter): `eventlog_v2_APP/events_1_APP[.zstd]`, …"""
COMPRESSIONS = ("zstd", "lz4", "lzf", "snappy")
"""Endings that Spark gives; of these zstd, its own default for event logs, is read."""


def find_log(path: Path) -> list[Path] | None:
    """The files of the log at `path`, oldest first: itself, with one of Spark's endings, or in its folder. None if there is none."""
    names = [path.name, f"{path.name}.zstd"]
    whole = [*names, *(f"{name}{IN_PROGRESS}" for name in names), *(f"{path.name}.{other}" for other in COMPRESSIONS)]
    for name in whole:
        if (found := path.with_name(name)).is_file():
            return [found]
    for folder in (path, path.with_name(FOLDER + path.name)):
        if folder.is_dir():
            return sorted(folder.glob("events_*"), key=_number) or None
    return None


def _number(path: Path) -> int:
    found = re.match(r"events_(\d+)_", path.name)
    return int(found.group(1)) if found else 0


def event_lines(files: list[Path]) -> Iterator[str]:
    """All lines. A compressed file that is cut off gives what comes before. Raises `BadInputError` for what cannot be decompressed."""
    for path in files:
        ending = path.name.removesuffix(IN_PROGRESS).rpartition(".")[2]
        if ending == "zstd":
            yield from _zstd_lines(path)
        elif ending in COMPRESSIONS:
            raise BadInputError(f"{path.name} is compressed by {ending}, which is not read here",
                                "Set spark.eventLog.compression.codec to zstd, or unpack it with Spark.", file=path)  # fmt: skip
        else:
            with path.open(errors="replace") as handle:
                yield from handle


def _zstd_lines(path: Path) -> Iterator[str]:
    with path.open("rb") as raw:
        # Spark flushes whole frames one after the other.
        stream = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        text = io.TextIOWrapper(stream, errors="replace")
        while True:
            try:
                line = text.readline()
            except zstandard.ZstdError:  # cut in the middle of a frame
                yield "{"
                return
            if not line:
                return
            yield line
