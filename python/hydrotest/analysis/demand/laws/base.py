"""What a law of a workload gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class Work:
    """What operations make each host of a system do, on average over its hosts, a second."""

    drivers: Mapping[str, float]
    """What costs CPU, by name: requests, records, bytes."""
    into: float = 0.0
    """Payload bytes that come in by its link."""
    out: float = 0.0
    """Payload bytes that go out by its link."""
    written: float = 0.0
    """Payload bytes that its disk writes in the end."""
    clients: float = 0.0
    """Of what comes in and goes out: payload bytes from clients and to them."""


@dataclass(frozen=True)
class Load:
    """How a workload is applied."""

    rate: float
    """Operations a second, of all generators."""
    is_closed: bool
    """Without a schedule: with as many in flight as saturate."""
    hosts: int
    """Hosts of its system."""
    on_busiest: bool = False
    """What the busiest host does, where parts cannot be divided evenly; else the mean."""
    ride: float = 1.0
    """Without a schedule: so many batches ride in a request as may, to the power of this: 0 if one goes alone, 1 if all that may do."""
    groups: float = 0.0
    """Consumer groups that read each record as soon as it is there."""


Axis = Callable[[Any], float]
"""From a workload's settings to a number above 0 that a what-if may move."""


@dataclass(frozen=True)
class Axes:
    """Which settings of a workload its law knows: all others must be as they were measured."""

    numbers: Mapping[str, Axis]
    """By key."""
    parts: Mapping[str, Callable[[Any], object]] = field(default_factory=dict)
    """Of a setting among them, the part that must be as it was measured."""
    free: frozenset[str] = field(default_factory=frozenset)
    """Keys without any influence on what a system does for an operation, or that are in a number."""

    def fixed(self, spec: Any) -> dict[str, object]:
        """The settings that must be as they were measured, by key."""
        dumped = {key: value for key, value in spec.model_dump().items() if key not in self.numbers and key not in self.free}
        return dumped | {key: part(spec) for key, part in self.parts.items()}


class Law(Protocol):
    """The law of a kind of workload."""

    axes: Axes

    has_groups: bool
    """Whether its records may be read by consumer groups while it runs, and it knows what that costs."""

    def refusal(self, spec: Any) -> str | None:
        """The setting with which it knows nothing; None if it knows this workload."""
        ...

    def work(self, spec: Any, load: Load) -> Work:
        """What a load makes each host do, on average; or the busiest one."""
        ...

    def batches(self, spec: Any, load: Load) -> float:
        """What rides in requests to each host, a second: batches, or operations."""
        ...

    def riders_max(self, spec: Any, hosts: int) -> float:
        """Batches that may ride in a request at most."""
        ...

    def data_share(self, spec: Any) -> float:
        """Share of the bytes that it writes that is data; the rest is a log of its own, which it writes over."""
        ...

    def kept_share(self, spec: Any) -> float:
        """Share of its operations whose bytes are kept on top of all others: of appended records all, of overwritten rows none."""
        ...

    def copies_needed(self, spec: Any, system: Any) -> int:
        """Copies that must be there for its operations to succeed; `system`: the settings of its system."""
        ...

    def copies_waited(self, spec: Any) -> int:
        """Copies for which an operation waits, while they belong to it."""
        ...

    def data_bytes(self, spec: Any, hosts: int) -> float:
        """Bytes on each host that its operations are spread over; 0 if they are new each time."""
        ...
