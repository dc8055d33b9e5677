"""The fault: one level, and a service that is taken away in the middle of it and comes back."""

from __future__ import annotations

import asyncio
import time

from hydrotest.errors import SystemFailedError
from hydrotest.run.attempts import until_done
from hydrotest.run.pressing import prepare_all, press_together
from hydrotest.run.trial import TrialPlan
from hydrotest.run.workloads.base import Bench, Pressable
from hydrotest.spec.models import Fault
from hydrotest.store.records import FaultRecord, Tenancy, Trial
from hydrotest.systems.base import System
from hydrotest.systems.service import RunningService


class Strike:
    """Takes a service away and brings it back."""

    def __init__(self, test: Fault, bench: Bench, delay_s: float) -> None:
        self.test = test
        self.bench = bench
        self.delay_s = delay_s
        """After the generators have begun."""
        self.record: FaultRecord | None = None

    async def carry_out(self) -> None:
        """See `Disturbance`."""
        system, service = self._find()
        action, watch = self.test.action, self.bench.runner.sampling
        await asyncio.sleep(self.delay_s)
        struck = time.time()
        self.bench.listener.say(f"{service.name}: {action}")
        await service.take_away(action)
        gone = time.time()
        if action != "pause":
            await watch.unwatch(service.host.name, service.name)
        await asyncio.sleep(max(0.0, struck + self.test.down - time.time()))
        await service.bring_back(action)
        back = time.time()
        if action != "pause":
            await watch.watch(service.host.name, service.name, service.pid, service.gauges_url)
        await system.until_ready()
        ready = time.time()
        self.record = FaultRecord(service=service.name, action=action, struck_wall_s=struck, gone_wall_s=gone, back_wall_s=back,
                                  ready_wall_s=ready)  # fmt: skip
        self.bench.listener.say(f"{service.name}: ready again {ready - struck:.1f} s after it was taken away")

    def _find(self) -> tuple[System, RunningService]:
        for system in self.bench.systems.values():
            service = system.service(self.test.service)
            if service is not None:
                return system, service
        raise SystemFailedError(f"no service {self.test.service} runs")


class FaultTest:
    """Some workloads at one level while a service fails."""

    def __init__(self, index: int, test: Fault, bench: Bench, pressables: dict[str, Pressable], done: list[Trial]) -> None:
        self.index = index
        self.test = test
        self.bench = bench
        self.pressables = [pressables[name] for name in test.workloads]
        self.is_done = any(trial.test == index and trial.status == "done" and trial.purpose == "fault" for trial in done)

    async def run(self) -> None:
        """Carries the test out."""
        if self.is_done:
            return
        await prepare_all(self.pressables)
        self.bench.listener.phase(f"fault: {self.test.action} {self.test.service}")
        tenancy: Tenancy = "combined" if len(self.pressables) > 1 else "isolated"
        warm_up = self.bench.experiment.search.warm_up
        plan = TrialPlan("fault", "fault", warm_up, self.test.duration, self.index, None, tenancy, patience_s=warm_up + self.test.duration)

        async def attempt() -> Trial:
            strike = Strike(self.test, self.bench, warm_up + self.test.at)
            return await press_together(self.bench, plan, self.pressables, self.test.rates, strike)

        trial = await until_done(self.bench, attempt)
        self.bench.listener.trial_ended(trial, None, "measured")
