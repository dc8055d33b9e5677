"""The experiment's workloads, from the registry."""

from __future__ import annotations

from hydrotest.kinds.registry import WORKLOADS
from hydrotest.run.workloads.base import Bench, Workload


def make_workloads(bench: Bench) -> dict[str, Workload]:
    """All workloads of the experiment, by name, in the order of the file."""
    made: dict[str, Workload] = {}
    # Readers come last: each needs its producer.
    for name, spec in sorted(bench.experiment.workloads.items(), key=lambda item: item[1].is_follower):
        made[name] = WORKLOADS[spec.kind].run.load().bind(name, spec, bench, made)
    return {name: made[name] for name in bench.experiment.workloads}
