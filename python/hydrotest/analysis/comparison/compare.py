"""Comparison of two runs: limits, latencies and use, each with an interval and a word."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scipy import special

from hydrotest.analysis.measured import Measured
from hydrotest.analysis.resources.others import other_use
from hydrotest.analysis.resources.rates import trial_host_rates
from hydrotest.analysis.statistics.intervals import percent
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests.combined import Combined
from hydrotest.store.folder import RunFolder
from hydrotest.store.purposes import Trait
from hydrotest.store.records import Trial
from hydrotest.summary.limits import Limit
from hydrotest.summary.model import Summary
from hydrotest.verdicts.comparison import Difference, Differs, Word

RATES_MIN = 3
"""Common rates that an interval needs."""
RUN_SCATTER = {"limit": 0.10, "cores": 0.10, "p50": 0.20, "p99": 0.20}
"""By how much equal runs differ (standard deviation of a logarithm). It is part of every interval. All rates
of one run share its JVMs, the layout of its data and the state of the machine, so more of them do not show
it. For limits it is measured: 0.08 in six runs (benchmarks/RESULTS.md, "Do consecutive runs agree?").
Latencies, which lie nearer to the knee, are taken to scatter twice as much."""
SIGNIFICANCE = 0.05
SAME_QUESTION = ("systems", "search", "warm_up", "tests", "hosts", "lab")
"""Parts of an experiment that belong to no single workload: differences in them come before all figures."""
HARDWARE = ("cores", "memory_bytes", "cpu_model", "kernel", "connect")


@dataclass(frozen=True)
class Row:
    """One quantity in both runs. Change in percent from the first to the second, with its 95 % interval if
    there is one, including the scatter between runs."""

    workload: str
    tenancy: str
    what: str
    unit: str
    first: str
    second: str
    change_pct: float | None
    low_pct: float | None
    high_pct: float | None
    n: int
    word: Word


@dataclass(frozen=True)
class Run:
    """The parts of a run that are compared."""

    folder: RunFolder
    experiment: Experiment
    summary: Summary


@dataclass(frozen=True)
class Comparison:
    """The rows, and what differs apart from the results, which must come first."""

    differences: list[Difference]
    rows: list[Row]


def compare(first: Run, second: Run) -> Comparison:
    """Compares what both runs measured. A workload whose own settings or objective differ gets no verdict,
    since the question is another one."""
    apart = settings_apart(first, second)
    drafts = _limits(first, second, apart)
    points = points_of(first), points_of(second)
    for workload, tenancy in dict.fromkeys(key[:2] for key in points[0] if key in points[1]):
        if not apart.is_uncompared(workload, tenancy):
            drafts += _at_same_rates(workload, tenancy, *points)
    # Number of rows compared together: each is held to its part of the significance (Bonferroni).
    family = sum(draft.change is not None for draft in drafts)
    return Comparison(apart.differences, [draft.row(family) for draft in drafts])


@dataclass(frozen=True)
class Apart:
    """What differs between two runs apart from their results."""

    differences: list[Difference]
    asked_otherwise: Mapping[str, list[Difference]]
    """Workloads whose own settings or objective differ."""
    neighbours: Mapping[str, list[Difference]]
    """Workloads of combined tests with other neighbours."""
    is_beside_others: bool = False
    """Others used the cluster by more, or less, in one of the runs."""

    def is_uncompared(self, workload: str, tenancy: str) -> bool:
        """True if the two runs do not ask the same of a workload."""
        return self.is_beside_others or workload in self.asked_otherwise or (tenancy == "combined" and workload in self.neighbours)


def settings_apart(first: Run, second: Run) -> Apart:
    """Finds what differs in hardware, versions, settings and neighbours."""
    asked_otherwise = _asked_otherwise(first.experiment, second.experiment)
    neighbours = _other_neighbours(first.experiment, second.experiment, asked_otherwise)
    differences = _differences(first, second, asked_otherwise)
    differences += [difference for found in neighbours.values() for difference in found]
    others = other_use(first.summary, second.summary)
    return Apart([*differences, *others], asked_otherwise, neighbours, bool(others))


def _differences(first: Run, second: Run, asked_otherwise: Mapping[str, list[Difference]]) -> list[Difference]:
    out = []
    machines = [{host.name: host for host in run.summary.hosts} for run in (first, second)]
    for name in dict.fromkeys([*machines[0], *machines[1]]):
        if name not in machines[0] or name not in machines[1]:
            out.append(Difference(Differs.HARDWARE, name, is_in_one_only=True))
            continue
        a, b = machines[0][name], machines[1][name]
        out += [
            Difference(Differs.HARDWARE, name, key, one, other)
            for key in HARDWARE
            if (one := getattr(a, key)) != (other := getattr(b, key))
        ]
    versions = [{s.name: s.version for s in run.summary.systems} for run in (first, second)]
    versions[0]["hydrotest"], versions[1]["hydrotest"] = first.summary.hydrotest, second.summary.hydrotest
    for name in dict.fromkeys([*versions[0], *versions[1]]):
        one, other = versions[0].get(name), versions[1].get(name)
        if one != other:
            out.append(Difference(Differs.VERSION, name, first=one, second=other))
    for part in SAME_QUESTION:
        a, b = (run.experiment.model_dump(mode="json")[part] for run in (first, second))
        out += _changed(part, a, b)
    return out + [difference for found in asked_otherwise.values() for difference in found]


def _asked_otherwise(first: Experiment, second: Experiment) -> dict[str, list[Difference]]:
    """Workloads of both runs whose own settings or objective differ, and how."""
    out = {}
    for name in first.workloads:
        if name in second.workloads:
            a, b = (
                {**e.workloads[name].model_dump(mode="json"), "objective": e.objective(name).model_dump(mode="json")}
                for e in (first, second)
            )
            found = [replace(difference, is_uncompared=True) for difference in _changed(name, a, b)]
            if found:
                out[name] = found
    return out


def _changed(subject: str, a: Any, b: Any, path: str = "") -> list[Difference]:
    """Where two plain values differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        keys = dict.fromkeys([*a, *b])
        return [found for key in keys for found in _changed(subject, a.get(key), b.get(key), f"{path}.{key}" if path else str(key))]
    if isinstance(a, list) and isinstance(b, list) and any(isinstance(one, dict) for one in (*a, *b)):
        return _changed(subject, dict(enumerate(a, 1)), dict(enumerate(b, 1)), path)
    return [] if a == b else [Difference(Differs.SETTING, subject, path, a, b)]


def _other_neighbours(
    first: Experiment, second: Experiment, asked_otherwise: Mapping[str, list[Difference]]
) -> dict[str, list[Difference]]:
    """Workloads of `combined` tests of both runs with other neighbours, or the same ones with other settings,
    and which."""
    beside = [_beside(experiment) for experiment in (first, second)]
    out: dict[str, list[Difference]] = {}
    for name in beside[0].keys() & beside[1].keys():
        a, b = beside[0][name], beside[1][name]
        found = [Difference(Differs.NEIGHBOURS, name, other, is_in_one_only=True) for other in sorted(a ^ b)]
        found += [
            Difference(Differs.NEIGHBOURS, name, f"{other}.{one.key}", one.first, one.second)
            for other in sorted(a & b)
            for one in asked_otherwise.get(other, [])
        ]
        if found:
            out[name] = found
    return out


def _beside(experiment: Experiment) -> dict[str, set[str]]:
    """For each workload of a `combined` test: the others."""
    out: dict[str, set[str]] = defaultdict(set)
    for _, test in experiment.tests_of(Combined):
        for name in test.workloads:
            out[name] |= set(test.workloads) - {name}
    return out


@dataclass(frozen=True)
class Change:
    """Change from the first to the second, as a logarithm, with its standard error from both runs and the
    degrees of freedom of that."""

    log: float
    error: float
    freedom: float
    low_only: bool = False
    """The second, or the first, is only a lower bound: what it is above is known, what it is below is not."""
    high_only: bool = False

    def interval(self, significance: float) -> tuple[float, float]:
        """The interval with confidence 1 − `significance`."""
        half = float(special.stdtrit(self.freedom, 1 - significance / 2)) * self.error if math.isfinite(self.error) else math.inf
        return (-math.inf if self.high_only else self.log - half), (math.inf if self.low_only else self.log + half)


@dataclass(frozen=True)
class Draft:
    """A row before the number of rows compared together is known. `change`: None if there is nothing to
    compare."""

    workload: str
    tenancy: str
    what: str
    unit: str
    first: str
    second: str
    n: int
    change: Change | None
    words: tuple[Word, Word]
    """For a rise, and for a fall."""
    own: Change | None = None
    """The change without the scatter between equal runs, where that is assumed: one run of each."""

    def row(self, family: int) -> Row:
        """The row, as one of `family` rows."""
        if self.change is None:
            return Row(
                self.workload, self.tenancy, self.what, self.unit, self.first, self.second, None, None, None, self.n, Word.NOT_COMPARABLE
            )
        strict, shown = self.change.interval(SIGNIFICANCE / family), self.change.interval(SIGNIFICANCE)
        word = self.words[0] if strict[0] > 0 else self.words[1] if strict[1] < 0 else Word.SAME
        if word is Word.SAME and self.own is not None and not _holds_zero(self.own.interval(SIGNIFICANCE / family)):
            word = Word.SCATTER
        low, high = (percent(end) if math.isfinite(end) else None for end in shown)
        return Row(
            self.workload, self.tenancy, self.what, self.unit, self.first, self.second, percent(self.change.log), low, high, self.n, word
        )


LIMIT_WORDS = (Word.FASTER, Word.SLOWER)
"""For a limit that rises, and one that falls."""
POINT_FIGURES: list[tuple[str, str, tuple[Word, Word]]] = [
    ("p50", "ms", (Word.SLOWER, Word.FASTER)),
    ("p99", "ms", (Word.SLOWER, Word.FASTER)),
    ("cores", "cores", (Word.MORE, Word.LESS)),
]
"""What is compared at the same rates: its unit, and the words for a rise and a fall."""


def _limits(first: Run, second: Run, apart: Apart) -> list[Draft]:
    drafts = []
    others = {(row.workload, row.tenancy): row for row in second.summary.limits}
    for a in first.summary.limits:
        b = others.get((a.workload, a.tenancy))
        if b is None:
            continue
        change = own = None
        if not apart.is_uncompared(a.workload, a.tenancy) and a.limit and b.limit:
            change, own = (_limit_change(ends_of(a), ends_of(b), scatter) for scatter in (RUN_SCATTER["limit"], 0.0))
        drafts.append(Draft(a.workload, a.tenancy, "limit", a.unit, _shown(a), _shown(b), min(a.repeats, b.repeats), change,
                            LIMIT_WORDS, own))  # fmt: skip
    return drafts


def _limit_change(a: tuple[float, float], b: tuple[float, float], run_scatter: float = RUN_SCATTER["limit"]) -> Change:
    """The change between two limits, from the ends of their 90 % intervals, which are 2 · 1.645 standard deviations apart. Each
    belongs to its run."""
    middles, variance = [], 2 * run_scatter**2
    for low, high in (a, b):
        width = math.log(high / low) if math.isfinite(high) else 0.0
        middles.append(math.log(low) + width / 2)
        variance += (width / INTERVAL_SDS) ** 2
    return Change(middles[1] - middles[0], math.sqrt(variance), RUNS_FREEDOM, low_only=math.isinf(b[1]), high_only=math.isinf(a[1]))


INTERVAL_SDS = 2 * 1.645
"""Standard deviations from one end of a 90 % interval to the other."""


def ends_of(limit: Limit) -> tuple[float, float]:
    """The interval of a limit that was found; an "at least" has no upper end."""
    low = limit.low if limit.low is not None else limit.limit
    high = limit.high if limit.high is not None and not limit.at_least else math.inf
    assert low is not None
    return float(low), float(high)


def apart(a: tuple[float, float], b: tuple[float, float]) -> Word:
    """How the second of two limits compares to the first, from one run of each."""
    low, high = _limit_change(a, b).interval(SIGNIFICANCE)
    return Word.FASTER if low > 0 else Word.SLOWER if high < 0 else Word.SAME


def _shown(limit: Limit) -> str:
    if limit.limit is None:
        return "none"
    low, high = ends_of(limit)
    return f"≥ {low:,.0f}" if math.isinf(high) else f"{low:,.0f} … {high:,.0f}"


def _holds_zero(interval: tuple[float, float]) -> bool:
    return interval[0] <= 0 <= interval[1]


Points = dict[tuple[str, str, float], list[dict[str, float]]]
"""Results of each trial, by workload, tenancy and offered rate."""


def points_of(run: Run) -> Points:
    """Every open-loop trial of a search or a level. Rates of all searches lie on one grid, so runs share
    them."""
    out: Points = defaultdict(list)
    for trial in run.folder.trials():
        if trial.status != "done" or Trait.COMPARED not in trial.purpose.traits:
            continue
        for load in trial.loads:
            if load.outcome is None or load.offered is None or trial.subject not in (None, load.workload):
                continue
            measured = Measured.read(run.folder, trial, load.workload)
            latency = measured.latency or {}
            values = {"p50": latency.get("p50"), "p99": latency.get("p99"), "cores": _cores(run, trial, measured)}
            out[load.workload, trial.tenancy, round(load.offered, 3)].append({k: v for k, v in values.items() if v})
    return out


def _cores(run: Run, trial: Trial, measured: Measured) -> float | None:
    """Cores used by all hosts together."""
    total = 0.0
    for host in run.summary.hosts:
        rates = trial_host_rates(run.folder, trial, host.name, measured.start_s, measured.end_s)
        mean = None if rates.is_empty() else rates["cpu_cores"].mean()
        if not isinstance(mean, int | float):
            return None
        total += float(mean)
    return total


def _at_same_rates(workload: str, tenancy: str, first: Points, second: Points) -> list[Draft]:
    """Differences at the rates that both runs offered, one value for each rate."""
    common = [key for key in first if key[:2] == (workload, tenancy) and key in second]
    drafts = []
    for what, unit, words in POINT_FIGURES:
        pairs = [(log_mean(first[key], what), log_mean(second[key], what)) for key in common]
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        if not known:
            continue
        shown = [f"{math.exp(sum(values) / len(values)):,.2f}" for values in zip(*known, strict=True)]
        drafts.append(Draft(workload, tenancy, f"{what} at the same rates", unit, shown[0], shown[1], len(known),
                            change_of([b - a for a, b in known], RUN_SCATTER[what]), words,
                            change_of([b - a for a, b in known], 0.0)))  # fmt: skip
    return drafts


RUNS_FREEDOM = 1e6
"""Degrees of freedom of a scatter between runs that is taken as known."""


def change_of(logs: Sequence[float], run_scatter: float) -> Change:
    """The mean of log ratios at several rates of one pair of runs. Its variance is that of the mean, which
    falls with more rates, plus that of the two runs, which does not. The degrees of freedom are Welch's (B.
    L. Welch, 1947). Fewer than three rates have no interval."""
    mean = math.fsum(logs) / len(logs)
    if len(logs) < RATES_MIN:
        return Change(mean, math.inf, 1.0)
    own = statistics.variance(logs) / len(logs)
    runs = 2 * run_scatter**2
    if own + runs == 0:
        return Change(mean, 0.0, len(logs) - 1)
    freedom = (own + runs) ** 2 / (own**2 / (len(logs) - 1) + runs**2 / RUNS_FREEDOM)
    return Change(mean, math.sqrt(own + runs), freedom)


def log_mean(points: Sequence[Mapping[str, float]], what: str) -> float | None:
    logs = [math.log(point[what]) for point in points if what in point]
    return sum(logs) / len(logs) if logs else None
