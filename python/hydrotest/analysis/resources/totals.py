"""What the use of a host over some windows adds up to: means and peaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from hydrotest.summary.usage import HostUsage


@dataclass(frozen=True)
class Totals:
    """Of some readings of a host: what their mean and peak are made from, by the columns of its rates."""

    sums: Mapping[str, float]
    counts: Mapping[str, int]
    peaks: Mapping[str, float]


USED = list(dict.fromkeys(name.rpartition("_")[0] for name in HostUsage.model_fields))
"""The rates that `HostUsage` has."""


def totals_of(rates: pl.DataFrame) -> Totals | None:
    """None without readings."""
    if rates.is_empty():
        return None
    # At once: what a table takes for each of its columns is more than what a dozen readings take.
    values = rates.select(pl.col(USED).cast(pl.Float64)).to_numpy()
    is_known = ~np.isnan(values)
    counts = dict(zip(USED, is_known.sum(0).tolist(), strict=True))
    sums, peaks = np.where(is_known, values, 0.0).sum(0), np.where(is_known, values, -np.inf).max(0)
    return Totals(
        dict(zip(USED, sums.tolist(), strict=True)),
        counts,
        {name: peak for name, peak in zip(USED, peaks.tolist(), strict=True) if counts[name]},
    )


def usage_of(parts: Sequence[Totals]) -> HostUsage | None:
    """Means and peaks of all readings of some windows, each by its field's name; None without any. 0 where a counter was never read."""
    if not parts:
        return None

    def figure(name: str) -> float:
        column, _, which = name.rpartition("_")
        if which == "peak":
            return max((part.peaks[column] for part in parts if column in part.peaks), default=0)
        count = sum(part.counts[column] for part in parts)
        return sum(part.sums[column] for part in parts) / count if count else 0

    return HostUsage.model_validate({name: figure(name) for name in HostUsage.model_fields})
