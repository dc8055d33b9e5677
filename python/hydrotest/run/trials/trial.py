"""Runs one trial: generators together, samples and results on disk at its end, a record in any case."""

from __future__ import annotations

import asyncio
import resource
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from hydrotest.errors import HydrotestError, RunFailedError, SystemFailedError, TrialFailedError
from hydrotest.hosts.clocks import Clocks, Compared, Comparison
from hydrotest.hosts.deadlines import cancelled
from hydrotest.hosts.node import Event
from hydrotest.load.native import Generator, OnSecond, run_generators
from hydrotest.report.wording.guard import breach_words
from hydrotest.run.attached.guard import breach_error
from hydrotest.run.lifecycle.events import Listener, TrialStart
from hydrotest.run.lifecycle.recovery import Recovery
from hydrotest.run.lifecycle.sampling import Sampling
from hydrotest.run.lifecycle.teardown import each
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Load, Tenancy, Trial
from hydrotest.verdicts.guard import Breach


@dataclass(frozen=True)
class TrialPlan:
    """What a trial is for and how long it takes."""

    slug: str
    purpose: Purpose
    warm_up_s: float
    window_s: float
    test: int = 0
    search: str | None = None
    tenancy: Tenancy = "isolated"
    fraction: float | None = None
    pair: int | None = None
    subject: str | None = None
    patience_s: float = 2.0
    """An open-loop trial ends as hopeless when its oldest operation exceeds the objective by so many seconds.

    By then, far more than 1 % of a window of seconds is late.
    """

    @property
    def seconds(self) -> float:
        """Length of the load."""
        return self.warm_up_s + self.window_s

    def start(self, number: int, text: str, offered: Mapping[str, float | None]) -> TrialStart:
        """What a listener gets when the trial begins."""
        return TrialStart(number, self.purpose, self.test, text, self.seconds, offered, self.subject)


Loads = dict[str, Load]
"""The parts of a trial, by workload."""


class Background(Protocol):
    """Load that runs next to the generators, without a rate."""

    async def ready(self) -> None:
        """Returns when it can begin at once. Raises `TrialFailedError`."""

    async def begin(self) -> None:
        """Begins to apply load."""

    async def end(self) -> Load:
        """Ends, and reports what it did. Also called after a failure of `begin`."""
        ...


@dataclass(frozen=True)
class Part:
    """One workload's part in a trial."""

    workload: str
    kind: str
    generators: list[Generator] = field(default_factory=list)
    set_up: Callable[[], Awaitable[None]] | None = None
    drain: Callable[[], Awaitable[None]] | None = None
    """Called when the writers have ended, before the followers are notified."""
    account: Callable[[Load, Loads], Awaitable[Load]] | None = None
    """Adds the account of the records sent; it sees the other parts too."""
    tear_down: Callable[[], Awaitable[None]] | None = None
    """Done after the trial is recorded, however it ended."""
    background: Background | None = None

    def nothing(self) -> Load:
        """The record of a failed trial."""
        generator = self.generators[0] if self.generators else None
        return Load(workload=self.workload, kind=self.kind, client=generator.client if generator else "native",
                    offered=generator.offered if generator else None, in_flight=generator.in_flight if generator else None)  # fmt: skip


class Disturbance(Protocol):
    """Something that is done to a system under load."""

    @property
    def records(self) -> Mapping[str, Any]:
        """What was done, by the name of the trial's field that keeps it; empty before it ends."""
        ...

    async def carry_out(self) -> None:
        """Called when the generators begin; returns when the system serves again.

        Raises `SystemFailedError` if it does not.
        """
        ...


@asynccontextmanager
async def _disturbed(disturbance: Disturbance | None, begun: asyncio.Event) -> AsyncIterator[None]:
    """Carries the disturbance out during the block, once `begun` is set, and waits for its end.

    Also after a failed trial, since the next one needs the system again.
    """

    async def body(disturbance: Disturbance) -> None:
        await begun.wait()
        await disturbance.carry_out()

    if disturbance is None:
        yield
        return
    task = asyncio.create_task(body(disturbance))
    try:
        yield
    except TrialFailedError:
        if begun.is_set():
            await task
        raise
    else:
        await task
    finally:
        await cancelled(task)  # its failure is raised above; where a run is being ended, its end is reported


@asynccontextmanager
async def _pressing(backgrounds: Sequence[Background]) -> AsyncIterator[list[Load]]:
    """Runs them for the length of the block; the list holds their loads after it."""
    did: list[Load] = []
    for background in backgrounds:
        await background.ready()
    begun: list[Background] = []
    try:
        for background in backgrounds:
            begun.append(background)
            await background.begin()
        yield did
    finally:
        await each("a background could not be ended", [partial(_end, background, did) for background in begun])


async def _end(background: Background, did: list[Load]) -> None:
    did.append(await background.end())


@dataclass
class Overhead:
    """The controller's own CPU while generators applied load."""

    cpu_s: float = 0.0
    wall_s: float = 0.0

    @property
    def cores(self) -> float | None:
        """Cores used on average; None before any measurement."""
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
    clocks: Clocks = field(default_factory=Clocks)
    recovery: Recovery | None = None
    """Brings back hosts whose loss costs a trial only."""
    breached: asyncio.Future[Breach] | None = None
    """Resolved when a cluster that others use is no longer as its owner wants it."""

    def claim(self) -> int:
        """The number of the next trial."""
        number = self.next_number
        self.next_number += 1
        return number

    async def press(self, number: int, plan: TrialPlan, parts: list[Part], disturbance: Disturbance | None = None) -> Trial:
        """Runs one trial of some workloads together: all set up, then all at once under load, then each
        accounted for.

        A generator's failure makes the trial a failed one; a system's death ends the run
        (`SystemFailedError`) after the trial is recorded.
        """
        folder = self.folder.trial_path(number, plan.slug)
        generators = [generator for part in parts for generator in part.generators]
        what = ", ".join([*dict.fromkeys(map(_describe, generators)), *(part.workload for part in parts if part.background is not None)])
        offered = {part.workload: next((one.offered for one in part.generators), None) for part in parts}
        self.listener.trial_started(plan.start(number, f"{plan.purpose} {what}", offered))
        cpu_before, wall_before = _cpu_s(), 0.0
        begun = asyncio.Event()

        def on_go() -> None:
            nonlocal cpu_before, wall_before
            cpu_before, wall_before = _cpu_s(), time.monotonic()
            begun.set()

        async def body() -> list[Load]:
            for part in parts:
                if part.set_up is not None:
                    await part.set_up()
            clocks = await self.clocks.compare()
            self.sampling.clocks = clocks
            async with _pressing([part.background for part in parts if part.background is not None]) as beside:
                async with _disturbed(disturbance, begun):
                    pressed = await run_generators(
                        generators, folder, on_go, self._on_second(), [part.drain for part in parts if part.drain is not None],
                        plan.patience_s, clocks,
                    )  # fmt: skip
                if not generators:
                    await asyncio.sleep(plan.seconds)
            self.overhead.cpu_s += _cpu_s() - cpu_before
            self.overhead.wall_s += time.monotonic() - wall_before
            if any(one.follows for one in generators):
                pressed = await self._with_clock_errors(pressed, generators, clocks)
            loads = {load.workload: load for load in [*pressed, *beside]}
            for part in parts:
                if part.account is not None:
                    loads[part.workload] = await part.account(loads[part.workload], loads)
            return [loads[part.workload] for part in parts]

        removals = [part.tear_down for part in parts if part.tear_down is not None]
        try:
            trial = await self.record(number, plan, [part.nothing() for part in parts], body, disturbance)
        except BaseException:
            try:
                await each("what a trial made could not be removed", removals)
            except HydrotestError as error:  # the first error is raised
                self.listener.warn(error.message, error.hint)
            raise
        await each("what a trial made could not be removed", removals)
        return trial

    async def record(self, number: int, plan: TrialPlan, empty: list[Load], body: Callable[[], Awaitable[list[Load]]],
                     disturbance: Disturbance | None = None) -> Trial:  # fmt: skip
        """Runs `body` and records the trial, done or failed. Hosts whose loss cost the trial before are reached again first."""
        folder = self.folder.trial_path(number, plan.slug)
        prepared = time.time()
        reason: str | None = None
        loads = empty
        death: str | None = None
        try:
            loads = await self._unless_dead(self._recovered(body))
            if self.sampling.ended:
                name, why = next(iter(self.sampling.ended.items()))
                raise TrialFailedError(f"{name} is lost: {why}")
            await self.sampling.collect(prepared, time.time())
        except TrialFailedError as error:
            reason = error.message
            # A service's death shows first as its clients' failure; its supervisor needs time to report it.
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
            trial = Trial(number=number, slug=plan.slug, purpose=plan.purpose, tenancy=plan.tenancy, warm_up_s=plan.warm_up_s,
                          window_s=plan.window_s, prepared_wall_s=prepared, ended_wall_s=time.time(),
                          status="done" if reason is None else "failed", reason=reason, search=plan.search, test=plan.test,
                          fraction=plan.fraction, pair=plan.pair, subject=plan.subject,
                          **(disturbance.records if disturbance else {}), loads=loads)  # fmt: skip
            await self.sampling.buffer.flush_while_sampling(folder)
            self.folder.write_trial(trial)
            self.folder.journal("trial ended", trial=number, slug=plan.slug, status=trial.status, reason=reason)
        self.listener.trial_recorded(trial)
        if self.breach is not None:
            raise breach_error(self.breach)
        if self.sampling.lost.done():
            raise RunFailedError(
                self.sampling.lost.result(), "Without samples nothing can be said of the hosts; `--resume` goes on after the last trial."
            )
        if death is not None:
            raise SystemFailedError(
                f"trial {number} ({plan.slug}) is void: {death}", "Earlier trials are kept; `--resume` goes on after them."
            )
        return trial

    async def _recovered(self, body: Callable[[], Awaitable[list[Load]]]) -> list[Load]:
        if self.recovery is not None:
            await self.recovery.restore()
        return await body()

    async def _with_clock_errors(self, loads: list[Load], generators: Sequence[Generator], before: Comparison) -> list[Load]:
        """The loads, those of followers with the error of their latencies. It is unknown where clocks no longer answer."""
        try:
            compared = Compared(before, await self.clocks.compare())
        except TrialFailedError as error:
            self.listener.warn(f"the hosts' clocks were not compared after this trial: {error.message}", error.hint)
            return loads
        return [_between_hosts(load, generators, compared) for load in loads]

    async def guarded(self, work: Awaitable[None]) -> None:
        """Does something beside trials, unless a cluster that others use is no longer as its owner wants it.

        Raises `GuardBreachedError` then.
        """
        task = asyncio.ensure_future(work)
        try:
            ends: list[asyncio.Future[Any]] = [task] if self.breached is None else [task, self.breached]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            assert self.breach is not None
            raise breach_error(self.breach)
        finally:
            await cancelled(task)

    async def _unless_dead(self, work: Awaitable[list[Load]]) -> list[Load]:
        """The loads, unless a system or a sampler is gone first: then the rest of the trial is void."""
        task = asyncio.ensure_future(work)
        try:
            watched: set[asyncio.Future[Any]] = {
                task,
                self.died,
                self.sampling.lost,
                *([self.breached] if self.breached is not None else []),
            }
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if self.breach is not None:
                raise TrialFailedError(f"aborted by the guard: {breach_words(self.breach)}")
            raise TrialFailedError((self.died if self.died.done() else self.sampling.lost).result())
        finally:
            await cancelled(task)

    @property
    def breach(self) -> Breach | None:
        """What is no longer met, if anything."""
        return self.breached.result() if self.breached is not None and self.breached.done() else None

    def _on_second(self) -> OnSecond:
        last: dict[tuple[str, int], tuple[float, int]] = {}
        rates: dict[str, dict[int, float]] = defaultdict(dict)

        def on_second(generator: Generator, event: Event) -> None:
            workload, number = generator.workload, generator.number
            wall, done = event["wall_s"], event["counts"]["completed"]
            before = last.get((workload, number))
            last[workload, number] = (wall, done)
            if before is not None and wall > before[0]:
                rates[workload][number] = (done - before[1]) / (wall - before[0])
                self.listener.second(workload, sum(rates[workload].values()), event["p99_ms"])

        return on_second


def _between_hosts(load: Load, generators: Sequence[Generator], clocks: Compared) -> Load:
    """The load of a follower with the error of its latencies: they begin by the clock of one host and end by that
    of another."""
    readers = [one.host for one in generators if one.workload == load.workload and one.follows]
    if not readers:
        return load
    writers = [one.host for one in generators if not one.follows]
    return load.model_copy(update={"clock_error_s": clocks.between_s(writers, readers)})


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
