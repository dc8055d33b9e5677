"""Workloads without a rate: Spark's batch tests, and neighbours that only use the machine's resources."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path, PurePath

from hydrotest.analysis.spark.failure import in_brief
from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import Service
from hydrotest.hosts.command import last_lines, log_text
from hydrotest.hosts.node import Node
from hydrotest.load.spark import Application, Driver, JobHungError
from hydrotest.run.trials.trial import Background, Disturbance, Part, TrialPlan
from hydrotest.run.workloads.base import Bench, LoadSpec, LoadWorkload, remove_quietly
from hydrotest.run.workloads.submission import SERVICES, LongLivedDriver, Needs
from hydrotest.run.workloads.warming import Stretches
from hydrotest.spec.command import Command
from hydrotest.spec.fields import PropertyValue
from hydrotest.spec.spark import SparkPerf
from hydrotest.store import layout
from hydrotest.store.records import Iteration, Load, Trial

ROUNDS_MIN = 2
"""The first runs on a JVM are not representative."""


class Batch(LoadWorkload):
    """Spark tests one after the other, by a driver that stays up for the run."""

    generator_count = 0
    """A batch workload is its own load."""

    def __init__(self, name: str, spec: SparkPerf, bench: Bench) -> None:
        super().__init__(name, spec, bench)
        self.spec: SparkPerf = spec

        async def start(application: Application, folder: PurePath, log: PurePath) -> Driver:
            return await Driver.start(name, spec, application, self.host, folder, log)

        properties: dict[str, PropertyValue] = {} if spec.cores is None else {"spark.cores.max": spec.cores}
        self._warm: Driver | None = None
        """The driver that was warmed up."""
        self._ended: list[Iteration] = []
        """Tests that ended in the current trial."""

        async def needs() -> Needs:
            return [], properties

        self.kept = LongLivedDriver(name, bench, self.host, "core", needs, start)

    async def _prepare(self) -> None:
        async def warm() -> None:
            await self.warmed()

        await self.bench.runner.guarded(warm())

    async def warmed(self) -> Driver:
        """The warm driver. A new one is warmed up too, after another workload or a crash has ended the
        first."""
        driver = await self.kept.running()
        if driver is not self._warm:
            with self.bench.without_cpu_quota():
                await self._warm_up(driver)
            # A driver that hung while it was cold has been ended.
            driver = self._warm = await self.kept.running()
        return driver

    async def _warm_up(self, driver: Driver) -> None:
        self.bench.listener.phase(f"warming up spark with {self.name}")
        bounds, begun = self.bench.experiment.warm_up, time.monotonic()
        stretches = Stretches(self.bench.runner.sampling.buffer, (SERVICES,))
        rounds, pressed = 0, 0.0
        await driver.press()
        while rounds < ROUNDS_MIN or pressed < bounds.least or (not stretches.are_settled and pressed < bounds.most):
            stretches.begin()
            try:
                runs = [await self._next(driver) for _ in self.spec.tests]
            except JobHungError as hung:
                # A test that hangs while it is cold is still measured; the trial reports it.
                self.bench.listener.warn(f"{self.name} cannot be warmed up: {hung.message}", hung.hint)
                await self.kept.leave()
                return
            before, pressed, rounds = pressed, time.monotonic() - begun, rounds + 1
            stretches.end(pressed - before, all(one.finished for one in runs), sum(one.seconds for one in runs))
            if self._all_fail(runs):
                break
        await driver.rest()
        await driver.rested()
        self.has_warmed_up(pressed, stretches.are_settled, cpu_us_per_round=stretches.costs_us, s_per_round=stretches.times)

    async def measure(self, plan: TrialPlan, repeats: int) -> Trial:
        """Each test `repeats` times, alone, as one trial."""
        number = self.bench.runner.claim()
        self.bench.listener.trial_started(
            plan.start(number, f"{self.name}: {', '.join(self.spec.tests)}, {repeats} times each", {self.name: None})
        )

        async def body() -> list[Load]:
            driver = await self.warmed()
            await driver.press()
            iterations: list[Iteration] = []
            try:
                while len(iterations) < repeats * len(self.spec.tests) and not self._all_fail(iterations):
                    iterations.append(await self._next(driver))
            except JobHungError as hung:
                iterations.append(await self._give_up(driver, hung))
                return [self.load(iterations, driver)]
            finally:
                await driver.rest()
            await driver.rested()
            return [self.load(iterations, driver)]

        return await self.bench.runner.record(number, plan, [self.load([], None)], body)

    async def trial(self, plan: TrialPlan, load_spec: LoadSpec, disturbance: Disturbance | None = None) -> Trial:
        """Its tests one after the other, repeatedly, for as long as the disturbance takes, or as planned."""
        number = self.bench.runner.claim()
        self.bench.listener.trial_started(plan.start(number, f"{plan.purpose} {self.name}", {self.name: None}))

        async def body() -> list[Load]:
            driver = await self.warmed()
            self._ended = []
            await driver.press()
            try:
                await (self.last(plan.seconds) if disturbance is None else disturbance.carry_out())
            except JobHungError:
                await self.kept.leave()
                raise
            except TrialFailedError:
                await driver.rest()
                await self._quieten(driver)
                raise
            finally:
                await driver.rest()
            await driver.rested()
            return [self.load(self._ended, driver)]

        return await self.bench.runner.record(number, plan, [self.load([], None)], body, disturbance)

    async def _quieten(self, driver: Driver) -> None:
        """After a failure: the next trial must not count reports of a test that is cut short.

        A driver that does not become idle is ended.
        """
        try:
            await driver.rested()
        except TrialFailedError:  # the first failure is the one to report
            await self.kept.leave()

    async def last(self, seconds: float) -> None:
        """Returns after so many seconds, when all tests have ended equally often.

        Raises `TrialFailedError` if one does not end.
        """
        driver = await self.kept.running()
        until = time.monotonic() + seconds
        while True:
            for _ in self.spec.tests:
                ended = await self._next(driver)
                if not ended.finished:
                    raise TrialFailedError(f"{self.name}: {ended.test} failed: {ended.error}")
                self._ended.append(ended)
            if time.monotonic() >= until:
                return

    async def _give_up(self, driver: Driver, hung: JobHungError) -> Iteration:
        """Ends a driver whose test does not end; its event log shows what it did until then."""
        self.bench.listener.warn(f"{self.name}: {hung.message}", hung.hint)
        now, number = time.time(), driver.iterations
        await self.kept.leave()
        return Iteration(test=self.spec.tests[number % len(self.spec.tests)], group=f"iteration-{number}", started_wall_s=hung.began_s,
                         ended_wall_s=now, seconds=now - hung.began_s, finished=False, correct=False, cut=False, hung=True,
                         error=hung.message)  # fmt: skip

    async def _next(self, driver: Driver) -> Iteration:
        """The next test that ends; if Spark ended it, with the reason. Raises `JobHungError`."""
        ended = await driver.next_iteration(self.spec.budget)
        if ended.error is None:
            return ended
        stated = in_brief(ended.error, self.kept.spark.names)
        self.bench.listener.warn(f"{self.name}: {ended.test} failed: {stated}")
        return ended.model_copy(update={"error": stated})

    def _all_fail(self, iterations: Sequence[Iteration]) -> bool:
        """True if each test was tried and none has ever ended: more trials would only take time."""
        return len(iterations) >= len(self.spec.tests) and not any(iteration.finished for iteration in iterations)

    def load(self, iterations: list[Iteration], driver: Driver | None) -> Load:
        """The record of this workload in a trial. Raises `TrialFailedError` if a test's answer was wrong."""
        wrong = next((i for i in iterations if not i.cut and i.finished and not i.correct), None)
        if wrong is not None:
            raise TrialFailedError(f"{self.name}: {wrong.test} failed: its answer was wrong")
        log = None if driver is None else str(layout.SPARK_EVENTS / driver.application)
        return Load(workload=self.name, kind=self.spec.kind, client="spark", iterations=iterations, event_log=log)

    def part(self, number: int, plan: TrialPlan, load_spec: LoadSpec) -> Part:
        return Part(self.name, self.spec.kind, background=_Looping(self))

    async def finish(self) -> None:
        await remove_quietly(self.bench, self.kept.leave(), f"the driver of {self.name}")


class _Looping(Background):
    """A batch workload that loops for the length of a trial."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.driver: Driver | None = None

    async def ready(self) -> None:
        self.driver = await self.batch.warmed()

    async def begin(self) -> None:
        assert self.driver is not None
        await self.driver.press()

    async def end(self) -> Load:
        assert self.driver is not None
        await self.driver.rest()
        iterations = await self.driver.rested()
        failed = next((i for i in iterations if not i.cut and not i.finished), None)
        if failed is not None:
            # Next to other workloads, a test that fails does not apply the intended load.
            raise TrialFailedError(
                f"{self.batch.name}: {failed.test} failed: {in_brief(failed.error or 'nobody knows why', self.batch.kept.spark.names)}"
            )
        return self.batch.load(iterations, self.driver)


class Neighbour(LoadWorkload):
    """A program of the user's that runs next to the other workloads."""

    def __init__(self, name: str, spec: Command, bench: Bench) -> None:
        super().__init__(name, spec, bench)
        self.spec: Command = spec

    async def _prepare(self) -> None:
        """Does nothing: the program starts with each trial."""

    def part(self, number: int, plan: TrialPlan, load_spec: LoadSpec) -> Part:
        log = self.bench.runner.folder.trial_path(number, plan.slug).resolve() / layout.stock_output(self.name)
        return Part(self.name, self.spec.kind, background=_Running(self, log))


class _Running(Background):
    """The program, for the length of a trial; restarted if it ends."""

    def __init__(self, neighbour: Neighbour, log: Path) -> None:
        self.neighbour = neighbour
        self.log = log
        self.node: Node | None = None

    async def ready(self) -> None:
        """Nothing to wait for."""

    async def begin(self) -> None:
        spec = self.neighbour.spec
        again = 'while :; do "$@" || exit; done'
        service = Service(self.neighbour.name, ["/bin/sh", "-c", again, "sh", *spec.argv], self.log.parent, self.log, grace_s=1.0)
        self.node = await self.neighbour.host.node("supervise", service.settings())
        spawned = await self.node.expect("spawned")
        await self.neighbour.bench.runner.sampling.watch(self.neighbour.host.name, self.neighbour.name, spawned["pid"])

    async def end(self) -> Load:
        if self.node is not None:
            has_lasted = self.node.is_running
            try:
                await self.neighbour.bench.runner.sampling.unwatch(self.neighbour.host.name, self.neighbour.name)
            finally:
                problem = await self.node.close()
            if problem is not None:
                raise TrialFailedError(f"{self.neighbour.name}: {problem}")
            if not has_lasted:
                # It applied no load, or not until the end.
                said = last_lines(await log_text(self.neighbour.host, self.log))
                raise TrialFailedError(f"{self.neighbour.name} ended by itself: {said}")
        return Load(workload=self.neighbour.name, kind=self.neighbour.spec.kind, client="command")
