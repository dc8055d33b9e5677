"""What to buy: for each system the machines, and how many of them, that carry what is needed, by price."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hydrotest import __version__
from hydrotest.analysis.demand.body import Applied
from hydrotest.catalogue.cost import (
    DISK_B_S_MAX,
    DISK_BYTES_MAX,
    DISK_BYTES_MIN,
    HOURS,
    Line,
    Wanted,
    disk_lines,
    has_disk_price,
    machine_line,
)
from hydrotest.catalogue.machine import Machine
from hydrotest.errors import BadInputError
from hydrotest.predict.answer import Refused, Why
from hydrotest.predict.axes import REFUSED, WITHIN
from hydrotest.predict.basis import MEMORY_SHARE, Basis, basis_of, calibration
from hydrotest.predict.change import Asked, asked
from hydrotest.predict.gates import Gate, inseparable, is_cpu_bound_known, no_fit
from hydrotest.predict.known import Known
from hydrotest.predict.plan import Excuse, Part, Plan, Rejected, Size, Turn
from hydrotest.store import layout

TOP_MAX = 100
HOSTS_MAX = 100
"""Of one system."""
FILL = 0.8
"""Share of a disk that data may fill."""
TURNS = (1.0, 1.3, 1.6, 2.0, 3.0, 5.0)
"""Multiples of the need at which the cheapest plan is looked for."""
EACH = 6
"""Of each system, the cheapest machines that enter plans of several."""
RESOURCES = ("cpu", "network", "disk")
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Ask:
    """What is needed, and of what it may be made."""

    needs: Mapping[str, float]
    """Operations a second, by workload."""
    machines: Sequence[Machine]
    wanted: Wanted = field(default_factory=Wanted)
    headroom: float = 0.3
    """So much more than the need must be carried."""
    lost: str = "host"
    """What may be lost with the need still carried: `none`, `host`, or `zone`."""
    zones: int = 3
    retain_s: float = 0.0
    """How long records are kept."""
    may_share: bool = True
    """Systems may be on the same hosts."""
    may_be_far: bool = False
    """Machines may have more than four times the cores that were measured."""
    speed: float = 1.0
    """Of a vCPU, as a multiple of a core that was measured."""
    top: int = 10
    """At most `TOP_MAX`."""


class Needs(NamedTuple):
    """What each host of a system needs, by number of hosts: index 0 is one host."""

    cores: Values
    link: Values
    """Bytes a second, each way."""
    written: Values
    """Bytes a second to disks."""
    stored: Values
    """Bytes that are kept."""
    unknown: Values
    """1 where the law does not show what it takes of the CPU on so many hosts."""

    def of(self, resource: str) -> Values:
        """One of `RESOURCES`."""
        return {"cpu": self.cores, "network": self.link, "disk": self.written}[resource]


@dataclass(frozen=True)
class Sized:
    """One system, or several on the same hosts, with what they need."""

    names: tuple[str, ...]
    least: int
    """Hosts at least: as many as there are copies."""
    full: float
    """Share of the cores that can be used."""
    memory: float
    """Bytes that each host must have: as those that were measured."""
    had: frozenset[str]
    """Hosts that it was measured on."""
    data_share: Values
    """Bytes that reads go to, which must fit into memory; by number of hosts."""
    hosts_measured: int
    """The most hosts that it was measured on."""
    cores_measured: float
    """The most that a host was measured with."""
    needs: Needs
    """With headroom, and with what is lost."""
    bare: Needs
    """The need itself."""


def size(runs: Sequence[Known], ask: Ask) -> Size:
    """Plans by price, what was rejected though it would cost less, and where the ranking turns. Raises `BadInputError`."""
    now = asked(runs[0].experiment, runs[0].text, [], runs[0].path / layout.EXPERIMENT)
    bases, refused = _bases(runs, now, ask.needs)
    if refused:
        return Size(version=__version__, runs=[str(run.path) for run in runs], needs=dict(ask.needs), headroom=ask.headroom, lost=ask.lost,
                    refused=refused, looked_at=len(ask.machines), speed=ask.speed)  # fmt: skip
    _check(bases, ask)
    plans, rejected = _plans(bases, ask)
    turns: list[Turn] = []
    for times in TURNS if plans else ():
        more, _ = _plans(bases, replace(ask, needs={name: rate * times for name, rate in ask.needs.items()}, top=1), with_rejected=False)
        names = [part.machine for part in more[0].parts] if more else []
        if not turns or turns[-1].machines != names:
            turns.append(Turn(times=times, machines=names, usd_h=more[0].usd_h if more else None))
    return Size(version=__version__, runs=[str(run.path) for run in runs], needs=dict(ask.needs), headroom=ask.headroom, lost=ask.lost, plans=plans,
                rejected=rejected, turns=turns, looked_at=len(ask.machines), speed=ask.speed)  # fmt: skip


def _bases(runs: Sequence[Known], now: Asked, needs: Mapping[str, float]) -> tuple[list[Basis], list[Refused]]:
    bases: list[Basis] = []
    refused: list[Refused] = []
    for name in needs:
        if name not in now.experiment.workloads:
            raise BadInputError(f"--need {name}: there is no such workload", f"The run has {', '.join(now.experiment.workloads)}.")
        found = basis_of(runs, now, name)
        gate = None if isinstance(found, Refused) else _gate(found, needs[name])
        if isinstance(found, Refused):
            refused.append(found)
        elif gate is not None:
            refused.append(
                Refused(
                    workload=name,
                    system=found.system,
                    why=gate.why,
                    about=list(gate.about),
                    reach=gate.reach,
                    experiment=calibration(now, name),
                )
            )
        else:
            bases.append(found)
    return bases, refused


def _gate(basis: Basis, rate: float) -> Gate | None:
    """As for a prediction of the need, on as many hosts as were measured."""
    if (gate := no_fit(basis.body, basis.system)) is not None:
        return gate
    if not is_cpu_bound_known(basis.body):
        return Gate(Why.NOT_BOUND, [basis.system])
    return inseparable(basis.body, Applied(basis.spec, basis.hosts, basis.body.ride).work(rate, is_closed=False).drivers)


def _check(bases: Sequence[Basis], ask: Ask) -> None:
    """Raises `BadInputError` for what no number of machines could give."""
    for one in bases:
        lost = {"none": 0, "host": 1, "zone": math.ceil(one.spec.copies / ask.zones)}[ask.lost]
        needed = one.law.copies_needed(one.spec)
        if lost and one.spec.copies - lost < needed:
            raise BadInputError(f"{one.name} has {one.spec.copies} {'copy' if one.spec.copies == 1 else 'copies'} and needs {needed}: it does not survive a {ask.lost}",
                                "Write `--survive none`, or measure it with more copies.")  # fmt: skip
    regions = {price.region for machine in ask.machines for price in machine.prices if price.region}
    if ask.wanted.region is not None and regions and ask.wanted.region not in regions:
        raise BadInputError(
            f"no price in {ask.wanted.region} is known",
            f"There is {', '.join(sorted(regions))}. `hydrotest catalogue import PRICES.csv` brings others.",
        )
    if not any(machine.price(ask.wanted.region, ask.wanted.term) for machine in ask.machines):
        there = sorted({f"{price.term} in {price.region}" for machine in ask.machines for price in machine.prices if price.region})
        raise BadInputError(f"no price {ask.wanted.term}{f' in {ask.wanted.region}' if ask.wanted.region else ''} is known of any of {len(ask.machines)} machines",
                            f"There is {', '.join(there) or 'none at all'}. `hydrotest catalogue import PRICES.csv` brings others.")  # fmt: skip


def _plans(bases: Sequence[Basis], ask: Ask, *, with_rejected: bool = True) -> tuple[list[Plan], list[Rejected]]:
    systems = list(dict.fromkeys(one.system for one in bases))
    alone = [_sized([one for one in bases if one.system == name], ask) for name in systems]
    parts = [sorted(_parts(one, ask), key=lambda part: part.usd_h)[: max(EACH, ask.top)] for one in alone]
    plans = [_plan(list(chosen), ask, is_shared=False) for chosen in itertools.product(*parts)] if len(parts) == 1 or all(parts) else []
    if ask.may_share and len(alone) > 1:
        plans += [_plan([part], ask, is_shared=True) for part in _parts(_together(alone), ask)]
    plans.sort(key=lambda plan: plan.usd_h)
    # Machines of one system against machines of the same system, without disks.
    best = [min((part.lines[0].usd_h for part in own), default=math.inf) for own in parts]
    rejected = [one for sized, usd_h in zip(alone, best, strict=True) for one in _rejected(sized, ask, usd_h)] if with_rejected else []
    rejected.sort(key=lambda one: one.would_cost_usd_h)
    return plans[: ask.top], _one_of_each(rejected)[: ask.top]


def _sized(bases: Sequence[Basis], ask: Ask) -> Sized:
    """Of the workloads of one system."""
    more = {one.name: ask.needs[one.name] * (1 + ask.headroom) for one in bases}
    counts = np.arange(1, HOSTS_MAX + 1)
    with_headroom, bare = _needs(bases, more, ask, counts), _needs(bases, ask.needs, ask, counts)
    left = {"none": counts, "host": counts - 1, "zone": counts - np.ceil(counts / ask.zones).astype(int)}[ask.lost]
    # A host that is lost does not take its data with it: what it kept is kept by others, too.
    after = Needs(*(np.where(left >= 1, values[np.maximum(left, 1) - 1], np.inf) for values in bare))
    needs = Needs(*(np.maximum(one, other) for one, other in zip(with_headroom, after, strict=True)))
    points = [point for one in bases for point in one.body.points]
    copies = max(one.spec.copies for one in bases)
    first = bases[0].first
    return Sized(
        (bases[0].system,), max(copies, 1 if ask.lost == "none" else 2), min(one.body.full for one in bases), bases[0].has.memory or 0.0,
        frozenset(first.experiment.systems.present()[bases[0].system].hosts), np.array([sum(one.law.data_bytes(one.spec, int(n)) for one in bases) for n in counts]),
        max(point.source.hosts for point in points), max(point.seen.has.cores for point in points), needs, bare,
    )  # fmt: skip


def _needs(bases: Sequence[Basis], rates: Mapping[str, float], ask: Ask, counts: npt.NDArray[np.int64]) -> Needs:
    rows = np.array([_need(bases, rates, ask, int(count)) for count in counts])
    return Needs(*rows.T)


def _need(bases: Sequence[Basis], rates: Mapping[str, float], ask: Ask, hosts: int) -> tuple[float, float, float, float, float]:
    """Of each host, by the law: what is fixed once, and what each workload does."""
    cores, link_in, link_out, written, stored = max(one.body.demands.fixed for one in bases), 0.0, 0.0, 0.0, 0.0
    unknown = False
    for one in bases:
        rate, body = rates[one.name], one.body
        # On fewer hosts than copies each has one: the others wait until there are more again.
        copies = min(one.spec.copies, hosts)
        spec = one.spec if one.spec.copies <= hosts else one.spec.model_copy(update={"replication": copies})
        work = Applied(spec, hosts, body.ride).work(rate, is_closed=False, on_busiest=True)
        unknown = unknown or inseparable(body, work.drivers) is not None
        cores += body.demands.cores(work.drivers) - body.demands.fixed
        link_in, link_out = link_in + work.into * body.into, link_out + work.out * body.out
        written += work.written * body.written
        kept = rate * one.law.kept_share(one.spec) * one.spec.operation_bytes * ask.retain_s
        stored += one.law.data_bytes(spec, hosts) + kept * copies / hosts
    return cores / ask.speed, max(link_in, link_out), written, stored, float(unknown)


def _together(alone: Sequence[Sized]) -> Sized:
    """Several systems on the same hosts."""

    def total(of: Sequence[Needs]) -> Needs:
        return Needs(*(np.sum(values, axis=0) for values in zip(*of, strict=True)))

    # Systems that were measured on the same hosts had the same memory.
    memory = {one.had: one.memory for one in alone}
    return Sized(
        tuple(name for one in alone for name in one.names), max(one.least for one in alone), min(one.full for one in alone), sum(memory.values()),
        frozenset().union(*(one.had for one in alone)), np.sum([one.data_share for one in alone], axis=0), max(one.hosts_measured for one in alone),
        max(one.cores_measured for one in alone), total([one.needs for one in alone]), total([one.bare for one in alone]),
    )  # fmt: skip


def _has(machine: Machine, sized: Sized) -> dict[str, float]:
    """What can be used of each resource. Where only what a link carries at best is known, that counts, and is named; where nothing is known
    of a disk, it does not bound."""
    cores = (machine.sustained_vcpus or 0.0) * sized.full
    link = (machine.net_base_bit_s or machine.net_peak_bit_s or 0.0) / 8
    by_network = DISK_B_S_MAX if machine.disk_base_b_s is None else min(machine.disk_base_b_s, DISK_B_S_MAX)
    return {"cpu": cores, "network": link, "disk": math.inf if _local_bytes(machine) else by_network}


def _not_known(machine: Machine) -> list[str]:
    """What is not known of what it sustains."""
    link = [] if machine.net_base_bit_s is not None else ["network"]
    return link + ([] if machine.disk_base_b_s is not None or _local_bytes(machine) else ["disk"])


def _fewest(machine: Machine, sized: Sized, ask: Ask, ignored: str | None = None) -> int | None:
    """The least number of hosts that carries all; None if `HOSTS_MAX` do not."""
    has, fits = _has(machine, sized), np.ones(HOSTS_MAX, dtype=bool)
    fits[: sized.least - 1] = False
    if not ask.may_be_far and ignored != "hosts":
        fits[int(REFUSED * sized.hosts_measured) :] = False
    if ignored != "law":
        fits &= sized.needs.unknown == 0
    for resource in RESOURCES:
        if resource != ignored:
            fits &= sized.needs.of(resource) <= has[resource]
    if ignored != "data":
        fits &= sized.needs.stored <= (FILL * _local_bytes(machine) or FILL * DISK_BYTES_MAX)
    if machine.memory_bytes is not None and ignored != "memory":
        fits &= sized.data_share <= MEMORY_SHARE * machine.memory_bytes
    return int(np.argmax(fits)) + 1 if fits.any() else None


def _local_bytes(machine: Machine) -> float:
    return (machine.local_disks or 0) * (machine.local_disk_bytes or 0.0)


def _excuse(machine: Machine, sized: Sized, ask: Ask) -> Excuse | None:
    """Why a machine is no candidate at any number; None if it is one."""
    if machine.sustained_vcpus is None or not (machine.net_base_bit_s or machine.net_peak_bit_s):
        return Excuse.NOT_KNOWN
    if machine.price(ask.wanted.region, ask.wanted.term) is None:
        return Excuse.NO_PRICE
    if machine.memory_bytes is None or machine.memory_bytes < sized.memory * (1 - 1e-9):
        return Excuse.MEMORY
    if machine.sustained_vcpus > REFUSED * WITHIN * sized.cores_measured and not ask.may_be_far:
        return Excuse.FAR
    return None


def _parts(sized: Sized, ask: Ask) -> Iterator[Part]:
    """One for each machine that carries it."""
    for machine in ask.machines:
        count = None if _excuse(machine, sized, ask) is not None else _fewest(machine, sized, ask)
        if count is not None:
            yield _part(machine, count, sized, _lines(machine, count, sized, ask))


def _lines(machine: Machine, count: int, sized: Sized, ask: Ask) -> list[Line]:
    """What it costs, with disks where it has none of its own and their price is known."""
    lines = [machine_line(machine, count, ask.wanted)]
    if not _local_bytes(machine) and has_disk_price(machine.provider):
        each = max(DISK_BYTES_MIN, float(sized.needs.stored[count - 1]) / FILL)
        lines += disk_lines(machine.provider, each, count, float(sized.needs.written[count - 1]))
    return lines


def _part(machine: Machine, count: int, sized: Sized, lines: Sequence[Line]) -> Part:
    has = _has(machine, sized)
    room = {
        resource: has[resource] / float(sized.bare.of(resource)[count - 1]) - 1
        for resource in RESOURCES
        if sized.bare.of(resource)[count - 1] > 0
    }
    binds = min(room, key=lambda resource: room[resource])
    after = (
        {resource: has[resource] / float(sized.bare.of(resource)[count - 2]) - 1 for resource in room}
        if count > 1 and not sized.bare.unknown[count - 2]
        else {}
    )
    measured = sized.cores_measured
    return Part(
        systems=list(sized.names), machine=machine.full_name, count=count, binds=binds, headroom=room[binds], after_one=min(after.values(), default=None),
        use={resource: 1 / (1 + value) for resource, value in room.items()}, usd_h=sum(line.usd_h for line in lines), lines=list(lines),
        times_cores=(machine.sustained_vcpus or 0.0) / measured, is_far=max((machine.sustained_vcpus or 0.0) / measured / WITHIN, count / sized.hosts_measured) > REFUSED,
        is_price_derived=any(line.is_derived for line in lines), stored_bytes=float(sized.needs.stored[count - 1]),
        lacks_disk_price=not _local_bytes(machine) and not has_disk_price(machine.provider), not_known=_not_known(machine),
        times_hosts=count / sized.hosts_measured,
    )  # fmt: skip


def _plan(parts: Sequence[Part], ask: Ask, *, is_shared: bool) -> Plan:
    usd_h = sum(part.usd_h for part in parts)
    millions = {name: usd_h / (rate * 3600 / 1e6) for name, rate in ask.needs.items()}
    return Plan(
        parts=list(parts),
        is_shared=is_shared,
        usd_h=usd_h,
        usd_month=usd_h * HOURS,
        usd_per_million=millions,
        headroom=min(part.headroom for part in parts),
    )


def _rejected(sized: Sized, ask: Ask, best: float) -> Iterator[Rejected]:
    """Machines that would cost less than the best plan, but for one reason."""
    for machine in ask.machines:
        excuse = _excuse(machine, sized, ask)
        if excuse in (Excuse.NO_PRICE, Excuse.NOT_KNOWN):
            continue
        if excuse is not None:
            count = _fewest(machine, sized, ask)
            yield from _if_cheaper(machine, count, excuse, sized, ask, best)
            continue
        fits = _fewest(machine, sized, ask)
        for resource in (*RESOURCES, "data", "law", "hosts"):
            count = _fewest(machine, sized, ask, ignored=resource)
            if count is not None and count != fits:
                yield from _if_cheaper(machine, count, Excuse(resource), sized, ask, best)


def _if_cheaper(machine: Machine, count: int | None, excuse: Excuse, sized: Sized, ask: Ask, best: float) -> Iterator[Rejected]:
    if count is None:
        return
    usd_h = machine_line(machine, count, ask.wanted).usd_h
    if usd_h >= best:
        return
    resource = excuse.value if excuse.value in RESOURCES else None
    needed = (
        float(sized.needs.of(resource)[count - 1]) if resource else float(sized.needs.stored[count - 1]) if excuse is Excuse.DATA else None
    )
    has = _has(machine, sized)[resource] if resource else FILL * _local_bytes(machine) if excuse is Excuse.DATA else None
    if excuse is Excuse.MEMORY:
        needed, has = sized.memory, float(machine.memory_bytes or 0)
    if excuse is Excuse.FAR:
        needed, has = None, machine.sustained_vcpus
    yield Rejected(
        systems=list(sized.names), machine=machine.full_name, count=count, would_cost_usd_h=usd_h, why=excuse, needed=needed, has=has
    )


def _one_of_each(rejected: Sequence[Rejected]) -> list[Rejected]:
    """The cheapest of each family and reason."""
    seen: set[tuple[str, str]] = set()
    out = []
    for one in rejected:
        key = (one.machine.partition(".")[0], one.why)
        if key not in seen:
            seen.add(key)
            out.append(one)
    return out
