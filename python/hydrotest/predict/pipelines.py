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
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from hydrotest.analysis.demand.demands import Demands
from hydrotest.analysis.demand.parts import EXECUTORS, RECORDS, part_law
from hydrotest.analysis.demand.piped import DRIVER, SPARK, Parts, numbers_of, parts_of, settings_of
from hydrotest.analysis.demand.windows import Ceilings
from hydrotest.kinds.registry import WORKLOADS
from hydrotest.predict.answer import OBJECTIVE, Bind, Prediction, Price, Refused, Use, Why, Zone
from hydrotest.predict.axes import REFUSED, Reached, combined, zone_of
from hydrotest.predict.basis import Basis, calibration
from hydrotest.predict.change import RESOURCES, Asked, driver_of
from hydrotest.predict.gates import BYTES_ONLY, CPU_ONLY, FIT_ERROR_MAX, Gate, is_wide, too_far
from hydrotest.predict.known import Known
from hydrotest.predict.loads import needs_by_system
from hydrotest.predict.scores import Scores
from hydrotest.spec.dataflow import Dataflow
from hydrotest.verdicts.figures import Resource

NEAR_LIMIT = 0.7
"""Share of a limit from which on a window shows what binds there."""
Measured = tuple[Known, str]
"""A run, and one of its pipelines."""


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
    cpu: float = 1.0
    """Times what it needed as it was measured."""

    @classmethod
    def of(cls, found: Demands, executors: float) -> _Law:
        own = executors if EXECUTORS in found.names else 0.0
        return cls(found.cores({EXECUTORS: own}), found.cores({RECORDS: 1.0}) - found.fixed, found, own)

    def with_more(self, executors: float) -> _Law:
        """With so many more executors."""
        return self if self.demands is None else _Law.of(self.demands, self.executors + executors).times(self.cpu)

    def times(self, cpu: float) -> _Law:
        """If it needs so many times as much."""
        return replace(self, fixed=self.fixed * cpu, each=self.each * cpu, cpu=self.cpu * cpu)

    def cores(self, rate: float) -> float:
        """At so many records a second of the host."""
        return self.fixed + self.each * rate

    def drivers(self, rate: float) -> dict[str, float]:
        return {RECORDS: rate, **({EXECUTORS: self.executors} if self.executors else {})}

    def error(self, rate: float) -> float:
        """|log| of how far it may be off there."""
        return math.log1p(max(CPU_ONLY, 0.0 if self.demands is None else self.demands.relative_error(self.drivers(rate))))


@dataclass(frozen=True)
class _Part:
    """A part of a pipeline, as it would be."""

    system: str
    hosts: float
    """That share its work evenly."""
    has: Ceilings
    """What each of them can use."""
    law: _Law
    bytes_each: float
    """Bytes on the busier way of a host's link, for each of its records."""
    full: float
    """Cores that its law has where it bound, as a share of those that its hosts have; 1 where it never did."""

    def limits(self) -> list[Bind]:
        """The rate at which each of its resources is full."""
        left = self.has.cores * self.full - self.law.fixed
        rate = max(0.0, left / self.law.each * self.hosts) if self.law.each > 0 else math.inf if left > 0 else 0.0
        found = [Bind(system=self.system, resource=Resource.CPU, rate=rate)] if rate < math.inf else []
        if self.has.link and self.bytes_each > 0:
            found.append(Bind(system=self.system, resource=Resource.NETWORK, rate=self.has.link / self.bytes_each * self.hosts))
        return found

    def uses(self, rate: float) -> list[Use]:
        """Use of each at a rate."""
        cores = self.law.cores(rate / self.hosts)
        ceiling = self.has.cores * self.full
        found = [Use(system=self.system, resource=Resource.CPU, share=cores / ceiling, used=cores, has=ceiling)]
        if self.has.link and self.bytes_each > 0:
            used = self.bytes_each * rate / self.hosts
            found.append(Use(system=self.system, resource=Resource.NETWORK, share=used / self.has.link, used=used, has=self.has.link))
        return found

    def off_by(self, sign: int, rate: float) -> _Part:
        """If its law needs as much more (1), or less (−1), as its error allows at a rate."""
        cpu = math.exp(sign * self.law.error(rate / self.hosts))
        return replace(self, law=self.law.times(cpu), bytes_each=self.bytes_each * (1 + sign * BYTES_ONLY["network"]))


def pipeline_answer(
    runs: Sequence[Known],
    now: Asked,
    name: str,
    speed: float,
    types: Collection[str],
    others: Mapping[str, Basis],
    loads: Mapping[str, float],
    scores: Scores,
) -> Prediction | Refused:
    """The limit of a pipeline at its objective. `types`: systems that would be on other machines; `others`: what other workloads stand on
    that may have `loads`."""

    def refused(gate: Gate) -> Refused:
        # What is no pipeline of ours, or has no parts of its own, no run of it shows.
        offered = None if gate.why in (Why.NOT_MODELLED, Why.SHARED) else calibration(now, name)
        return Refused(workload=name, system=SPARK, why=gate.why, about=list(gate.about), reach=gate.reach, experiment=offered)

    parts = parts_of(now.experiment, name)
    if parts is None or not parts.are_apart:
        return refused(Gate(Why.SHARED, [name]) if parts is not None else Gate(Why.NOT_MODELLED, [_not_modelled(now, name)]))
    same = _same(runs, now, name)
    if isinstance(same, Gate):
        return refused(same)
    limits = [(run, other) for run, other in same if run.limits.get(other)]
    if not limits:
        return refused(Gate(Why.NO_LIMIT, [name]))
    # What is asked is a change of the first run, where that has the pipeline.
    first, base = (runs[0], name) if name in runs[0].pipes_have else limits[0]
    has = {part: own.times(*(now.times.get(driver_of(name) if part == DRIVER else part, {}).get(key, 1.0) for key in RESOURCES))
           for part, own in first.pipes_have[base].items()}  # fmt: skip
    is_assumed = speed != 1.0 or not parts.hosts.keys().isdisjoint(types)
    numbers = _numbers(now, name, has, same, speed, is_assumed)
    if (gate := too_far(numbers, _kind)) is not None:
        return refused(gate)
    found = _laws(name, parts, same, limits, has)
    if isinstance(found, Gate):
        return refused(found)
    used = needs_by_system(others, loads, speed)
    left = [replace(one, full=one.full - used.get(one.system, 0.0) / one.has.cores, law=one.law.times(1 / speed)) for one in found]
    binds = sorted((bind for one in left for bind in one.limits()), key=lambda bind: bind.rate)
    limit = binds[0].rate if binds else math.inf
    if limit <= 0 or limit == math.inf:
        return refused(Gate(Why.FULL, [binds[0].system]) if binds else Gate(Why.NOT_BOUND, [name]))
    outside = [one.system for one in left if one.law.demands is not None and one.law.demands.outside(one.law.drivers(limit / one.hosts))]
    moved = [one.row(scores) for one in numbers if one.is_moved]
    # Errors of axes are those of limits, and a limit was found on a grid: what held is below the next step, which did not.
    off = math.exp(combined([math.log1p(first.experiment.search.precision), *_by_kind((one.axis, one.error) for one in moved)]))
    lowest = min((bind for one in left for bind in one.off_by(1, limit).limits()), key=lambda bind: bind.rate)
    low, high = lowest.rate / off, min(bind.rate for one in left for bind in one.off_by(-1, limit).limits()) * off
    if outside or is_wide(low, high):
        return refused(Gate(Why.INSEPARABLE, outside or [f"{RECORDS} of {lowest.system}"]))
    following = next((bind for bind in binds[1:] if bind.system != binds[0].system), None)
    laws = [one.law.demands for one in left if one.law.demands is not None]
    return Prediction(
        workload=name, system=SPARK, unit=WORKLOADS[now.experiment.workloads[name].kind].unit or RECORDS, by=OBJECTIVE, measured=runs[0].limits.get(name),
        limit=limit, low=low, high=high, at_least=False, zone=Zone.EXTRAPOLATED if is_assumed else zone_of(numbers), binds=binds[0],
        is_certain=following is None or following.rate > high, next=following, uses=[use for one in left for use in one.uses(limit)],
        prices=_prices(left, parts, limit, numbers), moved=moved, is_soft=len(laws) < len(left), unsettled=_unsettled(same),
        windows=sum(one.workload == other for run, other in same for one in run.pipes),
        fit_error=max((one.error for one in laws), default=0.0), at={one.axis: one.value for one in numbers}, alike=settings_of(now.experiment, name),
        beside={key: loads[key] for key, one in others.items() if loads.get(key, 0.0) > 0 and one.system in parts.hosts},
    )  # fmt: skip


def _unsettled(measured: Sequence[Measured]) -> list[str]:
    return sorted({other for run, other in measured if other in run.unsettled})


def _not_modelled(now: Asked, name: str) -> str:
    """The setting of which nothing is known, or the pipeline: on clusters that are there already."""
    spec = now.experiment.workload(name, Dataflow)
    assert spec is not None
    return f"{name}.submit" if spec.submit is not None else f"{name}.engine" if spec.engine != "spark" else name


def _same(runs: Sequence[Known], now: Asked, name: str) -> list[Measured] | Gate:
    """The pipelines that were measured with the same settings, on the same machines."""
    with_it = [run for run in runs if run.machines == runs[0].machines]
    measured = [(run, other) for run in with_it for other in run.pipes_have if any(one.workload == other for one in run.pipes)]
    if not measured:
        return Gate(Why.NO_LIMIT, [name])
    was = runs[0].experiment.workloads.get(name)
    if was is not None and was.on != now.experiment.workloads[name].on:
        # What that host has, no run of the pipeline shows.
        return Gate(Why.SETTING, [f"{name}.on"])
    wanted = settings_of(now.experiment, name)
    differing = [_differing(wanted, settings_of(run.experiment, other)) for run, other in measured]
    same = [one for one, keys in zip(measured, differing, strict=True) if not keys]
    names = {"pipeline": name, "source": now.experiment.workloads[name].source}
    parted = [key.partition(".") for key in min(differing, key=len)]
    return same or Gate(Why.SETTING, [f"{names.get(whose, whose)}.{key}" for whose, _, key in parted])


def _differing(wanted: Mapping[str, str], had: Mapping[str, str]) -> list[str]:
    """Settings that are not as they were measured."""
    return [key for key, value in wanted.items() if had.get(key) != value]


def _numbers(now: Asked, name: str, has: Mapping[str, Ceilings], same: Sequence[Measured], speed: float, is_assumed: bool) -> list[Reached]:
    """By axis, with the values that were measured: those of another pipeline of the same settings count, whatever it is called."""
    wanted = numbers_of(now.experiment, name, has)
    had = [numbers_of(run.experiment, other, run.pipes_have[other]) for run, other in same]
    found = [Reached(axis, value, [one[axis] for one in had if axis in one]) for axis, value in wanted.items()]
    return [*found, *([Reached("speed", speed, [1.0], is_assumed=True)] if is_assumed else [])]


def _kind(axis: str) -> str:
    """Cores of several parts are one kind of number."""
    return axis.rpartition(".")[2]


def _by_kind(errors: Iterable[tuple[str, float]]) -> list[float]:
    """The largest error of each kind of number."""
    found: dict[str, float] = {}
    for axis, error in errors:
        found[_kind(axis)] = max(error, found.get(_kind(axis), 0.0))
    return list(found.values())


def _laws(name: str, parts: Parts, same: Sequence[Measured], limits: Sequence[Measured], has: Mapping[str, Ceilings]) -> list[_Part] | Gate:
    """The parts as they would be, with their laws; one of them at least was full at a limit that was measured."""
    windows = [one for run, other in same for one in run.pipes if one.workload == other]
    are_several = len({one.executors for one in windows}) > 1
    found, is_bound = [], False
    for system in parts.hosts:
        count, usable = parts.count(system), parts.usable(system, has[system])
        each = median(max(one.parts[system].into, one.parts[system].out) * one.parts[system].hosts / one.rate for one in windows)
        if (at_limit := _of_limit(limits, system)) is not None:
            found.append(_Part(system, count, usable, at_limit, each, 1.0))
            is_bound = True
            continue
        fitted = part_law(windows, system, with_executors=are_several and system != SPARK)
        if fitted is None:
            return Gate(Why.NO_LIMIT, [name])
        if fitted.error > FIT_ERROR_MAX:
            return Gate(Why.NO_FIT, [system], fitted.error)
        law, full = _Law.of(fitted, parts.executors), 1.0
        # What records cost nothing they do not fill.
        bound = [
            _there(run, other, system, fitted)
            for run, other in limits
            if law.each > 0 and _is_full(run, other, system, NEAR_LIMIT, math.inf)
        ]
        if bound:
            # More than it had there is not used up, whatever a law says.
            full, is_bound = median(bound), True
        found.append(_Part(system, count, usable, law, each, full))
    return found if is_bound else Gate(Why.NOT_BOUND, [name])


def _there(run: Known, name: str, system: str, fitted: Demands) -> float:
    """Cores that a law has at a limit that was measured, as a share of those that there were."""
    parts = parts_of(run.experiment, name)
    assert parts is not None
    cores = _Law.of(fitted, parts.executors).cores(run.limits[name] / parts.count(system))
    return cores / parts.usable(system, run.pipes_have[name][system]).cores


def _of_limit(limits: Sequence[Measured], system: str) -> _Law | None:
    """The law of a part that had no CPU left at a limit, nor well below it: the records of the limit cost no more than all that it had, so
    that of several limits the one counts at which that was least for each."""
    costs = []
    for run, other in limits:
        parts = parts_of(run.experiment, other)
        if parts is not None and _is_full(run, other, system, NEAR_LIMIT, math.inf) and _is_full(run, other, system, 0.0, NEAR_LIMIT):
            costs.append(parts.usable(system, run.pipes_have[other][system]).cores * parts.count(system) / run.limits[other])
    return _Law(0.0, min(costs), None) if costs else None


def _is_full(run: Known, name: str, system: str, low: float, high: float) -> bool:
    """Whether it had no CPU left in most windows between these shares of the limit."""
    limit = run.limits[name]
    seen = [one.parts[system].is_full for one in run.pipes if one.workload == name and low <= one.rate / limit < high]
    return 2 * sum(seen) > len(seen)


def _prices(parts: Sequence[_Part], of: Parts, limit: float, numbers: Sequence[Reached]) -> list[Price]:
    """What one more core on each host brings, and one more executor, or host, of the part that is full first; as far as numbers may be
    moved."""

    def gain(changed: Sequence[_Part]) -> float:
        return max(0.0, min(bind.rate for one in changed for bind in one.limits()) - limit)

    first = min((one for one in parts if one.limits()), key=lambda one: min(bind.rate for bind in one.limits()))
    found = []
    more = [replace(one, has=of.usable(one.system, replace(one.has, cores=one.has.cores + 1))) for one in parts]
    cores = {one.axis: one for one in numbers if _kind(one.axis) == "cores"}
    if all(replace(cores[f"{one.system}.hosts.cores"], value=one.has.cores).reach <= REFUSED for one in more):
        found.append(Price(what="core", gain=gain(more)))
    if first.system == SPARK:
        wider = [replace(one, hosts=one.hosts + 1) if one is first else replace(one, law=one.law.with_more(1.0)) for one in parts]
        found.append(Price(what="executor", gain=gain(wider)))
    elif first.system != DRIVER:
        wide = replace(of, hosts={system: [*hosts, hosts[0]] if system == first.system else hosts for system, hosts in of.hosts.items()})
        found.append(Price(what="host", gain=gain([replace(one, hosts=wide.count(one.system)) for one in parts])))
    return found
