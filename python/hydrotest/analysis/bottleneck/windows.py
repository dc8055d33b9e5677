"""Windows of trials in which a workload was measured, and the use of each host in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from hydrotest.analysis.bottleneck.use import Use, resource_uses
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.resources.rates import trial_host_rates
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.verdicts.figures import EMULATING_MACHINE

READINGS_MIN = 4
"""Readings of a host that it takes to know its use, where they are not taken each second."""

Window = tuple[Trial, float, float]
"""A trial with begin and end, wall time."""


def names_of(hosts: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The hosts of environment.json by the name that reports use, each with all its names. Several addresses
    of this machine share all of it and appear as the first."""
    here = [host["name"] for host in hosts if host.get("connect") == "local"]
    return {host["name"]: here if host["name"] in here else [host["name"]] for host in hosts if host["name"] not in here[1:]}


def uses_in(
    run: RunFolder, windows: Sequence[Window], hosts: Sequence[Mapping[str, Any]], needed: Collection[str] | None = None
) -> list[Use]:
    """Use of each host's resources over some windows (trial, begin, end; wall time), and of the machine
    that hosts are emulated on. `hosts`: those of environment.json, named as in `names_of`; `needed`: only
    these."""
    uses = []
    stated = names_of(hosts)
    for host in (host for host in hosts if host["name"] in stated):
        frames = [trial_host_rates(run, trial, host["name"], begin, end) for trial, begin, end in windows]
        frames = [frame for frame in frames if not frame.is_empty()]
        # Between so many readings there is one interval less.
        least = READINGS_MIN - 1 if host.get("every_s") else 1
        if sum(map(len, frames)) >= least:
            uses += resource_uses(host["name"], pl.concat(frames, how="diagonal"), host["ceilings"])
    kept = [use for use in uses if needed is None or not set(stated[use.host]).isdisjoint(needed)]
    return kept + _machine_use(uses, hosts)


def _machine_use(uses: Sequence[Use], hosts: Sequence[Mapping[str, Any]]) -> list[Use]:
    """The cores of the machine that hosts are emulated on, used by all hosts together: it can be full while
    none of them is."""
    emulated = {host["name"]: host["machine_cores"] for host in hosts if "machine_cores" in host}
    own = [use.used for use in uses if use.resource == "cpu" and use.host in emulated]
    return [Use("cpu", EMULATING_MACHINE, sum(own), float(next(iter(emulated.values()))), "cores")] if own else []


def window_of(run: RunFolder, trial: Trial, workload: str) -> Window:
    """When a workload was measured in a trial. For a batch workload: from the start of the first test that
    completed to the end of the last."""
    iterations = trial.load(workload).iterations
    if iterations is not None:
        ended = [one for one in iterations if one.finished]
        return trial, min((one.started_wall_s for one in ended), default=0.0), max((one.ended_wall_s for one in ended), default=0.0)
    measured = Measured.read(run, trial, workload)
    return trial, measured.start_s, measured.end_s


def unthrottled_windows(run: RunFolder, trials: Sequence[Trial], workload: str) -> list[Window]:
    """When a workload ran unthrottled, before anything was taken from its hosts."""
    return [
        window_of(run, trial, workload)
        for trial in trials
        if trial.purpose.is_unthrottled and trial.status == "done" and trial.is_about(workload)
    ]


def pass_s(trial: Trial, workload: str) -> float:
    """Mean time of a batch workload for each of its tests once; 0 for one with a rate."""
    ended = [one for one in trial.load(workload).iterations or [] if one.finished]
    return sum(one.seconds for one in ended) / len(ended) * len({one.test for one in ended}) if ended else 0.0
