"""The combined test: the safe working point, the interference at it, and all workloads unthrottled."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hydrotest.analysis.limits.rows import isolated_limits
from hydrotest.analysis.limits.verdict import disturbance
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.together.combined import COMBINED_SKIPPED, Together
from hydrotest.analysis.together.search import TogetherVerdict, judge_together, safe_search
from hydrotest.report.wording.problem import problem_words
from hydrotest.report.wording.trial import disturbances_words
from hydrotest.run.lifecycle.attempts import until_done
from hydrotest.run.trials.concurrent import load_workloads, prepare_all, run_concurrently
from hydrotest.run.trials.searcher import Searcher
from hydrotest.run.trials.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, LoadWorkload, Workload
from hydrotest.spec.tests.combined import Combined
from hydrotest.spec.workload import LimitBy
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial
from hydrotest.verdicts.problem import NoIsolatedLimit

BATCH_WINDOWS = 2.5
"""A window in which a batch job loops is at least this many times as long as its longest test took alone.

Together it is slower, and a test that does not end gives no figure.
"""
BATCH_WINDOW_S_MAX = 120.0
DISTURBED_MAX = 2
"""Limit on repeats of a disturbed half of a pair."""


class CombinedTest:
    """Some workloads together."""

    def __init__(self, index: int, test: Combined, bench: Bench, workloads: dict[str, Workload], done: list[Trial]) -> None:
        self.index = index
        self.test = test
        self.bench = bench
        self.load_workloads = load_workloads(workloads, test.workloads)
        self.done = [trial for trial in done if trial.test == index and trial.status == "done"]

    async def run(self) -> None:
        """Carries the test out."""
        await prepare_all(self.load_workloads)
        if self.test.rates:
            await self._interference(dict(self.test.rates))
            return
        limits = isolated_limits(self.bench.runner.folder, self.bench.experiment)
        lacking = [p.name for p in self.load_workloads if p.spec.is_scheduled and not limits.get(p.name)]
        if lacking:
            self.bench.runner.folder.journal(COMBINED_SKIPPED, workloads=lacking)
            self.bench.listener.say(f"combined: {problem_words(NoIsolatedLimit(tuple(lacking)))}")
            return
        fraction = await self._safe_working_point(limits)
        if fraction is None:
            self.bench.listener.say("no fraction of the isolated limits is sustained by all together; interference is not measured")
        else:
            await self._interference({name: rate * fraction for name, rate in limits.items()})
        await self._all_out()

    async def _safe_working_point(self, limits: dict[str, float]) -> float | None:
        settings = self.bench.experiment.search
        search = safe_search(self.bench.experiment, self.test)

        async def attempt(fraction: float) -> Trial:
            plan = TrialPlan("search-combined", Purpose.SEARCH, settings.warm_up, self._window(settings.window), self.index, None, "combined",
                             fraction=fraction)  # fmt: skip
            return await run_concurrently(self.bench, plan, self.load_workloads, {name: rate * fraction for name, rate in limits.items()})

        def judge(trial: Trial) -> TogetherVerdict:
            return judge_together(self.bench.runner.folder, self.bench.experiment, trial)

        searcher = Searcher(self.index, "combined", search, self.bench, attempt, judge, is_fraction=True)
        for trial in self.done:
            if trial.purpose.is_searched and trial.fraction is not None:
                searcher.replay(trial, trial.fraction)
        while not searcher.over:
            await searcher.run_turn()
        folder, experiment = self.bench.runner.folder, self.bench.experiment
        return Together(folder, experiment, folder.trials(), limits, self.index).working_fraction

    async def _interference(self, rates: dict[str, float]) -> None:
        """Pairs of windows at the same rates: each workload alone, and all together, in random order
        within a pair."""
        settings = self.bench.experiment.search
        subjects: list[LoadWorkload | None] = [*(p for p in self.load_workloads if p.spec.limit_by is not LimitBy.NOTHING), None]
        have = {(trial.pair, trial.subject) for trial in self.done if trial.purpose in (Purpose.ALONE, Purpose.TOGETHER)}
        for pair in range(1, self.test.pairs + 1):
            # Seeded by the pair, so that a resumed run goes on in the same order.
            order = random.Random(pair).sample(subjects, len(subjects))
            for subject in order:
                name = None if subject is None else subject.name
                if (pair, name) in have:
                    continue
                self.bench.listener.phase(f"interference, pair {pair} of {self.test.pairs}: {name or 'all together'}")
                purpose = Purpose.TOGETHER if subject is None else Purpose.ALONE
                plan = TrialPlan(f"{purpose}-{name or 'all'}", purpose, settings.warm_up, self._window(self.test.window), self.index, None,
                                 "combined" if subject is None else "isolated", pair=pair, subject=name)  # fmt: skip
                chosen = self.load_workloads if subject is None else self._with_source(subject)
                await self._undisturbed(plan, chosen, rates)

    async def _undisturbed(self, plan: TrialPlan, chosen: Sequence[LoadWorkload], rates: dict[str, float]) -> None:
        """One half of a pair; repeated, a few times, if a JVM compiled or cores were stolen meanwhile.

        The last one counts.
        """
        for left in range(DISTURBED_MAX, -1, -1):
            trial = await until_done(self.bench, lambda: run_concurrently(self.bench, plan, chosen, rates))
            parts = [Measured.read(self.bench.runner.folder, trial, load.workload) for load in trial.loads if load.outcome is not None]
            disturbed = next((found for part in parts if (found := disturbance(part))), ())
            if not disturbed or left == 0:
                self.bench.listener.trial_ended(
                    trial, None, "measured" if not disturbed else f"measured, though {disturbances_words(disturbed)}"
                )
                return
            self.bench.listener.trial_ended(trial, None, f"repeated, since {disturbances_words(disturbed)}")

    async def _all_out(self) -> None:
        """All without a rate limit: the rate that each achieves."""
        settings = self.bench.experiment.search
        have = len([trial for trial in self.done if trial.purpose == Purpose.ALL_OUT])
        for number in range(have + 1, settings.repeats + 1):
            self.bench.listener.phase(f"all without a rate limit, {number} of {settings.repeats}")
            plan = TrialPlan("all-out", Purpose.ALL_OUT, settings.warm_up, self._window(settings.saturated), self.index, None, "combined")
            trial = await until_done(self.bench, lambda: run_concurrently(self.bench, plan, self.load_workloads, {}))  # noqa: B023 - awaited here
            self.bench.listener.trial_ended(trial, None, "measured")

    def _with_source(self, subject: LoadWorkload) -> Sequence[LoadWorkload]:
        """The workload, with its producer if it is a consumer that follows."""
        return [subject] if subject.source is None else [subject.source, subject]

    def _window(self, window_s: float) -> float:
        """Long enough for the batch jobs' tests."""
        longest = [i.seconds for trial in self.bench.runner.folder.trials() if trial.purpose == Purpose.BATCH
                   for load in trial.loads if any(p.name == load.workload for p in self.load_workloads) for i in load.iterations or []]  # fmt: skip
        return max(window_s, min(BATCH_WINDOW_S_MAX, BATCH_WINDOWS * max(longest, default=0.0)))
