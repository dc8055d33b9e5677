"""What sets a limit, and why it is that, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hydrotest.analysis.bottleneck.squeeze import RATE_MIN
from hydrotest.report.wording.figures import (
    MACHINE,
    of_host,
    of_hosts,
    show_change,
    show_elasticities,
    show_gain,
    show_mean,
    show_sign,
    show_use,
)
from hydrotest.report.wording.trial import lacks_words
from hydrotest.units import show_duration, show_figure
from hydrotest.verdicts import binding as b
from hydrotest.verdicts import causes
from hydrotest.verdicts.evidence import InsideLine, Line, ServiceLine, SignLine, ThrottledLine, UseLine
from hydrotest.verdicts.figures import Mean, Squeezed, Usage

COUNTED = {
    "cpu_cores": "cores that services used there",
    "disk_write_bytes_per_s": "bytes that services wrote there",
    "payload_bytes_per_s": "payload that workloads moved, there and elsewhere",
}
"""Of what the shares of services are."""


READERS = {"exporter": "node_exporter", "prometheus": "Prometheus"}
"""Who reads the counters of hosts, where that is not hydrotest."""


def worded(bound: b.BoundBy) -> b.BoundBy:
    """The verdict with its texts."""
    there = explained(bound.because)
    return replace(
        bound,
        detail=there if bound.together is None else f"{_company(bound.together)}: {there}",
        there="" if bound.together is None else there,
        caveats=tuple(map(against_words, bound.against)),
        evidence=tuple(replace(line, what=evidence_words(line)) for line in bound.evidence),
        ruled_out=tuple(replace(out, what=ruled_out_words(out), why=why_ruled_out(out)) for out in bound.ruled_out),
        nearest=tuple(
            replace(one, what=one.limit or one.by, provable_by=None if one.proof is None else proof_words(one.proof))
            for one in bound.nearest
        ),
        squeezed=tuple(
            replace(row, host=" and ".join(row.hosts), freely=tuple(replace(line, what=evidence_words(line)) for line in row.freely))
            for row in bound.squeezed
        ),
    )


def explained(because: Sequence[causes.Cause]) -> str:
    """Causes in a row, as one explanation."""
    out = ""
    for at, cause in enumerate(because):
        before = because[at - 1] if at else None
        joint = "" if before is None else _joint(before, cause)
        out += joint + cause_words(cause)
    return out


def _joint(before: causes.Cause, cause: causes.Cause) -> str:
    """What stands between two causes of one explanation."""
    match before, cause:
        case causes.Unthrottled(is_named=True), _:
            return " "
        case causes.Unthrottled(), _:
            return ", "
        case causes.Binds(), causes.Doubt():
            return ", but "
        case causes.NothingMoves(), causes.MachineFull():
            return ", and "
        case (causes.NothingMoves(), _) | (causes.ObjectiveMissed(), causes.RoomLeft()):
            return ": "
    return "; "


def cause_words(cause: causes.Cause) -> str:
    """One cause."""
    match cause:
        case causes.NoRoom(lacks):
            return f"it had no headroom: {lacks_words(lacks)}"
        case causes.NotSampled(hosts):
            return "the hosts were not sampled at the limit" if not hosts else f"nothing was seen of {_and(hosts)} at the limit"
        case causes.Unseen(systems, shown):
            own = f" ({shown} gauges that it shows of itself were not full)" if shown else ""
            return f"the generator had room: it is {_and(systems)}{own}; what binds inside was not seen, since its hosts are not in the experiment"
        case causes.HostsUnseen(systems):
            return f"what the hosts of {_and(systems)} used was not seen, since they are not in the experiment"
        case causes.Seen(hosts, by, every_s, no_ceiling):
            unknown = f", and how much {_and(no_ceiling)} can give is not known" if no_ceiling else ""
            return f"{_and(hosts)}: seen by {READERS.get(by, 'hydrotest')} every {every_s:g} s; nothing was tried there{unknown}"
        case causes.Sparse(hosts, every_s, window_s, needed_s):
            return f"{_and(hosts)}: read every {every_s:g} s only, so that use is known in windows of {needed_s:g} s; these have {window_s:g} s"
        case causes.NothingCompleted():
            return "nothing was completed without a rate limit"
        case causes.MachineFull(usage):
            return f"the cores of {MACHINE} were {show_use(usage)}: hosts do not get what they are given, and the limit is this machine's"
        case causes.NearCeiling((usage,)):
            return f"{of_host(usage)} was {show_use(usage)}"
        case causes.NearCeiling(usages):
            names = " and ".join(f"{of_host(usage)} ({show_use(usage)})" for usage in usages)
            return f"{names} were {'both' if len(usages) == 2 else 'all'} near their ceilings"
        case causes.FullInside(limits, is_waited_for):
            return f"{inside_words(limits)}, while {_idle(is_waited_for)} came near its ceiling"
        case causes.NothingNear(stopped_by, has_gauges, is_waited_for):
            how = "it had no rate limit" if stopped_by == "closed-loop" else f"the search stopped on {stopped_by}"
            gauges = ", and no internal limit of which there is a gauge" if has_gauges else ""
            return f"{_idle(is_waited_for)} came near its ceiling{gauges}; {how}"
        case causes.Provable():
            return f"{proof_words(cause)} could prove it"
        case causes.Together():
            return _company(cause)
        case causes.InFlight(doubled, unmoved, squeezed):
            return f"{_doubled(doubled)}, {_unmoved(unmoved, squeezed)}: the limit is what they have in flight"
        case causes.Doubled(change):
            return _doubled(change)
        case causes.NotSqueezed():
            return f"not squeezed: {not_squeezed_words(cause)}"
        case causes.NotTried(usages, unmoved, squeezed):
            if unmoved is None:
                return f"near their ceilings, and not squeezed: {_names(usages)}; what was: {show_elasticities(squeezed)}"
            return f"{_unmoved(unmoved, squeezed)}; not squeezed, and used enough to bind it: {_names(usages)}"
        case causes.Collapsed(squeezed):
            what = " and ".join(of_hosts(one.hosts, one.resource) for one in squeezed)
            turn = f"in a turn with part of the {what} taken away less than {RATE_MIN:.1%} of the rate went through"
            return f"{turn}: it collapses, which shows nothing of what binds it before"
        case causes.NotSeparated(squeezed, ended):
            why = "within their budget" if ended is None else f"before they ended: {not_squeezed_words(ended)}"
            return f"the squeezes do not separate what binds {why}: {show_elasticities(squeezed)}"
        case causes.Unthrottled(is_named):
            return "without a rate limit" + (", what binds is the" if is_named else "")
        case causes.HadRoom(stopped_by):
            return f"by schedule they had room, and the search stopped on {stopped_by}, so this one is not set by that"
        case causes.LowerBound():
            return "it had no headroom at the limit, which is a lower bound"
        case causes.RoomLeft(_, shares, stopped_by):
            rooms = ", ".join(
                f"what was used of that of {host} is not known" if share is None else f"only {share:.0%} of that of {host} was used"
                for host, share in shares
            )
            return f"at the limit {rooms}; the search stopped on {stopped_by}"
        case causes.ObjectiveMissed(share):
            return f"it misses its objective while no resource is used to {share:.0%}"
        case causes.Binds(squeezed):
            return " and ".join(f"{of_hosts(one.hosts, one.resource)} (elasticity {show_mean(one.elasticity)})" for one in squeezed)
        case causes.Relieved(gain, after, at):
            then = "" if after is None else f", and next is the {of_host(after)}, at about {at:.2g} × the rate ({show_use(after)} then)"
            return f"{show_gain(gain)}{then}"
        case causes.NothingMoves(unmoved, squeezed, doubled):
            # Each of many would be too long a list.
            what = "squeezing none of the resources that it uses moved its rate" if squeezed else _unmoved(unmoved, squeezed)
            return what if doubled is None else f"{what}, and {_doubled(doubled)}"
        case causes.AlsoFull(limits, is_cause):
            return inside_words(limits) if is_cause else f"full inside: {inside_words(limits)}"
        case causes.NoGauge(may_be_in_flight):
            return "a limit inside the system of which there is no gauge" + (", or what its generators ask for" if may_be_in_flight else "")
        case causes.Doubt():
            return doubt_words(cause)
        case causes.Against():
            return against_words(cause)


def _and(names: Sequence[str]) -> str:
    return " and ".join(names)


def doubt_words(doubt: causes.Doubt) -> str:
    """Why what the squeezes name may bind only while it is squeezed."""
    usage = doubt.usages[0] if doubt.usages else None
    match doubt.reason, usage:
        case causes.Doubted.USE_UNKNOWN, Usage():
            return f"what is used of the {of_host(usage)} while nothing is taken is not known"
        case causes.Doubted.ROOM, Usage():
            return (
                f"while nothing is taken the {of_host(usage)} is {show_use(usage)}, and using up that room may be all that the squeeze does"
            )
        case causes.Doubted.IDLE_MEMBER, Usage():
            return f"while nothing is taken the {of_host(usage)} is {show_use(usage)}: it may bind without that one"
        case causes.Doubted.NOT_SEPARATED, Usage():
            return f"which of these hosts it is was not separated: while nothing is taken the {of_host(usage)} is {show_use(usage)}"
        case causes.Doubted.RELIEF, _:
            return f"{'' if doubt.gain is None else show_gain(doubt.gain)} only: it has room until it is squeezed"
    tried = "how much more of it would give was not tried" if doubt.gain is None else show_gain(doubt.gain)
    uses = "; ".join(f"the {of_host(one)} is {show_use(one)}" for one in doubt.usages)
    return f"while nothing is taken {uses}, and {tried}"


def against_words(against: causes.Against) -> str:
    """What stands beside a proof, or against it."""
    match against.reason, against.usage:
        case causes.Caveat.NEAR_TOO, Usage() as usage:
            return f"the {of_host(usage)} was near its ceiling, too, and was not squeezed"
        case causes.Caveat.MACHINE_FULL, Usage() as usage:
            return f"the cores of {MACHINE} were {show_use(usage)}: they may not have got what they are given"
    return "the generator, which had no headroom, was not squeezed"


def not_squeezed_words(why: causes.NotSqueezed) -> str:
    """Why nothing was squeezed, or no further."""
    match why.reason:
        case causes.Unsqueezed.NO_SHARE:
            return "nothing is taken away from machines of their own; emulated hosts (`connect: netns`) can show what binds"
        case causes.Unsqueezed.NOTHING_TO_TAKE:
            return "nothing of which part can be taken away was used enough to bind it"
        case causes.Unsqueezed.TOO_SHORT:
            short = f"{show_duration(why.seconds or 0.0)} are too short for {why.count} resources that may bind it"
            return f"{short}; give at least {show_duration(why.needed or 0.0)}"
        case causes.Unsqueezed.TEST_FAILS:
            return f"{why.detail} does not always come to its end"
        case causes.Unsqueezed.REFUSED:
            return str(why.detail)


def proof_words(proof: causes.Provable) -> str:
    """What to write so that a squeeze shows whether it binds."""
    return "`squeeze: 3 min` in its test" + ("" if proof.allow_at is None else f", and `squeeze: allow` at {proof.allow_at},")


def evidence_words(line: Line) -> str:
    """What a line of the evidence is of."""
    match line:
        case UseLine():
            return f"{line.resource} of {line.host}, share of its ceiling that was used"
        case ThrottledLine():
            return f"share of its periods in which {line.host} was held back by its CPU quota"
        case SignLine():
            return f"{show_sign(line.sign, line.value, line.unit).partition(':')[0]}, {line.resource} of {line.host}"
        case InsideLine():
            return f"{line.limit}, {line.service}"
        case ServiceLine():
            return f"share of the {COUNTED[line.of]}: {line.service}"


def inside_words(limits: Sequence[InsideLine]) -> str:
    """Limits inside the systems."""
    return "; ".join(
        f"{one.limit}, {one.service}: {show_figure(one.value, one.unit)} (full {one.when} {show_figure(one.threshold, one.unit)}; bounded by `{one.setting}`)"
        for one in limits
    )


def ruled_out_words(out: b.RuledOut) -> str:
    """What is ruled out."""
    match out.of:
        case b.Suspect.GENERATOR:
            return "the generator"
        case b.Suspect.INSIDE:
            return "limits inside the systems, as far as gauges show them"
        case b.Suspect.RESOURCE:
            return of_hosts(out.hosts, str(out.resource))


def why_ruled_out(out: b.RuledOut) -> str:
    """Why it is."""
    match out.because, out.usage, out.elasticity:
        case b.Cleared.LITTLE_USED, Usage() as usage, _:
            return f"only {usage.share:.0%} of its ceiling was used"
        case b.Cleared.NOT_WAITED_FOR, Usage() as usage, _:
            quiet = "; ".join(show_sign(wait.sign, wait.value, wait.unit) for wait in usage.waits)
            return f"{show_use(usage)}, but nothing waited for it ({quiet})"
        case b.Cleared.NO_GAUGE_FULL, _, _:
            return f"none of {out.gauges} gauges of them shows one that is used up"
        case b.Cleared.SQUEEZED, _, Mean() as mean:
            return f"elasticity {show_mean(mean)}"
    return "every check of its room held"


def _idle(is_waited_for: bool) -> str:
    return "no resource that something waited for" if is_waited_for else "no resource"


def _company(together: causes.Together) -> str:
    missed = f", of which {', '.join(together.first)} missed first" if together.first else ""
    return f"together with {', '.join(together.others)}{missed}"


def _doubled(change: Mean) -> str:
    return f"twice the generators with twice as many in flight changed its rate by {show_change(change)}"


def _unmoved(unmoved: causes.Unmoved, squeezed: Sequence[Squeezed]) -> str:
    match unmoved:
        case causes.Unmoved.SQUEEZED:
            return f"squeezing {' and '.join(of_hosts(one.hosts, one.resource) for one in squeezed)} did not move its rate"
        case causes.Unmoved.UNUSED:
            return "while no resource is used enough to bind it"
        case causes.Unmoved.UNSQUEEZABLE:
            return "while nothing of what is used could be squeezed"


def _names(usages: Sequence[Usage]) -> str:
    return ", ".join(map(of_host, usages))
