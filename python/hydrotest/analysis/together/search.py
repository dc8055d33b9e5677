"""The search of the safe working point: trials judged as a whole, a curve for each workload over the common fraction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from hydrotest.analysis.limits.search import LimitSearch
from hydrotest.analysis.limits.verdict import judge
from hydrotest.analysis.measured import Measured
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests.combined import Combined
from hydrotest.spec.workload import LimitBy
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.summary.together import FractionOf
from hydrotest.verdicts.trial import Disturbance, OfWorkload, SlowJob, Void


def safe_search(experiment: Experiment, test: Combined) -> LimitSearch:
    """The search of the largest common fraction of the isolated limits. It expects an equal share: where three systems have one
    machine, a third of what each takes alone. Nothing above the isolated limits is tried."""
    systems: dict[str, set[str]] = defaultdict(set)
    for name in test.workloads:
        for system, machines in experiment.machines(name).items():
            for machine in machines:
                systems[machine].add(system)
    share = 1 / max(len(sharing) for sharing in systems.values())
    return LimitSearch(1.0, test.precision, test.trials, ceiling=1.0, centre=share, confidence=experiment.search.confidence,
                       subjects=tuple(judged_in(experiment, test)))  # fmt: skip


def judged_in(experiment: Experiment, test: Combined) -> list[str]:
    """The workloads of a test that can fail in it: those with a rate, those that follow one, and jobs with an objective."""
    return [
        name
        for name in test.workloads
        if experiment.workloads[name].limit_by in (LimitBy.SEARCH, LimitBy.CATCH_UP)
        or experiment.workloads[name].is_follower
        or experiment.objective(name).total is not None
    ]


@dataclass(frozen=True)
class TogetherVerdict:
    """A combined trial judged: it is sustained if every workload's part is."""

    accepted: bool
    void: Void | None
    because: tuple[OfWorkload, ...]
    stopped_by: dict[str, str]
    """Rule that failed, by workload."""
    disturbed: tuple[Disturbance, ...] = ()

    @property
    def is_ours(self) -> bool:
        """True if it failed by our own generators alone."""
        return set(self.stopped_by.values()) == {"generator"}


def judge_together(run: RunFolder, experiment: Experiment, trial: Trial) -> TogetherVerdict:
    """Judges every part of a trial by its own objective."""
    because: list[OfWorkload] = []
    stopped: dict[str, str] = {}
    void: Void | None = None
    disturbed: tuple[Disturbance, ...] = ()
    for load in trial.loads:
        objective = experiment.objective(load.workload)
        if load.outcome is not None and load.offered is not None:
            verdict = judge(Measured.read(run, trial, load.workload), objective)
            void = void or verdict.void
            disturbed = disturbed or verdict.disturbed
            because += [OfWorkload(load.workload, failure) for failure in verdict.because]
            if verdict.stopped_by is not None:
                stopped[load.workload] = verdict.stopped_by
        elif load.iterations is not None and objective.total is not None:
            slow = [i for i in load.iterations if not i.cut and i.seconds > objective.total]
            ended = [i for i in load.iterations if not i.cut]
            if slow or (not ended and trial.warm_up_s + trial.window_s > objective.total):
                seconds = max(i.seconds for i in slow) if slow else None
                because.append(OfWorkload(load.workload, SlowJob(seconds, objective.total)))
                stopped[load.workload] = "latency"
    return TogetherVerdict(void is None and not because, void, tuple(because), stopped, disturbed)


def first_to_fail(shares: Sequence[FractionOf]) -> str | None:
    """The workload that gives way at the lowest fraction; None where none does within the isolated limits, or it is not clear which:
    its interval must end below the next one's median."""
    known = sorted((one for one in shares if one.fraction is not None and not one.at_least), key=lambda one: one.fraction or 0.0)
    if not known:
        return None
    others = [one.fraction for one in shares if one is not known[0] and one.fraction is not None]
    is_clear = all(known[0].high is not None and known[0].high < other for other in others)
    return known[0].workload if is_clear else None
