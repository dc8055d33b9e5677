"""Tables of types of machines."""

from __future__ import annotations

from collections.abc import Sequence

from hydrotest.catalogue.machine import Machine, Price
from hydrotest.report.table import NONE, Table
from hydrotest.units import show_bytes, show_count


def machines_sheet(machines: Sequence[Machine]) -> Table:
    """A row for each, with the first price of each term that it has."""
    heads = [
        "type",
        "vCPUs",
        "memory",
        "link, sustained",
        "link, for a while",
        "disks by network, sustained",
        "local disks",
        "USD an hour",
        "3 years",
    ]
    return Table(
        f"{show_count(len(machines), 'type')} of machines",
        heads,
        [_row(one) for one in machines],
        lead=("type", "vCPUs", "memory", "link, sustained", "USD an hour"),
    )


def _row(one: Machine) -> list[str]:
    prices = [one.price(None, term) for term in ("on-demand", "3y")]
    return [
        one.full_name, _number(one.vcpus or one.cores), NONE if one.memory_bytes is None else show_bytes(one.memory_bytes), _bits(one.net_base_bit_s),
        _bits(one.net_peak_bit_s), NONE if one.disk_base_b_s is None else f"{show_bytes(one.disk_base_b_s)}/s", _local(one),
        *(NONE if price is None else f"{'about ' if price.is_derived else ''}{price.usd_h:.4g}" for price in prices),
    ]  # fmt: skip


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:g}"


def _bits(value: float | None) -> str:
    return NONE if value is None else f"{value / 1e9:.4g} Gbit/s"


def _local(one: Machine) -> str:
    if not one.local_disks:
        return NONE
    size = "" if one.local_disk_bytes is None else f" × {show_bytes(one.local_disk_bytes)}"
    return f"{one.local_disks}{size} {one.local_disk_kind or ''}".strip()


def machine_sheet(one: Machine) -> Table:
    """All that is known of it."""
    local = {"read operations/s of a local disk": one.local_read_iops, "write operations/s of a local disk": one.local_write_iops}
    facts = {
        "vCPUs": _number(one.vcpus), "cores": _number(one.cores), "threads of a core": _number(one.threads_per_core), "architecture": one.arch or NONE,
        "GHz": _number(one.ghz), "memory": NONE if one.memory_bytes is None else show_bytes(one.memory_bytes), "link, sustained": _bits(one.net_base_bit_s),
        "link, for a while": _bits(one.net_peak_bit_s), "disks by network, sustained": _disk(one.disk_base_b_s, one.disk_base_iops),
        "disks by network, for a while": _disk(one.disk_peak_b_s, one.disk_peak_iops), "local disks": _local(one),
        **{name: _number(value) for name, value in local.items() if value is not None},
    }  # fmt: skip
    if one.is_burstable:
        facts |= {"vCPUs, sustained": _number(one.sustained_vcpus), "CPU credits an hour (vCPU-minutes)": _number(one.credits_per_h),
                  "CPU credits at most": _number(one.credits_max)}  # fmt: skip
    facts["from"] = f"{one.source or NONE}{'' if one.as_of is None else f', {one.as_of.isoformat()}'}"
    return Table(one.full_name, ["what", "value"], [[what, value] for what, value in facts.items()])


def _disk(bytes_s: float | None, iops: int | None) -> str:
    return NONE if bytes_s is None else f"{show_bytes(bytes_s)}/s" + ("" if iops is None else f", {iops:,} operations/s")


def prices_sheet(one: Machine) -> Table:
    """Its prices."""
    return Table("Prices", ["term", "region", "USD an hour", "as of", "from"], [_price(price) for price in one.prices])


def _price(price: Price) -> list[str]:
    about, how = ("about ", " (not listed: at the ratio of its family)") if price.is_derived else ("", "")
    as_of = NONE if price.as_of is None else price.as_of.isoformat()
    return [price.term, price.region or "everywhere", f"{about}{price.usd_h:.4f}", as_of, price.source + how]
