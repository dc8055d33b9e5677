"""The fault: one level, and a service that is taken away in the middle of it and comes back."""

from __future__ import annotations

import asyncio
import time

from hydrotest.errors import SystemFailedError
from hydrotest.run.one_trial import OneLevelTest
from hydrotest.run.trial import Disturbance
from hydrotest.run.workloads.base import Bench
from hydrotest.spec.tests import Fault
from hydrotest.store.records import FaultRecord
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


class FaultTest(OneLevelTest):
    """Some workloads at one level while a service fails."""

    purpose = "fault"
    test: Fault

    @property
    def phase(self) -> str:
        """What the user is told that goes on."""
        return f"fault: {self.test.action} {self.test.service}"

    @property
    def patience_s(self) -> float:
        """However long the service is away, what comes after it is to be seen."""
        return self.warm_up_s + self.test.duration

    def disturbance(self) -> Disturbance:
        """The service taken away and brought back."""
        return Strike(self.test, self.bench, self.warm_up_s + self.test.at)
