"""What the squeezes of a run showed, read from its folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from hydrotest.analysis.bottleneck.evidence import inside, lines
from hydrotest.analysis.bottleneck.gauges import gauged
from hydrotest.analysis.bottleneck.squeeze import (
    RATE_MIN,
    SETTLE_S,
    STRICT,
    Candidate,
    Decision,
    Squeezing,
    changes,
    elasticities,
    may_bind,
    rounds_in,
)
from hydrotest.analysis.bottleneck.use import Use
from hydrotest.analysis.bottleneck.windows import Window, unthrottled_windows, uses_in
from hydrotest.analysis.by_test.doubling import doubled
from hydrotest.analysis.statistics.intervals import log_ratio, percent, t_interval
from hydrotest.analysis.statistics.progress import Progress
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import SqueezeBlock, Trial
from hydrotest.verdicts.binding import NotSqueezed, Unsqueezed
from hydrotest.verdicts.evidence import InsideLine
from hydrotest.verdicts.figures import EMULATING_MACHINE, Gain, Mean

NEXT_MIN = 0.7
"""Of its ceiling, or of its quota's periods: what comes next after a relief is named from here on."""
RELIEVED_MIN = 2
"""Turns with more of what binds before anything is said of them."""
GIVES_MIN = 10.0
"""Percent: what gives surely less when there is more of it had room before it was squeezed."""
LAST_S = 0.5
"""A reading that comes so long after a window's end is counted to it (`trial_host_rates`): of a turn, that would be the next one's."""


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
        """True if twice as much surely gave next to nothing, and nothing else was near its ceiling, which would tell why."""
        return self.change.high < GIVES_MIN and self.next is None

    @property
    def at(self) -> float | None:
        """The rate at which `next` binds, in times of that before the relief: that with the relief, unless what was relieved binds still; then as far beyond it as
        there is left of `next`, whose use is taken to grow with the rate. None without one."""
        if self.next is None:
            return None
        reached = 1 + self.change.value / 100
        # A share of its quota's periods does not grow with the rate, but leaves it no room.
        used = self.next.fullness if self.next.is_near else self.next.share or self.next.fullness
        return reached / min(1.0, used) if self.is_still else reached

    @property
    def gain(self) -> Gain:
        """For a finding."""
        return Gain(self.given, self.change)


@dataclass(frozen=True)
class Doubled:
    """What twice as many generators, with twice as many in flight, got out of the same system. Change of the rate in percent, with its 99 % interval."""

    change: Mean

    @property
    def gives(self) -> bool:
        """True if it was more, surely, and worth a word: then what the generators had in flight was the limit."""
        return self.change.low > 0 and self.change.value >= GIVES_MIN

    @property
    def is_idle(self) -> bool:
        """True if it was surely next to nothing: then it was not."""
        return self.change.high < GIVES_MIN


@dataclass(frozen=True)
class Squeezed:
    """All rounds of one workload's squeeze."""

    elasticities: dict[Candidate, Mean]
    decision: Decision
    relief: Relief | None
    freely: Sequence[Use] = ()
    """What was used in the turns in which nothing was taken; where nothing was squeezed, when all was pressed out of the system."""
    inside: Sequence[InsideLine] = ()
    """Limits inside the systems whose gauges were full when all was pressed out of them."""
    doubled: Doubled | None = None
    """Tried where nothing that was squeezed binds."""
    why_not: NotSqueezed | None = None
    """Why nothing was squeezed, or no further."""


Used = Callable[[Sequence[Window]], list[Use]]
"""What was used over some windows of the hosts that a workload needs."""


def rate_of(run: RunFolder, trial: Trial, workload: str) -> Callable[[SqueezeBlock], float | None]:
    """The rate of a workload in a turn, completions or iterations a second; None where it is not known."""
    load = trial.load(workload)
    iterations, outcome = load.iterations, load.outcome
    if iterations is not None:
        return lambda turn: rounds_in(iterations, turn.start_wall_s, turn.end_wall_s)
    if outcome is None:
        return lambda turn: None
    progress = Progress.of(run.seconds(trial, workload), outcome.started_wall_s)
    return lambda turn: progress.rate(turn.start_wall_s + SETTLE_S, turn.end_wall_s)


def _changes(run: RunFolder, trial: Trial, workload: str) -> list[tuple[SqueezeBlock, float, float]]:
    return changes(trial.turns, rate_of(run, trial, workload))


def found_in(run: RunFolder, trial: Trial, workload: str) -> list[tuple[Candidate, float]]:
    """The elasticities that one round showed."""
    return elasticities(_changes(run, trial, workload))


def is_relieved(trials: Sequence[Trial], workload: str) -> bool:
    """True if it was already tried what more of what binds gives."""
    return any(turn.given > 1 for trial in trials if _is_squeeze(trial, workload) for turn in trial.turns)


def squeezed(
    run: RunFolder,
    trials: Sequence[Trial],
    workload: str,
    peers: Collection[str],
    hosts: Sequence[Mapping[str, Any]],
    needed: Collection[str],
) -> Squeezed:
    """All that `trials` (of one test that asks for it) show. `peers`: hosts that do the same work of what is pressed; `hosts`: those of environment.json; `needed`: the
    only ones that may bind."""

    def used(windows: Sequence[Window]) -> list[Use]:
        return uses_in(run, windows, hosts, needed)

    windows = unthrottled_windows(run, trials, workload)
    # Gauges from before anything is taken: turns are shorter than the time between two readings, and counters that grow would tell of the squeezed ones, too.
    beside = (inside(lines([], gauged(run, windows, needed))), _doubled(run, trials, workload), _why_not(run, trials, workload))
    own = [trial for trial in trials if _is_squeeze(trial, workload)]
    if not own:
        freely = used(windows)
        return Squeezed({}, _unsqueezed(freely), None, freely, *beside)
    turns = [turn for trial in own for turn in trial.turns]
    over = dict.fromkeys(Candidate(tuple(turn.hosts), turn.resource) for turn in turns if turn.resource is not None and turn.given < 1)
    state = Squeezing(list(over), 0, peers)
    for trial in own:
        state.record(found_in(run, trial, workload))
    return Squeezed(
        state.shown(), state.decide(is_last=True), _relief(run, own, workload, used, state), used(_free(own, workload)), *beside
    )


def _unsqueezed(freely: Sequence[Use]) -> Decision:
    """What is known where nothing was squeezed: that nothing binds, if nothing was used enough for it when all was pressed out of the system."""
    # A full machine under emulated hosts is told as what it is (`proof`).
    own = [use for use in freely if use.resource != "memory" and use.host != EMULATING_MACHINE]
    return Decision([], is_none=bool(own) and not any(map(may_bind, own)))


NOT_SQUEEZED = "not squeezed"
"""In the journal, with `test`, `workload` and `because` (a `NotSqueezed`): why nothing was squeezed, or no further. Older runs have its `reason` in words."""


def _why_not(run: RunFolder, trials: Sequence[Trial], workload: str) -> NotSqueezed | None:
    """The last that was said of it; nothing if it was squeezed since, after a resumption."""
    tests = {trial.test for trial in trials}
    squeezed_at = max((trial.ended_wall_s for trial in trials if _is_squeeze(trial, workload)), default=0.0)
    told = [
        _as_data(entry)
        for entry in run.read_journal()
        if entry["what"] == NOT_SQUEEZED and entry["workload"] == workload and entry["test"] in tests
        and datetime.fromisoformat(entry["at"]).timestamp() >= squeezed_at
    ]  # fmt: skip
    return told[-1] if told else None


def _as_data(entry: Mapping[str, Any]) -> NotSqueezed:
    if "because" not in entry:
        return NotSqueezed(Unsqueezed.REFUSED, detail=entry["reason"])
    given = dict(entry["because"])
    return NotSqueezed(**{**given, "reason": Unsqueezed(given["reason"])})


def used_unthrottled(
    run: RunFolder, trials: Sequence[Trial], workload: str, hosts: Sequence[Mapping[str, Any]], needed: Collection[str]
) -> list[Use]:
    """What was used in the turns of squeezes in which nothing was taken."""
    return uses_in(run, _free(trials, workload), hosts, needed)


def _free(trials: Sequence[Trial], workload: str) -> list[Window]:
    """The turns of squeezes in which nothing was taken."""
    return [_settled(trial, turn) for trial in trials if _is_squeeze(trial, workload) for turn in trial.turns if not turn.hosts]


def _doubled(run: RunFolder, trials: Sequence[Trial], workload: str) -> Doubled | None:
    changes = [log_ratio(once, twice) for once, twice in doubled(run, trials, workload)]
    if len(changes) < RELIEVED_MIN:
        return None
    mean = t_interval(changes, STRICT)
    return Doubled(Mean(percent(mean.value), percent(mean.low), percent(mean.high), mean.n))


def _is_squeeze(trial: Trial, workload: str) -> bool:
    return trial.purpose == Purpose.SQUEEZE and trial.status == "done" and trial.is_about(workload)


def _settled(trial: Trial, turn: SqueezeBlock) -> Window:
    """The part of a turn whose readings tell of nothing before or after it."""
    return trial, turn.start_wall_s + SETTLE_S, turn.end_wall_s - LAST_S


def _relief(run: RunFolder, trials: Sequence[Trial], workload: str, used: Used, state: Squeezing) -> Relief | None:
    found = [(trial, change) for trial in trials for change in _changes(run, trial, workload) if change[0].given > 1]
    # Of one turn alone nothing is known but that.
    if len(found) < RELIEVED_MIN:
        return None
    turn = found[0][1][0]
    gain = state.gain([math.log(max(after / before, RATE_MIN)) for _, (_, before, after) in found])
    more = Mean(percent(gain.value), percent(gain.low), percent(gain.high), gain.n)
    uses = used([_settled(trial, change[0]) for trial, change in found])
    # It had more than its ceiling says.
    relieved = [
        replace(use, ceiling=None if use.ceiling is None else use.ceiling * turn.given)
        for use in uses
        if use.host in turn.hosts and use.resource == turn.resource
    ]
    others = [use for use in uses if use.resource != "memory" and not (use.host in turn.hosts and use.resource == turn.resource)]
    nearest = max(others, key=lambda use: use.fullness, default=None)
    is_near = nearest is not None and nearest.fullness >= NEXT_MIN
    return Relief(turn.given, more, nearest if is_near else None, any(use.is_near for use in relieved))
