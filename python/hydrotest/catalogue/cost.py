"""What machines, disks and traffic cost: one line for each, and sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from importlib import resources

import yaml
from pydantic import Field

from hydrotest.catalogue.machine import Machine, Price
from hydrotest.errors import BadInputError
from hydrotest.summary.base import Count, Number, Row

HOURS = 730.0
"""Of a month, on average over a year."""
GIB = 1 << 30
TRAFFIC, DISK, DISK_FASTER = "traffic between zones", "gp3", "gp3 beyond 125 MB/s"
DISK_INCLUDED_MB_S = 125.0
DISK_BYTES_MIN, DISK_BYTES_MAX = 50 * GIB, 65_536 * GIB
"""A system and its logs take so much at least; of one volume there is no more."""
DISK_B_S_MAX = 2_000e6
"""No volume writes more."""


def volume_b_s(way_b_s: float | None) -> float | None:
    """Bytes a second that one volume carries which is reached by the network, of a machine's way to its volumes; None where that is not
    known."""
    return None if way_b_s is None else min(way_b_s, DISK_B_S_MAX)


class Line(Row):
    """What one thing costs."""

    what: str = Field(description="A machine, or what else costs.")
    count: Number = Field(description="How many: machines, GiB a month, GiB.")
    unit: str = Field(description="`machine`, `GiB month`, `MB/s month`, or `GiB an hour`: what `count` is of.")
    usd_each: Number = Field(description="USD: an hour of a machine, a month of a GiB, a GiB.")
    usd_h: Number = Field(description="USD an hour of all of them.")
    region: str = Field("", description="Where the price holds; empty: everywhere.")
    term: str = Field("", description="`on-demand`, `1y`, `3y` or `spot`.")
    as_of: str | None = Field(None, pattern=r"^\d{4}-\d{2}-\d{2}$", description="Date of the price.")
    source: str = Field(description="Where it is from.")
    is_derived: bool = Field(False, description="The price is not listed: it is from that of a reservation, at the ratio of its family.")

    def of_month(self, hours: float) -> Line:
        """The same where a month has so many hours: what is paid by the month costs more or less an hour."""
        return self.model_copy(update={"usd_h": self.count * self.usd_each / hours}) if self.unit.endswith(" month") else self


class PerMillion(Row):
    """What a million operations cost."""

    workload: str = Field(description="The workload.")
    rate: Number = Field(description="Operations a second.")
    at: str = Field(description="`safe`: the rate that nearly all windows hold; `limit`; `load`: that was asked for; `published`.")
    usd: Number = Field(description="USD for a million of them, each alone on all of it, with its own traffic between zones.")
    traffic_usd_h: Number = Field(0.0, description="Of which traffic between zones, USD an hour.")


class Cost(Row):
    """The sum, and its lines."""

    name: str = Field(description="Of what.")
    lines: list[Line] = Field(description="Each thing.")
    usd_h: Number = Field(description="USD an hour.")
    hours: Number = Field(description="Hours of a month.")
    usd_month: Number = Field(description="USD a month.")
    millions: list[PerMillion] = Field(description="A million operations, each alone on all of it.")
    source: str | None = Field(None, description="The published source.")


class Uncounted(StrEnum):
    """What costs, too, and is not counted."""

    ZONE_TRAFFIC = "zone_traffic"
    """Traffic between zones."""
    ZONE_TRAFFIC_SUM = "zone_traffic_sum"
    """The same, in the sum: it is counted in what a million operations cost, each workload alone."""
    DISKS = "disks"
    """Disks that are reached by the network, whose price is not known."""
    DISK_SPEED = "disk_speed"
    """What such disks write beyond what is included in their price."""
    PEOPLE = "people"
    LICENCES = "licences"
    SUPPORT = "support"
    BACKUPS = "backups"
    EGRESS = "egress"


NEVER_COUNTED = [Uncounted.PEOPLE, Uncounted.LICENCES, Uncounted.SUPPORT, Uncounted.BACKUPS, Uncounted.EGRESS]


class Costs(Row):
    """The answer of `hydrotest cost`."""

    version: str = Field(description="Of hydrotest.")
    costs: list[Cost] = Field(description="Each sum.")
    not_in_it: list[Uncounted] = Field(description="What costs, too, and is not counted.")
    machines: Count = Field(description="Machines of all of them.")
    zones: Count | None = Field(None, description="Zones that the hosts of a run are counted in; null: of plans, and of published results.")
    beyond: dict[str, Number] = Field(
        default_factory=dict,
        description="Loads that are more than the limit that the run found of a workload: that limit, operations a second.",
    )


SHOWN = 5
"""Regions that an error names."""


@dataclass(frozen=True)
class Wanted:
    """Which price of a machine is wanted."""

    region: str | None = None
    term: str = "on-demand"


@cache
def other_prices() -> tuple[dict[str, object], ...]:
    """Prices of what is not a machine."""
    return tuple(yaml.safe_load(resources.files("hydrotest.catalogue").joinpath("other.yaml").read_text()))


def machine_line(machine: Machine, count: int, wanted: Wanted) -> Line:
    """Machines of a type. Raises `BadInputError` where their price is not known."""
    price = machine.price(wanted.region, wanted.term)
    if price is None:
        raise BadInputError(f"{machine.full_name}: the price {wanted.term}{_where(wanted)} is not known", _hint([machine], wanted))
    return Line(what=machine.full_name, count=count, unit="machine", usd_each=price.usd_h, usd_h=count * price.usd_h, region=price.region, term=price.term,
                as_of=_day(price.as_of), source=price.source, is_derived=price.is_derived)  # fmt: skip


def check_prices(machines: Sequence[Machine], wanted: Wanted) -> None:
    """Raises `BadInputError` where the price of none of them is known."""
    if any(one.price(wanted.region, wanted.term) for one in machines):
        return
    check_region(machines, wanted.region)
    raise BadInputError(f"no price {wanted.term}{_where(wanted)} is known of any of {len(machines)} machines", _hint(machines, wanted))


def check_region(machines: Sequence[Machine], region: str | None) -> None:
    """Raises `BadInputError` where no price of any of them is known in a region. What costs the same everywhere does not show that there
    is such a region."""
    known = {price.region for one in machines for price in one.prices}
    if region is not None and region not in known and known != {""}:
        raise BadInputError(f"no price in {region} is known", _hint(machines, Wanted(region)))


def _where(wanted: Wanted) -> str:
    return f" in {wanted.region}" if wanted.region else ""


def _hint(machines: Iterable[Machine], wanted: Wanted) -> str:
    """What there is in the place of a price that is not known: other terms in that region, or other regions."""
    prices = [price for one in machines for price in one.prices]
    regions = list(dict.fromkeys(price.region for price in prices if price.region))
    terms = sorted({price.term for price in prices if not price.region or wanted.region in (None, price.region)})
    if terms:
        there = f"There is {', '.join(terms)}. "
    elif near := get_close_matches(str(wanted.region), regions, 1):
        there = f"Did you mean {near[0]}? "
    else:
        more = f" and {len(regions) - SHOWN} more" if len(regions) > SHOWN else ""
        there = f"Prices are known in {', '.join(regions[:SHOWN])}{more}. " if regions else ""
    return f"{there}`hydrotest catalogue import PRICES.csv` brings others."


def _day(value: date | None) -> str | None:
    return None if value is None else value.isoformat()


def has_traffic_price(provider: str, wanted: Wanted) -> bool:
    """Whether the price of traffic between zones is known there."""
    found = _other(provider, TRAFFIC)
    return found is not None and wanted.region in (None, found["region"])


def traffic_line(provider: str, bytes_per_s: float) -> Line | None:
    """Traffic between zones; None where its price is not known."""
    found = _other(provider, TRAFFIC)
    if found is None:
        return None
    usd = float(str(found["usd"]))
    gib_h = bytes_per_s * 3600 / GIB
    return Line(what=f"{provider}: {TRAFFIC}", count=gib_h, unit="GiB an hour", usd_each=usd, usd_h=gib_h * usd, region=str(found["region"]),
                as_of=str(found["as_of"]), source=str(found["source"]))  # fmt: skip


def disk_lines(
    provider: str, each_bytes: float, count: int, written_b_s: float = 0.0, hours: float = HOURS, *, region: str | None = None
) -> list[Line]:
    """Disks that are reached by the network, with what each writes beyond what is included. In another region than the one whose price is
    known they have that price, which then counts as derived. Raises `BadInputError` where their price is not known."""
    found = _other(provider, DISK)
    if found is None:
        raise BadInputError(f"the price of a disk of {provider} is not known", "Leave the disks out, and add their price by hand.")
    gib, beyond = each_bytes / GIB, max(0.0, written_b_s / 1e6 - DISK_INCLUDED_MB_S)
    lines = [_month_line(f"{provider}: {DISK}, {count} × {gib:,.0f} GiB", found, count * gib, hours, region)]
    more = _other(provider, DISK_FASTER)
    if beyond and more is not None:
        lines.append(_month_line(f"{provider}: {DISK_FASTER}, {count} × {beyond:,.0f} MB/s", more, count * beyond, hours, region))
    return lines


def _month_line(what: str, found: Mapping[str, object], count: float, hours: float, region: str | None) -> Line:
    usd = float(str(found["usd"]))
    return Line(what=what, count=count, unit=str(found["per"]), usd_each=usd, usd_h=count * usd / hours, region=str(found["region"]),
                as_of=str(found["as_of"]), source=str(found["source"]), is_derived=region not in (None, found["region"]))  # fmt: skip


def has_disk_price(provider: str) -> bool:
    """Whether the price of disks that are reached by the network is known."""
    return _other(provider, DISK) is not None


def has_disk_speed_price(provider: str) -> bool:
    """Whether what such disks write beyond what is included costs something, as far as is known."""
    return _other(provider, DISK_FASTER) is not None


def _other(provider: str, what: str) -> Mapping[str, object] | None:
    return next((one for one in other_prices() if one["provider"] == provider and one["what"] == what), None)


@dataclass(frozen=True)
class AtRate:
    """A workload at a rate."""

    workload: str
    rate: float
    """Operations a second."""
    at: str
    """What that rate is: see `PerMillion`."""
    traffic_usd_h: float = 0.0
    """What its traffic between zones costs; 0 where that is among the lines."""


def cost_of(name: str, lines: Sequence[Line], rates: Sequence[AtRate], hours: float = HOURS, source: str | None = None) -> Cost:
    """The sum, and a million operations at each rate."""
    usd_h = sum(line.usd_h for line in lines)
    millions = [PerMillion(workload=one.workload, rate=one.rate, at=one.at, usd=(usd_h + one.traffic_usd_h) / (one.rate * 3600 / 1e6),
                           traffic_usd_h=one.traffic_usd_h) for one in rates if one.rate > 0]  # fmt: skip
    return Cost(name=name, lines=list(lines), usd_h=usd_h, hours=hours, usd_month=usd_h * hours, millions=millions, source=source)


def prices_of(lines: Sequence[Line]) -> list[Price]:
    """The dated prices of lines, for warnings of their age."""
    return [Price(line.region, line.term, line.usd_each, date.fromisoformat(line.as_of), line.source) for line in lines if line.as_of]
