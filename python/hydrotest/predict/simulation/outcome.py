"""What a simulation found, as data."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from hydrotest.catalogue.cost import Cost, Uncounted
from hydrotest.summary.base import Count, Number, Row


class What(StrEnum):
    """What happened."""

    FAILED = "failed"
    CUT = "cut off"
    RESTARTED = "restarted"
    BACK = "back"
    CAUGHT_UP = "caught up"
    ADDED = "added"
    SPENT = "burst spent"
    DISK_FULL = "disk full"
    MISSED = "missed"
    MET = "met again"


class Lacking(Row):
    """What a system lacks."""

    what: str = Field(description="`away`; or a resource that is full: `cpu`, `network` or `disk`.")
    is_spent: bool = Field(False, description="Its burst is spent.")
    host: str = Field(description="The first host of which that is so.")
    count: Count = Field(description="How many there are.")


class Happening(Row):
    """Something that happened."""

    at_s: Number = Field(description="When, in seconds since the beginning.")
    what: What = Field(description="What.")
    subject: str = Field(description="The host, system or workload: of several hosts at once the first.")
    count: Count = Field(1, description="Hosts to which it happened at once.")
    resource: str | None = Field(None, description="`cpu`, `network` or `disk`, where it is about one.")
    because: list[Lacking] = Field(default_factory=list, description="Of what was missed: what its system lacked then.")


class Missed(Row):
    """How long an objective was missed."""

    workload: str = Field(description="The workload; `disks` for how full they were, `compaction` for how far it was behind.")
    minutes: Number = Field(description="Mean over all courses.")
    low: Number = Field(description="5th percentile of them.")
    high: Number = Field(description="95th percentile.")


class Went(Row):
    """How it went for a workload in the first course."""

    workload: str = Field(description="The workload.")
    offered: Number = Field(description="Operations that were asked for.")
    served: Number = Field(description="Of these: served.")
    given_up: Number = Field(description="Given up after waiting.")
    waiting: Number = Field(description="Still waiting in the end.")
    backlog_max: Number = Field(description="The most that waited at once.")
    wait_max_s: Number = Field(description="The longest that one waited, in seconds.")


class DiskDays(Row):
    """How long the disks of a group last."""

    group: str = Field(description="The group of hosts.")
    fill: Number = Field(description="How full the fullest is in the end, as a share.")
    per_day: Number = Field(description="By how much of it that grows in a day, over the second half.")
    days: Number | None = Field(None, description="Days until it is full to the share that is allowed; null: it does not grow.")


def behind_column(system: str) -> str:
    """The column of a series with how long the host that is most behind would rewrite."""
    return f"{system} behind_s"


class Behind(Row):
    """How far a system was behind with rewriting what it had written, in the first course."""

    system: str = Field(description="The system.")
    most_s: Number = Field(
        description="How long the host that was most behind would have rewritten, if nothing more had been written: in seconds."
    )
    end_s: Number = Field(description="The same in the end.")
    rewrites_s: Number = Field(description="Bytes a second that each host rewrites at most.")


class Simulated(Row):
    """The answer of `hydrotest simulate`."""

    version: str = Field(description="Of hydrotest.")
    name: str = Field(description="Of the scenario.")
    runs: list[str] = Field(description="Folders that it stands on.")
    seconds: Number = Field(description="How long was simulated.")
    hosts: Count = Field(description="Hosts in the beginning.")
    seeds: Count = Field(description="Courses of what is random.")
    steps: Count = Field(description="Steps of the first course.")
    conserved: Number = Field(description="The largest error of operations asked for minus served, waiting and given up, as a share.")
    missed: list[Missed] = Field(description="How long objectives were missed.")
    first_bad: Happening | None = Field(description="The first objective that was missed in the first course; null: none.")
    happenings: list[Happening] = Field(description="What happened in the first course, in order.")
    workloads: list[Went] = Field(description="How it went.")
    disks: list[DiskDays] = Field(description="How long disks last.")
    compaction: list[Behind] = Field(
        default_factory=list, description="How far systems were behind with compaction, where that was simulated."
    )
    cost: Cost | None = Field(
        None, description="What it costs in the beginning; null: of some hosts no type is named, or its price is not known."
    )
    not_in_cost: list[Uncounted] = Field(default_factory=list, description="What is not in the cost, besides people and the like.")
    cost_in_the_end: Cost | None = Field(None, description="The same with the hosts that are added; null: none are.")
    assumed: list[str] = Field(default_factory=list, description="What is assumed: codes.")
