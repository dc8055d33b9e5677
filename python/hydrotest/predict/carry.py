"""How many machines of a type carry a need, what they cost, and why a type is not taken."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from hydrotest.catalogue.cost import (
    DISK_B_S_MAX,
    DISK_BYTES_MAX,
    DISK_BYTES_MIN,
    Line,
    disk_lines,
    has_disk_price,
    machine_line,
    volume_b_s,
)
from hydrotest.catalogue.machine import Machine
from hydrotest.predict.axes import REFUSED, WITHIN
from hydrotest.predict.basis import MEMORY_SHARE, Basis
from hydrotest.predict.needs import HOSTS_MAX, RESOURCES, Ask, Sized, uses_at
from hydrotest.predict.plan import Lacking, Part, Reason, Rejected
from hydrotest.spec.hosts import PAYLOAD

TIMES_MAX, ROOM_STEPS = 1e6, 30
"""Of the search for how far loads may grow."""
FILL = 0.8
"""Share of a disk that data may fill."""


def _has(machine: Machine, full: float) -> dict[str, float]:
    """What can be used of each resource: of a link its payload, as in a simulation. Where only what a link carries at best is known, that
    counts, and is named; where nothing is known of a disk, it does not bound. `full`: share of the cores that can be used."""
    cores = (machine.sustained_vcpus or 0.0) * full
    link = (machine.link_bit_s or 0.0) / 8 * PAYLOAD
    volume = volume_b_s(machine.disk_base_b_s)
    return {"cpu": cores, "network": link, "disk": math.inf if _local_bytes(machine) else DISK_B_S_MAX if volume is None else volume}


def _not_known(machine: Machine) -> list[str]:
    """What is not known of what it sustains."""
    link = [] if machine.net_base_bit_s is not None else ["network"]
    return link + ([] if machine.disk_base_b_s is not None or _local_bytes(machine) else ["disk"])


def _fewest(machine: Machine, sized: Sized, ask: Ask, ignored: str | None = None) -> int | None:
    """The least number of hosts that carries all; None if `HOSTS_MAX` do not."""
    has, fits = _has(machine, sized.full), np.ones(HOSTS_MAX, dtype=bool)
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


def _reason(machine: Machine, sized: Sized, ask: Ask) -> Reason | None:
    """Why a machine is no candidate at any number; None if it is one."""
    if machine.sustained_vcpus is None or not machine.link_bit_s:
        return Reason.NOT_KNOWN
    if machine.price(ask.wanted.region, ask.wanted.term) is None:
        return Reason.NO_PRICE
    if machine.memory_bytes is None or machine.memory_bytes < sized.memory * (1 - 1e-9):
        return Reason.MEMORY
    if machine.sustained_vcpus > REFUSED * WITHIN * sized.cores_measured and not ask.may_be_far:
        return Reason.FAR
    return None


def parts_of(sized: Sized, ask: Ask) -> Iterator[Part]:
    """One for each machine that carries it."""
    for machine in ask.machines:
        count = None if _reason(machine, sized, ask) is not None else _fewest(machine, sized, ask)
        if count is not None:
            yield _part(machine, count, sized, _lines(machine, count, sized, ask))


def _lines(machine: Machine, count: int, sized: Sized, ask: Ask) -> list[Line]:
    """What it costs, with disks where it has none of its own and their price is known."""
    lines = [machine_line(machine, count, ask.wanted)]
    if not _local_bytes(machine) and has_disk_price(machine.provider):
        each = max(DISK_BYTES_MIN, float(sized.needs.stored[count - 1]) / FILL)
        lines += disk_lines(machine.provider, each, count, float(sized.needs.written[count - 1]), region=ask.wanted.region)
    return lines


def _part(machine: Machine, count: int, sized: Sized, lines: Sequence[Line]) -> Part:
    has = _has(machine, sized.full)
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


def with_room(part: Part, bases: Sequence[Basis], ask: Ask) -> Part:
    """By how much all loads may really grow: what is fixed does not grow with them, and fuller batches cost less."""
    own = [one for one in bases if one.system in part.systems]
    machine = next(one for one in ask.machines if one.full_name == part.machine)
    has = _has(machine, min(one.usable for one in own))
    times, binds = _room(own, has, ask, part.count)
    after = None if part.after_one is None else _room(own, has, ask, part.count - 1)[0] - 1
    return part.model_copy(update={"headroom": times - 1, "after_one": after, "binds": binds})


def _room(bases: Sequence[Basis], has: Mapping[str, float], ask: Ask, hosts: int) -> tuple[float, str]:
    """How many times all needs the hosts carry, and what is full then."""
    low, high = 0.0, 1.0
    while high < TIMES_MAX and max(uses_at(bases, high, has, ask, hosts).values()) <= 1:
        low, high = high, 2 * high
    for _ in range(ROOM_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if max(uses_at(bases, middle, has, ask, hosts).values()) <= 1 else (low, middle)
    uses = uses_at(bases, high, has, ask, hosts)
    return low, max(uses, key=lambda resource: uses[resource])


def rejected_of(sized: Sized, ask: Ask, best: float) -> Iterator[Rejected]:
    """Machines that would cost less than the best plan, but for one reason."""
    for machine in ask.machines:
        reason = _reason(machine, sized, ask)
        if reason in (Reason.NO_PRICE, Reason.NOT_KNOWN):
            continue
        if reason is not None:
            count = _fewest(machine, sized, ask)
            yield from _if_cheaper(machine, count, reason, sized, ask, best)
            continue
        fits = _fewest(machine, sized, ask)
        for resource in (*RESOURCES, "data", "law", "hosts"):
            count = _fewest(machine, sized, ask, ignored=resource)
            if count is not None and count != fits:
                yield from _if_cheaper(machine, count, Reason(resource), sized, ask, best)


def lacking_of(sized: Sized, ask: Ask) -> list[Lacking]:
    """Where no machine carries it: how many types lack what, the most first."""
    found = Counter(_lacks(machine, sized, ask) for machine in ask.machines)
    return [Lacking(systems=list(sized.names), why=why, types=count) for why, count in found.most_common()]


def _lacks(machine: Machine, sized: Sized, ask: Ask) -> Reason:
    """Of a machine that does not carry it at any number: without which it would, else of what it has least at the largest number."""
    if (reason := _reason(machine, sized, ask)) is not None:
        return reason
    alone = next(
        (one for one in ("law", "hosts", "data", "memory", *RESOURCES) if _fewest(machine, sized, ask, ignored=one) is not None), None
    )
    if alone is not None:
        return Reason(alone)
    most = HOSTS_MAX if ask.may_be_far else max(1, min(HOSTS_MAX, int(REFUSED * sized.hosts_measured)))
    has = _has(machine, sized.full)
    use = {resource: float(sized.needs.of(resource)[most - 1]) / has[resource] if has[resource] else math.inf for resource in RESOURCES}
    return Reason(max(use, key=lambda resource: use[resource]))


def _if_cheaper(machine: Machine, count: int | None, reason: Reason, sized: Sized, ask: Ask, best: float) -> Iterator[Rejected]:
    if count is None:
        return
    usd_h = machine_line(machine, count, ask.wanted).usd_h
    if usd_h >= best:
        return
    resource = reason.value if reason.value in RESOURCES else None
    needed = (
        float(sized.needs.of(resource)[count - 1]) if resource else float(sized.needs.stored[count - 1]) if reason is Reason.DATA else None
    )
    has = _has(machine, sized.full)[resource] if resource else FILL * _local_bytes(machine) if reason is Reason.DATA else None
    if reason is Reason.MEMORY:
        needed, has = sized.memory, float(machine.memory_bytes or 0)
    if reason is Reason.FAR:
        needed, has = None, machine.sustained_vcpus
    yield Rejected(
        systems=list(sized.names), machine=machine.full_name, count=count, would_cost_usd_h=usd_h, why=reason, needed=needed, has=has
    )
