"""All machines: the user's own first, then those that are shipped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl

from hydrotest.catalogue.machine import NAMES, TERMS, Machine, Price, of_row
from hydrotest.errors import BadInputError
from hydrotest.spec.lines import Document, parse_document, shown

OWN = Path("machines.yaml")
"""In the folder that hydrotest is called in."""
OLD_DAYS = 180
"""Prices that are older are named."""


@cache
def shipped() -> Mapping[str, Machine]:
    """The machines of the catalogue, by `provider/name`."""
    with resources.files("hydrotest.catalogue").joinpath("machines.parquet").open("rb") as file:
        rows = pl.read_parquet(file).iter_rows(named=True)
    return {one.full_name: one for one in map(of_row, rows)}


def machines(own: Path | None = None) -> dict[str, Machine]:
    """All of them by `provider/name`; the user's own take the place of shipped ones of the same name. `own`: the file; by default `OWN`,
    if there is one. Raises `BadInputError`."""
    path = OWN if own is None else own
    mine = read_own(path) if own is not None or path.exists() else {}
    return {**mine, **{name: one for name, one in shipped().items() if name not in mine}}


def read_own(path: Path) -> dict[str, Machine]:
    """A file of machines, as `catalogue import` writes it: a list of rows with the keys of the catalogue. Raises `BadInputError`."""
    try:
        text = path.read_text()
    except OSError as error:
        raise BadInputError(f"the file cannot be read: {error.strerror}", "Name a file of machines.", file=path) from error
    except UnicodeDecodeError as error:
        raise BadInputError("the file is no text", "Name a file of machines.", file=path) from error
    # What has no value, not even a list without machines, is no document.
    is_empty = all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines())
    document = Document(path, None, {}) if is_empty else parse_document(text, path)
    rows = document.value
    if not isinstance(rows, list):
        raise BadInputError(
            "the file is no list of machines",
            "Write `- {provider: own, name: large, vcpus: 16, memory_bytes: 64000000000}`.",
            file=path,
            line=1,
        )
    found: dict[str, Machine] = {}
    for index, row in enumerate(rows):
        one = _own_row(row, index, document)
        if one.full_name in found:
            raise BadInputError(f"{one.full_name} stands twice", "Leave one of them.", file=path, line=document.line((index, "name")))
        found[one.full_name] = one
    return found


def _own_row(row: Any, index: int, document: Document) -> Machine:
    """A machine from its row. Raises `BadInputError` with the line of what is wrong."""

    def wrong(what: str, hint: str, *at: str | int) -> BadInputError:
        return BadInputError(what, hint, file=document.file, line=document.line((index, *at)))

    if not isinstance(row, dict) or not all(isinstance(row.get(key), str) for key in ("provider", "name")):
        raise wrong(f"machine {index + 1} has no provider and name", "Write e.g. `provider: own`, `name: large`.")
    name = row["name"]
    for key, value in row.items():
        if key not in NAMES:
            near = get_close_matches(key, NAMES, 1)
            raise wrong(
                f"machine {name}: there is no key {key}", f"Did you mean {near[0]}?" if near else f"Keys are {', '.join(NAMES)}.", key
            )
        if key not in TEXTS and not _is_amount(value):
            raise wrong(f"machine {name}: {key} is no amount above 0: {shown(value)}", "Write a number.", key)
        if key in WORDS and not isinstance(value, str | None):
            raise wrong(f"machine {name}: {key} is no word: {shown(value)}", "Put it into quotes.", key)
        if key == "is_burstable" and not isinstance(value, bool | None):
            raise wrong(f"machine {name}: {key} is neither true nor false: {shown(value)}", "Write true or false.", key)
    if not isinstance(row.get("prices") or [], list):
        raise wrong(f"machine {name}: its prices are no list", "Write `prices: [{term: on-demand, usd_h: 0.4}]`.", "prices")

    def dated(value: Any, *at: str | int) -> date | None:
        try:
            found = None if value is None else date.fromisoformat(str(value))
        except ValueError as error:
            raise wrong(f"machine {name}: {shown(value)} is no date", "Write e.g. 2026-11-01.", *at) from error
        if found is not None and (found - date.today()).days > 1:  # somewhere it is tomorrow
            raise wrong(f"machine {name}: {value} is still to come", "Write when the price was read.", *at)
        return found

    def price(value: Any, number: int) -> Price:
        if (
            not isinstance(value, dict)
            or value.get("term") not in TERMS
            or not _is_amount(value.get("usd_h"))
            or value.get("usd_h") is None
        ):
            example = "Write e.g. `{region: here, term: on-demand, usd_h: 0.4, as_of: 2026-11-01}`."
            raise wrong(f"machine {name}: {shown(value)} is no price", example, "prices", number)
        if not isinstance(value.get("is_derived", False), bool):
            what = f"machine {name}: is_derived is neither true nor false: {shown(value['is_derived'])}"
            raise wrong(what, "Write true or false.", "prices", number, "is_derived")
        as_of = dated(value.get("as_of"), "prices", number, "as_of")
        region, source = str(value.get("region") or ""), str(value.get("source") or "own")
        return Price(region, value["term"], float(value["usd_h"]), as_of, source, value.get("is_derived", False))

    prices = tuple(price(one, number) for number, one in enumerate(row.get("prices") or ()))
    has = {key: value for key, value in row.items() if key not in ("prices", "as_of")}
    return Machine(**has, as_of=dated(row.get("as_of"), "as_of"), prices=prices)


WORDS = {"provider", "name", "family", "arch", "local_disk_kind", "source"}
TEXTS = {*WORDS, "as_of", "prices", "is_burstable"}


def _is_amount(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf)


def found(name: str, there: Mapping[str, Machine]) -> Machine:
    """A machine by `provider/name`, or by its name alone where only one provider has it. Raises `BadInputError`."""
    if name in there:
        return there[name]
    alike = [one for key, one in there.items() if key.partition("/")[2] == name]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise BadInputError(f"{name} is a machine of {' and of '.join(one.provider for one in alike)}", f"Write e.g. {alike[0].full_name}.")
    near = get_close_matches(name, there, 1, 0.5) or get_close_matches(name, [key.partition("/")[2] for key in there], 1, 0.5)
    raise BadInputError(f"there is no machine {name}", f"Did you mean {near[0]}?" if near else "`hydrotest catalogue list` names all.")


def selected(patterns: Sequence[str], there: Mapping[str, Machine]) -> list[Machine]:
    """Those whose `provider/name` fits one of the patterns, e.g. `aws/m7*`. Raises `BadInputError` where one fits none."""
    # Without a provider it may be anyone's.
    whole = [pattern if "/" in pattern else f"*/{pattern}" for pattern in patterns]
    for given, pattern in zip(patterns, whole, strict=True):
        if not any(fnmatchcase(name, pattern) for name in there):
            raise BadInputError(f"no machine is like {given}", "Write e.g. aws/m7*, gcp/n2-*.")
    return [one for name, one in there.items() if not whole or any(fnmatchcase(name, pattern) for pattern in whole)]


def old_prices(prices: Iterable[Price], today: date) -> date | None:
    """The oldest date of prices that are older than `OLD_DAYS`; None if none is."""
    days = [one.as_of for one in prices if one.as_of is not None and (today - one.as_of).days > OLD_DAYS]
    return min(days, default=None)
