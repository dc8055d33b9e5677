"""The tests of an experiment, carried out trial by trial. What a resumed run has already is not done again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from hydrotest.analysis.limit_search import LimitSearch
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.verdict import judge
from hydrotest.errors import RunFailedError
from hydrotest.run.stock import run_stock_level
from hydrotest.run.trial import TrialPlan
from hydrotest.run.workloads import Bench, Consume, Pressable
from hydrotest.spec.models import Concurrency, Isolated, Levels, Saturated
from hydrotest.store.records import Purpose, Trial
from hydrotest.units import show_rate

VOID_MAX = 3
"""So many failed trials in a row, or void ones in a search, end it: something is broken."""


class IsolatedTest:
    """Limits of some workloads, one at a time. Each main search goes through first; then the independent
    searches take turns, so that they are spread over the run and meet the machine at different speeds."""

    def __init__(self, index: int, test: Isolated, bench: Bench, pressables: dict[str, Pressable], done: list[Trial]) -> None:
        self.index = index
        self.bench = bench
        self.pressables = [pressables[name] for name in test.workloads]
        self.done = [trial for trial in done if trial.test == index and trial.status == "done"]

    async def run(self) -> None:
        """Carries the test out."""
        searchers = [s for s in (await self._searchers()) if s is not None]
        consumers = [p for p in self.pressables if isinstance(p, Consume)]
        for round_number in range(self.bench.experiment.search.repeats + 1):
            for searcher in searchers:
                await searcher.run_stage("main" if round_number == 0 else f"repeat-{round_number}")
            if round_number > 0:
                for consumer in consumers:
                    await self._catch_up(consumer, round_number)

    async def _searchers(self) -> list[_Searcher | None]:
        return [None if isinstance(p, Consume) else await self._searcher(p) for p in self.pressables]

    async def _searcher(self, pressable: Pressable) -> _Searcher:
        await pressable.prepare()
        settings = self.bench.experiment.search
        earlier = [t for t in self.done if t.purpose == "saturated" and _has(t, pressable.name)]
        if earlier:
            saturated = earlier[-1]
        else:
            self.bench.listener.phase(f"saturating {pressable.name}")
            plan = TrialPlan(f"saturated-{pressable.name}", "saturated", settings.warm_up, settings.saturated, self.index)
            saturated = await _until_done(self.bench, lambda: pressable.closed_loop(None, plan))
        rate = Measured.read(self.bench.runner.folder, saturated, pressable.name).achieved
        if rate <= 0:
            raise RunFailedError(f"{pressable.name} completed nothing when pressed without schedule")
        self.bench.listener.say(f"{pressable.name}: saturated at {show_rate(rate)}/s")
        search = LimitSearch(rate, settings.precision, settings.repeats)
        searcher = _Searcher(self.index, pressable, search, self.bench)
        for trial in self.done:
            if trial.purpose in ("search", "repeat") and _has(trial, pressable.name):
                searcher.replay(trial)
        return searcher

    async def _catch_up(self, consumer: Consume, round_number: int) -> None:
        if len([t for t in self.done if t.purpose == "catch-up" and _has(t, consumer.name)]) >= round_number:
            return
        await consumer.prepare()
        self.bench.listener.phase(f"{consumer.name} catches up, {round_number} of {self.bench.experiment.search.repeats}")
        settings = self.bench.experiment.search
        plan = TrialPlan(f"catch-up-{consumer.name}", "catch-up", settings.warm_up, settings.window, self.index, f"repeat-{round_number}")
        trial = await _until_done(self.bench, lambda: consumer.catch_up(plan))
        rate = Measured.read(self.bench.runner.folder, trial, consumer.name).achieved
        self.bench.listener.trial_ended(trial, None, f"{show_rate(rate)}/s")


class _Searcher:
    """One workload's search, trial by trial."""

    def __init__(self, index: int, pressable: Pressable, search: LimitSearch, bench: Bench) -> None:
        self.index = index
        self.pressable = pressable
        self.search = search
        self.bench = bench
        self.voids = 0

    def replay(self, trial: Trial) -> None:
        """Tells the search of a trial that an earlier run made, if it is the one that it asks for."""
        if trial.load(self.pressable.name).offered == self.search.propose():
            verdict = judge(self._measured(trial), self.bench.experiment.objective(self.pressable.name))
            if verdict.void is None:
                self.search.tell(verdict.accepted)

    async def run_stage(self, stage: str) -> None:
        """Goes on until this stage of the search is over."""
        settings = self.bench.experiment.search
        objective = self.bench.experiment.objective(self.pressable.name)
        while (rate := self.search.propose()) is not None and self.search.stage == stage:
            self.bench.listener.phase(f"{self.pressable.name}: {stage} search")
            offered = rate
            purpose: Purpose = "search" if stage == "main" else "repeat"
            plan = TrialPlan(f"{purpose}-{self.pressable.name}", purpose, settings.warm_up, settings.window, self.index, stage)
            trial = await _until_done(self.bench, lambda: self.pressable.open_loop(offered, plan))  # noqa: B023 - awaited here
            verdict = judge(self._measured(trial), objective)
            words = "sustained" if verdict.accepted else "; ".join(verdict.reasons)
            self.bench.listener.trial_ended(trial, verdict.accepted, words)
            self.bench.runner.folder.journal(
                "judged", trial=trial.number, accepted=verdict.accepted, void=verdict.void, reasons=verdict.reasons
            )
            if verdict.void is None:
                self.search.tell(verdict.accepted)
                continue
            self.voids += 1
            if self.voids >= VOID_MAX:
                raise RunFailedError(f"{VOID_MAX} trials of {self.pressable.name} were void; the last one: {verdict.void}")

    def _measured(self, trial: Trial) -> Measured:
        return Measured.read(self.bench.runner.folder, trial, self.pressable.name)


class LevelsTest:
    """Given rates, given numbers in flight, or as fast as it can."""

    def __init__(
        self, index: int, test: Levels | Concurrency | Saturated, bench: Bench, pressables: dict[str, Pressable], done: list[Trial]
    ) -> None:
        self.index = index
        self.test = test
        self.bench = bench
        self.pressable = pressables[test.workload]
        self.done = [t for t in done if t.test == index and t.status == "done" and t.purpose == "level" and _has(t, test.workload)]

    async def run(self) -> None:
        """Carries the test out."""
        client = self.test.client or self.bench.experiment.workloads[self.test.workload].client
        # Levels are measured in order, so what an earlier run has done is the first so many of them.
        for rate, in_flight in self._levels()[len(self.done) :]:
            await self.pressable.prepare()
            what = f"{show_rate(rate)}/s" if rate is not None else f"{in_flight} in flight" if in_flight else "as fast as it can"
            self.bench.listener.phase(f"{self.test.workload}: level {what}, {client} client")
            plan = TrialPlan(f"level-{self.test.workload}", "level", self.bench.experiment.search.warm_up, self.test.duration, self.index)
            attempt = partial(self._level, client, plan, rate, in_flight)
            trial = await _until_done(self.bench, attempt)
            self.bench.listener.trial_ended(trial, None, "measured")

    def _levels(self) -> list[tuple[float | None, int | None]]:
        match self.test:
            case Levels(rates=rates):
                return [(rate, None) for rate in rates]
            case Concurrency(counts=counts):
                return [(None, count) for count in counts]
            case Saturated():
                return [(None, None)]

    async def _level(self, client: str, plan: TrialPlan, rate: float | None, in_flight: int | None) -> Trial:
        if client == "stock":
            return await run_stock_level(self.bench, self.pressable, plan, rate, in_flight)
        if rate is not None:
            return await self.pressable.open_loop(rate, plan)
        return await self.pressable.closed_loop(in_flight, plan)


def _has(trial: Trial, workload: str) -> bool:
    return any(load.workload == workload for load in trial.loads)


async def _until_done(bench: Bench, attempt: Callable[[], Awaitable[Trial]]) -> Trial:
    """Runs a trial again while it fails, a few times: a generator that died costs its trial, not the run."""
    for _ in range(VOID_MAX):
        trial = await attempt()
        if trial.status == "done":
            return trial
        bench.listener.trial_ended(trial, None, f"void: {trial.reason}")
    raise RunFailedError(f"{VOID_MAX} trials in a row failed; the last one: {trial.reason}")


def make_test(index: int, bench: Bench, pressables: dict[str, Pressable], done: list[Trial]) -> IsolatedTest | LevelsTest:
    """The test at `index` of the experiment."""
    test = bench.experiment.tests[index]
    if isinstance(test, Isolated):
        return IsolatedTest(index, test, bench, pressables, done)
    return LevelsTest(index, test, bench, pressables, done)
