"""Latency at a load, from levels that were measured on whole cores.

Two forms; of each percentile the one counts that misses levels less when they were left out. The queue: base + extra · C(m, m·u) ÷
(m · (1 − u)), with C Erlang's probability of waiting for one of m cores and u the load as a share of the limit (Allen and Cunneen: in a
queue with any arrivals and services the wait is that of M/M/m times a factor). The curve: the logarithm of the percentile over u,
monotone between levels (PCHIP), and straight beyond them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import nnls

QUANTILES = ("p50",)
"""Held out, the median was off by 9 % (90th percentile 21 %, 15 cases), p95 and p99 by 1.1 to 2.5 times in the median, 5 of 8 outside
their intervals, whichever form: they come from collections and flushes, and windows at one load differ as much. So they are not predicted."""
LEVELS_MIN = 4
"""Three leave one to be predicted from two."""
SAME = 1.1
"""Loads within this factor are one level."""
LOAD_MAX = 0.9
"""Share of the limit above which a percentile grows without bound: a small error of the limit is a large one of it."""
FACTOR_MAX = 2.0
"""An error by more says nothing."""
BEYOND_MAX = 1.15
"""A load above the highest that was measured by more is not shown: seen, a median of 1 ms at two thirds of a broker's limit, and of 4 to 6
ms at 0.85, which neither form knows of."""
FACTOR_MIN = 1.1
"""Percentiles of two windows at one load differ by that."""

Form = Callable[[float, int], float]
"""From a load and a number of cores to milliseconds."""


@dataclass(frozen=True)
class Level:
    """A load that was measured."""

    load: float
    """As a share of the limit without a rate limit."""
    cores: int
    percentiles: dict[str, float]
    """Milliseconds, of each of `QUANTILES`."""


@dataclass(frozen=True)
class Estimate:
    """A percentile at a load."""

    ms: float
    factor: float
    """By so much it may be less or more: the largest miss of a level that was left out."""
    form: str
    """`queue` or `curve`."""


def erlang_c(servers: int, load: float) -> float:
    """Probability that all of so many servers are busy, at a load below 1 of each (Erlang, 1917)."""
    offered, term, total = servers * load, 1.0, 1.0
    for one in range(1, servers):
        term *= offered / one
        total += term
    last = term * offered / servers / (1 - load)
    return last / (total + last)


def wait(load: float, servers: int) -> float:
    """Mean wait in M/M/m, in service times."""
    return erlang_c(servers, load) / (servers * (1 - load))


def levels_of(windows: Sequence[Level]) -> list[Level]:
    """Windows of about the same load as one level each, with the geometric mean of each percentile; lowest load first."""
    groups: list[list[Level]] = []
    for one in sorted(windows, key=lambda window: (window.cores, window.load)):
        if groups and groups[-1][0].cores == one.cores and one.load <= SAME * groups[-1][0].load:
            groups[-1].append(one)
        else:
            groups.append([one])
    return [Level(_mean([one.load for one in group]), group[0].cores,
                  {name: _mean([one.percentiles[name] for one in group]) for name in QUANTILES}) for group in groups]  # fmt: skip


def _mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def queue(loads: Sequence[float], cores: Sequence[int], times: Sequence[float]) -> Form:
    """The queue through levels, by least squares of relative errors."""
    matrix = np.array([[1.0, wait(load, servers)] for load, servers in zip(loads, cores, strict=True)])
    (base, extra), _ = nnls(matrix / np.array(times)[:, None], np.ones(len(times)))
    return lambda load, servers: float(base + extra * wait(load, servers))


def curve(loads: Sequence[float], cores: Sequence[int], times: Sequence[float]) -> Form | None:
    """The curve through levels; None if they are of several numbers of cores: it knows nothing of those."""
    if len(set(cores)) > 1:
        return None
    logs, through = np.log(times), PchipInterpolator(np.array(loads), np.log(times))

    def at(load: float, servers: int) -> float:
        if servers != cores[0]:
            return math.nan
        if load > loads[-1]:
            return float(np.exp(logs[-1] + (load - loads[-1]) * (logs[-1] - logs[-2]) / (loads[-1] - loads[-2])))
        return float(np.exp(through(max(load, loads[0]))))

    return at


Fit = Callable[[Sequence[float], Sequence[int], Sequence[float]], Form | None]
"""From the loads, cores and times of levels."""
FORMS: dict[str, Fit] = {"queue": queue, "curve": curve}


def estimate(levels: Sequence[Level], quantile: str, load: float, cores: int) -> Estimate | None:
    """A percentile at a load, as a share of the limit, on so many cores; None if there are too few levels below `LOAD_MAX`."""
    used = [one for one in levels if one.load < LOAD_MAX]
    if len(used) < LEVELS_MIN:
        return None
    found = []
    for name, form in FORMS.items():
        whole = _through(form, used, quantile)
        ms = math.nan if whole is None else whole(load, cores)
        misses = _left_out(form, used, quantile)
        if misses and ms > 0 and math.isfinite(ms):
            found.append((float(np.mean(misses)), Estimate(ms, max(FACTOR_MIN, math.exp(max(misses))), name)))
    return min(found, key=lambda one: one[0])[1] if found else None


def _through(form: Fit, levels: Sequence[Level], quantile: str) -> Form | None:
    return form([one.load for one in levels], [one.cores for one in levels], [one.percentiles[quantile] for one in levels])


def _left_out(form: Fit, levels: Sequence[Level], quantile: str) -> list[float]:
    """|log error| at each level, from all others. The lowest is not left out: nothing is asked below it."""
    misses = []
    for at in range(1, len(levels)):
        others = _through(form, [*levels[:at], *levels[at + 1 :]], quantile)
        if others is None:
            return []
        misses.append(abs(math.log(max(others(levels[at].load, levels[at].cores), 1e-9) / levels[at].percentiles[quantile])))
    return misses
