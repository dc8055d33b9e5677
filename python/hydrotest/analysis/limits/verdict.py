"""Was a trial sustained? Each rule of docs/reference/rules.md with its figure and its bound."""

from __future__ import annotations

from dataclasses import dataclass

from hydrotest.analysis.limits.headroom import Headroom, judge_headroom
from hydrotest.analysis.measured import Measured
from hydrotest.analysis.resources.quiet import STEAL_MAX
from hydrotest.analysis.statistics.intervals import READINGS_MIN, slope_of, slope_upper_bound
from hydrotest.spec.models import Objective
from hydrotest.verdicts.trial import Check, ClocksDiffer, Disturbance, Disturbing, Failure, Rule, Throttled, TooLong, Void

ACHIEVED_MIN = 0.995
BACKLOG_SLOPE_MAX = 0.005
"""Upper 95 % bound of the backlog's growth, as a share of the offered rate."""
BACKLOG_OPERATIONS = 10
"""A backlog that grows by fewer operations over the whole window is not stated from the ups and downs of single ones, however few are offered."""
EDGE_OPERATIONS = 1
"""So many operations may be due just before a window's end, and be answered behind it: at low rates one is more than `ACHIEVED_MIN` leaves."""
LAG_SLOPE_MAX = 0.1
"""Growth of what is on its way through a dataflow, as a share of the offered rate."""
STEADY_MAX = 0.05
"""Largest difference between the rates of the window's halves."""

COMPILING_MAX = 0.15
"""Cores that a service's JIT compilers may use for a rejection to count. A warm JVM uses 0.00–0.05; when it throws compiled
code away and compiles anew (seen after an overload), 0.3–1.0 for half a minute, and half as much is sustained meanwhile."""


@dataclass(frozen=True)
class Verdict:
    """A trial judged. `void` trials count neither way; they are run again."""

    checks: tuple[Check, ...]
    room: Headroom
    void: Void | None
    disturbed: tuple[Disturbance, ...] = ()
    """What else happened meanwhile: a service compiled, the hypervisor took the cores away. A rejection then shows that."""
    throttled: Throttled | None = None
    """The system held the client back on purpose."""
    then: tuple[bool, Rule | None] | None = None
    """What the run itself decided: accepted, and what stopped it. It stands, whatever the rules are today."""

    @property
    def accepted(self) -> bool:
        """Every rule held, the generator's room included."""
        return self.then[0] if self.then is not None else self.void is None and all(check.held for check in self.checks)

    @property
    def counted(self) -> bool | None:
        """`accepted`; None where it depends on clocks of hosts that are not known well enough."""
        return None if self.then is None and isinstance(self.void, ClocksDiffer) else self.accepted

    @property
    def stopped_by(self) -> Rule | None:
        """The rule that failed first; the generator before all others, since without room the others prove nothing."""
        if self.then is not None:
            return self.then[1]
        failed = [check.rule for check in self.checks if not check.held]
        return Rule.GENERATOR if Rule.GENERATOR in failed else failed[0] if failed else None

    @property
    def because(self) -> tuple[Failure, ...]:
        """What failed."""
        failed = [check for check in self.checks if not check.held]
        return (*([self.void] if self.void else []), *([self.throttled] if self.throttled and failed else []), *failed)


def judge(measured: Measured, objective: Objective) -> Verdict:
    """Judges one open-loop trial. A trial that is already judged by the same objective keeps its verdict."""
    known: dict[Objective, Verdict] = measured.verdicts
    if objective not in known:
        known[objective] = _judge(measured, objective)
    return known[objective]


def _judge(measured: Measured, objective: Objective) -> Verdict:
    source = measured.source
    offered = (source or measured).offered
    outcome = measured.load.outcome
    assert offered is not None
    assert outcome is not None
    room = judge_headroom(source or measured, objective.latencies_ms())
    flow = (
        [_achieved(measured, offered), _backlog(measured, offered)]
        if source is None
        else [_achieved(source, offered), _lag(measured, source, offered)]
    )
    latency = _latency(measured, objective)
    void = TooLong(outcome.overflows) if outcome.overflows else _by_clocks(latency, measured.load.clock_error_s)
    checks = (
        *latency,
        *flow,
        Check(Rule.ERRORS, measured.errors <= objective.errors, measured.errors, objective.errors, errors=outcome.errors),
        _loss(measured, objective),
        *([_steady(measured)] if source is None else []),
        Check(Rule.GENERATOR, room.has_room, lacks=room.lacks),
    )
    # Only a rejection needs an excuse, and reading the samples for it takes time.
    disturbed = () if all(check.held for check in checks) else disturbance(measured)
    return Verdict(checks, room, void, disturbed, _throttled(measured))


def keeps_up(measured: Measured) -> bool:
    """Whether all that came for a dataflow went through it in its window, without errors: its flow, whatever its latency was."""
    source = measured.source
    if source is None or source.offered is None or measured.errors:
        return False
    return _achieved(source, source.offered).held and _lag(measured, source, source.offered).held


def disturbance(measured: Measured) -> tuple[Disturbance, ...]:
    """What else happened in a window: a service compiled, the cores were stolen."""
    compiling = (
        Disturbance(Disturbing.COMPILING, service, cores) for service, cores in measured.compiling.items() if cores > COMPILING_MAX
    )
    stolen = (Disturbance(Disturbing.STOLEN, host, share) for host, share in measured.stolen.items() if share > STEAL_MAX)
    return (*compiling, *stolen)


def _throttled(measured: Measured) -> Throttled | None:
    """What a broker says to a client above its quota (`throttle_time_ms`)."""
    assert measured.load.outcome is not None
    counted = measured.load.outcome.extra.get("throttled", {})
    return Throttled(counted["answers"], counted["ms"] / counted["answers"]) if counted.get("answers") else None


def _lag(measured: Measured, source: Measured, offered: float) -> Check:
    """What is on its way through a dataflow must not grow. It goes through in batches, up and down by what comes in the time of one: so the growth
    itself is stated, without an interval, and its bound is wider; what grows more slowly shows in the latency."""
    behind = measured.window_progress.behind(source.progress)
    slope = slope_of(behind.wall_s.tolist(), behind.in_flight.tolist())
    bound = LAG_SLOPE_MAX * offered
    return Check(Rule.BACKLOG, slope is not None and slope <= bound, slope, bound, "/s", is_of_dataflow=True)


def _latency(measured: Measured, objective: Objective) -> list[Check]:
    checks = []
    for name, bound in objective.latencies_ms().items():
        value = (measured.latency or {}).get(name)
        held = value is not None and value <= bound
        checks.append(Check(Rule.LATENCY, held, value, bound, "ms", percentile=name))
    return checks


def _by_clocks(latencies: list[Check], error_s: float | None) -> ClocksDiffer | None:
    """The first latency that would be on the other side of its bound if the hosts' clocks were wrong by what is possible."""
    error_ms = (error_s or 0.0) * 1e3
    for check in latencies if error_ms > 0 else []:
        value, bound = check.value, check.bound
        if value is not None and bound is not None and abs(value - bound) <= error_ms:
            return ClocksDiffer(error_ms, value, bound, check.percentile or "")
    return None


def _achieved(measured: Measured, offered: float) -> Check:
    assert measured.load.outcome is not None
    # A burst that came with the window's end cannot have been answered in it; what else was open then is owed.
    late = max(EDGE_OPERATIONS, min(measured.load.burst, measured.open_at_end))
    share = measured.achieved / offered if offered > 0 else 0.0
    least = ACHIEVED_MIN - (late / measured.duration_s / offered if measured.duration_s > 0 and offered > 0 else 0.0)
    gave_up = measured.load.outcome.gave_up
    return Check(Rule.ACHIEVED, share >= least and not gave_up, share, least, gave_up=gave_up)


def _backlog(measured: Measured, offered: float) -> Check:
    points = measured.window_progress
    slope = slope_upper_bound(points.wall_s, points.in_flight)
    floor = BACKLOG_OPERATIONS / measured.duration_s if measured.duration_s > 0 else 0.0
    bound = max(BACKLOG_SLOPE_MAX * offered, floor)
    return Check(Rule.BACKLOG, slope is not None and slope <= bound, slope, bound, "/s")


def _loss(measured: Measured, objective: Objective) -> Check:
    """Lost and corrupted records, and reads that did not find a row that was acknowledged, or found it damaged."""
    outcome, fates = measured.load.outcome, measured.load.fates
    assert outcome is not None
    lost = (fates.lost or 0 if fates is not None else 0) + int(outcome.extra.get("missing_reads", 0))
    corrupted = (fates.corrupted or 0 if fates is not None else 0) + int(outcome.extra.get("corrupted_reads", 0))
    return Check(Rule.LOSS, lost + corrupted <= objective.loss, lost + corrupted, objective.loss, lost=lost, corrupted=corrupted)


def _steady(measured: Measured) -> Check:
    """The rates of the window's halves. Of random arrivals, which are not steady themselves: the shares of those that came. An operation of each half may
    lie on its edge: that is no change."""
    points = measured.window_progress
    if len(points.wall_s) < READINGS_MIN:
        return Check(Rule.UNSTEADY, False, None, STEADY_MAX)
    middle = len(points.wall_s) // 2
    done = points.completed[[0, middle, -1]]
    of = points.wall_s[[0, middle, -1]] if measured.load.is_even else points.started[[0, middle, -1]]
    first, second = ((done[at + 1] - done[at]) / max(of[at + 1] - of[at], 1e-9) for at in (0, 1))
    edge = sum(EDGE_OPERATIONS / max(of[at + 1] - of[at], 1e-9) for at in (0, 1))
    most = max(first, second, 1e-9)
    change, bound = float(abs(second - first) / most), float(STEADY_MAX + edge / most)
    return Check(Rule.UNSTEADY, change <= bound, change, bound)
