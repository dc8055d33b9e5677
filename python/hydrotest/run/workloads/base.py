"""What all workloads have in common: prepared once, part of trials, accounted for at the end."""

from __future__ import annotations

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from hydrotest.analysis.measured import Measured
from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import Host
from hydrotest.run.attached.own import OwnThings
from hydrotest.run.lifecycle.attempts import until_done, until_through
from hydrotest.run.lifecycle.events import Listener
from hydrotest.run.trials.trial import Disturbance, Part, TrialPlan, TrialRunner
from hydrotest.run.workloads.warming import P99_GAIN_MIN, Stretches
from hydrotest.spec.arrivals import Arrivals
from hydrotest.spec.check_attached import most_of
from hydrotest.spec.models import Experiment
from hydrotest.spec.step import OVERHEAD_S
from hydrotest.spec.tests.profile import Stretch
from hydrotest.spec.workload import Workload as Settings
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial
from hydrotest.systems.base import System

WARM_UP_CHUNK_S = 5.0
SATURATED_WARM_UP_SHARE = 0.7
"""Share of the longest warm-up; the rest is left for load by schedule."""
IN_FLIGHT_MARGIN_S = 1.0
"""The in-flight cap exceeds by this much what can be in flight before the trial is given up."""
IN_FLIGHT_CAP_MIN = 10_000
SCHEDULED_WARM_UP_RATE = 0.6
"""Share of the unthrottled rate: surely below the limit, and near enough to it."""


@dataclass(frozen=True)
class LoadSpec:
    """How a workload is loaded: by schedule with a rate, with a number in flight, or with as many as
    saturate."""

    rate_per_s: float | None = None
    in_flight: int | None = None
    stretches: tuple[Stretch, ...] = ()
    """A rate that changes."""
    times: int = 1
    """Multiplies the workload's generators.

    Each has as many in flight as one of its own; a schedule is shared by all.
    """

    @property
    def peak_per_s(self) -> float:
        """The highest offered rate; 0 without a schedule."""
        return max([self.rate_per_s or 0.0, *(max(stretch.rate, stretch.end_rate) for stretch in self.stretches)])

    def load(self, arrivals: Arrivals, seed: int, saturating: int) -> dict[str, Any]:
        """`LoadModel` of rust/core/src/wire.rs; without a rate or number in flight, `saturating` are in
        flight."""
        if self.rate_per_s is not None:
            return {"open": {"rate_per_s": self.rate_per_s, "arrivals": arrivals.wire(seed)}}
        if self.stretches:
            wire = [{"seconds": s.duration, "from_per_s": s.rate, "to_per_s": s.end_rate} for s in self.stretches]
            return {"profile": {"stretches": wire}}
        return {"closed": {"in_flight": (self.in_flight or saturating) * self.times}}


UNTHROTTLED = LoadSpec()


class FaultTarget(Protocol):
    """A fault target that can be taken away and brought back: a service, a host, a driver."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    async def inject(self, how: Any) -> None:
        """Takes it away, and returns when it is gone."""

    async def heal(self, how: Any) -> None:
        """Undoes the fault."""


@dataclass
class Bench:
    """What a run needs: the experiment, the hosts and systems that run, the trial runner."""

    experiment: Experiment
    run: str
    hosts: dict[str, Host]
    systems: dict[str, System]
    runner: TrialRunner
    listener: Listener
    without_cpu_quota: Callable[[], AbstractContextManager[None]] = nullcontext
    """Systems warm up inside this block: an emulated host's quota would make JIT compilation last into
    the measurement."""
    background: dict[str, FaultTarget] = field(default_factory=dict)
    """Fault targets that are not services of a system: drivers of dataflows."""
    own: OwnThings = field(default_factory=OwnThings)
    ends_s: float = math.inf
    """When load must be over on a cluster that others use, by `time.monotonic`."""

    @property
    def has_time(self) -> bool:
        """Whether one more trial of a search fits in, and reading back what it wrote, which takes no longer."""
        search = self.experiment.search
        return time.monotonic() + 2 * (search.window + search.warm_up + OVERHEAD_S) < self.ends_s

    def give_up_s(self, workload: str, plan: TrialPlan) -> float:
        """The age at which an open loop's oldest operation makes its trial hopeless."""
        return plan.patience_s + max(self.experiment.objective(workload).latencies_ms().values(), default=0.0) / 1e3

    def in_flight_cap(self, workload: str, load_spec: LoadSpec, plan: TrialPlan) -> int:
        """How many operations an open loop may have in flight.

        The cap is never what stops it, unless the generator itself falls behind.
        """
        spec = self.experiment.workloads[workload]
        # A burst is due at once, and another may come before the previous one is answered.
        bursts = 2 * spec.burst
        sustained = round(load_spec.peak_per_s * (self.give_up_s(workload, plan) + IN_FLIGHT_MARGIN_S))
        wanted, most = max(IN_FLIGHT_CAP_MIN, sustained + bursts), most_of(self.experiment, workload)
        return wanted if most is None or most.in_flight_max is None else min(wanted, most.in_flight_max)

    def seed(self, workload: str, number: int) -> int:
        """The random seed of a workload in a trial.

        It differs by workload and by trial, so that draws are independent.
        """
        return number * len(self.experiment.workloads) + list(self.experiment.workloads).index(workload)

    def load_settings(self, workload: str, model: dict[str, Any], plan: TrialPlan, in_flight_cap: int) -> dict[str, object]:
        """`LoadSettings` of rust/core/src/wire.rs, without the fields that only the workload knows."""
        give_up = self.give_up_s(workload, plan) if "closed" not in model else None
        return {"model": model, "seconds": plan.seconds, "give_up_s": give_up, "in_flight_max": in_flight_cap}


class Workload(ABC):
    """A workload bound to running systems."""

    def __init__(self, name: str, spec: Settings, bench: Bench) -> None:
        self.name = name
        self.spec = spec
        self.bench = bench
        self.hosts = [bench.hosts[host] for host in bench.experiment.generator_hosts(name)]
        """One host for each generator."""
        self.host = self.hosts[0]
        """Requests to the system are sent from here."""
        self.is_prepared = False

    @classmethod
    def bind(cls, name: str, spec: Any, bench: Bench, made: Mapping[str, Workload]) -> Workload:  # noqa: ARG003 - most read nobody
        """The workload with these settings; `made` are others that it may read from."""
        return cls(name, spec, bench)

    async def prepare(self) -> None:
        """Sets up and warms the system, once.

        Retries when it fails; raises `TrialsFailedError` after some attempts.
        """
        if not self.is_prepared:
            with self.bench.without_cpu_quota():
                await until_through(self.bench, f"preparing {self.name}", self._prepare)
            await until_through(self.bench, f"preparing {self.name}", self._settle)
            self.is_prepared = True

    def has_warmed_up(self, seconds: float, is_settled: bool, **figures: object) -> None:
        """Says for how long it warmed its system, and whether that was enough; `figures` show why."""
        self.bench.runner.folder.journal("warmed up", workload=self.name, seconds=seconds, settled=is_settled, **figures)
        self.bench.listener.say(f"{self.name}: {'settled' if is_settled else 'not settled'} after {seconds:.0f} s of warm-up")

    @abstractmethod
    async def _prepare(self) -> None:
        """Sets up, while emulated hosts have all of the machine's cores.

        May be called again after a `TrialFailedError`.
        """

    async def _settle(self) -> None:  # noqa: B027 - most are warm by then
        """What remains to be done on hosts as they are measured later. May be called again, too."""

    async def finish(self) -> None:  # noqa: B027 - most have nothing left to do
        """Accounts for what is left and removes what was made."""


class LoadWorkload(Workload):
    """A workload that can run with others in one trial."""

    @abstractmethod
    def part(self, number: int, plan: TrialPlan, load_spec: LoadSpec) -> Part:
        """Its part in trial `number`. A workload without a rate ignores `load_spec`."""

    source: Rated | None = None
    """The workload whose records it reads; it applies as much load as that one."""

    def following(self, number: int, plan: TrialPlan, load_spec: LoadSpec) -> Part:
        """Its part in a trial in which its source runs too."""
        return self.part(number, plan, load_spec)

    async def prepare_together(self) -> None:
        """Prepares it for trials of several."""
        await self.prepare()

    async def warm_again(self) -> Trial | None:
        """Warms what was restarted since it was warmed; returns the trial that failed, if one did."""
        return None


class Rated(LoadWorkload):
    """A workload that can run alone, with a rate limit or without."""

    @property
    def generator_count(self) -> int:
        """Number of its own generators."""
        return len(self.hosts)

    async def trial(self, plan: TrialPlan, load_spec: LoadSpec, disturbance: Disturbance | None = None) -> Trial:
        """One trial of this workload alone."""
        return await self.trial_with((), plan, load_spec, disturbance)

    async def trial_with(
        self, readers: Sequence[LoadWorkload], plan: TrialPlan, load_spec: LoadSpec, disturbance: Disturbance | None = None
    ) -> Trial:
        """One trial of this workload with those that read its records."""
        number = self.bench.runner.claim()
        following = [reader.following(number, plan, load_spec) for reader in readers]
        return await self.bench.runner.press(number, plan, [self.part(number, plan, load_spec), *following], disturbance)

    async def last(self, seconds: float) -> None:
        """Returns after so many seconds: its operations can be counted at any moment."""
        await asyncio.sleep(seconds)

    async def open_loop(self, rate_per_s: float, plan: TrialPlan) -> Trial:
        """One trial by schedule."""
        return await self.trial(plan, LoadSpec(rate_per_s=rate_per_s))

    async def closed_loop(self, in_flight: int | None, plan: TrialPlan) -> Trial:
        """One trial with a fixed number in flight; None: as many as saturate."""
        return await self.trial(plan, LoadSpec(in_flight=in_flight))

    async def saturate(self, plan: TrialPlan) -> Trial:
        """One trial that shows the throughput when more than enough is offered."""
        return await self.trial(plan, UNTHROTTLED)

    async def _warm(self, service_prefix: str, trial: Callable[[TrialPlan, LoadSpec], Awaitable[Trial]] | None = None) -> None:
        """Applies load in chunks until the same level gets no better and the JIT compilers are idle.

        Stays within the experiment's bounds. First without a rate limit, where neither the time nor the CPU for an operation may
        still fall; then by schedule as in the trials, since other code is hot there: neither the CPU nor the p99.
        """
        if most_of(self.bench.experiment, self.name) is not None:
            return  # what others use is warm, and would have to bear load without a rate limit
        bounds = self.bench.experiment.warm_up
        buffer = self.bench.runner.sampling.buffer
        saturated, scheduled = Stretches(buffer, (service_prefix,)), Stretches(buffer, (service_prefix,), P99_GAIN_MIN)
        pressed, rate = 0.0, 0.0
        for stretches, until in ((saturated, bounds.most * SATURATED_WARM_UP_SHARE), (scheduled, bounds.most)):
            while pressed < until and not (stretches.are_settled and pressed >= bounds.least):
                self.bench.listener.phase(f"warming up {service_prefix} with {self.name}")
                offered = rate * SCHEDULED_WARM_UP_RATE if stretches is scheduled and rate else None
                plan = TrialPlan(f"warm-up-{self.name}", Purpose.WARM_UP, 0.0, WARM_UP_CHUNK_S)
                stretches.begin()
                ended = await until_done(self.bench, partial(trial or self.trial, plan, LoadSpec(rate_per_s=offered)))
                outcome = ended.load(self.name).outcome
                pressed += WARM_UP_CHUNK_S
                completed = 0 if outcome is None else outcome.counts.completed
                if completed and offered is None:
                    rate = completed / WARM_UP_CHUNK_S
                p99 = (Measured.read(self.bench.runner.folder, ended, self.name).latency or {}).get("p99") if completed else None
                stretches.end(WARM_UP_CHUNK_S, completed, WARM_UP_CHUNK_S / max(1, completed) if offered is None else p99 or 0.0)
        self.has_warmed_up(pressed, saturated.are_settled and scheduled.are_settled,
                           cpu_us_per_operation=[saturated.costs_us, scheduled.costs_us], s_per_operation=saturated.times,
                           p99_ms=scheduled.times)  # fmt: skip


class Follower(Rated):
    """A workload that reads another workload's records, at that workload's rate."""

    source: Rated

    @abstractmethod
    def following(self, number: int, plan: TrialPlan, load_spec: LoadSpec) -> Part:
        """Its part in a trial in which its source runs too."""


async def remove_quietly(bench: Bench, removal: Awaitable[None], what: str) -> None:
    """Removes something of ours.

    If the system is gone, so is it, and the run's own error is the one to report.
    """
    try:
        await removal
    except TrialFailedError as error:
        bench.runner.folder.journal("not removed", what_was=what, reason=error.message)
