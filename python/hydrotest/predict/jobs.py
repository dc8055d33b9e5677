"""The times of Spark's tests on other workers, cores and data: their tasks, laid out anew."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hydrotest.analysis.spark.relaid import Parts, Place, Size
from hydrotest.predict.answer import Job, Refused, Why
from hydrotest.predict.axes import Reached, combined, zone_of
from hydrotest.predict.basis import calibration
from hydrotest.predict.change import Asked
from hydrotest.predict.gates import too_far
from hydrotest.predict.known import Known
from hydrotest.predict.ran import SYSTEM, Ran, place_of
from hydrotest.predict.scores import Scores
from hydrotest.spec.spark import Spark, SparkPerf

ERROR_MIN = 0.05
"""Two runs of a test that are alike differ by that."""
POWER_SD, POWER_MAX = 0.5, 1.0
"""Of the powers in which jobs grow beyond the law: as they are expected, and at most. More than the square of what more data should take no
job takes."""
SLOTS, CORES_OF_WORKERS = f"{SYSTEM}.slots", f"{SYSTEM}.worker_cores"
NUMBERS = frozenset({"scale_factor", "data_scale", "cores"})
"""Settings of a workload that may be others; `tests` are looked at one by one."""
FREE = frozenset({"tests", "budget", "seed", "on", "generators", "threads", "kind"})


def job_answers(runs: Sequence[Known], now: Asked, name: str, speed: float, is_speed_assumed: bool, scores: Scores) -> list[Job | Refused]:
    """One for each test of the workload; one refusal where it is the same for all."""
    spec = now.experiment.workload(name, SparkPerf)
    assert spec is not None

    def refused(why: Why, about: Sequence[str], reach: float | None = None) -> Refused:
        return Refused(workload=name, system=SYSTEM, why=why, about=list(about), reach=reach, experiment=calibration(now, name))

    unread = {test: log for run in runs for (workload, test), log in run.unread_logs.items() if workload == name}
    with_it = [run for run in runs if run.jobs and run.machines == runs[0].machines]
    if not with_it:
        return [refused(Why.LOG, list(dict.fromkeys(unread.values()))) if unread else refused(Why.TOO_FEW, [name])]
    keys = min((_changed(run, now) for run in with_it), key=len)
    if keys:
        return [refused(Why.SETTING, [f"{SYSTEM}.{key}" for key in keys])]
    for resource in ("network", "disk"):
        if now.times.get(SYSTEM, {}).get(resource, 1.0) < 1.0:
            return [refused(Why.SETTING, [f"hosts.{resource}"])]
    same = [run for run in with_it if not _changed(run, now)]
    place = place_of(now.experiment, spec, same[0].has[SYSTEM].times(now.times.get(SYSTEM, {}).get("cores", 1.0)), speed)
    if place is None:
        return [refused(Why.NOT_MODELLED, [SYSTEM])]
    out: list[Job | Refused] = []
    for test in spec.tests:
        ran = [one for run in same for one in run.jobs if one.test == test]
        alike = [one for one in ran if _fixed(one.spec) == _fixed(spec)]
        if not alike:
            keys = min(
                ([key for key, value in _fixed(spec).items() if _fixed(one.spec).get(key) != value] for one in ran), key=len, default=[]
            )
            if test in unread and not keys:
                out.append(refused(Why.LOG, [unread[test]]))
            else:
                out.append(refused(Why.SETTING if keys else Why.TOO_FEW, [f"{name}.{key}" for key in keys] or [f"{name}: {test}"]))
            continue
        numbers = _numbers(name, spec, place, alike, is_speed_assumed)
        if (gate := too_far(numbers)) is not None:
            out.append(refused(*gate))
        elif any(one.spilled for one in alike) and _is_more(numbers, f"{name}.data_scale"):
            out.append(refused(Why.MEMORY, [name]))
        else:
            unsettled = sorted({one.workload for one in alike if one.workload in runs[one.run].unsettled})
            found = _job(name, spec, test, place, alike, numbers, now, scores)
            out.append(found.model_copy(update={"alike": settings(now, spec), "unsettled": unsettled}))
    return out


def _changed(run: Known, now: Asked) -> list[str]:
    """Settings of Spark that a run does not have in this way, apart from its workers and their cores."""
    wanted, had = (
        one.systems.present()[SYSTEM].model_dump(exclude={"workers", "master", "cores"}) for one in (now.experiment, run.experiment)
    )
    return [key for key, value in wanted.items() if had.get(key) != value]


def _fixed(spec: SparkPerf) -> dict[str, object]:
    return {key: value for key, value in spec.model_dump().items() if key not in NUMBERS and key not in FREE}


def settings(run: Known | Asked, spec: SparkPerf) -> dict[str, str]:
    """The settings that must be as they are, for a run that is held against a prediction."""
    spark = run.experiment.systems.present()[SYSTEM].model_dump(exclude={"workers", "master", "cores"})
    return {key: repr(value) for key, value in {**_fixed(spec), **{f"{SYSTEM}.{key}": value for key, value in spark.items()}}.items()}


def _numbers(name: str, spec: SparkPerf, place: Place, ran: Sequence[Ran], is_speed_assumed: bool) -> list[Reached]:
    found = [
        Reached(f"{name}.scale_factor", spec.scale_factor, [one.spec.scale_factor for one in ran]),
        Reached(f"{name}.data_scale", spec.data_scale, [one.spec.data_scale for one in ran]),
        Reached(SLOTS, place.slots, [one.place.slots for one in ran]),
        Reached(CORES_OF_WORKERS, place.cores, [one.place.cores for one in ran]),
    ]
    return [*found, *([Reached("speed", place.speed, [1.0], is_assumed=True)] if is_speed_assumed else [])]


def _is_more(numbers: Sequence[Reached], axis: str) -> bool:
    return any(one.axis == axis and one.value > 1.02 * max(one.measured) for one in numbers)


def _job(
    name: str, spec: SparkPerf, test: str, place: Place, ran: Sequence[Ran], numbers: Sequence[Reached], now: Asked, scores: Scores
) -> Job:
    base = min(ran, key=lambda one: _distance(one, spec, place))
    law = Law(base, ran)
    found = law.on(spec, place)
    moved = [one.row(scores) for one in numbers if one.is_moved]
    error = combined([math.log1p(ERROR_MIN), base.scatter, *(one.error for one in moved)])
    own = [one.seconds for one in ran if one.workload == name and not one.run]
    return Job(
        workload=name, test=test, measured=own[0] if own else None, seconds=found.seconds, low=found.seconds * math.exp(-error),
        high=found.seconds * math.exp(error), zone=zone_of(numbers), driver_s=found.driver_s, cores_s=found.cores_s, slots_s=found.slots_s,
        slots=place.slots, gains=_gains(now, law, spec, place), moved=moved, at={one.axis: one.value for one in numbers},
    )  # fmt: skip


class Law:
    """The tasks of a measured job laid out anew; where others were measured, what they took beyond that, as the smallest powers of what they
    had more of that explain it."""

    def __init__(self, base: Ran, ran: Sequence[Ran]) -> None:
        self._base = base
        steps = np.array([self._steps(one.spec, one.place) for one in ran])
        beyond = np.array([math.log(one.seconds / self._laid(one.spec, one.place).seconds) for one in ran])
        # Least squares with a prior (ridge regression): what was not varied keeps the power 0, what hardly was stays near it.
        powers = np.linalg.solve(steps.T @ steps + (ERROR_MIN / POWER_SD) ** 2 * np.eye(steps.shape[1]), steps.T @ beyond)
        self._powers = np.clip(powers, -POWER_MAX, POWER_MAX)

    def on(self, spec: SparkPerf, place: Place) -> Parts:
        """What it takes there."""
        found, times = self._laid(spec, place), math.exp(float(self._powers @ np.array(self._steps(spec, place))))
        return Parts(found.driver_s * times, found.cores_s * times, found.slots_s * times)

    def _laid(self, spec: SparkPerf, place: Place) -> Parts:
        """As the suite is made: its scale factor gives more tasks, its data scale more data in each."""
        had = self._base.spec
        return self._base.relaid.on(place, Size(spec.scale_factor / had.scale_factor, spec.data_scale / had.data_scale))

    def _steps(self, spec: SparkPerf, place: Place) -> list[float]:
        """Logarithms of how many times as much there is of each number. Slots share what a worker has, so they count for each core."""
        had, there = self._base.spec, self._base.place
        pairs = ((spec.scale_factor, had.scale_factor), (spec.data_scale, had.data_scale), (place.cores, there.cores),
                 (place.slots / place.cores, there.slots / there.cores))  # fmt: skip
        return [math.log(new / old) for new, old in pairs]


def _distance(one: Ran, spec: SparkPerf, place: Place) -> float:
    """How far a measured job is from the one that is asked for: by its data first, since how they grow is assumed."""
    pairs = [(2.0, one.spec.scale_factor, spec.scale_factor), (2.0, one.spec.data_scale, spec.data_scale), (1.0, one.place.slots, place.slots),
             (1.0, one.place.cores, place.cores)]  # fmt: skip
    return sum(weight * abs(math.log(had / wanted)) for weight, had, wanted in pairs)


def _gains(now: Asked, law: Law, spec: SparkPerf, place: Place) -> dict[str, float]:
    """A worker has as many slots as the others; a core is a slot only where workers offer all of their hosts' cores. An application takes no
    more slots than its `cores`. One more on a machine that workers share brings slots alone."""
    spark, workers = now.experiment.systems.of(Spark), max(1, len(now.experiment.systems.present()[SYSTEM].peers))
    most = spec.cores or place.slots * 2
    is_shared = spark is not None and len({now.experiment.hosts[host].machine(host) for host in spark.workers}) < workers
    each, is_open = max(1, place.slots // workers), spark is not None and spark.cores is None
    # As many workers have some of its tasks as it has slots.
    slots, used = min(most, place.slots + each), min(workers, place.slots)
    cores = place.cores if is_shared else place.cores * min(workers + 1, slots) / used
    more = {
        "worker": replace(place, slots=slots, cores=cores),
        "core": replace(place, slots=min(most, place.slots + workers) if is_open else place.slots, cores=place.cores + used),
    }
    now_s = law.on(spec, place).seconds
    return {what: max(0.0, now_s - law.on(spec, one).seconds) for what, one in more.items()}
