"""How the screen and the plain lines write what a run reports."""

from __future__ import annotations

from collections.abc import Mapping

from hydrotest.percentiles import PERCENTILES
from hydrotest.run.lifecycle.events import SearchState
from hydrotest.store.records import Trial
from hydrotest.units import show_duration, show_rate

P99 = 99.0


def amount(state: SearchState, value: float) -> str:
    """A rate of a search, or its fraction."""
    return f"{value:.0%}" if state.is_fraction else f"{show_rate(value)}/s"


def interval(state: SearchState) -> str:
    """The 90 % interval: `28,900 to 33,500/s`, or from where it begins."""
    if state.estimate is None:
        return ""
    if state.is_above:
        return f"above {amount(state, state.estimate.low)}"
    low, high = amount(state, state.estimate.low), amount(state, state.estimate.high)
    return f"{low.removesuffix('/s')} to {high}"


def limit_so_far(state: SearchState) -> str:
    """For the end of a trial's line."""
    if state.estimate is None:
        return "no limit yet"
    return f"limit {amount(state, state.estimate.value)} (90 %: {interval(state)})"


def of_trial(trial: Trial) -> str:
    """What a trial was: its number, its workloads, and its rate."""
    load = trial.loads[0]
    if trial.fraction is not None:
        return f"{trial.number} all at {trial.fraction:.0%}"
    names = ", ".join(one.workload for one in trial.loads)
    return f"{trial.number} {names}" + (f" {show_rate(load.offered)}/s" if load.offered is not None and len(trial.loads) == 1 else "")


def bounds(objective_ms: Mapping[str, float]) -> str:
    """An objective's latencies."""
    return ", ".join(f"{one.label} ≤ {objective_ms[one.name]:g} ms" for one in PERCENTILES if one.name in objective_ms)


def is_met(p99_ms: float | None, objective_ms: Mapping[str, float]) -> bool | None:
    """Whether a second's p99 meets an objective. None: it does not show that; a p99 below a bound of p99.9 proves nothing."""
    if p99_ms is None or not objective_ms:
        return None
    given = [(one.percent, objective_ms[one.name]) for one in PERCENTILES if one.name in objective_ms]
    if any(percent >= P99 and p99_ms > bound for percent, bound in given):
        return False
    return True if all(percent <= P99 and p99_ms <= bound for percent, bound in given) else None


def span(low_s: float, high_s: float) -> str:
    """A range of durations, as exact as it is known: `8 min to 21 min`."""
    low, high = (show_duration(_rounded(seconds)) for seconds in (low_s, high_s))
    return f"about {low}" if low == high else f"{low} to {high}"


def _rounded(seconds: float) -> float:
    step = 5 if seconds < 120 else 60 if seconds < 7200 else 600
    return round(seconds / step) * step


def plain(text: str) -> str:
    """A message in one line, without what would move the cursor."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
