"""One trial of several workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hydrotest.run.trial import Disturbance, Part, TrialPlan
from hydrotest.run.workloads.base import SATURATING, Bench, Pressable, Pressing, Workload
from hydrotest.spec.choice import expected
from hydrotest.store.records import Trial


def pressables(workloads: Mapping[str, Workload], names: Sequence[str]) -> list[Pressable]:
    """Those of a test that presses them together; the experiment's check lets nothing else into one."""
    found = []
    for name in names:
        found.append(expected(workloads[name], Pressable))
    return found


async def prepare_all(chosen: Sequence[Pressable]) -> None:
    """Prepares what presses."""
    for pressable in chosen:
        await pressable.prepare_together()


async def press_together(bench: Bench, plan: TrialPlan, chosen: Sequence[Pressable], rates: Mapping[str, float],
                         disturbance: Disturbance | None = None) -> Trial:  # fmt: skip
    """Each at its rate; those without one press as they do, consumers follow their producers."""
    for pressable in chosen:
        if (failed := await pressable.warm_again()) is not None:
            return failed
    number = bench.runner.claim()
    parts: list[Part] = []
    # What is followed is set up, and accounted for, before who follows it.
    for pressable in sorted(chosen, key=lambda one: one.source is not None):
        if pressable.source is not None:
            parts.append(pressable.following(number, plan, Pressing(rates.get(pressable.source.name))))
        else:
            rate = rates.get(pressable.name)
            parts.append(pressable.part(number, plan, SATURATING if rate is None else Pressing(rate)))
    return await bench.runner.press(number, plan, parts, disturbance)
