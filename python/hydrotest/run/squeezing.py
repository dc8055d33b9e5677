"""Carries the squeeze of a workload's limit out: rounds until what binds is proven, nothing that can be squeezed binds, or the budget ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from hydrotest.analysis.squeeze import LEFT, RELIEF, TURN_S, Candidate, Squeezing
from hydrotest.analysis.squeezed import candidates_of, found_in, squeezed
from hydrotest.hosts.base import Host
from hydrotest.hosts.lab.netns import NetnsHost
from hydrotest.run.attempts import has, until_done
from hydrotest.run.trial import TrialPlan
from hydrotest.run.workloads.base import SATURATING, Bench, Pressing, Rated
from hydrotest.store import layout
from hydrotest.store.records import SqueezeTurn, Trial

RELIEF_TURNS = 3


class Turns:
    """Takes from hosts and gives back, turn by turn, while generators press."""

    def __init__(self, hosts: Mapping[str, Host], turns: Sequence[tuple[Sequence[str], str | None, float]], delay_s: float) -> None:
        self.hosts = hosts
        self.turns = turns
        """(hosts, resource, factor); without hosts all have what they are to have."""
        self.delay_s = delay_s
        self.done: list[SqueezeTurn] = []
        self.records: dict[str, Any] = {"turns": self.done}

    async def carry_out(self) -> None:
        """See `Disturbance`."""
        await asyncio.sleep(self.delay_s)
        for names, resource, factor in self.turns:
            hosts = [host for name in names if isinstance(host := self.hosts[name], NetnsHost)]
            try:
                for host in hosts:
                    await host.give(resource or "", factor)
                began = time.time()
                await asyncio.sleep(TURN_S)
                ended = time.time()
            finally:
                for host in hosts:
                    await host.give(resource or "", 1.0)
            self.done.append(SqueezeTurn(hosts=list(names), resource=resource, given=factor, start_wall_s=began, end_wall_s=ended))


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
        self.done = [trial for trial in done if trial.test == index and trial.purpose == "squeeze" and has(trial, pressable.name)]

    async def run(self) -> None:
        """Squeezes, and relieves what was proven to bind. Nothing is squeezed that emulated hosts do not have."""
        name, folder = self.pressable.name, self.bench.runner.folder
        squeezable = {host.name: host.squeezable for host in self.bench.hosts.values() if isinstance(host, NetnsHost)}
        saturated = [
            t for t in folder.trials() if t.test == self.index and t.purpose == "saturated" and t.status == "done" and has(t, name)
        ]
        over = candidates_of(folder, saturated, folder.read_json(layout.ENVIRONMENT)["hosts"], squeezable)
        state = Squeezing(over, self.index)
        for trial in self.done:
            state.tell(found_in(folder, trial, name))
        spent = sum(trial.window_s for trial in self.done)
        while over and not state.decide().is_made and spent < self.budget_s:
            self.bench.listener.phase(f"{name}: squeezing what may bind it")
            around: list[tuple[Sequence[str], str | None, float]] = [([], None, 1.0)]
            for candidate in state.propose():
                around += [([candidate.host], candidate.resource, LEFT[candidate.resource]), ([], None, 1.0)]
            trial = await self._round(around)
            spent += trial.window_s
            state.tell(found_in(folder, trial, name))
            self.bench.listener.trial_ended(trial, None, _told(state))
        decision = state.decide()
        if decision.binds and squeezed(folder, self._trials(), name).relief is None:
            await self._relieve(decision.binds)

    def _trials(self) -> list[Trial]:
        return [t for t in self.bench.runner.folder.trials() if t.test == self.index]

    async def _round(self, turns: Sequence[tuple[Sequence[str], str | None, float]]) -> Trial:
        warm_up = self.bench.experiment.search.warm_up
        plan = TrialPlan(f"squeeze-{self.pressable.name}", "squeeze", warm_up, len(turns) * TURN_S, self.index)
        return await until_done(
            self.bench, lambda: self.pressable.trial(plan, self.pressing, Turns(self.bench.hosts, turns, plan.warm_up_s))
        )  # fmt: skip

    async def _relieve(self, binds: Sequence[Candidate]) -> None:
        """Gives more of what binds, on all hosts where it does, to see how far the rate rises and what binds next."""
        self.bench.listener.phase(f"{self.pressable.name}: relieving what binds it")
        hosts, resource = [one.host for one in binds], binds[0].resource
        turns: list[tuple[Sequence[str], str | None, float]] = [([], None, 1.0)]
        for _ in range(RELIEF_TURNS):
            turns += [(hosts, resource, RELIEF), ([], None, 1.0)]
        self.bench.listener.trial_ended(await self._round(turns), None, "measured")


def _told(state: Squeezing) -> str:
    shown = sorted(state.shown().items(), key=lambda item: -item[1].value)
    return "; ".join(f"{one} {mean}" for one, mean in shown)
