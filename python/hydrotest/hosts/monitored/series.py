"""Series, as exporters show them and Prometheus keeps them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from hydrotest.errors import TrialFailedError

ADDED = frozenset({"instance", "job"})
"""Labels that Prometheus adds to those of the exporter."""


@dataclass(frozen=True)
class Series:
    """One value of one series."""

    name: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """With its labels, as an exporter writes it."""
        labels = ",".join(f'{key}="{value}"' for key, value in self.labels.items())
        return f"{self.name}{{{labels}}}" if labels else self.name


def parse(page: str, wanted: Collection[str]) -> list[Series]:
    """The wanted series of an exporter's page (Prometheus's text format 0.0.4), by their names.

    Raises `TrialFailedError` for a page that is none.
    """
    # Only here: an experiment without a monitored machine does not need it.
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415

    kept = "\n".join(line for line in page.splitlines() if _name(line) in wanted)
    try:
        families = list(text_string_to_metric_families(kept + "\n"))
    except ValueError as error:
        raise TrialFailedError(f"its page cannot be read: {error}") from error
    samples = [sample for family in families for sample in family.samples]
    return [Series(sample.name, float(sample.value), sample.labels) for sample in samples if isfinite(sample.value)]


def _name(line: str) -> str:
    return line.partition(" ")[0].partition("{")[0]


def by_moment(answer: list[dict[str, Any]]) -> Iterator[tuple[float, list[Series]]]:
    """(wall time by the server's clock, all series then) of a range of Prometheus (`matrix` of its HTTP API). All series of a
    scrape have the same time. Values that are no numbers are left out. Raises `LookupError`, `TypeError` or `ValueError` where
    it has another form."""
    moments: dict[float, list[Series]] = {}
    for one in answer:
        metric = one["metric"]
        labels = {key: value for key, value in metric.items() if key != "__name__" and key not in ADDED}
        for at, value in one["values"]:
            if isfinite(number := float(value)):
                moments.setdefault(float(at), []).append(Series(metric["__name__"], number, labels))
    yield from sorted(moments.items(), key=lambda moment: moment[0])
