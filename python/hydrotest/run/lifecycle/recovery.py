"""Hosts that are lost in the middle of a run: one of generators only is reached again, and its trial repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from hydrotest.errors import HydrotestError, RunFailedError
from hydrotest.hosts.base import Host
from hydrotest.hosts.clocks import Clocks
from hydrotest.run.lifecycle.events import Listener
from hydrotest.run.lifecycle.sampling import Sampling

WAITS_S = (1.0, 4.0, 16.0)
"""Before each attempt; the last one waits at least for the host's lease, which ends what still runs there."""


class Recovery:
    """Brings hosts back whose loss costs a trial, not the run: those of generators, on machines of their own."""

    def __init__(self, hosts: Mapping[str, Host], sampling: Sampling, clocks: Clocks, listener: Listener, spared: Collection[str]) -> None:
        """`spared`: hosts without a service."""
        self._hosts = hosts
        self._sampling = sampling
        self._clocks = clocks
        self._listener = listener
        self._spared = frozenset(spared)

    def spares(self, host: str) -> bool:
        """True if its loss does not end the run."""
        return host in self._spared

    async def restore(self) -> None:
        """Before a trial: reaches lost hosts again, and samples them again. Raises `RunFailedError` where that fails."""
        for name, why in list(self._sampling.ended.items()):
            self._listener.warn(f"{name} is lost, and is tried to be reached again: {why}")
            await self._restore(name, why)
            await self._clocks.close()  # the one that the others are compared with may have been there
            self._listener.say(f"{name} is reached again")

    async def _restore(self, name: str, why: str) -> None:
        last = why
        for wait_s in (*WAITS_S[:-1], max(WAITS_S[-1], self._hosts[name].lease_s or 0.0)):
            await asyncio.sleep(wait_s)
            try:
                await self._hosts[name].reopen()
                await self._sampling.restart(name)
            except (OSError, HydrotestError) as error:
                last = str(error)
            else:
                return
        raise RunFailedError(
            f"{name} is lost, and was not reached again in {len(WAITS_S)} attempts: {last}", "`--resume` goes on after the last trial."
        )
