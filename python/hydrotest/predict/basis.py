"""What an answer for a workload stands on: the windows of workloads that are like it, on systems that are set up as its own."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from hydrotest.analysis.bottleneck.use import NEAR_CEILING
from hydrotest.analysis.demand.body import Applied, Body, Source, alike_to, body_of, differing
from hydrotest.analysis.demand.laws.base import Law, Work
from hydrotest.analysis.demand.windows import Ceilings, law_of
from hydrotest.errors import BadInputError
from hydrotest.predict.answer import Refused, Why
from hydrotest.predict.axes import Reached
from hydrotest.predict.capacity import Scene
from hydrotest.predict.change import MEMORY, RESOURCES, Asked, as_file
from hydrotest.predict.known import Known
from hydrotest.spec.lines import parse_document
from hydrotest.spec.load import experiment_of
from hydrotest.spec.models import Experiment
from hydrotest.spec.workload import Workload
from hydrotest.verdicts.figures import Resource

BUDGET_MIN = 6
"""Minutes for each workload."""
MEMORY_SHARE = 0.5
"""Of a host's memory that data may take so that reads still come from memory: the rest is the heap's, and of what is written."""
CORES, NETWORK, DISK = "hosts.cores", "hosts.network", "hosts.disk"
GROUPS = "groups"
NEEDED_MIN = 0.5
"""Share of the cores that an operation's law must have at a limit by an objective: below it something else bound."""
READERS_MAX = 2
"""Of groups that nobody has measured so many are, at most: from there on each costs what the last one did."""


class AtObjective(NamedTuple):
    """A limit at an objective on latency."""

    rate: float
    full: float
    """Share of the cores that could be used then."""


@dataclass(frozen=True)
class Basis:
    """What the answer for one workload stands on."""

    name: str
    spec: Workload
    """As it would be."""
    law: Law
    system: str
    hosts: int
    body: Body
    first: Known
    """The first run that has the system: what is asked is a change of it."""
    has: Ceilings
    """What each host would have."""
    numbers: Sequence[Reached]
    groups: float = 0.0
    """Consumer groups that read each of its records."""

    @property
    def applied(self) -> Applied:
        """The workload on its hosts."""
        return Applied(self.spec, self.hosts, self.body.ride, self.groups)

    def work(self, rate: float, hosts: int | None = None, *, on_busiest: bool = False) -> Work:
        """What a load by schedule makes each of so many hosts do, as far as the law knows it: that of a system that uses more than it needs
        stands on windows without a rate limit only."""
        applied = self.applied if hosts is None else self.applied.on(hosts)
        return applied.work(rate, is_closed=self.body.is_soft, on_busiest=on_busiest)

    def scene(self, full: float, others_cores: float = 0.0, speed: float = 1.0) -> Scene:
        """The workload by schedule, on its hosts as they would be."""
        return Scene(self.body, self.applied, self.has, self.body.is_soft, full, others_cores, speed)

    @property
    def at_objective(self) -> AtObjective | None:
        """Its limit at an objective, as it was measured. None where none was, or where it used too little of the cores to be theirs."""
        first, original = self.first, self.first.experiment.workloads.get(self.name)
        limit = first.limits.get(self.name)
        if limit is None or original is None:
            return None
        hosts = len(first.experiment.systems.present()[self.system].hosts)
        then = Scene(self.body, Applied(original, hosts, self.body.ride), first.has[self.system], self.body.is_soft, 1.0, self.body.others)
        share = {use.resource: use.share for use in then.uses(limit)}
        if max(share.get(Resource.NETWORK, 0.0), share.get(Resource.DISK, 0.0)) >= NEAR_CEILING:
            # Where a link or a disk bound, nothing shows how much of the cores could have been used.
            return AtObjective(limit, self.body.full)
        return AtObjective(limit, min(self.body.full, share[Resource.CPU])) if share[Resource.CPU] >= NEEDED_MIN * self.body.full else None

    @property
    def usable(self) -> float:
        """Share of the cores that can be used: at its objective, where that was measured."""
        found = self.at_objective
        return self.body.full if found is None else found.full

    def seen_cores(self, rate: float, hosts: int) -> float:
        """Cores that each of so many hosts was seen to use at a rate by schedule, of a system that uses more than it needs: threads that look
        for work in a loop take it from others on the same host. Of another one what is fixed: the rest is its law's."""
        if not self.body.is_soft:
            return self.body.demands.fixed
        measured = len(self.first.experiment.systems.present()[self.system].hosts)
        return self.body.idling(rate * measured / hosts)

    @property
    def copies_needed(self) -> int:
        """Copies that must be there for its operations to succeed."""
        return self.law.copies_needed(self.spec, self.first.experiment.systems.present()[self.system])


def basis_of(runs: Sequence[Known], now: Asked, name: str) -> Basis | Refused:
    """What is known of a workload's system, with the workload as it would be."""
    spec = now.experiment.workloads[name]
    law, system = law_of(spec.kind), spec.presses_on
    if law is None or system is None:
        return Refused(workload=name, why=Why.NOT_MODELLED, about=[spec.kind])
    if (setting := law.refusal(spec)) is not None:
        return Refused(workload=name, why=Why.NOT_MODELLED, about=[setting])
    with_it = [run for run in runs if run.seen.get(system)]
    measured = [one for run in with_it for key, one in run.experiment.workloads.items()
                if one.kind == spec.kind and any(key in seen.rates for seen in run.seen[system])]  # fmt: skip
    if not measured:
        return Refused(workload=name, why=Why.TOO_FEW, about=[name], experiment=calibration(now, name))
    same = [run for run in with_it if not _changed(run, now, system)]
    if not same:
        keys = min((_changed(run, now, system) for run in with_it), key=len)
        return Refused(workload=name, why=Why.SETTING, about=[f"{system}.{key}" for key in keys], experiment=calibration(now, name))
    body = body_of(_sources(runs, same, system), alike_to(spec))
    if body is None:
        keys = differing(spec, {str(at): one for at, one in enumerate(measured)})
        return Refused(workload=name, why=Why.SETTING if keys else Why.TOO_FEW, about=[f"{name}.{key}" for key in keys] or [name],
                       experiment=calibration(now, name))  # fmt: skip
    times = now.times.get(system, {})
    has = same[0].has[system].times(*(times.get(key, 1.0) for key in (*RESOURCES, MEMORY)))
    hosts = len(now.experiment.systems.present()[system].hosts)
    found = Basis(name, spec, law, system, hosts, body, same[0], has, [], now.groups.get(name, 0.0))
    return replace(found, numbers=_numbers(runs, found))


def alike(spec: Workload, law: Law, experiment: Experiment, system: str) -> dict[str, str]:
    """The settings that must be as they are, for a run that is held against a prediction."""
    found = {key: repr(value) for key, value in law.axes.fixed(spec).items()}
    settings = _settings(experiment, system)
    return found | {f"{system}.{key}": json.dumps(value, sort_keys=True, default=str) for key, value in settings.items()}


def _settings(experiment: Experiment, system: str) -> dict[str, Any]:
    """Those of a system, apart from its hosts."""
    return experiment.systems.present()[system].model_dump(exclude={"hosts"})


def _sources(runs: Sequence[Known], same: Sequence[Known], system: str) -> list[Source]:
    """The windows of a system, in the places of their runs; none of those that are set up in another way, or on other machines."""
    return [Source(run.experiment.workloads, len(run.experiment.systems.present()[system].hosts),
                   run.seen[system] if run in same and run.machines == same[0].machines else [])
            if system in run.seen else Source({}, 1, []) for run in runs]  # fmt: skip


def _changed(run: Known, now: Asked, system: str) -> list[str]:
    """Settings of a system, apart from its hosts, that a run does not have in this way."""
    wanted, had = (_settings(one, system) for one in (now.experiment, run.experiment))
    return [key for key, value in wanted.items() if had.get(key) != value]


def _numbers(runs: Sequence[Known], basis: Basis) -> list[Reached]:
    """All numbers of the workload and its hosts, each with the values that were measured."""
    points = basis.body.points
    used = {(point.seen.run, key) for point in points for key in point.seen.rates}
    specs = [runs[run].experiment.workloads[key] for run, key in used]
    had = [len(runs[run].experiment.systems.present()[basis.system].hosts) for run, _ in used]
    found = [Reached(f"{basis.name}.{key}", axis(basis.spec), [axis(one) for one in specs]) for key, axis in basis.law.axes.numbers.items()]
    if basis.law.has_groups:
        read = [1.0 + point.seen.groups_of(name) for point in points for name in point.seen.rates]
        found.append(Reached(f"{basis.name}.{GROUPS}", 1.0 + basis.groups, read, shift=1.0))
    found += [
        Reached(f"{basis.system}.hosts", basis.hosts, had),
        Reached(CORES, basis.has.cores, [point.seen.has.cores for point in points]),
    ]
    links, disks = [point.seen.has.link for point in points], [point.seen.has.disk for point in points]
    for axis, value, seen in ((NETWORK, basis.has.link, links), (DISK, basis.has.disk, disks)):
        known = [one for one in seen if one]
        if value and known:
            found.append(Reached(axis, value, known))
    return found


def calibration(now: Asked, name: str) -> str | None:
    """An experiment that measures the workload as it would be, with what feeds it; None if none can."""
    spec = now.experiment.workloads[name]
    value = copy.deepcopy(parse_document(now.text, Path("experiment")).value)
    value["workloads"] = {key: one for key, one in value["workloads"].items() if key in (name, spec.source)}
    value["objectives"] = {key: one for key, one in value.get("objectives", {}).items() if key in (name, spec.source)}
    readers = [f"{name[:50]}-reader-{number + 1}" for number in range(min(READERS_MAX, round(now.groups.get(name, 0.0))))]
    there = {"on": value["workloads"][name]["on"]} if "on" in value["workloads"][name] else {}
    value["workloads"] |= {reader: {"kind": "kafka-consume", "reads": name, **there} for reader in readers}
    measured = {"workloads": [name, *readers], "budget": f"{BUDGET_MIN * (1 + len(readers))} min"}
    value["tests"] = [{"isolated": [name]} if spec.is_job else {"calibrate": measured}]
    value["name"] = f"calibrate-{name}"[:63]
    for key in ("published", "objectives"):
        if not value.get(key):
            value.pop(key, None)
    text = as_file(value)
    try:
        experiment_of(parse_document(text, Path("experiment")), opens_files=False)
    except BadInputError:
        return None
    return text
