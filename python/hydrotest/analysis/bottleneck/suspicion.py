"""The resource suspected to set a limit, by its use relative to its ceiling and by the generator's checks. It
is named only on strong evidence, and never confirmed: only a squeeze can do that (`proof`)."""

from __future__ import annotations

from collections.abc import Sequence

from hydrotest.analysis.bottleneck.evidence import lines
from hydrotest.analysis.bottleneck.gauges import Gauged
from hydrotest.analysis.bottleneck.use import NEAR_CEILING, THROTTLED_MIN, Use
from hydrotest.verdicts.binding import BoundBy, Cleared, Kind, Near, Nearest, RuledOut, Suspect
from hydrotest.verdicts.causes import FullInside, MachineFull, NearCeiling, NoRoom, NothingNear, NotSampled
from hydrotest.verdicts.figures import EMULATING_MACHINE
from hydrotest.verdicts.trial import Lack

NEAREST_MIN = 0.5
"""Share of what makes a suspect; anything below is shown only if nothing else came near."""
NEAREST_MAX = 3


def bound_by(
    uses: Sequence[Use], lacks: Sequence[Lack], stopped_by: str, internals: Sequence[Gauged] = (), *, has_generator: bool = True
) -> BoundBy:
    """Names what sets a limit. `uses` are those at the limit (or just above it), `internals` the systems' own
    limits then, `lacks` what the generator was short of. None about the generator if there is none."""
    evidence = lines(uses, internals)
    ruled_out = [_out(use, Cleared.LITTLE_USED) for use in uses if use.is_far]
    if lacks:
        return BoundBy(Kind.GENERATOR, (NoRoom(tuple(lacks)),), evidence=evidence, ruled_out=tuple(ruled_out))
    if has_generator:
        ruled_out.append(RuledOut(Suspect.GENERATOR, Cleared.HAD_ROOM))
    if not uses:
        return BoundBy(Kind.UNKNOWN, (NotSampled(),), evidence=evidence, ruled_out=tuple(ruled_out))
    full = [internal for internal in internals if internal.is_full]
    if internals and not full:
        ruled_out.append(RuledOut(Suspect.INSIDE, Cleared.NO_GAUGE_FULL, gauges=len(internals)))
    # Occupied memory binds nothing by itself; it is evidence, not a suspect.
    near = sorted((use for use in uses if use.resource != "memory" and use.is_near), key=lambda use: -use.fullness)
    denied = [use for use in near if use.denied_by]
    ruled_out += [_out(use, Cleared.NOT_WAITED_FOR) for use in denied]
    near = [use for use in near if not use.denied_by]

    def verdict(kind: Kind, cause: MachineFull | NearCeiling | FullInside | NothingNear, host: str | None = None, resource: str | None = None,
                nearest: Sequence[Nearest] = ()) -> BoundBy:  # fmt: skip
        return BoundBy(kind, (cause,), host, resource, evidence=evidence, ruled_out=tuple(ruled_out), nearest=tuple(nearest))

    machine = next((use for use in near if use.host == EMULATING_MACHINE), None)
    if machine is not None:
        return verdict(Kind.RESOURCE, MachineFull(machine.usage), None, "cpu")
    if len(near) == 1:
        return verdict(Kind.RESOURCE, NearCeiling((near[0].usage,)), near[0].host, near[0].resource)
    if near:
        return verdict(Kind.UNDECIDED, NearCeiling(tuple(use.usage for use in near)))
    if full:
        cause = FullInside(tuple(internal.evidence() for internal in full), is_waited_for=bool(denied))
        return verdict(Kind.SYSTEM, cause, full[0].host or None)
    nothing = NothingNear(stopped_by, has_gauges=bool(internals), is_waited_for=bool(denied))
    return verdict(Kind.UNKNOWN, nothing, nearest=_nearest(uses, internals))


def _nearest(uses: Sequence[Use], internals: Sequence[Gauged]) -> Sequence[Nearest]:
    """What came nearest to being a suspect."""
    found: list[Nearest] = []
    for use in uses:
        if use.resource != "memory" and not (use.is_near and use.denied_by):
            throttled, share = use.throttled or 0.0, use.share or 0.0
            is_held_back = throttled / THROTTLED_MIN > share / NEAR_CEILING
            by, value, threshold = (Near.THROTTLED, throttled, THROTTLED_MIN) if is_held_back else (Near.USE, share, NEAR_CEILING)
            found.append(Nearest(by, use.host, use.resource, value, threshold, use.nearness, ruled_out=use.is_far))
    found += [
        Nearest(Near.INSIDE, internal.host, None, internal.value, internal.limit.threshold, internal.nearness, ruled_out=False, limit=internal.limit.what)
        for internal in internals
    ]  # fmt: skip
    ranked = sorted((one for one in found if one.nearness >= NEAREST_MIN), key=lambda one: -one.nearness)
    # What its low use rules out appears only if nothing else does.
    return [one for one in ranked if not one.ruled_out][:NEAREST_MAX] or ranked[:1]


def _out(use: Use, because: Cleared) -> RuledOut:
    return RuledOut(Suspect.RESOURCE, because, (use.host,), use.resource, use.usage)
