"""What happens together: trials judged as a whole, the safe working point, the interference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hydrotest.analysis.bottleneck.evidence import PAYLOAD, service_lines, uses
from hydrotest.analysis.bottleneck.windows import names_of
from hydrotest.analysis.limits.decided import Decided
from hydrotest.analysis.limits.rows import Limits, why_no_room
from hydrotest.analysis.limits.search import Limit, LimitSearch, RetryBudget
from hydrotest.analysis.limits.verdict import judge
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.spark.event_log import EventLog, read_event_log
from hydrotest.analysis.statistics.intervals import geometric_mean, paired_change
from hydrotest.analysis.statistics.latency import latency_ms, merged
from hydrotest.analysis.together.starvation import service_shares
from hydrotest.spec.choice import expected
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests.combined import Combined
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Iteration, Load, Trial
from hydrotest.summary.base import Latency
from hydrotest.summary.levels import Level
from hydrotest.summary.limits import Limit as LimitRow
from hydrotest.summary.together import Interference, SafeWorkingPoint
from hydrotest.verdicts import binding
from hydrotest.verdicts.binding import BoundBy
from hydrotest.verdicts.evidence import ServiceLine
from hydrotest.verdicts.limit import Flawed, LimitFlaw, Lower, LowerBound, Stop
from hydrotest.verdicts.trial import Disturbance, OfWorkload, SlowJob, TooLong

FRACTION_UNIT = 1000.0
"""Fractions of the isolated limits are searched in thousandths: the search's grid is for rates above 1."""

COMBINED_SKIPPED = "combined skipped"
"""In the journal, with `workloads`: a combined test was left out, since these have no isolated limit. Older runs have its `reason` in words."""


def proposed_of(fraction: float) -> float:
    """What the search proposed for a fraction. It proposes five digits, so rounding undoes what dividing and multiplying did
    to the last bit; without it a replayed trial would not be known again."""
    return round(fraction * FRACTION_UNIT, 6)


def safe_search(experiment: Experiment, test: Combined, trials: Sequence[Trial]) -> LimitSearch:
    """The search of the largest common fraction, in thousandths. It begins at an equal share: where three systems have one
    machine, a third of what each takes alone; or where the search of these `trials` began."""
    begun = next((trial.fraction for trial in trials if trial.purpose == Purpose.SEARCH and trial.fraction is not None), None)
    if begun is not None:
        # A proposal is rounded to five digits: a little more, so that it falls on its own step and not on the one below.
        first = proposed_of(begun) * (1 + 1e-4)
        return LimitSearch(FRACTION_UNIT, test.precision, experiment.search.repeats, ceiling=FRACTION_UNIT, first=first)
    systems: dict[str, set[str]] = defaultdict(set)
    for name in test.workloads:
        for system, machines in experiment.machines(name).items():
            for machine in machines:
                systems[machine].add(system)
    first = FRACTION_UNIT / max(len(sharing) for sharing in systems.values())
    return LimitSearch(FRACTION_UNIT, test.precision, experiment.search.repeats, ceiling=FRACTION_UNIT, first=first)


@dataclass(frozen=True)
class TogetherVerdict:
    """A combined trial judged: it is sustained if every workload's part is."""

    accepted: bool
    void: TooLong | None
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
    void: TooLong | None = None
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


def why_ours(rejected: Sequence[TogetherVerdict]) -> tuple[OfWorkload, ...]:
    """The reasons of a trial that our own generators failed alone, where at least half of those at the same fraction were; empty where more were not."""
    ours = [verdict for verdict in rejected if verdict.is_ours]
    return ours[-1].because if ours and 2 * len(ours) >= len(rejected) else ()


class Together:
    """The rows of one combined test."""

    def __init__(
        self,
        run: RunFolder,
        experiment: Experiment,
        trials: Sequence[Trial],
        isolated: dict[str, float],
        index: int,
        decided: Decided | None = None,
    ) -> None:
        """`decided`: what the run decided while it was made; read from its journal unless given."""
        self.decided = Decided.read(run) if decided is None else decided
        self.run = run
        self.experiment = experiment
        self.index = index
        self.test = expected(experiment.tests[index], Combined)
        self.trials = [trial for trial in trials if trial.status == "done" and trial.test == index]
        self.isolated = isolated
        self._logs: dict[str, EventLog] = {}

    def _of(self, *purposes: Purpose) -> list[Trial]:
        return [trial for trial in self.trials if trial.purpose in purposes]

    @cached_property
    def _searched(self) -> tuple[Limit, list[tuple[Trial, TogetherVerdict]]] | None:
        judged = [(trial, self._verdict(trial)) for trial in self._of(Purpose.SEARCH, Purpose.REPEAT)]
        if not judged:
            return None
        search = safe_search(self.experiment, self.test, self.trials)
        retries = RetryBudget()
        for trial, verdict in judged:
            then = self.decided.of_trial(trial.number)
            is_excused = retries.take(verdict) if then is None else then.excused
            if trial.fraction is not None and search.propose() == proposed_of(trial.fraction) and not is_excused:
                search.record(verdict.accepted)
        return search.limit(), judged

    def _verdict(self, trial: Trial) -> TogetherVerdict:
        """What the run decided of it, with today's figures beside it."""
        verdict, then = judge_together(self.run, self.experiment, trial), self.decided.of_trial(trial.number)
        return verdict if then is None else replace(verdict, accepted=then.accepted, stopped_by=then.stopped_by)

    @cached_property
    def _lower_bound(self) -> Sequence[LowerBound]:
        """Why the fraction is a lower bound only; empty if it is none."""
        if self._searched is None:
            return []
        limit, judged = self._searched
        if limit.high is None:
            return [Lower.NONE_TRIED]
        return why_ours([verdict for trial, verdict in judged if not verdict.accepted and trial.fraction == limit.high / FRACTION_UNIT])

    def safe_working_point(self) -> SafeWorkingPoint | None:
        """The contract's object; null where nothing was sustained together, or nothing searched."""
        found = self._searched
        if found is None or found[0].low is None:
            return None
        limit, judged = found
        fraction = found[0].low / FRACTION_UNIT
        # Nothing above the isolated limits is tried, so there the interval ends.
        high = 1.0 if limit.high is None else limit.high / FRACTION_UNIT
        above = [verdict for trial, verdict in judged if not verdict.accepted and trial.fraction is not None and trial.fraction <= high]
        return SafeWorkingPoint(
            fraction=fraction, low=fraction, high=high, at_least=bool(self._lower_bound),
            rates={name: rate * fraction for name, rate in self._rates().items()},
            repeats=limit.repeats, stopped_by=_most_often([dict(v.stopped_by) for v in above]),
            because=list(dict.fromkeys(failure for verdict in above[-3:] for failure in verdict.because)), reasons=[],
        )  # fmt: skip

    def _rates(self) -> dict[str, float]:
        """The isolated limit of each workload of the test; a consumer that follows has its producer's."""
        out = {}
        for name in self.test.workloads:
            spec = self.experiment.workloads[name]
            rate = self.isolated.get(spec.source if spec.is_follower and spec.source is not None else name)
            if rate is not None:
                out[name] = rate
        return out

    def limit_rows(self, limits: Limits) -> list[LimitRow]:
        """Rows of `limits`, combined: fraction × isolated limit."""
        found = self._searched
        if found is None:
            return []
        limit, judged = found
        rows = []
        for name, isolated in self._rates().items():
            low = None if limit.low is None else isolated * limit.low / FRACTION_UNIT
            high = None if limit.high is None else isolated * limit.high / FRACTION_UNIT
            at_limit = [
                trial
                for trial, verdict in judged
                if limit.low is not None and verdict.accepted and trial.fraction == limit.low / FRACTION_UNIT
            ]
            measured = [Measured.read(self.run, trial, name) for trial in at_limit]
            histogram = merged(one.histogram() for one in measured)
            causes = [
                verdict.stopped_by for trial, verdict in judged if limit.high is not None and trial.fraction == limit.high / FRACTION_UNIT
            ]
            above = [trial for trial, _ in judged if limit.high is not None and trial.fraction == limit.high / FRACTION_UNIT]
            own = [stopped[name] for stopped in causes if name in stopped]
            others = sorted({other for stopped in causes for other in stopped if other != name})
            stopped_by = max(sorted(set(own)), key=own.count) if own else Stop.SEARCH_END
            achieved = [Measured.read(self.run, trial, name).achieved for trial in self._of(Purpose.ALL_OUT)]
            flaws = [] if limit.low is not None else [LimitFlaw(Flawed.NONE_SUSTAINED_TOGETHER)]
            rows.append(limits.common(name, "combined")(
                limit=low, low=low, high=high, interval="searches", repeats=limit.repeats,
                at_least=low is not None and bool(self._lower_bound), lower_bound=list(self._lower_bound), at_least_because=[],
                saturated=sum(achieved) / len(achieved) if achieved else None,
                latency_ms=Latency.of(latency_ms(histogram)) if at_limit else None,
                latency_includes_failed=sum(one.failed for one in measured) if at_limit else None, stopped_by=stopped_by,
                bound_by=self._bound(limits, name, above or at_limit, stopped_by, others if not own else []),
                valid=not flaws, flaws=flaws, invalid_because=[], trials=[trial.number for trial, _ in judged],
            ))  # fmt: skip
        return rows

    def _bound(self, limits: Limits, name: str, trials: Sequence[Trial], stopped_by: str, first: Sequence[str]) -> BoundBy:
        """What the workloads compete for, where something was near its ceiling, and who had how much of it."""
        measured = [Measured.read(self.run, trial, name) for trial in trials]
        objective = self.experiment.objective(name)
        lacks = why_no_room(judge(one, objective) for one in measured) if stopped_by == "generator" else ()
        bound = limits.suspect(measured, lacks, stopped_by)
        company = binding.Together(tuple(other for other in self.test.workloads if other != name), tuple(first))
        return replace(bound, together=company, evidence=(*bound.evidence, *self._shares(trials, bound, limits)))

    def _shares(self, trials: Sequence[Trial], bound: BoundBy, limits: Limits) -> tuple[ServiceLine, ...]:
        """Who had how much of what is suspected: services of its host, by whichever of its names; of a link the workloads that need the host, by their payload."""
        line = next((one for one in uses(bound.evidence) if (one.host, one.resource) == (bound.host, bound.resource)), None)
        if line is None:
            return ()
        names = names_of(limits.hosts).get(line.host, [])
        if line.resource == "network":
            return service_lines(self._payloads(trials, names), PAYLOAD)
        there = [share.written() for share in service_shares(self.run, list(trials)) if share.host in names]
        return service_lines(there, line.used_unit, line.used)

    def _payloads(self, trials: Sequence[Trial], names: Sequence[str]) -> list[dict[str, Any]]:
        """The payload that each workload moved, which needs a host (by one of these names): bytes a second."""
        found: dict[str, list[float]] = defaultdict(list)
        for trial in trials:
            for load in trial.loads:
                if load.outcome is not None and not set(names).isdisjoint(self.experiment.needs(load.workload)):
                    found[load.workload].append(Measured.read(self.run, trial, load.workload).bytes_per_s)
        return [{"service": name, "host": names[0], "payload_bytes_per_s": sum(rates) / len(rates)} for name, rates in found.items()]

    def all_out_rows(self) -> list[Level]:
        """Rows of `levels`: what each achieved while all were without a rate limit. Rates only."""
        rows = []
        for trial in self._of(Purpose.ALL_OUT):
            for load in trial.loads:
                if load.outcome is not None:
                    measured = Measured.read(self.run, trial, load.workload)
                    rows.append(Level(
                        workload=load.workload, tenancy="combined", op=None, offered=None, concurrency=None, client=load.client,
                        achieved=measured.achieved, bytes_per_s=measured.bytes_per_s, count=measured.completed,
                        seconds=measured.duration_s, errors=measured.errors, errors_known=True,
                        errors_by_name=load.outcome.errors, latency_ms=None, in_flight_mean=None, accepted=None,
                        trial=trial.number, cpu_s_per_million=measured.cpu_s_per_million,
                    ))  # fmt: skip
        return rows

    def interference(self) -> list[Interference]:
        """One row for each workload and metric, from pairs of windows at the same rate."""
        alone: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
        together: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
        cut: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
        for trial in self._of(Purpose.ALONE, Purpose.TOGETHER):
            for load in trial.loads:
                if trial.pair is None or trial.subject not in (None, load.workload):
                    continue
                side = together if trial.subject is None else alone
                for metric, value in self._metrics(trial, load).items():
                    side[load.workload, metric][trial.pair] = value
                if trial.subject is None:
                    for metric, value in _cut(load).items():
                        cut[load.workload, metric][trial.pair] = value
        metrics_of = Counter(workload for workload, _ in alone)
        rows = []
        for key, values in alone.items():
            pairs, bounds = [], 0
            for pair, before in sorted(values.items()):
                after, least = together[key].get(pair), cut[key].get(pair, 0.0)
                if after is None and least > before:
                    # It was cut when the window ended, and had by then taken longer than alone: it takes at least so long.
                    after, bounds = least, bounds + 1
                if after is not None and (before > 0 or after > 0):
                    pairs.append((before, after))
            if len(pairs) > 1:
                rows.append(Interference(workload=key[0], metric=key[1], test=self.index, at_least_pairs=bounds,
                             isolated=geometric_mean([before for before, _ in pairs]), combined=geometric_mean([after for _, after in pairs]),
                                         **dict(paired_change(pairs, metrics_of[key[0]]))))  # fmt: skip
        return rows

    def _metrics(self, trial: Trial, load: Load) -> dict[str, float]:
        if load.outcome is not None:
            measured = Measured.read(self.run, trial, load.workload)
            latency = measured.latency or {}
            shown = {f"{name}_ms": latency.get(name) for name in ("p50", "p99")}
            return {"achieved": measured.achieved, **{key: value for key, value in shown.items() if value is not None}}
        times: dict[str, list[float]] = defaultdict(list)
        for iteration in load.iterations or []:
            if not iteration.cut:
                times[_time_of(iteration)].append(iteration.seconds)
                for phase, seconds in self._phases(load, iteration).items():
                    times[f"{iteration.test} {phase} s"].append(seconds)
        return {key: sum(values) / len(values) for key, values in times.items()}

    def _phases(self, load: Load, iteration: Iteration) -> dict[str, float]:
        """The slowest task's wait for shuffled data and its time of writing some, as published tables have them."""
        if load.event_log is None:
            return {}
        if load.event_log not in self._logs:
            self._logs[load.event_log] = read_event_log(self.run.path / load.event_log)
        group = self._logs[load.event_log].groups.get(iteration.group)
        if group is None:
            return {}
        return {"slowest shuffle read": group.largest("fetch_wait_s"), "slowest shuffle write": group.largest("shuffle_write_s")}


def _time_of(iteration: Iteration) -> str:
    """The metric of how long a batch test took."""
    return f"{iteration.test} s"


def _cut(load: Load) -> dict[str, float]:
    """How long tests had run that the window's end cut short."""
    return {_time_of(iteration): iteration.seconds for iteration in load.iterations or [] if iteration.cut}


def _most_often(stopped: list[dict[str, str]]) -> dict[str, str]:
    """The rule that stopped each workload most often."""
    rules: dict[str, list[str]] = defaultdict(list)
    for one in stopped:
        for workload, rule in one.items():
            rules[workload].append(rule)
    return {workload: max(sorted(set(found)), key=found.count) for workload, found in rules.items()}
