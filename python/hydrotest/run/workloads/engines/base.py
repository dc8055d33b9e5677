"""The engines that carry a dataflow from topic to topic: what they have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import Host
from hydrotest.run.workloads.base import Bench
from hydrotest.spec.choice import expected
from hydrotest.spec.dataflow import Dataflow
from hydrotest.systems.cassandra.system import CassandraSystem

BEGIN_S_MAX = 120.0
"""Time for a pipeline to begin to take records."""


@dataclass(frozen=True)
class Places:
    """Where a trial's records go."""

    input: str
    branches: dict[str, str]
    """Topics by level."""
    aggregate: str
    files: dict[str, str]
    """Folders by sink."""
    checkpoints: str
    roots: list[str]
    """The trial's own folders, which hold these."""
    windows: str | None = None
    """The topic of windowed counts, where there are any."""

    @property
    def topics(self) -> list[str]:
        """The topics that the pipeline writes to."""
        return [*self.branches.values(), self.aggregate, *([self.windows] if self.windows is not None else [])]


class Engine(ABC):
    """Begins and ends a pipeline for each trial."""

    reads_committed = False
    """True if its output counts only once it is committed."""

    def __init__(self, name: str, spec: Dataflow, bench: Bench, host: Host) -> None:
        self.name = name
        self.spec = spec
        self.bench = bench
        self.host = host
        self.cluster = bench.systems["kafka"].cluster
        self.progress: list[dict[str, Any]] = []
        """Reports by batch, as far as the engine gives them: query, wall_s, rows, …."""
        self.endings: list[dict[str, Any]] = []
        """Reports by query that an error has ended: query, wall_s, error."""

    @property
    def brokers(self) -> str:
        """The brokers' addresses for clients."""
        return ",".join(self.cluster.addresses)

    @property
    def lasting_services(self) -> tuple[str, ...]:
        """How the names of the services begin that stay up for the whole run."""
        return ()

    @property
    def starts(self) -> int:
        """Number of starts of the engine's long-lived part; it is cold after each."""
        return 0

    async def ready(self) -> None:  # noqa: B027 - most engines have no long-lived part
        """Starts the part that stays up for the whole run."""

    @abstractmethod
    async def begin(self, places: Places) -> None:
        """Starts the pipeline, and returns when it takes records. Raises `TrialFailedError`."""

    @abstractmethod
    async def drained(self, places: Places) -> float | None:
        """Waits until all records in its topics are through; returns the wall time.

        None if it is still at work after `spec.drain`. Raises `TrialFailedError` if it has died.
        """

    @abstractmethod
    def promise(self, sink: str) -> str | None:
        """The guarantee of a sink; None where it is unknown."""

    @abstractmethod
    async def end(self) -> None:
        """Stops the pipeline."""

    async def counted(self, sink: dict[str, Any], levels: Sequence[str], from_s: float, to_s: float) -> dict[str, Any]:
        """The content of a sink of files or rows, with the latencies of records intended between these
        wall times."""
        raise TrialFailedError(f"{self.name} has no such sink as {sink}")

    async def windowed(self, places: Places, from_s: float, to_s: float) -> dict[str, Any]:
        """The topic of windowed counts, with the delays of records intended between these wall times."""
        raise TrialFailedError(f"{self.name} counts no windows")

    async def removed(self, places: Places) -> None:  # noqa: B027 - most leave no files
        """Removes the files of a trial."""

    async def leave(self) -> None:
        """Ends the part that stays up."""
        await self.end()

    def sink(self, name: str, places: Places) -> dict[str, Any]:
        """A sink in the format of jobs/flow."""
        if name == "kafka":
            return {"name": name, "kind": "kafka", "topic": places.aggregate}
        if name == "cassandra":
            cassandra = expected(self.bench.systems["cassandra"], CassandraSystem)
            return {"name": name, "kind": "cassandra", "addresses": cassandra.cluster.addresses, "data_center": cassandra.places[0].dc,
                    "keyspace": places.aggregate.removesuffix("-aggregate").replace("-", "_"), "consistency": self.spec.consistency,
                    "replication": min(self.spec.replication, len(cassandra.hosts))}  # fmt: skip
        return {"name": name, "kind": "files", "format": self.spec.format, "path": places.files[name]}
