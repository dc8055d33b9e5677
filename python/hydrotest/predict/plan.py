"""A size as data: plan.json, and what `size --json` prints."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from hydrotest.catalogue.cost import Line
from hydrotest.predict.answer import Refused
from hydrotest.summary.base import Count, Number, Row


class Reason(StrEnum):
    """Why a machine is not taken."""

    CPU = "cpu"
    NETWORK = "network"
    """What its link carries for as long as one likes is too little; what it carries for a while does not count."""
    DISK = "disk"
    DATA = "data"
    """What is to be kept does not fit on its own disks."""
    MEMORY = "memory"
    """It has less than the hosts that were measured."""
    FAR = "far"
    """It has more than four times the cores that were measured."""
    HOSTS = "hosts"
    """There would be more than four times the hosts that were measured."""
    LAW = "law"
    """The runs do not show what it takes on so many hosts."""
    NO_PRICE = "no price"
    NOT_KNOWN = "not known"


class Part(Row):
    """Machines of one type, for one system or for several on the same hosts."""

    systems: list[str] = Field(description="The systems on them.")
    machine: str = Field(description="The type.")
    count: Count = Field(description="How many.")
    binds: str = Field(description="What is full first: `cpu`, `network` or `disk`; `law`: beyond, the runs do not show what it takes.")
    headroom: Number = Field(description="By how much the load could grow until then, as a share of the need.")
    after_one: Number | None = Field(None, description="The same after one host is lost; null: there is one.")
    use: dict[str, Number] = Field(description="Use of each resource at the need, of what can be used.")
    usd_h: Number = Field(description="USD an hour.")
    lines: list[Line] = Field(description="What costs.")
    times_cores: Number = Field(description="Its cores, as a multiple of the most that was measured on a host.")
    is_far: bool = Field(description="It has more than four times the cores that were measured.")
    is_price_derived: bool = Field(description="Its price is not listed.")
    stored_bytes: Number = Field(description="Bytes that each keeps.")
    times_hosts: Number = Field(description="Their number, as a multiple of the most hosts that were measured.")
    not_known: list[str] = Field(description="Of `network` and `disk` what it sustains is not known: what it carries at best counts.")
    lacks_disk_price: bool = Field(description="They need disks that are reached by the network, whose price is not known and not counted.")


class Plan(Row):
    """What carries all that is needed."""

    parts: list[Part] = Field(description="Its machines.")
    is_shared: bool = Field(description="All systems are on the same hosts.")
    usd_h: Number = Field(description="USD an hour.")
    usd_month: Number = Field(description="USD a month of 730 hours.")
    usd_per_million: dict[str, Number] = Field(description="USD of all of it for a million operations, by workload.")
    headroom: Number = Field(description="By how much all loads could grow until something is full.")
    traffic: list[Line] = Field(
        default_factory=list,
        description="Traffic between zones at the need, of clients and of copies; none where the price of some is not known. Not in the sums.",
    )
    traffic_usd_h: Number | None = Field(None, description="USD an hour of it; null: not known.")


class Rejected(Row):
    """What would cost less, but for one reason."""

    systems: list[str] = Field(description="The systems on it.")
    machine: str = Field(description="The type.")
    count: Count = Field(description="How many there would be.")
    would_cost_usd_h: Number = Field(description="USD an hour that they would cost, without disks.")
    why: Reason = Field(description="The reason.")
    needed: Number | None = Field(None, description="What each would need: cores, bytes a second, or bytes.")
    has: Number | None = Field(None, description="What it has.")


class Lacking(Row):
    """Why no type of machine carries a system."""

    systems: list[str] = Field(description="The systems on the same hosts.")
    why: Reason = Field(description="What is lacking.")
    types: Count = Field(description="Types of machines that lack it, each counted once.")


class Turn(Row):
    """From which multiple of the need on other machines are cheapest."""

    times: Number = Field(description="The multiple.")
    machines: list[str] = Field(description="The cheapest there; empty: nothing carries it.")
    usd_h: Number | None = Field(None, description="USD an hour of them.")


class Size(Row):
    """The answer of `hydrotest size`."""

    version: str = Field(description="Of hydrotest.")
    runs: list[str] = Field(description="Folders of the runs that it stands on.")
    needs: dict[str, Number] = Field(description="Operations a second, by workload.")
    groups: dict[str, Number] = Field(default_factory=dict, description="Consumer groups that read each record, by workload.")
    headroom: Number = Field(0.0, description="So much more is carried.")
    lost: str = Field("none", description="What may be lost with the need still carried: `none`, `host` or `zone`.")
    zones: Count = Field(1, description="Zones over which hosts and clients are spread.")
    plans: list[Plan] = Field(default_factory=list, description="Cheapest first.")
    rejected: list[Rejected] = Field(default_factory=list, description="What would cost less, but for one reason.")
    lacking: list[Lacking] = Field(default_factory=list, description="Where nothing carries it: what types of machines lack.")
    turns: list[Turn] = Field(default_factory=list, description="Where other machines become the cheapest.")
    refused: list[Refused] = Field(default_factory=list, description="Workloads of which nothing can be said, and why.")
    looked_at: Count = Field(0, description="Types of machines that were looked at.")
    speed: Number = Field(1.0, description="Speed of a vCPU, as a multiple of a core that was measured: assumed.")

    @property
    def is_not_shown(self) -> bool:
        """No machines are known to carry it, and the runs do not show what the need takes on machines that may carry it."""
        return not self.plans and (bool(self.refused) or any(one.why == Reason.LAW for one in self.lacking))
