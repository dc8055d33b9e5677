"""A type of machine, and its prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import cache
from typing import Any

import polars as pl

PRICE = pl.Struct(
    {"region": pl.String, "term": pl.String, "usd_h": pl.Float64, "as_of": pl.String, "source": pl.String, "is_derived": pl.Boolean}
)
SCHEMA: dict[str, Any] = {
    "provider": pl.String, "name": pl.String, "family": pl.String, "arch": pl.String, "vcpus": pl.Int32, "cores": pl.Int32,
    "threads_per_core": pl.Int8, "ghz": pl.Float64, "ipc": pl.Float64, "memory_bytes": pl.Int64, "net_base_bit_s": pl.Float64,
    "net_peak_bit_s": pl.Float64, "disk_base_b_s": pl.Float64, "disk_peak_b_s": pl.Float64, "disk_base_iops": pl.Int64, "disk_peak_iops": pl.Int64,
    "local_disks": pl.Int32, "local_disk_bytes": pl.Float64, "local_disk_kind": pl.String, "local_read_iops": pl.Int64, "local_write_iops": pl.Int64,
    "cpu_baseline": pl.Float64, "credits_per_h": pl.Float64, "credits_max": pl.Float64, "is_burstable": pl.Boolean, "source": pl.String,
    "as_of": pl.String, "prices": pl.List(PRICE),
}  # fmt: skip
"""Columns of machines.parquet. Null: not known."""
TERMS = ("on-demand", "1y", "3y", "spot")


@dataclass(frozen=True)
class Price:
    """What an hour costs."""

    region: str
    """Empty: everywhere."""
    term: str
    """One of `TERMS`."""
    usd_h: float
    as_of: date | None
    source: str
    is_derived: bool = False
    """Not listed: from the price of a reservation, or from that in the provider's first region, at the ratio of its family."""


@dataclass(frozen=True)
class Machine:
    """A type of machine. None: not known."""

    provider: str
    name: str
    family: str | None = None
    arch: str | None = None
    vcpus: int | None = None
    cores: int | None = None
    threads_per_core: int | None = None
    ghz: float | None = None
    ipc: float | None = None
    """Work a cycle, of that of a reference, as somebody else set it."""
    memory_bytes: int | None = None
    net_base_bit_s: float | None = None
    """What its link carries for as long as one likes."""
    net_peak_bit_s: float | None = None
    """What it carries for a while, or at best."""
    disk_base_b_s: float | None = None
    """The same of disks that are reached by the network."""
    disk_peak_b_s: float | None = None
    disk_base_iops: int | None = None
    disk_peak_iops: int | None = None
    local_disks: int | None = None
    local_disk_bytes: float | None = None
    """Of each."""
    local_disk_kind: str | None = None
    local_read_iops: int | None = None
    local_write_iops: int | None = None
    cpu_baseline: float | None = None
    """Share of each vCPU that it has for as long as one likes."""
    credits_per_h: float | None = None
    """Vcpu-minutes that it earns."""
    credits_max: float | None = None
    is_burstable: bool | None = None
    source: str | None = None
    as_of: date | None = None
    prices: Sequence[Price] = ()

    @property
    def full_name(self) -> str:
        """`aws/m7i.xlarge`."""
        return f"{self.provider}/{self.name}"

    def price(self, region: str | None, term: str) -> Price | None:
        """What it costs; without a region the first that has the term."""
        return next((one for one in self.prices if one.term == term and (not one.region or region in (None, one.region))), None)

    @property
    def link_bit_s(self) -> float | None:
        """What its link carries for as long as one likes; at best, where only that is known."""
        return self.net_base_bit_s or self.net_peak_bit_s

    @property
    def sustained_vcpus(self) -> float | None:
        """What it has of its vCPUs for as long as one likes; None where that is not known, though it has credits."""
        if self.vcpus is None or (self.is_burstable and self.cpu_baseline is None):
            return None
        return self.vcpus * (self.cpu_baseline or 1.0)


NAMES = tuple(one.name for one in fields(Machine))


@cache
def day(text: str | None) -> date | None:
    """A date as a file has it."""
    return None if text is None else date.fromisoformat(text)


def of_row(row: dict[str, Any]) -> Machine:
    """A row of the file."""
    prices = tuple(
        Price(one["region"], one["term"], one["usd_h"], day(one["as_of"]), one["source"], one["is_derived"]) for one in row["prices"] or ()
    )
    return Machine(**{key: row[key] for key in NAMES if key not in ("prices", "as_of")}, as_of=day(row["as_of"]), prices=prices)
