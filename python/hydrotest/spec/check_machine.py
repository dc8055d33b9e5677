"""Checks the resources of emulated hosts against the machine's. Pure: the machine's resources are passed
in."""

from __future__ import annotations

from dataclasses import dataclass

from hydrotest.errors import BadInputError
from hydrotest.spec.check import memory_needed
from hydrotest.spec.checker import Checker
from hydrotest.spec.hosts import NetnsHost
from hydrotest.spec.lines import Document
from hydrotest.spec.models import Experiment
from hydrotest.units import show_bytes


@dataclass(frozen=True)
class Machine:
    """The resources of this machine."""

    cores: float
    memory_bytes: int
    disk_bytes: int
    """Free space where the systems keep their data."""


def check_machine(experiment: Experiment, document: Document, machine: Machine) -> None:
    """Raises `BadInputError` if an emulated host gets more than there is, or all of them together get more
    memory or disk.

    Cores may be given more than once: hosts that idle at different times share them well, and `check` reports
    it. A disk of the default size is checked only alone, since its file grows with what is written.
    """
    checker = Checker(document)
    emulated = experiment.hosts_of(NetnsHost)
    for name, host in emulated.items():
        cores = host.core_count
        if cores is not None and cores > machine.cores:
            raise checker.fail(("hosts", name, "cores"), f"{name} is given {cores:.3g} cores; this machine has {machine.cores:.3g}",
                               f"Give it {machine.cores:.3g} at most, or leave `cores` out: then it has all of the machine's.")  # fmt: skip
        if host.memory is not None and host.memory > machine.memory_bytes:
            raise checker.fail(("hosts", name, "memory"), f"{name} is given {show_bytes(host.memory)} of memory; this machine has "
                               f"{show_bytes(machine.memory_bytes)}", "Give it less.")  # fmt: skip
        if host.disk is not None and host.disk_size > machine.disk_bytes:
            raise checker.fail(("hosts", name, "disk_size" if _has_size(host) else "disk"), f"{name} is given a disk of {show_bytes(host.disk_size)}; there are "
                               f"{show_bytes(machine.disk_bytes)} free where the data lie",
                               "Give it a smaller `disk_size`, or name another disk with `data:`.")  # fmt: skip
    _check_whole(emulated, machine, checker)
    _check_memory(emulated, experiment, machine, checker)
    _check_disks(emulated, machine, checker)


def _check_whole(emulated: dict[str, NetnsHost], machine: Machine, checker: Checker) -> None:
    whole = {name: host.whole for name, host in emulated.items() if host.whole}
    left = machine.cores - sum(whole.values())
    if whole and left < 1:
        raise checker.fail(("hosts", next(iter(whole)), "cores"), f"{sum(whole.values())} cores are to be whole; this machine has {machine.cores:.3g}, "
                           "and one must be left for hydrotest and the other hosts", "Give fewer hosts whole cores.")  # fmt: skip
    for name, host in emulated.items():
        if whole and host.quota is not None and host.quota > left:
            raise checker.fail(("hosts", name, "cores"), f"{name} is given {host.quota:.3g} cores; whole ones leave {left:.3g}",
                               f"Give it {left:.3g} at most.")  # fmt: skip


def _check_memory(emulated: dict[str, NetnsHost], experiment: Experiment, machine: Machine, checker: Checker) -> None:
    needed = memory_needed(experiment)
    limits = {name: needed[name] if host.memory is None else host.memory for name, host in emulated.items()}
    if sum(limits.values()) > machine.memory_bytes:
        raise _too_much(limits, "memory", f"this machine has {show_bytes(machine.memory_bytes)}", "Give them less `memory`.", checker)


def _check_disks(emulated: dict[str, NetnsHost], machine: Machine, checker: Checker) -> None:
    sizes = {name: host.disk_size for name, host in emulated.items() if host.disk is not None and _has_size(host)}
    if sum(sizes.values()) > machine.disk_bytes:
        raise _too_much(sizes, "disk_size", f"{show_bytes(machine.disk_bytes)} are free where the data lie",
                        "Give them smaller ones, or name another disk with `data:`.", checker)  # fmt: skip


def _too_much(given: dict[str, int], key: str, there: str, hint: str, checker: Checker) -> BadInputError:
    """Refuses too large a sum over all hosts, at the line of the host that gets most."""
    most = max(given, key=lambda name: given[name])
    parts = ", ".join(f"{name} {show_bytes(size)}" for name, size in given.items())
    return checker.fail(("hosts", most, key), f"the emulated hosts get {show_bytes(sum(given.values()))} of {key} ({parts}); {there}", hint)


def _has_size(host: NetnsHost) -> bool:
    """True if the file gives the size of its disk."""
    return "disk_size" in host.model_fields_set
