"""Several workloads at once: the share of each one's limit that all have together.

Threads that look for work in a loop use a quota that others share, whether they find work or not. How much of it others get is not
known: half counts (`SOFT_KEPT`), and the ends of the interval are with all of it and without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hydrotest.errors import BadInputError
from hydrotest.predict.answer import Prediction, Refused, Together
from hydrotest.predict.axes import combined
from hydrotest.predict.basis import Basis
from hydrotest.predict.capacity import highest
from hydrotest.predict.change import Asked
from hydrotest.predict.gates import is_wide
from hydrotest.predict.loads import SOFT_KEPT, system_cores
from hydrotest.predict.scores import Scores
from hydrotest.verdicts.figures import Resource

AXIS = "together"


class _Hosts:
    """The hosts of some workloads, and what each of them needs when these run at a share of their limits."""

    def __init__(
        self, now: Asked, bases: Mapping[str, Basis], limits: Mapping[str, float], full: Mapping[str, float], speed: float
    ) -> None:
        self.now, self.bases, self.limits, self.full, self.speed = now, bases, limits, full, speed
        self.systems = {name: set(system.hosts) for name, system in now.experiment.systems.present().items()}
        used = {bases[name].system for name in limits}
        self.hosts = sorted({host for name in used for host in self.systems[name]})

    def fullest(self, share: float, *, kept: float, worse: float = 1.0) -> tuple[float, str, str]:
        """What the host and resource that are nearest to their ceilings use of them, with their names; `kept`: see `system_cores`;
        `worse`: as many times as much of the CPU."""
        loads = {name: share * limit for name, limit in self.limits.items()}
        found = [(used, host, resource) for host in self.hosts for resource, used in self._of(host, loads, kept, worse)]
        return max(found)

    def _of(self, host: str, loads: Mapping[str, float], kept: float, worse: float) -> list[tuple[Resource, float]]:
        there = [name for name, hosts in self.systems.items() if host in hosts]
        own = [one for name, one in self.bases.items() if one.system in there and name in loads]
        cores = sum(system_cores(self.bases, name, loads, kept=kept) for name in there) * worse / self.speed
        ceiling = min(one.has.cores * self.full[one.name] for one in own)
        found = [(Resource.CPU, cores / ceiling)]
        for resource in (Resource.NETWORK, Resource.DISK):
            shares = [
                use.share
                for one in own
                for use in one.scene(self.full[one.name], speed=self.speed).uses(loads[one.name])
                if use.resource == resource
            ]
            if shares:
                found.append((resource, sum(shares)))
        return found


def together(now: Asked, bases: Mapping[str, Basis], answers: Sequence[Prediction | Refused], names: Sequence[str], speed: float,
             scores: Scores, full: Mapping[str, float]) -> Together | None:  # fmt: skip
    """The common share; None if the limit of one of them is not predicted. `full`: cores that each law has at its workload's limit, as a
    share of those there are. Raises `BadInputError` for fewer than two workloads."""
    if len(set(names)) < 2:
        raise BadInputError("--together needs two workloads", "Write e.g. --together ingest,store.")
    limits = {one.workload: one.limit for one in answers if isinstance(one, Prediction) and one.workload in names}
    if len(limits) < len(set(names)):
        return None
    hosts = _Hosts(now, bases, limits, full, speed)
    law = combined([scores.of(AXIS).error, *(bases[name].body.demands.deviation for name in limits)])
    with_soft, without, least, most = (
        min(1.0, highest(lambda share, kept=kept, worse=worse: hosts.fullest(share, kept=kept, worse=worse)[0]))  # type: ignore[misc]
        for kept, worse in ((SOFT_KEPT, 1.0), (0.0, 1.0), (1.0, math.exp(law)), (0.0, math.exp(-law)))
    )
    _, host, resource = hosts.fullest(with_soft, kept=SOFT_KEPT)
    return Together(workloads=list(limits), share=with_soft, low=least, high=most, without_soft=without,
                    rates={name: with_soft * limit for name, limit in limits.items()}, host=host, resource=resource,
                    is_wide=is_wide(least, most))  # fmt: skip
