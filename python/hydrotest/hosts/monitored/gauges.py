"""Gauges of a system by the names that its exporters give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hydrotest.hosts.monitored.series import Series
from hydrotest.kinds.internal import Theirs
from hydrotest.kinds.registry import SYSTEMS, internal_limits
from hydrotest.spec.monitored import Selected


def known(own: Mapping[str, Selected]) -> list[Theirs]:
    """All series of others that show one of our gauges; `own`: those that the experiment maps."""
    mapped = [Theirs(series.name, gauge, series.labels) for gauge, series in own.items()]
    return mapped + [theirs for kind in SYSTEMS.values() for theirs in kind.exported]


def names(theirs: Iterable[Theirs]) -> frozenset[str]:
    """The series that are read: ours, as they are, and those of others."""
    return frozenset(one.name for one in theirs) | {limit.gauge.partition("{")[0] for limit in internal_limits()}


def read_gauges(series: Iterable[Series], theirs: Iterable[Theirs]) -> dict[str, float]:
    """Our gauges by name, from one scrape. Series of one name add up; of several names that show a gauge the first counts."""
    series = list(series)
    ours = {limit.gauge.partition("{")[0] for limit in internal_limits()}
    found = {one.text: one.value for one in series if one.name in ours}
    for other in theirs:
        values = [one.value for one in series if one.name == other.name and other.labels.items() <= one.labels.items()]
        if values:
            found.setdefault(other.gauge, sum(values) * other.scale)
    return found
