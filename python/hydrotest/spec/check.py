"""Checks across models: names that must exist, replicas that need hosts, memory that must be available. Each
kind's own checks are in its model."""

from __future__ import annotations

from collections.abc import Mapping

from hydrotest.errors import BadInputError
from hydrotest.spec.checker import Checker
from hydrotest.spec.lines import Document, Path_
from hydrotest.spec.models import Experiment
from hydrotest.spec.tests.base import WINDOW_S_MIN
from hydrotest.units import show_bytes

JVM_OVERHEAD_BYTES = 512 << 20
"""What a JVM takes in addition to its heap: 0.4–0.6 GB seen for Kafka and Cassandra, less for Spark."""

RESERVE_BYTES = 512 << 20
"""Left for the operating system, the generators and the controller."""
EMULATED_RESERVE_BYTES = 128 << 20
"""Left on a host that shares its operating system with others: for generators, and for some page cache."""


def check_references(experiment: Experiment, document: Document) -> None:
    """Raises `BadInputError` for the first name or number that does not fit the rest of the file."""
    checker = Checker(document)
    _check_lab(experiment, checker)
    _check_hosts(experiment, checker)
    for name, system in experiment.systems.present().items():
        system.check(name, experiment, checker)
    _check_windows(experiment, checker)
    for name, workload in experiment.workloads.items():
        workload.check(name, experiment, checker)
    for name in experiment.objectives:
        checker.known(name, experiment.workloads, "the workload", ("objectives", name))
    for index, test in enumerate(experiment.tests):
        test.check(index, experiment, checker)


def _check_lab(experiment: Experiment, checker: Checker) -> None:
    """An emulated host's network does not include this machine."""
    emulated = [name for name, host in experiment.hosts.items() if host.is_emulated]
    other = [name for name, host in experiment.hosts.items() if not host.is_emulated]
    for name, host in experiment.hosts.items():
        if experiment.lab is not None and host.type is not None:
            checker.known(host.type, experiment.lab.types, "the type", ("hosts", name, "type"))
    if emulated and other:
        raise checker.fail(("hosts", other[0], "connect"), f"{other[0]} is this machine itself, which cannot reach {emulated[0]}: an emulated "
                           "network is closed", "Use `connect: netns` for all hosts; without cores, memory, disk and network one has all of "
                           "the machine's.")  # fmt: skip


def _check_hosts(experiment: Experiment, checker: Checker) -> None:
    for name, system in experiment.systems.present().items():
        seen: set[tuple[str | int, str]] = set()
        for keys, host in system.named_hosts():
            place: Path_ = ("systems", name, *keys)
            checker.known(host, experiment.hosts, "the host", place)
            if (keys[0], host) in seen:
                raise checker.fail(place, f"the host {host!r} stands twice", "Name it once.")
            seen.add((keys[0], host))
    first, *others = [(name, host.data) for name, host in experiment.hosts.items() if host.data] or [("", "")]
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
    needed = {name: RESERVE_BYTES if not host.is_emulated else EMULATED_RESERVE_BYTES for name, host in experiment.hosts.items()}
    for system in experiment.systems.present().values():
        for host, heap in system.heaps():
            needed[host] += heap + JVM_OVERHEAD_BYTES
    return needed


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
                "Give it more, or its services smaller heaps.", file=document.file, line=document.line(("hosts", name, "memory")),
            )  # fmt: skip
    needed = sum(by_host.values())
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
