"""Which resource sets a limit: first version, by ceilings and the generator's checks. It names a
suspect only where the evidence is strong, and never confirms: only a squeeze can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hydrotest.analysis.evidence import lines, used
from hydrotest.analysis.internal import Gauged
from hydrotest.analysis.resource_use import MACHINE, NEAR_CEILING, Use


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


def machine_words(evidence: Sequence[Mapping[str, Any]]) -> str:
    """Said beside what is proven where the machine that hosts are emulated on was full itself; else nothing."""
    full = [entry["value"] for entry in used(evidence, "cpu", [MACHINE]) if entry["value"] >= NEAR_CEILING]
    return f"{full[0]:.0%} of the cores of {MACHINE} were used: they may not have got what they are given" if full else ""


def bound_by(
    uses: list[Use], generator_reasons: list[str], stopped_by: str, internals: Sequence[Gauged] = (), *, has_generator: bool = True
) -> BoundBy:
    """Names what sets a limit. `uses` are those at the limit (or just above it), `internals` the systems' own limits then. Without a generator nothing is said of it."""
    evidence = lines(uses, internals)
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
