"""What differs between runs, and where systems are better placed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Differs(StrEnum):
    """What differs between two runs, apart from their results."""

    HARDWARE = "hardware"
    VERSION = "version"
    SETTING = "setting"
    NEIGHBOURS = "neighbours"
    """Other workloads run next to one, or the same with other settings."""
    OTHERS = "others"
    """What others used of a cluster before any load of ours."""


@dataclass(frozen=True)
class Difference:
    """One difference. `key`: of the subject, which is a host, a system, a part of the experiment or a
    workload."""

    of: Differs
    subject: str
    key: str = ""
    first: Any = None
    second: Any = None
    is_in_one_only: bool = False
    """Only one run has it."""
    is_uncompared: bool = False
    """The workload is not compared, since its question differs."""


class Word(StrEnum):
    """How the second of two runs compares to the first, by one quantity."""

    FASTER = "faster"
    SLOWER = "slower"
    MORE = "more"
    LESS = "less"
    SAME = "no significant difference"
    SCATTER = "within the scatter between equal runs"
    """They differ, but one run of each cannot show that it is more than equal runs do; repeated runs can."""
    NOT_COMPARABLE = "not comparable"


class Choice(StrEnum):
    """Where a workload achieves more while the others run."""

    SHARED = "shared hosts"
    OWN = "hosts of their own"
    SAME = "no significant difference"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Contended:
    """A resource that was near its ceiling on a shared host while all ran, and the main users of its
    cores."""

    resource: str
    host: str
    share: float
    users: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Unequal:
    """A resource whose sum over the hosts of systems differs between runs, by run."""

    resource: str
    sums: tuple[tuple[str, float], ...]
