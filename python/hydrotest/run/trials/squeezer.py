"""Carries out the squeeze of a workload's limit.

Rounds go on until a bottleneck is proven, nothing that can be squeezed binds, or the budget ends.
A bottleneck is then relieved; where there is none, the generators are doubled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Protocol

from hydrotest.analysis.bottleneck.outcome import NOT_SQUEEZED, found_in, is_relieved, used_unthrottled
from hydrotest.analysis.bottleneck.squeeze import (
    CANDIDATES_MAX,
    LEFT,
    RELIEF,
    Block,
    Candidate,
    Decision,
    Squeezing,
    candidates,
    course,
    has_time,
    reach_s,
    within,
)
from hydrotest.analysis.bottleneck.use import Use
from hydrotest.analysis.bottleneck.windows import pass_s, unthrottled_windows, uses_in
from hydrotest.errors import TrialFailedError
from hydrotest.report.wording.binding import not_squeezed_words
from hydrotest.report.wording.figures import show_elasticities
from hydrotest.run.lifecycle.attempts import TrialsFailedError, until_done
from hydrotest.run.tests.doubling import Doubleable, run_pairs
from hydrotest.run.trials.blocks import Blocks
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import UNTHROTTLED, Bench, LoadSpec
from hydrotest.store import layout
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial
from hydrotest.verdicts.causes import NotSqueezed, Unsqueezed
from hydrotest.verdicts.figures import Squeezed

RELIEF_TURNS = 3
PAIRS = 5
"""Pairs of windows: by the generators, and by twice as many."""
PAIR_WINDOW_S = 4.0
PASS = 0.8
"""Share of a pass's mean time: passes differ."""


class Squeezable(Doubleable, Protocol):
    """A workload that runs for as long as needed, whatever is taken from its hosts; with or without
    generators of its own."""

    async def last(self, seconds: float) -> None:
        """Returns after so many seconds or a little more, when its operations can be counted."""


def skip_squeeze(bench: Bench, index: int, workload: str, why: NotSqueezed, how: str = NOT_SQUEEZED) -> None:
    """Reports why a workload of the test `index` is not squeezed, or no further, and records it for the
    verdict."""
    bench.runner.folder.journal(NOT_SQUEEZED, test=index, workload=workload, because=asdict(why))
    bench.listener.say(f"{workload} is {how}: {not_squeezed_words(why)}")


class Squeezer:
    """Proves the bottleneck of one workload of an isolated test."""

    def __init__(
        self, index: int, workload: Squeezable, budget_s: float, bench: Bench, done: list[Trial], load_spec: LoadSpec = UNTHROTTLED
    ) -> None:
        self.index = index
        self.load_spec = load_spec
        self.workload = workload
        self.budget_s = budget_s
        self._block_s = 0.0
        """The minimum length of a block."""
        self.bench = bench
        self.done = [trial for trial in done if trial.test == index and trial.purpose == Purpose.SQUEEZE and trial.is_about(workload.name)]

    async def run(self) -> None:
        """Squeezes, and relieves a proven bottleneck where there is more to give.

        A workload that cannot run this way costs its proof, not the run.
        """
        name = self.workload.name
        if not any(self.bench.hosts[host].squeezable for host in self._needed):
            self._skip(NotSqueezed(Unsqueezed.NO_SHARE))
            return
        try:
            decision = await self._prove()
            binds = decision.binds
            is_relievable = all(self.bench.hosts[host].relievable for one in binds for host in one.hosts)
            if binds and is_relievable and not is_relieved(self._trials(), name):
                await self._relieve(binds)
            # By schedule, twice as many generators do no more: the schedule is known to be the bound.
            if decision.is_none and self.workload.generator_count and not self.load_spec.peak_per_s:
                await run_pairs(self.bench, self.index, self.workload, PAIRS, PAIR_WINDOW_S, self._trials(), self.load_spec)
        except TrialsFailedError as error:
            self._skip(NotSqueezed(Unsqueezed.REFUSED, detail=error.message), "squeezed no further")

    async def _prove(self) -> Decision:
        """Only squeezes, and returns what that proves.

        Also decides that nothing binds where nothing is used enough for it.
        """
        name, folder = self.workload.name, self.bench.runner.folder
        windows = unthrottled_windows(folder, self._trials(), name)
        over = self._worth_it(uses_in(folder, windows, folder.read_json(layout.ENVIRONMENT)["hosts"], self._needed))
        if not over:
            self._skip(NotSqueezed(Unsqueezed.NOTHING_TO_TAKE))
            return Decision([], is_none=True)
        # A block ends with a pass through the tests, so that it covers that pass and not the next one.
        self._block_s = PASS * max((pass_s(trial, name) for trial, _, _ in windows), default=0.0)
        chosen = within(over, self._peers, self.budget_s, self._block_s)
        if not chosen:
            alone = over[:CANDIDATES_MAX]
            needed = reach_s(alone, self._block_s)
            self._skip(NotSqueezed(Unsqueezed.TOO_SHORT, count=len(alone), seconds=self.budget_s, needed=needed))
            return Decision([])
        if not await self._may_take(chosen):
            return Decision([])
        state = Squeezing(chosen, self.index, self._peers)
        for trial in self.done:
            state.record(found_in(folder, trial, name))
        left_s, rounds = self.budget_s - sum(map(_seconds, self.done)), len(self.done)
        while not state.decide().is_made or self._goes_further(state):
            turns = course([(one.hosts, one.resource, LEFT[one.resource]) for one in state.propose()], self._block_s)
            if not has_time(turns, left_s, rounds):
                break
            self.bench.listener.phase(f"{name}: squeezing what may bind it")
            trial = await self._round(turns)
            left_s, rounds = left_s - max(_seconds(trial), trial.window_s), rounds + 1
            state.record(found_in(folder, trial, name))
            self.bench.listener.trial_ended(trial, None, _told(state))
        return state.decide(is_last=True)

    def _goes_further(self, state: Squeezing) -> bool:
        """True if nothing tried so far binds, and another resource is used enough while nothing is taken.

        That resource is tried from now on.
        """
        if not state.decide().is_none:
            return False
        folder = self.bench.runner.folder
        uses = used_unthrottled(folder, self._trials(), self.workload.name, folder.read_json(layout.ENVIRONMENT)["hosts"], self._needed)
        state.over += [one for one in self._worth_it(uses) if one not in state.over]
        return not state.decide().is_none

    def _worth_it(self, uses: Sequence[Use]) -> list[Candidate]:
        """All used resources that are worth squeezing."""
        hosts = self.bench.hosts.values()
        return candidates(uses, {host.name: host.squeezable for host in hosts}, [host.name for host in hosts if not host.relievable])

    @property
    def _needed(self) -> list[str]:
        return self.bench.experiment.needs(self.workload.name)

    @property
    def _peers(self) -> list[str]:
        return self.bench.experiment.peers(self.workload.name)

    async def _may_take(self, over: Sequence[Candidate]) -> bool:
        """Tries once whether a resource that is not a share of an emulated host can be taken.

        Reports if not.
        """
        for host, resource in {(host, one.resource) for one in over for host in one.hosts if not self.bench.hosts[host].relievable}:
            try:
                await self.bench.hosts[host].give(resource, LEFT[resource])
                await self.bench.hosts[host].give(resource, 1.0)
            except TrialFailedError as error:
                self._skip(NotSqueezed(Unsqueezed.REFUSED, detail=error.message))
                return False
        return True

    def _skip(self, why: NotSqueezed, how: str = NOT_SQUEEZED) -> None:
        skip_squeeze(self.bench, self.index, self.workload.name, why, how)

    def _trials(self) -> list[Trial]:
        return [t for t in self.bench.runner.folder.trials() if t.test == self.index]

    async def _round(self, turns: Sequence[Block]) -> Trial:
        warm_up = self.bench.experiment.search.warm_up
        plan = TrialPlan(f"squeeze-{self.workload.name}", Purpose.SQUEEZE, warm_up, sum(turn.seconds for turn in turns), self.index)
        return await until_done(
            self.bench, lambda: self.workload.trial(plan, self.load_spec, Blocks(self.bench.hosts, turns, plan.warm_up_s, self.workload.last))
        )  # fmt: skip

    async def _relieve(self, binds: Sequence[Candidate]) -> None:
        """Gives more of what binds, on all hosts where it does, to see how far the rate rises and what
        binds next."""
        self.bench.listener.phase(f"{self.workload.name}: relieving what binds it")
        hosts, resource = [host for one in binds for host in one.hosts], binds[0].resource
        self.bench.listener.trial_ended(
            await self._round(course([(hosts, resource, RELIEF)] * RELIEF_TURNS, self._block_s)), None, "measured"
        )


def _seconds(trial: Trial) -> float:
    """Total length of a round's blocks."""
    return trial.turns[-1].end_wall_s - trial.turns[0].start_wall_s if trial.turns else 0.0


def _told(state: Squeezing) -> str:
    shown = sorted(state.shown().items(), key=lambda item: -item[1].value)
    return show_elasticities(Squeezed(one.hosts, one.resource, mean) for one, mean in shown)
