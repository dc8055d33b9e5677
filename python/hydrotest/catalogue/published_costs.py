"""What the machines of published results cost, by the prices of the catalogue."""

from __future__ import annotations

from collections.abc import Iterable

from hydrotest.catalogue.cost import HOURS, AtRate, Cost, Line, Wanted, cost_of, machine_line
from hydrotest.catalogue.machines import found, shipped
from hydrotest.catalogue.published import published
from hydrotest.errors import BadInputError

RATES = {"records_per_s": "records", "ops_per_s": "operations"}


def published_costs(source: str | None, region: str | None = None) -> list[Cost]:
    """Each fleet of a source; of all of them without one. Raises `BadInputError` if there is none."""
    fleets = published()["fleets"]
    chosen = [fleet for fleet in fleets if source in (None, fleet["source"])]
    if not chosen:
        raise BadInputError(f"nothing that costs is known of {source}", f"Sources are {', '.join(_sources(fleets))}.")
    out = []
    for fleet in chosen:
        own = fleet.get("usd_per_hour")
        lines = [
            machine_line(found(name, shipped()), count, Wanted(region)) if own is None else
            Line(what=name, count=count, unit="machine", usd_each=own, usd_h=count * own, as_of=str(fleet["as_of"]), source=fleet["source"])
            for name, count in fleet["machines"].items()
        ]  # fmt: skip
        rates = [AtRate(what, float(fleet[key]), "published") for key, what in RATES.items() if key in fleet]
        out.append(cost_of(fleet["name"], lines, rates, float(fleet.get("hours_per_month", HOURS)), fleet["source"]))
    return out


def _sources(fleets: Iterable[dict[str, str]]) -> list[str]:
    return list(dict.fromkeys(fleet["source"] for fleet in fleets))
