"""Use of each host while it was measured: by workload, and by test."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hydrotest.analysis.resources.rates import trial_host_rates
from hydrotest.analysis.resources.totals import USED, Totals, totals_of, usage_of
from hydrotest.spec.models import Experiment
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Tenancy, Trial
from hydrotest.summary.usage import UsageByTest, UsageByWorkload


def measured_trials(trials: list[Trial]) -> list[Trial]:
    """The trials that show a system under load. The halves of pairs in which a workload runs alone are far
    below its limit: they count only for one that ran alone nowhere else."""
    measured = [trial for trial in trials if trial.status == "done" and trial.purpose.is_measured]
    elsewhere = {
        load.workload for trial in measured if trial.tenancy == "isolated" and trial.purpose != Purpose.ALONE for load in trial.loads
    }
    return [trial for trial in measured if trial.purpose != Purpose.ALONE or trial.subject not in elsewhere]


Windows = list[tuple[Trial, str, Totals]]
"""What each measured trial's readings of each host add up to, by its name."""


def usage_rows(found: Windows) -> list[UsageByWorkload]:
    """Each host's use while each workload was measured; workload null: all together."""
    windows: dict[tuple[str, str | None, Tenancy], list[Totals]] = defaultdict(list)
    for trial, host, inside in found:
        windows[host, _pressed(trial), trial.tenancy].append(inside)
    return [
        UsageByWorkload(host=host, workload=workload, tenancy=tenancy, **dict(usage))
        for (host, workload, tenancy), parts in windows.items()
        if (usage := usage_of(parts)) is not None
    ]


def usage_by_test(experiment: Experiment, found: Windows) -> list[UsageByTest]:
    """The same by the tests of the experiment, in their order, as in published reports; a test of several
    workloads one after the other, by each of them."""
    windows: dict[tuple[int, str, str], list[Totals]] = defaultdict(list)
    for trial, host, inside in found:
        test = experiment.tests[trial.test].test
        windows[trial.test, f"{trial.test + 1} {test} {_pressed(trial) or ''}".strip(), host].append(inside)
    return [
        UsageByTest(test=test, name=name, host=host, **dict(usage))
        for (test, name, host), parts in sorted(windows.items(), key=lambda window: window[0][0])
        if (usage := usage_of(parts)) is not None
    ]


def host_windows(run: RunFolder, trials: list[Trial], hosts: list[dict[str, Any]]) -> Windows:
    """Reads the data of both tables."""
    found = []
    for trial in measured_trials(trials):
        outcome = next((load.outcome for load in trial.loads if load.outcome is not None), None)
        if outcome is None:
            start, end = trial.prepared_wall_s, trial.ended_wall_s
        else:
            start = outcome.started_wall_s + trial.warm_up_s
            end = start + trial.window_s
        for host in hosts:
            inside = totals_of(trial_host_rates(run, trial, host["name"], start, end, USED))
            if inside is not None:
                found.append((trial, host["name"], inside))
    return found


def _pressed(trial: Trial) -> str | None:
    return None if trial.tenancy == "combined" else trial.subject or trial.loads[0].workload
