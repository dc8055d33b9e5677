"""Rows of `limits`: rebuilt from the trials by replaying them through the search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hydrotest.analysis.bottleneck.gauges import gauged
from hydrotest.analysis.bottleneck.outcome import squeezed
from hydrotest.analysis.bottleneck.proof import proven
from hydrotest.analysis.bottleneck.seen import seen_by
from hydrotest.analysis.bottleneck.suspicion import bound_by
from hydrotest.analysis.bottleneck.windows import uses_in
from hydrotest.analysis.limits.decided import Decided
from hydrotest.analysis.limits.estimate import Causes, Window, estimated, flaws_of, near_limit
from hydrotest.analysis.limits.headroom import judge_headroom
from hydrotest.analysis.limits.lapses import lapse_causes
from hydrotest.analysis.limits.search import LimitSearch, RetryBudget, limit_search
from hydrotest.analysis.limits.verdict import Verdict, judge
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.statistics.intervals import t_interval
from hydrotest.analysis.statistics.latency import latency_ms, merged
from hydrotest.kinds.registry import WORKLOADS
from hydrotest.spec.attach import attached
from hydrotest.spec.check_attached import highest_rate
from hydrotest.spec.models import Experiment, Objective
from hydrotest.spec.tests.isolated import Isolated
from hydrotest.spec.workload import LimitBy
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Purpose
from hydrotest.store.records import Tenancy, Trial
from hydrotest.summary.base import Latency
from hydrotest.summary.limits import Limit as LimitRow
from hydrotest.verdicts.binding import BoundBy, Kind
from hydrotest.verdicts.causes import HostsUnseen, NothingCompleted, Unseen
from hydrotest.verdicts.limit import Flawed, LimitFlaw, Lower, LowerBound, Stop
from hydrotest.verdicts.trial import Lack


def isolated_limits(run: RunFolder, experiment: Experiment) -> dict[str, float]:
    """The isolated limits found so far, operations a second by workload."""
    rows = Limits(run, experiment, run.trials(), []).rows()
    return {row.workload: row.limit for row in rows if row.limit is not None and row.tenancy == "isolated"}


class Limits:
    """Builds the rows."""

    def __init__(
        self, run: RunFolder, experiment: Experiment, trials: list[Trial], hosts: list[dict[str, Any]], decided: Decided | None = None
    ) -> None:
        """`decided`: what the run decided while it was made; read from its journal unless given."""
        self.decided = Decided.read(run) if decided is None else decided
        self.run = run
        self.experiment = experiment
        self.trials = [trial for trial in trials if trial.status == "done"]
        self.hosts = hosts
        """Those of environment.json, with their ceilings."""

    def rows(self) -> list[LimitRow]:
        """One row for each workload of an `isolated` test that has any trial."""
        rows = []
        # What has times, or passes, has no limit.
        makes = {LimitBy.SEARCH: self._search_row, LimitBy.CATCH_UP: self._consumer_row}
        for index, test in self.experiment.tests_of(Isolated):
            for workload in test.workloads:
                make = makes.get(self.experiment.workloads[workload].limit_by)
                row = None if make is None else make(index, workload)
                if row is not None:
                    rows.append(row)
        return rows

    def _of(self, index: int, workload: str, *purposes: Purpose) -> list[Measured]:
        chosen = [t for t in self.trials if t.test == index and t.purpose in purposes and t.is_about(workload)]
        return [Measured.read(self.run, trial, workload) for trial in chosen]

    def _search_row(self, index: int, workload: str) -> LimitRow | None:
        # Of a pipeline there are several, with ever more offered.
        measured = max((m.achieved for m in self._of(index, workload, Purpose.SATURATED)), default=None)
        allowed = highest_rate(self.experiment, workload)
        saturated = self.decided.saturated(index, workload) or measured
        if saturated is None:
            return None
        if saturated <= 0:
            return self._nothing(workload)
        objective = self.experiment.objective(workload)
        judged = [(m, self._verdict(m, objective)) for m in self._of(index, workload, Purpose.SEARCH, Purpose.REPEAT)]
        search, counted = self._replay(saturated, judged, allowed)
        limit = search.limit()
        windows = [Window(m.trial, rate, v.accepted, v.stopped_by) for m, v, rate in counted]
        near = near_limit(windows, limit)
        of = {m.trial.number: (m, v) for m, v, _ in counted}
        at_limit, above = ([of[trial.number] for trial in trials] for trials in near)
        stopped_by = _most(above) if above else Stop.SEARCH_END
        latency = latency_ms(merged(m.histogram() for m, _ in at_limit)) if at_limit else None
        lacks = why_no_room(v for _, v in above)
        suspicion = self.suspect([m for m, _ in at_limit] or [m for m, _ in above], lacks, stopped_by)
        top = max((window.rate for window in windows), default=0.0)
        none = Lower.NONE_REJECTED if allowed is None or top < allowed * (1 - self.experiment.search.precision) else Lower.ALLOWED
        lower: Sequence[LowerBound] = lacks if stopped_by == "generator" else [] if above else [none]
        flaws = flaws_of(search)
        return self.common(workload)(
            **estimated(search, windows, self._causes(objective, of)), at_least=limit.estimate is not None and bool(lower),
            saturated=saturated if allowed is None else None, latency_ms=Latency.of(latency), stopped_by=stopped_by,
            latency_includes_failed=sum(m.failed for m, _ in at_limit) if at_limit else None,
            lower_bound=list(lower), at_least_because=[],
            bound_by=self.proven(index, workload, suspicion, self.experiment.generators_apart(workload), stopped_by),
            valid=not flaws, flaws=flaws, invalid_because=[],
            trials=[m.trial.number for m, _ in judged], at_limit=[m.trial.number for m, _ in at_limit],
        )  # fmt: skip

    def _causes(self, objective: Objective, of: Mapping[int, tuple[Measured, Verdict]]) -> Causes:
        bounds = objective.latencies_ms()
        return lambda failed: lapse_causes([(of[one.trial.number][0], one.stopped_by) for one in failed], bounds)

    def _nothing(self, workload: str) -> LimitRow:
        return self.common(workload)(
            limit=None, low=None, high=None, interval="90 % credible", repeats=0, at_least=False, saturated=0.0, latency_ms=None,
            stopped_by=Stop.SEARCH_END, bound_by=BoundBy(Kind.UNKNOWN, (NothingCompleted(),)), valid=False,
            flaws=[LimitFlaw(Flawed.NOTHING_COMPLETED)], invalid_because=[],
        )  # fmt: skip

    def common(self, workload: str, tenancy: Tenancy = "isolated") -> partial[LimitRow]:
        """What all rows of a workload have."""
        kind = self.experiment.workloads[workload].kind
        objective = self.experiment.objective(workload)
        unit = WORKLOADS[kind].unit
        assert unit is not None  # what has a limit has a unit
        asked: dict[str, float | None] = {f"{name}_ms": bound for name, bound in objective.latencies_ms().items()}
        asked |= {"errors": objective.errors, "loss": objective.loss}
        return partial(LimitRow, workload=workload, kind=kind, tenancy=tenancy, unit=unit, objective=asked)

    def _verdict(self, measured: Measured, objective: Objective) -> Verdict:
        """Of a search's trial: what the run decided of it, with today's figures beside it."""
        verdict, then = judge(measured, objective), self.decided.of_trial(measured.trial.number)
        return verdict if then is None else replace(verdict, then=(then.accepted, then.stopped_by))

    def _replay(
        self, saturated: float, judged: list[tuple[Measured, Verdict]], allowed: float | None
    ) -> tuple[LimitSearch, list[tuple[Measured, Verdict, float]]]:
        """The search, and the trials that counted with their rates: those that were repeated were disturbed."""
        search = limit_search(saturated, self.experiment.search, allowed)
        retries = RetryBudget()
        counted = []
        for measured, verdict in judged:
            then = self.decided.of_trial(measured.trial.number)
            rate = measured.load.offered if then is None else then.proposed
            if rate is not None and self.decided.counts(measured.trial.number, verdict, retries):
                search.record(verdict.accepted, rate)
                counted.append((measured, verdict, rate))
        return search, counted

    def suspect(self, trials: list[Measured], lacks: Sequence[Lack], stopped_by: str) -> BoundBy:
        """What may bind, by what was used and full in some trials, on hosts that the workload needs."""
        windows = [(m.trial, m.start_s, m.end_s) for m in trials]
        needed = {host for m in trials for host in self.experiment.needs(m.load.workload)}
        uses = uses_in(self.run, windows, self.hosts, needed)
        internals = gauged(self.run, windows, needed)
        found = bound_by(uses, lacks if stopped_by == "generator" else [], stopped_by, internals)
        using = {name for m in trials for name in self.experiment.workloads[m.load.workload].uses}
        there = {name: system for name, system in attached(self.experiment).items() if name in using}
        unseen = tuple(name for name, system in there.items() if not system.hosts)
        if unseen and found.kind == Kind.UNKNOWN:
            return replace(found, because=(Unseen(unseen, len(internals)),))
        if unseen:
            return replace(found, because=(*found.because, HostsUnseen(unseen))) if found.kind == Kind.SYSTEM else found
        return replace(found, because=(*found.because, *seen_by(there, self.hosts, uses, windows)))

    def proven(self, index: int, workload: str, suspicion: BoundBy, generators: Sequence[str], stopped_by: str | None = None) -> BoundBy:
        """The verdict after what squeezes showed. `generators`: hosts of nothing else. `stopped_by`: where the limit may be below what
        is squeezed, since a search found it, or the generator had no headroom."""
        if not self.experiment.tests[index].needs_squeeze:
            return self._provable(workload, suspicion)
        own = [trial for trial in self.trials if trial.test == index]
        found = squeezed(self.run, own, workload, self.experiment.peers(workload), self.hosts, self.experiment.needs(workload))
        return proven(suspicion, found, generators, stopped_by)

    def _provable(self, workload: str, suspicion: BoundBy) -> BoundBy:
        """What may be proven where nobody asked for it, with how."""
        is_squeezable = self.experiment.workloads[workload].is_squeezable
        if suspicion.nearest and is_squeezable:
            nearest = tuple(
                replace(one, proof=self.experiment.provable_by(one.host, one.resource))
                if one.resource is not None and one.host in self.experiment.hosts and not one.ruled_out
                else one
                for one in suspicion.nearest
            )
            return replace(suspicion, nearest=nearest)
        if not is_squeezable or suspicion.kind != Kind.RESOURCE or suspicion.host is None or suspicion.resource is None:
            return suspicion
        how = self.experiment.provable_by(suspicion.host, suspicion.resource)
        return suspicion if how is None else replace(suspicion, because=(*suspicion.because, how))

    def _consumer_row(self, index: int, workload: str) -> LimitRow | None:
        trials = self._of(index, workload, Purpose.CATCH_UP)
        if not trials:
            return None
        rates = [m.achieved for m in trials]
        mean = t_interval(rates)
        # One trial's tell enough: those of the others differ in their figures.
        lacks = next((own for m in reversed(trials) if (own := judge_headroom(m, {}).lacks)), ())
        stopped_by = "generator" if lacks else Stop.CLOSED_LOOP
        verdict = self.suspect(trials, lacks, stopped_by)
        asked = self.experiment.search.repeats
        flaws = [] if len(rates) >= asked else [LimitFlaw(Flawed.FEW_REPEATS, len(rates), asked)]
        return self.common(workload)(
            limit=mean.value, low=mean.low if mean.n > 1 else None,
            high=mean.high if mean.n > 1 else None, interval="95 %", repeats=len(rates), at_least=bool(lacks),
            lower_bound=list(lacks), at_least_because=[], saturated=mean.value, latency_ms=None, stopped_by=stopped_by,
            bound_by=self.proven(index, workload, verdict, self.experiment.generators_apart(workload), "generator" if lacks else None),
            valid=not flaws, flaws=flaws, invalid_because=[],
            trials=[m.trial.number for m in trials],
        )  # fmt: skip


def why_no_room(verdicts: Iterable[Verdict]) -> tuple[Lack, ...]:
    """What the generator lacked, by the last verdict that says so: those of all would be the same with other figures."""
    found = [verdict.room.lacks for verdict in verdicts if verdict.room.lacks]
    return found[-1] if found else ()


def _most(judged: list[tuple[Measured, Verdict]]) -> str:
    """What stopped most of the rejected trials; the generator, unless more of them were rejected for something else."""
    causes = [str(verdict.stopped_by or Stop.SEARCH_END) for _, verdict in judged]
    if causes.count("generator") * 2 >= len(causes):
        return "generator"
    others = sorted(set(causes) - {"generator"}) or ["generator"]
    return max(others, key=causes.count)
