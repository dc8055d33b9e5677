"""What twice the limits of a run would be bought with: the cheapest machines that carry it, where the runs bear that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hydrotest.catalogue.machine import Machine
from hydrotest.predict.known import Known
from hydrotest.predict.needs import Ask
from hydrotest.predict.plan import Plan
from hydrotest.predict.size import TooFewCopiesError, cheapest

TIMES = 2


@dataclass(frozen=True)
class Bought:
    """The cheapest plan for twice a workload's limit."""

    workload: str
    needed: float
    """Twice its limit as it was measured, 1/s."""
    plan: Plan
    headroom: float
    """What it carries beyond that, as a share."""
    lost: str
    """What may be lost: `host`, or `none` where too few copies are kept."""
    zones: int
    """Over which hosts and clients are spread."""


def bought(run: Known, machines: Sequence[Machine]) -> list[Bought]:
    """Of each workload whose limit was found, and whose law bears it; systems of the same run are each on hosts of their own."""
    found = []
    for workload, limit in run.limits.items():
        ask = Ask({workload: TIMES * limit}, machines, lost="host", top=1)
        try:
            plan = cheapest([run], ask)
        except TooFewCopiesError:
            ask = replace(ask, lost="none")
            plan = cheapest([run], ask)
        if plan is not None:
            found.append(Bought(workload, TIMES * limit, plan, ask.headroom, ask.lost, ask.zones))
    return found
