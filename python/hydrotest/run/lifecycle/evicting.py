"""What systems have on their disks, taken out of the page cache."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hydrotest.hosts.base import Host, ask
from hydrotest.hosts.deadlines import SLOW, Patience

EVICT = Patience.of(what_is_not_yet_on_the_disk=SLOW * 60.0)


async def evict(hosts: Sequence[Host], run: str) -> dict[str, int]:
    """Takes a run's files on these hosts out of the page cache, and returns how large they are, in bytes, by host. What a process has
    mapped into its memory stays. Raises `TrialFailedError`."""
    answers = await asyncio.gather(*(ask(host, "evict", {"folder": str(host.scratch(run))}, EVICT) for host in hosts))
    return {host.name: int(answer["bytes"]) for host, answer in zip(hosts, answers, strict=True)}
