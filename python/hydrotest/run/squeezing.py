"""Carries the squeeze of a workload's limit out: rounds until what binds is proven, nothing that can be squeezed binds, or the budget ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from hydrotest.analysis.squeeze import LEFT, RELIEF, Candidate, Squeezing, Turn, course, groups, within
from hydrotest.analysis.squeezed import candidates_of, found_in, squeezed
from hydrotest.hosts.base import Host
from hydrotest.hosts.lab.netns import NetnsHost
from hydrotest.run.attempts import until_done
from hydrotest.run.trial import TrialPlan
from hydrotest.run.workloads.base import SATURATING, Bench, Pressing, Rated
from hydrotest.store import layout
from hydrotest.store.records import SqueezeTurn, Trial

RELIEF_TURNS = 3


class Turns:
    """Takes from hosts and gives back, turn by turn, while generators press."""

    def __init__(self, hosts: Mapping[str, Host], turns: Sequence[Turn], delay_s: float) -> None:
        self.hosts = hosts
        self.turns = turns
        self.delay_s = delay_s
        self.done: list[SqueezeTurn] = []
        self.records: dict[str, Any] = {"turns": self.done}

    async def carry_out(self) -> None:
        """See `Disturbance`."""
        await asyncio.sleep(self.delay_s)
        for turn in self.turns:
            hosts = [host for name in turn.hosts if isinstance(host := self.hosts[name], NetnsHost)]
            try:
                for host in hosts:
                    await host.give(turn.resource or "", turn.given)
                began = time.time()
                await asyncio.sleep(turn.seconds)
                ended = time.time()
            finally:
                for host in hosts:
                    await host.give(turn.resource or "", 1.0)
            self.done.append(SqueezeTurn.model_validate({"hosts": list(turn.hosts), "resource": turn.resource, "given": turn.given,
                                                         "start_wall_s": began, "end_wall_s": ended}))  # fmt: skip


class Squeezer:
    """Proves what binds one workload of an isolated test."""

    def __init__(
        self, index: int, pressable: Rated, budget_s: float, bench: Bench, done: list[Trial], pressing: Pressing = SATURATING
    ) -> None:
        self.index = index
        self.pressing = pressing
        self.pressable = pressable
        self.budget_s = budget_s
        self.bench = bench
        self.done = [trial for trial in done if trial.test == index and trial.purpose == "squeeze" and trial.is_about(pressable.name)]

    async def run(self) -> None:
        """Squeezes, and relieves what was proven to bind. Nothing is squeezed that emulated hosts do not have."""
        name, folder = self.pressable.name, self.bench.runner.folder
        squeezable = {host.name: host.squeezable for host in self.bench.hosts.values() if isinstance(host, NetnsHost)}
        saturated = [
            t for t in folder.trials() if t.test == self.index and t.purpose == "saturated" and t.status == "done" and t.is_about(name)
        ]
        over = candidates_of(folder, saturated, folder.read_json(layout.ENVIRONMENT)["hosts"], squeezable)
        state = Squeezing(within(over, groups(over, self.bench.experiment.generators_apart(name)), self.budget_s), self.index)
        for trial in self.done:
            state.tell(found_in(folder, trial, name))
        spent = sum(trial.window_s for trial in self.done)
        while over and not state.decide().is_made and spent < self.budget_s:
            self.bench.listener.phase(f"{name}: squeezing what may bind it")
            trial = await self._round(course([(one.hosts, one.resource, LEFT[one.resource]) for one in state.propose()]))
            spent += trial.window_s
            state.tell(found_in(folder, trial, name))
            self.bench.listener.trial_ended(trial, None, _told(state))
        decision = state.decide()
        if decision.binds and squeezed(folder, self._trials(), name).relief is None:
            await self._relieve(decision.binds)

    def _trials(self) -> list[Trial]:
        return [t for t in self.bench.runner.folder.trials() if t.test == self.index]

    async def _round(self, turns: Sequence[Turn]) -> Trial:
        warm_up = self.bench.experiment.search.warm_up
        plan = TrialPlan(f"squeeze-{self.pressable.name}", "squeeze", warm_up, sum(turn.seconds for turn in turns), self.index)
        return await until_done(
            self.bench, lambda: self.pressable.trial(plan, self.pressing, Turns(self.bench.hosts, turns, plan.warm_up_s))
        )  # fmt: skip

    async def _relieve(self, binds: Sequence[Candidate]) -> None:
        """Gives more of what binds, on all hosts where it does, to see how far the rate rises and what binds next."""
        self.bench.listener.phase(f"{self.pressable.name}: relieving what binds it")
        hosts, resource = [host for one in binds for host in one.hosts], binds[0].resource
        self.bench.listener.trial_ended(await self._round(course([(hosts, resource, RELIEF)] * RELIEF_TURNS)), None, "measured")


def _told(state: Squeezing) -> str:
    shown = sorted(state.shown().items(), key=lambda item: -item[1].value)
    return "; ".join(f"{one} {mean}" for one, mean in shown)
