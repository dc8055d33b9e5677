"""How long a run still takes: a range, from its plan, from how its trials compare with that, and from how many
trials its searches may still need."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev

from hydrotest.run.lifecycle.events import Planned, SearchState, TrialStart
from hydrotest.spec.step import OVERHEAD_S, Step
from hydrotest.spec.workload import LimitBy, Workload
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Trial

ROUGH = (0.5, 2.0)
"""Time of a job's tests, or of a pass over files, as a multiple of the plan's rough estimate, before one was seen."""
ERRORS = 1.645
"""Standard errors of a mean that its range reaches to each side: a guide for people, not an interval with a promise."""
PREPARING = (Purpose.WARM_UP, Purpose.POPULATE, Purpose.PREFILL)
SQUEEZING = (Purpose.SQUEEZE, Purpose.DOUBLING)


@dataclass(frozen=True)
class Left:
    """Something that is left: at least, as expected, and at most."""

    low: float
    expected: float
    high: float


def mean_of(seen: Sequence[float], unseen: tuple[float, float]) -> Left:
    """The mean of what is to come, with its range. `unseen`: the range as long as nothing was seen; its ends count like two
    that were."""
    if not seen:
        return Left(unseen[0], fmean(unseen), unseen[1])
    all_ = [*unseen, *seen]
    mean, error = fmean(all_), ERRORS * stdev(all_) / math.sqrt(len(all_))
    return Left(mean - error, mean, mean + error)


@dataclass
class _Progress:
    """How far a step is."""

    test: int
    step: Step
    decided: set[object] = field(default_factory=set)
    """Trials done whose number was known before."""
    windows: int = 0
    """Trials done whose number follows from what they find."""
    search: SearchState | None = None
    is_done: bool = False
    is_rough: bool = False
    """The length of its trials is not set, but only estimated."""
    seen: list[float] = field(default_factory=list)
    """Of each trial, how much longer it took than planned: a multiple where the plan is rough, else seconds."""

    @property
    def trial_s(self) -> float:
        """Time of a trial by the plan."""
        return self.step.seconds / max(1, self.step.trials)

    @property
    def done(self) -> int:
        """Trials done."""
        return len(self.decided) + self.windows

    def count(self, trial: Trial) -> None:
        """One more is done; those of a search are counted by `SearchState`."""
        open_ = self.step.undecided
        if open_ is not None and open_.expected == self.step.trials:
            self.windows += 1
        elif trial.pair is not None:
            self.decided.add((trial.purpose, trial.pair, trial.subject))
        else:
            # A dataflow is saturated by several trials; one of a calibration in which cores were stolen is repeated.
            once = {Purpose.SATURATED: trial.purpose, Purpose.CALIBRATE: (trial.slug, trial.search)}
            self.decided.add(once.get(trial.purpose, trial.number))

    def left(self) -> Left:
        """Trials left."""
        open_ = self.step.undecided
        if self.is_done:
            return Left(0, 0, 0)
        rest = max(0, self.step.trials - (open_.expected if open_ is not None else 0) - len(self.decided))
        if open_ is None or (self.search is not None and self.search.is_over):
            return Left(rest, rest, rest)
        floor = 1 if self.search is not None else 0
        most = max(floor, (open_.most if self.search is None else self.search.budget) - self.windows)
        least = min(most, max(floor, open_.least - self.windows))
        expected = min(most, max(least, open_.expected - self.windows))
        return Left(rest + least, rest + expected, rest + most)


class Forecast:
    """Times are seconds of any one clock."""

    def __init__(self, plan: Planned, now_s: float) -> None:
        workloads, search, bounds = plan.experiment.workloads, plan.experiment.search, plan.experiment.warm_up
        self._steps = [_Progress(test, step, is_rough=_is_rough(step, workloads)) for test, step in plan.steps]
        self._longer_s = (0.0, search.window + search.warm_up + OVERHEAD_S)
        """How much longer trials take, before one was seen: pipelines, whose trials are mostly those of searches, have taken
        twice the estimate. A soak of a day does not take two."""
        names = {name for one in self._steps for name in _names(one.step)}
        spare_s = max(0.0, bounds.most - bounds.least) * sum(workloads[name].is_warmed for name in names)
        self._prepare_s = (plan.prepare_s, plan.prepare_s + spare_s)
        self._prepared_s = 0.0
        self._since_s = now_s
        """Since when time is not yet attributed to anything."""
        self._current: _Progress | None = None
        for trial in plan.earlier:
            one = self._of(trial.test, trial.purpose, _about(trial.subject, (load.workload for load in trial.loads)))
            if one is not None and trial.status == "done":
                if trial.purpose.is_searched:
                    one.windows += 1
                else:
                    one.count(trial)

    def started(self, start: TrialStart, now_s: float) -> None:
        """A trial began."""
        if not any(one.seen for one in self._steps):
            self._attribute_to_preparation(now_s)
        self._current = self._of(start.test, start.purpose, _about(start.subject, start.offered))

    def recorded(self, trial: Trial, now_s: float) -> None:
        """A trial ended. What a void one took is counted with the one that follows."""
        one, self._current = self._current, None
        if one is None:
            self._attribute_to_preparation(now_s)
        elif trial.status == "done" and not trial.purpose.is_searched:
            one.count(trial)
            self._attribute(one, now_s)

    def searched(self, state: SearchState, now_s: float) -> None:
        """A search has these trials behind it. A repeated one does not count, and its time goes to the next."""
        one = next((one for one in self._steps if one.test == state.test and _is_of(one.step, state)), None)
        if one is not None:
            if one.search is not None and state.windows > one.windows:
                self._attribute(one, now_s)
            one.search, one.windows = state, state.windows

    def test_ended(self, test: int) -> None:
        """Nothing of this test is left."""
        for one in self._steps:
            one.is_done = one.is_done or one.test == test

    def left_s(self, now_s: float) -> Left:
        """Seconds left."""
        low, expected, high = 0.0, 0.0, 0.0
        for one in self._steps:
            each, trials = self._trial_s(one), one.left()
            low += trials.low * each.low
            expected += trials.expected * each.expected
            high += trials.high * each.high
        running_s = now_s - self._since_s
        if self._current is not None:
            each = self._trial_s(self._current)
            low, expected, high = (
                max(0.0, all_s - min(running_s, each_s))
                for all_s, each_s in ((low, each.low), (expected, each.expected), (high, each.high))
            )
        if any(not one.done and not one.is_done for one in self._steps):
            spent_s = self._prepared_s + (running_s if self._current is None else 0.0)
            least, most = (max(0.0, bound - spent_s) for bound in self._prepare_s)
            low, expected, high = low + least, expected + (least + most) / 2, high + most
        return Left(low, min(max(expected, low), high), high)

    def trials(self) -> tuple[int, int]:
        """The number of the current trial among those of the plan, and about how many there are."""
        done = sum(one.done for one in self._steps)
        number = done + (self._current is not None)
        return number, max(number, round(done + sum(one.left().expected for one in self._steps)))

    def _trial_s(self, one: _Progress) -> Left:
        """Seconds of each of its trials to come."""
        if one.is_rough:
            by = mean_of(one.seen, ROUGH)
            return Left(*(max(0.0, one.trial_s * share) for share in (by.low, by.expected, by.high)))
        by = mean_of(one.seen or [seen for other in self._steps if not other.is_rough for seen in other.seen], self._longer_s)
        return Left(*(max(0.0, one.trial_s + longer_s) for longer_s in (by.low, by.expected, by.high)))

    def _attribute(self, one: _Progress, now_s: float) -> None:
        took_s, self._since_s = now_s - self._since_s, now_s
        one.seen.append(took_s / max(1.0, one.trial_s) if one.is_rough else took_s - one.trial_s)

    def _attribute_to_preparation(self, now_s: float) -> None:
        self._prepared_s += now_s - self._since_s
        self._since_s = now_s

    def _of(self, test: int, purpose: Purpose, workload: str | None) -> _Progress | None:
        """The step that a trial belongs to; None if it only prepares. A squeeze comes after the search of its workload."""
        if purpose in PREPARING:
            return None
        found = [one for one in self._steps if one.test == test and workload in _names(one.step)]
        return None if not found else found[-1] if purpose in SQUEEZING else found[0]


def _is_rough(step: Step, workloads: Mapping[str, Workload]) -> bool:
    alone = workloads.get(step.workload)
    return alone is not None and step.undecided is None and step.test == "isolated" and alone.limit_by in (LimitBy.TIMES, LimitBy.PASSES)


def _names(step: Step) -> list[str]:
    return step.workload.split(", ")


def _about(subject: str | None, workloads: Iterable[str]) -> str | None:
    return subject if subject is not None else next(iter(workloads), None)


def _is_of(step: Step, state: SearchState) -> bool:
    return step.undecided is not None and (state.is_fraction or step.workload == state.name)
