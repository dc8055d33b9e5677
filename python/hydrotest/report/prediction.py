"""A prediction on the terminal: limits with their intervals, what binds, what more would bring, and what it stands on."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from hydrotest.predict.answer import Answer, Bind, Moved, NoLatency, Prediction, Refused, Together, Use, Zone
from hydrotest.predict.score import Scored
from hydrotest.report.printing import print_sheet, print_text
from hydrotest.report.sections import Section
from hydrotest.report.table import NONE, Table
from hydrotest.report.wording.prediction import no_latency_words, number_words, refused_words, resource_words, twice_words
from hydrotest.units import show_bytes, show_count, show_rate

DRIFT_SHOWN = 0.18
"""A machine's own scatter is less."""
SHARE_SHOWN_MAX = 10.0
NOT_KNOWN = {
    "network": "what its link sustains is not known: it counts with what it carries at best",
    "disk": "what its disks sustain is not known: they count as those that were measured",
}
PRICES = {
    "core": "one more core on each host",
    "host": "one more host",
    "executor": "one more executor",
    "network": "1 Gbit/s more on each link",
    "disk": "100 MB/s more on each disk",
}


def print_answer(answer: Answer, console: Console) -> None:
    """The answer, for people."""
    asked = [f"{key}={value}" for key, value in answer.changes.items()] + (
        [f"cores × {answer.speed:g} as fast"] if answer.speed != 1 else []
    )
    console.print(
        Text.assemble(
            ("as measured" if not asked else f"with {', '.join(asked)}", "bold"), f"  from {show_count(len(answer.runs), 'run')}"
        ),
        highlight=False,
    )
    for name, lacking in answer.not_known.items():
        print_text(f"{name}: {'; '.join(NOT_KNOWN[resource] for resource in lacking)}", console)
    for run in answer.unused:
        print_text(f"no window of {run} counts: it has other systems, settings or machines, or too few windows", console)
    for one in answer.predictions:
        _print_prediction(one, console)
    if answer.jobs:
        print_sheet(_jobs_sheet(answer), console)
        for name in dict.fromkeys(name for one in answer.jobs for name in one.unsettled):
            print_text(f"  tests of {name} had not settled when they were measured: a longer warm-up may find them faster", console)
    if answer.uses or answer.predictions:
        print_sheet(_uses_sheet(answer), console)
    for use in answer.uses:
        if use.share > 1.0:
            print_text(
                f"{resource_words(use.resource)} of {use.system}: these rates need {show_share(use.share)} of what it can use", console
            )
    if answer.together is not None:
        _print_together(answer.together, console)
    for refused in answer.refused:
        print_refused(refused, console)


def _print_prediction(one: Prediction, console: Console) -> None:
    how = "at its objective" if one.by == "objective" else "without a rate limit"
    limit = f"{'at least ' if one.at_least else ''}{show_rate(one.limit)}/s"
    console.print()
    console.print(Text.assemble((f"{one.workload}  ", "bold"), (limit, "bold green" if one.zone is Zone.CALIBRATED else "bold yellow"),
                                f"  90 % sure: {show_rate(one.low)} … {show_rate(one.high)}  {how}, {one.zone}"), highlight=False)  # fmt: skip
    measured = f"measured: {show_rate(one.measured)}/s as it is; " if one.measured else ""
    print_text(
        f"  {measured}binds: {_bind(one.binds)}{'' if one.is_certain else ', probably'}"
        + (f"; next: {_bind(one.next)} at {show_rate(one.next.rate)}/s" if one.next else ""),
        console,
    )
    gains = [f"{PRICES[price.what]} +{show_rate(price.gain)}/s" for price in one.prices if price.gain >= 0.005 * one.limit]
    print_text(
        f"  more: {'; '.join(gains) or ('none of the resources alone brings anything' if one.prices else 'the runs do not show what more would bring')}",
        console,
    )
    if one.twice is not None:
        print_text(f"  twice as much: {twice_words(one.twice)}", console)
    print_text(
        f"  stands on {show_count(one.windows, 'window')}, which its law fits to {one.fit_error:.1%}"
        + (f"; moved: {', '.join(map(_moved, one.moved))}" if one.moved else "; nothing is moved"),
        console,
    )
    if one.stolen:
        print_text(f"  left out, since the hypervisor took cores meanwhile: {show_count(one.stolen, 'window')}", console)
    _print_latency(one, console)
    _print_doubts(one, console)


def _print_latency(one: Prediction, console: Console) -> None:
    found = one.latency
    if found is None:
        if one.no_latency is not None and one.no_latency is not NoLatency.NOT_ASKED:
            print_text(f"  latency not predicted: {no_latency_words(one.no_latency)}", console)
        return
    parts = [f"{one.name} {one.ms:.3g} ms ({one.low_ms:.3g} … {one.high_ms:.3g})" for one in found.percentiles]
    print_text(
        f"  at {show_rate(found.rate)}/s, {found.share:.0%} of the limit: {', '.join(parts)}; from {show_count(found.levels, 'load')}",
        console,
    )
    print_text("  p95 and p99 are not predicted: at one load they differ by more than twice from window to window", console)


def _print_together(found: Together, console: Console) -> None:
    rates = ", ".join(f"{name} {show_rate(rate)}/s" for name, rate in found.rates.items())
    console.print()
    between = f"{found.low:.0%} … {found.high:.0%}"
    if found.is_wide:
        said, more = f"{between} of each limit", "  90 % sure: too wide for one number; a `combined` test measures it"
    else:
        said, more = f"{found.share:.0%} of each limit", f"  90 % sure: {between}  {rates}"
    console.print(Text.assemble(("together  ", "bold"), (said, "bold yellow"), more), highlight=False)
    soft = (
        f"; {found.without_soft:.0%} if others get all CPU that a system uses and does not need" if found.without_soft > found.share else ""
    )
    print_text(f"  binds: {resource_words(found.resource)} of {found.host}{soft}", console)


def _print_doubts(one: Prediction, console: Console) -> None:
    if one.is_soft:
        print_text("  below its limit the system uses more CPU than it needs: its use shows nothing of what is left", console)
    if one.drift > DRIFT_SHOWN:
        print_text(
            f"  between its first trial without a rate limit and its last it changed by a factor of {math.exp(one.drift):.2g}", console
        )
    if one.unsettled:
        print_text(f"  its system had not settled when {', '.join(one.unsettled)} began: a longer warm-up may find more", console)


def _bind(bind: Bind) -> str:
    return f"{resource_words(bind.resource)} of {bind.system}"


def _moved(moved: Moved) -> str:
    known = f"{show_count(moved.cases, 'held-out case')}" if moved.cases else "assumed"
    low, high = number_words(moved.axis, moved.low), number_words(moved.axis, moved.high)
    measured = low if low == high else f"{low} … {high}"
    becomes = "as here" if moved.low == moved.high == moved.value else f"{measured} → {number_words(moved.axis, moved.value)}"
    return f"{moved.axis} {becomes} (error {moved.error:.0%}, {known})"


def _jobs_sheet(answer: Answer) -> Table:
    """Times of jobs, and what makes them take so long."""
    rows = [
        [one.workload, one.test, f"{one.measured:.3g}" if one.measured else NONE, f"{one.seconds:.3g}", f"{one.low:.3g} … {one.high:.3g}",
         str(one.zone), *(f"{part / one.seconds:.0%}" for part in (one.driver_s, one.cores_s, one.slots_s)), f"{one.gains['worker']:.3g}",
         ", ".join(map(_moved, one.moved)) or "nothing"]
        for one in answer.jobs
    ]  # fmt: skip
    return Table(
        "Time of each job",
        [
            "workload",
            "test",
            "measured s",
            "predicted s",
            "90 % sure",
            "zone",
            "driver",
            "cores",
            "slots",
            "one more worker: less s",
            "moved",
        ],
        rows,
    )


def _uses_sheet(answer: Answer) -> Table:
    """At the rates that are asked for, or else at each limit."""
    loads = ", ".join(f"{name} {show_rate(rate)}/s" for name, rate in answer.loads.items())
    found = [(loads, use) for use in answer.uses] or [
        (f"{one.workload} {show_rate(one.limit)}/s", use) for one in answer.predictions for use in one.uses
    ]
    rows = [[at, use.system, resource_words(use.resource), _used(use), _amount(use, use.has), show_share(use.share)] for at, use in found]
    return Table("Need of each host", ["at", "system", "resource", "needed", "there is", "of what it can use"], rows)


def show_share(share: float) -> str:
    """A share; one that is many times too much as that."""
    return f"{share:.0%}" if share < SHARE_SHOWN_MAX else f"{share:.2g} times"


def _used(use: Use) -> str:
    by_others = f", {use.others:.3g} of them by other systems there" if use.others > 0 else ""
    return f"{_amount(use, use.used)}{by_others}"


def _amount(use: Use, value: float) -> str:
    return f"{value:.3g} cores" if use.resource == "cpu" else f"{show_bytes(value)}/s"


def outlook_sheet(answer: Answer) -> Table:
    """What more would bring, for the report of a run."""
    rows = []
    for one in answer.predictions:
        gains = {price.what: price.gain for price in one.prices}
        rows.append([
            one.workload, f"{'at least ' if one.at_least else ''}{show_rate(one.limit)}", f"{show_rate(one.low)} … {show_rate(one.high)}", _bind(one.binds),
            *(NONE if not own else f"+{show_rate(own[0])}" for own in ([gains[what] for what in keys if what in gains]
                                                                   for keys in (("core",), ("host", "executor"), ("network",)))),
            twice_words(one.twice) if one.twice is not None else NONE,
        ])  # fmt: skip
    heads = [
        "workload",
        "limit by the law /s",
        "90 % sure",
        "binds",
        "one more core each /s",
        "one more host /s",
        "1 Gbit/s more /s",
        "twice as much",
    ]
    return Table("What more would bring", heads, rows, Section.LIMITS, lead=("workload", "limit by the law /s", "binds", "twice as much"))


def print_refused(refused: Refused, console: Console) -> None:
    """Why nothing is predicted."""
    console.print()
    console.print(
        Text.assemble((f"{refused.workload}  ", "bold"), ("not predicted", "bold red"), f": {refused_words(refused)}"),
        highlight=False,
    )


def _figure(one: Scored, value: float) -> str:
    match one.unit:
        case "/s":
            return f"{show_rate(value)}/s"
        case "":
            return f"{value:.0%}"
    return f"{value:.3g} {one.unit}"


def score_sheet(scored: Sequence[Scored]) -> Table:
    """Predicted and measured."""
    rows = [
        [one.workload, one.what, _figure(one, one.predicted), f"{_figure(one, one.low)} … {_figure(one, one.high)}", _figure(one, one.measured),
         f"{one.measured / one.predicted - 1:+.0%}", "yes" if one.held else "no", ", ".join(one.axes) or NONE]
        for one in scored
    ]  # fmt: skip
    return Table("Predicted and measured", ["workload", "what", "predicted", "90 % sure", "measured", "off by", "within", "moved"], rows)
