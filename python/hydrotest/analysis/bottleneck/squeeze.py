"""The squeeze: part of one resource of one host is taken away while a workload runs without a rate limit, and given back. What the rate
does then proves what binds it.

A turn with a resource squeezed stands between two turns without, whose mean it is compared with: so a drift of the machine's speed that is
even over three turns leaves nothing. A round squeezes each candidate once, in random order. The elasticity, relative change of the rate over relative
change of the resource, is near 1 for what binds and near 0 for the rest.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from hydrotest.analysis.bottleneck.use import Use
from hydrotest.analysis.statistics.intervals import NOTHING, interval_with, pooled_deviation, scatters_more
from hydrotest.store.records import Iteration, SqueezeBlock
from hydrotest.verdicts.figures import Mean

LEFT: dict[str, float] = {"cpu": 0.5, "disk": 0.5, "network": 0.5}
"""What is left of a squeezed resource. Much is taken: the machine's speed drifts by 10 to 40 % within seconds, in which a fifth of the cores
would drown. So would a quarter of a disk: what is written waits in the page cache and goes out in bursts (with 25 % taken for 4 s the rate
of one turn scattered by 23 %); and of two links that each bind half of the time, which show 0.4 each: with 25 % taken their intervals reached zero."""
RELIEF = 2.0
"""What a relieved one is given."""
TURN_S: dict[str, float] = {"cpu": 3.0, "disk": 6.0, "network": 3.0}
"""Short ones, and more of them: turns of 3 s scatter by 12.7 %, those of 4 s did by 11.6 % (benchmarks/RESULTS.md, where CPU was planted)."""
SETTLE_S = 1.0
"""Cut off at the beginning of each turn: buffers fill and drain."""
TINY_S = 1e-3
"""The shortest time that anything is said to take."""
CANDIDATES_MAX = 5
"""Resources of single hosts that are squeezed: a round of more takes too long."""
SHARE_MIN = 0.3
"""A resource that is used less than this, of its ceiling, when all is pressed out of the system is no candidate."""
GROUP_MIN = 3
"""Hosts of a group."""
ROUNDS_MIN = 3
"""Squeezed turns of each candidate before anything is decided."""
ROUNDS_OUT = 2
"""Those of one before it is left out."""
MARGIN = 1.1
"""Turns take a little longer than they are to."""
SQUEEZED_MIN = 3
"""Turns of a round in which something is squeezed."""
BINDS = 0.3
"""What binds has an elasticity above this. Two bottlenecks in series may share, a pipeline of three hosts hardly more."""
NONE = 0.5
"""Nothing of what was squeezed binds only where the elasticities of single hosts add up to less."""
STRICT = 0.99
"""Confidence for a decision at the first look at the intervals, of which there is one after every round."""
SPENT = 0.8
"""Each further look may be wrong by this share of what the one before it might: so all looks together are wrong in 5 of 100 squeezes at most, however many there are
(error spending; K. K. G. Lan, D. L. DeMets, "Discrete sequential boundaries for clinical trials", 1983). The sum of 1 % × 0.8ⁿ is 5 %."""
SHOWN = 0.95
"""Confidence of what is shown."""
RATE_MIN = NOTHING


class Candidate(NamedTuple):
    """A resource of a host that may bind; or of several, which are squeezed at the same time."""

    hosts: tuple[str, ...]
    resource: str

    @classmethod
    def of(cls, host: str, resource: str) -> Candidate:
        """That of one host."""
        return cls((host,), resource)

    @property
    def is_group(self) -> bool:
        """True for several hosts."""
        return len(self.hosts) > 1


def may_bind(use: Use) -> bool:
    """True if a resource is used enough, when all is pressed out of the system, to be worth squeezing."""
    return use.is_near or (use.share or 0.0) >= SHARE_MIN


def candidates(uses: Sequence[Use], squeezable: Mapping[str, Sequence[str]], only_near: Collection[str] = ()) -> list[Candidate]:
    """All that is worth squeezing, most used first. `squeezable`: of each host the resources that can be. Of the hosts `only_near` only what is near its ceiling: there
    all cores stand still at once for a part of the time, and one thread of many that is busy all the time would lose as much as if they were all used up."""
    used = sorted(uses, key=lambda use: -use.fullness)
    return [
        Candidate.of(use.host, use.resource)
        for use in used
        if use.resource in squeezable.get(use.host, ()) and may_bind(use) and (use.is_near or use.host not in only_near)
    ]


def groups(over: Sequence[Candidate], peers: Collection[str]) -> list[Candidate]:
    """The same resource of all hosts that may bind by it and do the same work (`peers`). Where each waits for the slowest of them, which is
    now this one and now that, none alone moves the rate by much, and all together do. Of two, each shows half of it at least, and their turns are better spent
    on themselves."""
    found = []
    for resource in dict.fromkeys(one.resource for one in over):
        hosts = sorted(host for one in over if one.resource == resource for host in one.hosts if host in peers)
        if len(hosts) >= GROUP_MIN:
            found.append(Candidate(tuple(hosts), resource))
    return found


def reach_s(over: Sequence[Candidate], least_s: float = 0.0) -> float:
    """Seconds that a decision over these takes at least, but for its last round, which may be shorter. `least_s`: of a turn."""
    turns = course([(one.hosts, one.resource, LEFT[one.resource]) for one in over] * _times(over), least_s)
    return MARGIN * (ROUNDS_MIN - 1) * sum(turn.seconds for turn in turns)


def _times(over: Sequence[Candidate]) -> int:
    """How often each is squeezed in a round: few of them several times, since each round has a beginning and an end of its own."""
    return math.ceil(SQUEEZED_MIN / len(over)) if over else 0


def within(over: Sequence[Candidate], peers: Collection[str], budget_s: float, least_s: float = 0.0) -> list[Candidate]:
    """What is squeezed of all that is worth it: the most used, and the groups of `peers`, if so many rounds of them as a decision takes are to be had in that time;
    else the most used alone, or none."""
    alone = list(over[:CANDIDATES_MAX])
    tried = ([*alone, *groups(over, peers)], alone)
    return next((some for some in tried if reach_s(some, least_s) <= budget_s), [])


@dataclass(frozen=True)
class Block:
    """A turn to be made: these hosts have so many times of the resource, for so long; without hosts all have what they are to have."""

    hosts: tuple[str, ...]
    resource: str | None
    given: float
    seconds: float


def course(changed: Sequence[tuple[Sequence[str], str, float]], least_s: float = 0.0) -> list[Block]:
    """The turns of a round: each of `changed` (hosts, resource, times what it is to be) between two in which nothing is, as long as they are; none
    without any. `least_s`: the shortest turn that tells something."""
    if not changed:
        return []
    lengths = [max(TURN_S[resource], least_s) for _, resource, _ in changed]
    turns = [Block((), None, 1.0, lengths[0])]
    for at, (hosts, resource, given) in enumerate(changed):
        turns.append(Block(tuple(hosts), resource, given, lengths[at]))
        turns.append(Block((), None, 1.0, max(lengths[at : at + 2])))
    return turns


def has_time(turns: Sequence[Block], left_s: float, rounds: int) -> bool:
    """True if a round may begin: it will be ended. So many as a decision takes begin while anything of the budget is left, those after them only if half of them fits."""
    return left_s > 0 and (rounds < ROUNDS_MIN or sum(turn.seconds for turn in turns) / 2 <= left_s)


@dataclass(frozen=True)
class Decision:
    """What the rounds so far say. `binds`: the one that does, or several hosts' same resource that do not differ significantly, or that of a group; empty
    where nothing is decided, or nothing that was squeezed binds (`is_none`)."""

    binds: list[Candidate]
    is_none: bool = False
    is_inseparable: bool = False
    """Something of the group that it names binds; that it is each of its hosts, the squeezes of single ones neither showed nor ruled out."""
    collapsed: tuple[Candidate, ...] = ()
    """With part of these taken away less than `RATE_MIN` of the rate went through in some turn: a system that collapses loses more than was taken, and how much more is
    no measure of what binds it before. Then nothing is decided, and nothing further tried."""

    @property
    def is_made(self) -> bool:
        """False while more rounds may help."""
        return bool(self.binds) or self.is_none or bool(self.collapsed)


@dataclass
class Squeezing:
    """Proposes rounds, and decides. Pure: what happens in a round is told to it."""

    over: list[Candidate]
    seed: int
    peers: Collection[str] = ()
    """Hosts that do the same work: the same resource of several of them may be named together."""
    rounds: list[list[Candidate]] = field(default_factory=list)
    """What was squeezed in each round, turn by turn."""
    values: dict[Candidate, list[float]] = field(default_factory=dict)
    """Elasticities, one a turn."""

    def propose(self) -> list[Candidate]:
        """Those of the next round, in its order: all at first, then those that may still be what binds."""
        alive = [one for one in self.over if not self._is_known(one) or self._interval(one).high >= BINDS] or list(self.over)
        random.Random(f"{self.seed} {self._turns}").shuffle(alive)
        return alive * _times(alive)

    def record(self, found: Iterable[tuple[Candidate, float]]) -> None:
        """What a round showed, in its order."""
        told = list(found)
        self.rounds.append([candidate for candidate, _ in told])
        for candidate, value in told:
            self.values.setdefault(candidate, []).append(value)

    @property
    def _turns(self) -> int:
        return max((len(values) for values in self.values.values()), default=0)

    def _is_known(self, candidate: Candidate) -> bool:
        """A round may tell nothing of one: its own turns are counted, not the rounds. What is out by then is left out of further ones."""
        turns = len(self.values.get(candidate, ()))
        # Turns of one round that squeeze the same share the turns between them.
        return turns >= (ROUNDS_MIN if len(self.over) > 1 else SQUEEZED_MIN + 1) or (
            turns >= ROUNDS_OUT and self._interval(candidate).high < BINDS
        )

    @property
    def _strict(self) -> float:
        """Confidence of this look at the intervals."""
        first = next((at for at in range(1, len(self.rounds) + 1) if self._turns_by(at) >= ROUNDS_MIN), len(self.rounds))
        return 1 - (1 - STRICT) * SPENT ** (len(self.rounds) - first)

    def _turns_by(self, rounds: int) -> int:
        """Turns of the candidate that had most of them, in the first rounds."""
        return max(Counter(one for told in self.rounds[:rounds] for one in told).values(), default=0)

    def _interval(self, candidate: Candidate, confidence: float | None = None) -> Mean:
        """Of its elasticity; for a decision, unless another confidence is given."""
        changes = self._changes[candidate]
        deviation, freedom = self._scatter(candidate)
        # Two turns side by side share the one between them: their mean scatters more than that of as many of their own.
        mean = deviation * math.sqrt(self._joint(candidate) / len(changes)) / _scale(candidate)
        return interval_with(self.values[candidate], mean, freedom, self._strict if confidence is None else confidence)

    def _joint(self, candidate: Candidate) -> float:
        """The variance of the sum of a candidate's changes, in those of one turn's rate. A change is the mean of the turns before and after,
        less the turn itself: 3/2. Two neighbours in a round share the turn between them, half of it each: a quarter, twice."""
        neighbours = sum((one, other) == (candidate, candidate) for told in self.rounds for one, other in pairwise(told))
        return 1.5 * len(self.values[candidate]) + 0.5 * neighbours

    @property
    def _changes(self) -> dict[Candidate, list[float]]:
        """Relative changes of the rate, logarithms without their sign."""
        return {one: [value * _scale(one) for value in values] for one, values in self.values.items()}

    def _scatter(self, candidate: Candidate) -> tuple[float, int]:
        """The standard deviation of a turn's rate (logarithm), and its degrees of freedom. How much a turn's rate scatters is the machine's and the load's doing, not the
        candidate's: it is told from the turns of all, else three or four of each could hardly tell anything; but from its `own` where those surely scatter by more than
        the others'."""
        own = [(self._changes[candidate], self._joint(candidate))]
        rest = [(values, self._joint(one)) for one, values in self._changes.items() if one != candidate]
        alone = _turn_scatter(own)
        return alone if scatters_more(alone, _turn_scatter(rest)) else _turn_scatter([*own, *rest])

    def gain(self, changes: Sequence[float]) -> Mean:
        """The mean of relative changes of the rate (logarithms) in the turns of a relief, which follow each other, with its 95 % interval."""
        joint = 1.5 * len(changes) + 0.5 * (len(changes) - 1)
        deviation, freedom = _turn_scatter([(changes, joint), *((values, self._joint(one)) for one, values in self._changes.items())])
        return interval_with(changes, deviation * math.sqrt(joint / len(changes)), freedom, SHOWN)

    def decide(self, *, is_last: bool = False) -> Decision:
        """What is known by now. `is_last`: no more rounds come, which could tell of further hosts that they bind by the same resource."""
        if not self.over or self._turns < ROUNDS_MIN or not all(self._is_known(one) for one in self.over):
            return Decision([])
        if still := tuple(one for one in self.over if max(self.values[one]) >= _stood_still(one)):
            return Decision([], collapsed=still)
        found = {one: self._interval(one) for one in self.over}
        if all(interval.high < BINDS for interval in found.values()):
            # What little each of many does may be all there is to do.
            moved = sum(max(0.0, interval.value) for one, interval in found.items() if not one.is_group)
            return Decision([], is_none=moved < NONE)
        alone, together = self._alone(found), self._together(found)
        if alone and together:
            # Some hosts that bind, and a group of them and others that clears them, too: all of it do, unless more rounds tell otherwise.
            is_whole = set(together[0].hosts) == {host for one in alone for host in one.hosts}
            return Decision(alone if is_whole else together if is_last else [])
        if is_last and not alone and not together:
            alone = self._alone(found, ignores_peers=True)
            together = self._together(found, ignores_own=True) if not alone else []
            return Decision(alone or together, is_inseparable=bool(together))
        return Decision(alone or together)

    def _grouped(self, candidate: Candidate) -> list[Candidate]:
        """The same resource of the hosts of its group that are squeezed alone, too; none where there is no group."""
        is_grouped = any(one.is_group and one.resource == candidate.resource and set(candidate.hosts) < set(one.hosts) for one in self.over)
        return [one for one in self.over if is_grouped and not one.is_group and self._are_peers(one, candidate)]

    def _are_peers(self, one: Candidate, other: Candidate) -> bool:
        return one.resource == other.resource and set(one.hosts) | set(other.hosts) <= set(self.peers)

    def _alone(self, found: Mapping[Candidate, Mean], *, ignores_peers: bool = False) -> list[Candidate]:
        """The host's resource that binds, or those that share what there is of elasticity: the same of hosts that do the same work. `ignores_peers`: what is
        not known of such a host takes nothing from those that bind."""
        single = [one for one in self.over if not one.is_group]
        positive = [one for one in single if found[one].low > 0]
        if not positive:
            return []
        top = max(positive, key=lambda one: found[one].value)
        own = [one for one in positive if one == top or (self._are_peers(one, top) and found[one].high >= found[top].low)]
        # One that may bind more than the top is not excused.
        peers = [one for one in self._grouped(top) if found[one].value <= found[top].value] if ignores_peers else []
        excused = [*own, *peers]
        # A group that it is in falls with it.
        rivals = [one for one in self.over if one not in excused and not (one.resource == top.resource and set(top.hosts) < set(one.hosts))]
        is_clear = all(found[one].high < found[top].low for one in rivals)
        return own if is_clear and sum(found[one].low for one in own) > BINDS else []

    def _together(self, found: Mapping[Candidate, Mean], *, ignores_own: bool = False) -> list[Candidate]:
        """The group that binds where none of its hosts alone does, nor anything else. `ignores_own`: nor anything but its hosts, none of which is out."""
        for group in (one for one in self.over if one.is_group):
            own = [one for one in self.over if ignores_own and one.resource == group.resource and set(one.hosts) < set(group.hosts)]
            is_clear = all(found[one].high < found[group].low for one in self.over if one != group and one not in own)
            if found[group].low > BINDS and is_clear and all(found[one].high >= BINDS for one in own):
                return [group]
        return []

    def shown(self) -> dict[Candidate, Mean]:
        """The elasticities with their 95 % intervals."""
        return {one: self._interval(one, SHOWN) for one in self.values}


def _turn_scatter(groups: Sequence[tuple[Sequence[float], float]]) -> tuple[float, int]:
    """The standard deviation of a turn's rate (logarithm), from the scatter of changes around each group's own mean, and its degrees of
    freedom. Each group has the variance of its sum (`_joint`): so much less than independent ones do its changes scatter around their mean."""
    known = [(values, joint) for values, joint in groups if len(values) > 1]
    freedom = sum(len(values) - 1 for values, _ in known)
    squares = pooled_deviation([values for values, _ in known])[0] ** 2 * freedom
    expected = sum(1.5 * len(values) - joint / len(values) for values, joint in known)
    return (math.sqrt(squares / expected), freedom) if freedom else (0.0, 0)


def headroom(share: float, left: float) -> float:
    """The elasticity that a squeeze to `left` shows of a resource which does not bind before: a `share` of it is used, so that more than its room may be taken."""
    return 0.0 if share <= left else 1.0 if share >= 1 else math.log(left / share) / math.log(left)


def _scale(candidate: Candidate) -> float:
    """From elasticities to relative changes of the rate."""
    return abs(math.log(LEFT[candidate.resource]))


def _stood_still(candidate: Candidate) -> float:
    """The elasticity of a turn in which hardly anything went through."""
    return elasticity(LEFT[candidate.resource], 1.0, 0.0)


def rounds_in(iterations: Sequence[Iteration], begin_s: float, end_s: float) -> float | None:
    """Iterations of a batch workload a second between two moments, each spread evenly over its own time; None without any."""
    done = 0.0
    for one in iterations:
        inside = min(end_s, one.ended_wall_s) - max(begin_s, one.started_wall_s)
        done += max(0.0, inside) / max(one.ended_wall_s - one.started_wall_s, TINY_S)
    return done / (end_s - begin_s) if done > 0 and end_s > begin_s else None


def changes(turns: Sequence[SqueezeBlock], rate: Callable[[SqueezeBlock], float | None]) -> list[tuple[SqueezeBlock, float, float]]:
    """Each turn in which something was squeezed or relieved, with the rate beside it (the mean of the turns before and after) and in it.
    `rate`: of a turn, None where it is not known."""
    rates = [rate(turn) for turn in turns]
    found = []
    for at, turn in enumerate(turns):
        beside = [
            value for side in (at - 1, at + 1) if 0 <= side < len(turns) and not turns[side].hosts and (value := rates[side]) is not None
        ]
        inside = rates[at]
        if turn.hosts and inside is not None and beside and sum(beside) > 0:
            found.append((turn, sum(beside) / len(beside), inside))
    return found


def elasticity(given: float, before: float, after: float) -> float:
    """Relative change of the rate over that of the resource, as logarithms, so that halving and doubling weigh the same."""
    return math.log(max(after / before, RATE_MIN)) / math.log(given)


def elasticities(found: Sequence[tuple[SqueezeBlock, float, float]]) -> list[tuple[Candidate, float]]:
    """Those of one round, in its order."""
    return [
        (Candidate(tuple(turn.hosts), turn.resource or ""), elasticity(turn.given, before, after))
        for turn, before, after in found
        if turn.given < 1
    ]
