"""The prediction: from runs and a question to limits, or to why there are none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from hydrotest import __version__
from hydrotest.analysis.demand.body import Body
from hydrotest.analysis.demand.piped import settings_of
from hydrotest.catalogue.machine import Machine
from hydrotest.errors import BadInputError
from hydrotest.kinds.registry import WORKLOADS
from hydrotest.predict.answer import OBJECTIVE, SATURATED, Answer, Capacity, Job, Moved, Prediction, Refused, Together, Why, Zone
from hydrotest.predict.at_load import latency_of
from hydrotest.predict.axes import REFUSED, Reached, combined, zone_of
from hydrotest.predict.basis import DISK, GROUPS, MEMORY_SHARE, NETWORK, Basis, alike, basis_of, calibration
from hydrotest.predict.capacity import Scene, twice
from hydrotest.predict.change import EVERY, Asked, Change, asked
from hydrotest.predict.gates import BYTES_ONLY, CPU_ONLY, inseparable, is_cpu_bound_known, is_wide, no_fit, too_far
from hydrotest.predict.jobs import job_answers
from hydrotest.predict.known import Known, read_runs
from hydrotest.predict.loads import at_loads, loads_beside, of_others
from hydrotest.predict.on_type import not_known, on_types, with_neighbours
from hydrotest.predict.pipelines import pipeline_answer
from hydrotest.predict.ran import SYSTEM as SPARK
from hydrotest.predict.scores import Scores
from hydrotest.predict.together import together
from hydrotest.spec.choice import narrowed
from hydrotest.spec.dataflow import Dataflow
from hydrotest.spec.spark import SparkPerf
from hydrotest.store import layout
from hydrotest.verdicts.figures import Resource

SPEED_AXIS = "speed"
CAPACITIES_MAX = 24
"""Numbers of hosts of which the limit is shown, about."""


@dataclass(frozen=True)
class Question:
    """What is asked."""

    changes: Sequence[Change]
    loads: Mapping[str, float]
    speed: float = 1.0
    together: Sequence[str] = ()
    """Workloads that are to run at once: at which share of their limits?"""
    types: Mapping[str, Machine] = field(default_factory=dict)
    """Machines that the hosts of a system would be, by system; `EVERY`: of all that were measured."""
    groups: Mapping[str, float] = field(default_factory=dict)
    """Consumer groups that read each record of a workload."""
    workloads: Sequence[str] = ()
    """Workloads and jobs whose answers are wanted; none: all."""

    def wants(self, name: str) -> bool:
        """Whether the answer of a workload is wanted."""
        return not self.workloads or name in self.workloads

    def is_speed_assumed(self, system: str) -> bool:
        """Whether nobody has measured how fast its cores are."""
        return self.speed != 1.0 or system in self.types


def predict(paths: Sequence[Path], question: Question, scores: Scores) -> Answer:
    """The answer, from the folders of runs. Raises `BadInputError` for runs and changes that cannot be."""
    return answered(read_runs(paths), question, scores)


def answered(runs: Sequence[Known], question: Question, scores: Scores) -> Answer:
    """The answer. Changes are of the first run. Raises `BadInputError` for changes that cannot be."""
    first = runs[0]
    types = dict.fromkeys(first.has, question.types[EVERY]) if EVERY in question.types else question.types
    question = replace(question, types=types)
    now = asked(first.experiment, first.text, question.changes, first.path / layout.EXPERIMENT, on_types(first, question.types),
                question.groups)  # fmt: skip
    given, question = question.types, replace(question, types=with_neighbours(first.experiment, question.types))
    pipelines = [name for name, _ in now.experiment.workloads_of(Dataflow)]
    rated = [name for name, spec in now.experiment.workloads.items() if narrowed(spec, SparkPerf) is None and name not in pipelines]
    for name in question.workloads:
        if name not in now.experiment.workloads:
            raise BadInputError(f"--workload {name}: there is no such workload", f"The run has {', '.join(now.experiment.workloads)}.")
    for option, names in (("load", question.loads), ("together", question.together)):
        for name in names:
            if name not in rated:
                what = "a job has no rate" if name in now.experiment.workloads else "there is no such workload"
                what = "its rate is that of what feeds it" if name in pipelines else what
                raise BadInputError(f"--{option} {name}: {what}", f"The run has {', '.join(rated) or 'only jobs'}.")
    if question.loads and question.together:
        raise BadInputError("--load and --together cannot both be given", "With `--together` the rates are what is sought.")
    if question.workloads and question.together:
        raise BadInputError("--workload and --together cannot both be given", "The answer of `--together` is of all that it names.")
    jobs = [
        one
        for name, _ in now.experiment.workloads_of(SparkPerf)
        if question.wants(name)
        for one in job_answers(runs, now, name, question.speed, question.is_speed_assumed(SPARK), scores)
    ]
    found = {name: basis_of(runs, now, name) for name in rated}
    bases = {name: one for name, one in found.items() if isinstance(one, Basis)}
    answers = [
        one if isinstance(one, Refused) else _predict(runs, now, bases, one, question, scores)
        for name, one in found.items()
        # Of one that is not asked about, but has a load, the need is not known either.
        if question.wants(name) or (name in question.loads and isinstance(one, Refused))
    ]
    answers += [
        pipeline_answer(runs, now, name, question.speed, question.types, fed, question.loads, scores)
        for name in pipelines
        if question.wants(name)
        # The records of what feeds it are in its own law.
        for fed in [{key: one for key, one in bases.items() if key != now.experiment.workloads[name].source}]
    ]
    answers = [one.model_copy(update={"system": now.experiment.workloads[one.workload].presses_on}) if isinstance(one, Refused) else one
               for one in answers]  # fmt: skip
    used = {point.seen.run for name, one in bases.items() if question.wants(name) or name in question.loads for point in one.body.points}
    used |= {at for at, run in enumerate(runs) if run.jobs and any(isinstance(one, Job) for one in jobs)}
    alike = [settings_of(now.experiment, name) for name in pipelines if question.wants(name)]
    used |= {at for at, run in enumerate(runs) if any(settings_of(run.experiment, one.workload) in alike for one in run.pipes)}
    refused = [one for one in [*answers, *jobs] if isinstance(one, Refused)]
    return Answer(
        version=__version__, runs=[str(run.path) for run in runs], unused=[str(run.path) for at, run in enumerate(runs) if at not in used],
        changes={one.axis: one.value for one in question.changes} | {f"{system}.type": one.full_name for system, one in given.items()}
        | {f"{name}.{GROUPS}": f"{count:g}" for name, count in now.groups.items() if count},
        not_known={one.full_name: lacking for one in given.values() if (lacking := not_known(one))}, speed=question.speed, loads=dict(question.loads),
        asked=list(question.workloads),
        predictions=[one for one in answers if isinstance(one, Prediction)], refused=refused,
        jobs=[one for one in jobs if isinstance(one, Job)],
        asked_together=list(question.together), together=_together(now, bases, answers, question, scores) if question.together else None,
        uses=[use for system in now.experiment.systems.present() for use in at_loads(now, bases, system, question.loads, question.speed)],
    )  # fmt: skip


def _predict(
    runs: Sequence[Known], now: Asked, bases: Mapping[str, Basis], basis: Basis, question: Question, scores: Scores
) -> Prediction | Refused:
    """The limit of one workload, at its objective where that was measured."""
    body = basis.body

    def refused(why: Why, about: Sequence[str], reach: float | None = None) -> Refused:
        return Refused(workload=basis.name, why=why, about=list(about), reach=reach, experiment=calibration(now, basis.name))

    # What links and disks carry is known by structure, at any width.
    numbers = [one for one in _all_numbers(basis, question) if one.axis not in (NETWORK, DISK)]
    if (gate := too_far(numbers) or no_fit(body, basis.system)) is not None:
        return refused(*gate)
    scene, measured, by = _scene(basis, of_others(now, bases, basis, question.loads) / question.speed, question)
    if not scene.binds():
        # By the law nothing costs anything: no rate would fill its hosts.
        return refused(Why.NO_FIT, [basis.system], body.demands.error)
    if not _is_bound_known(scene, body):
        return refused(Why.NOT_BOUND, [basis.system])
    binds, limit = scene.binds(), scene.limit()
    if limit <= 0:
        # Without any load it is full already: because there is little, or others use it, or because the law is wrong.
        is_less = scene.others_cores > 0 or any(one.axis == "hosts.cores" and one.is_moved for one in basis.numbers)
        return (
            Refused(workload=basis.name, why=Why.FULL, about=[basis.system])
            if is_less
            else refused(Why.NO_FIT, [basis.system], body.demands.error)
        )
    at_limit = scene.applied.work(limit, is_closed=scene.is_closed).drivers
    own_error, gate = body.demands.relative_error(at_limit), inseparable(body, at_limit)
    # Where a link or a disk binds, whatever the error of the CPU's law, that error does not matter.
    if gate is not None and (body.demands.outside(at_limit) or scene.with_errors(own_error, {"network": 0.0, "disk": 0.0}).limit() < limit):
        return refused(*gate)
    if scene.has.memory and basis.law.data_bytes(basis.spec, basis.hosts) > MEMORY_SHARE * scene.has.memory:
        return refused(Why.MEMORY, [basis.name])
    moved = [one.row(scores) for one in _all_numbers(basis, question) if one.is_moved]
    # A system that got faster while it was measured has no one rate: half of that is how far its mean may be off.
    law = math.expm1(combined([math.log1p(max(CPU_ONLY, own_error)), body.drift / 2]))
    low, high = _interval(scene, moved, law, (scene.others_cores, scene.others_cores))
    if is_wide(low, high) and by == SATURATED and measured and not moved and not scene.others_cores:
        # The law separates too little; but this is what was measured, and its own windows show how far it may be off.
        rates = _closed_rates(basis, round(basis.groups))
        half = combined([math.log1p(CPU_ONLY), math.log(max(rates) / min(rates)) / 2])
        low, high = limit * math.exp(-half), limit * math.exp(half)
    if is_wide(low, high):
        return refused(Why.INSEPARABLE, body.demands.least_known(at_limit))
    most, least = others = _others_ends(now, bases, basis, question)
    if most > least:
        low, high = _interval(scene, moved, law, others)
    if is_wide(low, high):
        soft = {one.system for one in bases.values() if one.body.is_soft and one.system != basis.system}
        return Refused(workload=basis.name, why=Why.SOFT, about=sorted(soft))
    # What more would bring is another load: it is shown only if the windows show what that takes.
    more = replace(scene, has=scene.has.times(cores=2.0))
    is_more_known = inseparable(body, more.applied.work(more.limit(), is_closed=scene.is_closed).drivers) is None
    following = binds[1] if len(binds) > 1 else None
    latency, no_latency = latency_of(now, basis, scene, question.loads.get(basis.name, 0.0), (low / limit, high / limit), scores)
    return Prediction(
        workload=basis.name, system=basis.system, unit=WORKLOADS[basis.spec.kind].unit or "", by=by, measured=measured, limit=limit, low=low, high=high,
        at_least=body.unexplained is not None and not body.is_full_seen, zone=_zone(basis, question), binds=binds[0],
        is_certain=following is None or following.rate > high, next=following, uses=scene.uses(limit),
        prices=scene.prices() if is_more_known else [], twice=twice(scene) if is_more_known else None,
        capacity=list(_capacities(scene, basis, question, law, scores, others)),
        moved=moved, is_soft=body.is_soft, unsettled=_unsettled(runs, body), drift=body.drift, windows=body.demands.windows,
        stolen=sum(run.stolen.get(basis.system, 0) for run in runs), fit_error=body.demands.error,
        latency=latency, no_latency=no_latency, at={one.axis: one.called for one in basis.numbers},
        alike=alike(basis.spec, basis.law, now.experiment, basis.system), beside=loads_beside(now, bases, basis, question.loads),
    )  # fmt: skip


def _others_ends(now: Asked, bases: Mapping[str, Basis], basis: Basis, question: Question) -> tuple[float, float]:
    """Cores of each of its hosts that others use: with all that they use and do not need, and with none of it."""
    most, least = (of_others(now, bases, basis, question.loads, kept) / question.speed for kept in (1.0, 0.0))
    return most, least


def _capacities(
    scene: Scene, basis: Basis, question: Question, law: float, scores: Scores, others: tuple[float, float]
) -> Iterator[Capacity]:
    """The limit on other numbers of hosts, as far as the runs show what it takes there."""
    axis = f"{basis.system}.hosts"
    own = next(one for one in basis.numbers if one.axis == axis)
    most = int(REFUSED * max(own.measured))
    for hosts in sorted(
        {round(most ** (at / CAPACITIES_MAX)) for at in range(CAPACITIES_MAX + 1)}
        | {basis.hosts}
        | set(range(1, min(most, CAPACITIES_MAX) + 1))
    ):
        there = replace(scene, applied=replace(scene.applied, hosts=hosts))
        limit = there.limit() if there.binds() and basis.spec.copies <= hosts else 0.0
        if limit <= 0 or inseparable(basis.body, there.applied.work(limit, is_closed=there.is_closed).drivers) is not None:
            continue
        numbers = [replace(one, value=float(hosts)) if one.axis == axis else one for one in _all_numbers(basis, question)]
        low, high = _interval(there, [one.row(scores) for one in numbers if one.is_moved], law, others)
        yield Capacity(hosts=hosts, limit=limit, low=low, high=high, resource=there.binds()[0].resource)


def _together(
    now: Asked, bases: Mapping[str, Basis], answers: Sequence[Prediction | Refused], question: Question, scores: Scores
) -> Together | None:
    return together(now, bases, answers, question.together, question.speed, scores, {name: one.usable for name, one in bases.items()})


def _all_numbers(basis: Basis, question: Question) -> list[Reached]:
    """With the speed of the cores."""
    is_assumed = question.is_speed_assumed(basis.system)
    return [*basis.numbers, *([Reached(SPEED_AXIS, question.speed, [1.0], is_assumed=True)] if is_assumed else [])]


def _is_bound_known(scene: Scene, body: Body) -> bool:
    """Whether what is full first was full when it was measured; or it is a link or a disk, whose bytes are known whatever bound then."""
    return is_cpu_bound_known(body) or scene.binds()[0].resource != Resource.CPU


def _interval(scene: Scene, moved: Sequence[Moved], law: float, others: tuple[float, float]) -> tuple[float, float]:
    """The limit if all is as much worse, and as much better, as errors allow: the law of the CPU with all that moves it, links and disks
    with their own. `others`: cores that other systems use, at most and at least."""
    links = {axis: max([least, *(one.error for one in moved if one.axis == f"hosts.{axis}")]) for axis, least in BYTES_ONLY.items()}
    cpu = combined([math.log1p(law), *(one.error for one in moved if one.axis not in (NETWORK, DISK))])
    worse = scene.with_errors(math.expm1(cpu), {key: math.expm1(one) for key, one in links.items()})
    better = scene.with_errors(math.expm1(-cpu), {key: math.expm1(-one) for key, one in links.items()})
    return replace(worse, others_cores=others[0]).limit(), replace(better, others_cores=others[1]).limit()


def _unsettled(runs: Sequence[Known], body: Body) -> list[str]:
    """Of the workloads that the law stands on."""
    return sorted({name for point in body.points for name in point.seen.rates if name in runs[point.seen.run].unsettled})


def _zone(basis: Basis, question: Question) -> Zone:
    return Zone.EXTRAPOLATED if question.is_speed_assumed(basis.system) else zone_of(basis.numbers)


def _scene(basis: Basis, others_cores: float, question: Question) -> tuple[Scene, float | None, str]:
    """The workload on its hosts as they would be, the limit that was measured, and of which kind that is."""
    body, applied, found = basis.body, basis.applied, basis.at_objective
    if found is not None:
        return basis.scene(found.full, others_cores, question.speed), found.rate, OBJECTIVE
    rates = _closed_rates(basis, round(basis.groups), first_only=True) or _closed_rates(basis, 0, first_only=True)
    return Scene(body, applied, basis.has, True, body.full, others_cores, question.speed), median(rates) if rates else None, SATURATED


def _closed_rates(basis: Basis, groups: int, *, first_only: bool = False) -> list[float]:
    """Rates of the workload alone without a rate limit; `first_only`: of the first run."""
    return [
        point.seen.rates[basis.name]
        for point in basis.body.closed
        if point.seen.is_saturated_by(basis.name, groups) and not (first_only and point.seen.run)
    ]
