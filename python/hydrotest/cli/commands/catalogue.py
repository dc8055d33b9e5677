"""`hydrotest catalogue`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import yaml

from hydrotest.catalogue.clouds import as_rows, is_prices, read_machines, read_prices
from hydrotest.catalogue.cost import check_region
from hydrotest.catalogue.machine import Machine, Price
from hydrotest.catalogue.machines import found, machines, old_prices, read_own, selected
from hydrotest.cli.output import err_console, out_console, print_json
from hydrotest.errors import EXIT_DONE, EXIT_MISSED, BadInputError, shaped
from hydrotest.report.catalogue import machine_sheet, machines_sheet, prices_sheet
from hydrotest.report.printing import print_sheet
from hydrotest.store.folder import write_whole

EXAMPLE = "hydrotest catalogue import instance-types.json prices.csv"
CHECKED = ("vcpus", "memory_bytes", "net_base_bit_s")


def today() -> date:
    """By which the age of prices is counted."""
    return datetime.now(UTC).date()


def list_(patterns: Sequence[str], region: str | None, own: Path | None, as_json: bool) -> int:
    """A row for each machine; with a region, for each that has a price there."""
    chosen = selected(patterns, machines(own))
    if region is not None:
        check_region(chosen, region)
        chosen = [found for one in chosen if (found := _in(one, region)).prices]
    if as_json:
        print_json({"machines": [written(one) for one in chosen]})
    else:
        print_sheet(machines_sheet(chosen), out_console())
        warn_of_age(price for one in chosen for price in one.prices)
    return EXIT_DONE


def _in(one: Machine, region: str) -> Machine:
    """With the prices that hold in a region."""
    return replace(one, prices=[price for price in one.prices if price.region in ("", region)])


def show(name: str, region: str | None, own: Path | None, as_json: bool) -> int:
    """Everything of one machine."""
    one = found(name, machines(own))
    if region is not None:
        check_region([one], region)
        one = _in(one, region)
    if as_json:
        print_json(written(one))
        return EXIT_DONE
    print_sheet(machine_sheet(one), out_console())
    print_sheet(prices_sheet(one), out_console())
    warn_of_age(one.prices)
    return EXIT_DONE


def import_(files: Sequence[Path], out: Path, as_json: bool) -> int:
    """Adds machines and prices to the user's file."""
    if not files:
        raise BadInputError("there is nothing to import", f"Write e.g. `{EXAMPLE}`.")
    mine = read_own(out) if out.exists() else {}
    before = machines(out if out.exists() else None)
    read = [one for path in files if not is_prices(path) for one in read_machines(path, today())]
    new = {one.full_name: over(before.get(one.full_name), one) for one in read}
    there = before | new
    for path in files:
        for name, prices in (read_prices(path) if is_prices(path) else {}).items():
            one = found(name, there)
            there[one.full_name] = new[one.full_name] = replace(one, prices=[*prices, *_others(one.prices, prices)])
    rows = as_rows([*({**mine, **new}).values()])
    write_whole(out, yaml.dump(rows, sort_keys=False, allow_unicode=True, width=120))
    if as_json:
        print_json({"file": str(out), "machines": len(rows), "new": len(new)})
    else:
        out_console().print(
            f"wrote {out}: {len(rows)} machines, {len(new)} of them from {', '.join(path.name for path in files)}",
            highlight=False,
            markup=False,
        )
    return EXIT_DONE


def over(before: Machine | None, new: Machine) -> Machine:
    """What is read anew, with prices and whatever else only the one before has."""
    known = {} if before is None else {key: value for key, value in vars(before).items() if getattr(new, key) in (None, ())}
    return replace(new, **known)


def _others(there: Iterable[Price], new: Sequence[Price]) -> list[Price]:
    """Prices that no new one takes the place of."""
    taken = {(price.region, price.term) for price in new}
    return [price for price in there if (price.region, price.term) not in taken]


def check(own: Path, as_json: bool) -> int:
    """1 if a machine lacks what a size is chosen by, or a price is old."""
    mine = read_own(own)
    lacking = {
        name: keys
        for name, one in mine.items()
        if (keys := [key for key in CHECKED if getattr(one, key) is None] + ([] if one.prices else ["prices"]))
    }
    old = old_prices((price for one in mine.values() for price in one.prices), today())
    if as_json:
        print_json({"machines": len(mine), "lacking": lacking, "oldest_price": None if old is None else old.isoformat()})
    else:
        out_console().print(f"{own}: {len(mine)} machines", highlight=False, markup=False)
        for name, keys in lacking.items():
            _say(
                shaped(
                    "warning",
                    f"{name}: {', '.join(keys)} {'is' if len(keys) == 1 else 'are'} not known",
                    "Add it, or no size is chosen by it.",
                )
            )
        warn_of_age(price for one in mine.values() for price in one.prices)
    return EXIT_MISSED if lacking or old is not None else EXIT_DONE


def warn_of_age(prices: Iterable[Price]) -> None:
    """Names prices that are older than half a year."""
    old = old_prices(prices, today())
    if old is not None:
        _say(shaped("warning", f"prices are as old as {old.isoformat()}", "`hydrotest catalogue import PRICES.csv` brings others."))


def _say(text: str) -> None:
    err_console().print(text, highlight=False, markup=False, soft_wrap=True)


def written(one: Machine) -> dict[str, Any]:
    """As JSON has it."""
    row = asdict(one)
    for part in (row, *row["prices"]):
        part["as_of"] = None if part["as_of"] is None else part["as_of"].isoformat()
    return row
