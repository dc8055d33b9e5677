"""The limit of a pipeline: each of its parts by itself, by the operational laws, and the one that is full first.

cores of each host of a part = fixed + demand × records of each host (Denning and Buzen, 1978); bytes on its link are in proportion. What
a record costs Kafka, the executors and the driver was measured with the same settings; other numbers of executors and of hosts, and other
cores, move only what each host has and does. A part that has no CPU left well below a limit, too, uses what there is, whether it needs it
or not (a JVM that compiles): then nothing shows what is fixed, and at the limit all of it counts as the records'. Each executor has
consumers and producers of its own, which cost brokers and the driver something whatever goes through them: that is known, and counted,
where several numbers of executors were measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from hydrotest.analysis.demand.demands import Demands, Observation, demands
from hydrotest.analysis.demand.windows import Ceilings
from hydrotest.kinds.registry import WORKLOADS
from hydrotest.predict.answer import Bind, Prediction, Price, Refused, Use, Why, Zone
from hydrotest.predict.axes import BEYOND_MAX, REFUSED, Reached, beyond, combined, zone_of
from hydrotest.predict.change import RESOURCES, Asked, driver_of
from hydrotest.predict.gates import FIT_ERROR_MAX, LAW_ERROR_MAX
from hydrotest.predict.known import Known
from hydrotest.predict.piped import DRIVER, SPARK, Piped, numbers_of, parts_of, settings_of
from hydrotest.predict.scores import Scores
from hydrotest.spec.spark import Spark
from hydrotest.verdicts.figures import Resource

RECORDS, EXECUTORS = "records", "executors"
CPU_ONLY = 0.05
"""As of other laws: two windows that are alike differ by that."""
BYTES_ONLY = 0.03
NEAR_LIMIT = 0.7
"""Share of a limit from which on a window shows what binds there."""
OBJECTIVE = "objective"


@dataclass(frozen=True)
class _Law:
    """What each host of a part needs."""

    fixed: float
    """Cores without any record."""
    each: float
    """Core-seconds of a record."""
    demands: Demands | None
    """What it is of; None: of the limit alone."""
    executors: float = 0.0
    """Of the pipeline, where what each costs is known."""

    @classmethod
    def of(cls, found: Demands, executors: float) -> _Law:
        own = executors if EXECUTORS in found.names else 0.0
        each = found.cores({RECORDS: 1.0}) - found.fixed
        return cls(found.cores({EXECUTORS: own}), each, found, own)

    def times(self, cpu: float) -> _Law:
        """If it needs so many times as much."""
        return replace(self, fixed=self.fixed * cpu, each=self.each * cpu)

    def cores(self, rate: float) -> float:
        """At so many records a second of the host."""
        return self.fixed + self.each * rate

    def error(self, rate: float) -> float:
        """|log| of how far it may be off there."""
        drivers = {RECORDS: rate, EXECUTORS: self.executors}
        return math.log1p(max(CPU_ONLY, 0.0 if self.demands is None else self.demands.relative_error(drivers)))


@dataclass(frozen=True)
class _Part:
    """A part of a pipeline, as it would be."""

    system: str
    hosts: int
    has: Ceilings
    law: _Law
    bytes_each: float
    """Bytes on the busier way of a host's link, for each of its records."""
    full: float
    """Cores that its law has where it bound, as a share of those that its hosts have; 1 where it never did."""

    def cores(self, rate: float) -> float:
        """Of each host, at so many records a second of the pipeline."""
        return self.law.cores(rate / self.hosts)

    def limits(self) -> list[Bind]:
        """The rate at which each of its resources is full."""
        left = self.has.cores * self.full - self.law.fixed
        full = max(0.0, left / self.law.each * self.hosts) if self.law.each > 0 else math.inf if left > 0 else 0.0
        found = [Bind(system=self.system, resource=Resource.CPU, rate=full)] if full < math.inf else []
        if self.has.link and self.bytes_each > 0:
            found.append(Bind(system=self.system, resource=Resource.NETWORK, rate=self.has.link / self.bytes_each * self.hosts))
        return found

    def uses(self, rate: float) -> list[Use]:
        cores = self.cores(rate)
        found = [Use(system=self.system, resource=Resource.CPU, share=cores / (self.has.cores * self.full), used=cores, has=self.has.cores)]
        if self.has.link and self.bytes_each > 0:
            used = self.bytes_each * rate / self.hosts
            found.append(Use(system=self.system, resource=Resource.NETWORK, share=used / self.has.link, used=used, has=self.has.link))
        return found

    def error(self, rate: float) -> float:
        """|log| of how far its law may be off at a rate."""
        return self.law.error(rate / self.hosts)

    def with_errors(self, cpu: float, network: float) -> _Part:
        """If it needs so many times as much CPU, and so many times as many bytes."""
        return replace(self, law=self.law.times(cpu), bytes_each=self.bytes_each * network)


def pipeline_answer(runs: Sequence[Known], now: Asked, name: str, speed: float, is_speed_assumed: bool, others: Mapping[str, float], scores: Scores,
                    experiment: str | None) -> Prediction | Refused:  # fmt: skip
    """The limit of a pipeline at its objective. `others`: cores that other workloads need on each host of a system; `experiment`: what would
    show more."""

    def refused(why: Why, about: Sequence[str], reach: float | None = None) -> Refused:
        return Refused(workload=name, system=SPARK, why=why, about=list(about), reach=reach, experiment=experiment)

    if parts_of(now.experiment, name) is None:
        return refused(Why.SHARED, [name])
    with_it = [run for run in runs if run.pipes and run.machines == runs[0].machines]
    measured = [(run, other) for run in with_it for other in run.pipes_have if any(one.workload == other for one in run.pipes)]
    if not measured:
        return refused(Why.TOO_FEW, [name])
    wanted = settings_of(now.experiment, name)
    differing = [_differing(wanted, settings_of(run.experiment, other)) for run, other in measured]
    same = [one for one, keys in zip(measured, differing, strict=True) if not keys]
    if not same:
        return refused(Why.SETTING, min(differing, key=len))
    limits = [(run, other) for run, other in same if run.limits.get(other)]
    if not limits:
        return refused(Why.TOO_FEW, [name])
    first, base = limits[0]
    has = {part: own.times(*(now.times.get(driver_of(name) if part == DRIVER else part, {}).get(key, 1.0) for key in RESOURCES))
           for part, own in first.pipes_have[base].items()}  # fmt: skip
    numbers = _numbers(now, name, has, same, speed, is_speed_assumed)
    far = [one for one in numbers if one.reach > REFUSED]
    if far:
        return refused(Why.TOO_FAR, [one.axis for one in far], max(one.reach for one in far))
    # Cores of several parts are one kind of number.
    if len({_kind(one.axis) for one in beyond(numbers)}) > BEYOND_MAX:
        return refused(Why.TOO_MANY, [one.axis for one in beyond(numbers)])
    found = _parts(now, name, same, limits, has)
    if isinstance(found, _NoLaw):
        return refused(found.why, found.about, found.reach)
    parts = [replace(one, full=one.full - others.get(one.system, 0.0) / one.has.cores, law=one.law.times(1 / speed)) for one in found]
    binds = sorted((bind for one in parts for bind in one.limits()), key=lambda bind: bind.rate)
    limit = binds[0].rate
    if limit <= 0:
        return Refused(workload=name, system=SPARK, why=Why.FULL, about=[binds[0].system])
    errors = {one.system: one.error(limit) for one in parts}
    wide = [system for system, error in errors.items() if system == binds[0].system and math.expm1(error) > LAW_ERROR_MAX]
    if wide:
        return refused(Why.INSEPARABLE, [f"{RECORDS} of {system}" for system in wide])
    moved = [one.row(scores) for one in numbers if one.is_moved]
    # A limit was found on a grid: what held is below the next step, which did not.
    by_kind = {kind: max(one.error for one in moved if _kind(one.axis) == kind) for kind in {_kind(one.axis) for one in moved}}
    axis = combined([math.log1p(first.experiment.search.precision), *by_kind.values()])
    low = min(
        bind.rate for one in parts for bind in one.with_errors(math.exp(combined([errors[one.system], axis])), 1 + BYTES_ONLY).limits()
    )
    high = min(
        bind.rate for one in parts for bind in one.with_errors(math.exp(-combined([errors[one.system], axis])), 1 - BYTES_ONLY).limits()
    )
    following = next((bind for bind in binds[1:] if bind.system != binds[0].system), None)
    is_same = first is runs[0] and base == name
    return Prediction(
        workload=name, unit=WORKLOADS[now.experiment.workloads[name].kind].unit or RECORDS, by=OBJECTIVE, measured=first.limits[base] if is_same else None,
        limit=limit, low=low, high=high, at_least=False, zone=Zone.EXTRAPOLATED if is_speed_assumed else zone_of(numbers), binds=binds[0],
        is_certain=following is None or following.rate > high, next=following, uses=[use for one in parts for use in one.uses(limit)],
        prices=_prices(parts, limit), moved=moved, is_soft=any(one.law.demands is None for one in parts), unsettled=[],
        windows=sum(one.workload == other for run, other in same for one in run.pipes),
        fit_error=max((one.law.demands.error for one in parts if one.law.demands is not None), default=0.0), at={one.axis: one.value for one in numbers}, alike=wanted,
    )  # fmt: skip


def _kind(axis: str) -> str:
    return axis.rpartition(".")[2]


@dataclass(frozen=True)
class _NoLaw:
    why: Why
    about: Sequence[str]
    reach: float | None = None


def _differing(wanted: Mapping[str, str], had: Mapping[str, str]) -> list[str]:
    """Settings that are not as they were measured."""
    return [key for key, value in wanted.items() if had.get(key) != value]


def _numbers(now: Asked, name: str, has: Mapping[str, Ceilings], same: Sequence[tuple[Known, str]], speed: float,
             is_speed_assumed: bool) -> list[Reached]:  # fmt: skip
    """By axis, with the values that were measured: those of another pipeline of the same settings count, whatever it is called."""
    wanted = numbers_of(now.experiment, name, has)
    had = [numbers_of(run.experiment, other, run.pipes_have[other]) for run, other in same]
    found = [Reached(axis, value, [one[axis] for one in had if axis in one]) for axis, value in wanted.items()]
    return [*found, *([Reached("speed", speed, [1.0], is_assumed=True)] if is_speed_assumed else [])]


def _parts(now: Asked, name: str, same: Sequence[tuple[Known, str]], limits: Sequence[tuple[Known, str]],
           has: Mapping[str, Ceilings]) -> list[_Part] | _NoLaw:  # fmt: skip
    """The parts as they would be, with their laws; one of them at least was full at a limit that was measured."""
    windows = [one for run, other in same for one in run.pipes if one.workload == other]
    parts = parts_of(now.experiment, name)
    assert parts is not None
    spark = now.experiment.systems.of(Spark)
    found, is_bound = [], False
    are_several = len({one.parts[SPARK].hosts for one in windows}) > 1
    for system in parts.hosts:
        own = has[system]
        if system == SPARK and spark is not None and spark.cores is not None:
            # An executor has so many slots, and none of them uses more than a core.
            own = replace(own, cores=min(own.cores, float(spark.cores)))
        each = median(max(one.parts[system].into, one.parts[system].out) * one.parts[system].hosts / one.rate for one in windows)
        if (at_limit := _of_limit(limits, system)) is not None:
            found.append(_Part(system, parts.count(system), own, at_limit, each, 1.0))
            is_bound = True
            continue
        law = demands([_observation(one, system, with_executors=are_several and system != SPARK) for one in windows])
        if law is None or RECORDS not in law.names:
            return _NoLaw(Why.TOO_FEW, [name])
        if law.error > FIT_ERROR_MAX:
            return _NoLaw(Why.NO_FIT, [system], law.error)
        part = _Part(system, parts.count(system), own, _Law.of(law, parts.executors), each, 1.0)
        bound = [_Law.of(law, _count(run, other, SPARK)).cores(run.limits[other] / _count(run, other, system)) / run.pipes_have[other][system].cores
                 for run, other in limits if _is_full(run, other, system, NEAR_LIMIT, math.inf)]  # fmt: skip
        is_bound = is_bound or bool(bound)
        # More than it had there is not used up, whatever a law says.
        found.append(replace(part, full=median(bound)) if bound else part)
    return found if is_bound else _NoLaw(Why.NOT_BOUND, [name])


def _observation(one: Piped, system: str, *, with_executors: bool) -> Observation:
    part = one.parts[system]
    drivers = {RECORDS: one.rate / part.hosts}
    if with_executors:
        drivers[EXECUTORS] = one.parts[SPARK].hosts
    return Observation(part.cores, drivers, (one.run, one.trial))


def _of_limit(limits: Sequence[tuple[Known, str]], system: str) -> _Law | None:
    """The law of a part that had no CPU left at a limit, nor well below it: the records of the limit cost no more than all that it had, so
    that of several limits the one counts at which that was least for each."""
    costs = [
        run.pipes_have[other][system].cores * _count(run, other, system) / run.limits[other]
        for run, other in limits
        if _is_full(run, other, system, NEAR_LIMIT, math.inf) and _is_full(run, other, system, 0.0, NEAR_LIMIT)
    ]
    return _Law(0.0, min(costs), None) if costs else None


def _is_full(run: Known, name: str, system: str, low: float, high: float) -> bool:
    """Whether it had no CPU left in a window between these shares of the limit."""
    limit = run.limits[name]
    return any(one.parts[system].is_full for one in run.pipes if one.workload == name and low <= one.rate / limit < high)


def _count(run: Known, name: str, system: str) -> int:
    parts = parts_of(run.experiment, name)
    assert parts is not None
    return parts.count(system)


def _prices(parts: Sequence[_Part], limit: float) -> list[Price]:
    """What one more core on each host brings, and one more executor, or host, of the part that is full first."""

    def gain(changed: Sequence[_Part]) -> float:
        return max(0.0, min(bind.rate for one in changed for bind in one.limits()) - limit)

    first = min(parts, key=lambda one: min(bind.rate for bind in one.limits()) if one.limits() else math.inf)
    more = [replace(one, hosts=one.hosts + 1) if one is first else one for one in parts]
    host = [] if first.system == DRIVER else [Price(what="executor" if first.system == SPARK else "host", gain=gain(more))]
    return [Price(what="core", gain=gain([replace(one, has=replace(one.has, cores=one.has.cores + 1)) for one in parts])), *host]
