"""Hosts of one kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hydrotest.hosts.base import Host
from hydrotest.hosts.lab.lab import Lab
from hydrotest.hosts.monitored.source import Source


async def nothing() -> Sequence[str]:
    """Nothing was made, so nothing is left."""
    return ()


@dataclass
class Group:
    """Hosts of one kind, and what was made for them."""

    hosts: Mapping[str, Host]
    lift_quotas: Callable[[bool], None] = lambda lifted: None
    """True: they have all of the machine's cores for now; false: their own share."""
    remove: Callable[[], Awaitable[Sequence[str]]] = nothing
    """Removes what was made, and returns what could not be removed."""
    lab: Lab | None = None
    """The lab, where they are emulated."""
    sources: Mapping[str, Source] = field(default_factory=dict)
    """Machines on which nothing runs: where their readings come from."""
