"""Which resource is suspected to set a limit, by its use beside its ceiling and by the generator's checks: named only where the evidence is strong, and never confirmed,
which only a squeeze can (`proof`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hydrotest.analysis.evidence import lines
from hydrotest.analysis.internal import Gauged
from hydrotest.analysis.resource_use import MACHINE, NEAR_CEILING, THROTTLED_MIN, Use

NEAREST_MIN = 0.5
"""Of what makes a suspect: what came less near is not worth a line where nothing else did."""
NEAREST_MAX = 3
GENERATOR = "the generator"
"""Where it is ruled out by its room."""


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
    """`what`, `why`, `hosts` and `resource`; no hosts where it is none of theirs."""
    binds: list[str] = field(default_factory=list)
    """The hosts whose `resource` binds, where that is more than suspected."""
    elasticity: dict[str, Any] | None = None
    """Of it: the greatest of theirs, with its 95 % interval."""
    next: dict[str, Any] | None = None
    """What more of it gave, and what comes next."""
    squeezed: list[dict[str, Any]] = field(default_factory=list)
    """All that was squeezed."""
    basis: Literal["use", "squeeze"] = "use"
    """What it stands on: what was used at the limit, or what squeezes of it showed."""
    nearest: list[dict[str, Any]] = field(default_factory=list)
    """Where nothing is a suspect: what came nearest to being one, the nearest first. `host`, `resource` (or the internal limit's `what`), `value`, its
    `threshold`, how near it came (`nearness`: 1 makes a suspect), what to write to have it proven (`provable_by`), where something can; `ruled_out`: so
    little of it was used that it is none, and nothing else came nearer."""
    caveats: list[str] = field(default_factory=list)
    """What stands beside it, or against its being confirmed."""


def machine_binds(use: Use) -> str:
    """Said of hosts whose machine has no cores left; `use`: of its own."""
    return f"the cores of {MACHINE} were {use}: hosts do not get what they are given, and the limit is this machine's"


def bound_by(
    uses: list[Use], generator_reasons: list[str], stopped_by: str, internals: Sequence[Gauged] = (), *, has_generator: bool = True
) -> BoundBy:
    """Names what sets a limit. `uses` are those at the limit (or just above it), `internals` the systems' own limits then. Without a generator nothing is said of it."""
    evidence = lines(uses, internals)
    ruled_out = [_out(f"{use.resource} of {use.host}", f"only {use.share:.0%} of its ceiling was used", use) for use in uses if use.is_far]
    if generator_reasons:
        detail = "it had no room: " + "; ".join(generator_reasons)
        return BoundBy("generator", detail, evidence=evidence, ruled_out=ruled_out)
    if has_generator:
        ruled_out.append(_out(GENERATOR, "every check of its room held"))
    if not uses:
        return BoundBy("unknown", "the hosts were not sampled at the limit", evidence=evidence, ruled_out=ruled_out)
    full = [internal for internal in internals if internal.is_full]
    if internals and not full:
        why = f"none of {len(internals)} gauges of them shows one that is used up"
        ruled_out.append(_out("limits inside the systems, as far as gauges show them", why))
    # Memory that is occupied binds nothing by itself; it is evidence, not a suspect.
    near = sorted(
        (use for use in uses if use.resource != "memory" and use.is_near),
        key=lambda use: -use.fullness,
    )
    ruled_out += [
        _out(f"{use.resource} of {use.host}", f"{use}, but nothing waited for it ({'; '.join(map(str, use.denied_by))})", use)
        for use in near if use.denied_by
    ]  # fmt: skip
    idle = "no resource that something waited for" if any(use.denied_by for use in near) else "no resource"
    near = [use for use in near if not use.denied_by]
    machine = next((use for use in near if use.host == MACHINE), None)
    if machine is not None:
        return BoundBy("resource", machine_binds(machine), None, "cpu", evidence=evidence, ruled_out=ruled_out)
    if len(near) == 1:
        use = near[0]
        detail = f"{use.resource} of {use.host} was {use}"
        return BoundBy("resource", detail, use.host, use.resource, evidence=evidence, ruled_out=ruled_out)
    if near:
        names = " and ".join(f"{use.resource} of {use.host} ({use})" for use in near)
        return BoundBy(
            "undecided", f"{names} were {'both' if len(near) == 2 else 'all'} near their ceilings", evidence=evidence, ruled_out=ruled_out
        )
    if full:
        detail = f"{'; '.join(map(str, full))}, while {idle} came near its ceiling"
        return BoundBy("system", detail, full[0].host or None, evidence=evidence, ruled_out=ruled_out)
    nearest = _nearest(uses, internals)
    how = "it was pressed without schedule" if stopped_by == "closed-loop" else f"the search stopped on {stopped_by}"
    gauges = ", and no internal limit of which there is a gauge" if internals else ""
    detail = f"{idle} came near its ceiling{gauges}; {how}"
    return BoundBy("unknown", detail, evidence=evidence, ruled_out=ruled_out, nearest=nearest)


def _nearest(uses: Sequence[Use], internals: Sequence[Gauged]) -> list[dict[str, Any]]:
    """What came nearest to being a suspect."""
    found: list[dict[str, Any]] = []
    for use in uses:
        if use.resource != "memory" and not (use.is_near and use.denied_by):
            is_held_back = (use.throttled or 0.0) / THROTTLED_MIN > (use.share or 0.0) / NEAR_CEILING
            value, threshold = (use.throttled, THROTTLED_MIN) if is_held_back else (use.share, NEAR_CEILING)
            found.append({"what": "throttled" if is_held_back else "use", "host": use.host, "resource": use.resource, "value": value,
                          "threshold": threshold, "nearness": use.nearness, "ruled_out": use.is_far})  # fmt: skip
    found += [
        {"what": internal.limit.what, "host": internal.host, "resource": None, "value": internal.value, "threshold": internal.limit.threshold,
         "nearness": internal.nearness, "ruled_out": False} for internal in internals
    ]  # fmt: skip
    ranked = sorted((one | {"provable_by": None} for one in found if one["nearness"] >= NEAREST_MIN), key=lambda one: -one["nearness"])
    # What is ruled out by how little was used stands there only where nothing else does.
    return [one for one in ranked if not one["ruled_out"]][:NEAREST_MAX] or ranked[:1]


def _out(what: str, why: str, use: Use | None = None) -> dict[str, Any]:
    return {"what": what, "why": why, "hosts": [] if use is None else [use.host], "resource": None if use is None else use.resource}
