"""The calibration: what operations cost, at several rates and with less of the cores."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from hydrotest.analysis.bottleneck.squeeze import Block
from hydrotest.analysis.demand.turns import full_rate, most_stolen
from hydrotest.analysis.resources.quiet import STEAL_MAX
from hydrotest.errors import RunFailedError
from hydrotest.report.wording.trial import disturbances_words
from hydrotest.run.lifecycle.attempts import until_done
from hydrotest.run.trials.blocks import Blocks
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import UNTHROTTLED, Bench, LoadSpec, LoadWorkload, Rated, Workload
from hydrotest.spec.choice import expected
from hydrotest.spec.tests.calibrate import RATES, Calibrate
from hydrotest.spec.tests.profile import Stretch
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial
from hydrotest.units import show_rate
from hydrotest.verdicts.trial import Disturbance, Disturbing

CALIBRATED = "calibrated"
"""In the journal, when all rounds are over: `test`."""
WITHOUT, BY_RATE = "without", "by-rate"
"""The two trials of each round of a workload, as their `search` names them."""
STOLEN_MAX = 1
"""How often a trial is repeated in which the hypervisor took cores away: on a machine where it always does, a calibration takes twice its
time."""
FEWER = 0.5
"""Of the rates, after a round in which the highest was too much by schedule."""


@dataclass(frozen=True)
class Measured:
    """What is measured."""

    name: str
    source: Rated
    """The workload that has a rate."""
    readers: Sequence[LoadWorkload]
    """Of its records."""


class CalibrateTest:
    """Rounds over workloads; each round has a trial without a rate limit and one by schedule."""

    def __init__(self, index: int, test: Calibrate, bench: Bench, workloads: dict[str, Workload], done: list[Trial]) -> None:
        self.index = index
        self.test = test
        self.bench = bench
        self.measured = [
            Measured(name, expected(workloads[source], Rated), [expected(workloads[one], LoadWorkload) for one in readers])
            for name, (source, *readers) in test.measured(bench.experiment).items()
        ]
        self.done: dict[tuple[str, str | None], list[Trial]] = defaultdict(list)
        for one in done:
            if one.test == index and one.status == "done" and one.purpose == Purpose.CALIBRATE:
                self.done[one.slug, one.search].append(one)
        self.scales = dict.fromkeys(test.workloads, 1.0)

    async def run(self) -> None:
        """Carries the test out."""
        for one in self.measured:
            await one.source.prepare()
            for reader in one.readers:
                await reader.prepare_together()
        for number in range(self.test.rounds):
            dice = random.Random(f"{self.index} {number}")
            for one in dice.sample(self.measured, len(self.measured)):
                await self._round(one, number + 1, dice)
        self.bench.runner.folder.journal(CALIBRATED, test=self.index)

    async def _round(self, measured: Measured, number: int, dice: random.Random) -> None:
        name, window = measured.name, self.test.window
        self.bench.listener.phase(f"{name}: round {number} of {self.test.rounds}")
        less = [
            Block(tuple(hosts), resource, share, window)
            for resource, share in self.test.given
            if (hosts := self._given(measured.source.name, resource))
        ]
        turns = [Block((), None, 1.0, window)]
        for block in dice.sample(less, len(less)):
            turns += [block, turns[0]]
        without = await self._trial(measured, f"{WITHOUT}-{number}", turns, UNTHROTTLED)
        rate = full_rate(self.bench.runner.folder, without, measured.source.name)
        if not rate:
            raise RunFailedError(f"{name} completed nothing without a rate limit", "Look at the logs of its system.")
        rates = [share * rate * self.scales[name] for share in dice.sample(RATES, len(RATES))]
        stretches = tuple(Stretch.model_validate({"rate": one, "duration": f"{window:g} s"}) for one in rates)
        by_rate = await self._trial(measured, f"{BY_RATE}-{number}", [turns[0]] * len(rates), LoadSpec(stretches=stretches))
        outcome = by_rate.load(measured.source.name).outcome
        if outcome is not None and outcome.gave_up:
            self.scales[name] *= FEWER
        self.bench.listener.say(f"{name}: {show_rate(rate)}/s without a rate limit")

    def _given(self, name: str, resource: str) -> list[str]:
        """The hosts of its system, if all of them have a share of the resource that can be another at once."""
        hosts = self._hosts(name)
        return hosts if all(self.bench.hosts[host].relievable and resource in self.bench.hosts[host].squeezable for host in hosts) else []

    def _hosts(self, name: str) -> list[str]:
        """The hosts of a workload's system."""
        system = self.bench.experiment.workloads[name].presses_on
        return [] if system is None else list(self.bench.experiment.systems.present()[system].hosts)

    async def _trial(self, measured: Measured, search: str, turns: list[Block], load: LoadSpec) -> Trial:
        slug = f"calibrate-{measured.name}"
        done = self.done.get((slug, search), [])
        if done and (len(done) > STOLEN_MAX or not self._stolen(measured, done[-1])):
            return done[-1]
        warm_up = self.bench.experiment.search.warm_up if load is UNTHROTTLED else 0.0
        plan = TrialPlan(slug, Purpose.CALIBRATE, warm_up, sum(turn.seconds for turn in turns), self.index, search)
        left = STOLEN_MAX - len(done)
        while True:
            trial = await until_done(self.bench, partial(self._attempt, measured, plan, load, turns))
            stolen = self._stolen(measured, trial)
            if not stolen or not left:
                self.bench.listener.trial_ended(trial, None, "measured" if not stolen else f"measured, though {disturbances_words(stolen)}")
                return trial
            # Its quiet turns count all the same.
            self.bench.listener.trial_ended(trial, None, f"repeated, since {disturbances_words(stolen)}")
            left -= 1

    def _stolen(self, measured: Measured, trial: Trial) -> list[Disturbance]:
        """What the hypervisor took of the system's hosts in a turn, where that is too much for it to count."""
        found = most_stolen(self.bench.runner.folder, trial, measured.source.name, self._hosts(measured.source.name))
        return [] if found is None or found[1] <= STEAL_MAX else [Disturbance(Disturbing.STOLEN, *found)]

    async def _attempt(self, measured: Measured, plan: TrialPlan, load: LoadSpec, turns: list[Block]) -> Trial:
        blocks = Blocks(self.bench.hosts, turns, plan.warm_up_s, measured.source.last)
        if measured.readers:
            return await measured.source.trial_with(measured.readers, plan, load, blocks)
        return await measured.source.trial(plan, load, blocks)
