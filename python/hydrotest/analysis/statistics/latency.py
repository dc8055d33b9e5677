"""Latencies of a window, from interval histograms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

from hydrotest.percentiles import PERCENTILES
from hydrotest.store.histograms import empty, stretch_histograms

Latency = dict[str, float | None]
"""Milliseconds by `mean`, each of `PERCENTILES`, `max`."""

CURVE = [0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.9, 99.95, 99.99, 99.999, 100.0]
"""Percentiles drawn in the report."""


def window_histogram(folder: Path, workload: str, which: str, op: str | None, start_s: float, end_s: float) -> HdrHistogram:
    """All operations whose intended start lies in the window, merged without loss."""
    (total,) = stretch_histograms(folder, workload, which, op, [start_s, end_s])
    return total


def latency_ms(histogram: HdrHistogram) -> Latency | None:
    """The contract's figures; None for an empty histogram. Ordered by construction."""
    if histogram.get_total_count() == 0:
        return None
    maximum = float(histogram.get_max_value())
    out: Latency = {"mean": mean_us(histogram) / 1e3}
    values = values_at(histogram, [one.percent for one in PERCENTILES])
    # A bucket's upper edge may lie above the true maximum, by the histogram's precision.
    out |= {one.name: min(values[one.percent], maximum) / 1e3 for one in PERCENTILES}
    out["max"] = maximum / 1e3
    return out


def mean_us(histogram: HdrHistogram) -> float:
    """Equal to the result of `get_mean_value`, a hundred times as fast: that one iterates over all buckets in
    Python, and took nine tenths of a summary's time."""
    counts = np.ctypeslib.as_array(histogram.counts)
    _, _, middles = _values(histogram.sub_bucket_half_count_magnitude, histogram.unit_magnitude, len(counts))
    # Not `@`: BLAS starts a thread on each core for a vector of this length, and they spin longer than the
    # sum takes.
    return float((counts * middles).sum()) / float(histogram.get_total_count())


def values_at(histogram: HdrHistogram, percents: Sequence[float]) -> dict[float, int]:
    """Equal to the result of `get_percentile_to_value_dict` for a histogram that is not empty, without its loop in Python: microseconds by
    percentile, the highest value of the bucket in which so many are reached; of percentile 0 the lowest."""
    counts = np.ctypeslib.as_array(histogram.counts)
    lowest, width, _ = _values(histogram.sub_bucket_half_count_magnitude, histogram.unit_magnitude, len(counts))
    reached = np.cumsum(counts)
    found = {}
    for percent in percents:
        at = int(np.searchsorted(reached, histogram.get_target_count_at_percentile(percent)))
        found[percent] = int(lowest[at]) + (int(width[at]) - 1 if percent else 0)
    return found


Integers = npt.NDArray[np.int64]


@cache
def _values(half_magnitude: int, unit_magnitude: int, length: int) -> tuple[Integers, Integers, npt.NDArray[np.float64]]:
    """Of each bucket, by index: its lowest value, how many values are in it, and the one in its middle (HdrHistogram's `getValueFromIndex` and
    `medianEquivalentValue`)."""
    index = np.arange(length)
    half = 1 << half_magnitude
    exponent = np.maximum((index >> half_magnitude) - 1, 0) + unit_magnitude
    sub_bucket = (index & (half - 1)) + np.where(index >= half, half, 0)
    lowest, width = sub_bucket << exponent, np.left_shift(1, exponent)
    return lowest, width, np.asarray(lowest + (width >> 1), dtype=np.float64)


def percentile_curve(histogram: HdrHistogram) -> list[tuple[float, float]]:
    """(percentile, milliseconds) along the percentile axis."""
    if histogram.get_total_count() == 0:
        return []
    maximum = float(histogram.get_max_value())
    values = values_at(histogram, CURVE)
    return [(percentile, min(values[percentile], maximum) / 1e3) for percentile in CURVE]


def merged(histograms: Iterable[HdrHistogram]) -> HdrHistogram:
    """The sum of several histograms."""
    total = empty()
    for histogram in histograms:
        total.add(histogram)
    return total
