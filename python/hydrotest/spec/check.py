"""Checks across models: names that must exist, replicas that need hosts, memory that must be available. Each
kind's own checks are in its model."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address

from hydrotest.errors import BadInputError
from hydrotest.kinds.registry import internal_limits
from hydrotest.spec.attach import attached, monitored, only_seen
from hydrotest.spec.check_attached import check_attached, check_kinds
from hydrotest.spec.checker import Checker
from hydrotest.spec.hosts import Remote
from hydrotest.spec.lines import Document, Path_
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests.base import WINDOW_S_MIN
from hydrotest.spec.workload import LimitBy
from hydrotest.units import show_bytes

JVM_OVERHEAD_BYTES = 512 << 20
"""What a JVM takes in addition to its heap: 0.4–0.6 GB seen for Kafka and Cassandra, less for Spark."""

CLIENT_OVERHEAD_BYTES = 96 << 20
"""The same of a JVM that is a client: Kafka's own consumer."""

RESERVE_BYTES = 512 << 20
"""Left for the operating system, the generators and the controller."""
EMULATED_RESERVE_BYTES = 128 << 20
"""Left on a host that shares its operating system with others: for generators, and for some page cache."""


def check_files(experiment: Experiment, document: Document) -> None:
    """Raises `BadInputError` for the first file that a workload names and that cannot be used."""
    checker = Checker(document)
    for name, workload in experiment.workloads.items():
        workload.check_files(name, checker)


def check_references(experiment: Experiment, document: Document) -> None:
    """Raises `BadInputError` for the first name or number that does not fit the rest of the file."""
    checker = Checker(document)
    _check_monitored(experiment, checker)
    _check_networks(experiment, checker)
    _check_hosts(experiment, checker)
    _check_remote(experiment, checker)
    for name, system in experiment.systems.present().items():
        system.check(name, experiment, checker)
    _check_windows(experiment, checker)
    for name, workload in experiment.workloads.items():
        workload.check(name, experiment, checker)
    for name in experiment.objectives:
        checker.known(name, experiment.workloads, "the workload", ("objectives", name))
    check_kinds(experiment, checker)
    for index, test in enumerate(experiment.tests):
        test.check(index, experiment, checker)
    check_attached(experiment, checker)


def _check_monitored(experiment: Experiment, checker: Checker) -> None:
    """Machines that are only looked at are part of a cluster that is there already, and nothing else is asked of them."""
    of_clusters = {host for system in attached(experiment).values() for host in system.hosts}
    generating = {host: name for name in experiment.workloads for host in experiment.generator_hosts(name)}
    for name in experiment.hosts:
        if name not in monitored(experiment):
            continue
        place: Path_ = ("hosts", name, "connect")
        for gauge in getattr(experiment.hosts[name], "map", {}):
            checker.known(gauge, [limit.gauge for limit in internal_limits()], "the gauge", ("hosts", name, "map", gauge))
        if name in generating:
            raise checker.fail(place, f"{name} is only looked at: {generating[name]} cannot be carried out there",
                               "Name another host for it by `on`, or let hydrotest reach this one: `connect: ssh`.")  # fmt: skip
        if name not in of_clusters:
            raise checker.fail(place, f"{name} is only looked at, and belongs to no cluster that is there already",
                               f"Write `hosts: [{name}]` beside `attach`, or let hydrotest reach it: `connect: ssh`.")  # fmt: skip


def _check_networks(experiment: Experiment, checker: Checker) -> None:
    """All hosts reach each other."""
    for name, host in experiment.hosts.items():
        if experiment.lab is not None and host.type is not None and host.is_emulated:
            checker.known(host.type, experiment.lab.types, "the type", ("hosts", name, "type"))
    by_network: dict[str, str] = {}
    seen = only_seen(experiment) | monitored(experiment)
    for name, host in experiment.hosts.items():
        if name not in seen:
            by_network.setdefault(host.reach, name)
    if len(by_network) < 2:
        return
    if emulated := by_network.get("emulated"):
        other = next(name for reach, name in by_network.items() if reach != "emulated")
        what = "this machine itself" if experiment.hosts[other].reach == "loopback" else "another machine"
        raise checker.fail(("hosts", other, "connect"), f"{other} is {what}, which cannot reach {emulated}: an emulated network is closed",
                           "Use `connect: netns` for all hosts; without cores, memory, disk and network one has all of the machine's.")  # fmt: skip
    here, there = by_network["loopback"], by_network["real"]
    raise checker.fail(("hosts", here, "connect"), f"{there} is another machine, which cannot reach {here}: what listens there, listens on loopback",
                       "Reach this machine as the others reach it: `connect: command`, `command: [env]`, and its `address` in their network.")  # fmt: skip


def _check_remote(experiment: Experiment, checker: Checker) -> None:
    """What is on machines of their own can be there, and is not open to the world."""
    remote = experiment.hosts_of(Remote)
    if not remote:
        return
    seen: dict[str, str] = {}
    for name, host in remote.items():
        address, place = ip_address(host.address), ("hosts", name, "address")
        # Also with `security:`: brokers and nodes speak plainly among themselves.
        if address.is_global:
            raise checker.fail(place, f"{address} is an address of the public network: anybody could reach what listens there",
                               "Give the host's address in a private network.")  # fmt: skip
        if address.is_loopback or address.is_unspecified or address.is_multicast:
            raise checker.fail(place, f"the other hosts do not reach {name} at {address}", "Give the host's address in their network.")
        if host.address in seen:
            raise checker.fail(place, f"{name} has the address of {seen[host.address]}", "Give each host its own.")
        seen[host.address] = name
    for name, system in experiment.systems.present().items():
        if not system.may_be_remote:
            able = ", ".join(known for known, one in experiment.systems.present().items() if one.may_be_remote) or "kafka, cassandra"
            raise checker.fail(
                ("systems", name), f"{name} is not yet started on machines of their own", f"There are, on such hosts: {able}."
            )
    for name, workload in experiment.workloads.items():
        if not workload.may_be_remote:
            raise checker.fail(("workloads", name), f"workloads of this kind are not yet carried out on machines of their own: {name}",
                               "Use a kind that hydrotest's own generators carry out, with `client: native`.")  # fmt: skip


def _check_hosts(experiment: Experiment, checker: Checker) -> None:
    for name, system in experiment.systems.present().items():
        seen: set[tuple[str | int, str]] = set()
        for keys, host in system.named_hosts():
            place: Path_ = ("systems", name, *keys)
            checker.known(host, experiment.hosts, "the host", place)
            if (keys[0], host) in seen:
                raise checker.fail(place, f"the host {host!r} stands twice", "Name it once.")
            seen.add((keys[0], host))
    first, *others = [(name, host.data) for name, host in experiment.hosts.items() if host.data and not host.is_remote] or [("", "")]
    for name, data in others:
        if data != first[1]:
            raise checker.fail(("hosts", name, "data"), f"{data} is not {first[1]}, where {first[0]} has it: all hosts of a run keep their data below one directory",
                               "Give `data` once, or the same to each.")  # fmt: skip


def _check_windows(experiment: Experiment, checker: Checker) -> None:
    warm_up = experiment.warm_up
    if {"least", "most"} <= warm_up.model_fields_set and warm_up.least > warm_up.most:
        raise checker.fail(("warm_up", "least"), f"at least {warm_up.least:g} s of warm-up are more than the most, {warm_up.most:g} s",
                           "Lower `least`, or raise `most`.")  # fmt: skip
    if experiment.search.window < WINDOW_S_MIN:
        raise checker.fail(
            ("search", "window"), f"a window of {experiment.search.window:g} s is too short", f"Take at least {WINDOW_S_MIN:g} s."
        )
    if experiment.search.saturated < WINDOW_S_MIN:
        raise checker.fail(
            ("search", "saturated"), f"{experiment.search.saturated:g} s are too short", f"Take at least {WINDOW_S_MIN:g} s."
        )
    for index, test in enumerate(experiment.tests):
        test.check_times(index, experiment, checker)


def memory_needed(experiment: Experiment) -> dict[str, int]:
    """Bytes that the experiment needs on each host: heaps, JVM overhead, a reserve."""
    needed = {
        name: RESERVE_BYTES if not host.is_emulated else EMULATED_RESERVE_BYTES
        for name, host in experiment.hosts.items()
        if not host.is_monitored
    }
    alone: dict[str, int] = {}
    for system in experiment.systems.present().values():
        for host, heap in system.heaps():
            needed[host] += heap + JVM_OVERHEAD_BYTES
    for name, workload in experiment.workloads.items():
        for host, heap in workload.heaps(name, experiment):
            size = heap + CLIENT_OVERHEAD_BYTES
            if workload.limit_by is LimitBy.PASSES:  # nothing else runs beside a pass
                alone[host] = max(alone.get(host, 0), size)
            else:
                needed[host] += size
    return {host: size + alone.get(host, 0) for host, size in needed.items()}


def check_memory(experiment: Experiment, document: Document, memory_bytes: Mapping[str, int]) -> None:
    """Raises `BadInputError` where a host has less memory than the experiment needs. All local
    hosts are one machine, so their needs add up. `memory_bytes` is the total by host."""
    by_host = memory_needed(experiment)
    for name, host in experiment.hosts.items():
        memory = host.shares.get("memory")
        if memory is not None and by_host[name] > memory:
            raise BadInputError(
                f"{name} needs {show_bytes(by_host[name])} of memory (heaps, {show_bytes(JVM_OVERHEAD_BYTES)} in addition to each, "
                f"{show_bytes(EMULATED_RESERVE_BYTES)} for the rest) and is given {show_bytes(round(memory))}",
                "Give it more, or its services smaller heaps.", file=document.file_of(("hosts",)), line=document.line(("hosts", name, "memory")),
            )  # fmt: skip
    # Another machine says itself what it has, when it is reached.
    needed = sum(size for name, size in by_host.items() if not experiment.hosts[name].is_remote)
    there = min(memory_bytes.values())
    if needed > there:
        present = experiment.systems.present()
        sums = {name: sum(heap + JVM_OVERHEAD_BYTES for _, heap in system.heaps()) for name, system in present.items()}
        largest = max(sums, key=lambda name: sums[name])
        parts = ", ".join(f"{name} {show_bytes(size)}" for name, size in sums.items())
        raise BadInputError(
            f"the experiment needs {show_bytes(needed)} of memory ({parts}, {show_bytes(needed - sum(sums.values()))} in addition); "
            f"this machine has {show_bytes(there)}",
            "Make a heap smaller, or leave a system out.", file=document.file,
            line=document.line(("systems", largest, present[largest].memory_key)),
        )  # fmt: skip
