"""A host's interface for the rest of hydrotest: a place where nodes and services can be started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Protocol

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.deadlines import SLOW, Patience
from hydrotest.hosts.files import Files
from hydrotest.hosts.locales import utf8_environment
from hydrotest.hosts.node import Node

ASK = Patience.of(an_answer_by_a_slow_machine=SLOW * 100.0)
"""The node itself waits for a system at most so long in total: for a connection, for leaders, and for
each request."""


@dataclass(frozen=True)
class Service:
    """A process to be supervised. `argv` must not contain secrets: every user of the host can read it."""

    name: str
    argv: Sequence[str]
    directory: PurePath
    log: PurePath
    """Both are on its host; the log's folder must exist."""
    env: Mapping[str, str] = field(default_factory=dict)
    grace_s: float = 20.0
    """Time between asking it to end and killing it."""

    def settings(self) -> dict[str, Any]:
        """The settings for `hydrotest-node supervise`."""
        return {"argv": [str(part) for part in self.argv], "env": {**utf8_environment(), **self.env}, "directory": str(self.directory), "log": str(self.log),
                "grace_s": self.grace_s}  # fmt: skip


@dataclass(frozen=True)
class HostFacts:
    """A host's hardware."""

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

    async def until_lost(self) -> str:
        """Waits until it cannot be reached any more, be it for good; returns why."""
        ...

    @property
    def lease_s(self) -> float | None:
        """Time without a word from us after which all that runs there ends; None where the end of the connection always shows
        there."""
        ...

    async def until_reopened(self) -> None:
        """Waits until it is reached anew."""
        ...

    async def reopen(self) -> None:
        """Reaches it anew after it was lost; what ran there is gone.

        Raises `TrialFailedError` or `OSError` where it cannot be reached.
        """
        ...

    async def close(self) -> str | None:
        """Gives up the connection, which ends all that still runs there for us. Returns the problem, if any."""
        ...

    async def node(self, subcommand: str, settings: Mapping[str, Any], program: Sequence[str] = ()) -> Node:
        """Starts hydrotest-node there, or a program that speaks its protocol, and sends it its settings."""
        ...

    async def facts(self) -> HostFacts:
        """What the host has."""
        ...

    @property
    def machine(self) -> str:
        """The machine that it is or is on, which has one set of files: empty for the controller's own."""
        ...

    async def java(self) -> PurePath:
        """The java command there. Raises `MissingToolError` without one of a version that the systems take."""
        ...

    async def copy_of(self, path: Path) -> PurePath:
        """A file or folder of the controller's machine, as it is there: itself, or a copy by content."""
        ...

    @property
    def processors(self) -> int | None:
        """The number of cores that a JVM must assume; None where it detects that itself."""
        ...

    @property
    def data_directory(self) -> PurePath:
        """The folder above all its data."""
        ...

    def emulated(self) -> dict[str, Any] | None:
        """Where a part of a machine keeps its counters (`Emulated` in rust/sampler/src/emulated.rs); None
        for a complete machine."""
        ...

    def queue_drops(self) -> Counting | None:
        """Counts what is dropped in front of its link, from now until it is closed; None where only the
        host itself can know."""
        ...

    @property
    def squeezable(self) -> list[str]:
        """Resources (`cpu`, `disk`, `network`) of which a part can be taken away at run time."""
        ...

    @property
    def relievable(self) -> bool:
        """True if it can get more of these than its own share."""
        ...

    async def give(self, resource: str, factor: float) -> None:
        """Gives it so many times its share of a `squeezable` resource, at once, also for running
        processes. 1 restores the share."""
        ...

    async def free_port(self) -> int:
        """A TCP port of `address` on which nothing listens."""
        ...

    async def reserve_port(self, port: int) -> bool:
        """Keeps this port for a service; false where it is taken."""
        ...

    async def port_holder(self, port: int) -> str | None:
        """The process that listens on a port, as `name (pid)`; None when the port is free."""
        ...

    def scratch(self, run: str) -> PurePath:
        """The folder on the host for a run's data: an absolute path without links.

        It exists once a file has been put into it.
        """
        ...


async def ask(host: Host, subcommand: str, settings: Mapping[str, Any], patience: Patience = ASK, program: Sequence[str] = ()) -> Any:
    """Starts a node, or a `program` that speaks its protocol, for one answer.

    Raises `TrialFailedError` with the node's message, or if no answer comes in that time.
    """
    node = await host.node(subcommand, settings, program)
    try:
        return (await node.expect("done", patience))["result"]
    finally:
        await node.close()


async def ask_while_it_speaks(host: Host, subcommand: str, settings: Mapping[str, Any], silence: Patience, program: Sequence[str]) -> Any:
    """`ask` for what takes as long as there is to do: a program tells now and then that it goes on.

    Raises `TrialFailedError` with its message, and `OverdueError` if it says nothing for so long.
    """
    node = await host.node(subcommand, settings, program)
    try:
        while (event := await node.next_event(silence)) is not None:
            if event["event"] == "done":
                return event["result"]
            if event["event"] == "failed":
                raise TrialFailedError(f"{node.name}: {event['error']}")
        raise TrialFailedError(await node.exit_status_text())
    finally:
        await node.close()
