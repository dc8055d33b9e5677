"""How a fleet went, on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hydrotest.catalogue.cost import Cost
from hydrotest.predict.simulation.outcome import Happening, Lacking, Missed, Simulated, What
from hydrotest.report.cost import UNCOUNTED
from hydrotest.report.printing import print_sheet, print_text
from hydrotest.report.table import NONE, Table
from hydrotest.report.wording.prediction import resource_words
from hydrotest.units import show_bytes, show_count, show_duration, show_short

HAPPENINGS_MAX = 40
DAY_S = 86_400
DISKS = "disks"
WORDS = {
    What.FAILED: "failed",
    What.CUT: "cut off",
    What.RESTARTED: "restarted",
    What.BACK: "back",
    What.CAUGHT_UP: "has all copies again",
    What.ADDED: "added",
    What.SPENT: "burst spent",
    What.DISK_FULL: "disk full: it ends",
    What.MISSED: "objective missed",
    What.MET: "objective met again",
}
ASSUMED = {
    "speed": "the speed of a vCPU, against a core that was measured, is assumed",
    "burst": "for how long a link of a type carries more than it sustains is assumed: 20 minutes",
    "far": "some hosts have more than four times what was measured, or are more than four times as many: how a system grows so far is not known",
    "soft": "how much of the CPU that a system uses and does not need others get is not known: another part in each course, half in the first",
}


def moment(seconds: float) -> str:
    """`2d 02:13:05`."""
    whole = round(seconds)
    days = f"{whole // DAY_S}d " if whole >= DAY_S else ""
    return f"{days}{whole % DAY_S // 3600:02}:{whole % 3600 // 60:02}:{whole % 60:02}"


def print_simulated(found: Simulated, console: Console) -> None:
    """What went wrong first, for how long, and what happened."""
    courses = "" if found.seeds == 1 else f", {found.seeds} courses of what is random"
    console.print(
        Text.assemble((found.name, "bold"), f"  {show_count(found.hosts, 'host')} over {show_duration(found.seconds)}{courses}"),
        highlight=False,
    )
    if found.first_bad is None and any(one.minutes > 0 for one in found.missed):
        print_text("nothing was missed in the first course, which is shown here; in others something was", console)
    elif found.first_bad is None:
        console.print(Text("nothing was missed", "bold green") if found.missed else Text("nothing was asked of it: give it objectives"))
    else:
        why = f": {_because(found.first_bad)}" if found.first_bad.because else ""
        console.print(
            Text.assemble(("first missed at ", "bold"), (moment(found.first_bad.at_s), "bold red"), f"  {found.first_bad.subject}{why}"),
            highlight=False,
        )
    print_sheet(Table("How it went", ["workload", "asked for", "served", "given up", "waiting in the end", "most waiting", "longest wait"], [
        [one.workload, *map(_whole, (one.offered, one.served, one.given_up, one.waiting, one.backlog_max)), show_duration(one.wait_max_s)]
        for one in found.workloads
    ]), console)  # fmt: skip
    if found.missed:
        print_sheet(
            Table("Out of objective", ["of", "minutes", "5 to 95 % of courses"], [_missed(one, found.seeds) for one in found.missed]),
            console,
        )
    if found.disks:
        print_sheet(Table("Disks", ["hosts", "full in the end", "a day", "lasts"], [
            [one.group, f"{one.fill:.1%}", f"{one.per_day:+.2%}", "does not grow" if one.days is None else show_count(round(one.days), "day")]
            for one in found.disks
        ]), console)  # fmt: skip
    if found.compaction:
        print_sheet(Table("Compaction", ["system", "most behind", "in the end", "each host rewrites at most"], [
            [one.system, show_duration(one.most_s), show_duration(one.end_s), f"{show_bytes(one.rewrites_s)}/s"] for one in found.compaction
        ]), console)  # fmt: skip
    if found.happenings:
        shown = found.happenings[:HAPPENINGS_MAX]
        print_sheet(
            Table(
                f"What happened{' in the first course' if found.seeds > 1 else ''}",
                ["at", "what", "where", "because"],
                [_happening(one) for one in shown],
            ),
            console,
        )
        if len(found.happenings) > len(shown):
            print_text(f"and {len(found.happenings) - len(shown)} more: --json has all", console)
    if found.cost is not None:
        print_text(f"machines and disks: {_costs(found.cost)}", console)
        if found.not_in_cost:
            print_text(f"not in it: {', '.join(UNCOUNTED[one] for one in found.not_in_cost)}", console)
    if found.cost_in_the_end is not None:
        print_text(f"with the hosts that are added: {_costs(found.cost_in_the_end)}", console)
    for code in found.assumed:
        print_text(ASSUMED[code], console)
    compaction = "" if found.compaction else "compaction that is behind, "
    print_text(f"not simulated: latencies below a second, consumers and jobs, {compaction}elections of a controller", console)


def _costs(cost: Cost) -> str:
    return f"{cost.usd_h:,.2f} USD an hour, {cost.usd_month:,.0f} a month"


def _whole(operations: float) -> str:
    """A fluid has parts of operations, which nobody has."""
    return show_short(operations) if operations >= 0.5 else "0"


def _because(one: Happening) -> str:
    """`network of broker-0 and 3 more is full after its burst`."""
    return ", ".join(_lacks(lack) for lack in one.because)


def _lacks(one: Lacking) -> str:
    where = one.host if one.count == 1 else f"{one.host} and {one.count - 1} more"
    if one.what == "away":
        return f"{where} away"
    return f"{resource_words(one.what)} of {where} full{' after its burst' if one.is_spent else ''}"


def _missed(one: Missed, seeds: int) -> list[str]:
    return [one.workload, _minutes(one.minutes), NONE if seeds == 1 else f"{_minutes(one.low)} to {_minutes(one.high)}"]


def _minutes(minutes: float) -> str:
    return f"{minutes:.3g}" if minutes < 1000 else f"{minutes:,.0f}"


def _happening(one: Happening) -> list[str]:
    what = WORDS[one.what] if one.resource is None else f"{WORDS[one.what]}: {resource_words(one.resource)}"
    where = one.subject if one.count == 1 else f"{one.subject} and {one.count - 1} more"
    return [moment(one.at_s), what, where, _because(one) or NONE]
