"""The monitored machines of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hydrotest.hosts.group import Group
from hydrotest.hosts.monitored.exporter import Exporter
from hydrotest.hosts.monitored.prometheus import Prometheus
from hydrotest.hosts.monitored.source import Source
from hydrotest.spec.choice import expected
from hydrotest.spec.monitored import ExporterHost, Monitored, PrometheusHost


async def monitored_hosts(specs: Mapping[str, Monitored], _: Path) -> Group:
    """See `kinds.host.HostKind`."""
    return Group({}, sources={name: source_of(name, spec) for name, spec in specs.items()})


def source_of(name: str, spec: Monitored) -> Source:
    """Where a machine's readings come from. Raises `BadInputError` where its login is not there."""
    if isinstance(spec, ExporterHost):
        return Exporter(name, spec)
    return Prometheus(name, expected(spec, PrometheusHost))
