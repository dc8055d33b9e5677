"""What to buy, on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from hydrotest.predict.bought import Bought
from hydrotest.predict.needs import HOSTS_MAX
from hydrotest.predict.plan import Plan, Reason, Rejected, Size
from hydrotest.report.prediction import print_refused
from hydrotest.report.printing import print_sheet, print_text
from hydrotest.report.sections import Section
from hydrotest.report.table import NONE, Table
from hydrotest.report.wording.prediction import reason_words, resource_words
from hydrotest.units import show_bytes, show_count, show_names, show_rate

LOST = {"none": "nothing lost", "host": "the need also with one host lost", "zone": "the need also with one zone lost"}


def print_size(found: Size, console: Console) -> None:
    """Plans, what would be cheaper but for one reason, and where the ranking turns."""
    read = {name: f", read by {show_count(round(count), 'group')}" for name, count in found.groups.items()}
    needs = ", ".join(f"{name} {show_rate(rate)}/s{read.get(name, '')}" for name, rate in found.needs.items())
    console.print(
        Text.assemble(
            (needs, "bold"), f"  and {found.headroom:.0%} more; {LOST[found.lost]}; {show_count(found.looked_at, 'type')} looked at"
        ),
        highlight=False,
    )
    for refused in found.refused:
        print_refused(refused, console)
    if found.refused:
        return
    if found.plans:
        print_sheet(_plans_sheet(found), console)
    else:
        print_text(f"none of {show_count(found.looked_at, 'type')} of machines carries it, at most {HOSTS_MAX} of them, or four times the hosts and cores that were "
                   "measured without --far", console)  # fmt: skip
    if found.lacking:
        rows = [[show_names(one.systems), reason_words(one.why), show_count(one.types, "type")] for one in found.lacking]
        print_sheet(Table("What machines lack", ["system", "why not", "of"], rows), console)
    if found.rejected:
        several = len({name for plan in found.plans for part in plan.parts for name in part.systems}) > 1
        cheaper = "Cheaper for one of the systems, but for one reason" if several else "Cheaper, but for one reason"
        title = cheaper if found.plans else "What would carry it, but for one reason"
        print_sheet(_rejected_sheet(title, found.rejected), console)
    for turn in found.turns[1:]:
        cheapest = (
            f"{' and '.join(turn.machines)} {'are' if len(turn.machines) > 1 else 'is'} the cheapest"
            if turn.machines
            else "nothing carries it"
        )
        price = "" if turn.usd_h is None else f", {turn.usd_h:,.2f} USD an hour"
        print_text(f"at {turn.times:g} times the need {cheapest}{price}", console)
    unknown = sorted({part.machine.partition("/")[0] for plan in found.plans for part in plan.parts if part.not_known})
    if unknown:
        print_text(f"of {show_names(unknown)} only what links and disks carry at best is known", console)
    if found.zones > 1:
        print_text(
            f"traffic: between {found.zones} zones, of clients{', groups' if found.groups else ''} and of copies, without compression; not in the price",
            console,
        )
    print_text("not counted: the machines of clients", console)
    print_text(
        f"speed of a vCPU: {found.speed:g} of a core that was measured, assumed; links and disks by what they carry for as long as one likes",
        console,
    )
    if any(part.lacks_disk_price for plan in found.plans for part in plan.parts):
        print_text("of some the price of their disks is not known: it is not counted", console)
    if any(part.is_far for plan in found.plans for part in plan.parts):
        print_text("some are more than four times what was measured, in cores or in hosts: how a system grows so far is not known", console)


def bought_sheet(found: Sequence[Bought]) -> Table:
    """What twice the limits would be bought with, for the report of a run."""
    rows = []
    for one in found:
        machines, usd_h, usd_month, _, binds, *_ = _row(one.plan)
        rows.append([
            one.workload, show_rate(one.needed), machines, usd_h, usd_month, f"{one.plan.usd_per_million[one.workload]:.3g}", _traffic(one.plan), binds,
            f"{one.headroom:.0%} more; {LOST[one.lost]}",
        ])  # fmt: skip
    heads = ["workload", "twice the limit /s", "cheapest machines", "USD an hour", "USD a month", "USD per million", "traffic an hour",
             "binds", "carries"]  # fmt: skip
    zones = found[0].zones if found else 1
    title = (
        f"What twice the limit would cost, where a vCPU is as fast as a core that was measured; traffic between {zones} zones comes on top"
    )
    return Table(title, heads, rows, Section.LIMITS, lead=("workload", "twice the limit /s", "cheapest machines", "USD a month", "carries"))


def _plans_sheet(found: Size) -> Table:
    heads = ["plan", "USD an hour", "a month", "USD per million", "binds", "headroom", "after one lost"]
    rows = [_row(plan) for plan in found.plans]
    if found.zones > 1:
        heads, rows = [*heads, "traffic an hour"], [[*row, _traffic(plan)] for row, plan in zip(rows, found.plans, strict=True)]
    return Table("What carries it, cheapest first", heads, rows)


def _traffic(plan: Plan) -> str:
    return NONE if plan.traffic_usd_h is None else f"{plan.traffic_usd_h:,.2f}"


def _row(plan: Plan) -> list[str]:
    first = min(plan.parts, key=lambda part: part.headroom)
    after = [part.after_one for part in plan.parts if part.after_one is not None]
    machines = " + ".join(f"{part.count} × {part.machine} ({', '.join(part.systems)})" for part in plan.parts)
    about = "about " if any(part.is_price_derived for part in plan.parts) else ""
    return [
        machines, f"{about}{plan.usd_h:,.2f}", f"{plan.usd_month:,.0f}", ", ".join(f"{name} {usd:.3g}" for name, usd in plan.usd_per_million.items()),
        f"{resource_words(first.binds)} of {', '.join(first.systems)}", f"{plan.headroom:+.0%}", NONE if len(after) < len(plan.parts) else f"{min(after):+.0%}",
    ]  # fmt: skip


def _rejected_sheet(title: str, rejected: list[Rejected]) -> Table:
    rows = [[f"{one.count} × {one.machine} ({', '.join(one.systems)})", f"{one.would_cost_usd_h:,.2f}", reason_words(one.why), _amount(one.why, one.needed),
             _amount(one.why, one.has)] for one in rejected]  # fmt: skip
    return Table(title, ["plan", "USD an hour", "why not", "needs each", "has"], rows)


def _amount(why: Reason, value: float | None) -> str:
    if value is None:
        return NONE
    if why in (Reason.CPU, Reason.FAR):
        return f"{value:.3g} cores"
    return f"{show_bytes(value)}/s" if why in (Reason.NETWORK, Reason.DISK) else show_bytes(value)
