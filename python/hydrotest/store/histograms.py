"""HdrHistogram interval logs (.hlog), as the standard tools read them. Values are microseconds."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hdrh.codec import HdrCookieException, HdrHistogramSettingsException, HdrLengthException
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from hydrotest.errors import OTHERS_READ, BadInputError
from hydrotest.store import layout

LOWEST_US = 1
HIGHEST_US = 600_000_000
DIGITS = 3
"""The bounds of rust/core/src/recorder.rs: histograms of the same bounds add without loss."""

HEADER = (
    "#[Histogram log format version 1.3]\n"
    "#[latencies in microseconds; intervals by intended start; times are seconds since the epoch]\n"
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
)


MAGIC = b"#[Histogram log format"
"""All logs begin so, those of other tools, too."""


@dataclass(frozen=True)
class Interval:
    """One second's histogram. `op` is null for all operations together."""

    start_wall_s: float
    op: str | None
    histogram: HdrHistogram


def empty() -> HdrHistogram:
    """A histogram of the bounds that all of ours have."""
    return HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)


def read_logs(folder: Path, workload: str, which: str) -> Iterator[Interval]:
    """The intervals of all generators of a workload in a trial's folder: one for each second, operation and
    generator."""
    for path in layout.of_all_generators(folder / layout.histogram(workload, which)):
        yield from read_log(path)


def read_log(path: Path) -> Iterator[Interval]:
    """The intervals of a log in the order of the file; none if there is no file."""
    if not path.exists():
        return
    with path.open("rb") as log:
        if log.read(len(MAGIC)) != MAGIC:
            raise BadInputError("the file is damaged: it is no histogram log", OTHERS_READ, file=path)
    reader = HistogramLogReader(str(path), empty())
    try:
        while (histogram := reader.get_next_interval_histogram()) is not None:
            yield Interval(histogram.get_start_time_stamp() / 1e3, histogram.get_tag() or None, histogram)
    except (HdrCookieException, HdrHistogramSettingsException, HdrLengthException, ValueError, IndexError, zlib.error) as error:
        raise BadInputError(f"the file is damaged: {error or type(error).__name__}", OTHERS_READ, file=path) from error
    finally:
        reader.input_file.close()
