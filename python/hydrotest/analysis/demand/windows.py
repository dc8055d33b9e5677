"""Each window of a system under load: what was asked of it, and what its hosts used."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import polars as pl

from hydrotest.analysis.demand.laws.base import Law
from hydrotest.analysis.demand.turns import turns_of
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.resources.by_host import measured_trials
from hydrotest.analysis.resources.quiet import level_of, quiet
from hydrotest.analysis.resources.rates import read_service_rates, trial_host_rates
from hydrotest.analysis.statistics.latency import latency_ms, window_histogram
from hydrotest.kinds.registry import SYSTEMS, WORKLOADS
from hydrotest.spec.choice import narrowed
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests.levels import Concurrency
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial
from hydrotest.store.samples import gauge_rows

TIMES = {"cpu": "cores", "network": "link", "disk": "disk"}
"""Fields of `Ceilings` by resource."""
AT_A_LEVEL = (Purpose.SATURATED, Purpose.SEARCH, Purpose.REPEAT, Purpose.LEVEL, Purpose.ALONE)
"""Purposes of trials, besides calibrations, that have one load for their whole window."""
READINGS_MIN = 3
"""Of each host in a window."""
ABANDONED = 0.98
"""Of the rate that was due: a window that achieved less shows an overload, whose costs are no law's."""


@dataclass(frozen=True)
class Ceilings:
    """What each host of a system has: the one that has least, since all do as much."""

    cores: float
    link: float | None
    """Bytes a second each way."""
    disk: float | None
    """Bytes a second written."""
    memory: float | None

    def times(self, cores: float = 1.0, link: float = 1.0, disk: float = 1.0, memory: float = 1.0) -> Ceilings:
        """So many times as much."""
        return Ceilings(
            self.cores * cores, self.link and self.link * link, self.disk and self.disk * disk, self.memory and self.memory * memory
        )


@dataclass(frozen=True)
class Used:
    """What each host of a system used in a window, on average over its hosts."""

    cores: float
    throttled: float
    """Share of the periods of its quota in which the host that was throttled most had to wait."""
    into: float
    out: float
    written: float
    fullest: float = 0.0
    """Cores that the host used which used most."""
    others: float = 0.0
    """Cores that other systems used on each of the hosts, which `cores` does not have."""


@dataclass(frozen=True)
class Seen:
    """A window of a system."""

    run: int
    """Index of its run."""
    trial: int
    rates: Mapping[str, float]
    """Operations a second, by workload."""
    is_closed: bool
    used: Used
    has: Ceilings
    """In this window: less than the hosts have otherwise, where something was taken from them."""
    is_whole: bool
    """Nothing was taken."""
    requests: float | None
    """Requests a second to each host, where they were counted."""
    percentiles: Mapping[str, float] = field(default_factory=dict)
    """Response times, milliseconds, of one workload by schedule on hosts with whole cores: quotas make latencies of their own."""
    groups: Mapping[str, float] = field(default_factory=dict)
    """How many times each record was read meanwhile, of workloads whose records were: as many as groups that kept up."""
    stolen: float = 0.0
    """Share of the cores of a host's machine that its hypervisor gave to others: of the host of which most."""

    def groups_of(self, workload: str) -> int:
        """Consumer groups that read a workload's records, to the nearest."""
        return round(self.groups.get(workload, 0.0))

    def is_of(self, workload: str, groups: int) -> bool:
        """Whether the workload was under way alone, while so many groups read it."""
        return set(self.rates) == {workload} and self.groups_of(workload) == groups

    def is_saturated_by(self, workload: str, groups: int) -> bool:
        """Whether that was without a rate limit, and with all that the hosts have."""
        return self.is_closed and self.is_whole and self.is_of(workload, groups)


def law_of(kind: str) -> Law | None:
    """The law of a kind of workload; None if there is none."""
    found = WORKLOADS[kind].law
    law: Law | None = None if found is None else found.load()()
    return law


def system_windows(folder: RunFolder, experiment: Experiment, trials: Sequence[Trial], index: int = 0) -> dict[str, list[Seen]]:
    """The windows of each system whose hosts are known, but for those in which cores were stolen; `index`: of the run among others."""
    return {name: undisturbed(own) for name, own in all_windows(folder, experiment, trials, index).items()}


def all_windows(folder: RunFolder, experiment: Experiment, trials: Sequence[Trial], index: int = 0) -> dict[str, list[Seen]]:
    """The same with those."""
    has = hosts_have(folder, experiment)
    return {
        name: list(_windows(folder, index, experiment, name, experiment.systems.present()[name].hosts, own, trials))
        for name, own in has.items()
    }


def undisturbed(windows: Sequence[Seen]) -> list[Seen]:
    """Without those in which cores were stolen, as far as others are left of a workload at such a rate, or without a rate limit, on what hosts
    had."""

    def alike(one: Seen) -> object:
        level = None if one.is_closed else level_of(sum(one.rates.values()))
        return tuple(sorted(one.rates)), tuple(sorted((name, one.groups_of(name)) for name in one.groups)), level, one.has

    return quiet(windows, lambda one: one.stolen, alike)


def hosts_have(folder: RunFolder, experiment: Experiment) -> dict[str, Ceilings]:
    """What the hosts of each system have; systems of which that is not known are left out."""
    hosts = {host["name"]: host for host in folder.environment()["hosts"]}
    systems = {name: system.hosts for name, system in experiment.systems.present().items()}
    return {
        name: least_of([hosts[host]["ceilings"] for host in own])
        for name, own in systems.items()
        if own and all(host in hosts for host in own)
    }


def least_of(found: Sequence[Mapping[str, float]]) -> Ceilings:
    """The least over hosts. Of what is not known of each, nothing."""

    def least(key: str) -> float | None:
        values = [one[key] for one in found if one.get(key)]
        return min(values) if len(values) == len(found) else None

    return Ceilings(least("cpu_cores") or 0.0, least("network_bytes_per_s"), least("disk_write_bytes_per_s"), least("memory_bytes"))


def _windows(folder: RunFolder, index: int, experiment: Experiment, system: str, hosts: Sequence[str], has: Ceilings,
             trials: Sequence[Trial]) -> Iterator[Seen]:  # fmt: skip
    own = {name for name, workload in experiment.workloads.items() if workload.presses_on == system}
    is_shared = any(set(other.hosts) & set(hosts) for name, other in experiment.systems.present().items() if name != system)
    is_timed = all(experiment.hosts[host].has_whole_cores for host in hosts)
    calibrating = [trial for trial in trials if trial.status == "done" and trial.purpose == Purpose.CALIBRATE]
    for trial in calibrating:
        name = trial.loads[0].workload
        if name not in own:
            continue
        is_closed = trial.load(name).in_flight is not None
        for turn, begin, end, rate in turns_of(folder, trial, name):
            given = has.times(**{TIMES[turn.resource]: turn.given}) if turn.resource is not None else has
            is_apart = is_timed and not shares_machine(experiment, system, name)
            readers = [load.workload for load in trial.loads[1:]]
            served = sum(Measured.read(folder, trial, one).progress.rate(begin, end) or 0.0 for one in readers)
            timed = _percentiles(folder, trial, name, begin, end) if is_apart and not is_closed and not readers else {}
            for seen in _seen(folder, index, trial, hosts, system, (begin, end), {name: rate}, is_closed, given, not turn.hosts, is_shared):
                yield replace(seen, percentiles=timed, groups={name: served / rate} if readers else {})
    for trial in measured_trials(list(trials)):
        loads = [load for load in trial.loads if load.workload in own and load.outcome is not None and load.is_generated]
        if not loads or trial.purpose not in AT_A_LEVEL or trial.tenancy == "combined" or _is_counted_in_flight(experiment, trial):
            continue
        measured = [Measured.read(folder, trial, load.workload) for load in loads]
        if any(one.errors or (one.offered or 0.0) * ABANDONED > one.achieved for one in measured):
            continue
        window = max(one.start_s for one in measured), min(one.end_s for one in measured)
        achieved = {one.load.workload: one.achieved for one in measured}
        rates = {name: rate for name, rate in achieved.items() if experiment.workloads[name].source is None}
        read: dict[str, float] = defaultdict(float)
        for name in achieved.keys() - rates.keys():
            read[experiment.workloads[name].source or name] += achieved[name]
        if not read.keys() <= rates.keys() or 0.0 in rates.values():
            continue  # what was there before is read: that is another load than to read what comes
        groups = {name: rate / rates[name] for name, rate in read.items()}
        is_closed = loads[0].offered is None
        is_apart = is_timed and len(loads) == 1 and not shares_machine(experiment, system, loads[0].workload)
        timed = _percentiles(folder, trial, loads[0].workload, *window) if is_apart and not is_closed else {}
        for seen in _seen(folder, index, trial, hosts, system, window, rates, is_closed, has, True, is_shared):
            yield replace(seen, percentiles=timed, groups=groups)


def shares_machine(experiment: Experiment, system: str, workload: str) -> bool:
    """Whether a workload's generators run on a machine of its system: they take cores from it, as many as the load is high."""

    def machines(hosts: Sequence[str]) -> set[str]:
        return {experiment.hosts[host].machine(host) for host in hosts if host in experiment.hosts}

    return bool(machines(experiment.systems.present()[system].hosts) & machines(experiment.generator_hosts(workload)))


def _percentiles(folder: RunFolder, trial: Trial, workload: str, begin: float, end: float) -> dict[str, float]:
    found = latency_ms(window_histogram(folder.folder_of(trial), workload, "response", None, begin, end))
    return {name: value for name, value in (found or {}).items() if value is not None}


def _is_counted_in_flight(experiment: Experiment, trial: Trial) -> bool:
    """Whether it had a given number in flight: such a load need not fill anything."""
    return trial.purpose == Purpose.LEVEL and narrowed(experiment.tests[trial.test], Concurrency) is not None


def _seen(folder: RunFolder, index: int, trial: Trial, hosts: Sequence[str], system: str, window: tuple[float, float],
          rates: Mapping[str, float], is_closed: bool, has: Ceilings, is_whole: bool, is_shared: bool) -> Iterator[Seen]:  # fmt: skip
    frames = [trial_host_rates(folder, trial, host, *window) for host in hosts]
    if any(len(frame) < READINGS_MIN for frame in frames) or any(rate <= 0 for rate in rates.values()):
        return
    others = _others(folder, trial, hosts, system, window) if is_shared else 0.0

    def mean(column: str) -> float:
        values = [frame[column].mean() for frame in frames if column in frame.columns]
        return fmean(float(value) for value in values if isinstance(value, int | float)) if values else 0.0

    def most(column: str) -> float:
        values = [frame[column].mean() for frame in frames if column in frame.columns]
        return max((float(value) for value in values if isinstance(value, int | float)), default=0.0)

    used = Used(max(1e-4, mean("cpu_cores") - others), most("cpu_throttled"), mean("network_in_bytes_per_s"), mean("network_out_bytes_per_s"),
                mean("disk_write_bytes_per_s"), most("cpu_cores"), others)  # fmt: skip
    yield Seen(
        index,
        trial.number,
        rates,
        is_closed,
        used,
        has,
        is_whole,
        _requests(folder, trial, system, len(hosts), window),
        stolen=most("stolen"),
    )


def _others(folder: RunFolder, trial: Trial, hosts: Sequence[str], system: str, window: tuple[float, float]) -> float:
    """Cores that services of other systems used on each of the hosts."""
    own = re.compile(SYSTEMS[system].services)
    begin, end = window
    cores = 0.0
    for rates in read_service_rates(folder.folder_of(trial), ["cpu_cores"]):
        inside = rates.filter((pl.col("wall_s") > begin + 0.5) & (pl.col("wall_s") <= end + 0.5) & pl.col("host").is_in(list(hosts)))
        means = inside.group_by("host", "service", maintain_order=True).agg(pl.col("cpu_cores").mean())
        cores += sum(float(used) for _, name, used in means.iter_rows() if not own.match(name))
    return cores / len(hosts)


def _requests(folder: RunFolder, trial: Trial, system: str, hosts: int, window: tuple[float, float]) -> float | None:
    """Requests a second to each host, by the system's own counter of those that its workloads make."""
    gauge = SYSTEMS[system].requests
    if gauge is None:
        return None
    begin, end = window
    readings: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for service, at_s, value in gauge_rows(folder.folder_of(trial), gauge, begin - 0.5, end + 0.5):
        readings[service].append((at_s, value))
    total = 0.0
    for rows in readings.values():
        (begin_s, first), (end_s, last) = min(rows), max(rows)
        if end_s <= begin_s:
            return None
        total += (last - first) / (end_s - begin_s)
    return total / hosts if total > 0 else None
