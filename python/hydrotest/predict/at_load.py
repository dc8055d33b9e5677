"""The latency of a workload at the load that is asked for, or why there is none."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from hydrotest.analysis.demand.body import Applied, Point
from hydrotest.analysis.demand.windows import shares_machine
from hydrotest.predict.answer import LatencyAt, NoLatency, Percentile
from hydrotest.predict.axes import WITHIN
from hydrotest.predict.basis import Basis
from hydrotest.predict.capacity import Scene
from hydrotest.predict.change import Asked
from hydrotest.predict.latency import BEYOND_MAX, FACTOR_MAX, LEVELS_MIN, LOAD_MAX, QUANTILES, Level, estimate, levels_of
from hydrotest.predict.scores import Scores

AXIS = "latency"
END_MAX = 0.98
"""Share of a limit up to which a queue is evaluated for the upper end of an interval."""


def latency_of(
    now: Asked, basis: Basis, scene: Scene, rate: float, ends: tuple[float, float], scores: Scores
) -> tuple[LatencyAt | None, NoLatency | None]:
    """Percentiles at a rate, with how far they may be off; or why not. `ends`: of the interval of the limit, as shares of the limit."""
    if rate <= 0:
        return None, NoLatency.NOT_ASKED
    experiment = now.experiment
    if not all(experiment.hosts[host].has_whole_cores for host in experiment.systems.present()[basis.system].hosts):
        return None, NoLatency.QUOTA
    if scene.others_cores > 0 or shares_machine(experiment, basis.system, basis.name):
        return None, NoLatency.SHARED
    if scene.speed != 1.0:
        # Lingers and links are as long as they were; which part of a latency is CPU is not known.
        return None, NoLatency.SETTING
    if basis.groups:
        return None, NoLatency.GROUPS
    timed = [point for point in basis.body.points if point.seen.percentiles]
    windows = list(_levels(basis, timed))
    if timed and not windows:
        return None, NoLatency.SETTING
    limit = replace(scene, is_closed=True, full=basis.body.full).limit()
    levels, least, cores = levels_of(windows), math.exp(scores.of(AXIS).error), _count(scene.has.cores)
    used = [one.load for one in levels if one.load < LOAD_MAX]
    if len(used) < LEVELS_MIN:
        return None, NoLatency.LEVELS
    if rate > min(LOAD_MAX, BEYOND_MAX * max(used)) * limit:
        return None, NoLatency.ABOVE
    rows = []
    for name in QUANTILES:
        one = estimate(levels, name, rate / limit, cores)
        if one is None or one.factor > FACTOR_MAX:
            continue
        # If the limit is less, the load is a larger share of it.
        ends_ms = [
            other.ms for end in ends if end > 0 and (other := estimate(levels, name, min(END_MAX, rate / (limit * end)), cores)) is not None
        ]
        factor = max(one.factor, least)
        rows.append(
            Percentile(
                name=name, ms=one.ms, low_ms=min([one.ms, *ends_ms]) / factor, high_ms=max([one.ms, *ends_ms]) * factor, form=one.form
            )
        )
    if not rows:
        return None, NoLatency.SCATTER
    return LatencyAt(rate=rate, share=rate / limit, percentiles=rows, levels=len(levels)), None


def _levels(basis: Basis, timed: list[Point]) -> Iterator[Level]:
    """Windows of a workload that is as the one that is asked for; each load as a share of the limit on the hosts that it had."""
    for point in timed:
        ((name, rate),) = point.seen.rates.items()
        spec, hosts = point.source.workloads[name], point.source.hosts
        if all(abs(math.log(axis(spec) / axis(basis.spec))) <= math.log(WITHIN) for axis in basis.law.axes.numbers.values()):
            then = Scene(basis.body, Applied(spec, hosts, basis.body.ride), point.seen.has, True, basis.body.full)
            yield Level(rate / then.limit(), _count(point.seen.has.cores), {key: point.seen.percentiles[key] for key in QUANTILES})


def _count(cores: float) -> int:
    return max(1, round(cores))
