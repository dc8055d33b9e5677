"""What the clouds' own command lines print of their machines, and price lists, as machines."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from hydrotest.catalogue.machine import TERMS, Machine, Price
from hydrotest.errors import BadInputError

MIB, GIB, MB = 1 << 20, 1 << 30, 1e6
COLUMNS = ("type", "term", "usd_h")
TAKES = (
    "It reads what `aws ec2 describe-instance-types`, `gcloud compute machine-types list --format json`, `az vm list-skus`, and `oci compute "
    "shape list` print, and price lists in CSV with the columns type, region, term, usd_h, as_of."
)


def read_machines(path: Path, today: date) -> list[Machine]:
    """Machines of a file that one of the clouds' command lines has printed. Raises `BadInputError`."""
    try:
        value = json.loads(path.read_text())
    except OSError as error:
        raise BadInputError(f"the file cannot be read: {error.strerror}", TAKES, file=path) from error
    except ValueError as error:
        raise BadInputError("the file is no JSON", TAKES, file=path) from error
    rows = value.get("InstanceTypes", value.get("data")) if isinstance(value, dict) else value
    first = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
    reader = next((read for key, read in READERS.items() if key in first), None)
    if reader is None or not isinstance(rows, list):
        raise BadInputError("the file is of no known command", TAKES, file=path)
    found = []
    for number, row in enumerate(rows, 1):
        try:
            found += [replace(one, source=path.name, as_of=today) for one in reader(row)]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise BadInputError(f"machine {number} is not as that command prints it: {error}", TAKES, file=path) from error
    if not found:
        raise BadInputError("the file has no machine", TAKES, file=path)
    return list({one.full_name: one for one in found}.values())


def is_prices(path: Path) -> bool:
    """Whether a file is a price list."""
    return path.suffix == ".csv"


def read_prices(path: Path) -> dict[str, list[Price]]:
    """Prices by machine, from a CSV with a header. Raises `BadInputError` with the line."""
    try:
        rows = csv.DictReader(io.StringIO(path.read_text()))
    except OSError as error:
        raise BadInputError(f"the file cannot be read: {error.strerror}", TAKES, file=path) from error
    except UnicodeDecodeError as error:
        raise BadInputError("the file is no text", TAKES, file=path) from error
    lacking = [column for column in COLUMNS if column not in (rows.fieldnames or ())]
    if lacking:
        raise BadInputError(f"the list has no column {lacking[0]}", TAKES, file=path, line=1)
    found: dict[str, list[Price]] = {}
    for row in rows:
        try:
            usd_h = float(row["usd_h"])
            if not 0 < usd_h < math.inf or row["term"] not in TERMS:
                raise ValueError
            as_of = date.fromisoformat(row["as_of"]) if row.get("as_of") else None
        except (TypeError, ValueError) as error:
            raise BadInputError(f"{row['type']}: {row['term']} at {row['usd_h']} is no price", f"Terms are {', '.join(TERMS)}; prices are in USD an hour.",
                                file=path, line=rows.line_num) from error  # fmt: skip
        price = Price(row.get("region") or "", row["term"], usd_h, as_of, path.name)
        before = found.setdefault(row["type"], [])
        if any((one.region, one.term) == (price.region, price.term) for one in before):
            raise BadInputError(
                f"{row['type']}: {price.term} in {price.region or 'every region'} stands twice",
                "Leave one of them.",
                file=path,
                line=rows.line_num,
            )
        before.append(price)
    if not found:
        raise BadInputError("the list has no price", TAKES, file=path)
    return found


def _aws(row: dict[str, Any]) -> Iterator[Machine]:
    cards, disk = row["NetworkInfo"].get("NetworkCards") or [], (row.get("EbsInfo") or {}).get("EbsOptimizedInfo") or {}
    disks = (row.get("InstanceStorageInfo") or {}).get("Disks") or [{}]
    architectures = [one for one in row.get("ProcessorInfo", {}).get("SupportedArchitectures", []) if one in ("x86_64", "arm64")]
    yield Machine(
        "aws", row["InstanceType"], row["InstanceType"].partition(".")[0], " ".join(architectures) or None, row["VCpuInfo"]["DefaultVCpus"],
        row["VCpuInfo"].get("DefaultCores"), row["VCpuInfo"].get("DefaultThreadsPerCore"), row.get("ProcessorInfo", {}).get("SustainedClockSpeedInGhz"),
        memory_bytes=row["MemoryInfo"]["SizeInMiB"] * MIB, net_base_bit_s=_all(cards, "BaselineBandwidthInGbps", 1e9),
        net_peak_bit_s=_all(cards, "PeakBandwidthInGbps", 1e9), disk_base_b_s=_scaled(disk.get("BaselineThroughputInMBps"), MB),
        disk_peak_b_s=_scaled(disk.get("MaximumThroughputInMBps"), MB), disk_base_iops=disk.get("BaselineIops"), disk_peak_iops=disk.get("MaximumIops"),
        local_disks=sum(one.get("Count", 0) for one in disks) or None, local_disk_bytes=_scaled(disks[0].get("SizeInGB"), 1e9),
        local_disk_kind=disks[0].get("Type"), is_burstable=bool(row.get("BurstablePerformanceSupported")),
    )  # fmt: skip


def _google(row: dict[str, Any]) -> Iterator[Machine]:
    name = row["name"]
    yield Machine("gcp", name, name.partition("-")[0], vcpus=int(row["guestCpus"]), memory_bytes=int(row["memoryMb"]) * MIB,
                  is_burstable=bool(row.get("isSharedCpu", False)))  # fmt: skip


def _azure(row: dict[str, Any]) -> Iterator[Machine]:
    if row.get("resourceType", "virtualMachines") != "virtualMachines":
        return
    has = {one["name"]: one["value"] for one in row.get("capabilities") or []}
    if "vCPUs" not in has:
        return
    cores = has.get("vCPUsPerCore")
    yield Machine(
        "azure", row["name"], row.get("family"), {"x64": "x86_64", "Arm64": "arm64"}.get(has.get("CpuArchitectureType", "")), int(has["vCPUs"]),
        None if cores is None else int(has["vCPUs"]) // int(cores), None if cores is None else int(cores), memory_bytes=round(float(has["MemoryGB"]) * GIB),
        disk_peak_b_s=_number(has.get("UncachedDiskBytesPerSecond")), disk_peak_iops=_count(has.get("UncachedDiskIOPS")),
        # Sizes of series B have credits; their baselines are not among what is printed.
        is_burstable=row["name"].startswith("Standard_B"),
    )  # fmt: skip


def _oracle(row: dict[str, Any]) -> Iterator[Machine]:
    ocpus, is_arm = float(row["ocpus"]), ".A1" in row["shape"] or ".A2" in row["shape"]
    bandwidth = row.get("networking-bandwidth-in-gbps")
    size, count = row.get("local-disks-total-size-in-gbs"), row.get("local-disks")
    yield Machine(
        "oci", row["shape"], re.sub(r"^(VM|BM)\.", "", row["shape"]).rpartition(".")[0] or None, "arm64" if is_arm else "x86_64",
        round(ocpus * (1 if is_arm else 2)), round(ocpus), 1 if is_arm else 2, memory_bytes=round(float(row["memory-in-gbs"]) * GIB),
        net_base_bit_s=_scaled(bandwidth, 1e9), net_peak_bit_s=_scaled(bandwidth, 1e9), local_disks=count or None,
        local_disk_bytes=float(size) / count * 1e9 if size and count else None, local_disk_kind="nvme" if count else None, is_burstable=False,
    )  # fmt: skip


READERS: dict[str, Callable[[dict[str, Any]], Iterator[Machine]]] = {
    "InstanceType": _aws,
    "guestCpus": _google,
    "resourceType": _azure,
    "shape": _oracle,
}
"""By a key that only one of them has."""


def _all(cards: list[dict[str, Any]], key: str, unit: float) -> int | None:
    values = [one.get(key) for one in cards]
    return None if not values or None in values else round(sum(map(float, filter(None, values))) * unit)


def _scaled(value: float | None, unit: float) -> int | None:
    return None if value is None else round(value * unit)


def _number(value: str | None) -> float | None:
    return None if value is None else float(value)


def _count(value: str | None) -> int | None:
    return None if value is None else int(value)


def as_rows(found: list[Machine]) -> list[dict[str, Any]]:
    """As machines.yaml has them: what is known."""
    rows = []
    for one in found:
        row: dict[str, Any] = {key: value for key, value in vars(one).items() if value is not None and key not in ("prices", "as_of")}
        if one.as_of is not None:
            row["as_of"] = one.as_of.isoformat()
        if one.prices:
            row["prices"] = [{"region": price.region, "term": price.term, "usd_h": price.usd_h, **({"as_of": price.as_of.isoformat()} if price.as_of else {}),
                              "source": price.source, **({"is_derived": True} if price.is_derived else {})} for price in one.prices]  # fmt: skip
        rows.append(row)
    return rows
