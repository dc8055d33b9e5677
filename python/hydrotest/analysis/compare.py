"""Two runs beside each other: limits, latencies and use, each with an interval and a word."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hydrotest.analysis.intervals import t_interval
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.usage import trial_host_rates
from hydrotest.spec.models import Experiment
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial

Word = Literal["faster", "slower", "less", "more", "not told apart", "not comparable"]
RATES_MIN = 3
"""Common rates from which an interval can be told."""
MACHINE = ("cores", "memory_bytes", "cpu_model", "kernel", "connect")


@dataclass(frozen=True)
class Row:
    """One quantity in both runs. Change in percent from the first to the second, with its interval where there is one."""

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
    """What is compared of a run."""

    folder: RunFolder
    experiment: Experiment
    summary: dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """The rows, and what differs beside the results: it must be said before them."""

    differences: list[str]
    rows: list[Row]


def compare(first: Run, second: Run) -> Comparison:
    """Compares what both runs measured. A workload whose own settings or objective differ gets no verdict: it is another question."""
    asked_otherwise = _asked_otherwise(first.experiment, second.experiment)
    rows = _limits(first, second, asked_otherwise)
    points = _points(first), _points(second)
    for workload, tenancy in dict.fromkeys(key[:2] for key in points[0] if key in points[1]):
        if workload not in asked_otherwise:
            rows += _at_same_rates(workload, tenancy, *points)
    return Comparison(_differences(first, second, asked_otherwise), rows)


def _differences(first: Run, second: Run, asked_otherwise: Mapping[str, list[str]]) -> list[str]:
    out = []
    machines = [{host["name"]: host for host in run.summary["hosts"]} for run in (first, second)]
    for name in dict.fromkeys([*machines[0], *machines[1]]):
        if name not in machines[0] or name not in machines[1]:
            out.append(f"hardware: the host {name} is in one run only")
            continue
        a, b = machines[0][name], machines[1][name]
        out += [f"hardware: {key} of {name}: {a.get(key)} → {b.get(key)}" for key in MACHINE if a.get(key) != b.get(key)]
    versions = [{s["name"]: s["version"] for s in run.summary["systems"]} for run in (first, second)]
    versions[0]["hydrotest"], versions[1]["hydrotest"] = first.summary["hydrotest"], second.summary["hydrotest"]
    for name in dict.fromkeys([*versions[0], *versions[1]]):
        if versions[0].get(name) != versions[1].get(name):
            out.append(f"version: {name}: {versions[0].get(name, 'not there')} → {versions[1].get(name, 'not there')}")
    for part in ("systems", "search", "warm_up"):
        a, b = (run.experiment.model_dump(mode="json")[part] for run in (first, second))
        out += [f"setting: {part}.{line}" for line in _changed(a, b)]
    return out + [f"setting: {name}.{line} (so {name} is not compared)" for name, lines in asked_otherwise.items() for line in lines]


def _asked_otherwise(first: Experiment, second: Experiment) -> dict[str, list[str]]:
    """Workloads of both that differ in themselves or in their objective, and how."""
    out = {}
    for name in first.workloads:
        if name in second.workloads:
            a, b = (
                {**e.workloads[name].model_dump(mode="json"), "objective": e.objective(name).model_dump(mode="json")}
                for e in (first, second)
            )
            lines = _changed(a, b)
            if lines:
                out[name] = lines
    return out


def _changed(a: Any, b: Any, path: str = "") -> list[str]:
    """Paths at which two plain values differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        keys = dict.fromkeys([*a, *b])
        return [line for key in keys for line in _changed(a.get(key), b.get(key), f"{path}.{key}" if path else str(key))]
    return [] if a == b else [f"{path}: {a} → {b}"]


def _limits(first: Run, second: Run, asked_otherwise: Mapping[str, list[str]]) -> list[Row]:
    rows = []
    others = {(row["workload"], row["tenancy"]): row for row in second.summary["limits"]}
    for a in first.summary["limits"]:
        b = others.get((a["workload"], a["tenancy"]))
        if b is None:
            continue
        change = None if not a["limit"] or not b["limit"] else (b["limit"] / a["limit"] - 1) * 100
        word: Word = "not comparable" if change is None or a["workload"] in asked_otherwise else apart(ends_of(a), ends_of(b))
        rows.append(Row(a["workload"], a["tenancy"], "limit", a["unit"], _shown(a), _shown(b), change, None, None,
                        min(a["repeats"], b["repeats"]), word))  # fmt: skip
    return rows


def ends_of(limit: dict[str, Any]) -> tuple[float, float]:
    """The interval of a limit; one that is only "at least" has no upper end."""
    low = limit["low"] if limit["low"] is not None else limit["limit"]
    high = limit["high"] if limit["high"] is not None and not limit["at_least"] else math.inf
    return float(low), float(high)


def apart(a: tuple[float, float], b: tuple[float, float]) -> Literal["faster", "slower", "not told apart"]:
    """What the second is. Intervals that touch are not told apart: the search's grid makes neighbours share an end."""
    if b[0] > a[1] * (1 + 1e-9):
        return "faster"
    return "slower" if b[1] < a[0] * (1 - 1e-9) else "not told apart"


def _shown(limit: dict[str, Any]) -> str:
    if limit["limit"] is None:
        return "none"
    low, high = ends_of(limit)
    return f"≥ {low:,.0f}" if math.isinf(high) else f"{low:,.0f} … {high:,.0f}"


Points = dict[tuple[str, str, float], list[dict[str, float]]]
"""What each trial showed, by workload, tenancy and offered rate."""


def _points(run: Run) -> Points:
    """Every open-loop trial of a search or a level. Rates of all searches lie on one grid, so runs share them."""
    out: Points = defaultdict(list)
    for trial in run.folder.trials():
        if trial.status != "done" or trial.purpose not in ("search", "repeat", "level", "alone", "together"):
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
    for host in run.summary["hosts"]:
        rates = trial_host_rates(run.folder, trial, host["name"], measured.start_s, measured.end_s)
        mean = None if rates.is_empty() else rates["cpu_cores"].mean()
        if not isinstance(mean, int | float):
            return None
        total += float(mean)
    return total


def _at_same_rates(workload: str, tenancy: str, first: Points, second: Points) -> list[Row]:
    """Differences at the rates that both runs offered, one value a rate; their mean with a t-interval."""
    common = [key for key in first if key[:2] == (workload, tenancy) and key in second]
    rows = []
    for what, unit, better in (("p50", "ms", -1), ("p99", "ms", -1), ("cores", "cores", -1)):
        pairs = [(_log_mean(first[key], what), _log_mean(second[key], what)) for key in common]
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        if not known:
            continue
        change = t_interval([b - a for a, b in known])
        sure = len(known) >= RATES_MIN and (change.low > 0 or change.high < 0)
        words: tuple[Word, Word] = ("less", "more") if what == "cores" else ("faster", "slower")
        word: Word = "not told apart" if not sure else words[0] if change.value * better > 0 else words[1]
        shown = [f"{math.exp(sum(values) / len(values)):,.2f}" for values in zip(*known, strict=True)]
        bounded = len(known) > 1
        rows.append(Row(workload, tenancy, f"{what} at the same rates", unit, shown[0], shown[1], _percent(change.value),
                        _percent(change.low) if bounded else None, _percent(change.high) if bounded else None, len(known), word))  # fmt: skip
    return rows


def _log_mean(points: Sequence[Mapping[str, float]], what: str) -> float | None:
    logs = [math.log(point[what]) for point in points if what in point]
    return sum(logs) / len(logs) if logs else None


def _percent(log: float) -> float:
    return (math.exp(min(log, 50.0)) - 1) * 100
