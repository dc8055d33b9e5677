"""What the squeezes of a run showed, read from its folder, and the verdict that they make of a suspicion."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from hydrotest.analysis.bound_by import BoundBy, machine_words
from hydrotest.analysis.evidence import inside, inside_words, throttled, used
from hydrotest.analysis.fault import readings
from hydrotest.analysis.intervals import Mean, percent
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.resource_use import FAR_FROM_CEILING, MACHINE, THROTTLED_MIN, Use, resource_uses
from hydrotest.analysis.squeeze import (
    BINDS,
    LEFT,
    RATE_MIN,
    SETTLE_S,
    SHARE_MIN,
    Candidate,
    Decision,
    Squeezing,
    candidates,
    changes,
    elasticities,
    headroom,
    rate_in,
    rounds_in,
)
from hydrotest.analysis.usage import trial_host_rates
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import SqueezeTurn, Trial

NEXT_MIN = 0.7
"""Of its ceiling: what comes next after a relief is named from here on."""
RELIEVED_MIN = 2
"""Turns with more of what binds before anything is said of them."""
GIVES_MIN = 10.0
"""Percent: what gives surely less when there is more of it had room before it was squeezed."""


Window = tuple[Trial, float, float]
"""A trial, and from when to when, wall time."""


@dataclass(frozen=True)
class Relief:
    """What more of the binding resource gave. Change of the rate in percent; `next`: what else was nearest to its ceiling then, if it was near; `is_still`: what was
    relieved was as near to its own."""

    given: float
    change: Mean
    next: Use | None
    is_still: bool = False

    @property
    def gives(self) -> bool:
        """True if more of it surely gave more."""
        return self.change.low > 0

    @property
    def has_room(self) -> bool:
        """True if more of it surely gave nothing, and nothing else was near its ceiling, which would tell why."""
        return self.change.high < GIVES_MIN and self.next is None

    @property
    def at(self) -> float | None:
        """The rate at which `next` binds, in times of that before the relief: that with the relief, unless what was relieved binds still; then as far beyond it as
        there is left of `next`, whose use is taken to grow with the rate. None without one."""
        if self.next is None:
            return None
        reached = 1 + self.change.value / 100
        return reached / min(1.0, self.next.share or 1.0) if self.is_still else reached


@dataclass(frozen=True)
class Squeezed:
    """All rounds of one workload's squeeze."""

    elasticities: dict[Candidate, Mean]
    decision: Decision
    relief: Relief | None
    freely: Sequence[Use] = ()
    """What was used in the turns in which nothing was taken."""


def uses_in(run: RunFolder, windows: Sequence[Window], hosts: Sequence[Mapping[str, Any]]) -> list[Use]:
    """Use of each host's resources over some windows (trial, begin, end; wall time). `hosts`: those of environment.json; several that are this machine itself,
    by other addresses, share all of it and are told as the first."""
    uses = []
    here = [host["name"] for host in hosts if host.get("connect") == "local"]
    for host in hosts:
        if host["name"] in here[1:]:
            continue
        frames = [trial_host_rates(run, trial, host["name"], begin, end) for trial, begin, end in windows]
        frames = [frame for frame in frames if not frame.is_empty()]
        if frames:
            uses += resource_uses(host["name"], pl.concat(frames, how="diagonal"), host["ceilings"])
    return uses + _machine_use(uses, hosts)


def _machine_use(uses: Sequence[Use], hosts: Sequence[Mapping[str, Any]]) -> list[Use]:
    """The cores of the machine that hosts are emulated on, used by all of them together: it can be full where none of them is."""
    emulated = {host["name"]: host["machine_cores"] for host in hosts if "machine_cores" in host}
    own = [use.used for use in uses if use.resource == "cpu" and use.host in emulated]
    return [Use("cpu", MACHINE, sum(own), float(next(iter(emulated.values()))), "cores")] if own else []


def window_of(run: RunFolder, trial: Trial, workload: str) -> Window:
    """When a workload was measured in a trial: a batch workload from the beginning of the first test that came to its end to the end of the last."""
    iterations = trial.load(workload).iterations
    if iterations is not None:
        ended = [one for one in iterations if one.finished]
        return trial, min((one.started_wall_s for one in ended), default=0.0), max((one.ended_wall_s for one in ended), default=0.0)
    measured = Measured.read(run, trial, workload)
    return trial, measured.start_s, measured.end_s


def pass_s(trial: Trial, workload: str) -> float:
    """How long a batch workload took for each of its tests once, on average; 0 for one with a rate."""
    ended = [one for one in trial.load(workload).iterations or [] if one.finished]
    return sum(one.seconds for one in ended) / len(ended) * len({one.test for one in ended}) if ended else 0.0


def candidates_of(run: RunFolder, windows: Sequence[Window], hosts: Sequence[Mapping[str, Any]],
                  squeezable: Mapping[str, Sequence[str]], only_near: Collection[str] = ()) -> list[Candidate]:  # fmt: skip
    """What is worth squeezing, by what was used in windows in which the workload did as much as it could. See `candidates`."""
    return candidates(uses_in(run, windows, hosts), squeezable, only_near)


def rate_of(run: RunFolder, trial: Trial, workload: str) -> Callable[[SqueezeTurn], float | None]:
    """The rate of a workload in a turn, completions or iterations a second; None where it is not known."""
    iterations = trial.load(workload).iterations
    if iterations is not None:
        return lambda turn: rounds_in(iterations, turn.start_wall_s, turn.end_wall_s)
    progress = readings(run.seconds(trial, workload), 0.0)
    return lambda turn: rate_in(progress, turn.start_wall_s + SETTLE_S, turn.end_wall_s)


def _changes(run: RunFolder, trial: Trial, workload: str) -> list[tuple[SqueezeTurn, float, float]]:
    return changes(trial.turns, rate_of(run, trial, workload))


def found_in(run: RunFolder, trial: Trial, workload: str) -> list[tuple[Candidate, float]]:
    """The elasticities that one round showed."""
    return elasticities(_changes(run, trial, workload))


def squeezed(
    run: RunFolder, trials: Sequence[Trial], workload: str, peers: Collection[str], hosts: Sequence[Mapping[str, Any]] = ()
) -> Squeezed:
    """All that `trials` (of one test) show. `peers`: hosts that do the same work of what is pressed."""
    own = [t for t in trials if t.purpose == "squeeze" and t.status == "done" and any(load.workload == workload for load in t.loads)]
    turns = [(trial, turn) for trial in own for turn in trial.turns]
    over = dict.fromkeys(Candidate(tuple(turn.hosts), turn.resource) for _, turn in turns if turn.resource is not None and turn.given < 1)
    state = Squeezing(list(over), 0, peers)
    for trial in own:
        state.tell(found_in(run, trial, workload))
    freely = uses_in(run, [(trial, turn.start_wall_s + SETTLE_S, turn.end_wall_s) for trial, turn in turns if not turn.hosts], hosts)
    return Squeezed(state.shown(), state.decide(is_last=True), _relief(run, own, workload, hosts, state), freely)


def _relief(run: RunFolder, trials: Sequence[Trial], workload: str, hosts: Sequence[Mapping[str, Any]], state: Squeezing) -> Relief | None:
    found = [(trial, change) for trial in trials for change in _changes(run, trial, workload) if change[0].given > 1]
    # Of one turn alone nothing is known but that.
    if len(found) < RELIEVED_MIN:
        return None
    turn = found[0][1][0]
    gain = state.gain([math.log(max(after / before, RATE_MIN)) for _, (_, before, after) in found])
    more = Mean(percent(gain.value), percent(gain.low), percent(gain.high), gain.n)
    uses = uses_in(run, [(trial, change[0].start_wall_s, change[0].end_wall_s) for trial, change in found], hosts)
    # It had more than its ceiling says.
    relieved = [
        replace(use, ceiling=None if use.ceiling is None else use.ceiling * turn.given)
        for use in uses
        if use.host in turn.hosts and use.resource == turn.resource
    ]
    others = [use for use in uses if use.resource != "memory" and not (use.host in turn.hosts and use.resource == turn.resource)]
    nearest = max(others, key=lambda use: use.share or 0.0, default=None)
    is_near = nearest is not None and (nearest.share or 0.0) >= NEXT_MIN
    return Relief(turn.given, more, nearest if is_near else None, any(use.is_near for use in relieved))


def _untried(found: Squeezed, is_suspect: Callable[[Use], bool]) -> list[str]:
    """Resources that no squeeze has tried and that may bind by what was used of them while nothing was taken."""
    tried = {(host, one.resource) for one in found.elasticities for host in one.hosts}
    return [
        f"{use.resource} of {use.host}"
        for use in found.freely
        if is_suspect(use) and (use.host, use.resource) not in tried and use.resource != "memory" and use.host != MACHINE
    ]


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
        if found.decision.is_unparted and not use.is_full:
            return f"which of these hosts it is was not told apart: while nothing is taken the {one.resource} of {host} is {use}"
        if not use.is_full:
            has_some.append(f"the {one.resource} of {host} is {use}")
    if relief is not None and relief.gives:
        return None
    if relief is not None and relief.has_room:
        return f"{_relief_words(relief)} only: it has room until it is squeezed"
    if not has_some:
        return None
    tried = "how much more of it would give was not tried" if relief is None else _relief_words(relief)
    return f"while nothing is taken {'; '.join(has_some)}, and {tried}"


def _relief_words(relief: Relief) -> str:
    change = relief.change
    return f"with {relief.given:g} × as much the rate changed by {change.value:+.0f} % [{change.low:+.0f}, {change.high:+.0f}]"


def at_the_limit(bound: BoundBy, binds: Sequence[str]) -> BoundBy:
    """What squeezes of the rate without schedule prove of a limit below it. `bound`: the verdict with the evidence at the limit. Where so little was used of
    what binds without schedule that it would be ruled out, it is not proven to set the limit."""
    if not bound.confirmed:
        return bound
    shares = [line["value"] for line in used(bound.evidence, bound.resource, binds)]
    held_back = [throttled(bound.evidence, host) for host in binds] if bound.resource == "cpu" else []
    if not shares or min(shares) >= FAR_FROM_CEILING or max(held_back, default=0.0) >= THROTTLED_MIN:
        return bound
    detail = f"pressed without schedule it is bound by the {bound.detail}. At the limit only {min(shares):.0%} of that was used: its objective stops it before"
    return replace(bound, kind="undecided", host=None, resource=None, confirmed=False, detail=detail)


def proven(bound: BoundBy, found: Squeezed, generators: Sequence[str]) -> tuple[BoundBy, dict[str, Any]]:
    """A suspicion as the squeezes leave it, and what the contract has beside it (`elasticity`, `next`). `generators`: hosts that nothing
    but generators run on: what binds there binds the generator."""
    extra: dict[str, Any] = {
        "elasticity": None,
        "squeezed": [
            {
                "host": " and ".join(one.hosts),
                "hosts": list(one.hosts),
                "resource": one.resource,
                "left": LEFT[one.resource],
                "binds": one in found.decision.binds,
                "out": mean.high < BINDS,
                **asdict(mean),
            }
            for one, mean in found.elasticities.items()
        ],
        "binds": [],
        "next": None,
    }
    if not found.elasticities:
        return bound, extra
    ruled_out = [entry for entry in bound.ruled_out if not any(entry["what"] == str(one) for one in found.elasticities)]
    binds = found.decision.binds
    untried = _untried(found, lambda use: use.is_near)
    ruled_out += [
        {"what": str(one), "why": f"elasticity {mean}"}
        for one, mean in found.elasticities.items()
        # Of a group with one that binds in it nothing more is known.
        if not set(one.hosts) & {host for bind in binds if bind.resource == one.resource and one.is_group for host in bind.hosts}
        and one not in binds
        and mean.high < BINDS
    ]
    if not binds and (bound.kind == "generator" or untried):
        # What was suspected was not tried: that other things do not bind makes it no less likely.
        return replace(bound, ruled_out=ruled_out), extra
    if found.decision.is_none and (others := _untried(found, lambda use: use.is_near or (use.share or 0.0) >= SHARE_MIN)):
        detail = f"squeezing {' and '.join(map(str, found.elasticities))} did not move its rate; not squeezed, and used enough to bind it: {', '.join(others)}"
        return replace(bound, kind="undecided", host=None, resource=None, detail=detail, ruled_out=ruled_out), extra
    if found.decision.is_none:
        full = inside(bound.evidence)
        cause = (
            f": {bound.detail}" if bound.kind == "system"
            else f": {inside_words(full)}" if full
            else ": a limit inside the system of which there is no gauge, or its objective"
        )  # fmt: skip
        detail = f"squeezing none of the resources that it uses moved its rate{cause}"
        return replace(bound, kind="system", host=bound.host if bound.kind == "system" else None, resource=None, detail=detail,
                       ruled_out=ruled_out), extra  # fmt: skip
    if not binds:
        detail = "the squeezes did not tell apart what binds within their budget: " + "; ".join(
            f"{one} {mean}" for one, mean in found.elasticities.items())  # fmt: skip
        return replace(bound, kind="undecided", host=None, resource=None, detail=detail, ruled_out=ruled_out), extra
    top = max(binds, key=lambda one: found.elasticities[one].value)
    mean = found.elasticities[top]
    named = [host for one in binds for host in one.hosts]
    whose = str(top) if len(binds) == 1 else f"{top.resource} of " + " and ".join(named)
    if (doubt := _doubt(found)) is not None:
        detail = f"squeezing the {whose} changes the rate by {mean} of what is taken, but {doubt}"
        return replace(bound, kind="undecided", host=None, resource=None, detail=detail, ruled_out=ruled_out), extra
    detail = f"{whose}: squeezing it changes the rate by {mean} of what is taken"
    extra["elasticity"], extra["binds"] = asdict(mean), named
    if found.relief is not None:
        change, after, at = found.relief.change, found.relief.next, found.relief.at
        extra["next"] = {
            "kind": "unknown" if after is None else "generator" if after.host in generators else "resource",
            # The contract has null where it is no host of the run: then the machine that they are emulated on.
            "host": after.host if after and after.host != MACHINE else None, "resource": after.resource if after else None, "at": at,
            "given": found.relief.given, "change_pct": change.value, "low_pct": change.low, "high_pct": change.high,
            "share": after.share if after else None, "is_still": found.relief.is_still,
        }  # fmt: skip
        detail += f"; {_relief_words(found.relief)}"
        detail += (
            f", and next is the {after.resource} of {after.host}, at about {at:.2g} × the rate ({after.share:.0%} of its ceiling then)"
            if after
            else ""
        )
    # A part of what is lost with it may be another's.
    detail += "".join(f"; {what} was near its ceiling, too, and was not squeezed" for what in untried)
    machine = machine_words(bound.evidence)
    detail += f"; {machine}" if machine else ""
    # Hosts that do not get the cores that they are given are not bound by those.
    is_robbed = top.resource == "cpu" and any(use.host == MACHINE and use.is_near for use in found.freely)
    # A generator without room, of whose hosts none was squeezed, may bind whatever else moves the rate.
    is_passed_over = bound.kind == "generator" and not any(host in generators for one in found.elasticities for host in one.hosts)
    detail += "; the generator, which had no room, was not squeezed" if is_passed_over else ""
    is_generator = all(host in generators for host in named)
    bound = replace(bound, kind="generator" if is_generator else "resource", host=named[0] if len(named) == 1 else None, resource=top.resource,
                    detail=detail, confirmed=not (untried or is_robbed or is_passed_over), ruled_out=ruled_out)  # fmt: skip
    return bound, extra
