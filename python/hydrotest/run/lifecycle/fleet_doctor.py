"""What machines of a fleet lack, each with its remedy: login, Java, memory, disk, clocks, and whether they reach each other."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePath

from hydrotest.errors import BadInputError, HydrotestError, MissingToolError, TrialFailedError
from hydrotest.hosts.channel import ConnectionLostError
from hydrotest.hosts.clocks import clock_offset
from hydrotest.hosts.command import run_command
from hydrotest.hosts.monitored.make import source_of
from hydrotest.hosts.remote.host import RemoteHost
from hydrotest.hosts.remote.make import known_hosts
from hydrotest.hosts.remote.reach import reach_of
from hydrotest.hosts.remote.ssh import meaning_of
from hydrotest.run.lifecycle.doctor import DISK_MIN, MEMORY_MIN, OPEN_FILES_MIN, Finding
from hydrotest.spec.fleet_file import Machine
from hydrotest.spec.hosts import CommandHost, SshHost
from hydrotest.spec.monitored import Monitored
from hydrotest.units import show_bytes

RUN = "hydrotest-doctor"
CLOCK_S_MAX = 1.0
"""hydrotest corrects by what it compares; whoever reads logs of several machines cannot."""
BOOT = PurePath("/proc/sys/kernel/random/boot_id")
PAGES = PurePath("/sys/kernel/mm/transparent_hugepage/enabled")
LIMITS = PurePath("/proc/self/limits")
SWAPS = PurePath("/proc/swaps")


async def examine_fleet(fleet: Mapping[str, Machine]) -> list[Finding]:
    """Does all checks on all machines at once. Nothing is started there, and nothing stays but `hydrotest-node`. Of those that
    somebody else monitors, what is seen of them."""
    specs = {name: one for name, one in fleet.items() if not isinstance(one, Monitored)}
    seen = [_seen(name, one) for name, one in fleet.items() if isinstance(one, Monitored)]
    return [*await asyncio.gather(*seen), *await _examine_reached(specs)]


async def _seen(name: str, spec: Monitored) -> Finding:
    try:
        known = await source_of(name, spec).known()
    except BadInputError as error:
        return Finding(f"{name}, counters", "missing", error.message.removeprefix(f"{name}: "), error.hint)
    gauges = f"{len(known.gauges)} gauges of its services" if known.gauges else "no gauge of its services"
    has = f"{known.hardware.cores} cores, {show_bytes(known.hardware.memory_bytes)}"
    return Finding(f"{name}, counters", "ok", f"every {known.every_s:g} s; {has}; {gauges}")


async def _examine_reached(specs: Mapping[str, SshHost | CommandHost]) -> list[Finding]:
    with tempfile.TemporaryDirectory() as folder:
        made = {name: RemoteHost(name, spec, f"{RUN}-{name}", known_hosts(name, spec, Path(folder))) for name, spec in specs.items()}
        try:
            opened = dict(zip(made, await asyncio.gather(*(_opened(host) for host in made.values())), strict=True))
            findings = [found for found in opened.values() if found is not None]
            there = {name: host for name, host in made.items() if opened[name] is None}
            findings += [one for found in await asyncio.gather(*(_of_host(host) for host in there.values())) for one in found]
            return findings + await _one_kernel(there) + await _reach(there)
        finally:
            await asyncio.gather(*(host.leave() for host in made.values()))


async def _opened(host: RemoteHost) -> Finding | None:
    """Why a machine cannot be used at all."""
    try:
        await host.prepare()
    except (ConnectionLostError, MissingToolError) as error:
        meaning = meaning_of(error.said if isinstance(error, ConnectionLostError) else str(error))
        return Finding(f"{host.name}, login", "missing", f"{meaning.what} ({error.message})", meaning.remedy)
    except (OSError, HydrotestError) as error:
        return Finding(f"{host.name}, data", "missing", str(error), "See `data:` of the host: a directory there that you may write to.")
    return None


async def _of_host(host: RemoteHost) -> list[Finding]:
    hub = await host.hub()
    facts = await host.facts()
    user = "root" if hub.hello.uid == 0 else f"user {hub.hello.uid}"
    found = [
        Finding(f"{host.name}, login", "ok", f"{user} on {hub.hello.host_name}, {hub.hello.arch}, Linux {facts.kernel}"),
        Finding(f"{host.name}, cores", "ok", f"{facts.cores}, {facts.cpu_model}"),
        _at_least(f"{host.name}, memory", facts.memory_bytes, MEMORY_MIN, "Give it more; brokers and nodes take more than that."),
    ]
    checks = (_java, _disk, _open_files, _priority, _swap, _huge_pages, _clock)
    for one in await asyncio.gather(*(check(host) for check in checks)):
        found += [one] if one is not None else []
    return found


def _at_least(name: str, there: float, least: float, remedy: str) -> Finding:
    shown = show_bytes(there)
    return Finding(name, "ok", shown) if there >= least else Finding(name, "warning", shown, remedy)


async def _java(host: RemoteHost) -> Finding:
    try:
        return Finding(f"{host.name}, Java", "ok", str(await host.java()))
    except (MissingToolError, TrialFailedError) as error:
        # A host of generators needs none.
        return Finding(f"{host.name}, Java", "warning", error.message, error.hint)


async def _disk(host: RemoteHost) -> Finding:
    folder = host.data_directory
    try:
        said, _ = await run_command("df", ["df", "-Pk", str(folder)], host, folder / "df.log")
        free = int(said.splitlines()[-1].split()[3]) * 1024
    except (TrialFailedError, OSError, ValueError, IndexError) as error:
        return Finding(f"{host.name}, disk", "warning", f"free space of {folder.parent} is unknown: {error}", "Look there by hand.")
    return _at_least(f"{host.name}, disk of {folder.parent}", free, DISK_MIN, "Free some space there, or name another disk by `data:`.")


async def _open_files(host: RemoteHost) -> Finding | None:
    most = await _limit(host, "Max open files")
    if most is None or most >= OPEN_FILES_MIN:
        return None
    return Finding(
        f"{host.name}, open files", "warning", f"at most {most}", f"Raise it there to {OPEN_FILES_MIN:,} (`ulimit -n`, limits.conf)."
    )


async def _priority(host: RemoteHost) -> Finding | None:
    """What root would add: generators that go first where a JVM is busy beside them."""
    if host.spec.sudo != "never" or (await host.hub()).hello.uid == 0 or await _limit(host, "Max realtime priority") != 0:
        return None
    return Finding(
        f"{host.name}, priority", "warning", "generators have no real-time priority there; systems run at nice 19 instead, and generators may still wait for a core",
        "Put them on a host of their own, or allow it: `sudo: generators` at the host, or `USER - rtprio 10` in /etc/security/limits.d there.",
    )  # fmt: skip


async def _limit(host: RemoteHost, name: str) -> int | None:
    """A soft limit of the processes there; None where there is none."""
    line = next((one for one in (await _text(host, LIMITS)).splitlines() if one.startswith(name)), "")
    soft = line.removeprefix(name).split()[:1]
    return int(soft[0]) if soft and soft[0].isdigit() else None


async def _swap(host: RemoteHost) -> Finding | None:
    if len((await _text(host, SWAPS)).splitlines()) < 2:
        return None
    return Finding(
        f"{host.name}, swap", "warning", "on", "Turn it off there for the test (`swapoff -a`): a JVM that is swapped out stalls."
    )


async def _huge_pages(host: RemoteHost) -> Finding | None:
    if "[always]" not in await _text(host, PAGES):
        return None
    return Finding(f"{host.name}, transparent huge pages", "warning", "always", f"Write `madvise` into {PAGES} there: they cause pauses.")


async def _clock(host: RemoteHost) -> Finding:
    offset = await clock_offset(host)
    shown = f"{offset.offset_s * 1e3:+.1f} ms from this machine's, ± {offset.error_s * 1e3:.1f} ms"
    if abs(offset.offset_s) <= CLOCK_S_MAX:
        return Finding(f"{host.name}, clock", "ok", shown)
    return Finding(
        f"{host.name}, clock", "warning", shown, "Set it there (chrony, NTP). hydrotest corrects its own figures, not the systems' logs."
    )


async def _text(host: RemoteHost, path: PurePath) -> str:
    try:
        return (await host.get(path)).decode(errors="replace")
    except OSError:  # not there, or not for us
        return ""


async def _one_kernel(hosts: Mapping[str, RemoteHost]) -> list[Finding]:
    """Hosts that are containers, or names, of one machine: they share what they are measured by."""
    by_boot: dict[str, list[str]] = {}
    for name, host in hosts.items():
        if boot := (await _text(host, BOOT)).strip():
            by_boot.setdefault(boot, []).append(name)
    return [
        Finding(" and ".join(names), "warning", "one kernel: they are containers, or names, of one machine", "Their cores, disks and links are shared.")
        for names in by_boot.values() if len(names) > 1
    ]  # fmt: skip


async def _reach(hosts: Mapping[str, RemoteHost]) -> list[Finding]:
    """Whether each host reaches each other one at a port of its range; by the way, how their clocks differ."""
    found = await reach_of(hosts)
    if found.unreached:
        names = {one: f"{one.one}, address" if one.other is None else f"{one.one} to {one.other}" for one in found.unreached}
        return [Finding(name, "missing", one.why, one.remedy) for one, name in names.items()]
    if len(hosts) < 2:
        return []
    apart_ms = found.clocks_apart_s * 1e3
    return [
        Finding("network", "ok", f"each of {len(hosts)} hosts reaches each other one; their clocks differ by at most {apart_ms:.2f} ms")
    ]
