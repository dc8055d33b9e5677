"""Co-locate or isolate? The same systems under the same load, on shared hosts and on hosts of their own."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from hydrotest.analysis.comparison.compare import Run, apart, ends_of
from hydrotest.spec.models import Experiment
from hydrotest.summary.limits import Limit
from hydrotest.verdicts.comparison import Choice, Contended, Unequal, Word

USERS_MAX = 4
"""Most services to name as users of a resource."""
SAME_MAX = 0.02
"""Up to this relative difference two placements have the same total resources."""


@dataclass(frozen=True)
class Part:
    """A workload's limits (low, high; operations per second) in one run. `alone`: the other workloads idle;
    None if not measured."""

    run: str
    is_shared: bool
    """Whether its system shares a host with another."""
    alone: tuple[float, float] | None
    together: tuple[float, float] | None


@dataclass(frozen=True)
class Answer:
    """The placement in which a workload achieves more while the others run too."""

    workload: str
    unit: str
    parts: list[Part]
    better: Choice
    contended: list[Contended]
    """On shared hosts: the resources near their ceiling while all ran, and their users; empty if there were
    none."""


@dataclass(frozen=True)
class Placed:
    """The answers, and the reasons against comparing the runs."""

    answers: list[Answer]
    unequal: list[Unequal]


def placed(runs: Sequence[Run]) -> Placed | None:
    """Compares placements by the `combined` limits of each workload. None unless the runs include a placement
    in which its system shares hosts and one in which it does not."""
    answers = []
    for workload in runs[0].experiment.workloads:
        known = [run for run in runs if workload in run.experiment.workloads and _row(run, workload, "combined") is not None]
        sharing = [run for run in known if _is_shared(run.experiment, workload)]
        apart_from = [run for run in known if not _is_shared(run.experiment, workload)]
        if sharing and apart_from:
            answers.append(_answer(workload, known, sharing[0], apart_from[0]))
    return Placed(answers, _unequal(runs)) if answers else None


def _answer(workload: str, runs: Sequence[Run], sharing: Run, own: Run) -> Answer:
    parts = [
        Part(run.summary.run, _is_shared(run.experiment, workload), _interval(run, workload, "isolated"), _interval(run, workload, "combined"))
        for run in runs
    ]  # fmt: skip
    on_shared, on_own = _interval(sharing, workload, "combined"), _interval(own, workload, "combined")
    better = Choice.UNKNOWN
    if on_shared is not None and on_own is not None:
        word = apart(on_own, on_shared)
        better = Choice.SHARED if word == Word.FASTER else Choice.OWN if word == Word.SLOWER else Choice.SAME
    row = _row(sharing, workload, "combined")
    return Answer(workload, row.unit if row else "", parts, better, _contended(sharing, workload))


def systems_on(experiment: Experiment) -> dict[str, set[str]]:
    """The systems under load on each machine."""
    found: dict[str, set[str]] = defaultdict(set)
    for workload in experiment.workloads:
        for system, machines in experiment.machines(workload).items():
            for machine in machines:
                found[machine].add(system)
    return found


def _is_shared(experiment: Experiment, workload: str) -> bool:
    there = systems_on(experiment)
    return any(len(there[machine]) > 1 for machines in experiment.machines(workload).values() for machine in machines)


def _row(run: Run, workload: str, tenancy: str) -> Limit | None:
    rows = (row for row in run.summary.limits if row.workload == workload and row.tenancy == tenancy)
    return next(rows, None)


def _interval(run: Run, workload: str, tenancy: str) -> tuple[float, float] | None:
    row = _row(run, workload, tenancy)
    return None if row is None or row.limit is None else ends_of(row)


def _contended(run: Run, workload: str) -> list[Contended]:
    """On the hosts that the workload's system shares: each resource near its ceiling while all ran, with its
    share and its users."""
    there = systems_on(run.experiment)
    hosts = {machine for machines in run.experiment.machines(workload).values() for machine in machines if len(there[machine]) > 1}
    together = run.summary.together
    out = []
    for use in together.resources:
        if use.host in hosts and use.resource != "memory" and use.is_near:
            users = [(s.service, s.cpu_cores) for s in together.services if s.host == use.host] if use.resource == "cpu" else []
            out.append(Contended(use.resource, use.host, use.share, tuple(users[:USERS_MAX])))
    return out


def _unequal(runs: Sequence[Run]) -> list[Unequal]:
    """Resources whose sums over the hosts of systems differ between the runs."""
    out = []
    for what in ("cores", "memory", "disk", "network"):
        sums = [_sum(run.experiment, what) for run in runs]
        if any(not math.isclose(one, sums[0], rel_tol=SAME_MAX) for one in sums):
            out.append(Unequal(what, tuple((run.summary.run, one) for run, one in zip(runs, sums, strict=True))))
    return out


def _sum(experiment: Experiment, what: str) -> float:
    used = {host for system in experiment.systems.present().values() for host in system.hosts}
    given = (experiment.hosts[host].shares.get(what) for host in used)
    return float(sum(one for one in given if one is not None))
