"""Missing requirements of this machine, and causes of unsteady figures; each with its remedy."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hydrotest.analysis.resources.quiet import STEAL_MAX
from hydrotest.errors import MissingToolError, SystemFailedError
from hydrotest.hosts.extras import EXTRAS, Extra
from hydrotest.hosts.java import TESTED_MAJOR, find_java, java_major
from hydrotest.hosts.lab.disk import BACKING_DEVICES, TOOLS, bounds_dirty
from hydrotest.hosts.lab.groups import Trees
from hydrotest.hosts.limits import Limits, machine_memory_bytes, usable_cores, usable_memory_bytes
from hydrotest.hosts.local import free_bytes
from hydrotest.hosts.ports import RANGE_SETTING, ephemeral_ports, safe_ports
from hydrotest.jobs.jars import find_javac
from hydrotest.places import cache_home, node_binary
from hydrotest.units import show_bytes

MEMORY_MIN = 4 << 30
DISK_MIN = 8 << 30
OPEN_FILES_MIN = 10_000
PORTS_MIN = 256
"""Ports for the services of a lab."""
STEAL_SAMPLE_S = 1.0


@dataclass(frozen=True)
class Finding:
    """The result of one check. `missing` keeps hydrotest from working, `warning` makes figures unsteady."""

    name: str
    state: Literal["ok", "warning", "missing"]
    found: str
    remedy: str | None = None


def examine() -> list[Finding]:
    """Does all checks; takes about a second (CPU steal is measured)."""
    return [_python(), _node(), _java(), _compiler(), _tool("mvn", "Maven", "apt-get install maven"), _tool("cargo", "Rust", "1.92 or later, from rustup.rs"),
            *map(_extra, EXTRAS), _emulation(), _emulated_disks(), _ports(), _cores(), _memory(), _disk(), _open_files(), _swap(), _huge_pages(),
            _clock_source(), _steal()]  # fmt: skip


def _python() -> Finding:
    # An older Python does not get here: the package refuses it, and so does the Makefile, by name.
    return Finding("Python", "ok", platform.python_version())


def _node() -> Finding:
    try:
        return Finding("hydrotest-node", "ok", node_binary().name)
    except MissingToolError as error:
        return Finding("hydrotest-node", "missing", "not found", error.hint)


def _java() -> Finding:
    try:
        major = java_major(find_java())
    except MissingToolError as error:
        return Finding("Java", "missing", error.message, error.hint)
    if major == TESTED_MAJOR:
        return Finding("Java", "ok", str(major))
    return Finding("Java", "warning", f"{major}; the systems are tested with {TESTED_MAJOR}, and Cassandra 5.0 supports none above it",
                   f"Set JAVA_HOME to a JDK {TESTED_MAJOR}.")  # fmt: skip


def _compiler() -> Finding:
    try:
        return Finding("javac", "ok", str(find_javac().name))
    except MissingToolError as error:
        return Finding("javac", "warning", f"{error.message}; needed for workloads of Spark, HDFS and S3, and dataflows", error.hint)


def _tool(command: str, name: str, remedy: str) -> Finding:
    found = shutil.which(command)
    if found:
        return Finding(name, "ok", f"{command} found")
    purpose = "systems cannot be fetched without it" if command == "mvn" else "needed only to build hydrotest itself"
    return Finding(name, "missing" if command == "mvn" else "warning", f"no {command} on the PATH; {purpose}", f"Install it ({remedy}).")


def _extra(extra: Extra) -> Finding:
    name = f"extra {extra.name}"
    if extra.is_installed:
        return Finding(name, "ok", f"{extra.package} found")
    return Finding(name, "warning", extra.lack, extra.remedy)


def _emulation() -> Finding:
    """The requirements of `connect: netns`; everything else works without them."""
    name = "emulated hosts"
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    if lacking:
        return Finding(name, "warning", f"no {', '.join(lacking)}", "Install util-linux, mount and e2fsprogs.")
    if os.geteuid() != 0:
        return Finding(name, "warning", "they need root", "Run it with sudo where an experiment has `connect: netns`.")
    try:
        trees = Trees.find()
    except SystemFailedError as error:
        return Finding(name, "warning", error.message, error.hint)
    return Finding(name, "ok", f"control groups of version {2 if trees.is_unified else 1}")


def _cores(limits: Limits | None = None) -> Finding:
    limits = limits or Limits.here()
    cores = usable_cores(limits)
    if limits.cores is None:
        return Finding("cores", "ok", f"{cores:g}")
    return Finding("cores", "warning", f"{cores:g} of {os.cpu_count()}, by the quota of this process's control group",
                   "A quota holds everything back for parts of its periods, which shows in latencies: raise it (--cpus of a container).")  # fmt: skip


def _memory(limits: Limits | None = None) -> Finding:
    limits = limits or Limits.here()
    total, usable = machine_memory_bytes(), usable_memory_bytes(limits)
    ok = usable >= MEMORY_MIN
    found = show_bytes(usable) if usable == total else f"{show_bytes(usable)} of {show_bytes(total)}, by this process's control group"
    return Finding("memory", "ok" if ok else "warning", found, None if ok else "Lower the heaps in the experiment.")


def _emulated_disks() -> Finding:
    """Whether the pages that wait for a slow disk can be bounded; any device shows the kernel's abilities."""
    name = "emulated disks"
    devices = list(BACKING_DEVICES.glob("*"))
    if devices and all(map(bounds_dirty, devices)):
        return Finding(name, "ok", "waiting pages can be bounded")
    return Finding(name, "warning", f"Linux {platform.release()} cannot bound the pages that wait for a disk (strict_limit and max_bytes, since 6.2)",
                   "Take a kernel from 6.2 on where hosts have `disk:`; before, writes may look faster than the disk for a while.")  # fmt: skip


def _ports() -> Finding:
    """Services need ports that outgoing connections do not take first."""
    ephemeral = ephemeral_ports()
    there = sum(len(ports) for ports in safe_ports(ephemeral))
    found = f"{there:,} that no outgoing connection takes ({ephemeral.start} to {ephemeral.stop - 1} are for those)"
    if there >= PORTS_MIN:
        return Finding("ports", "ok", found)
    return Finding("ports", "warning", f"{found}; services get free ones among those", f"Leave some: sysctl -w {RANGE_SETTING}.")


def _disk() -> Finding:
    free = free_bytes(cache_home())
    ok = free >= DISK_MIN
    return Finding("disk", "ok" if ok else "warning", f"{show_bytes(free)} free for systems' data",
                   None if ok else "Free some, or name another disk with `data:` of the host.")  # fmt: skip


def _open_files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    ok = hard >= OPEN_FILES_MIN or hard == resource.RLIM_INFINITY
    return Finding("open files", "ok" if ok else "warning", f"{soft} (hard limit {hard})",
                   None if ok else f"Raise it: ulimit -n {OPEN_FILES_MIN}, or nofile in limits.conf.")  # fmt: skip


def _swap() -> Finding:
    lines = Path("/proc/swaps").read_text().splitlines()[1:]
    if not lines:
        return Finding("swap", "ok", "none")
    return Finding(
        "swap", "warning", ", ".join(line.split()[0] for line in lines), "JVMs stall when swapped: swapoff -a, or vm.swappiness=1."
    )


def _huge_pages() -> Finding:
    path = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    text = path.read_text() if path.exists() else "[unknown]"
    state = text.partition("[")[2].partition("]")[0]
    if state == "always":
        return Finding("transparent huge pages", "warning", state, f"Compaction stalls databases: echo madvise > {path}")
    return Finding("transparent huge pages", "ok", state)


def _clock_source() -> Finding:
    path = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    source = path.read_text().strip() if path.exists() else "unknown"
    if source in ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"):
        return Finding("clock source", "ok", source)
    return Finding(
        "clock source", "warning", source, "Reading this clock is slow, which costs the generator; use tsc where the machine allows."
    )


def _steal() -> Finding:
    def read() -> tuple[int, int]:
        fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
        return fields[7], sum(fields[:8])

    steal, total = read()
    time.sleep(STEAL_SAMPLE_S)
    steal_after, total_after = read()
    share = (steal_after - steal) / max(1, total_after - total)
    if share <= STEAL_MAX:
        return Finding("CPU steal", "ok", f"{share:.1%} over {STEAL_SAMPLE_S:g} s, {os.cpu_count()} cores")
    return Finding(
        "CPU steal", "warning", f"{share:.1%}", "Other machines take this one's cores; figures will vary. Use a dedicated machine."
    )
