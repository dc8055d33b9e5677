"""What a workload makes each host of its system do at a rate, by the law of its run, as a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from hydrotest.predict.basis import Basis

POINTS = 768
"""Of a table of CPU over rates; between two of them the law is a straight line."""
BEYOND, RATE_MAX = 2.0, 1e12
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Effect:
    """On each of so many hosts."""

    rates: Values
    """Operations a second of all hosts together."""
    cores: Values
    """At each of `rates`, by schedule, without what is fixed."""
    least: Values
    """The same where operations wait: batches fill then as they do without a schedule, if that costs less."""
    link: float
    """Bytes through the busier direction of its link for each operation of all hosts together."""
    written: float
    """Bytes to its disk, likewise."""
    fresh: float
    """Bytes of what is written itself, likewise: without logs, and before any of it is rewritten."""
    kept: float
    """Bytes of these that stay for good, likewise: they replace nothing."""

    def cores_at(self, rates: Values, *, waiting: bool = False) -> Values:
        """Cores of each host whose share of the rate would be this rate of all hosts."""
        found: Values = np.interp(rates, self.rates, self.least if waiting else self.cores)
        return found


@dataclass
class Effects:
    """Of one workload, by the number of hosts that are up."""

    basis: Basis
    highest: float
    """The highest rate of the tables, operations a second of all hosts together for each host."""
    kept: float = 0.0
    """Of what it uses beyond its need, the part that is not left to others; 0: there are none on its hosts."""
    _known: dict[int, Effect] = field(default_factory=dict)

    def on(self, hosts: int) -> Effect:
        """On so many hosts; with fewer hosts than copies each has one."""
        if hosts not in self._known:
            self._known[hosts] = self._made(hosts)
        return self._known[hosts]

    def _made(self, hosts: int) -> Effect:
        body = self.basis.body
        applied, highest = self.basis.applied.on(hosts), self.highest * hosts
        rates = np.concatenate([[0.0], np.geomspace(highest / 1e5, highest, POINTS)])
        by_schedule, without = (
            np.array([0.0, *(body.demands.cores(work(float(rate)).drivers) - body.demands.fixed for rate in rates[1:])])
            for work in (partial(self.basis.work, hosts=hosts), partial(applied.work, is_closed=True))
        )
        least = np.minimum(by_schedule, without)
        if self.kept:
            seen = np.array([self.basis.seen_cores(float(rate), hosts) - body.demands.fixed for rate in rates])
            by_schedule, least = (need + self.kept * np.maximum(seen - need, 0.0) for need in (by_schedule, least))
        last = self.basis.work(highest, hosts)
        link = max(last.into * body.into, last.out * body.out) / highest
        written, law = last.written / highest, self.basis.law
        fresh, kept = written * law.data_share(applied.spec), written * law.kept_share(applied.spec)
        return Effect(rates, by_schedule, least, link, written * body.written, fresh, kept)


def highest_of(basis: Basis, cores: float, hosts: int, asked: float) -> float:
    """The rate, for each host, up to which tables go: well beyond what fills so many hosts with so many cores, or what is asked for."""
    applied, rate = basis.applied.on(hosts), max(1.0, asked)
    while rate < RATE_MAX and min(
        basis.body.demands.cores(work.drivers) for work in (basis.work(rate, hosts), applied.work(rate, is_closed=True))
    ) < BEYOND * cores:  # fmt: skip
        rate *= 2
    # Of a load without any cost of CPU, what is asked for is the only measure.
    return (rate if rate < RATE_MAX else BEYOND * max(1.0, asked)) / hosts
