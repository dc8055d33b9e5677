"""The prediction: from runs and a question to limits, or to why there are none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from hydrotest import __version__
from hydrotest.analysis.bottleneck.use import NEAR_CEILING
from hydrotest.analysis.demand.body import Applied, Body
from hydrotest.errors import BadInputError
from hydrotest.kinds.registry import WORKLOADS
from hydrotest.predict.answer import Answer, Moved, Prediction, Refused, Use, Why, Zone
from hydrotest.predict.axes import BEYOND_MAX, REFUSED, Reached, beyond, combined, zone_of
from hydrotest.predict.basis import DISK, NETWORK, Basis, basis_of, calibration
from hydrotest.predict.capacity import Scene
from hydrotest.predict.change import Asked, Change, asked
from hydrotest.predict.known import Known, read_known
from hydrotest.predict.scores import Scores
from hydrotest.store import layout
from hydrotest.verdicts.figures import Resource

OBJECTIVE, SATURATED = "objective", "saturated"
MEMORY_SHARE = 0.5
"""Of a host's memory that data may take so that reads still come from memory: the rest is the heap's, and of what is written."""
SPEED_AXIS = "speed"
CPU_ONLY = 0.05
"""Error of the law alone, at least: two windows that are alike differ by that."""
BYTES_ONLY = {"network": 0.03, "disk": 0.25}
"""The same of links and disks. No prediction of a disk was held out, and what one gives was measured as 0.2 and as 2.5 GB/s on one
machine: in a short run the page cache takes what is written."""
FIT_ERROR_MAX = 0.25
"""A law that misses half of its windows by more is none."""
LAW_ERROR_MAX = 0.75
"""Half of the interval of the CPU that a load needs, as a share: a wider one says nothing."""
NEEDED_MIN = 0.5
"""Share of the cores that an operation's law must have at a limit by an objective: below it something else bound."""


@dataclass(frozen=True)
class Question:
    """What is asked."""

    changes: Sequence[Change]
    loads: Mapping[str, float]
    speed: float = 1.0


def predict(paths: Sequence[Path], question: Question, scores: Scores) -> Answer:
    """The answer, from the folders of runs. Raises `BadInputError` for runs and changes that cannot be."""
    if len({path.resolve() for path in paths}) < len(paths):
        raise BadInputError("a run is named twice: it would count twice", "Name each once.")
    return answered([read_known(path, index) for index, path in enumerate(paths)], question, scores)


def answered(runs: Sequence[Known], question: Question, scores: Scores) -> Answer:
    """The answer. Changes are of the first run. Raises `BadInputError` for changes that cannot be."""
    first = runs[0]
    now = asked(first.experiment, first.text, question.changes, first.path / layout.EXPERIMENT)
    for name in question.loads:
        if name not in now.experiment.workloads:
            raise BadInputError(f"--load {name}: there is no such workload", f"The run has {', '.join(now.experiment.workloads)}.")
    found = {name: basis_of(runs, now, name) for name in now.experiment.workloads}
    bases = {name: one for name, one in found.items() if isinstance(one, Basis)}
    answers = [one if isinstance(one, Refused) else _predict(runs, now, bases, one, question, scores) for one in found.values()]
    answers = [one.model_copy(update={"system": now.experiment.workloads[one.workload].presses_on}) if isinstance(one, Refused) else one
               for one in answers]  # fmt: skip
    used = {point.seen.run for one in bases.values() for point in one.body.points}
    return Answer(
        version=__version__, runs=[str(run.path) for run in runs], unused=[str(run.path) for at, run in enumerate(runs) if at not in used],
        changes={one.axis: one.value for one in question.changes}, speed=question.speed, loads=dict(question.loads),
        predictions=[one for one in answers if isinstance(one, Prediction)], refused=[one for one in answers if isinstance(one, Refused)],
        uses=[use for system in now.experiment.systems.present() for use in _at_loads(now, bases, system, question)],
    )  # fmt: skip


def _predict(
    runs: Sequence[Known], now: Asked, bases: Mapping[str, Basis], basis: Basis, question: Question, scores: Scores
) -> Prediction | Refused:
    """The limit of one workload, at its objective where that was measured."""
    body = basis.body
    if (far := _too_far(basis, question)) is not None:
        return far.model_copy(update={"experiment": calibration(now, basis.name)})

    def refused(why: Why, about: Sequence[str], reach: float | None = None) -> Refused:
        return Refused(workload=basis.name, why=why, about=list(about), reach=reach, experiment=calibration(now, basis.name))

    if body.demands.error > FIT_ERROR_MAX:
        return refused(Why.NO_FIT, [basis.system], body.demands.error)
    scene, measured, by = _scene(basis, _of_others(now, bases, basis, question), question)
    if not scene.binds():
        # By the law nothing costs anything: no rate would fill its hosts.
        return refused(Why.NO_FIT, [basis.system], body.demands.error)
    if not _is_bound_known(scene, body):
        return refused(Why.NOT_BOUND, [basis.system])
    binds, limit = scene.binds(), scene.limit()
    if limit <= 0:
        # Without any load it is full already: because there is little, or others use it, or because the law is wrong.
        is_less = scene.others_cores > 0 or any(one.axis == "hosts.cores" and one.is_moved for one in basis.numbers)
        return refused(Why.FULL, [basis.system]) if is_less else refused(Why.NO_FIT, [basis.system], body.demands.error)
    at_limit = scene.applied.work(limit, is_closed=scene.is_closed).drivers
    if outside := body.demands.outside(at_limit):
        return refused(Why.INSEPARABLE, outside)
    own_error = body.demands.relative_error(at_limit)
    # Where a link or a disk binds, whatever the error of the CPU's law, that error does not matter.
    if own_error > LAW_ERROR_MAX and scene.with_errors(own_error, {"network": 0.0, "disk": 0.0}).limit() < limit:
        return refused(Why.INSEPARABLE, body.demands.least_known(at_limit))
    if scene.has.memory and basis.law.data_bytes(basis.spec, basis.hosts) > MEMORY_SHARE * scene.has.memory:
        return refused(Why.MEMORY, [basis.name])
    moved = [one.row(scores) for one in _all_numbers(basis, question) if one.is_moved]
    low, high = _interval(scene, moved, max(CPU_ONLY, own_error))
    following = binds[1] if len(binds) > 1 else None
    return Prediction(
        workload=basis.name, unit=WORKLOADS[basis.spec.kind].unit or "", by=by, measured=measured, limit=limit, low=low, high=high,
        at_least=body.unexplained is not None and not body.is_full_seen, zone=_zone(basis, question), binds=binds[0],
        is_certain=following is None or following.rate > high, next=following, uses=scene.uses(limit), prices=scene.prices(),
        moved=moved, is_soft=body.is_soft, unsettled=_unsettled(runs, body), windows=body.demands.windows, fit_error=body.demands.error,
        at={one.axis: one.value for one in basis.numbers}, alike=_alike(basis),
    )  # fmt: skip


def _all_numbers(basis: Basis, question: Question) -> list[Reached]:
    """With the speed of the cores."""
    return [*basis.numbers, *([Reached(SPEED_AXIS, question.speed, [1.0])] if question.speed != 1.0 else [])]


def _too_far(basis: Basis, question: Question) -> Refused | None:
    """Whether a number is too far from what was measured, or too many are. What links and disks carry is known by structure, at any
    width."""
    numbers = beyond(one for one in _all_numbers(basis, question) if one.axis not in (NETWORK, DISK))
    far = [one for one in numbers if one.reach > REFUSED]
    if far:
        return Refused(workload=basis.name, why=Why.TOO_FAR, about=[one.axis for one in far], reach=max(one.reach for one in far))
    if len(numbers) > BEYOND_MAX:
        return Refused(workload=basis.name, why=Why.TOO_MANY, about=[one.axis for one in numbers])
    return None


def _is_bound_known(scene: Scene, body: Body) -> bool:
    """Whether what is full first was full when it was measured; or it is a link or a disk, whose bytes are known whatever bound then."""
    return body.is_full_seen or body.unexplained is None or scene.binds()[0].resource != Resource.CPU


def _interval(scene: Scene, moved: Sequence[Moved], law: float) -> tuple[float, float]:
    """The limit if all is as much worse, and as much better, as errors allow: the law of the CPU with all that moves it, links and disks
    with their own."""
    links = {axis: max([least, *(one.error for one in moved if one.axis == f"hosts.{axis}")]) for axis, least in BYTES_ONLY.items()}
    cpu = combined([math.log1p(law), *(one.error for one in moved if one.axis not in (NETWORK, DISK))])
    worse = scene.with_errors(math.expm1(cpu), {key: math.expm1(one) for key, one in links.items()})
    better = scene.with_errors(math.expm1(-cpu), {key: math.expm1(-one) for key, one in links.items()})
    return worse.limit(), better.limit()


def _unsettled(runs: Sequence[Known], body: Body) -> list[str]:
    """Of the workloads that the law stands on."""
    return sorted({name for point in body.points for name in point.seen.rates if name in runs[point.seen.run].unsettled})


def _zone(basis: Basis, question: Question) -> Zone:
    return Zone.EXTRAPOLATED if question.speed != 1.0 else zone_of(basis.numbers)


def _alike(basis: Basis) -> dict[str, str]:
    """The settings that must be as they are, for a run that is held against the prediction."""
    return {key: repr(value) for key, value in basis.law.axes.fixed(basis.spec).items()}


def _scene(basis: Basis, others_cores: float, question: Question) -> tuple[Scene, float | None, str]:
    """The workload on its hosts as they would be, the limit that was measured, and of which kind that is."""
    body, first = basis.body, basis.first
    applied = Applied(basis.spec, basis.hosts, body.ride)
    objective, original = first.limits.get(basis.name), first.experiment.workloads.get(basis.name)
    if objective is not None and original is not None:
        hosts = len(first.experiment.systems.present()[basis.system].hosts)
        then = Scene(body, Applied(original, hosts, body.ride), first.has[basis.system], False, 1.0)
        share = {use.resource: use.share for use in then.uses(objective)}
        # Where a link or a disk bound, nothing shows how much of the cores could have been used.
        is_by_bytes = max(share.get(Resource.NETWORK, 0.0), share.get(Resource.DISK, 0.0)) >= NEAR_CEILING
        if is_by_bytes or share[Resource.CPU] >= NEEDED_MIN * body.full:
            full = body.full if is_by_bytes else min(body.full, share[Resource.CPU])
            return Scene(body, applied, basis.has, False, full, others_cores, question.speed), objective, OBJECTIVE
    rates = [point.seen.rates[basis.name] for point in body.closed if set(point.seen.rates) == {basis.name} and not point.seen.run]
    return Scene(body, applied, basis.has, True, body.full, others_cores, question.speed), median(rates) if rates else None, SATURATED


def _of_others(now: Asked, bases: Mapping[str, Basis], basis: Basis, question: Question) -> float:
    """Cores of each of its hosts that others use: workloads on its system, at the rates that are asked for, and by
    other systems there, also if they are idle."""
    present, mine = now.experiment.systems.present(), set(now.experiment.systems.present()[basis.system].hosts)
    own = sum(_demand(one, question) for name, one in bases.items() if one.system == basis.system and name != basis.name)
    shared = {system: len(mine & set(other.hosts)) / len(mine) for system, other in present.items() if system != basis.system}
    return own + sum(share * _system_cores(bases, system, question) for system, share in shared.items() if share)


def _demand(basis: Basis, question: Question) -> float:
    """Cores that a workload's operations need on each host at the rate that is asked for, apart from what is fixed."""
    rate = question.loads.get(basis.name, 0.0)
    work = Applied(basis.spec, basis.hosts, basis.body.ride).work(rate, is_closed=False, on_busiest=True)
    return basis.body.demands.cores(work.drivers) - basis.body.demands.fixed if rate > 0 else 0.0


def _system_cores(bases: Mapping[str, Basis], system: str, question: Question) -> float:
    """Cores that a system uses on each of its hosts, at the rates that are asked for; with what it uses beyond its need."""
    own = [one for one in bases.values() if one.system == system]
    needed = max((one.body.demands.fixed for one in own), default=0.0) + sum(_demand(one, question) for one in own)
    soft = [one.body.idling(question.loads.get(one.name, 0.0)) for one in own if one.body.is_soft]
    return max([needed, *soft])


def _at_loads(now: Asked, bases: Mapping[str, Basis], system: str, question: Question) -> list[Use]:
    """Need of each host of a system at all rates that are asked for, together; none if no workload of it has one."""
    own = [one for one in bases.values() if one.system == system and question.loads.get(one.name, 0.0) > 0]
    if not own:
        return []
    present, mine = now.experiment.systems.present(), set(now.experiment.systems.present()[system].hosts)
    others = sum(len(mine & set(other.hosts)) / len(mine) * _system_cores(bases, name, question)
                 for name, other in present.items() if name != system)  # fmt: skip
    each = [Scene(one.body, Applied(one.spec, one.hosts, one.body.ride), one.has, False, one.body.full, 0.0, question.speed).uses(
        question.loads[one.name]) for one in own]  # fmt: skip
    fixed = max(one.body.demands.fixed for one in own) / question.speed
    totals = []
    for at, use in enumerate(each[0]):
        used = sum(uses[at].used for uses in each)
        if use.resource == Resource.CPU:
            # What is fixed is there once.
            used += others + fixed - sum(one.body.demands.fixed for one in own) / question.speed
        full = own[0].body.full if use.resource == Resource.CPU else 1.0
        totals.append(use.model_copy(update={"used": used, "share": used / (use.has * full)}))
    return totals
