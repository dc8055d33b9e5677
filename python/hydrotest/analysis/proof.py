"""The verdict that squeezes make of a suspicion. The rules, and why they are so: docs/verdict.md."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, replace
from typing import Any

from hydrotest.analysis.bound_by import GENERATOR, BoundBy, machine_binds
from hydrotest.analysis.evidence import Line, inside, inside_words, lines, throttled, used, uses
from hydrotest.analysis.resource_use import FAR_FROM_CEILING, MACHINE, THROTTLED_MIN, Use
from hydrotest.analysis.squeeze import BINDS, LEFT, RATE_MIN, Candidate, headroom, may_bind
from hydrotest.analysis.squeezed import Relief, Squeezed


def proven(bound: BoundBy, found: Squeezed, generators: Collection[str], stopped_by: str | None = None) -> BoundBy:
    """A suspicion as the squeezes leave it. `generators`: hosts that nothing but generators run on: what binds there binds the generator. `stopped_by`: what ended the
    search of a limit, which may lie below the rate without schedule that is squeezed; None where that rate is the limit."""
    verdict = _pressed(bound, found, generators)
    return verdict if stopped_by is None else _at_the_limit(verdict, bound, stopped_by)


def _pressed(bound: BoundBy, found: Squeezed, generators: Collection[str]) -> BoundBy:
    """What the squeezes say of the rate without schedule."""
    if found.doubled is not None and found.doubled.gives:
        ruled_out = [entry for entry in _ruled_out(bound, found) if entry["what"] != GENERATOR]
        bound = replace(bound, squeezed=_rows(found), ruled_out=ruled_out)
        return _unbinding(bound, "generator", f"{found.doubled}, {_none(found)}: the limit is what they have in flight")
    if not found.elasticities and not found.decision.is_none:
        # What was used could not be squeezed, or not in the time that there was.
        told = [f"not squeezed: {found.why_not}"] if found.why_not is not None else []
        told += [str(found.doubled)] if found.doubled is not None else []
        return replace(bound, detail="; ".join([bound.detail, *told])) if told else bound
    bound = replace(
        bound, squeezed=_rows(found), ruled_out=_ruled_out(bound, found), evidence=[*bound.evidence, *_full_freely(bound, found)]
    )
    if found.decision.binds:
        return _named(bound, found, generators)
    near = _untried(found, lambda use: use.is_near)
    if bound.kind == "generator" or any((use.host, use.resource) == (bound.host, bound.resource) for use in near):
        # What was suspected was not tried: that other things do not bind makes it no less likely.
        return bound
    if near:
        return _undecided(bound, f"near their ceilings, and not squeezed: {_names(near)}; what was: {_elasticities(found)}")
    if found.decision.is_none:
        return _nothing_binds(bound, found)
    if found.decision.stood_still:
        what = " and ".join(map(str, found.decision.stood_still))
        turn = f"in a turn with part of the {what} taken away less than {RATE_MIN:.1%} of the rate went through"
        return _undecided(bound, f"{turn}: it collapses, which tells nothing of what binds it before")
    why = "within their budget" if found.why_not is None else f"before they ended: {found.why_not}"
    return _undecided(bound, f"the squeezes did not tell apart what binds {why}: {_elasticities(found)}")


def _at_the_limit(bound: BoundBy, suspicion: BoundBy, stopped_by: str) -> BoundBy:
    """What squeezes of the rate without schedule prove of a limit below it, that a search found and `stopped_by` ended. `bound`: their verdict, with the evidence at the
    limit. Where so little was used there of what binds without schedule, on any of its hosts, that it would be ruled out, it is not proven to set the limit; nor is what
    generators without schedule have in flight, where those by schedule had room."""
    if not bound.binds:
        if bound.basis == "use":
            return bound
        if bound.kind == "generator" and suspicion.kind != "generator":
            there = f"by schedule they had room, and the search stopped on {stopped_by}"
            return _undecided(bound, f"{WITHOUT_SCHEDULE}, {bound.detail}; {there}, so this one is not set by that")
        return replace(_without_freely(bound), detail=f"{WITHOUT_SCHEDULE}, {bound.detail}")
    without = f"{WITHOUT_SCHEDULE}, what binds is the {bound.detail}"
    if stopped_by == "generator" and bound.kind != "generator":
        return _unbinding(_without_freely(bound), "generator", f"it had no room at the limit, which is a lower bound; {without}")
    rooms = []
    for host in bound.binds:
        share = next((line["value"] for line in used(bound.evidence, bound.resource, [host])), None)
        is_held_back = bound.resource == "cpu" and throttled(bound.evidence, host) >= THROTTLED_MIN
        if share is None:
            rooms.append(f"what was used of that of {host} is not known")
        elif share < FAR_FROM_CEILING and not is_held_back:
            rooms.append(f"only {share:.0%} of that of {host} was used")
    if not rooms:
        return bound
    bound = _without_freely(bound)
    at_limit = f"at the limit {', '.join(rooms)}; the search stopped on {stopped_by}"
    everything = [line for line in uses(bound.evidence) if line["resource"] != "memory"]
    if stopped_by == "latency" and everything and all(_has_room(bound, line) for line in everything):
        missed = f"it misses its objective while no resource is used to {FAR_FROM_CEILING:.0%}: {at_limit}"
        return _unbinding(bound, "system", f"{missed}; {without}")
    return _undecided(bound, f"{without}; {at_limit}")


WITHOUT_SCHEDULE = "pressed without schedule"
"""Said of what squeezes tell, where the limit is below that."""


def _without_freely(bound: BoundBy) -> BoundBy:
    """Its evidence at the limit alone: what was full inside only while all was pressed out of the system set no limit below that."""
    return replace(bound, evidence=[line for line in bound.evidence if not line.get("freely")])


def _has_room(bound: BoundBy, line: Line) -> bool:
    """True if so little was used of a resource at the limit that it is ruled out; of cores without a quota that held their host back."""
    is_held_back = line["resource"] == "cpu" and throttled(bound.evidence, line["host"]) >= THROTTLED_MIN
    return line["value"] is not None and line["value"] < FAR_FROM_CEILING and not is_held_back


def _named(bound: BoundBy, found: Squeezed, generators: Collection[str]) -> BoundBy:
    """What the squeezes named, confirmed if nothing else can explain what they showed."""
    binds, more = found.decision.binds, found.relief
    words = " and ".join(f"{one} (elasticity {found.elasticities[one]})" for one in binds)
    if (doubt := _doubt(found)) is not None:
        return _undecided(bound, f"squeezing names the {words}, but {doubt}")
    top = max(binds, key=lambda one: found.elasticities[one].value)
    hosts = [host for one in binds for host in one.hosts]
    near, machine = _untried(found, lambda use: use.is_near), _full_machine(found)
    is_passed_over = bound.kind == "generator" and not _tried_generator(found, generators)
    # A part of what is lost with what binds may be another's.
    caveats = [f"the {use.resource} of {use.host} was near its ceiling, too, and was not squeezed" for use in near]
    caveats += ["the generator, which had no room, was not squeezed"] if is_passed_over else []
    caveats += [] if machine is None else [f"the cores of {MACHINE} were {machine}: they may not have got what they are given"]
    is_generator = all(host in generators for host in hosts)
    return replace(
        bound, basis="squeeze", nearest=[], kind="generator" if is_generator else "resource", host=hosts[0] if len(hosts) == 1 else None, resource=top.resource,
        detail="; ".join([words, *_relief_words(more), *caveats]),
        # Hosts that do not get the cores that they are given are not bound by those.
        confirmed=not near and not is_passed_over and (machine is None or top.resource != "cpu"),
        binds=hosts, elasticity=asdict(found.elasticities[top]), next=None if more is None else _next(more, generators), caveats=caveats,
        ruled_out=[entry for entry in bound.ruled_out if entry["what"] != GENERATOR or not is_generator],
    )  # fmt: skip


def _nothing_binds(bound: BoundBy, found: Squeezed) -> BoundBy:
    """No squeeze moved the rate: a limit of another kind, if nothing else can be it."""
    none = _none(found)
    if (machine := _full_machine(found)) is not None:
        detail = f"{none}, and {machine_binds(machine)}"
        return replace(bound, basis="squeeze", nearest=[], kind="resource", host=None, resource="cpu", detail=detail)
    if others := _untried(found, may_bind):
        return _undecided(bound, f"{none}; not squeezed, and used enough to bind it: {_names(others)}")
    full = inside(bound.evidence)
    tried = f", and {found.doubled}" if found.doubled is not None else ""
    cause = (
        bound.detail if bound.kind == "system"
        else inside_words(full) if full
        else "a limit inside the system of which there is no gauge" if found.doubled is not None and found.doubled.is_idle
        else "a limit inside the system of which there is no gauge, or what its generators ask for"
    )  # fmt: skip
    host = bound.host if bound.kind == "system" else None
    # Each of many would be too long a list.
    what = "squeezing none of the resources that it uses moved its rate" if found.elasticities else none
    return replace(bound, basis="squeeze", nearest=[], kind="system", host=host, resource=None, detail=f"{what}{tried}: {cause}")


def _none(found: Squeezed) -> str:
    """That no squeeze moved the rate; that nothing was used enough for one, or could be squeezed."""
    if found.elasticities:
        return f"squeezing {' and '.join(map(str, found.elasticities))} did not move its rate"
    return "while no resource is used enough to bind it" if found.decision.is_none else "while nothing of what is used could be squeezed"


def _full_freely(bound: BoundBy, found: Squeezed) -> list[dict[str, Any]]:
    """Limits inside the systems that were full while nothing was taken, and not at the limit."""
    known = {line["what"] for line in inside(bound.evidence)}
    return [line | {"freely": True} for line in found.inside if line["what"] not in known]


def _undecided(bound: BoundBy, detail: str) -> BoundBy:
    full = inside(bound.evidence)
    return _unbinding(bound, "undecided", f"{detail}; full inside: {inside_words(full)}" if full else detail)


def _unbinding(bound: BoundBy, kind: str, detail: str) -> BoundBy:
    """A verdict that names no resource."""
    return replace(
        bound,
        basis="squeeze",
        kind=kind,
        host=None,
        resource=None,
        detail=detail,
        confirmed=False,
        binds=[],
        elasticity=None,
        next=None,
        caveats=[],
    )


def _doubt(found: Squeezed) -> str | None:
    """Why what the squeezes named may bind only while it is squeezed; None where it surely binds before. It does if it is full then, or if more of it gives more."""
    relief = found.relief
    uses = {(use.host, use.resource): use for use in found.freely}
    has_some = []
    for one, host in [(bind, host) for bind in found.decision.binds for host in bind.hosts]:
        use = uses.get((host, one.resource))
        if use is None or use.share is None:
            return f"what is used of the {one.resource} of {host} while nothing is taken is not known"
        if not use.is_near and found.elasticities[one].low <= headroom(use.share, LEFT[one.resource]):
            return f"while nothing is taken the {one.resource} of {host} is {use}, and using up that room may be all that the squeeze does"
        if one.is_group and not use.is_near:
            return f"while nothing is taken the {one.resource} of {host} is {use}: it may bind without that one"
        if found.decision.is_unparted and not use.is_full:
            return f"which of these hosts it is was not told apart: while nothing is taken the {one.resource} of {host} is {use}"
        if not use.is_full:
            has_some.append(f"the {one.resource} of {host} is {use}")
    if relief is not None and relief.has_room:
        return f"{relief} only: it has room until it is squeezed"
    if not has_some or (relief is not None and relief.gives):
        return None
    tried = "how much more of it would give was not tried" if relief is None else str(relief)
    return f"while nothing is taken {'; '.join(has_some)}, and {tried}"


def _untried(found: Squeezed, is_suspect: Callable[[Use], bool]) -> list[Use]:
    """Resources that no squeeze has tried and that may bind by what was used of them while nothing was taken."""
    tried = {(host, one.resource) for one in found.elasticities for host in one.hosts}
    return [
        use for use in found.freely
        if is_suspect(use) and (use.host, use.resource) not in tried and use.resource != "memory" and use.host != MACHINE
    ]  # fmt: skip


def _full_machine(found: Squeezed) -> Use | None:
    """The cores of the machine that hosts are emulated on, where those were near their ceiling while nothing was taken."""
    return next((use for use in found.freely if use.host == MACHINE and use.is_near), None)


def _tried_generator(found: Squeezed, generators: Collection[str]) -> bool:
    """True if what a generator without room may be short of was squeezed: its cores, or what was near its ceiling there."""
    near = {(use.host, use.resource) for use in found.freely if use.is_near}
    return any(
        host in generators and (one.resource == "cpu" or (host, one.resource) in near) for one in found.elasticities for host in one.hosts
    )


def _rows(found: Squeezed) -> list[dict[str, Any]]:
    """What was squeezed, each with its elasticity (95 %), what was used of it while nothing was taken, and its `role` (see `_role`)."""
    return [
        {
            "host": " and ".join(one.hosts), "hosts": list(one.hosts), "resource": one.resource, "left": LEFT[one.resource],
            "role": _role(one, found), **asdict(mean),
            "freely": lines([use for use in found.freely if use.host in one.hosts and use.resource == one.resource], []),
        }
        for one, mean in found.elasticities.items()
    ]  # fmt: skip


def _role(one: Candidate, found: Squeezed) -> str:
    """What the squeezes say of one: `binds`; `part` of what binds, a host of a group that does, or a group with hosts that do, of which nothing more is told,
    or, `out alone`, such a host that does not by itself; else `out`; or it `shares` the limit, or it is `unknown`: what a squeeze showed may be no more than its room."""
    if one in found.decision.binds:
        return "binds"
    is_out = found.elasticities[one].high < BINDS
    if any(bind.resource == one.resource and not set(bind.hosts).isdisjoint(one.hosts) for bind in found.decision.binds):
        return "out alone" if is_out and not one.is_group else "part"
    if is_out:
        return "out"
    # A part of what a squeeze of the rest shows may be the room that there is.
    there = [use for use in found.freely if use.host in one.hosts and use.resource == one.resource]
    rooms = [0.0 if use.is_full else headroom(use.share or 0.0, LEFT[one.resource]) for use in there]
    return "shares" if rooms and found.elasticities[one].low > max(rooms) else "unknown"


def _ruled_out(bound: BoundBy, found: Squeezed) -> list[dict[str, Any]]:
    """What the squeezes left of what was ruled out by its use, and what they ruled out themselves."""
    tried = {(host, one.resource) for one in found.elasticities for host in one.hosts}
    by_use = [entry for entry in bound.ruled_out if not any((host, entry["resource"]) in tried for host in entry["hosts"])]
    return by_use + [
        {"what": str(one), "why": f"elasticity {mean}", "hosts": list(one.hosts), "resource": one.resource}
        for one, mean in found.elasticities.items() if _role(one, found) == "out"
    ]  # fmt: skip


def _next(relief: Relief, generators: Collection[str]) -> dict[str, Any]:
    """The contract's `next`, with what the relief was."""
    after = relief.next
    return {
        "kind": "unknown" if after is None else "generator" if after.host in generators else "resource",
        # The contract has null where it is no host of the run: then the machine that they are emulated on.
        "host": after.host if after and after.host != MACHINE else None, "resource": after.resource if after else None, "at": relief.at,
        "given": relief.given, "change_pct": relief.change.value, "low_pct": relief.change.low, "high_pct": relief.change.high,
        "share": after.share if after else None, "is_still": relief.is_still,
    }  # fmt: skip


def _relief_words(relief: Relief | None) -> list[str]:
    if relief is None:
        return []
    after = relief.next
    told = (
        "" if after is None else f", and next is the {after.resource} of {after.host}, at about {relief.at:.2g} × the rate ({after} then)"
    )
    return [f"{relief}{told}"]


def _names(uses: Sequence[Use]) -> str:
    return ", ".join(f"{use.resource} of {use.host}" for use in uses)


def _elasticities(found: Squeezed) -> str:
    return "; ".join(f"{one} {mean}" for one, mean in found.elasticities.items())
