"""How a job's time falls with cores: the same test on more and more of them, two models of it, and how far
each can be trusted.

The universal scalability law (N. Gunther, "Guerrilla Capacity Planning", 2007): with n cores a job's
throughput is that of one core times n ÷ (1 + serial · (n − 1) + crosstalk · n · (n − 1)). Ernest's form (S.
Venkataraman et al., NSDI 2016): time = fixed + per_core_share · size ÷ n + tree · log n + per_core · n, none
of them negative.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hydrotest.analysis.spark.scaling import fuller
from hydrotest.lazy import Lazy
from hydrotest.spec.dataflow import Dataflow
from hydrotest.spec.models import Experiment
from hydrotest.summary.dataflow import Executors, ExecutorsPoint
from hydrotest.summary.limits import Limit
from hydrotest.summary.spark import CoresPoint, Ernest, ErnestTerms, JobTest, Speedup

if TYPE_CHECKING:
    from scipy import optimize
else:
    optimize = Lazy("scipy.optimize")


POINTS_MIN = 3
PAYS = 0.5
"""Share of the gain that proportional scaling would bring; below it more cores no longer pay."""
NO_CROSSTALK = 1e-6
ALL_SERIAL = 0.999
"""The bounds for a fit without crosstalk, or with almost only the serial part."""
ERNEST = ("fixed", "per_core_share", "tree", "per_core")

Point = tuple[float, int, float]
"""Scale factor, cores, seconds."""
Fit = Callable[[Sequence[Point]], Callable[[float, int], float]]
"""From points to the model's time for a scale factor and a number of cores."""


def speedup_rows(spark: Sequence[JobTest]) -> list[Speedup]:
    """One row for each test (separate by tenancy, scale factor and `data_scale`) that completed on
    `POINTS_MIN` numbers of cores or more.

    Runs on the same number of cores are one point, with their median time.

    - `serial` and `crosstalk` are the universal scalability law's. Their standard errors are null with three
      points, which it fits in any case.
    - `fastest_at`: the cores with the least time by the law (null: more always help).
    - `error_pct`: its mean error at a point that was left out of the fit.
    - `from` and `to`: the measured range.
    - `stops_paying_at`: the first number of cores that brought less than `PAYS` of the proportional gain;
      `fuller`: what took more of the tasks' time there than before.
    """
    out = []
    for rows in _series(spark, lambda row: (row.scale_factor, row.data_scale)):
        first = rows[0]
        points = [(first.scale_factor, row.time.cores, row.total_s) for row in rows]
        cores = [n for _, n, _ in points]
        if len(cores) < POINTS_MIN:
            continue
        (_, serial, crosstalk), errors = _scalability(points)
        poor = _stops_paying(points)
        out.append(Speedup(
            test=first.test, tenancy=first.tenancy, scale_factor=first.scale_factor, data_scale=first.data_scale,
            points=[CoresPoint(cores=n, seconds=t) for _, n, t in points],
            serial=serial, serial_error=errors[1], crosstalk=crosstalk, crosstalk_error=errors[2],
            fastest_at=fastest_at(serial, crosstalk),
            error_pct=left_out_error_pct(points, scalability_law), from_=cores[0], to=cores[-1],
            stops_paying_at=None if poor is None else cores[poor], fuller=None if poor is None else fuller(rows[poor - 1], rows[poor]),
        ))  # fmt: skip
    return out


def ernest_rows(spark: Sequence[JobTest]) -> list[Ernest]:
    """Ernest's form of each test (separate by tenancy and `data_scale`) that ran on several numbers of cores
    and has more points than the form has terms; `error_pct` as in `speedup_rows`."""
    out = []
    for rows in _series(spark, lambda row: (row.data_scale,)):
        points = [(row.scale_factor, row.time.cores, row.total_s) for row in rows]
        if len(points) <= len(ERNEST) or not _is_told(points):
            continue
        cores = [n for _, n, _ in points]
        out.append(Ernest(
            test=rows[0].test, tenancy=rows[0].tenancy, data_scale=rows[0].data_scale, points=len(points),
            terms=ErnestTerms(**dict(zip(ERNEST, map(float, _ernest(points)), strict=True))),
            error_pct=left_out_error_pct(points, ernest) if all(_is_told([*points[:at], *points[at + 1 :]]) for at in range(len(points))) else None,
            cores_from=min(cores), cores_to=max(cores),
        ))  # fmt: skip
    return out


def _series(spark: Sequence[JobTest], apart: Callable[[JobTest], tuple[float, ...]]) -> list[list[JobTest]]:
    """Rows of completed tests that differ only in size and cores (and agree in `apart`), ordered by both. Of
    several with the same size and cores, the one with the median time."""
    series: dict[tuple[object, ...], dict[tuple[float, int], list[JobTest]]] = defaultdict(lambda: defaultdict(list))
    for row in spark:
        if row.finished and row.time.cores:
            series[row.test, row.tenancy, row.data, apart(row)][row.scale_factor, row.time.cores].append(row)

    def median(rows: list[JobTest]) -> JobTest:
        return sorted(rows, key=lambda row: row.total_s)[(len(rows) - 1) // 2]

    return [[median(points[place]) for place in sorted(points)] for points in series.values()]


def flow_rows(limits: Sequence[Limit], experiment: Experiment) -> list[Executors]:
    """One row for each set of dataflows that differ only in their numbers of executors (and the names of
    their sources): their limits by executors, the median of those on as many. A limit that is unbounded, or
    does not count, is not a point. `serial` to `stops_paying_at` as in `speedup_rows`, with the law's figures
    null below `POINTS_MIN` points. `bound_by`: what binds where more stop paying."""
    sets: dict[str, list[tuple[int, float, Limit]]] = defaultdict(list)
    for row in limits:
        flow = experiment.workload(row.workload, Dataflow)
        counts = row.tenancy == "isolated" and row.valid and not row.at_least
        if flow is not None and flow.executors is not None and counts and row.limit:
            alike = (flow, experiment.workloads[flow.reads], experiment.objective(row.workload))
            sets[json.dumps([one.model_dump(mode="json", exclude={"executors", "reads"}) for one in alike])].append(
                (flow.executors, row.limit, row)
            )
    out = []
    for every in sets.values():
        found = []
        for n in sorted({n for n, _, _ in every}):
            own = sorted((one for one in every if one[0] == n), key=lambda one: one[1])
            found.append(own[(len(own) - 1) // 2])
        if len(found) < 2:
            continue
        points = [(1.0, n, 1 / limit) for n, limit, _ in found]
        law = _scalability(points)[0] if len(points) >= POINTS_MIN else None
        poor = _stops_paying(points)
        out.append(Executors(
            workloads=[row.workload for _, _, row in found], points=[ExecutorsPoint(executors=n, limit=limit) for n, limit, _ in found],
            serial=law and law[1], crosstalk=law and law[2], fastest_at=law and fastest_at(law[1], law[2]),
            error_pct=left_out_error_pct(points, scalability_law) if law else None, from_=found[0][0], to=found[-1][0],
            stops_paying_at=None if poor is None else found[poor][0],
            bound=None if poor is None else found[poor][2].bound_by, bound_by=None,
        ))  # fmt: skip
    return out


def _stops_paying(points: Sequence[Point]) -> int | None:
    """The first point that brought less than `PAYS` of what its cores would bring if time fell in
    proportion."""
    pairs = enumerate(pairwise(points), 1)
    return next((at for at, ((_, n0, t0), (_, n1, t1)) in pairs if t0 / t1 - 1 < PAYS * (n1 / n0 - 1)), None)


def fastest_at(serial: float, crosstalk: float) -> float | None:
    """The number of cores with the least time by the law, at least 1; None if more always help. It is the
    root of (1 - serial) / crosstalk (Gunther)."""
    if crosstalk > NO_CROSSTALK:
        return max(1.0, math.sqrt((1 - serial) / crosstalk))
    return 1.0 if serial > ALL_SERIAL else None


def left_out_error_pct(points: Sequence[Point], fit: Fit) -> float | None:
    """Mean distance, in percent, between each point and the model's value from all others; null with too few
    others."""
    if len(points) <= POINTS_MIN:
        return None
    distances = []
    for at, (factor, cores, seconds) in enumerate(points):
        stated = fit([*points[:at], *points[at + 1 :]])(factor, cores)
        distances.append(abs(stated - seconds) / seconds)
    return 100 * sum(distances) / len(distances)


def scalability_law(points: Sequence[Point]) -> Callable[[float, int], float]:
    """The universal scalability law through points of one scale factor."""
    (one, serial, crosstalk), _ = _scalability(points)
    return lambda _factor, cores: float(_law(np.array([cores]), one, serial, crosstalk)[0])


def ernest(points: Sequence[Point]) -> Callable[[float, int], float]:
    """Ernest's form through points of any scale factors."""
    terms = _ernest(points)
    return lambda factor, cores: float(_features(factor, cores) @ terms)


def _law(cores: Any, one: float, serial: float, crosstalk: float) -> Any:
    """Seconds on so many cores; `one`: those on a single core."""
    return one * (1 + serial * (cores - 1) + crosstalk * cores * (cores - 1)) / cores


def _scalability(points: Sequence[Point]) -> tuple[tuple[float, float, float], list[float | None]]:
    """The law's three figures, and their standard errors if there are more points than figures."""
    cores, seconds = np.array([float(n) for _, n, _ in points]), np.array([t for _, _, t in points])

    def relative(figures: Any) -> Any:
        # A second weighs more if the time is short.
        return _law(cores, *figures) / seconds - 1

    start = (float(seconds[0] * cores[0]), 0.05, 0.001)
    found = optimize.least_squares(relative, start, x_scale=(start[0], 0.1, 0.01), bounds=([0, 0, 0], [np.inf, 1, 1]))
    one, serial, crosstalk = (float(value) for value in found.x)
    freedom = len(points) - len(start)
    errors: list[float | None] = [None] * len(start)
    if freedom > 0:
        slopes = np.asarray(found.jac, dtype=float)
        covariance = np.linalg.pinv(slopes.T @ slopes) * 2 * found.cost / freedom
        errors = [float(value) for value in np.sqrt(np.diag(covariance))]
    return (one, serial, crosstalk), errors


def _features(factor: float, cores: int) -> Any:
    return np.array([1.0, factor / cores, math.log(cores), float(cores)])


def _is_told(points: Sequence[Point]) -> bool:
    """True if these points determine all of the form's terms: two numbers of cores, for example, leave one of
    the terms in cores open."""
    return int(np.linalg.matrix_rank(np.array([_features(factor, cores) for factor, cores, _ in points]))) == len(ERNEST)


def _ernest(points: Sequence[Point]) -> Any:
    weights = np.array([1 / seconds for _, _, seconds in points])
    matrix = np.array([_features(factor, cores) for factor, cores, _ in points])
    terms, _ = optimize.nnls(matrix * weights[:, None], np.ones(len(points)))
    return terms
