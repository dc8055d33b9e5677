"""How a job's time grows with its size: the same test at rising scale factors, on the same cores.

Ernest's form (S. Venkataraman et al., NSDI 2016) is time = a + b · size ÷ cores + c · log cores + d · cores.
On the same cores it is a line in the size: a fixed part, and one for each unit of size.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from hydrotest.analysis.spark.time_spent import OTHER, PARTS, share_of
from hydrotest.lazy import Lazy
from hydrotest.store.records import Tenancy
from hydrotest.summary.spark import Fuller, JobData, JobTest, Scaling, SizePoint

if TYPE_CHECKING:
    from scipy import stats
else:
    stats = Lazy("scipy.stats")


POINTS_MIN = 3
BENDS = 1.3
"""If a further unit of size takes more than so many times as long as one before, growth is no longer
linear."""


def scaling_rows(spark: Sequence[JobTest]) -> list[Scaling]:
    """One row for each test (separate by tenancy and cores) that completed at `POINTS_MIN` scale factors or
    more with the same `data_scale`.

    `fixed_s` and `per_unit_s` are the line's, with standard errors. `bends_at` is the first factor at which a
    further unit took `BENDS` times as long as the units before (null: none). `fuller` is what took more of
    the tasks' time there than before. The line holds between `from` and `to`.
    """
    series: dict[tuple[str, Tenancy, float, int, JobData], list[JobTest]] = defaultdict(list)
    for row in spark:
        if row.finished:
            series[row.test, row.tenancy, row.data_scale, row.time.cores, row.data].append(row)
    out = []
    for (test, tenancy, data_scale, cores, _), rows in series.items():
        rows.sort(key=lambda row: row.scale_factor)
        factors, times = [row.scale_factor for row in rows], [row.total_s for row in rows]
        if len(set(factors)) < POINTS_MIN:
            continue
        line = stats.linregress(factors, times)
        bend = _bend(factors, times)
        out.append(Scaling(
            test=test, tenancy=tenancy, data_scale=data_scale, cores=cores,
            points=[SizePoint(scale_factor=f, seconds=t) for f, t in zip(factors, times, strict=True)],
            fixed_s=float(line.intercept), fixed_s_error=float(line.intercept_stderr), per_unit_s=float(line.slope),
            per_unit_s_error=float(line.stderr), from_=factors[0], to=factors[-1],
            bends_at=None if bend is None else factors[bend],
            fuller=None if bend is None else fuller(rows[bend - 1], rows[bend]),
        ))  # fmt: skip
    return out


def _bend(factors: Sequence[float], times: Sequence[float]) -> int | None:
    """The first factor at which a further unit takes much longer than all units before."""
    for at, ((f0, t0), (f1, t1)) in enumerate(pairwise(zip(factors, times, strict=True)), 1):
        before = (t0 - times[0]) / (f0 - factors[0]) if f0 > factors[0] else None
        if before is not None and before > 0 and (t1 - t0) / (f1 - f0) > BENDS * before:
            return at
    return None


def fuller(before: JobTest, after: JobTest) -> Fuller | None:
    """The part of the tasks' time whose share grew most; spilling, if there was none before."""
    if after.spill_bytes > 0 and before.spill_bytes == 0:
        return Fuller(what="spilling to disk", unit="bytes", before=0.0, after=float(after.spill_bytes))
    shares = []
    for part in [*PARTS, OTHER]:
        a, b = (share_of(row.time.parts_s, part) for row in (before, after))
        if a is not None and b is not None:
            shares.append((b - a, part, a, b))
    if not shares:
        return None
    _, part, a, b = max(shares)
    return Fuller(what=part, unit="share", before=a, after=b)
