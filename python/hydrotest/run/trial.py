"""Runs one trial: generators together, samples and results on disk when it ends, a record whatever happened."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from hydrotest.errors import RunFailedError, SystemFailedError, TrialFailedError
from hydrotest.hosts.node import Event
from hydrotest.load.native import Generator, run_generators
from hydrotest.run.events import Listener
from hydrotest.run.sampling import Sampling
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Load, Purpose, Trial


@dataclass(frozen=True)
class TrialPlan:
    """What a trial is for and how long it takes."""

    slug: str
    purpose: Purpose
    warm_up_s: float
    window_s: float
    test: int = 0
    search: str | None = None

    @property
    def seconds(self) -> float:
        """Length of the load."""
        return self.warm_up_s + self.window_s


@dataclass
class Overhead:
    """The controller's own CPU while generators pressed."""

    cpu_s: float = 0.0
    wall_s: float = 0.0

    @property
    def cores(self) -> float | None:
        """Cores used on average; None before anything was measured."""
        return self.cpu_s / self.wall_s if self.wall_s else None


@dataclass
class TrialRunner:
    """Runs trials one after the other and numbers them."""

    folder: RunFolder
    sampling: Sampling
    listener: Listener
    died: asyncio.Future[str]
    """Resolved with the reason when a service under test ends unasked."""
    overhead: Overhead = field(default_factory=Overhead)
    next_number: int = 1

    def claim(self) -> int:
        """The number of the next trial."""
        number = self.next_number
        self.next_number += 1
        return number

    async def press(self, number: int, plan: TrialPlan, generators: list[Generator],
                    account: Callable[[list[Load]], Awaitable[list[Load]]] | None = None,
                    stop: asyncio.Event | None = None, set_up: Callable[[], Awaitable[None]] | None = None) -> Trial:  # fmt: skip
        """Runs generators for one trial, after `set_up`; `account` then adds the fates of what was sent.

        A generator's failure makes the trial a failed one; a system's death ends the run
        (`SystemFailedError`) after the trial is recorded.
        """
        folder = self.folder.trial_path(number, plan.slug)
        what = ", ".join(_describe(generator) for generator in generators)
        self.listener.trial_started(number, f"{plan.purpose} {what}", plan.seconds)
        cpu_before, wall_before = _cpu_s(), 0.0

        def on_go() -> None:
            nonlocal cpu_before, wall_before
            cpu_before, wall_before = _cpu_s(), time.monotonic()

        async def body() -> list[Load]:
            if set_up is not None:
                await set_up()
            loads = await run_generators(generators, folder, on_go, self._on_second(), stop)
            self.overhead.cpu_s += _cpu_s() - cpu_before
            self.overhead.wall_s += time.monotonic() - wall_before
            return await account(loads) if account is not None else loads

        empty = [Load(workload=g.workload, kind=g.kind, client="native", offered=g.offered, in_flight=g.in_flight) for g in generators]
        return await self.record(number, plan, empty, body)

    async def record(self, number: int, plan: TrialPlan, empty: list[Load], body: Callable[[], Awaitable[list[Load]]]) -> Trial:
        """Runs `body` and records the trial, done or failed."""
        folder = self.folder.trial_path(number, plan.slug)
        prepared = time.time()
        reason: str | None = None
        loads = empty
        death: str | None = None
        try:
            loads = await self._unless_dead(body())
        except TrialFailedError as error:
            reason = error.message
            # A service's death shows first as its clients' failure; give its supervisor time to say so.
            await asyncio.wait([self.died], timeout=2.0)
        except asyncio.CancelledError:
            reason = "interrupted"
            raise
        except BaseException as error:
            reason = f"{type(error).__name__}: {error}"
            raise
        finally:
            if self.died.done():
                death = reason = self.died.result()
            trial = Trial(number=number, slug=plan.slug, purpose=plan.purpose, tenancy="isolated", warm_up_s=plan.warm_up_s,
                          window_s=plan.window_s, prepared_wall_s=prepared, ended_wall_s=time.time(),
                          status="done" if reason is None else "failed", reason=reason, search=plan.search, test=plan.test, loads=loads)  # fmt: skip
            self.sampling.buffer.flush(folder)
            self.folder.write_trial(trial)
            self.folder.journal("trial ended", trial=number, slug=plan.slug, status=trial.status, reason=reason)
        problem = self.sampling.problem()
        if problem is not None:
            raise RunFailedError(problem, "Without samples nothing can be said of the hosts; `--resume` goes on after the last trial.")
        if death is not None:
            raise SystemFailedError(
                f"trial {number} ({plan.slug}) is void: {death}", "Earlier trials are kept; `--resume` goes on after them."
            )
        return trial

    async def _unless_dead(self, work: Awaitable[list[Load]]) -> list[Load]:
        task = asyncio.ensure_future(work)
        try:
            watched: set[asyncio.Future[list[Load]] | asyncio.Future[str]] = {task, self.died}
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise TrialFailedError(self.died.result())
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])

    def _on_second(self) -> Callable[[str, Event], None]:
        last: dict[str, tuple[float, int]] = {}

        def on_second(workload: str, event: Event) -> None:
            wall, done = event["wall_s"], event["counts"]["completed"]
            before = last.get(workload)
            last[workload] = (wall, done)
            if before is not None and wall > before[0]:
                self.listener.second(workload, (done - before[1]) / (wall - before[0]), event["p99_ms"])

        return on_second


def _describe(generator: Generator) -> str:
    if generator.offered is not None:
        return f"{generator.workload} at {generator.offered:,.0f}/s"
    if generator.in_flight is not None:
        return f"{generator.workload} with {generator.in_flight:,} in flight"
    return generator.workload


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def log_path(folder: RunFolder, number: int, slug: str, name: Path) -> Path:
    """A log's place in a trial's folder."""
    return folder.trial_path(number, slug) / name
