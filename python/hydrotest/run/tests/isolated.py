"""The isolated test: each workload's limit, or a batch job's times, while the others idle."""

from __future__ import annotations

from itertools import count
from typing import TypeVar

from hydrotest.analysis.by_test.files import next_at_once, rate_of
from hydrotest.analysis.limits.decided import Decided
from hydrotest.analysis.limits.search import limit_search
from hydrotest.analysis.limits.verdict import Verdict, judge
from hydrotest.analysis.measured import Measured
from hydrotest.errors import RunFailedError
from hydrotest.run.lifecycle.attempts import until_done
from hydrotest.run.trials.searcher import Searcher
from hydrotest.run.trials.squeezer import Squeezable, Squeezer, skip_squeeze
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, Rated, Workload
from hydrotest.run.workloads.batch import Batch
from hydrotest.run.workloads.kafka import Consume
from hydrotest.run.workloads.passes import Passes
from hydrotest.spec.check_attached import highest_rate
from hydrotest.spec.choice import expected
from hydrotest.spec.tests.isolated import Isolated
from hydrotest.spec.workload import LimitBy
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial
from hydrotest.units import show_bytes, show_rate
from hydrotest.verdicts.causes import NotSqueezed, Unsqueezed

W = TypeVar("W", bound=Workload)
SETTLE_S = 3.0
"""Additional warm-up for the first trial of a search after another workload has run.

Caches still hold the other workload's data, and code was compiled for it. Seen on two cores, with
Cassandra: where that trial was rejected, its p99 was 2.7 times (median) that of the same rate tried
again; of later rejections, 1.2 times.
"""


class IsolatedTest:
    """Limits of some workloads, one at a time.

    Each main search is completed first. Then, in rounds over the workloads, each of their independent
    searches has a trial. So all are spread over the run and see the machine at different speeds.
    """

    def __init__(self, index: int, test: Isolated, bench: Bench, workloads: dict[str, Workload], done: list[Trial]) -> None:
        self.index = index
        self.test = test
        self.bench = bench
        self.workloads = [workloads[name] for name in test.workloads]
        self.done = [trial for trial in done if trial.test == index and trial.status == "done"]
        self._pressed: str | None = None
        """The workload that ran last."""

    async def run(self) -> None:
        """Carries the test out."""
        searchers = await self._searchers()
        consumers = self._of(LimitBy.CATCH_UP, Consume)
        batches = self._of(LimitBy.TIMES, Batch)
        for batch in batches:
            await self._times(batch)
        for files in self._of(LimitBy.PASSES, Passes):
            await self._passes(files)
        repeats = self.bench.experiment.search.repeats
        for turn in count(1):
            for searcher in searchers:
                await searcher.run_turn()
            for consumer in consumers if turn <= repeats else []:
                await self._catch_up(consumer, turn)
            if turn >= repeats and all(searcher.over for searcher in searchers):
                break
        if self.test.squeeze is not None:
            # A pipeline with batches of seconds does not show the effect of blocks of seconds.
            flowing: list[Squeezable] = [p for p in self._of(LimitBy.SEARCH, Rated) if p.spec.is_squeezable]
            for prepared in [*consumers, *batches]:
                await prepared.prepare()  # not yet done where a resumed run has their trials
            for workload in [*flowing, *consumers, *[batch for batch in batches if self._always_ends(batch)]]:
                await Squeezer(self.index, workload, self.test.squeeze, self.bench, self.done).run()

    async def _searchers(self) -> list[Searcher]:
        return [await self._searcher(p) for p in self._of(LimitBy.SEARCH, Rated)]

    def _of(self, how: LimitBy, kind: type[W]) -> list[W]:
        """The workloads whose limit is found in this way."""
        return [expected(workload, kind) for workload in self.workloads if workload.spec.limit_by is how]

    async def _searcher(self, workload: Rated) -> Searcher:
        await workload.prepare()
        allowed = highest_rate(self.bench.experiment, workload.name)
        rate = await self._saturated(workload) if allowed is None else allowed
        searcher = self._search(workload, rate, allowed)
        for trial in self.done:
            if trial.purpose.is_searched and trial.is_about(workload.name):
                searcher.replay(trial, trial.load(workload.name).offered)
        return searcher

    async def _saturated(self, workload: Rated) -> float:
        """The rate without a rate limit, which a search's grid lies below. Raises `RunFailedError` where nothing is completed."""
        settings = self.bench.experiment.search
        earlier = [t for t in self.done if t.purpose == Purpose.SATURATED and t.is_about(workload.name)]
        if not earlier:
            self.bench.listener.phase(f"saturating {workload.name}")
            plan = TrialPlan(f"saturated-{workload.name}", Purpose.SATURATED, settings.warm_up, settings.saturated, self.index)
            earlier = [await until_done(self.bench, lambda: workload.saturate(plan))]
        measured = max(Measured.read(self.bench.runner.folder, trial, workload.name).achieved for trial in earlier)
        # A resumed search stays on its grid.
        rate = Decided.read(self.bench.runner.folder).saturated(self.index, workload.name) or measured
        if rate <= 0:
            raise RunFailedError(
                f"{workload.name} completed nothing without a rate limit",
                "Look at `outcome.errors` of its last trial, and at the logs of its system.",
            )
        self.bench.listener.say(f"{workload.name}: saturated at {show_rate(rate)}/s")
        return rate

    def _search(self, workload: Rated, saturated: float, allowed: float | None) -> Searcher:
        settings = self.bench.experiment.search
        objective = self.bench.experiment.objective(workload.name)

        async def attempt(rate: float) -> Trial:
            settle = 0.0 if self._pressed == workload.name else SETTLE_S
            self._pressed = workload.name
            plan = TrialPlan(f"search-{workload.name}", Purpose.SEARCH, settings.warm_up + settle, settings.window, self.index)
            return await workload.open_loop(rate, plan)

        def verdict(trial: Trial) -> Verdict:
            return judge(Measured.read(self.bench.runner.folder, trial, workload.name), objective)

        return Searcher(self.index, workload.name, limit_search(saturated, settings, allowed), self.bench, attempt, verdict)

    async def _times(self, batch: Batch) -> None:
        """A batch job has times, not rates: each of its tests runs as often as there are searches."""
        if any(t.purpose == Purpose.BATCH and t.is_about(batch.name) for t in self.done):
            return
        await batch.prepare()
        plan = TrialPlan(f"batch-{batch.name}", Purpose.BATCH, 0.0, 0.0, self.index)
        trial = await until_done(self.bench, lambda: batch.measure(plan, self.bench.experiment.search.repeats))
        runs = trial.load(batch.name).iterations or []
        times = ", ".join(
            f"{i.test} {'not ended after ' if i.hung else '' if i.finished else 'failed after '}{i.seconds:.1f} s" for i in runs
        )
        self.bench.listener.trial_ended(trial, None, times)

    def _always_ends(self, batch: Batch) -> bool:
        """True if all its tests ended; otherwise their rate is unknown."""
        runs = [run for trial in self.bench.runner.folder.trials() if trial.test == self.index and trial.purpose == Purpose.BATCH and trial.is_about(batch.name)
                for run in trial.load(batch.name).iterations or []]  # fmt: skip
        broken = next((run for run in runs if not run.finished), None)
        if broken is not None:
            skip_squeeze(self.bench, self.index, batch.name, NotSqueezed(Unsqueezed.TEST_FAILS, detail=broken.test))
        return broken is None

    async def _passes(self, files: Passes) -> None:
        """Files have no schedule: more at once, until throughput no longer rises; then the best number,
        once per search."""
        done = [t.load(files.name).files for t in self.done if t.purpose == Purpose.FILES and t.is_about(files.name)]
        passes = [(one.at_once, rate_of(one)) for one in done if one is not None]
        await files.prepare()

        async def measure(at_once: int) -> None:
            plan = TrialPlan(f"files-{files.name}", Purpose.FILES, 0.0, 0.0, self.index)
            trial = await until_done(self.bench, lambda: files.measure(plan, at_once))
            found = trial.load(files.name).files
            assert found is not None
            passes.append((at_once, rate_of(found)))
            self.bench.listener.trial_ended(trial, None, f"{show_bytes(round(passes[-1][1]))}/s")

        while (number := next_at_once(passes, files.spec.at_once)) is not None and (self.bench.has_time or not passes):
            await measure(number)
        best = max(passes, key=lambda one: one[1])[0]
        for _ in range(self.bench.experiment.search.repeats - sum(at_once == best for at_once, _ in passes)):
            if self.bench.has_time:
                await measure(best)

    async def _catch_up(self, consumer: Consume, number: int) -> None:
        if len([t for t in self.done if t.purpose == Purpose.CATCH_UP and t.is_about(consumer.name)]) >= number:
            return
        await consumer.prepare()
        self._pressed = consumer.name
        self.bench.listener.phase(f"{consumer.name} catches up, {number} of {self.bench.experiment.search.repeats}")
        settings = self.bench.experiment.search
        plan = TrialPlan(f"catch-up-{consumer.name}", Purpose.CATCH_UP, settings.warm_up, settings.window, self.index, f"repeat-{number}")
        trial = await until_done(self.bench, lambda: consumer.catch_up(plan))
        rate = Measured.read(self.bench.runner.folder, trial, consumer.name).achieved
        self.bench.listener.trial_ended(trial, None, f"{show_rate(rate)}/s")
