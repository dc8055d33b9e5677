"""The hosts of a run and their measured ceilings, before anything is started on them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

from hydrotest.errors import RunFailedError, TrialFailedError
from hydrotest.hosts.base import Host, ask
from hydrotest.hosts.clocks import clock_offset
from hydrotest.hosts.deadlines import SLOW, Patience, at_once
from hydrotest.hosts.lab.netns import NetnsHost, machine_cores
from hydrotest.hosts.monitored.source import Known
from hydrotest.run.lifecycle.events import Silent, Warn
from hydrotest.spec.choice import narrowed
from hydrotest.spec.hosts import PAYLOAD, Placed
from hydrotest.spec.hosts import NetnsHost as NetnsSpec
from hydrotest.systems.fetch import ProgressCallback

DISK_BYTES = 256 << 20
DISK_S = 3.0
"""On a slow emulated disk, the test file takes this many seconds at the disk's own speed."""
DISK_BYTES_PER_S_MIN = 1e6
"""Lower bound of a disk's speed."""
DISK_PARTS = 4
"""A small disk is filled to one of so many parts."""
NULL_S = 0.5
UNHEARD = Silent()
DOCTOR = "`hydrotest doctor` shows what this machine lacks."
ROOM = 0.5
"""Share of a machine's cores that hosts which are measured at the same time have, at most."""
EMULATED_TO = 0.05
"""An emulated host must give what was asked for, within this share of it."""


async def survey(
    specs: Mapping[str, Placed], hosts: Mapping[str, Host], run: str, say: ProgressCallback, warn: Warn = UNHEARD.warn
) -> list[dict[str, Any]]:
    """Each host with its hardware, clock and ceilings, as in environment.json.

    Reports what emulated hosts give, and warns where that differs from what was asked for. Raises
    `RunFailedError` where a host cannot be measured.
    """
    emulated = [found for host in hosts.values() if (found := narrowed(host, NetnsHost)) is not None]
    linked = [host for name, host in hosts.items() if specs[name].reach != "loopback"]
    by_name: dict[str, dict[str, Any]] = {}
    machines: set[str] = set()

    @asynccontextmanager
    async def measuring(host: Host) -> AsyncIterator[None]:
        try:
            yield
        except TrialFailedError as error:
            raise RunFailedError(f"the ceilings of {host.name} cannot be measured: {error.message}", DOCTOR) from error

    async def measure_disk(host: NetnsHost) -> None:
        async with measuring(host):
            disks[host.name] = await _disk(host, run)

    async def measure(host: Host, is_first: bool) -> None:
        async with measuring(host):
            by_name[host.name] = await _one(host, specs[host.name].connect, run, _neighbour(host, linked), disks.get(host.name), is_first)

    # Disks of emulated hosts are bounded each by itself, and used all at once later. Cores and links are not measured meanwhile: those of
    # hosts that have a part of the machine are measured while those of some others are.
    disks: dict[str, dict[str, Any]] = {}
    await at_once(measure_disk(host) for host in emulated if host.spec.disk is not None)
    booted = dict(zip(hosts, await asyncio.gather(*map(_boot_id, hosts.values())), strict=True))
    parts = parts_of({host.name: host.spec for host in emulated}, machine_cores())
    for wave in waves(hosts.values(), linked, booted, parts):
        first = {host.machine: host for host in reversed(wave) if host.machine not in machines}
        await at_once(measure(host, host is first.get(host.machine)) for host in wave)
        machines |= first.keys()
    surveyed = [by_name[name] for name in hosts]
    for host in emulated:
        asked = wanted(host, has_link=len(linked) > 1)
        given = next(one["ceilings"] for one in surveyed if one["name"] == host.name)
        stated = ", ".join(tell(what, given.get(what), wish) for what, wish in asked.items())
        if stated:
            say(f"{host.name} gives {stated}")
        if host.disk is not None and not host.disk.is_strict:
            warn(
                f"{host.name}: this kernel (before 6.2) does not bound the pages that wait for its disk: what is written may be faster than the disk for a while",
                "Use Linux 6.2 or later, or measure for minutes.",
            )
        for what, wish in asked.items():
            got = given.get(what)
            if got is not None and abs(got / wish - 1) > EMULATED_TO:
                warn(
                    f"{host.name}: {what} is {got / wish:.0%} of what was asked for",
                    "Ask for less; shares of use refer to what was measured.",
                )
    for host in emulated:
        if host.spec.burst is not None:
            await asyncio.to_thread(host.start_burst)
    return surveyed


async def _disk(host: NetnsHost, run: str) -> dict[str, Any]:
    """What an emulated host's own disk gives."""
    assert host.spec.disk is not None
    disk_bytes = min(DISK_BYTES, round(host.spec.disk / 8 * DISK_S), host.spec.disk_size // DISK_PARTS)
    settings = {**await _settings(host, run), "disk_bytes": disk_bytes, "disk_alone": True}
    return await ask(host, "ceiling", settings, _patience(disk_bytes))  # type: ignore[no-any-return]


async def _settings(host: Host, run: str) -> dict[str, Any]:
    """`CeilingSettings` of rust/node/src/ceiling.rs, without what is measured."""
    directory = host.scratch(run)
    await host.make_folder(directory)
    has_quota = bool((host.emulated() or {}).get("cores"))
    return {"directory": str(directory), "disk_bytes": 0, "null_s": 0.0, "has_quota": has_quota, "sink": None}


def _patience(disk_bytes: int) -> Patience:
    return Patience.of(writing_and_reading_a_file=2 * disk_bytes / DISK_BYTES_PER_S_MIN, cores_and_link=SLOW * 60.0)


async def _one(host: Host, connect: str, run: str, neighbour: Host | None, disk: dict[str, Any] | None, is_first: bool) -> dict[str, Any]:
    """A host as in environment.json; `disk`: what its disk gives, if that is known."""
    facts = await host.facts()
    clock = await clock_offset(host)
    part = narrowed(host, NetnsHost)
    disk_bytes = DISK_BYTES if disk is None else 0
    settings = {
        **await _settings(host, run), "disk_bytes": disk_bytes,
        # A generator's own ceiling is that of its machine, and measured once there.
        "null_s": NULL_S if is_first else 0.0,
    }  # fmt: skip
    patience = _patience(disk_bytes)
    if neighbour is None:
        found = await ask(host, "ceiling", settings, patience)
        if connect != "local":
            # The measurement used its loopback.
            found["network_bytes_per_s"] = None
    else:
        listen = f"{neighbour.address}:{await neighbour.free_port()}"
        sink = await neighbour.node("sink", {"listen": listen})
        shaped = narrowed(neighbour, NetnsHost)
        try:
            if shaped is not None:
                await asyncio.to_thread(shaped.unshape_link)
            await sink.expect("ready")
            found = await ask(host, "ceiling", settings | {"sink": listen}, patience)
            found["network_bytes_per_s"] = (await sink.expect("done"))["result"]["bytes_per_s"]
        finally:
            if shaped is not None:
                await asyncio.to_thread(shaped.shape_link)
            await sink.close()
    found |= disk or {}
    has_quota = settings["has_quota"]
    ceilings = {
        # Use is CPU time, so its ceiling is, too: of two hyper-threads two cores, though they compute as much as 1.2.
        "cpu_cores": found["cpu_cores"] if has_quota else float(facts.cores),
        "parallel_cores": None if has_quota else found["cpu_cores"],
        "disk_write_bytes_per_s": found["disk_write_bytes_per_s"],
        "disk_read_bytes_per_s": found["disk_read_bytes_per_s"], "network_bytes_per_s": found["network_bytes_per_s"],
        "memory_bytes": facts.memory_bytes, "generator_null_per_core_s": found["generator_null_per_core_s"],
        "wake_cpu_us": found["wake_cpu_us"],
    }  # fmt: skip
    return {"name": host.name, "connect": connect, "cores": facts.cores, "memory_bytes": facts.memory_bytes,
            "kernel": facts.kernel, "cpu_model": facts.cpu_model, "clock": asdict(clock),
            "disk_device": found["disk_device"], **({"machine_cores": machine_cores()} if part is not None else {}),
             **({"dirty_pages_bounded": part.disk.is_strict} if part is not None and part.disk is not None else {}),
            "ceilings": {key: value for key, value in ceilings.items() if value is not None}}  # fmt: skip


LINKS = PurePath("/sys/class/net")


async def seen_host(host: Host, connect: str) -> dict[str, Any]:
    """A host of a cluster that others use, as in environment.json: what it has is counted, and nothing is tried."""
    facts, clock = await host.facts(), await clock_offset(host)
    return {"name": host.name, "connect": connect, "cores": facts.cores, "memory_bytes": facts.memory_bytes, "kernel": facts.kernel,
            "cpu_model": facts.cpu_model, "clock": asdict(clock), "disk_device": None,
            "every_s": 1.0, "ceilings": {"cpu_cores": float(facts.cores), "memory_bytes": facts.memory_bytes, **await _nominal_link(host)}}  # fmt: skip


async def _nominal_link(host: Host) -> dict[str, float]:
    """What the host's links are said to carry: nothing is sent to find out. What a virtual one says is not its speed."""
    speeds = []
    devices = (await host.get(PurePath("/proc/net/dev"))).decode().splitlines()[2:]
    for name in (line.partition(":")[0].strip() for line in devices):
        try:
            if await host.size(LINKS / name / "device/uevent") is not None:
                speeds.append(int((await host.get(LINKS / name / "speed")).decode()) * 1e6 / 8)
        except (OSError, ValueError):  # one that is down cannot be read
            continue
    known = [speed for speed in speeds if speed > 0]
    return {"network_bytes_per_s": sum(known)} if known else {}


def monitored_host(name: str, connect: str, known: Known) -> dict[str, Any]:
    """A machine that somebody else monitors, as in environment.json."""
    has = known.hardware
    link = {} if has.link_bytes_per_s is None else {"network_bytes_per_s": has.link_bytes_per_s}
    return {"name": name, "connect": connect, "cores": has.cores, "memory_bytes": has.memory_bytes, "kernel": has.kernel,
            "cpu_model": has.cpu_model, "clock": None, "disk_device": None, "every_s": known.every_s,
            "ceilings": {"cpu_cores": float(has.cores), "memory_bytes": has.memory_bytes, **link}}  # fmt: skip


def _neighbour(host: Host, linked: list[Host]) -> Host | None:
    """The host to which the link is measured: the next one of those with a link.

    An emulated one's own link is unbounded meanwhile, so that the other host's link is measured.
    """
    if host not in linked or len(linked) < 2:
        return None
    return linked[(linked.index(host) + 1) % len(linked)]


BOOT_ID = PurePath("/proc/sys/kernel/random/boot_id")


async def _boot_id(host: Host) -> str:
    """Of the kernel that it runs on: containers, and users, of one machine have the same. Where it is not shown, the host's own name."""
    try:
        return (await host.get(BOOT_ID)).decode().strip()
    except OSError:
        return host.name
    except TrialFailedError as error:
        raise RunFailedError(f"{host.name} cannot be measured: {error.message}", DOCTOR) from error


def parts_of(specs: Mapping[str, NetnsSpec], cores: float) -> dict[str, float]:
    """The share of its machine's cores of each emulated host that has a part of all that is measured: what has no disk or link of its own
    is measured by the machine's, which it must not share meanwhile."""
    return {
        name: spec.core_count / cores
        for name, spec in specs.items()
        if spec.core_count is not None and spec.disk is not None and spec.network is not None
    }


@dataclass
class _Wave:
    """What is measured at the same time."""

    hosts: list[Host]
    ends: set[str]
    """Hosts that are measured, or take another's bytes."""
    used: dict[str, float]
    """Share of each machine's cores."""

    def has_room(self, ends: set[str], used: Mapping[str, float]) -> bool:
        """Whether one more disturbs none of the others."""
        return self.ends.isdisjoint(ends) and all(
            machine not in self.used or self.used[machine] + share <= ROOM for machine, share in used.items()
        )


def waves(hosts: Iterable[Host], linked: list[Host], booted: Mapping[str, str], parts: Mapping[str, float]) -> list[list[Host]]:
    """Hosts that are measured at the same time. None is measured, or takes another's bytes, twice in a wave; those of one machine only
    where each has a part of its cores to itself, and together they leave it idle for half of the time. `booted`: which machine each host
    is of, by its kernel; `parts`: the share of its machine's cores that a host has."""
    found: list[_Wave] = []
    for host in hosts:
        neighbour = _neighbour(host, linked)
        ends = {host.name} if neighbour is None else {host.name, neighbour.name}
        used = {booted[host.name]: parts.get(host.name, 1.0)}
        if neighbour is not None and neighbour.name not in parts:
            # On this machine, what takes the bytes has no part in what is measured.
            used.setdefault(booted[neighbour.name], 1.0)
        wave = next((one for one in found if one.has_room(ends, used)), None)
        if wave is None:
            found.append(wave := _Wave([], set(), {}))
        wave.hosts.append(host)
        wave.ends |= ends
        for machine, share in used.items():
            wave.used[machine] = wave.used.get(machine, 0.0) + share
    return [wave.hosts for wave in found]


def wanted(host: NetnsHost, has_link: bool) -> dict[str, float]:
    """What the experiment asks of an emulated host, by ceiling.

    `has_link`: its link is measured, to another host.
    """
    asked: dict[str, float] = {}
    if host.spec.core_count is not None:
        asked["cpu_cores"] = host.spec.core_count
    if host.spec.disk is not None:
        asked |= {"disk_write_bytes_per_s": host.spec.disk / 8, "disk_read_bytes_per_s": host.spec.disk / 8}
    if has_link and host.spec.network is not None:
        asked["network_bytes_per_s"] = host.spec.network / 8 * PAYLOAD
    return asked


NAMES = {"cpu_cores": "cores", "disk_write_bytes_per_s": "MB/s written", "disk_read_bytes_per_s": "MB/s read",
         "network_bytes_per_s": "Mbit/s to the next host"}  # fmt: skip
SCALES = {"cpu_cores": 1.0, "disk_write_bytes_per_s": 1e6, "disk_read_bytes_per_s": 1e6, "network_bytes_per_s": 1e6 / 8}


def tell(what: str, got: float | None, wish: float) -> str:
    """One ceiling, with the value that was asked for."""
    given = "an unknown number of" if got is None else f"{got / SCALES[what]:,.3g}"
    return f"{given} of {wish / SCALES[what]:,.3g} {NAMES[what]}"
