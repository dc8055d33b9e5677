"""What the hosts of a run cost as machines of some types, with the traffic between zones that its workloads make."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from hydrotest.analysis.demand.laws.base import Load
from hydrotest.analysis.demand.windows import law_of
from hydrotest.catalogue.cost import (
    HOURS,
    AtRate,
    Cost,
    Line,
    Uncounted,
    Wanted,
    cost_of,
    disk_lines,
    has_disk_speed_price,
    has_traffic_price,
    machine_line,
    traffic_line,
)
from hydrotest.catalogue.machine import Machine
from hydrotest.errors import BadInputError
from hydrotest.predict.change import checked_groups
from hydrotest.predict.plan import Size
from hydrotest.predict.saved import read_saved
from hydrotest.predict.summarised import read_found
from hydrotest.spec.load import load_experiment
from hydrotest.spec.models import Experiment
from hydrotest.spec.workload import Workload
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder


@dataclass(frozen=True)
class Bill:
    """What is asked."""

    types: Mapping[str, Machine]
    """By system."""
    wanted: Wanted
    disks: Mapping[str, float] = field(default_factory=dict)
    """Bytes of the disk of each host, by system."""
    loads: Mapping[str, float] = field(default_factory=dict)
    """Operations a second, by workload."""
    zones: int = 1
    hours: float = HOURS
    groups: Mapping[str, float] = field(default_factory=dict)
    """Consumer groups that read each record of a workload."""


class Billed(NamedTuple):
    """What is asked, in prices."""

    cost: Cost
    uncounted: Sequence[Uncounted] = ()
    """Of the traffic between zones, and of disks, what is not counted."""
    beyond: Mapping[str, float] = {}
    """Of loads that are more than the limit that the run found of a workload: that limit, in operations a second."""


def run_cost(path: Path, bill: Bill) -> Billed:
    """The hosts of its systems, as machines. Raises `BadInputError` that names all that is wrong with the systems."""
    folder = RunFolder.open(path)
    experiment, _ = load_experiment(path / layout.EXPERIMENT, opens_files=False)
    bill = replace(bill, groups=checked_groups(experiment, bill.groups))
    systems = experiment.systems.present()
    unknown = dict.fromkeys(name for name in [*bill.types, *bill.disks] if name not in systems)
    lacking = [name for name in systems if name not in bill.types]
    if unknown or lacking:
        wrong = [*([f"the run has no system {', '.join(unknown)}"] if unknown else []),
                 *([f"of {', '.join(lacking)} no type of machine is named"] if lacking else [])]  # fmt: skip
        raise BadInputError(
            "; ".join(wrong), f"It has {', '.join(systems)}: write e.g. --type {next(iter(lacking or systems))}=aws/m7i.xlarge."
        )
    lines = [machine_line(machine, count, bill.wanted) for machine, count in _machines(experiment, bill)]
    for name, size in bill.disks.items():
        lines += disk_lines(bill.types[name].provider, size, len(systems[name].hosts), hours=bill.hours, region=bill.wanted.region)
    # How much they write is not asked.
    slow = [Uncounted.DISK_SPEED] if any(has_disk_speed_price(bill.types[name].provider) for name in bill.disks) else []
    found = _rates(folder, experiment, bill.loads)
    traffic = [_traffic(experiment, bill, workload, rate) for workload, rate, _ in found]
    if bill.loads:
        # All of them run at once: their traffic is a line for each.
        lines += [line for line in traffic if line is not None]
        cost = cost_of(experiment.name, lines, [AtRate(*one) for one in found], bill.hours)
        limits = {name: rate for name, rate, at in _rates(folder, experiment, {}) if at == "limit"}
        beyond = {name: limits[name] for name, rate in bill.loads.items() if rate > limits.get(name, math.inf)}
        return Billed(cost, [*([Uncounted.ZONE_TRAFFIC] if _lacks_traffic(experiment, bill, bill.loads) else []), *slow], beyond)
    rates = [AtRate(*one, 0.0 if line is None else line.usd_h) for one, line in zip(found, traffic, strict=True)]
    cost = cost_of(experiment.name, lines, rates, bill.hours)
    if bill.zones < 2:
        return Billed(cost, slow)
    lacks_traffic = not cost.millions or _lacks_traffic(experiment, bill, [one[0] for one in found])
    return Billed(cost, [Uncounted.ZONE_TRAFFIC if lacks_traffic else Uncounted.ZONE_TRAFFIC_SUM, *slow])


def plan_cost(path: Path, number: int, hours: float = HOURS) -> Billed:
    """A plan that `size --save` has written, by its number, the cheapest first; with the traffic between the zones that it was made for.

    Raises `BadInputError`.
    """
    size = read_saved(path, Size, "size --save")
    if not size.plans:
        hint = (
            "The runs do not bear what was asked: `hydrotest size` says what would."
            if size.refused
            else "No machine carries what was asked."
        )
        raise BadInputError("there are no plans in it", hint, file=path)
    if not 1 <= number <= len(size.plans):
        raise BadInputError(
            f"--plan {number}: there is no such plan", f"The file has {len(size.plans)}; the first is the cheapest.", file=path
        )
    plan = size.plans[number - 1]
    lines = [line.of_month(hours) for line in [*(line for part in plan.parts for line in part.lines), *plan.traffic]]
    machines = " + ".join(f"{part.count} × {part.machine}" for part in plan.parts)
    cost = cost_of(f"plan {number}: {machines}", lines, [AtRate(name, rate, "load") for name, rate in size.needs.items()], hours)
    return Billed(cost, [] if plan.traffic_usd_h is not None else [Uncounted.ZONE_TRAFFIC])


def _lacks_traffic(experiment: Experiment, bill: Bill, workloads: Iterable[str]) -> bool:
    """Whether zones are asked for, and what goes between them for one of the workloads is not known, or its price is not."""
    return bill.zones > 1 and (
        any(_moving(experiment, name, 1.0, 0.0) is None for name in workloads)
        or not all(has_traffic_price(machine.provider, bill.wanted) for machine in bill.types.values())
    )


def _machines(experiment: Experiment, bill: Bill) -> list[tuple[Machine, int]]:
    """Of hosts that several systems share there is one machine each. Raises `BadInputError` where it would be of two types."""
    of_host: dict[str, str] = {}
    for name, system in experiment.systems.present().items():
        for host in system.hosts:
            other = of_host.setdefault(host, name)
            if bill.types[other].full_name != bill.types[name].full_name:
                raise BadInputError(f"{host} runs {other} and {name}, and would be of two types", "Name one type for both.")
    counts: dict[str, int] = {}
    for name in of_host.values():
        counts[bill.types[name].full_name] = counts.get(bill.types[name].full_name, 0) + 1
    by_name = {machine.full_name: machine for machine in bill.types.values()}
    return [(by_name[name], count) for name, count in counts.items()]


def _rates(folder: RunFolder, experiment: Experiment, loads: Mapping[str, float]) -> list[tuple[str, float, str]]:
    """The loads that are asked for; else what the run found: the rate that nearly all windows hold, and the limit."""
    for name in loads:
        if name not in experiment.workloads:
            raise BadInputError(f"--load {name}: there is no such workload", f"The run has {', '.join(experiment.workloads)}.")
    if loads:
        return [(name, rate, "load") for name, rate in loads.items()]
    alone = [one for one in read_found(folder).limits if one.tenancy == "isolated"]
    return [(one.workload, rate, at) for one in alone for rate, at in ((one.safe, "safe"), (one.limit, "limit")) if rate]


def _traffic(experiment: Experiment, bill: Bill, workload: str, rate: float) -> Line | None:
    """Of a workload; None where it is not known, or its price is not."""
    spec = experiment.workloads[workload]
    machine = bill.types.get(spec.presses_on or "")
    moving = _moving(experiment, workload, rate, bill.groups.get(workload, 0.0))
    if machine is None or moving is None:
        return None
    hosts = len(experiment.systems.present()[spec.presses_on or ""].hosts)
    lines = zone_lines(machine.provider, {workload: moving}, hosts, bill.zones, bill.wanted)
    return lines[0] if lines else None


def _moving(experiment: Experiment, workload: str, rate: float, groups: float) -> Moving | None:
    """What goes with a workload: of one that reads records what one group gets of those that it reads. None where no law says it."""
    spec = experiment.workloads[workload]
    if spec.source is not None:
        source = experiment.workloads[spec.source]
        return Moving(source, rate, 1.0, reads_only=True) if law_of(source.kind) is not None else None
    return Moving(spec, rate, groups) if law_of(spec.kind) is not None else None


class Moving(NamedTuple):
    """A workload at a rate."""

    spec: Workload
    rate: float
    groups: float = 0.0
    """Consumer groups that read each record, of which members are in every zone and read from leaders."""
    reads_only: bool = False
    """Only what the groups get: the records are written by another workload, which counts for itself."""


def zone_lines(provider: str, loads: Mapping[str, Moving], hosts: int, zones: int, wanted: Wanted) -> list[Line] | None:
    """Traffic between zones of each workload at its rate, on so many hosts; none in one zone. None where its price is not known."""
    if zones < 2:
        return []
    if not has_traffic_price(provider, wanted):
        return None
    found = {name: traffic_line(provider, between_zones(load, hosts, zones)) for name, load in loads.items()}
    return [line.model_copy(update={"what": f"{line.what}, {name}"}) for name, line in found.items() if line is not None]


def between_zones(load: Moving, hosts: int, zones: int) -> float:
    """Payload bytes a second that go from zone to zone: of clients to hosts in any zone, of those to groups, and of copies, of which each
    is in a zone of its own as far as there are zones."""
    spec = load.spec
    law = law_of(spec.kind)
    if law is None:
        return 0.0
    if load.reads_only:
        own = load._replace(reads_only=False)
        return between_zones(own, hosts, zones) - between_zones(own._replace(groups=0.0), hosts, zones)
    work = law.work(spec, Load(load.rate, True, hosts, groups=load.groups))
    # What goes from host to host goes out of one and into another.
    inside = (work.into + work.out - work.clients) / 2
    # Copies are spread evenly: of all pairs of two copies, the share of those in two zones.
    each = [spec.copies // zones + (zone < spec.copies % zones) for zone in range(zones)]
    pairs = spec.copies * (spec.copies - 1)
    elsewhere = 1.0 if not pairs else 1 - sum(count * (count - 1) for count in each) / pairs
    return hosts * (work.clients * (zones - 1) / zones + inside * elsewhere)
