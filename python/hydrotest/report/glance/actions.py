"""What to do next: at most three things, those first whose gain was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hydrotest.analysis.bottleneck.evidence import inside
from hydrotest.report.bounds import NAMES
from hydrotest.report.glance.chips import account_chip, bound_chip, named_hosts
from hydrotest.report.glance.model import Action, Look
from hydrotest.report.sections import Section
from hydrotest.summary.limits import Job, Limit
from hydrotest.summary.model import Summary
from hydrotest.units import show_names
from hydrotest.verdicts.binding import BoundBy, Kind
from hydrotest.verdicts.causes import NotSqueezed, Unsqueezed

ACTIONS_MAX = 3


def actions_of(summary: Summary) -> list[Action]:
    """The most urgent ones. Each stands once, whatever number of workloads asks for it."""
    every = [*_lost(summary), *_together(summary), *_doublings(summary), *_unproven(summary), *_rest(summary)]
    bound: list[Limit | Job] = [*summary.limits, *summary.jobs]
    every += [action for row in bound for action in _of_bound(row)]
    by_what: dict[str, Action] = {}
    for action in sorted(every, key=lambda one: one.rank):
        by_what.setdefault(action.what, action)
    return list(by_what.values())[:ACTIONS_MAX]


def _lost(summary: Summary) -> Iterator[Action]:
    for workload in dict.fromkeys(row.workload for row in summary.integrity):
        chip = account_chip([row for row in summary.integrity if row.workload == workload])
        if chip is not None and chip.look is Look.BAD:
            yield Action(f"Find out where {workload} lost its data.", f"{chip.text} {chip.figure}", Section.INTEGRITY, 0)


def _of_bound(row: Limit | Job) -> Iterator[Action]:
    bound = row.bound_by
    if bound.confirmed and bound.resource is not None:
        yield Action(f"Give {_hosts(bound)} more {NAMES[bound.resource]} for {row.workload}.", _gain(bound), Section.BOTTLENECKS, 1)
    elif bound.kind is Kind.GENERATOR:
        yield Action(
            f"Raise `threads` or `generators` of {row.workload}, on cores of their own.",
            "The limit is only a lower bound.",
            Section.USAGE,
            3,
        )
    elif bound.kind is Kind.SYSTEM:
        for line in inside(bound.evidence)[:1]:
            chip = bound_chip(bound)
            yield Action(
                f"Try `{line.setting}` of {line.service} for {row.workload}: {line.remedy}.",
                f"{chip.text}: {chip.figure}",
                Section.BOTTLENECKS,
                5,
            )


def _unproven(summary: Summary) -> Iterator[Action]:
    """What a squeeze could prove."""
    refused, named = [], []
    for row in summary.limits:
        bound = row.bound_by
        if row.tenancy == "combined" or row.limit is None or bound.confirmed or bound.basis == "squeeze":
            continue
        if any(isinstance(one, NotSqueezed) and one.reason is Unsqueezed.REFUSED for one in bound.because):
            refused.append(row.workload)
        elif bound.kind in (Kind.RESOURCE, Kind.UNDECIDED) or any(one.proof is not None for one in bound.nearest):
            named.append(row.workload)
    if refused:
        yield Action(
            f"Run it with sudo, to prove what binds {show_names(refused)}.", "A squeeze was refused in this run.", Section.BOTTLENECKS, 4
        )
    if named:
        what = f"Prove what binds {show_names(named)}: add `squeeze: 3 min` to the test, as root."
        yield Action(what, "So far it is suspected, undecided, or not found.", Section.BOTTLENECKS, 4)


def _hosts(bound: BoundBy) -> str:
    return named_hosts(bound.binds) if bound.binds else "the host"


def _gain(bound: BoundBy) -> str:
    """What more of it gave, or what less of it cost."""
    more = bound.next
    if more is not None:
        return f"Measured: {more.change_pct:+.0f} % [{more.low_pct:+.0f}, {more.high_pct:+.0f}] with {more.given:g} × as much."
    return f"Measured: {bound_chip(bound).figure}. More of it was not tried."


def _together(summary: Summary) -> Iterator[Action]:
    frees: Mapping[str, float] = {}
    for row in summary.together.starved:
        if row.resource is not None and row.frees and max(row.frees.values()) > max(frees.values(), default=0.0):
            frees = row.frees
            system, share = max(row.frees.items(), key=lambda one: one[1])
            what = f"Move {system} to hosts of its own."
            yield Action(
                what, f"Would free {share:.0%} of the {NAMES.get(row.resource, row.resource)} of host {row.host}.", Section.TOGETHER, 2
            )
    for one in summary.safe_working_point.relaxed if summary.safe_working_point is not None else []:
        gain = f"Then all hold together up to {one.fraction:.0%}." if one.fraction is not None else "Then it would hold."
        yield Action(
            f"Accept {one.percentile} ≤ {one.bound_ms:g} ms of {one.workload}, instead of {one.asked_ms:g} ms.", gain, Section.TOGETHER, 5
        )


def _doublings(summary: Summary) -> Iterator[Action]:
    for row in summary.doublings:
        if row.raised:
            gain = f"Measured: {row.change_pct:+.0f} % [{row.low_pct:+.0f}, {row.high_pct:+.0f}] with twice as many."
            yield Action(f"Raise `generators` of {row.workload}.", gain, Section.BOTTLENECKS, 1)


def _rest(summary: Summary) -> Iterator[Action]:
    """What would make the answers surer."""
    wide = [row.workload for row in summary.limits if row.precise is False and row.limit is not None and not row.at_least]
    if wide:
        yield Action(
            "Raise `search.trials` for narrower intervals.", f"Ended by its budget: {', '.join(dict.fromkeys(wide))}.", Section.LIMITS, 8
        )
    cold = list(dict.fromkeys(one.workload for one in summary.warm_ups if not one.settled))
    if cold:
        longest = max(one.seconds for one in summary.warm_ups)
        yield Action(
            "Raise `warm_up.most` for systems that settle.", f"Not settled after {longest:.0f} s: {', '.join(cold)}.", Section.LIMITS, 9
        )
