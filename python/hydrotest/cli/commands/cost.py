"""`hydrotest cost`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from hydrotest import __version__, units
from hydrotest.catalogue.cost import HOURS, NEVER_COUNTED, Costs, Wanted, prices_of
from hydrotest.catalogue.machine import TERMS
from hydrotest.catalogue.machines import found, machines
from hydrotest.catalogue.published_costs import published_costs
from hydrotest.cli.commands.catalogue import warn_of_age
from hydrotest.cli.commands.predict import groups_of, loads
from hydrotest.cli.output import out_console, print_json
from hydrotest.errors import EXIT_DONE, BadInputError
from hydrotest.predict.costs import Bill, Billed, plan_cost, run_cost
from hydrotest.predict.needs import ZONES_MAX
from hydrotest.report.cost import print_costs

Value = TypeVar("Value")
EVERY = "all"
HOURS_MAX = 8_784.0
EXAMPLE = (
    "Write e.g. `hydrotest cost RUN --type kafka=aws/m7i.xlarge`, `hydrotest cost plans.json` or `hydrotest cost --published packet-2016`."
)


def cost(run: Path | None, plan: int, published: str | None, types: Sequence[str], disks: Sequence[str], region: str | None, term: str, load: str | None,
         groups: str | None, zones: int, hours: float, own: Path | None, as_json: bool) -> int:  # fmt: skip
    """Prints lines and sums."""
    if (run is None) == (published is None):
        raise BadInputError("a run is needed, or plans, or --published", EXAMPLE)
    if run is not None and not run.exists():
        raise BadInputError("it is not there", "Name the folder of a run, or a file that `hydrotest size --save` has written.", file=run)
    has_plans = run is not None and run.is_file()
    if plan != 1 and not has_plans:
        raise BadInputError("--plan goes with a file of plans", "Write e.g. `hydrotest cost plans.json --plan 2`.")
    if term not in TERMS:
        raise BadInputError(f"--term {term}: there is no such term", f"Terms are {', '.join(TERMS)}.")
    if not 1 <= zones <= ZONES_MAX:
        raise BadInputError(f"--zones {zones}: hosts are in one zone at least, and in {ZONES_MAX} at most", "Write e.g. --zones 3.")
    if not 0 < hours <= HOURS_MAX:
        raise BadInputError(f"--hours {hours:g}: so many hours are no month", f"Write e.g. --hours 730; a year has {HOURS_MAX:,.0f}.")
    billed: list[Billed]
    if published is not None:
        if types or disks or load is not None or groups is not None or own is not None or (term, zones, hours) != (Wanted().term, 1, HOURS):
            raise BadInputError(
                "only --region goes with --published", "Leave the others out: published results have machines and hours of their own."
            )
        billed = [Billed(one) for one in published_costs(None if published == EVERY else published, region)]
    elif has_plans:
        assert run is not None
        if (
            types
            or disks
            or load is not None
            or groups is not None
            or own is not None
            or region is not None
            or (term, zones) != (Wanted().term, 1)
        ):
            raise BadInputError("only --plan and --hours go with plans", "Leave the others out: `hydrotest size` has chosen by them.")
        billed = [plan_cost(run, plan, hours)]
    else:
        assert run is not None
        there = machines(own)
        chosen = {name: found(value, there) for name, value in _pairs(types, "type", "kafka=aws/m7i.xlarge", str).items()}
        sizes = _pairs(disks, "disk", "kafka=500GB", lambda text: float(units.size_bytes(text)))
        bill = Bill(chosen, Wanted(region, term), sizes, loads(load), zones, hours, groups_of(groups))
        billed = [run_cost(run, bill)]
    costs = [one.cost for one in billed]
    uncounted = [code for one in billed for code in one.uncounted]
    beyond = {name: limit for one in billed for name, limit in one.beyond.items()}
    count = sum(round(line.count) for one in costs for line in one.lines if line.unit == "machine")
    answer = Costs(
        version=__version__,
        costs=costs,
        not_in_it=[*uncounted, *NEVER_COUNTED],
        machines=count,
        zones=None if has_plans or run is None else zones,
        beyond=beyond,
    )
    if as_json:
        print_json(answer.written())
    else:
        print_costs(answer, out_console())
        warn_of_age(price for one in costs for price in prices_of(one.lines))
    return EXIT_DONE


def _pairs(texts: Sequence[str], option: str, example: str, read: Callable[[str], Value]) -> dict[str, Value]:
    """`NAME=VALUE`, once for each name."""
    values: dict[str, Value] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name or name in values:
            raise BadInputError(
                f"--{option} {text}: {f'{name} stands twice' if name in values else 'that is no name with a value'}",
                f"Write e.g. --{option} {example}.",
            )
        try:
            values[name] = read(value)
        except ValueError as error:
            raise BadInputError(f"--{option} {text}: {error}", f"Write e.g. --{option} {example}.") from error
    return values
