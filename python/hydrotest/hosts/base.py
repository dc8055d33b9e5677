"""What a host is to the rest of hydrotest: a place where nodes and services can be started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Protocol

from hydrotest.hosts.deadlines import SLOW, Patience
from hydrotest.hosts.files import Files
from hydrotest.hosts.locales import utf8_environment
from hydrotest.hosts.node import Node

ASK = Patience.of(an_answer_by_a_slow_machine=SLOW * 100.0)
"""The node itself waits for a system at most so long in all: for a connection, for leaders, and for each request."""
PLAIN_LOCALE = {"LC_ALL": "C.UTF-8", "LANGUAGE": ""}
"""Environment of a program whose output or error lines we read: in the user's locale numbers, dates and the word "error" are written otherwise."""


@dataclass(frozen=True)
class Service:
    """A process to be supervised. No secret may stand in `argv`: every user of the host can read it."""

    name: str
    argv: Sequence[str]
    directory: PurePath
    log: PurePath
    """Both are on its host; the folder that the log is in has to be there."""
    env: Mapping[str, str] = field(default_factory=dict)
    grace_s: float = 20.0
    """Time between asking it to end and ending it."""

    def settings(self) -> dict[str, Any]:
        """What `hydrotest-node supervise` is told."""
        return {"argv": [str(part) for part in self.argv], "env": {**utf8_environment(), **self.env}, "directory": str(self.directory), "log": str(self.log),
                "grace_s": self.grace_s}  # fmt: skip


@dataclass(frozen=True)
class HostFacts:
    """What a host has."""

    cores: int
    memory_bytes: int
    kernel: str
    cpu_model: str


class Counting(Protocol):
    """Counts something of a host from outside it."""

    async def read(self) -> dict[str, int]:
        """What it has counted so far, by name."""
        ...

    def close(self) -> None:
        """Ends it."""
        ...


class Host(Files, Protocol):
    """A machine with a name, and its files."""

    @property
    def name(self) -> str:
        """Its name in the experiment."""
        ...

    @property
    def address(self) -> str:
        """The address that services on it bind to and clients reach it at."""
        ...

    async def node(self, subcommand: str, settings: Mapping[str, Any], program: Sequence[str] = ()) -> Node:
        """Starts hydrotest-node there, or a program that speaks its protocol, and sends it its settings."""
        ...

    async def facts(self) -> HostFacts:
        """What the host has."""
        ...

    @property
    def processors(self) -> int | None:
        """What a JVM is to take for the number of its cores; None where it sees that itself."""
        ...

    @property
    def data_directory(self) -> PurePath:
        """What its data lie below."""
        ...

    def emulated(self) -> dict[str, Any] | None:
        """Where a part of a machine keeps its counters (`Emulated` in rust/sampler/src/emulated.rs); None for a machine that may be used whole."""
        ...

    def queue_drops(self) -> Counting | None:
        """Counts, from now on until it is closed, what is dropped in front of its link; None where only the host itself could tell."""
        ...

    @property
    def squeezable(self) -> list[str]:
        """Resources (`cpu`, `disk`, `network`) of which part can be taken away while it runs."""
        ...

    @property
    def relievable(self) -> bool:
        """True if more than it has can be given of these."""
        ...

    async def give(self, resource: str, factor: float) -> None:
        """Gives it so many times what it is to have of a `squeezable` resource, at once, also to what runs already; with 1 all of it again."""
        ...

    def free_port(self) -> int:
        """A TCP port of `address` that nothing listens on."""
        ...

    def port_holder(self, port: int) -> str | None:
        """Who listens on a port, as `name (pid)`; None when it is free."""
        ...

    def scratch(self, run: str) -> PurePath:
        """The folder on the host for a run's data: a whole path, without links. It is there once something has been put into it."""
        ...


async def ask(host: Host, subcommand: str, settings: Mapping[str, Any], patience: Patience = ASK) -> Any:
    """Starts a node for one answer. Raises `TrialFailedError` with the node's own words, or if it gives none in that time."""
    node = await host.node(subcommand, settings)
    try:
        return (await node.expect("done", patience))["result"]
    finally:
        await node.close()
