"""The doubling test: load by a workload's generators and by twice as many, in ABBA order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from hydrotest.run.lifecycle.attempts import until_done
from hydrotest.run.trials.trial import Disturbance, TrialPlan
from hydrotest.run.workloads.base import UNTHROTTLED, Bench, LoadSpec, Rated, Workload
from hydrotest.spec.choice import expected
from hydrotest.spec.tests.doubling import Doubling
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial


class Doubleable(Protocol):
    """A workload with generators of its own."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def generator_count(self) -> int:
        """Number of generators."""
        ...

    async def trial(self, plan: TrialPlan, load_spec: LoadSpec, disturbance: Disturbance | None = None) -> Trial:
        """One trial of it alone."""
        ...


async def run_pairs(
    bench: Bench, index: int, workload: Doubleable, pairs: int, window_s: float, done: Sequence[Trial], load_spec: LoadSpec = UNTHROTTLED
) -> None:
    """Windows by its generators and by twice as many, of the test `index`; those in `done` are not
    repeated."""
    own, name = workload.generator_count, workload.name
    have = {
        (t.pair, t.load(name).generators)
        for t in done
        if t.test == index and t.status == "done" and t.purpose == Purpose.DOUBLING and t.is_about(name)
    }
    for pair in range(1, pairs + 1):
        for times in (1, 2) if pair % 2 else (2, 1):
            if (pair, own * times) in have:
                continue
            bench.listener.phase(f"{name}: pair {pair} of {pairs}, {own * times} generator(s)")
            plan = TrialPlan(f"doubling-{name}", Purpose.DOUBLING, bench.experiment.search.warm_up, window_s, index, pair=pair)
            trial = await until_done(bench, partial(workload.trial, plan, replace(load_spec, times=times)))
            bench.listener.trial_ended(trial, None, "measured")


class DoublingTest:
    """Pairs of windows without a rate limit."""

    def __init__(self, index: int, test: Doubling, bench: Bench, workloads: dict[str, Workload], done: list[Trial]) -> None:
        self.index = index
        self.test = test
        self.bench = bench
        self.workload = expected(workloads[test.workload], Rated)
        self.done = done

    async def run(self) -> None:
        """Carries the test out."""
        await self.workload.prepare()
        await run_pairs(self.bench, self.index, self.workload, self.test.pairs, self.test.duration, self.done)
