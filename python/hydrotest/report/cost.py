"""What machines cost, on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hydrotest.catalogue.cost import TRAFFIC, Cost, Costs, Line, Uncounted
from hydrotest.report.printing import print_sheet, print_text
from hydrotest.report.table import NONE, Table
from hydrotest.units import show_rate

AT = {"safe": "that nearly all windows hold", "limit": "the limit", "load": "as asked for", "published": "published"}
UNCOUNTED = {Uncounted.ZONE_TRAFFIC: TRAFFIC, Uncounted.ZONE_TRAFFIC_SUM: f"{TRAFFIC} in the sum (it is in what a million costs)", Uncounted.PEOPLE: "people",
             Uncounted.DISKS: "disks, whose price is not known", Uncounted.DISK_SPEED: "what disks write beyond 125 MB/s",
             Uncounted.LICENCES: "licences", Uncounted.SUPPORT: "support", Uncounted.BACKUPS: "backups", Uncounted.EGRESS: "egress to the internet"}  # fmt: skip


def print_costs(answer: Costs, console: Console) -> None:
    """Each sum with its lines, and what is not in it."""
    for one in answer.costs:
        _print_cost(one, console)
    console.print()
    for name, limit in answer.beyond.items():
        print_text(
            f"the run found {show_rate(limit)}/s as the limit of {name}: whether such machines carry more is for `hydrotest size`", console
        )
    if answer.zones == 1 and answer.machines > 1:
        print_text("all hosts are in one zone: --zones 3 counts the traffic between three, as `hydrotest size` does", console)
    print_text(f"not in it: {', '.join(UNCOUNTED[one] for one in answer.not_in_it)}", console)


def _print_cost(one: Cost, console: Console) -> None:
    console.print()
    console.print(Text.assemble((f"{one.source + ': ' if one.source else ''}{one.name}  ", "bold"), (f"{one.usd_h:,.2f} USD an hour", "bold green"),
                                f"  {one.usd_month:,.2f} USD a month of {one.hours:g} hours"), highlight=False)  # fmt: skip
    for million in one.millions:
        what = million.workload if million.at == "published" else f"operations of {million.workload}"
        print_text(f"  {_usd(million.usd)} USD for a million {what} at {show_rate(million.rate)}/s, {AT[million.at]}", console)
    if not one.millions and one.source is None:
        print_text("  no limit was found: what a million operations cost, and traffic between zones, need --load", console)
    rows = [_row(line) for line in one.lines]
    print_sheet(Table("Lines", ["what", "count", "of", "USD each", "USD an hour", "price"], rows), console)


def _usd(usd: float) -> str:
    """Three figures, and never as a power of ten."""
    return f"{float(f'{usd:.3g}'):,.10f}".rstrip("0").rstrip(".")


def _row(line: Line) -> list[str]:
    price = ", ".join(
        filter(
            None, [line.term, line.region, f"as of {line.as_of}" if line.as_of else "", line.source, "derived" if line.is_derived else ""]
        )
    )
    return [
        line.what,
        _usd(float(f"{line.count:.4g}")) if line.count < 1000 else f"{line.count:,.0f}",
        line.unit,
        f"{line.usd_each:.4g}",
        f"{line.usd_h:.4f}",
        price or NONE,
    ]
