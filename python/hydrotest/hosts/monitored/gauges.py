"""Gauges of a system by the names that its exporters give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hydrotest.hosts.monitored.series import Series
from hydrotest.kinds.internal import Internal, Theirs
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
    """Our gauges by name, from one scrape. Of several names that show a gauge the first counts."""
    series = list(series)
    found: dict[str, float] = {}
    for limit in internal_limits():
        name, labels = _selected(limit.gauge)
        own = [one for one in series if one.name == name and labels.items() <= one.labels.items()]
        if labels and own:
            # Whatever else it is labelled with: namespace, pod, cluster.
            found[limit.gauge] = _together(limit, [one.value for one in own])
        else:
            found |= {one.text: one.value for one in own}
    limits = {limit.gauge: limit for limit in internal_limits()}
    for other in theirs:
        values = [one.value for one in series if one.name == other.name and other.labels.items() <= one.labels.items()]
        if values:
            found.setdefault(other.gauge, _together(limits[other.gauge], values) * other.scale)
    return found


def _together(limit: Internal, values: Sequence[float]) -> float:
    """Several series that show one gauge: counts add up, of shares the mean is taken."""
    return sum(values) / (len(values) if limit.reading == "mean" and limit.unit is None else 1)


def _selected(gauge: str) -> tuple[str, dict[str, str]]:
    """Name and labels of a gauge of ours."""
    name, _, rest = gauge.partition("{")
    labels = (part.partition("=") for part in rest.rstrip("}").split(",") if part)
    return name, {key: value.strip('"') for key, _, value in labels}
