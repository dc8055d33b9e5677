"""The verdict that squeezes make of a suspicion. For the rules and their reasons see
docs/reference/squeeze.md."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from hydrotest.analysis.bottleneck.evidence import inside, lines, throttled, used, uses
from hydrotest.analysis.bottleneck.outcome import Relief, Squeezed
from hydrotest.analysis.bottleneck.squeeze import BINDS, LEFT, Candidate, headroom, may_bind
from hydrotest.analysis.bottleneck.use import FAR_FROM_CEILING, THROTTLED_MIN, Use
from hydrotest.verdicts import causes, figures
from hydrotest.verdicts.binding import BoundBy, Cleared, Kind, Next, Role, RuledOut, SqueezeRow, Suspect
from hydrotest.verdicts.causes import Against, Cause, Caveat, Doubt, Doubted, Unmoved
from hydrotest.verdicts.evidence import InsideLine, UseLine
from hydrotest.verdicts.figures import EMULATING_MACHINE


def proven(bound: BoundBy, found: Squeezed, generators: Collection[str], stopped_by: str | None = None) -> BoundBy:
    """A suspicion after the squeezes. `generators`: hosts that run only generators; what binds there binds
    the generator. `stopped_by`: what ended the search of a limit. That limit may lie below the unthrottled
    rate that is squeezed; None if that rate is the limit."""
    verdict = _unthrottled(bound, found, generators)
    return verdict if stopped_by is None else _at_the_limit(verdict, bound, stopped_by)


def _unthrottled(bound: BoundBy, found: Squeezed, generators: Collection[str]) -> BoundBy:
    """What the squeezes show of the unthrottled rate."""
    if found.doubled is not None and found.doubled.gives:
        ruled_out = tuple(entry for entry in _ruled_out(bound, found) if entry.of != Suspect.GENERATOR)
        bound = replace(bound, squeezed=_rows(found), ruled_out=ruled_out)
        return _unbinding(bound, Kind.GENERATOR, causes.InFlight(found.doubled.change, _unmoved(found), _tried(found)))
    if not found.elasticities and not found.decision.is_none:
        # The resources in use could not be squeezed, or not in the time available.
        more: list[Cause] = [] if found.why_not is None else [found.why_not]
        more += [] if found.doubled is None else [causes.Doubled(found.doubled.change)]
        return replace(bound, because=(*bound.because, *more))
    bound = replace(
        bound, squeezed=_rows(found), ruled_out=_ruled_out(bound, found), evidence=(*bound.evidence, *_full_unthrottled(bound, found))
    )
    if found.decision.binds:
        return _named(bound, found, generators)
    near = _untried(found, lambda use: use.is_near)
    if bound.kind == Kind.GENERATOR or any((use.host, use.resource) == (bound.host, bound.resource) for use in near):
        # The suspect was not squeezed: that other things do not bind makes it no less likely.
        return bound
    if near:
        return _undecided(bound, causes.NotTried(_usages(near), None, _tried(found)))
    if found.decision.is_none:
        return _nothing_binds(bound, found)
    if found.decision.collapsed:
        collapsed = tuple(one for one in _tried(found) if Candidate(one.hosts, one.resource) in found.decision.collapsed)
        return _undecided(bound, causes.Collapsed(collapsed))
    return _undecided(bound, causes.NotSeparated(_tried(found), found.why_not))


def _at_the_limit(bound: BoundBy, suspicion: BoundBy, stopped_by: str) -> BoundBy:
    """What unthrottled squeezes prove of a lower limit, which a search found and `stopped_by` ended.

    `bound`: their verdict, with the evidence at the limit. What binds without a rate limit may be used so
    little at the limit, on any of its hosts, that it would be ruled out. Then it is not proven to set the
    limit. The same holds for what unthrottled generators have in flight, if those with a rate limit had
    headroom.
    """
    if not bound.binds:
        if bound.basis == "use":
            return bound
        unthrottled = causes.Unthrottled(is_named=False)
        if bound.kind == Kind.GENERATOR and suspicion.kind != Kind.GENERATOR:
            return _undecided(bound, unthrottled, *bound.because, causes.HadRoom(stopped_by))
        return replace(_without_unthrottled(bound), because=(unthrottled, *bound.because))
    without = (causes.Unthrottled(is_named=True), *bound.because)
    if stopped_by == "generator" and bound.kind != Kind.GENERATOR:
        return _unbinding(_without_unthrottled(bound), Kind.GENERATOR, causes.LowerBound(), *without)
    shares = []
    for host in bound.binds:
        share = next((line.value for line in used(bound.evidence, bound.resource, [host])), None)
        is_held_back = bound.resource == "cpu" and throttled(bound.evidence, host) >= THROTTLED_MIN
        if share is None or (share < FAR_FROM_CEILING and not is_held_back):
            shares.append((host, share))
    if not shares:
        return bound
    left = causes.RoomLeft(str(bound.resource), tuple(shares), stopped_by)
    bound = _without_unthrottled(bound)
    everything = [line for line in uses(bound.evidence) if line.resource != "memory"]
    if stopped_by == "latency" and everything and all(_has_room(bound, line) for line in everything):
        return _unbinding(bound, Kind.SYSTEM, causes.ObjectiveMissed(FAR_FROM_CEILING), left, *without)
    return _undecided(bound, *without, left)


def _without_unthrottled(bound: BoundBy) -> BoundBy:
    """The verdict with only its evidence at the limit: what was full inside only under unthrottled load set
    no lower limit."""
    return replace(bound, evidence=tuple(line for line in bound.evidence if not (line.kind == "internal" and line.unthrottled)))


def _has_room(bound: BoundBy, line: UseLine) -> bool:
    """True if the use of a resource at the limit rules it out; for cores, only without a quota that throttled
    their host."""
    is_held_back = line.resource == "cpu" and throttled(bound.evidence, line.host) >= THROTTLED_MIN
    return line.value is not None and line.value < FAR_FROM_CEILING and not is_held_back


def _named(bound: BoundBy, found: Squeezed, generators: Collection[str]) -> BoundBy:
    """The candidate that the squeezes named, confirmed if nothing else explains the results."""
    binds, more = found.decision.binds, found.relief
    names = causes.Binds(tuple(_shown(one, found) for one in binds))
    if (doubt := _doubt(found)) is not None:
        return _undecided(bound, names, doubt)
    top = max(binds, key=lambda one: found.elasticities[one].value)
    hosts = tuple(host for one in binds for host in one.hosts)
    near, machine = _untried(found, lambda use: use.is_near), _full_machine(found)
    is_passed_over = bound.kind == Kind.GENERATOR and not _tried_generator(found, generators)
    # Part of the loss may come from another resource.
    against = [Against(Caveat.NEAR_TOO, use.usage) for use in near]
    against += [Against(Caveat.GENERATOR_NOT_SQUEEZED)] if is_passed_over else []
    against += [] if machine is None else [Against(Caveat.MACHINE_FULL, machine.usage)]
    is_generator = all(host in generators for host in hosts)
    return replace(
        bound, basis="squeeze", nearest=(), kind=Kind.GENERATOR if is_generator else Kind.RESOURCE, host=hosts[0] if len(hosts) == 1 else None,
        resource=top.resource, because=(names, *_relieved(more), *against),
        # Hosts that do not get the cores assigned to them are not bound by those.
        confirmed=not near and not is_passed_over and (machine is None or top.resource != "cpu"),
        binds=hosts, elasticity=found.elasticities[top], next=None if more is None else _next(more, generators), against=tuple(against),
        ruled_out=tuple(entry for entry in bound.ruled_out if entry.of != Suspect.GENERATOR or not is_generator),
    )  # fmt: skip


def _nothing_binds(bound: BoundBy, found: Squeezed) -> BoundBy:
    """No squeeze moved the rate: the limit is of another kind, if nothing else explains it."""
    moves = causes.NothingMoves(_unmoved(found), _tried(found), None)
    if (machine := _full_machine(found)) is not None:
        because = (moves, causes.MachineFull(machine.usage))
        return replace(bound, basis="squeeze", nearest=(), kind=Kind.RESOURCE, host=None, resource="cpu", because=because)
    if others := _untried(found, may_bind):
        return _undecided(bound, causes.NotTried(_usages(others), _unmoved(found), _tried(found)))
    full = inside(bound.evidence)
    doubled = found.doubled
    further: tuple[Cause, ...] = (
        bound.because if bound.kind == Kind.SYSTEM
        else (causes.AlsoFull(tuple(full), is_cause=True),) if full
        else (causes.NoGauge(may_be_in_flight=doubled is None or not doubled.is_idle),)
    )  # fmt: skip
    host = bound.host if bound.kind == Kind.SYSTEM else None
    moves = replace(moves, doubled=None if doubled is None else doubled.change)
    return replace(bound, basis="squeeze", nearest=(), kind=Kind.SYSTEM, host=host, resource=None, because=(moves, *further))


def _unmoved(found: Squeezed) -> Unmoved:
    """Why no squeeze moves the rate."""
    if found.elasticities:
        return Unmoved.SQUEEZED
    return Unmoved.UNUSED if found.decision.is_none else Unmoved.UNSQUEEZABLE


def _full_unthrottled(bound: BoundBy, found: Squeezed) -> list[InsideLine]:
    """Limits inside the systems that were full in the unchanged blocks, and not at the limit."""
    known = {(line.limit, line.service) for line in inside(bound.evidence)}
    return [replace(line, unthrottled=True) for line in found.inside if (line.limit, line.service) not in known]


def _undecided(bound: BoundBy, *because: Cause) -> BoundBy:
    full = inside(bound.evidence)
    return _unbinding(bound, Kind.UNDECIDED, *because, *([causes.AlsoFull(tuple(full), is_cause=False)] if full else []))


def _unbinding(bound: BoundBy, kind: Kind, *because: Cause) -> BoundBy:
    """A verdict that names no resource."""
    return replace(
        bound,
        basis="squeeze",
        kind=kind,
        host=None,
        resource=None,
        because=because,
        confirmed=False,
        binds=(),
        elasticity=None,
        next=None,
        against=(),
    )


def _doubt(found: Squeezed) -> Doubt | None:
    """Why the named candidate may bind only while it is squeezed; None if it certainly binds before. It does
    if it is full then, or if more of it gives more."""
    relief = found.relief
    uses = {(use.host, use.resource): use for use in found.freely}
    has_some = []
    for one, host in [(bind, host) for bind in found.decision.binds for host in bind.hosts]:
        use = uses.get((host, one.resource))
        if use is None or use.share is None:
            return Doubt(Doubted.USE_UNKNOWN, (figures.Usage(host, one.resource, None, 0.0),))
        if not use.is_near and found.elasticities[one].low <= headroom(use.share, LEFT[one.resource]):
            return Doubt(Doubted.ROOM, (use.usage,))
        if one.is_group and not use.is_near:
            return Doubt(Doubted.IDLE_MEMBER, (use.usage,))
        if found.decision.is_inseparable and not use.is_full:
            return Doubt(Doubted.NOT_SEPARATED, (use.usage,))
        if not use.is_full:
            has_some.append(use)
    if relief is not None and relief.has_room:
        return Doubt(Doubted.RELIEF, gain=relief.gain)
    if not has_some or (relief is not None and relief.gives):
        return None
    return Doubt(Doubted.NOT_FULL, _usages(has_some), None if relief is None else relief.gain)


def _untried(found: Squeezed, is_suspect: Callable[[Use], bool]) -> list[Use]:
    """Resources that no squeeze has tried and that may bind by their use in the unchanged blocks."""
    tried = {(host, one.resource) for one in found.elasticities for host in one.hosts}
    return [
        use for use in found.freely
        if is_suspect(use) and (use.host, use.resource) not in tried and use.resource != "memory" and use.host != EMULATING_MACHINE
    ]  # fmt: skip


def _full_machine(found: Squeezed) -> Use | None:
    """The cores of the machine that hosts are emulated on, if they were near their ceiling in the unchanged
    blocks."""
    return next((use for use in found.freely if use.host == EMULATING_MACHINE and use.is_near), None)


def _tried_generator(found: Squeezed, generators: Collection[str]) -> bool:
    """True if what a generator without headroom may be short of was squeezed: its cores, or what was near its
    ceiling there."""
    near = {(use.host, use.resource) for use in found.freely if use.is_near}
    return any(
        host in generators and (one.resource == "cpu" or (host, one.resource) in near) for one in found.elasticities for host in one.hosts
    )


def _rows(found: Squeezed) -> tuple[SqueezeRow, ...]:
    """The squeezed candidates, each with its elasticity (95 %), its use in the unchanged blocks, and its
    `role` (see `_role`)."""
    return tuple(
        SqueezeRow(
            one.hosts, one.resource, LEFT[one.resource], _role(one, found), mean.value, mean.low, mean.high, mean.n,
            lines([use for use in found.freely if use.host in one.hosts and use.resource == one.resource], []),
        )
        for one, mean in found.elasticities.items()
    )  # fmt: skip


def _role(one: Candidate, found: Squeezed) -> Role:
    """What the squeezes show of a candidate.

    - `binds`: it binds.
    - `part`: part of what binds. It is a host of a group that does, or a group with hosts that do, of which
      nothing more is known.
    - `out alone`: such a host, which does not bind by itself.
    - `out`: it does not bind.
    - `shares`: it shares the limit.
    - `unknown`: the effect of a squeeze may be no more than its headroom.
    """
    if one in found.decision.binds:
        return Role.BINDS
    is_out = found.elasticities[one].high < BINDS
    if any(bind.resource == one.resource and not set(bind.hosts).isdisjoint(one.hosts) for bind in found.decision.binds):
        return Role.OUT_ALONE if is_out and not one.is_group else Role.PART
    if is_out:
        return Role.OUT
    # Part of the effect of squeezing the rest may be the headroom.
    there = [use for use in found.freely if use.host in one.hosts and use.resource == one.resource]
    rooms = [0.0 if use.is_full else headroom(use.share or 0.0, LEFT[one.resource]) for use in there]
    return Role.SHARES if rooms and found.elasticities[one].low > max(rooms) else Role.UNKNOWN


def _ruled_out(bound: BoundBy, found: Squeezed) -> tuple[RuledOut, ...]:
    """The resources ruled out by their use that the squeezes confirm, and those that the squeezes rule
    out."""
    tried = {(host, one.resource) for one in found.elasticities for host in one.hosts}
    by_use = (entry for entry in bound.ruled_out if not any((host, entry.resource) in tried for host in entry.hosts))
    squeezes = (
        RuledOut(Suspect.RESOURCE, Cleared.SQUEEZED, one.hosts, one.resource, elasticity=mean)
        for one, mean in found.elasticities.items()
        if _role(one, found) == Role.OUT
    )
    return (*by_use, *squeezes)


def _next(relief: Relief, generators: Collection[str]) -> Next:
    """The next bottleneck, and the effect of the relief."""
    after = relief.next
    return Next(
        kind=Kind.UNKNOWN if after is None else Kind.GENERATOR if after.host in generators else Kind.RESOURCE,
        # The contract has null if it is not a host of the run: then it is the machine that hosts are emulated
        # on.
        host=after.host if after and after.host != EMULATING_MACHINE else None, resource=after.resource if after else None, at=relief.at,
        given=relief.given, change_pct=relief.change.value, low_pct=relief.change.low, high_pct=relief.change.high,
        share=after.share if after else None, is_still=relief.is_still,
    )  # fmt: skip


def _relieved(relief: Relief | None) -> list[causes.Relieved]:
    if relief is None:
        return []
    return [causes.Relieved(relief.gain, None if relief.next is None else relief.next.usage, relief.at)]


def _usages(uses: Sequence[Use]) -> tuple[figures.Usage, ...]:
    return tuple(use.usage for use in uses)


def _shown(one: Candidate, found: Squeezed) -> figures.Squeezed:
    return figures.Squeezed(one.hosts, one.resource, found.elasticities[one])


def _tried(found: Squeezed) -> tuple[figures.Squeezed, ...]:
    return tuple(_shown(one, found) for one in found.elasticities)
