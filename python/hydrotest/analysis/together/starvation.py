"""Who is starved when all press, and of what: the resource that was used up while a workload got worse."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from hydrotest.analysis.bottleneck.evidence import SHARED
from hydrotest.analysis.bottleneck.windows import Window, names_of, uses_in
from hydrotest.analysis.resources.rates import read_service_rates
from hydrotest.kinds.registry import SYSTEMS
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.summary.together import CoresOf, Interference, ResourceShare, ServiceShare, Starved, Worse
from hydrotest.verdicts.figures import EMULATING_MACHINE

SHOWN_MIN = 0.02
"""Cores below which a service's share is not worth a word."""
USERS_MAX = 5
FREES_MIN = 0.05
"""Less than this part of what is used is not worth moving anything for."""


def _frees(services: Sequence[ServiceShare], top: ResourceShare) -> dict[str, float]:
    """What each system has, among these services, of what is used of a resource (`top`): so much would be free if it ran elsewhere. Most first; empty where
    that is not known, and where there is only one."""
    column = SHARED.get(top.unit, "")
    return frees([(service.service, (getattr(service, column, None) or 0.0) / top.used) for service in services if top.used])


def frees(shares: Iterable[tuple[str, float]]) -> dict[str, float]:
    """What each system has by the shares of its services (name, share of what is used): so much would be free if it ran elsewhere. Most first; empty where there is
    only one."""
    by_system: dict[str, float] = defaultdict(float)
    for service, share in shares:
        # What is none of a system is a program of its own.
        by_system[next((name for name, kind in SYSTEMS.items() if re.match(kind.services, service)), service)] += share
    stated = {system: share for system, share in by_system.items() if share >= FREES_MIN}
    return dict(sorted(stated.items(), key=lambda item: -item[1])) if len(by_system) > 1 else {}


def _windows(trials: Sequence[Trial]) -> list[Window]:
    """When they were measured; those that never were are left out."""
    windows = []
    for trial in trials:
        outcome = next((load.outcome for load in trial.loads if load.outcome is not None), None)
        if outcome is not None:
            start = outcome.started_wall_s + trial.warm_up_s
            windows.append((trial, start, start + trial.window_s))
    return windows


def resource_shares(run: RunFolder, trials: list[Trial], hosts: list[dict[str, Any]]) -> list[ResourceShare]:
    """Mean share of each host's ceilings over some trials, most used (or held back by its quota) first. `is_near`: it may be what binds."""
    uses = uses_in(run, _windows(trials), hosts)
    names = names_of(hosts)
    out = [
        ResourceShare(host=use.host, resource=use.resource, share=use.share, used=use.used, unit=use.unit,
         is_near=use.is_near, throttled=use.throttled,
         # By whichever of its names this machine is stated, its services are on it.
         hosts=[host["name"] for host in hosts] if use.host == EMULATING_MACHINE else names[use.host])
        for use in uses
        if use.share is not None
    ]  # fmt: skip
    return sorted(out, key=lambda row: -max(row.share, row.throttled or 0.0))


def service_shares(run: RunFolder, trials: list[Trial]) -> list[ServiceShare]:
    """Mean cores, peak memory and mean disk writes of each service while some trials were measured; most cores first."""
    frames = []
    for trial, begin, end in _windows(trials):
        for rates in read_service_rates(run.folder_of(trial), ["cpu_cores", "memory_bytes", "disk_write_bytes_per_s"]):
            # A reading is of the second before it.
            frames.append(rates.filter((pl.col("wall_s") > begin + 0.5) & (pl.col("wall_s") <= end + 0.5)))
    if not frames:
        return []
    grouped = pl.concat(frames, how="diagonal").group_by("host", "service", maintain_order=True).agg(
        pl.col("cpu_cores").mean(), pl.col("memory_bytes").max(), pl.col("disk_write_bytes_per_s").mean())  # fmt: skip
    return sorted(map(ServiceShare.model_validate, grouped.to_dicts()), key=lambda row: -row.cpu_cores)


def starved(interference: Sequence[Interference], shares: Sequence[ResourceShare], services: Sequence[ServiceShare],
            places: Mapping[str, Collection[str]]) -> list[Starved]:  # fmt: skip
    """For each workload that got significantly worse: what was used up meanwhile on a host that it needs, and by whom. A resource that is not
    near its ceiling, or memory, which starves nobody by being occupied, is not named: then it is not known. `places`: the hosts that each workload needs."""
    worse: dict[str, list[Worse]] = {}
    for row in interference:
        is_worse = row.change_pct < 0 if row.metric == "achieved" else row.change_pct > 0
        if row.significant and is_worse:
            worse.setdefault(row.workload, []).append(Worse(metric=row.metric, change_pct=row.change_pct))
    out = []
    for workload, changes in worse.items():
        top = next(
            (share for share in shares
             if share.is_near and share.resource != "memory" and not set(share.hosts).isdisjoint(places[workload])),
            None,
        )  # fmt: skip
        there = [service for service in services if top is not None and service.host in top.hosts]
        users = [CoresOf(service=s.service, cores=s.cpu_cores) for s in there if s.cpu_cores >= SHOWN_MIN][:USERS_MAX]
        out.append(Starved(
            workload=workload, worse=changes, changes=[], resource=top.resource if top else None, host=top.host if top else None,
            share=top.share if top else None, throttled=top.throttled if top else None,
            cores_of=users if top and top.resource == "cpu" else [], users=[],
            frees={} if top is None else _frees(there, top),
        ))  # fmt: skip
    return out
