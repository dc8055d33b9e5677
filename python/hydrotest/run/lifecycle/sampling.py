"""A sampler on every host for the whole run, its readings in one buffer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path

from hydrotest.analysis.resources.rates import CPU_BUSY
from hydrotest.errors import HydrotestError, RunFailedError, TrialFailedError
from hydrotest.hosts.base import Counting, Host
from hydrotest.hosts.clocks import Comparison
from hydrotest.hosts.deadlines import Patience, at_once, cancelled, within
from hydrotest.hosts.monitored.source import Reading, Source
from hydrotest.hosts.node import Node
from hydrotest.run.lifecycle.events import Listener
from hydrotest.store.sample_buffer import SampleBuffer
from hydrotest.systems.attached import Look

SETTINGS = {"proc_root": "/proc", "sys_root": "/sys", "interval_ms": 1000, "gauges_ms": 2000}
NETWORK_WAYS = (("net_out_bytes", "lo_out_bytes"), ("net_in_bytes", "lo_in_bytes"))
NOT_ON_THE_LINK = {"lo_out_bytes": 0, "lo_in_bytes": 0}
"""Of a host with a link: what its own processes say to each other takes nothing of it. Of one without, all traffic is on loopback."""
SPEED_MS = 500
"""1 Hz; the speed reference twice a second and the exporters every other second keep the cost below 1 %
of a core."""
SILENCE = Patience.of(a_reading_each_second=60.0)
DROPS = Patience.of(a_question_to_the_kernel=30.0)
KEPT = Patience.of(all_that_was_kept_of_a_trial=30.0)
HEARD_S_MAX = 5.0
"""From the end of a sampler until its last readings have been taken in."""


class Sampling:
    """The samplers of all hosts."""

    def __init__(
        self,
        hosts: Mapping[str, Host],
        listener: Listener,
        links: Mapping[str, float | None] | None = None,
        linked: Collection[str] = (),
        seen: Collection[str] = (),
        sources: Mapping[str, Source] | None = None,
        spared: Collection[str] = (),
        spill: Path | None = None,
    ) -> None:
        """`links`: the ceiling of each host's link, bytes/s each way, where it is known. `linked`: hosts with a link to others.
        `seen`: hosts whose counters are read, and on which nothing is measured. `sources`: machines that others monitor.
        `spared`: hosts whose sampler may end (`ended`); where another one does, all is lost. `spill`: see `SampleBuffer`."""
        self.buffer = SampleBuffer(spill)
        self.clocks = Comparison()
        """The hosts' clocks; readings are stamped by the controller's."""
        self._links = links or {}
        self._linked = frozenset(linked)
        self._seen = frozenset(seen)
        self._sources = sources or {}
        self._hosts = hosts
        self._listener = listener
        self._nodes: dict[str, Node] = {}
        self._drops: dict[str, Counting] = {}
        self._timed: set[str] = set()
        """Hosts that run the speed reference."""
        self._tasks: list[asyncio.Task[None]] = []
        self._following: list[asyncio.Task[None]] = []
        """Of sources, which do not end by themselves."""
        self._stopping = False
        self._spared = frozenset(spared)
        self.ended: dict[str, str] = {}
        """Why the sampler of a spared host has ended."""
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Resolved with the reason when a sampler has ended unasked, or can no longer be read."""

    async def start(self) -> None:
        """Starts a sampler on each host. Raises `RunFailedError` where one does not start."""
        machines: set[str] = set()
        for name, host in self._hosts.items():
            # The speed of a machine is measured once, however many hosts it has.
            if host.machine not in machines and name not in self._seen:
                self._timed.add(name)
            machines.add(host.machine)
        await at_once(self._start(name, host) for name, host in self._hosts.items())
        for name, source in self._sources.items():
            self._following.append(asyncio.create_task(source.follow(partial(self._add, name), self._listener.warn)))

    async def restart(self, name: str) -> None:
        """Samples a host again whose sampler has ended. Raises `RunFailedError` where it does not start."""
        await self._start(name, self._hosts[name])
        self.ended.pop(name, None)

    async def _start(self, name: str, host: Host) -> None:
        own = {"directory": str(host.data_directory), "emulated": host.emulated(), "speed_ms": SPEED_MS if name in self._timed else None}
        node = await host.node("sample", SETTINGS | own)
        self._nodes[name] = node
        if (drops := await asyncio.to_thread(host.queue_drops)) is not None:
            self._drops[name] = drops
        try:
            await node.expect("ready")
        except TrialFailedError as error:
            raise RunFailedError(
                f"the sampler on {name} did not start: {error.message}", "`hydrotest doctor` shows what this machine lacks."
            ) from error
        self._tasks.append(asyncio.create_task(self._follow(name, node)))

    async def collect(self, begin_s: float, end_s: float) -> None:
        """Takes in what others have kept of a trial. What cannot be had is a warning: the trial itself is done."""

        async def of(name: str, source: Source) -> None:
            try:
                for reading in await within(source.kept(begin_s, end_s), KEPT, name, "give what it has kept of the trial"):
                    self._add(name, reading)
            except TrialFailedError as error:
                self._listener.warn(f"{name} is not seen in this trial: {error.message}")

        await asyncio.gather(*(of(name, source) for name, source in self._sources.items()))

    def looked(self, look: Look) -> None:
        """Takes what a cluster that is there already shows of itself."""
        self.buffer.add_gauges(time.time(), look.gauges)

    def _add(self, name: str, reading: Reading) -> None:
        """A reading whose time is the controller's."""
        if reading["host"] and name in self._linked:
            reading["host"] |= NOT_ON_THE_LINK
        self.buffer.add(name, reading)
        if reading["host"]:
            self._show(name)

    async def watch(self, host: str, service: str, pid: int, gauges_url: str | None = None) -> None:
        """Follows a process tree under a service's name."""
        await self._nodes[host].command("watch", service=service, pid=pid, gauges_url=gauges_url)

    async def unwatch(self, host: str, service: str) -> None:
        """Stops following it."""
        await self._nodes[host].command("unwatch", service=service)

    async def stop(self) -> list[str]:
        """Ends all samplers, each even if others fail; returns their problems."""
        self._stopping = True
        for task in self._following:
            await cancelled(task)
        problems = [problem for node in self._nodes.values() if (problem := await node.close()) is not None]
        for task in self._tasks:
            await cancelled(task, HEARD_S_MAX)
        for name, drops in self._drops.items():
            try:
                await within(asyncio.to_thread(drops.close), DROPS, f"the counter of {name}'s queues", "end")
            except Exception as error:  # noqa: BLE001 - of a namespace that is gone; the others are still ended
                problems.append(f"the counter of {name}'s queues: {error}")
        self.buffer.close()
        return problems

    async def _follow(self, name: str, node: Node) -> None:
        """Takes in a sampler's readings. No task awaits this: `lost` reports an unasked end."""
        try:
            while (event := await node.next_event(SILENCE)) is not None:
                if event["event"] == "sample":
                    event["wall_s"] -= self.clocks.ahead_s(self._hosts[name])
                    if name in self._drops:
                        event["host"] |= await within(self._drops[name].read(), DROPS, f"the counter of {name}'s queues", "answer")
                    self._add(name, event)
                elif event["event"] == "failed":
                    raise RunFailedError(event["error"])
            reason = await node.exit_status_text()
        except Exception as error:  # noqa: BLE001 - see above
            reason = str(error) if isinstance(error, HydrotestError) else f"{type(error).__name__}: {error}"
        if self._stopping:
            return
        if name in self._spared:
            self.ended[name] = reason
        elif not self.lost.done():
            self.lost.set_result(f"the sampler on {name} is lost: {reason}")

    def _show(self, name: str) -> None:
        rows = self.buffer.newest_hosts(name)
        if len(rows) < 2:
            return
        before, now = rows
        wall_us = (now["wall_s"] - before["wall_s"]) * 1e6
        idle, busy = (
            sum(now[counter] - before[counter] for counter in counters) for counters in (("cpu_idle_us", "cpu_iowait_us"), CPU_BUSY)
        )
        shares = {
            "cpu": busy / max(1, busy + idle),
            "memory": 1 - now["memory_available_bytes"] / now["memory_total_bytes"],
            "disk": (now["disk_busy_ms"] - before["disk_busy_ms"]) * 1e3 / wall_us,
        }
        if (link := self._links.get(name)) is not None:
            # As in host_rates: on one machine all traffic is on loopback.
            ways = [sum(now[counter] - before[counter] for counter in counters) for counters in NETWORK_WAYS]
            shares["network"] = max(ways) * 1e6 / wall_us / link
        self._listener.host(name, {resource: min(1.0, max(0.0, share)) for resource, share in shares.items()})
