"""The placement: hosts as boxes, with their services and the load generators on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hydrotest.kinds.registry import WORKLOADS
from hydrotest.spec.hosts import Placed
from hydrotest.spec.models import Experiment


@dataclass
class Box:
    """One host."""

    name: str
    connect: str
    type: str | None
    gets: str
    """Its share of the machine, in words; empty for the machine itself."""
    link: str
    """The speed of its link; empty if that is not emulated."""
    services: list[str] = field(default_factory=list)
    presses: list[str] = field(default_factory=list)


def _box(name: str, host: Placed) -> Box:
    gets = host.gets or "all of the machine" if host.is_emulated else ""
    return Box(name, host.connect, host.type, gets, host.link)


def topology_lines(experiment: Experiment) -> list[str]:
    """The same as text, a line for each host."""
    lines = []
    for box in topology(experiment):
        kind = f" ({box.type})" if box.type else ""
        share = f": {box.gets}, link {box.link}" if box.link else f": {box.connect}"
        roles = ", ".join([*box.services, *box.presses]) or "nothing"
        lines.append(f"{box.name}{kind}{share}; {roles}")
    return lines


def topology(experiment: Experiment) -> list[Box]:
    """A box for each host of the experiment."""
    boxes = {name: _box(name, host) for name, host in experiment.hosts.items()}
    for name, system in experiment.systems.present().items():
        for service, host in system.placed(name):
            boxes[host].services.append(service)
    for name, workload in experiment.workloads.items():
        target = (
            f"→ {WORKLOADS[workload.kind].system or 'its own program'}"
            if workload.source is None
            else f"reads what {workload.source} writes"
        )
        for host, count in Counter(experiment.generator_hosts(name)).items():
            boxes[host].presses.append(f"{name} {target}" + (f", {count} generators" if count > 1 else ""))
    return list(boxes.values())
