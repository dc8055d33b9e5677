"""Makes python/hydrotest/catalogue/machines.parquet from pinned packages, and says how. Nothing of it is fetched at run time.

Takes facts only, from three wheels of the package index, whose hashes must be these (all Apache-2.0; see NOTICE beside the file):

- moto: a copy of what AWS answers to DescribeInstanceTypes (cores, memory, baseline and peak of network and of EBS, local disks);
- service-capacity-modeling: prices of a reservation of three years, speeds of cores, operations of local disks;
- apache-libcloud: list prices on demand, of AWS, Azure, Google and Packet.

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
REGION, HOURS = "us-east-1", 8760
SURCHARGE = 1.04
"""libcloud has some prices of dedicated machines, a tenth more, among those of shared ones. What is above the lowest ratio of its family to
the reservation's price by more is not taken."""
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


def price(term: str, usd_h: float, source: str, *, region: str = REGION, as_of: str | None = None, is_derived: bool = False) -> Machine:
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
        read(wheels, "service_capacity_modeling-0.3.212", f"{base}3yr-reserved_ec2.json"))[REGION]["instances"].items()}  # fmt: skip
    listed = {name: regions.get(REGION, 0.0) for name, regions in json.loads(
        read(wheels, "apache_libcloud-3.9.1", "libcloud/data/pricing.json"))["compute"]["ec2_linux"].items()}  # fmt: skip
    speeds = dict(_shapes(wheels))
    ratios = _ratios(reserved, listed)
    for name, found in types.items():
        family = name.partition(".")[0]
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
            prices=list(_prices(family, reserved.get(name), listed.get(name) or None, ratios)),
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


def _ratios(reserved: Mapping[str, float], listed: Mapping[str, float]) -> dict[str, float]:
    """On demand over reserved, by family and (under "") of the median family: the lowest that a size of it has."""
    by_family: dict[str, list[float]] = defaultdict(list)
    for name, usd_h in reserved.items():
        if usd_h and listed.get(name):
            by_family[name.partition(".")[0]].append(listed[name] / usd_h)
    lowest = {family: min(values) for family, values in by_family.items()}
    return {"": median(lowest.values()), **lowest}


def _prices(family: str, reserved: float | None, listed: float | None, ratios: Mapping[str, float]) -> Iterator[Machine]:
    """On demand as it is listed; derived from the reservation where that is not known, or is a dedicated machine's."""
    if reserved:
        ratio = ratios.get(family, ratios[""])
        if listed and listed / reserved <= SURCHARGE * ratio:
            yield price("on-demand", listed, LIBCLOUD)
        else:
            yield price("on-demand", reserved * ratio, MODELING, is_derived=True)
        yield price("3y", reserved, MODELING)
    elif listed:
        yield price("on-demand", listed, LIBCLOUD)


def google(wheels: Path, hand: Mapping[str, Any]) -> Iterator[Machine]:
    """Sizes of Google's families: so many GB of memory for each vCPU, each of which has a price."""
    listed = json.loads(read(wheels, "apache_libcloud-3.9.1", "libcloud/data/pricing.json"))["compute"]["gce_instances"]
    for family, form in hand["google"]["families"].items():
        parts = listed[family]
        for shape, gb_each in form["memory_gb_per_vcpu"].items():
            for vcpus, gbit_s in form["gbit_s"].items():
                memory = vcpus * gb_each
                prices = [price(term, vcpus * parts["cpu"][key]["us-east1"]["price"] + memory * parts["ram"][key]["us-east1"]["price"], LIBCLOUD,
                                region="us-east1")
                          for term, key in (("on-demand", "on_demand"), ("1y", "commit1yr"), ("3y", "commit3yr")) if _has(parts, key)]  # fmt: skip
                yield machine("gcp", f"{family}-{shape}-{vcpus}", family=family, arch="x86_64", vcpus=vcpus, cores=vcpus // 2, threads_per_core=2,
                              memory_bytes=round(memory * GIB), net_peak_bit_s=gbit_s * 1e9, is_burstable=False, source=hand["google"]["source"],
                              as_of=str(hand["google"]["as_of"]), prices=prices)  # fmt: skip


def _has(parts: Mapping[str, Any], key: str) -> bool:
    return all("us-east1" in parts[part].get(key, {}) for part in ("cpu", "ram"))


def azure(wheels: Path, hand: Mapping[str, Any]) -> Iterator[Machine]:
    """Sizes of Azure's series."""
    listed = json.loads(read(wheels, "apache_libcloud-3.9.1", "libcloud/data/pricing.json"))["compute"]["azure_linux"]
    for series, form in hand["azure"]["series"].items():
        for vcpus, gbit_s in form["gbit_s"].items():
            name = form["name"].format(vcpus)
            usd_h = listed.get(name.lower().replace("_", ""), {}).get("eastus")
            yield machine("azure", name, family=series, arch="x86_64", vcpus=vcpus, cores=vcpus // 2, threads_per_core=2,
                          memory_bytes=vcpus * form["memory_gb_per_vcpu"] * GIB, net_peak_bit_s=gbit_s * 1e9, is_burstable=False,
                          source=hand["azure"]["source"], as_of=str(hand["azure"]["as_of"]),
                          prices=[price("on-demand", usd_h, LIBCLOUD, region="eastus")] if usd_h else [])  # fmt: skip


def by_hand(wheels: Path, hand: Mapping[str, Any]) -> Iterator[Machine]:
    """Machines of published reports."""
    packet = json.loads(read(wheels, "apache_libcloud-3.9.1", "libcloud/data/pricing.json"))["compute"]["packet"]
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
