"""Which resource sets a limit: first version, by ceilings and the generator's checks. It names a
suspect only where the evidence is strong, and never confirms: only a squeeze can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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

    @property
    def share(self) -> float | None:
        """Of the ceiling; None where there is none."""
        return self.used / self.ceiling if self.ceiling else None

    @property
    def is_near(self) -> bool:
        """True if it may be what binds."""
        return (self.share is not None and self.share >= NEAR_CEILING) or (self.throttled or 0.0) >= THROTTLED_MIN

    @property
    def is_far(self) -> bool:
        """True if it can be ruled out."""
        return self.share is not None and self.share < FAR_FROM_CEILING and not self.is_near

    def __str__(self) -> str:
        held_back = f" and held back in {self.throttled:.0%} of its periods" if (self.throttled or 0.0) >= THROTTLED_MIN else ""
        return f"at {self.share or 0.0:.0%} of its ceiling{held_back}"


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

    memory = rates["memory_bytes"].max()
    throttled = rates["cpu_throttled"].mean() if "cpu_throttled" in rates.columns else None
    return [
        Use(
            "cpu",
            host,
            mean("cpu_cores"),
            ceilings.get("cpu_cores"),
            "cores",
            float(throttled) if isinstance(throttled, int | float) else None,
        ),
        _disk_use(host, mean("disk_write_bytes_per_s"), mean("disk_read_bytes_per_s"), ceilings),
        # A link carries as much in each direction: the busier one binds.
        Use(
            "network",
            host,
            max(mean("network_out_bytes_per_s"), mean("network_in_bytes_per_s")),
            ceilings.get("network_bytes_per_s"),
            "bytes/s in the busier direction",
        ),
        Use("memory", host, float(memory) if isinstance(memory, (int, float)) else 0.0, ceilings.get("memory_bytes"), "bytes"),
    ]


def _disk_use(host: str, written: float, read: float, ceilings: Mapping[str, float]) -> Use:
    """A disk has a ceiling in each direction: the one that is nearer to its own binds."""
    writes = Use("disk", host, written, ceilings.get("disk_write_bytes_per_s"), "bytes/s written")
    reads = Use("disk", host, read, ceilings.get("disk_read_bytes_per_s"), "bytes/s read")
    return reads if (reads.share or 0.0) > (writes.share or 0.0) else writes


def bound_by(
    uses: list[Use], generator_reasons: list[str], stopped_by: str, internals: Sequence[Gauged] = (), *, has_generator: bool = True
) -> BoundBy:
    """Names what sets a limit. `uses` are those at the limit (or just above it), `internals` the systems' own limits then. Without a generator nothing is said of it."""
    evidence = [
        {"what": f"{use.resource} of {use.host}, share of its ceiling that was used", "host": use.host,
         "value": use.share, "unit": None, "used": use.used, "ceiling": use.ceiling, "used_unit": use.unit}
        for use in uses
    ] + [
        {"what": f"share of its periods in which {use.host} was held back by its CPU quota", "host": use.host, "value": use.throttled, "unit": None}
        for use in uses
        if use.throttled is not None
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
