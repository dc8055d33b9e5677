"""Packets that the queues in front of an emulated host's link dropped.

No counter inside the host shows them: queues drop before the device counts. Packets sent to a host
wait at the other end of its cable, in another namespace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from hydrotest.hosts.lab import netlink

if TYPE_CHECKING:
    from pyroute2 import IPRoute


class QueueDrops:
    """The queues at both ends of one host's cable.

    Each is read by its own thread, which stays in the namespace of that end: 0.3 ms of a core a reading.
    """

    def __init__(self, ends: Iterable[tuple[str, str | None]]) -> None:
        """`ends`: devices, each with its namespace (none: ours).

        Raises pyroute2's `NetlinkError` where one is missing.
        """
        self._ends = [_End(device, namespace) for device, namespace in ends]

    async def read(self) -> dict[str, int]:
        """`queue_drops`: packets in both directions so far; grows, also over a change of the link's speed."""
        return {"queue_drops": sum(await asyncio.gather(*(end.read() for end in self._ends)))}

    def close(self) -> None:
        """Leaves the namespaces: an open one would live on."""
        for end in self._ends:
            end.close()


class _End:
    def __init__(self, device: str, namespace: str | None) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._ip, self._index = self._thread.submit(_enter, device, namespace).result()
        self._last = self._all = 0

    async def read(self) -> int:
        now = await asyncio.get_running_loop().run_in_executor(self._thread, _dropped, self._ip, self._index)
        # A queue of another kind begins at 0.
        self._all += now - self._last if now >= self._last else now
        self._last = now
        return self._all

    def close(self) -> None:
        self._thread.submit(self._ip.close).result()
        self._thread.shutdown()


def _enter(device: str, namespace: str | None) -> tuple[IPRoute, int]:
    if namespace is not None:
        netlink.netns.setns(namespace, flags=0)
    ip = netlink.IPRoute()
    return ip, int(ip.link_lookup(ifname=device)[0])


def _dropped(ip: IPRoute, index: int) -> int:
    return sum(queue.get_attr("TCA_STATS2").get_attr("TCA_STATS_QUEUE")["drops"] for queue in ip.get_qdiscs(index=index))
