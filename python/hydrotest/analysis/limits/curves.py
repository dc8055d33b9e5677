"""Latency and achieved rate against the offered rate: every measured point of a search."""

from __future__ import annotations

from hydrotest.analysis.limits.verdict import judge
from hydrotest.analysis.measured import Measured
from hydrotest.percentiles import BRIEF
from hydrotest.spec.models import Experiment
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Trait
from hydrotest.store.records import Tenancy, Trial
from hydrotest.summary.levels import Curve, Point


def curves(run: RunFolder, experiment: Experiment, trials: list[Trial]) -> list[Curve]:
    """One curve per workload and tenancy, points in order of the offered rate."""
    found: dict[tuple[str, Tenancy], list[Point]] = {}
    for trial in trials:
        if trial.status != "done" or Trait.CURVE not in trial.purpose.traits:
            continue
        for load in trial.loads:
            if load.offered is None or load.outcome is None:
                continue
            measured = Measured.read(run, trial, load.workload)
            verdict = judge(measured, experiment.objective(load.workload))
            latency = measured.latency or {}
            found.setdefault((load.workload, trial.tenancy), []).append(Point.model_validate({
                "offered": load.offered, "achieved": measured.achieved,
                **{f"{one.name}_ms": latency.get(one.name) for one in BRIEF},
                "accepted": verdict.accepted, "trial": trial.number, "purpose": trial.purpose, "because": list(verdict.because), "reasons": [],
                "latency_includes_failed": measured.failed,
            }))  # fmt: skip
    return [
        Curve(workload=workload, tenancy=tenancy, points=sorted(points, key=lambda point: point.offered or 0.0))
        for (workload, tenancy), points in found.items()
    ]
