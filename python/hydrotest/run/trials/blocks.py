"""Reduces hosts' resources and restores them, block by block, while a workload runs."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from hydrotest.analysis.bottleneck.squeeze import Block
from hydrotest.hosts.base import Host
from hydrotest.store.records import SqueezeBlock


class Blocks:
    """Reduces hosts' resources and restores them, block by block, under load."""

    def __init__(self, hosts: Mapping[str, Host], turns: Sequence[Block], delay_s: float, last: Callable[[float], Awaitable[None]]) -> None:
        """`last`: returns after so many seconds or a little more, when a block may end."""
        self.last = last
        self.hosts = hosts
        self.turns = turns
        self.delay_s = delay_s
        self.done: list[SqueezeBlock] = []
        self.records: dict[str, Any] = {"turns": self.done}

    async def carry_out(self) -> None:
        """See `Disturbance`."""
        await self.last(self.delay_s)
        for turn in self.turns:
            hosts = [self.hosts[name] for name in turn.hosts]
            try:
                for host in hosts:
                    await host.give(turn.resource or "", turn.given)
                began = time.time()
                await self.last(turn.seconds)
                ended = time.time()
            finally:
                for host in hosts:
                    await host.give(turn.resource or "", 1.0)
            self.done.append(SqueezeBlock.model_validate({"hosts": list(turn.hosts), "resource": turn.resource, "given": turn.given,
                                                         "start_wall_s": began, "end_wall_s": ended}))  # fmt: skip
