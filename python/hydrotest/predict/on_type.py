"""A type of machine in the place of the hosts that were measured."""

from __future__ import annotations

from collections.abc import Mapping

from hydrotest.analysis.demand.windows import Ceilings
from hydrotest.catalogue.cost import volume_b_s
from hydrotest.catalogue.machine import Machine
from hydrotest.errors import BadInputError
from hydrotest.predict.change import MEMORY, RESOURCES, OnType
from hydrotest.predict.known import Known
from hydrotest.spec.hosts import PAYLOAD
from hydrotest.spec.models import Experiment


def on_types(run: Known, types: Mapping[str, Machine]) -> dict[str, OnType]:
    """By system: what its type has beside what its hosts were measured to have. Raises `BadInputError` for a system that was not
    measured, and for a type of which cores or link are not known."""
    found = {}
    for system, machine in types.items():
        if system not in run.has:
            there = ", ".join(run.has) or "none"
            raise BadInputError(
                f"--type {system}={machine.full_name}: the run has measured no system {system}", f"It has measured {there}."
            )
        found[system] = OnType(machine.full_name, _wanted(machine), _had(run.has[system]))
    return found


def with_neighbours(experiment: Experiment, types: Mapping[str, Machine]) -> dict[str, Machine]:
    """By system, those too that share a host with one that was named: it has become another machine for all."""
    systems = experiment.systems.present()
    found = dict(types)
    for name, machine in types.items():
        own = set(systems[name].hosts) if name in systems else set()
        found |= {other: machine for other, system in systems.items() if other not in types and own & set(system.hosts)}
    return found


def not_known(machine: Machine) -> list[str]:
    """Resources of which the catalogue does not say what they sustain: of a link its best counts, of disks what was measured."""
    link = [] if machine.net_base_bit_s is not None else ["network"]
    return link + ([] if _disk(machine) is not None else ["disk"])


def _disk(machine: Machine) -> float | None:
    """Bytes a second of disks that are reached by the network. What disks of its own sustain is not in the catalogue."""
    return None if machine.local_disks else volume_b_s(machine.disk_base_b_s)


def _wanted(machine: Machine) -> dict[str, float]:
    cores, link = machine.sustained_vcpus, machine.link_bit_s
    if cores is None or link is None:
        lacks = "how many cores it has for as long as one likes" if cores is None else "what its link carries"
        raise BadInputError(
            f"--type {machine.full_name}: {lacks} is not known", "Take another one, or write what it has into machines.yaml."
        )
    found = {"cores": cores, "network": link / 8 * PAYLOAD}
    if (disk := _disk(machine)) is not None:
        found["disk"] = disk
    return found | ({} if machine.memory_bytes is None else {MEMORY: float(machine.memory_bytes)})


def _had(has: Ceilings) -> dict[str, float]:
    every = dict(zip((*RESOURCES, MEMORY), (has.cores, has.link, has.disk, has.memory), strict=True))
    return {key: value for key, value in every.items() if value}
