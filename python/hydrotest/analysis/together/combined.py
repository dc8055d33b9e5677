"""What happens together: trials judged as a whole, the safe working point, the interference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from hydrotest.analysis.bottleneck.evidence import PAYLOAD, service_lines, uses
from hydrotest.analysis.bottleneck.windows import names_of
from hydrotest.analysis.limits.decided import Decided
from hydrotest.analysis.limits.estimate import Causes, Window, estimated, near_limit
from hydrotest.analysis.limits.lapses import lapse_causes
from hydrotest.analysis.limits.rows import Limits, why_no_room
from hydrotest.analysis.limits.search import ALL, LAPSE_SEEN, LimitSearch, RetryBudget
from hydrotest.analysis.limits.verdict import judge
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.spark.event_log import EventLog, read_event_log
from hydrotest.analysis.statistics.intervals import geometric_mean, paired_change
from hydrotest.analysis.statistics.latency import latency_ms, merged
from hydrotest.analysis.together.relaxed import relaxed
from hydrotest.analysis.together.search import TogetherVerdict, first_to_fail, judge_together, safe_search
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
from hydrotest.summary.together import FractionOf, Interference, Relaxed, SafeWorkingPoint
from hydrotest.verdicts import causes
from hydrotest.verdicts.binding import BoundBy
from hydrotest.verdicts.evidence import ServiceLine
from hydrotest.verdicts.limit import Flawed, LimitFlaw, Lower, LowerBound, Stop
from hydrotest.verdicts.trial import OfWorkload

COMBINED_SKIPPED = "combined skipped"
"""In the journal, with `workloads`: a combined test was left out, since these have no isolated limit. Older runs have its `reason` in words."""


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
    def _searched(self) -> tuple[LimitSearch, list[tuple[Trial, TogetherVerdict]]] | None:
        """The search, and the trials that counted."""
        judged = [(trial, self._verdict(trial)) for trial in self._of(Purpose.SEARCH, Purpose.REPEAT) if trial.fraction is not None]
        if not judged:
            return None
        search = safe_search(self.experiment, self.test)
        retries = RetryBudget()
        counted = [(trial, verdict) for trial, verdict in judged if self.decided.counts(trial.number, verdict, retries)]
        for trial, verdict in counted:
            search.record(verdict.accepted, trial.fraction, tuple(verdict.stopped_by))
        return search, counted

    def _verdict(self, trial: Trial) -> TogetherVerdict:
        """What the run decided of it, with today's figures beside it."""
        verdict, then = judge_together(self.run, self.experiment, trial), self.decided.of_trial(trial.number)
        return verdict if then is None else replace(verdict, accepted=then.accepted, stopped_by=then.stopped_by)

    def _lower_bound(self, subject: str = ALL) -> Sequence[LowerBound]:
        """Why a fraction is a lower bound only; empty if it is none."""
        if self._searched is None:
            return []
        search, counted = self._searched
        limit = search.limit(subject)
        if limit.is_above or all(verdict.accepted for _, verdict in counted):
            return [Lower.NONE_TRIED]
        near = {trial.number for trial in near_limit(self._windows(subject), limit)[1]}
        return why_ours([verdict for trial, verdict in counted if trial.number in near])

    def _windows(self, subject: str = ALL) -> list[Window]:
        """The windows of the search, as a workload held or failed in them; of all together by default."""
        assert self._searched is not None
        out = []
        for trial, verdict in self._searched[1]:
            stopped = verdict.stopped_by.get(subject) if subject != ALL else next(iter(verdict.stopped_by.values()), None)
            held = verdict.accepted if subject == ALL else stopped is None
            assert trial.fraction is not None
            out.append(Window(trial, trial.fraction, held, stopped))
        return out

    def safe_working_point(self) -> SafeWorkingPoint | None:
        """The contract's object; null where nothing was sustained together, or nothing searched."""
        found = self._searched
        if found is None or (estimate := found[0].limit().estimate) is None:
            return None
        search, counted = found
        limit = search.limit()
        near = {trial.number for trial in near_limit(self._windows(), limit)[1]}
        above = [verdict for trial, verdict in counted if trial.number in near and not verdict.accepted]
        shares = [self._share(name) for name in search.subjects]
        return SafeWorkingPoint(
            fraction=estimate.value, low=estimate.low, high=1.0 if limit.is_above else min(1.0, estimate.high),
            at_least=bool(self._lower_bound()), safe=limit.safe, confidence=search.confidence,
            rates={name: rate * estimate.value for name, rate in self._rates().items()},
            repeats=limit.windows, stopped_by=_most_often([dict(v.stopped_by) for v in above]),
            because=list(dict.fromkeys(failure for verdict in above[-3:] for failure in verdict.because)), reasons=[],
            workloads=shares, first=first_to_fail(shares),
            relaxed=[one for name in search.subjects if (one := self._relaxed(name)) is not None],
        )  # fmt: skip

    @property
    def working_fraction(self) -> float | None:
        """Where all are measured together: the lower end of the limit; where an objective is missed at any fraction, of the limit
        that all would have without that. None: no window held."""
        if self._searched is None:
            return None
        search = self._searched[0]
        estimate = search.limit().estimate
        easier = [one.low for name in search.subjects if (one := self._relaxed(name)) is not None and one.low is not None]
        return min(easier, default=None if estimate is None else estimate.low)

    def _share(self, subject: str) -> FractionOf:
        """What a workload holds next to the others, by its own windows."""
        assert self._searched is not None
        fields = estimated(self._searched[0], self._windows(subject), self._causes(subject), subject)
        return FractionOf(
            workload=subject, fraction=fields["limit"], low=fields["low"], high=fields["high"], safe=fields["safe"], lapse=fields["lapse"],
            at_least=self._searched[0].limit(subject).is_above,
        )  # fmt: skip

    def _causes(self, subject: str) -> Causes:
        """Of a workload with a rate; a job's slow windows have their rule alone."""
        bounds = self.experiment.objective(subject).latencies_ms()

        def counted(failed: Sequence[Window]) -> dict[str, int]:
            native = [one for one in failed if one.trial.load(subject).outcome is not None]
            slow = Counter(str(one.stopped_by) for one in failed if one.trial.load(subject).outcome is None)
            return lapse_causes([(Measured.read(self.run, one.trial, subject), one.stopped_by) for one in native], bounds) | dict(slow)

        return counted

    def _relaxed(self, subject: str) -> Relaxed | None:
        """Where windows of a workload fail whatever the fraction: the latency at which it would hold, and up to where."""
        assert self._searched is not None
        search, counted = self._searched
        limit = search.limit(subject)
        if limit.estimate is None or (limit.safe is not None and limit.lapse.value < LAPSE_SEEN):
            return None
        return relaxed(self.run, self.experiment, self.test, subject, counted)

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
        search, judged = found
        rows = []
        for name, isolated in self._rates().items():
            windows, limit = self._windows(name), search.limit(name)
            at_limit, above = near_limit(windows, limit)
            measured = [Measured.read(self.run, trial, name) for trial in at_limit]
            histogram = merged(one.histogram() for one in measured)
            failed = {trial.number for trial in above}
            stopping = [verdict.stopped_by for trial, verdict in judged if trial.number in failed]
            own = [stopped[name] for stopped in stopping if name in stopped]
            others = sorted({other for _, verdict in judged for other in verdict.stopped_by if other != name})
            stopped_by = max(sorted(set(own)), key=own.count) if own else Stop.SEARCH_END
            achieved = [Measured.read(self.run, trial, name).achieved for trial in self._of(Purpose.ALL_OUT)]
            flaws = [] if limit.estimate is not None else [LimitFlaw(Flawed.NONE_SUSTAINED_TOGETHER)]
            lower = self._lower_bound(name) if limit.estimate is not None else []
            rows.append(limits.common(name, "combined")(
                **estimated(search, windows, self._causes(name), name, isolated),
                at_least=bool(lower), lower_bound=list(lower), at_least_because=[],
                saturated=sum(achieved) / len(achieved) if achieved else None,
                latency_ms=Latency.of(latency_ms(histogram)) if at_limit else None,
                latency_includes_failed=sum(one.failed for one in measured) if at_limit else None, stopped_by=stopped_by,
                bound_by=self._bound(limits, name, above or at_limit, stopped_by, others if not own else []),
                valid=not flaws, flaws=flaws, invalid_because=[], trials=[trial.number for trial, _ in judged],
                at_limit=[trial.number for trial in at_limit],
            ))  # fmt: skip
        return rows

    def _bound(self, limits: Limits, name: str, trials: Sequence[Trial], stopped_by: str, first: Sequence[str]) -> BoundBy:
        """What the workloads compete for, where something was near its ceiling, and who had how much of it."""
        measured = [Measured.read(self.run, trial, name) for trial in trials]
        objective = self.experiment.objective(name)
        lacks = why_no_room(judge(one, objective) for one in measured) if stopped_by == "generator" else ()
        bound = limits.suspect(measured, lacks, stopped_by)
        company = causes.Together(tuple(other for other in self.test.workloads if other != name), tuple(first))
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
