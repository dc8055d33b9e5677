"""A host's counters by the names of node_exporter's default collectors, in those of hydrotest's own sampler.

Names: README and `collector/` of node_exporter 1.5 to 1.10; the counters are those of rust/sampler/src/host.rs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hydrotest.hosts.monitored.series import Series

CPU = "node_cpu_seconds_total"
MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
MEMORY = {"memory_total_bytes": "MemTotal", "memory_available_bytes": "MemAvailable", "memory_dirty_bytes": "Dirty",
          "memory_writeback_bytes": "Writeback", "memory_cached_bytes": "Cached"}  # fmt: skip
SWAP = ("node_memory_SwapTotal_bytes", "node_memory_SwapFree_bytes")
SPEED = "node_network_speed_bytes"
"""Payload and headers, a second."""
UP = "node_network_up"
KERNEL = "node_uname_info"
CPU_MODEL = "node_cpu_info"
"""Of its collector `cpu` with `--collector.cpu.info` only."""


@dataclass(frozen=True)
class _Plain:
    """A counter that is one of theirs, or a sum over their labels."""

    theirs: tuple[str, ...]
    scale: float = 1.0
    of: str | None = None
    """The devices that are summed: `disk`, `net`, `lo`."""


US, MS = 1e6, 1e3
REQUIRED: dict[str, _Plain] = {
    **{ours: _Plain((f"node_memory_{theirs}_bytes",)) for ours, theirs in MEMORY.items()},
    "context_switches": _Plain(("node_context_switches_total",)),
    **{f"vm_{what}": _Plain((f"node_vmstat_{what}",)) for what in ("pswpin", "pswpout", "pgmajfault")},
    "disk_reads": _Plain(("node_disk_reads_completed_total",), of="disk"),
    "disk_writes": _Plain(("node_disk_writes_completed_total",), of="disk"),
    "disk_read_bytes": _Plain(("node_disk_read_bytes_total",), of="disk"),
    "disk_write_bytes": _Plain(("node_disk_written_bytes_total",), of="disk"),
    "disk_busy_ms": _Plain(("node_disk_io_time_seconds_total",), MS, "disk"),
    "disk_wait_ms": _Plain(("node_disk_read_time_seconds_total", "node_disk_write_time_seconds_total"), MS, "disk"),
    **{
        f"{of}_{ours}": _Plain(theirs, of=of)
        for of in ("net", "lo")
        for ours, theirs in {
            "in_bytes": ("node_network_receive_bytes_total",), "out_bytes": ("node_network_transmit_bytes_total",),
            "in_packets": ("node_network_receive_packets_total",), "out_packets": ("node_network_transmit_packets_total",),
            "drops": ("node_network_receive_drop_total", "node_network_transmit_drop_total"),
        }.items()
    },
    "tcp_in_segments": _Plain(("node_netstat_Tcp_InSegs",)),
    "tcp_out_segments": _Plain(("node_netstat_Tcp_OutSegs",)),
    "tcp_retransmitted_segments": _Plain(("node_netstat_Tcp_RetransSegs",)),
}  # fmt: skip
"""Without these a host's use is not known."""
WISHED: dict[str, _Plain] = {
    "run_delay_us": _Plain(("node_schedstat_waiting_seconds_total",), US),
    "pressure_cpu_some_us": _Plain(("node_pressure_cpu_waiting_seconds_total",), US),
    "pressure_io_some_us": _Plain(("node_pressure_io_waiting_seconds_total",), US),
    "pressure_io_full_us": _Plain(("node_pressure_io_stalled_seconds_total",), US),
    "pressure_memory_some_us": _Plain(("node_pressure_memory_waiting_seconds_total",), US),
    "pressure_memory_full_us": _Plain(("node_pressure_memory_stalled_seconds_total",), US),
}
"""Signs of waiting that not every kernel keeps."""
NAMES: frozenset[str] = frozenset(
    {CPU, *SWAP, SPEED, UP, KERNEL, CPU_MODEL, *(name for plain in (*REQUIRED.values(), *WISHED.values()) for name in plain.theirs)}
)
"""All series that are read."""
TURN_ON = "Turn on node_exporter's collectors cpu, meminfo, vmstat, diskstats, netdev, netstat and stat."
"""What to do where required ones are missing."""

_PART = re.compile(r"^p?[0-9]+$")
VIRTUAL_DISKS = ("loop", "ram", "zram", "dm-", "md", "sr")
STACKED = (
    "bond", "br-", "br0", "cali", "cilium", "cni", "docker", "dummy", "eni", "flannel", "genev", "gre",
    "kube-", "lxc", "ovs", "tap", "team", "tun", "veth", "virbr", "vlan", "vxlan", "wg",
)  # fmt: skip
"""As in rust/sampler/src/host.rs: their traffic also passes a device below them. Those of pods are among them."""


@dataclass(frozen=True)
class HostReading:
    """A host at one moment."""

    counters: dict[str, int]
    missing: tuple[str, ...]
    """Series without which its use is not known."""


def read_host(series: Iterable[Series]) -> HostReading:
    """A host's counters from one scrape."""
    by_name: dict[str, list[Series]] = defaultdict(list)
    for one in series:
        by_name[one.name].append(one)
    counted = by_name.keys()
    missing = {name for plain in REQUIRED.values() for name in plain.theirs if name not in counted}
    missing |= {name for name in (CPU, *SWAP) if name not in counted}
    if missing:
        return HostReading({}, tuple(sorted(missing)))
    chosen = _devices(by_name)
    counters = {ours: _sum(by_name, plain, chosen) for ours, plain in REQUIRED.items()}
    counters |= {ours: _sum(by_name, plain, chosen) for ours, plain in WISHED.items() if all(name in counted for name in plain.theirs)}
    for mode in MODES:
        counters[f"cpu_{mode}_us"] = round(sum(one.value for one in by_name[CPU] if one.labels.get("mode") == mode) * US)
    counters["cpu_count"] = len({one.labels.get("cpu") for one in by_name[CPU]})
    total, free = (by_name[name][0].value for name in SWAP)
    counters["swap_used_bytes"] = round(total - free)
    return HostReading(counters, ())


@dataclass(frozen=True)
class HostHardware:
    """What a machine has."""

    cores: int
    memory_bytes: int
    kernel: str | None
    cpu_model: str | None
    link_bytes_per_s: float | None
    """The nominal speed of its links together; None where they do not say, as virtual ones."""


def read_hardware(series: Sequence[Series]) -> HostHardware:
    """A machine from one scrape, of which `read_host` misses nothing."""
    host = read_host(series).counters
    up = {one.labels.get("device") for one in series if one.name == UP and one.value}
    speeds = [
        one.value for one in series
        if one.name == SPEED and one.value > 0 and one.labels.get("device") in up and _is_link(one.labels.get("device", ""))
    ]  # fmt: skip
    kernel = next((one.labels.get("release") for one in series if one.name == KERNEL), None)
    model = next((one.labels.get("model_name") for one in series if one.name == CPU_MODEL), None)
    return HostHardware(host["cpu_count"], host["memory_total_bytes"], kernel, model, sum(speeds) or None)


def _sum(by_name: dict[str, list[Series]], plain: _Plain, chosen: dict[str, Callable[[str], bool]]) -> int:
    counts = chosen.get(plain.of or "", _every)
    values = [one.value for name in plain.theirs for one in by_name[name] if counts(one.labels.get("device", ""))]
    return round(sum(values) * plain.scale)


def _devices(by_name: dict[str, list[Series]]) -> dict[str, Callable[[str], bool]]:
    """The devices whose counters are summed, so that nothing is counted twice."""
    disks = {one.labels.get("device", "") for one in by_name["node_disk_reads_completed_total"]}
    links = {one.labels.get("device", "") for one in by_name["node_network_receive_bytes_total"]}
    plain = any(_is_link(link) for link in links)

    def is_disk(name: str) -> bool:
        is_part = any(name.startswith(disk) and _PART.fullmatch(name[len(disk):]) for disk in disks if disk != name)  # fmt: skip
        return not name.startswith(VIRTUAL_DISKS) and not is_part

    return {"disk": is_disk, "lo": lambda name: name == "lo", "net": lambda name: _is_link(name) if plain else name != "lo"}


def _every(_: str) -> bool:
    return True


def _is_link(name: str) -> bool:
    return name != "lo" and not name.startswith(STACKED)
