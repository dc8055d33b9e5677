"""The squeeze: part of one resource of one host is taken away while a workload runs without a rate limit, and
given back. The change of the rate proves what binds it.

A block with a resource squeezed is compared with the mean of the two blocks around it, in which nothing is.
So a drift of the machine's speed that is even over three blocks cancels out. A round squeezes each candidate
once, in random order. The elasticity is the relative change of the rate over the relative change of the
resource. It is near 1 for what binds and near 0 for the rest.
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
"""What is left of a squeezed resource. Much is taken: the machine's speed drifts by 10 to 40 % within
seconds, which would hide the effect of a fifth of the cores. A quarter of a disk is too little as well:
writes wait in the page cache and go out in bursts. With 25 % taken for 4 s the rate of one block scattered by
23 %. It is also too little for two links that each bind half of the time, with elasticities of 0.4 each: with
25 % taken their intervals reached zero."""
RELIEF = 2.0
"""Factor by which a resource is relieved."""
TURN_S: dict[str, float] = {"cpu": 3.0, "disk": 6.0, "network": 3.0}
"""Seconds of a block. Short blocks, and more of them: blocks of 3 s scatter by 12.7 %, blocks of 4 s by 11.6
% (benchmarks/RESULTS.md, where CPU was planted)."""
SETTLE_S = 1.0
"""Cut off at the beginning of each block: buffers fill and drain."""
TINY_S = 1e-3
"""The shortest time that anything is taken to last."""
CANDIDATES_MAX = 5
"""Resources of single hosts that are squeezed: a round of more takes too long."""
SHARE_MIN = 0.3
"""A resource whose use is below this share of its ceiling under unthrottled load is not a candidate."""
GROUP_MIN = 3
"""Least hosts of a group."""
ROUNDS_MIN = 3
"""Squeezed blocks of each candidate before a decision."""
ROUNDS_OUT = 2
"""Squeezed blocks of a candidate before it is left out."""
MARGIN = 1.1
"""Blocks take a little longer than planned."""
SQUEEZED_MIN = 3
"""Blocks of a round in which something is squeezed."""
BINDS = 0.3
"""What binds has an elasticity above this. Two bottlenecks in series may share it; a pipeline of three hosts
hardly shows more."""
NONE = 0.5
"""None of the squeezed resources binds only if the elasticities of single hosts add up to less."""
STRICT = 0.99
"""Confidence for a decision at the first look at the intervals. There is one look after every round."""
SPENT = 0.8
"""The error probability of each further look, as a share of the previous one's. So all looks together are
wrong in 5 of 100 squeezes at most, however many there are: the sum of 1 % × 0.8ⁿ is 5 %. This is error
spending (K. K. G. Lan, D. L. DeMets, "Discrete sequential boundaries for clinical trials", 1983)."""
SHOWN = 0.95
"""Confidence of the intervals in reports."""
RATE_MIN = NOTHING


class Candidate(NamedTuple):
    """A resource that may bind, of one host or of several that are squeezed at the same time."""

    hosts: tuple[str, ...]
    resource: str

    @classmethod
    def of(cls, host: str, resource: str) -> Candidate:
        """The candidate of one host."""
        return cls((host,), resource)

    @property
    def is_group(self) -> bool:
        """True for several hosts."""
        return len(self.hosts) > 1


def may_bind(use: Use) -> bool:
    """True if a resource's use under unthrottled load is high enough to be worth squeezing."""
    return use.is_near or (use.share or 0.0) >= SHARE_MIN


def candidates(uses: Sequence[Use], squeezable: Mapping[str, Sequence[str]], only_near: Collection[str] = ()) -> list[Candidate]:
    """All candidates that are worth squeezing, most used first. `squeezable`: the resources of each host that
    can be squeezed. On hosts in `only_near`, only resources near their ceiling count. There a squeeze pauses
    all cores at once for part of the time. A thread that is always busy then loses as much as if all cores
    were in use."""
    used = sorted(uses, key=lambda use: -use.fullness)
    return [
        Candidate.of(use.host, use.resource)
        for use in used
        if use.resource in squeezable.get(use.host, ()) and may_bind(use) and (use.is_near or use.host not in only_near)
    ]


def groups(over: Sequence[Candidate], peers: Collection[str]) -> list[Candidate]:
    """The same resource of all hosts that may bind by it and do the same work (`peers`). Each may wait for
    the slowest, which changes from moment to moment. Then no single host moves the rate much, but all
    together do. Two hosts do not make a group: each shows at least half of the effect, and their blocks are
    better spent on single squeezes."""
    found = []
    for resource in dict.fromkeys(one.resource for one in over):
        hosts = sorted(host for one in over if one.resource == resource for host in one.hosts if host in peers)
        if len(hosts) >= GROUP_MIN:
            found.append(Candidate(tuple(hosts), resource))
    return found


def reach_s(over: Sequence[Candidate], least_s: float = 0.0) -> float:
    """Least seconds for a decision over these candidates, without its last round, which may be shorter.
    `least_s`: of a block."""
    turns = course([(one.hosts, one.resource, LEFT[one.resource]) for one in over] * _times(over), least_s)
    return MARGIN * (ROUNDS_MIN - 1) * sum(turn.seconds for turn in turns)


def _times(over: Sequence[Candidate]) -> int:
    """How often a round squeezes each candidate: a few candidates several times, since each round has a
    beginning and an end of its own."""
    return math.ceil(SQUEEZED_MIN / len(over)) if over else 0


def within(over: Sequence[Candidate], peers: Collection[str], budget_s: float, least_s: float = 0.0) -> list[Candidate]:
    """The candidates to squeeze: the most used and the groups of `peers`, if the rounds of a decision fit in
    that time; else the most used alone, or none."""
    alone = list(over[:CANDIDATES_MAX])
    tried = ([*alone, *groups(over, peers)], alone)
    return next((some for some in tried if reach_s(some, least_s) <= budget_s), [])


@dataclass(frozen=True)
class Block:
    """A planned block: these hosts have this factor of the resource for these seconds; without hosts, all
    have their normal share."""

    hosts: tuple[str, ...]
    resource: str | None
    given: float
    seconds: float


def course(changed: Sequence[tuple[Sequence[str], str, float]], least_s: float = 0.0) -> list[Block]:
    """The blocks of a round. Each of `changed` (hosts, resource, factor) comes between two unchanged blocks
    of the same length; no blocks if it is empty. `least_s`: the shortest useful block."""
    if not changed:
        return []
    lengths = [max(TURN_S[resource], least_s) for _, resource, _ in changed]
    turns = [Block((), None, 1.0, lengths[0])]
    for at, (hosts, resource, given) in enumerate(changed):
        turns.append(Block(tuple(hosts), resource, given, lengths[at]))
        turns.append(Block((), None, 1.0, max(lengths[at : at + 2])))
    return turns


def has_time(turns: Sequence[Block], left_s: float, rounds: int) -> bool:
    """True if a round may begin; a round that begins is completed. The rounds of a decision begin while any
    of the budget is left, later ones only if half of one fits."""
    return left_s > 0 and (rounds < ROUNDS_MIN or sum(turn.seconds for turn in turns) / 2 <= left_s)


@dataclass(frozen=True)
class Decision:
    """What the rounds so far show. `binds`: the candidate that binds, several hosts' same resource that do
    not differ significantly, or a group's. It is empty while undecided, or if nothing that was squeezed binds
    (`is_none`)."""

    binds: list[Candidate]
    is_none: bool = False
    is_inseparable: bool = False
    """Something in the named group binds. Single squeezes neither showed nor ruled out that each of its hosts
    does."""
    collapsed: tuple[Candidate, ...] = ()
    """Candidates for which the rate fell below `RATE_MIN` of its normal value in some block. A system that
    collapses loses more than was taken, and how much more does not measure what binds it before. Then there
    is no decision, and no further round."""

    @property
    def is_made(self) -> bool:
        """False while more rounds may help."""
        return bool(self.binds) or self.is_none or bool(self.collapsed)


@dataclass
class Squeezing:
    """Proposes rounds, and decides. Pure: the results of rounds are passed in."""

    over: list[Candidate]
    seed: int
    peers: Collection[str] = ()
    """Hosts that do the same work: the same resource of several of them may be named together."""
    rounds: list[list[Candidate]] = field(default_factory=list)
    """The candidates squeezed in each round, block by block."""
    values: dict[Candidate, list[float]] = field(default_factory=dict)
    """Elasticities, one for each block."""

    def propose(self) -> list[Candidate]:
        """The candidates of the next round, in its order: all at first, then those that may still bind."""
        alive = [one for one in self.over if not self._is_known(one) or self._interval(one).high >= BINDS] or list(self.over)
        random.Random(f"{self.seed} {self._turns}").shuffle(alive)
        return alive * _times(alive)

    def record(self, found: Iterable[tuple[Candidate, float]]) -> None:
        """Adds the results of a round, in its order."""
        stated = list(found)
        self.rounds.append([candidate for candidate, _ in stated])
        for candidate, value in stated:
            self.values.setdefault(candidate, []).append(value)

    @property
    def _turns(self) -> int:
        return max((len(values) for values in self.values.values()), default=0)

    def _is_known(self, candidate: Candidate) -> bool:
        """True if a candidate has enough blocks. Its own blocks count, not the rounds, since a round may give
        no value. What is ruled out by then is not squeezed again."""
        turns = len(self.values.get(candidate, ()))
        # Blocks of one round that squeeze the same share the blocks between them.
        return turns >= (ROUNDS_MIN if len(self.over) > 1 else SQUEEZED_MIN + 1) or (
            turns >= ROUNDS_OUT and self._interval(candidate).high < BINDS
        )

    @property
    def _strict(self) -> float:
        """Confidence of this look at the intervals."""
        first = next((at for at in range(1, len(self.rounds) + 1) if self._turns_by(at) >= ROUNDS_MIN), len(self.rounds))
        return 1 - (1 - STRICT) * SPENT ** (len(self.rounds) - first)

    def _turns_by(self, rounds: int) -> int:
        """Most blocks of any candidate in the first rounds."""
        return max(Counter(one for stated in self.rounds[:rounds] for one in stated).values(), default=0)

    def _interval(self, candidate: Candidate, confidence: float | None = None) -> Mean:
        """The interval of a candidate's elasticity, with the confidence of a decision unless another is
        given."""
        changes = self._changes[candidate]
        deviation, freedom = self._scatter(candidate)
        # Two adjacent blocks share the one between them: their mean scatters more than that of independent
        # ones.
        mean = deviation * math.sqrt(self._joint(candidate) / len(changes)) / _scale(candidate)
        return interval_with(self.values[candidate], mean, freedom, self._strict if confidence is None else confidence)

    def _joint(self, candidate: Candidate) -> float:
        """The variance of the sum of a candidate's changes, in variances of one block's rate. A change is the
        mean of the blocks before and after, less the block itself: 3/2. Two neighbours in a round share the
        block between them, half of it each: a quarter, twice."""
        neighbours = sum((one, other) == (candidate, candidate) for stated in self.rounds for one, other in pairwise(stated))
        return 1.5 * len(self.values[candidate]) + 0.5 * neighbours

    @property
    def _changes(self) -> dict[Candidate, list[float]]:
        """Relative changes of the rate, as logarithms without their sign."""
        return {one: [value * _scale(one) for value in values] for one, values in self.values.items()}

    def _scatter(self, candidate: Candidate) -> tuple[float, int]:
        """The standard deviation of a block's rate (logarithm), and its degrees of freedom. The scatter comes
        from the machine and the load, not from the candidate. So the blocks of all candidates give it, since
        three or four of each are too few. Only a candidate's `own` count if they scatter significantly more
        than the others'."""
        own = [(self._changes[candidate], self._joint(candidate))]
        rest = [(values, self._joint(one)) for one, values in self._changes.items() if one != candidate]
        alone = _turn_scatter(own)
        return alone if scatters_more(alone, _turn_scatter(rest)) else _turn_scatter([*own, *rest])

    def gain(self, changes: Sequence[float]) -> Mean:
        """The mean of relative changes of the rate (logarithms) in the blocks of a relief, which follow each
        other, with its 95 % interval."""
        joint = 1.5 * len(changes) + 0.5 * (len(changes) - 1)
        deviation, freedom = _turn_scatter([(changes, joint), *((values, self._joint(one)) for one, values in self._changes.items())])
        return interval_with(changes, deviation * math.sqrt(joint / len(changes)), freedom, SHOWN)

    def decide(self, *, is_last: bool = False) -> Decision:
        """The decision so far. `is_last`: no more rounds come that could show further hosts that bind by the
        same resource."""
        if not self.over or self._turns < ROUNDS_MIN or not all(self._is_known(one) for one in self.over):
            return Decision([])
        if still := tuple(one for one in self.over if max(self.values[one]) >= _stood_still(one)):
            return Decision([], collapsed=still)
        found = {one: self._interval(one) for one in self.over}
        if all(interval.high < BINDS for interval in found.values()):
            # Many small effects may add up to all of the effect.
            moved = sum(max(0.0, interval.value) for one, interval in found.items() if not one.is_group)
            return Decision([], is_none=moved < NONE)
        alone, together = self._alone(found), self._together(found)
        if alone and together:
            # Some hosts bind by themselves, and a group of them and others rules the single ones out: the
            # group binds, unless more rounds show otherwise.
            is_whole = set(together[0].hosts) == {host for one in alone for host in one.hosts}
            return Decision(alone if is_whole else together if is_last else [])
        if is_last and not alone and not together:
            alone = self._alone(found, ignores_peers=True)
            together = self._together(found, ignores_own=True) if not alone else []
            return Decision(alone or together, is_inseparable=bool(together))
        return Decision(alone or together)

    def _grouped(self, candidate: Candidate) -> list[Candidate]:
        """The single candidates of a group's hosts for its resource; none for a candidate that is not in a
        group."""
        is_grouped = any(one.is_group and one.resource == candidate.resource and set(candidate.hosts) < set(one.hosts) for one in self.over)
        return [one for one in self.over if is_grouped and not one.is_group and self._are_peers(one, candidate)]

    def _are_peers(self, one: Candidate, other: Candidate) -> bool:
        return one.resource == other.resource and set(one.hosts) | set(other.hosts) <= set(self.peers)

    def _alone(self, found: Mapping[Candidate, Mean], *, ignores_peers: bool = False) -> list[Candidate]:
        """The host's resource that binds, or several hosts' that share the elasticity: the same resource of
        hosts that do the same work. `ignores_peers`: what is unknown about such a host does not count against
        those that bind."""
        single = [one for one in self.over if not one.is_group]
        positive = [one for one in single if found[one].low > 0]
        if not positive:
            return []
        top = max(positive, key=lambda one: found[one].value)
        own = [one for one in positive if one == top or (self._are_peers(one, top) and found[one].high >= found[top].low)]
        # A host that may bind more than the top one still counts.
        peers = [one for one in self._grouped(top) if found[one].value <= found[top].value] if ignores_peers else []
        excused = [*own, *peers]
        # A group that contains it falls with it.
        rivals = [one for one in self.over if one not in excused and not (one.resource == top.resource and set(top.hosts) < set(one.hosts))]
        is_clear = all(found[one].high < found[top].low for one in rivals)
        return own if is_clear and sum(found[one].low for one in own) > BINDS else []

    def _together(self, found: Mapping[Candidate, Mean], *, ignores_own: bool = False) -> list[Candidate]:
        """The group that binds if none of its hosts does alone, nor anything else. `ignores_own`: its own
        hosts may be undecided, if none is ruled out."""
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
    """The standard deviation of a block's rate (logarithm), from the scatter of changes around each group's
    own mean, and its degrees of freedom. Each group has the variance of its sum (`_joint`): its changes
    scatter that much less around their mean than independent ones."""
    known = [(values, joint) for values, joint in groups if len(values) > 1]
    freedom = sum(len(values) - 1 for values, _ in known)
    squares = pooled_deviation([values for values, _ in known])[0] ** 2 * freedom
    expected = sum(1.5 * len(values) - joint / len(values) for values, joint in known)
    return (math.sqrt(squares / expected), freedom) if freedom else (0.0, 0)


def headroom(share: float, left: float) -> float:
    """The elasticity that a squeeze to `left` shows of a resource that does not bind: a `share` of it is
    used, so a squeeze may take more than its headroom."""
    return 0.0 if share <= left else 1.0 if share >= 1 else math.log(left / share) / math.log(left)


def _scale(candidate: Candidate) -> float:
    """Factor from elasticities to relative changes of the rate."""
    return abs(math.log(LEFT[candidate.resource]))


def _stood_still(candidate: Candidate) -> float:
    """The elasticity of a block in which hardly anything went through."""
    return elasticity(LEFT[candidate.resource], 1.0, 0.0)


def rounds_in(iterations: Sequence[Iteration], begin_s: float, end_s: float) -> float | None:
    """Iterations of a batch workload per second between two moments, each spread evenly over its own
    duration; None without any."""
    done = 0.0
    for one in iterations:
        inside = min(end_s, one.ended_wall_s) - max(begin_s, one.started_wall_s)
        done += max(0.0, inside) / max(one.ended_wall_s - one.started_wall_s, TINY_S)
    return done / (end_s - begin_s) if done > 0 and end_s > begin_s else None


def changes(turns: Sequence[SqueezeBlock], rate: Callable[[SqueezeBlock], float | None]) -> list[tuple[SqueezeBlock, float, float]]:
    """Each block with a squeeze or a relief, with the rate around it (the mean of the blocks before and
    after) and in it. `rate`: of a block, None if unknown."""
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
    """Relative change of the rate over that of the resource, as logarithms, so that halving and doubling
    weigh the same."""
    return math.log(max(after / before, RATE_MIN)) / math.log(given)


def elasticities(found: Sequence[tuple[SqueezeBlock, float, float]]) -> list[tuple[Candidate, float]]:
    """The elasticities of one round, in its order."""
    return [
        (Candidate(tuple(turn.hosts), turn.resource or ""), elasticity(turn.given, before, after))
        for turn, before, after in found
        if turn.given < 1
    ]
