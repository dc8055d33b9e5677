"""All kinds: hydrotest's own, and those of installed packages with an entry point in the group
`hydrotest.kinds`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from hydrotest.errors import MissingToolError
from hydrotest.kinds.builtin import BUILTIN
from hydrotest.kinds.host import HostKind
from hydrotest.kinds.internal import JVM, Internal
from hydrotest.kinds.system import SystemKind
from hydrotest.kinds.test import TestKind
from hydrotest.kinds.workload import WorkloadKind

GROUP = "hydrotest.kinds"
"""An entry point in it names a tuple of kinds, e.g. `echo = "hydrotest_echo.kind:KINDS"`."""

AnyKind = SystemKind | WorkloadKind | TestKind | HostKind
K = TypeVar("K", SystemKind, WorkloadKind, TestKind, HostKind)


class Registry(Mapping[str, K], Generic[K]):
    """The kinds of one sort by name, hydrotest's own first. They are loaded at first use."""

    def __init__(self, sort: type[K]) -> None:
        self._sort: type = sort

    def _found(self) -> Mapping[str, K]:
        found: Mapping[str, Any] = _by_sort()[self._sort]
        return found

    def __getitem__(self, name: str) -> K:
        return self._found()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())


SYSTEMS: Registry[SystemKind] = Registry(SystemKind)
WORKLOADS: Registry[WorkloadKind] = Registry(WorkloadKind)
TESTS: Registry[TestKind] = Registry(TestKind)
HOSTS: Registry[HostKind] = Registry(HostKind)


def internal_limits() -> list[Internal]:
    """Limits inside the systems, and those of every JVM."""
    return [*(limit for system in SYSTEMS.values() for limit in system.limits), *JVM]


@cache
def _by_sort() -> Mapping[type, Mapping[str, AnyKind]]:
    found: dict[type, dict[str, AnyKind]] = {sort: {} for sort in (SystemKind, WorkloadKind, TestKind, HostKind)}
    for module in BUILTIN:
        _add(found, import_module(f"hydrotest.kinds.builtin.{module}").KINDS, "hydrotest itself")
    for point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        whose = f"the extension {point.name} ({point.value})"
        try:
            kinds = point.load()
        except Exception as error:  # a foreign module may raise anything while it is imported
            raise MissingToolError(f"{whose} cannot be loaded: {type(error).__name__}: {error}", "Correct it, or uninstall it.") from error
        _add(found, kinds, whose)
    return MappingProxyType({sort: MappingProxyType(kinds) for sort, kinds in found.items()})


def _add(found: Mapping[type, dict[str, AnyKind]], kinds: Iterable[AnyKind], whose: str) -> None:
    for kind in kinds:
        if type(kind) not in found:
            raise MissingToolError(
                f"{whose} registers {kind!r}, which is not a kind", "Register SystemKind, WorkloadKind, TestKind or HostKind."
            )
        if kind.name in found[type(kind)]:
            raise MissingToolError(f"{whose} registers {kind.name!r} a second time", "Give it another name.")
        found[type(kind)][kind.name] = kind
