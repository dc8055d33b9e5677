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
from hydrotest.verdicts.causes import NotSqueezed, Unsqueezed
from hydrotest.verdicts.evidence import InsideLine
from hydrotest.verdicts.figures import EMULATING_MACHINE, Gain, Mean

NEXT_MIN = 0.7
"""Share of its ceiling, or of its quota's periods, from which the next bottleneck after a relief is named."""
RELIEVED_MIN = 2
"""Least blocks with more of what binds for a result."""
GIVES_MIN = 10.0
"""Percent. If more of a resource gives significantly less than this, it had headroom before it was
squeezed."""
LAST_S = 0.5
"""A reading this long after a window's end still counts in it (`trial_host_rates`); for a block it would
belong to the next one."""


@dataclass(frozen=True)
class Relief:
    """The effect of more of the binding resource. `change`: of the rate in percent; `next`: what else was
    nearest to its ceiling then, if it was near; `is_still`: the relieved resource was near its own again."""

    given: float
    change: Mean
    next: Use | None
    is_still: bool = False

    @property
    def gives(self) -> bool:
        """True if more of it gave significantly more."""
        return self.change.low > 0

    @property
    def has_room(self) -> bool:
        """True if twice as much gave next to nothing, significantly, and nothing else was near its ceiling,
        which would explain it."""
        return self.change.high < GIVES_MIN and self.next is None

    @property
    def at(self) -> float | None:
        """The rate at which `next` binds, relative to the rate before the relief; None without `next`. It is
        the rate with the relief, unless the relieved resource still binds. Then it extends to the ceiling of
        `next`, whose use is taken to grow with the rate."""
        if self.next is None:
            return None
        reached = 1 + self.change.value / 100
        # A share of its quota's periods does not grow with the rate, but leaves it no headroom.
        used = self.next.fullness if self.next.is_near else self.next.share or self.next.fullness
        return reached / min(1.0, used) if self.is_still else reached

    @property
    def gain(self) -> Gain:
        """For a finding."""
        return Gain(self.given, self.change)


@dataclass(frozen=True)
class Doubled:
    """The effect of twice as many generators, with twice as much in flight, on the same system. Change of the
    rate in percent, with its 99 % interval."""

    change: Mean

    @property
    def gives(self) -> bool:
        """True if it was significantly and noticeably more: then the generators' operations in flight were
        the limit."""
        return self.change.low > 0 and self.change.value >= GIVES_MIN

    @property
    def is_idle(self) -> bool:
        """True if it was significantly next to nothing: then they were not."""
        return self.change.high < GIVES_MIN


@dataclass(frozen=True)
class Squeezed:
    """All rounds of one workload's squeeze."""

    elasticities: dict[Candidate, Mean]
    decision: Decision
    relief: Relief | None
    freely: Sequence[Use] = ()
    """Use in the unchanged blocks; if nothing was squeezed, under unthrottled load."""
    inside: Sequence[InsideLine] = ()
    """Limits inside the systems whose gauges were full under unthrottled load."""
    doubled: Doubled | None = None
    """Measured if nothing that was squeezed binds."""
    why_not: NotSqueezed | None = None
    """Why nothing was squeezed, or no further."""


Used = Callable[[Sequence[Window]], list[Use]]
"""Use over some windows, of the hosts that a workload needs."""


def rate_of(run: RunFolder, trial: Trial, workload: str) -> Callable[[SqueezeBlock], float | None]:
    """The rate of a workload in a block, completions or iterations per second; None if unknown."""
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
    """True if the effect of more of what binds has been measured."""
    return any(turn.given > 1 for trial in trials if _is_squeeze(trial, workload) for turn in trial.turns)


def squeezed(
    run: RunFolder,
    trials: Sequence[Trial],
    workload: str,
    peers: Collection[str],
    hosts: Sequence[Mapping[str, Any]],
    needed: Collection[str],
) -> Squeezed:
    """All that `trials` (of one test that asks for it) show. `peers`: hosts of the system under load that do
    the same work; `hosts`: those of environment.json; `needed`: the only ones that may bind."""

    def used(windows: Sequence[Window]) -> list[Use]:
        return uses_in(run, windows, hosts, needed)

    windows = unthrottled_windows(run, trials, workload)
    # Gauges from before anything is taken: blocks are shorter than the time between two readings, and growing
    # counters would include the squeezed ones.
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
    """The decision if nothing was squeezed: nothing binds, if no use was high enough under unthrottled
    load."""
    # A full machine under emulated hosts is reported as such (`proof`).
    own = [use for use in freely if use.resource != "memory" and use.host != EMULATING_MACHINE]
    return Decision([], is_none=bool(own) and not any(map(may_bind, own)))


NOT_SQUEEZED = "not squeezed"
"""In the journal, with `test`, `workload` and `because` (a `NotSqueezed`): why nothing was squeezed, or no
further. Older runs have its `reason` in words."""


def _why_not(run: RunFolder, trials: Sequence[Trial], workload: str) -> NotSqueezed | None:
    """The latest reason; None if it was squeezed since, after a resumption."""
    tests = {trial.test for trial in trials}
    squeezed_at = max((trial.ended_wall_s for trial in trials if _is_squeeze(trial, workload)), default=0.0)
    stated = [
        _as_data(entry)
        for entry in run.read_journal()
        if entry["what"] == NOT_SQUEEZED and entry["workload"] == workload and entry["test"] in tests
        and datetime.fromisoformat(entry["at"]).timestamp() >= squeezed_at
    ]  # fmt: skip
    return stated[-1] if stated else None


def _as_data(entry: Mapping[str, Any]) -> NotSqueezed:
    if "because" not in entry:
        return NotSqueezed(Unsqueezed.REFUSED, detail=entry["reason"])
    given = dict(entry["because"])
    return NotSqueezed(**{**given, "reason": Unsqueezed(given["reason"])})


def used_unthrottled(
    run: RunFolder, trials: Sequence[Trial], workload: str, hosts: Sequence[Mapping[str, Any]], needed: Collection[str]
) -> list[Use]:
    """Use in the unchanged blocks of squeezes."""
    return uses_in(run, _free(trials, workload), hosts, needed)


def _free(trials: Sequence[Trial], workload: str) -> list[Window]:
    """The unchanged blocks of squeezes."""
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
    """The part of a block whose readings show nothing from before or after it."""
    return trial, turn.start_wall_s + SETTLE_S, turn.end_wall_s - LAST_S


def _relief(run: RunFolder, trials: Sequence[Trial], workload: str, used: Used, state: Squeezing) -> Relief | None:
    found = [(trial, change) for trial in trials for change in _changes(run, trial, workload) if change[0].given > 1]
    # One block alone shows nothing significant.
    if len(found) < RELIEVED_MIN:
        return None
    turn = found[0][1][0]
    gain = state.gain([math.log(max(after / before, RATE_MIN)) for _, (_, before, after) in found])
    more = Mean(percent(gain.value), percent(gain.low), percent(gain.high), gain.n)
    uses = used([_settled(trial, change[0]) for trial, change in found])
    # It had more than its recorded ceiling.
    relieved = [
        replace(use, ceiling=None if use.ceiling is None else use.ceiling * turn.given)
        for use in uses
        if use.host in turn.hosts and use.resource == turn.resource
    ]
    others = [use for use in uses if use.resource != "memory" and not (use.host in turn.hosts and use.resource == turn.resource)]
    nearest = max(others, key=lambda use: use.fullness, default=None)
    is_near = nearest is not None and nearest.fullness >= NEXT_MIN
    return Relief(turn.given, more, nearest if is_near else None, any(use.is_near for use in relieved))
