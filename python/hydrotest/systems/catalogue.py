"""The experiment's systems, from the registry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from hydrotest.hosts.base import Host
from hydrotest.kinds.registry import SYSTEMS
from hydrotest.spec.models import Experiment
from hydrotest.systems.base import Placement, System
from hydrotest.systems.fetch import Bundle
from hydrotest.systems.pip import PipBundle
from hydrotest.systems.service import OnDeath


def make_systems(experiment: Experiment, hosts: Mapping[str, Host], run: str, logs: PurePath, on_death: OnDeath) -> dict[str, System]:
    """The experiment's systems, not yet started, in starting order."""
    placement = Placement(experiment, hosts, run, logs, on_death)
    return {name: SYSTEMS[name].make.load()(spec, placement) for name, spec in experiment.systems.present().items()}


def bundles() -> dict[str, list[Bundle | PipBundle]]:
    """The bundles of `hydrotest fetch NAME`."""
    return {name: [one.load() for one in kind.bundles] for name, kind in SYSTEMS.items() if kind.bundles}
