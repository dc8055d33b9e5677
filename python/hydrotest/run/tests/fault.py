"""The fault test: one level, with a service that is taken away in the middle and comes back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from hydrotest.errors import SystemFailedError, TrialFailedError
from hydrotest.hosts.lab.netns import NetnsHost
from hydrotest.run.lifecycle.evicting import evict
from hydrotest.run.trials.one_trial import OneLevelTest
from hydrotest.run.trials.trial import Disturbance
from hydrotest.run.workloads.base import Bench, FaultTarget
from hydrotest.spec.choice import expected
from hydrotest.spec.tests.fault import Fault
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import FaultRecord
from hydrotest.systems.base import System
from hydrotest.systems.service import RunningService

REVIVALS_MAX = 3
"""Restarts of a service that ends repeatedly once its host is back."""


class Strike:
    """Takes a service or a host away and brings it back, or the services of a system one after the other."""

    def __init__(self, test: Fault, bench: Bench, delay_s: float) -> None:
        self.test = test
        self.bench = bench
        self.delay_s = delay_s
        """Seconds after the generators have begun."""
        self.records: dict[str, Any] = {}

    async def carry_out(self) -> None:
        """See `Disturbance`."""
        await asyncio.sleep(self.delay_s)
        struck = time.time()
        ended: list[str] = []
        if self.test.system is not None:
            system = self.bench.systems[self.test.system]
            for service in list(system.services):
                gone, back = await self._inject(service, "stop")
                await system.wait_fully_replicated()
        else:
            systems, struck_one = self._find()
            there = [one for system in systems for one in system.services if one.host.name == self.test.host]
            for one in there:
                one.may_end = True
            try:
                gone, back = await self._inject(struck_one, self.test.action)
                ended = await self._until_ready(systems, there)
            finally:
                for one in there:
                    one.may_end = False
        ready = time.time()
        name, action = self.test.struck, self.test.action
        self.records["fault"] = FaultRecord(
            service=name, action=action, struck_wall_s=struck, gone_wall_s=gone, back_wall_s=back, ready_wall_s=ready, ended=ended
        )
        self.bench.listener.say(f"{name}: ready again {ready - struck:.1f} s after it was taken away")

    async def _inject(self, one: FaultTarget, action: str) -> tuple[float, float]:
        """Takes one target away and brings it back; returns both wall times."""
        watch, began = self.bench.runner.sampling, time.time()
        self.bench.listener.say(f"{one.name}: {action}")
        ended = one if isinstance(one, RunningService) and action != "pause" else None
        warm: TrialFailedError | None = None
        try:
            await one.inject(action)
            gone = time.time()
            if ended is not None:
                await watch.unwatch(ended.host.name, ended.name)
            await asyncio.sleep(max(0.0, began + self.test.down - time.time()))
            try:
                await self._cool()
            except TrialFailedError as error:  # it costs the trial; the next one needs what was taken away
                warm = error
        except BaseException:
            # A run that is being ended starts nothing again. But its lab may stay up, and a paused service
            # could not end.
            if isinstance(one, NetnsHost) or action == "pause":
                await one.heal(action)
            raise
        await one.heal(action)
        back = time.time()
        if ended is not None:
            await watch.watch(ended.host.name, ended.name, ended.pid, ended.gauges_url)
        if warm is not None:
            raise warm
        return gone, back

    async def _cool(self) -> None:
        """Takes what the systems have on their disks out of the page cache, if the test wants that."""
        if self.test.cold:
            hosts = list({host.name: host for system in self.bench.systems.values() for host in system.hosts}.values())
            evicted = await evict(hosts, self.bench.run)
            self.bench.runner.folder.journal("page cache evicted", by_host=evicted)

    async def _until_ready(self, systems: Sequence[System], there: Sequence[RunningService]) -> list[str]:
        """Returns when the systems serve. Restarts services that end meanwhile, and returns their names.

        Raises `SystemFailedError`.
        """
        ended: list[str] = []
        for system in systems:
            while True:
                ended += [one.name for one in there if await self._revive(one)]
                try:
                    await system.until_ready()
                    break
                except SystemFailedError:
                    if len(ended) >= REVIVALS_MAX * len(there) or all(one.death is None for one in there):
                        raise
        return list(dict.fromkeys(ended))

    async def _revive(self, one: RunningService) -> bool:
        """Restarts a service that has ended because of its host's fault; false if it has not ended."""
        watch, how = self.bench.runner.sampling, one.death
        if not await one.revive():
            return False
        self.bench.listener.say(f"{how}; it is started again")
        await watch.unwatch(one.host.name, one.name)
        await watch.watch(one.host.name, one.name, one.pid, one.gauges_url)
        return True

    def _find(self) -> tuple[list[System], FaultTarget]:
        if self.test.host is not None:
            host = expected(self.bench.hosts[self.test.host], NetnsHost)
            return [system for system in self.bench.systems.values() if host in system.hosts], host
        for system in self.bench.systems.values():
            service = system.service(self.test.service or "")
            if service is not None:
                return [system], service
        beside = self.bench.background.get(self.test.service or "")
        if beside is not None:
            return [], beside
        running = [service.name for system in self.bench.systems.values() for service in system.services]
        raise SystemFailedError(f"no service {self.test.service} runs", f"There are {', '.join([*running, *self.bench.background])}.")


class FaultTest(OneLevelTest):
    """Some workloads at one level while a service fails."""

    purpose = Purpose.FAULT
    test: Fault

    @property
    def phase(self) -> str:
        """The phase that is shown to the user."""
        return f"fault: {self.test.action} {self.test.struck}"

    @property
    def patience_s(self) -> float:
        """Long enough to observe the recovery, however long the service is away."""
        return self.warm_up_s + self.test.duration

    def disturbance(self) -> Disturbance:
        """The service taken away and brought back."""
        return Strike(self.test, self.bench, self.warm_up_s + self.test.at)
