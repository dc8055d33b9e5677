"""Which resource sets a limit: first version, by ceilings and the generator's checks. It names a
suspect only where the evidence is strong, and never confirms: only a squeeze can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from hydrotest.analysis.internal import Gauged

NEAR_CEILING = 0.85
"""A resource used beyond this share of its ceiling at the limit is a suspect."""
FAR_FROM_CEILING = 0.60
"""Below this share it is ruled out."""
MACHINE = "the machine that hosts are emulated on"
"""Stands where a host's name does."""
THROTTLED_MIN = 0.50
"""A CPU quota that held its host back in this share of its periods is a suspect, however much of it was used on average: at a
short period 80 % of a quota was used with all periods throttled."""
FULL_MIN = 0.95
HELD_BACK_MIN = 0.9
"""Share of a ceiling, and of a quota's periods, from where on there is no room that a measurement could tell from none."""


@dataclass(frozen=True)
class Sign:
    """Something beside its use that tells whether a resource was waited for, or ran short."""

    what: str
    value: float
    unit: str | None
    least: float
    """From here on it tells that."""
    is_sure: bool = False
    """A resource that binds always shows it."""

    @property
    def shows(self) -> bool:
        """True if something waited."""
        return self.value >= self.least

    def __str__(self) -> str:
        return f"{self.what}: {self.value:.0%}" if self.unit is None else f"{self.what}: {self.value:,.3g} {self.unit}"


SIGNS: dict[str, list[tuple[str, str, str | None, float, bool]]] = {
    "cpu": [
        ("pressure_cpu_some", "time in which some task waited for a core", None, 0.1, True),
        ("run_delay", "tasks that waited for a core", "on average", 0.5, False),
    ],
    "disk": [
        ("pressure_io_some", "time in which some task waited for the disk", None, 0.1, True),
        ("disk_busy", "time in which it was busy", None, 0.5, False),
        ("disk_wait", "requests that waited for it", "on average", 1.0, False),
    ],
    "network": [
        ("tcp_retransmits_per_s", "TCP segments sent again", "/s", 1.0, False),
        ("net_drops_per_s", "packets dropped", "/s", 1.0, False),
    ],
    "memory": [
        ("pressure_memory_some", "time in which some task waited for memory", None, 0.1, False),
        ("swapped_pages_per_s", "pages swapped in or out", "/s", 1.0, False),
        ("major_faults_per_s", "page faults that read from disk", "/s", 10.0, False),
        ("memory_dirty_bytes", "bytes that wait to be written", "bytes", math.inf, False),
    ],
}
"""By resource: column of `host_rates`, words, unit (None: a share), from where on it tells of shortage, and whether what binds always shows it. The columns are
the kernel's own (/proc/pressure, schedstat, diskstats, snmp, net/dev, vmstat, meminfo; of an emulated host its control groups')."""


@dataclass(frozen=True)
class Use:
    """One resource of one host at the limit."""

    resource: str
    host: str
    used: float
    ceiling: float | None
    unit: str
    throttled: float | None = None
    """Of a CPU quota: the share of its periods in which it held the host back; None where there is no quota."""
    signs: tuple[Sign, ...] = ()

    @property
    def share(self) -> float | None:
        """Of the ceiling; None where there is none."""
        return self.used / self.ceiling if self.ceiling else None

    @property
    def is_near(self) -> bool:
        """True if it may be what binds."""
        return (self.share is not None and self.share >= NEAR_CEILING) or (self.throttled or 0.0) >= THROTTLED_MIN

    @property
    def is_full(self) -> bool:
        """True if it has no room."""
        return (self.share or 0.0) >= FULL_MIN or (self.throttled or 0.0) >= HELD_BACK_MIN

    @property
    def denied_by(self) -> list[Sign]:
        """Signs that would show if it bound, none of which does. Empty where one does, or none was read."""
        is_waited_for = (self.throttled or 0.0) >= THROTTLED_MIN or any(sign.shows for sign in self.signs)
        return [] if is_waited_for else [sign for sign in self.signs if sign.is_sure]

    @property
    def is_far(self) -> bool:
        """True if it can be ruled out."""
        return self.share is not None and self.share < FAR_FROM_CEILING and not self.is_near

    def __str__(self) -> str:
        held_back = f" and held back in {self.throttled:.0%} of its periods" if (self.throttled or 0.0) >= THROTTLED_MIN else ""
        waited = "".join(f", {sign}" for sign in self.signs if sign.shows and sign.is_sure)
        return f"at {self.share or 0.0:.0%} of its ceiling{held_back}{waited}"


@dataclass
class BoundBy:
    """The verdict, in the words of the contract."""

    kind: str
    detail: str
    host: str | None = None
    resource: str | None = None
    confirmed: bool = False
    evidence: list[dict[str, Any]] = field(default_factory=list)
    ruled_out: list[dict[str, Any]] = field(default_factory=list)


def resource_uses(host: str, rates: pl.DataFrame, ceilings: Mapping[str, float]) -> list[Use]:
    """Mean use of each of a host's resources over some readings."""
    if rates.is_empty():
        return []

    def mean(column: str) -> float:
        value = rates[column].mean()
        return float(value) if isinstance(value, (int, float)) else 0.0

    def known(column: str) -> float | None:
        value = rates[column].mean() if column in rates.columns else None
        return float(value) if isinstance(value, int | float) else None

    memory = rates["memory_bytes"].max()
    throttled = known("cpu_throttled")
    uses = [
        Use("cpu", host, mean("cpu_cores"), ceilings.get("cpu_cores"), "cores", throttled),
        _disk_use(host, mean("disk_write_bytes_per_s"), mean("disk_read_bytes_per_s"), ceilings),
        _link_use(host, mean("network_out_bytes_per_s"), mean("network_in_bytes_per_s"), ceilings),
        Use("memory", host, float(memory) if isinstance(memory, (int, float)) else 0.0, ceilings.get("memory_bytes"), "bytes"),
    ]
    return [
        replace(use, signs=tuple(
            Sign(what, value, unit, least, is_sure)
            for column, what, unit, least, is_sure in SIGNS[use.resource] if (value := known(column)) is not None
        ))
        for use in uses
    ]  # fmt: skip


OUT, IN, EITHER = "bytes/s out", "bytes/s in", "bytes/s each way"
BOTH_MIN = 0.8
"""Of what goes the one way, from where on a link is as busy the other way."""


def _link_use(host: str, out: float, back: float, ceilings: Mapping[str, float]) -> Use:
    """A link carries as much in each direction: the busier one binds, and its unit names it."""
    unit = EITHER if min(out, back) >= BOTH_MIN * max(out, back) else OUT if out > back else IN
    return Use("network", host, max(out, back), ceilings.get("network_bytes_per_s"), unit)


def held_back_words(host: str) -> str:
    """What a line of evidence of a CPU quota says."""
    return f"share of its periods in which {host} was held back by its CPU quota"


def _disk_use(host: str, written: float, read: float, ceilings: Mapping[str, float]) -> Use:
    """A disk has a ceiling in each direction: the one that is nearer to its own binds."""
    writes = Use("disk", host, written, ceilings.get("disk_write_bytes_per_s"), "bytes/s written")
    reads = Use("disk", host, read, ceilings.get("disk_read_bytes_per_s"), "bytes/s read")
    return reads if (reads.share or 0.0) > (writes.share or 0.0) else writes


def machine_words(evidence: Sequence[Mapping[str, Any]]) -> str:
    """Said beside what is proven where the machine that hosts are emulated on was full itself; else nothing."""
    full = next(
        (entry for entry in evidence if "used" in entry and entry["host"] == MACHINE and (entry["value"] or 0.0) >= NEAR_CEILING), None
    )
    return "" if full is None else f"{full['value']:.0%} of the cores of {MACHINE} were used: they may not have got what they are given"


def bound_by(
    uses: list[Use], generator_reasons: list[str], stopped_by: str, internals: Sequence[Gauged] = (), *, has_generator: bool = True
) -> BoundBy:
    """Names what sets a limit. `uses` are those at the limit (or just above it), `internals` the systems' own limits then. Without a generator nothing is said of it."""
    evidence = [
        {"what": f"{use.resource} of {use.host}, share of its ceiling that was used", "host": use.host,
         "value": use.share, "unit": None, "used": use.used, "ceiling": use.ceiling, "used_unit": use.unit}
        for use in uses
    ] + [
        {"what": held_back_words(use.host), "host": use.host, "value": use.throttled, "unit": None}
        for use in uses
        if use.throttled is not None
    ] + [
        {"what": f"{sign.what}, {use.resource} of {use.host}", "host": use.host, "value": sign.value, "unit": sign.unit, "sign": use.resource,
         "shows": sign.shows}
        for use in uses for sign in use.signs
    ] + [internal.evidence() for internal in internals if internal.is_full]  # fmt: skip
    ruled_out = [
        {"what": f"{use.resource} of {use.host}", "why": f"only {use.share:.0%} of its ceiling was used"} for use in uses if use.is_far
    ]
    if generator_reasons:
        detail = "the generator had no room: " + "; ".join(generator_reasons)
        return BoundBy("generator", detail, evidence=evidence, ruled_out=ruled_out)
    if has_generator:
        ruled_out.append({"what": "the generator", "why": "every check of its room held"})
    if not uses:
        return BoundBy("unknown", "the hosts were not sampled at the limit", evidence=evidence, ruled_out=ruled_out)
    full = [internal for internal in internals if internal.is_full]
    if internals and not full:
        why = f"none of {len(internals)} gauges of them shows one that is used up"
        ruled_out.append({"what": "limits inside the systems, as far as gauges show them", "why": why})
    # Memory that is occupied binds nothing by itself; it is evidence, not a suspect.
    near = sorted(
        (use for use in uses if use.resource != "memory" and use.is_near),
        key=lambda use: -max(use.share or 0.0, use.throttled or 0.0),
    )
    ruled_out += [
        {"what": f"{use.resource} of {use.host}", "why": f"{use}, but nothing waited for it ({'; '.join(map(str, use.denied_by))})"}
        for use in near if use.denied_by
    ]  # fmt: skip
    near = [use for use in near if not use.denied_by]
    machine = next((use for use in near if use.host == MACHINE), None)
    if machine is not None:
        detail = f"the cores of {MACHINE} were {machine}: hosts do not get what they are given, and the limit is this machine's"
        return BoundBy("resource", detail, None, "cpu", evidence=evidence, ruled_out=ruled_out)
    if len(near) == 1:
        use = near[0]
        detail = f"{use.resource} of {use.host} was {use}; not yet proven by a squeeze"
        return BoundBy("resource", detail, use.host, use.resource, evidence=evidence, ruled_out=ruled_out)
    if near:
        names = " and ".join(f"{use.resource} of {use.host} ({use})" for use in near)
        return BoundBy(
            "undecided", f"{names} were {'both' if len(near) == 2 else 'all'} near their ceilings", evidence=evidence, ruled_out=ruled_out
        )
    if full:
        detail = f"{'; '.join(map(str, full))}, while no resource came near its ceiling"
        return BoundBy("system", detail, full[0].host or None, evidence=evidence, ruled_out=ruled_out)
    how = "it was pressed without schedule" if stopped_by == "closed-loop" else f"the search stopped on {stopped_by}"
    detail = f"no resource came near its ceiling, and no internal limit of which there is a gauge; {how}"
    return BoundBy("unknown", detail, evidence=evidence, ruled_out=ruled_out)
