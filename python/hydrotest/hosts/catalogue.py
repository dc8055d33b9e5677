"""Which hosts there are."""

from __future__ import annotations

from pathlib import Path

from hydrotest.hosts.base import Host
from hydrotest.hosts.local import LocalHost
from hydrotest.spec.models import Experiment


def make_hosts(experiment: Experiment, scratch: Path) -> dict[str, Host]:
    """The experiment's hosts by name, with their data below `scratch`."""
    return {name: LocalHost(name, scratch, spec.address) for name, spec in experiment.hosts.items()}
