"""What others use of a cluster that is there already, from the time before any load of ours."""

from __future__ import annotations

from hydrotest.analysis.resources.rates import read_host_rates
from hydrotest.analysis.resources.totals import totals_of, usage_of
from hydrotest.spec.attach import attached
from hydrotest.spec.models import Experiment
from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.summary.attached import Baseline, UsageByOthers


def baseline_of(run: RunFolder, experiment: Experiment) -> Baseline | None:
    """None where hydrotest started the systems itself, or the run ended before any load."""
    there = run.environment().get("attached")
    if not there or "baseline" not in there:
        return None
    machines = attached(experiment)[there["system"]].hosts
    found = {name: totals_of(read_host_rates(run.path / layout.BASELINE, name)) for name in machines}
    usages = {name: usage_of([totals]) for name, totals in found.items() if totals is not None}
    hosts = [UsageByOthers(host=name, **dict(usage)) for name, usage in usages.items() if usage is not None]
    return Baseline(system=there["system"], **there["baseline"], hosts=hosts)
