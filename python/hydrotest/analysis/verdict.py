"""Was a trial sustained? Each rule of docs/method.md with its figure and its bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hydrotest.analysis.intervals import READINGS_MIN, slope_of, slope_upper_bound
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.room import Room, judge_room
from hydrotest.spec.models import Objective
from hydrotest.units import show_rate

ACHIEVED_MIN = 0.995
BACKLOG_SLOPE_MAX = 0.005
"""Upper 95 % bound of the backlog's growth, as a share of the offered rate."""
BACKLOG_OPERATIONS = 10
"""A backlog that grows by fewer operations over the whole window is not told from the ups and downs of single ones, however few are offered."""
EDGE_OPERATIONS = 1
"""So many operations may be due just before a window's end, and be answered behind it: at low rates one is more than `ACHIEVED_MIN` leaves."""
LAG_SLOPE_MAX = 0.1
"""Growth of what is on its way through a dataflow, as a share of the offered rate."""
STEADY_MAX = 0.05
"""Largest difference between the rates of the window's halves."""

COMPILING_MAX = 0.15
"""Cores that a service's JIT compilers may use for a rejection to count. A warm JVM uses 0.00–0.05; when it throws compiled
code away and compiles anew (seen after an overload), 0.3–1.0 for half a minute, and half as much is sustained meanwhile."""

STEAL_MAX = 0.02
"""Share of a host's cores that may be stolen for a rejection to count: 120 ms of a core's time in a window of 6 s on one core.
Seen on shared machines: 0.001–0.005 when quiet, up to 0.5 for half a minute."""

Rule = Literal["latency", "achieved", "backlog", "errors", "loss", "unsteady", "generator"]


@dataclass(frozen=True)
class Check:
    """One rule's outcome: what was measured, and the bound that it is held against (None: not known, or it has none), in the rule's own unit."""

    rule: Rule
    held: bool
    words: str
    value: float | None = None
    bound: float | None = None
    unit: str | None = None


@dataclass(frozen=True)
class Verdict:
    """A trial judged. `void` trials count neither way; they are run again."""

    checks: list[Check]
    room: Room
    void: str | None
    disturbed: str | None = None
    """What else happened meanwhile: a service compiled, the hypervisor took the cores away. A rejection then tells of that."""
    throttled: str | None = None
    """That the system held the client back on purpose, in words."""
    then: tuple[bool, Rule | None] | None = None
    """What the run itself decided: accepted, and what stopped it. It stands, whatever the rules are today."""

    @property
    def accepted(self) -> bool:
        """Every rule held, the generator's room included."""
        return self.then[0] if self.then is not None else self.void is None and all(check.held for check in self.checks)

    @property
    def stopped_by(self) -> Rule | None:
        """The rule that failed first; the generator before all others, since without room the others prove nothing."""
        if self.then is not None:
            return self.then[1]
        failed = [check.rule for check in self.checks if not check.held]
        return "generator" if "generator" in failed else failed[0] if failed else None

    @property
    def reasons(self) -> list[str]:
        """What failed, in words."""
        failed = [check.words for check in self.checks if not check.held]
        return ([self.void] if self.void else []) + ([self.throttled] if self.throttled and failed else []) + failed


def judge(measured: Measured, objective: Objective) -> Verdict:
    """Judges one open-loop trial."""
    source = measured.source
    offered = (source or measured).offered
    outcome = measured.load.outcome
    assert offered is not None
    assert outcome is not None
    room = judge_room(source or measured, objective.latencies_ms())
    void = f"{outcome.overflows} latencies were too long to record" if outcome.overflows else None
    flow = (
        [_achieved(measured, offered), _backlog(measured, offered)]
        if source is None
        else [_achieved(source, offered), _lag(measured, source, offered)]
    )
    checks = [
        *_latency(measured, objective),
        *flow,
        Check(
            "errors",
            measured.errors <= objective.errors,
            f"{measured.errors} errors ({_errors(measured)})",
            measured.errors,
            objective.errors,
        ),
        _loss(measured, objective),
        *([_steady(measured)] if source is None else []),
        Check("generator", room.has_room, "the generator had no room: " + "; ".join(room.reasons)),
    ]
    # Only a rejection needs an excuse, and reading the samples for it takes time.
    disturbed = None if all(check.held for check in checks) else disturbance(measured)
    return Verdict(checks, room, void, disturbed, _throttled(measured))


def disturbance(measured: Measured) -> str | None:
    """What else happened in a window: a service compiled, the cores were stolen. None: nothing."""
    busy = [f"{service} was compiling with {cores:.2f} cores" for service, cores in measured.compiling.items() if cores > COMPILING_MAX]
    busy += [f"the hypervisor took {share:.0%} of {host}'s cores" for host, share in measured.stolen.items() if share > STEAL_MAX]
    return "; ".join(busy) or None


def _throttled(measured: Measured) -> str | None:
    """What a broker says to a client above its quota (`throttle_time_ms`)."""
    assert measured.load.outcome is not None
    told = measured.load.outcome.extra.get("throttled", {})
    if not told.get("answers"):
        return None
    return f"the broker throttled this client, which was above its quota: {told['answers']:,} answers with {told['ms'] / told['answers']:,.0f} ms on average"


def _lag(measured: Measured, source: Measured, offered: float) -> Check:
    """What is on its way through a dataflow must not grow. It goes through in batches, up and down by what comes in the time of one: so the growth
    itself is told, without an interval, and its bound is wider; what grows more slowly shows in the latency."""
    behind = measured.window_progress.behind(source.progress)
    slope = slope_of(behind.wall_s.tolist(), behind.in_flight.tolist())
    bound = LAG_SLOPE_MAX * offered
    shown = "unknown" if slope is None else f"{show_rate(slope)}/s"
    words = f"what is on its way grows by {shown} (at most {show_rate(bound)}/s)"
    return Check("backlog", slope is not None and slope <= bound, words, slope, bound, "/s")


def _errors(measured: Measured) -> str:
    assert measured.load.outcome is not None
    return ", ".join(f"{name} {count}" for name, count in measured.load.outcome.errors.items()) or "none"


def _latency(measured: Measured, objective: Objective) -> list[Check]:
    checks = []
    for name, bound in objective.latencies_ms().items():
        value = (measured.latency or {}).get(name)
        held = value is not None and value <= bound
        shown = "unknown" if value is None else f"{value:.1f} ms"
        checks.append(Check("latency", held, f"{name} response {shown} (at most {bound:g} ms)", value, bound, "ms"))
    return checks


def _achieved(measured: Measured, offered: float) -> Check:
    assert measured.load.outcome is not None
    # A burst that came with the window's end cannot have been answered in it; what else was open then is owed.
    late = max(EDGE_OPERATIONS, min(measured.load.burst, measured.open_at_end))
    share = measured.achieved / offered if offered > 0 else 0.0
    least = ACHIEVED_MIN - (late / measured.duration_s / offered if measured.duration_s > 0 and offered > 0 else 0.0)
    gave_up = measured.load.outcome.gave_up
    words = f"achieved {share:.2%} of the offered rate (at least {least:.1%})" + ("; given up as hopeless" if gave_up else "")
    return Check("achieved", share >= least and not gave_up, words, share, least)


def _backlog(measured: Measured, offered: float) -> Check:
    points = measured.window_progress
    slope = slope_upper_bound(points.wall_s.tolist(), points.in_flight.tolist())
    floor = BACKLOG_OPERATIONS / measured.duration_s if measured.duration_s > 0 else 0.0
    bound = max(BACKLOG_SLOPE_MAX * offered, floor)
    shown = "unknown" if slope is None else f"{show_rate(slope)}/s"
    words = f"backlog grows by up to {shown} (at most {show_rate(bound)}/s)"
    return Check("backlog", slope is not None and slope <= bound, words, slope, bound, "/s")


def _loss(measured: Measured, objective: Objective) -> Check:
    """Lost and corrupted records, and reads that did not find a row that was acknowledged, or found it damaged."""
    outcome, fates = measured.load.outcome, measured.load.fates
    assert outcome is not None
    lost = (fates.lost or 0 if fates is not None else 0) + int(outcome.extra.get("missing_reads", 0))
    corrupted = (fates.corrupted or 0 if fates is not None else 0) + int(outcome.extra.get("corrupted_reads", 0))
    words = f"{lost} lost, {corrupted} corrupted (at most {objective.loss})"
    return Check("loss", lost + corrupted <= objective.loss, words, lost + corrupted, objective.loss)


def _steady(measured: Measured) -> Check:
    """The rates of the window's halves. Of random arrivals, which are not steady themselves: the shares of those that came. An operation of each half may
    lie on its edge: that is no change."""
    points = measured.window_progress
    if len(points.wall_s) < READINGS_MIN:
        return Check("unsteady", False, "the window has too few readings to be judged", None, STEADY_MAX)
    middle = len(points.wall_s) // 2
    done = points.completed[[0, middle, -1]]
    of = points.wall_s[[0, middle, -1]] if measured.load.is_even else points.started[[0, middle, -1]]
    first, second = ((done[at + 1] - done[at]) / max(of[at + 1] - of[at], 1e-9) for at in (0, 1))
    edge = sum(EDGE_OPERATIONS / max(of[at + 1] - of[at], 1e-9) for at in (0, 1))
    most = max(first, second, 1e-9)
    change, bound = float(abs(second - first) / most), float(STEADY_MAX + edge / most)
    words = f"the rate changed by {change:.1%} within the window (at most {bound:.0%})"
    return Check("unsteady", change <= bound, words, change, bound)
