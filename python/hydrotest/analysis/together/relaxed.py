"""Where an objective is missed at any fraction: the latency at which it would hold, and up to which fraction."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from hydrotest.analysis.measured import Measured
from hydrotest.analysis.together.search import TogetherVerdict, safe_search
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests.combined import Combined
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.summary.together import Relaxed
from hydrotest.verdicts.trial import Check, Rule

HOLDS = 0.9
"""Share of the windows at the lower fractions that would hold at the relaxed latency."""
DIGITS = 2
"""Significant digits of the latency, rounded up."""


def relaxed(
    run: RunFolder, experiment: Experiment, test: Combined, subject: str, judged: Sequence[tuple[Trial, TogetherVerdict]]
) -> Relaxed | None:
    """None where it failed by other rules than the latency, or has no objective of it. The latency is the smallest (by `DIGITS`) that
    nine of ten windows held at the lower half of the fractions; the fraction is searched anew in the same windows."""
    bounds = experiment.objective(subject).latencies_ms()
    failed = [verdict for _, verdict in judged if subject in verdict.stopped_by]
    slow = [verdict for verdict in failed if verdict.stopped_by[subject] == Rule.LATENCY]
    missed = Counter(
        one.failure.percentile
        for verdict in slow
        for one in verdict.because
        if one.workload == subject and isinstance(one.failure, Check) and one.failure.percentile in bounds
    )
    if not missed or 2 * len(slow) <= len(failed):
        return None
    percentile = str(missed.most_common(1)[0][0])
    measured = {trial.number: (Measured.read(run, trial, subject).latency or {}).get(percentile) for trial, _ in judged}
    fractions = sorted(trial.fraction for trial, _ in judged if trial.fraction is not None)
    middle = fractions[len(fractions) // 2]
    lower = sorted(
        value for trial, _ in judged
        if trial.fraction is not None and trial.fraction <= middle and (value := measured[trial.number]) is not None
    )  # fmt: skip
    if not lower:
        return None
    bound = _rounded_up(lower[min(len(lower) - 1, math.ceil(HOLDS * len(lower)) - 1)])
    if bound <= bounds[percentile]:
        return None
    search = safe_search(experiment, test)
    for trial, verdict in judged:
        value = measured[trial.number]
        is_slow = value is None or value > bound
        kept = {name for name, rule in verdict.stopped_by.items() if name != subject or rule != Rule.LATENCY}
        if is_slow and verdict.stopped_by.get(subject) == Rule.LATENCY:
            kept.add(subject)
        search.record(not kept, trial.fraction, tuple(kept))
    limit = search.limit()
    return Relaxed(
        workload=subject, percentile=percentile, asked_ms=bounds[percentile], bound_ms=bound,
        fraction=None if limit.estimate is None else limit.estimate.value, safe=limit.safe,
        low=None if limit.estimate is None else limit.estimate.low, high=None if limit.estimate is None else min(1.0, limit.estimate.high),
    )  # fmt: skip


def _rounded_up(value: float) -> float:
    """To two significant digits, upwards."""
    unit = 10.0 ** (math.floor(math.log10(value)) - DIGITS + 1)
    return round(math.ceil(value / unit - 1e-9) * unit, 6)
