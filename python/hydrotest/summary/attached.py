"""A cluster that is there already, before anything was asked of it."""

from __future__ import annotations

from pydantic import Field

from hydrotest.summary.base import Count, Number, Row
from hydrotest.summary.usage import HostUsage


class UsageByOthers(HostUsage):
    """What a host's others used of it."""

    host: str = Field(description="The host's name.")


class Baseline(Row):
    """A cluster that others use, as it was before any load of ours."""

    system: str = Field(description="Its key in the experiment.")
    seconds: Number = Field(description="How long it was watched.")
    p99_ms: Number | None = Field(description="The slowest second's p99 of a few requests a second; null: none were made or answered.")
    behind: Count = Field(description="The most copies that were behind, or nodes away.")
    free: Number | None = Field(description="The least free share of a disk; null: it does not say.")
    hosts: list[UsageByOthers] = Field(description="Its machines, as far as their counters are read.")
