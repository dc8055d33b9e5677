"""One trial of several workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hydrotest.run.trials.trial import Disturbance, Part, TrialPlan
from hydrotest.run.workloads.base import UNTHROTTLED, Bench, LoadSpec, LoadWorkload, Workload
from hydrotest.spec.choice import expected
from hydrotest.store.records import Trial


def load_workloads(workloads: Mapping[str, Workload], names: Sequence[str]) -> list[LoadWorkload]:
    """The workloads of a test that runs them together; the experiment's check allows no others there."""
    found = []
    for name in names:
        found.append(expected(workloads[name], LoadWorkload))
    return found


async def prepare_all(chosen: Sequence[LoadWorkload]) -> None:
    """Prepares the workloads of the test."""
    for workload in chosen:
        await workload.prepare_together()


async def run_concurrently(bench: Bench, plan: TrialPlan, chosen: Sequence[LoadWorkload], rates: Mapping[str, float],
                         disturbance: Disturbance | None = None) -> Trial:  # fmt: skip
    """Each at its rate; those without one ignore it, consumers follow their producers."""
    for workload in chosen:
        if (failed := await workload.warm_again()) is not None:
            return failed
    number = bench.runner.claim()
    parts: list[Part] = []
    # A source is set up, and accounted for, before its follower.
    for workload in sorted(chosen, key=lambda one: one.source is not None):
        if workload.source is not None:
            parts.append(workload.following(number, plan, LoadSpec(rates.get(workload.source.name))))
        else:
            rate = rates.get(workload.name)
            parts.append(workload.part(number, plan, UNTHROTTLED if rate is None else LoadSpec(rate)))
    return await bench.runner.press(number, plan, parts, disturbance)
