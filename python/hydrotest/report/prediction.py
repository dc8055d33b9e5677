"""A prediction on the terminal: limits with their intervals, what binds, what more would bring, and what it stands on."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from hydrotest.predict.answer import Answer, Bind, Moved, Prediction, Refused, Use, Zone
from hydrotest.predict.score import Scored
from hydrotest.report.printing import print_sheet, print_text
from hydrotest.report.table import NONE, Table
from hydrotest.report.wording.prediction import number_words, refused_words, resource_words
from hydrotest.units import show_bytes, show_count, show_rate

SHARE_SHOWN_MAX = 10.0
PRICES = {
    "core": "one more core on each host",
    "host": "one more host",
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
    for run in answer.unused:
        print_text(f"no window of {run} counts: it has other systems, settings or machines, or too few windows", console)
    for one in answer.predictions:
        _print_prediction(one, console)
    if answer.uses or answer.predictions:
        print_sheet(_uses_sheet(answer), console)
    if answer.predictions:
        print_text("no latency is predicted: that of another load, or of other machines, was not calibrated", console)
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
    print_text(f"  more: {'; '.join(gains) or 'none of the resources alone brings anything'}", console)
    print_text(
        f"  stands on {show_count(one.windows, 'window')}, which its law fits to {one.fit_error:.1%}"
        + (f"; moved: {', '.join(map(_moved, one.moved))}" if one.moved else "; nothing is moved"),
        console,
    )
    _print_doubts(one, console)


def _print_doubts(one: Prediction, console: Console) -> None:
    if one.is_soft:
        print_text("  below its limit the system uses more CPU than it needs: its use shows nothing of what is left", console)
    if one.unsettled:
        print_text(f"  its system had not settled when {', '.join(one.unsettled)} began: a longer warm-up may find more", console)


def _bind(bind: Bind) -> str:
    return f"{resource_words(bind.resource)} of {bind.system}"


def _moved(moved: Moved) -> str:
    known = f"{show_count(moved.cases, 'held-out case')}" if moved.cases else "assumed"
    low, high = number_words(moved.axis, moved.low), number_words(moved.axis, moved.high)
    measured = low if low == high else f"{low} … {high}"
    return f"{moved.axis} {measured} → {number_words(moved.axis, moved.value)} (error {moved.error:.0%}, {known})"


def _uses_sheet(answer: Answer) -> Table:
    """At the rates that are asked for, or else at each limit."""
    loads = ", ".join(f"{name} {show_rate(rate)}/s" for name, rate in answer.loads.items())
    found = [(loads, use) for use in answer.uses] or [
        (f"{one.workload} {show_rate(one.limit)}/s", use) for one in answer.predictions for use in one.uses
    ]
    rows = [
        [at, use.system, resource_words(use.resource), _amount(use, use.used), _amount(use, use.has), show_share(use.share)]
        for at, use in found
    ]
    return Table("Need of each host", ["at", "system", "resource", "needed", "there is", "of what it can use"], rows)


def show_share(share: float) -> str:
    """A share; one that is many times too much as that."""
    return f"{share:.0%}" if share < SHARE_SHOWN_MAX else f"{share:.2g} times"


def _amount(use: Use, value: float) -> str:
    return f"{value:.3g} cores" if use.resource == "cpu" else f"{show_bytes(value)}/s"


def print_refused(refused: Refused, console: Console) -> None:
    """Why nothing is predicted."""
    console.print()
    console.print(
        Text.assemble((f"{refused.workload}  ", "bold"), ("not predicted", "bold red"), f": {refused_words(refused)}"),
        highlight=False,
    )


def score_sheet(scored: Sequence[Scored]) -> Table:
    """Predicted and measured."""
    rows = [
        [one.workload, show_rate(one.predicted), f"{show_rate(one.low)} … {show_rate(one.high)}", show_rate(one.measured),
         f"{one.measured / one.predicted - 1:+.0%}", "yes" if one.held else "no", ", ".join(one.axes) or NONE]
        for one in scored
    ]  # fmt: skip
    return Table("Predicted and measured", ["workload", "predicted /s", "90 % sure", "measured /s", "off by", "within", "moved"], rows)
