"""Latencies of a window, from interval histograms."""

from __future__ import annotations

from collections.abc import Iterable
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
    values = histogram.get_percentile_to_value_dict([one.percent for one in PERCENTILES])
    # A bucket's upper edge may lie above the true maximum, by the histogram's precision.
    out |= {one.name: min(values[one.percent], maximum) / 1e3 for one in PERCENTILES}
    out["max"] = maximum / 1e3
    return out


def mean_us(histogram: HdrHistogram) -> float:
    """Equal to the result of `get_mean_value`, a hundred times as fast: that one iterates over all buckets in
    Python, and took nine tenths of a summary's time."""
    counts = np.ctypeslib.as_array(histogram.counts)
    middles = _middles(histogram.sub_bucket_half_count_magnitude, histogram.unit_magnitude, len(counts))
    # Not `@`: BLAS starts a thread on each core for a vector of this length, and they spin longer than the
    # sum takes.
    return float((counts * middles).sum()) / float(histogram.get_total_count())


@cache
def _middles(half_magnitude: int, unit_magnitude: int, length: int) -> npt.NDArray[np.float64]:
    """The value in the middle of each bucket, by index (HdrHistogram's `getValueFromIndex` and
    `medianEquivalentValue`)."""
    index = np.arange(length)
    half = 1 << half_magnitude
    exponent = np.maximum((index >> half_magnitude) - 1, 0) + unit_magnitude
    sub_bucket = (index & (half - 1)) + np.where(index >= half, half, 0)
    return np.asarray((sub_bucket << exponent) + ((1 << exponent) >> 1), dtype=np.float64)


def percentile_curve(histogram: HdrHistogram) -> list[tuple[float, float]]:
    """(percentile, milliseconds) along the percentile axis."""
    if histogram.get_total_count() == 0:
        return []
    maximum = float(histogram.get_max_value())
    values = histogram.get_percentile_to_value_dict(CURVE)
    return [(percentile, min(values[percentile], maximum) / 1e3) for percentile in CURVE]


def merged(histograms: Iterable[HdrHistogram]) -> HdrHistogram:
    """The sum of several histograms."""
    total = empty()
    for histogram in histograms:
        total.add(histogram)
    return total
