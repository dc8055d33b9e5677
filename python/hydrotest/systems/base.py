"""The common base of systems under test: services are placed, started, queried, watched and stopped.

A system describes its services and touches no file. `render` returns the text of their files,
`command` how they are started, and `ready` the questions whose answers show that they serve. This
module carries that out through the services' hosts.
"""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path, PurePath
from typing import Any

from hydrotest.errors import BadInputError, OverdueError, SystemFailedError, TrialFailedError
from hydrotest.hosts.base import Host, Service, ask
from hydrotest.hosts.cluster import Cluster
from hydrotest.hosts.deadlines import Patience, until
from hydrotest.hosts.files import place
from hydrotest.spec.models import Experiment
from hydrotest.systems.class_archive import archive_there
from hydrotest.systems.fetch import EXPORTER, Bundle, ProgressCallback, fetch, newest_version, version_in
from hydrotest.systems.service import OnDeath, RunningService, log_tail

READY = Patience(180.0, "a cold start takes a minute on a slow machine")
POLL_S = 0.25
GAUGES_ADDRESS = "127.0.0.1"
LOGS = "logs"
"""Folder of the services' logs on another machine, in the run's data."""
NOT_STARTED = "Correct what its log shows: often a line of `config:`, or too small a heap."


@dataclass(frozen=True)
class Command:
    """How a service is started. It must not contain secrets."""

    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    gauges_url: str | None = None
    """The address of its gauges."""


@dataclass(frozen=True)
class Ready:
    """A question to a system (of `hydrotest-node ask`), and the answers that show that it serves.

    Unreadable answers do not.
    """

    question: Mapping[str, Any]
    satisfied: Callable[[Any], bool]


@dataclass(frozen=True)
class Programs:
    """What a JVM service needs, as it is on its host."""

    java: PurePath
    jars: PurePath
    """The folder of the system's jars."""
    exporter: PurePath
    classes: PurePath | None = None
    """The archive of its classes, if there is one."""


@dataclass(frozen=True)
class Placement:
    """A new system's experiment, hosts, run, log folder and death callback."""

    experiment: Experiment
    hosts: Mapping[str, Host]
    run: str
    logs: PurePath
    on_death: OnDeath

    def at(self, names: Sequence[str]) -> list[Host]:
        """Hosts by name; those on which nothing runs are left out."""
        return [self.hosts[name] for name in names if name in self.hosts]

    def askers(self, system: str) -> list[Host]:
        """The hosts from which load comes on a system, each once."""
        experiment = self.experiment
        using = [name for name, workload in experiment.workloads.items() if system in workload.uses]
        return self.at(list(dict.fromkeys(host for name in using for host in experiment.generator_hosts(name))))


class System(ABC):
    """One system under test, placed on hosts."""

    name: str
    version: str

    def __init__(self, hosts: Sequence[Host], run: str, logs: PurePath, on_death: OnDeath) -> None:
        self.hosts = list(hosts)
        self.run = run
        self.logs = logs
        self.services: list[RunningService] = []
        self.ends_in_order = True
        """Its services do something at their end that matters. Else they are killed: their data are removed next, and to sign off from
        each other takes them ten seconds."""
        self.recorded: Path | None = None
        """Where its service writes the archive of its classes when it ends; it runs for nothing else, then."""
        self._programs: dict[str, Programs] = {}
        """By machine."""
        self._on_death = on_death

    @property
    @abstractmethod
    def endpoints(self) -> list[str]:
        """The addresses for clients, as `host:port`."""

    @property
    def cluster(self) -> Cluster:
        """The settings for its clients."""
        return Cluster(self.endpoints)

    @property
    def data_center(self) -> str | None:
        """The only one that data are written to; None: as the workload says."""
        return None

    async def start_head(self, say: ProgressCallback) -> None:  # noqa: B027  most systems have none
        """Starts, before any other system, what its other services wait for: else it shares the cores with all of those, and they begin
        when the rest is there. Raises `SystemFailedError`."""

    @abstractmethod
    async def start(self, say: ProgressCallback) -> None:
        """Starts all services and returns when the system serves. Raises `SystemFailedError`."""

    @abstractmethod
    def ready(self) -> list[Ready]:
        """The questions that show, one after the other, that all services run and the system serves."""

    def whole(self) -> list[Ready]:
        """The questions that also show that no copy is behind; most systems have no copies."""
        return self.ready()

    async def until_ready(self) -> None:
        """Returns when all services run and the system serves. Raises `SystemFailedError`."""
        for one in self.ready():
            await self._await_ready(one)

    async def wait_fully_replicated(self) -> None:
        """Returns when it serves and no copy is behind, so that the next service may go.

        Raises `SystemFailedError`.
        """
        for one in self.whole():
            await self._await_ready(one)

    def service(self, name: str) -> RunningService | None:
        """One of its running services."""
        return next((service for service in self.services if service.name == name), None)

    async def stop(self) -> list[str]:
        """Ends all services, at once. Goes on past errors; returns the problems.

        Those that end in good order sign off from each other: one by one, the last would wait in vain for those that are gone (a last
        broker, for a quorum).
        """
        services, self.services = self.services, []
        ended = await asyncio.gather(
            *(service.stop() if self.ends_in_order else service.kill() for service in services), return_exceptions=True
        )
        return [f"{service.name}: {error}" for service, error in zip(services, ended, strict=True) if error is not None]

    def log_folder(self, host: Host) -> PurePath:
        """Where the services on a host write their logs: the run folder, or one there."""
        return self.logs if not host.machine else host.data_directory / LOGS

    def programs(self, host: Host) -> Programs:
        """What was found for a host by `_find_programs`."""
        return self._programs[host.machine]

    async def _find_programs(self, hosts: Sequence[Host], distribution: Distribution, say: ProgressCallback) -> str:
        """Finds, or brings, a system's programs on each of these hosts; returns its version."""
        version = ""
        for host in hosts:
            if host.machine not in self._programs or not version:
                jars, found = await jars_of(host, distribution, say)
                if version not in ("", found):
                    raise BadInputError(
                        f"{host.name} has {distribution.bundle.name} {found}, another host {version}", "Give all hosts the same release."
                    )
                version = found
                exporter = await host.copy_of(await asyncio.to_thread(exporter_jar, say))
                java = await host.java()
                self._programs[host.machine] = Programs(java, jars, exporter, None if host.machine else archive_there(java, jars))
        return version

    def jvm_options(self, host: Host, agents: Sequence[str]) -> list[str]:
        """Of a service's JVM: its agents, and the archive of its classes. One that makes an archive has no agents, as the JVM then makes
        none."""
        if self.recorded is not None:
            return [f"-XX:ArchiveClassesAtExit={self.recorded}"]
        classes = self.programs(host).classes
        return [*agents, *([] if classes is None else [f"-XX:SharedArchiveFile={classes}"])]

    def folder_of(self, host: Host, name: str) -> PurePath:
        """The folder of a service on its host."""
        return host.scratch(self.run) / name

    async def _place(self, host: Host, name: str, rendered: Mapping[str, str], folders: Sequence[str] = ()) -> None:
        """Makes a service's folder, with these files and empty folders."""
        await place(host, self.folder_of(host, name), rendered, folders)

    async def _start(self, host: Host, name: str, command: Command) -> None:
        """Starts a service that has been placed."""
        logs = self.log_folder(host)
        await host.make_folder(logs)
        service = Service(name, command.argv, self.folder_of(host, name), logs / f"{name}.log", command.env)
        await self._launch(host, service, command.gauges_url)

    async def _launch(self, host: Host, service: Service, gauges_url: str | None) -> None:
        self.services.append(await RunningService.start(host, service, gauges_url, self._on_death))

    async def _await_ready(self, ready: Ready) -> Any:
        """Asks the service itself until it answers as wanted; a log line proves nothing."""
        reason = "it never answered"

        async def look() -> tuple[Any] | None:
            nonlocal reason
            for service in self.services:
                if service.death is not None:
                    raise SystemFailedError(f"{self.name} did not start: {service.death}", NOT_STARTED)
            try:
                answer = await ask(self.hosts[0], "query", ready.question)
            except TrialFailedError as error:
                reason = error.message
                return None
            reason = f"it answered {answer}"
            try:
                return (answer,) if ready.satisfied(answer) else None
            except (ValueError, KeyError):  # a web server that is up before its content: an empty page, or half of a status
                return None

        try:
            (found,) = await until(look, READY, self.name, "become ready", POLL_S)
        except OverdueError as error:
            words = "".join([await log_tail(service.host, service.log) for service in self.services])
            message = f"{self.name} did not become ready within {READY.seconds:g} s: {reason}{words}"
            raise SystemFailedError(message, "Give it more cores or heap, or correct what its logs show.") from error
        return found


@dataclass(frozen=True)
class Distribution:
    """Where a system's jars come from."""

    bundle: Bundle
    home: str | None
    """The user's own, as the experiment names it: a folder on each of its hosts."""
    home_variable: str | None
    """The same by the environment, for hosts on the controller's machine."""
    subfolder: str
    """Of the jars, below `home`."""


async def jars_of(host: Host, distribution: Distribution, say: ProgressCallback) -> tuple[PurePath, str]:
    """The folder of a system's jars on a host, and its version.

    It is the user's own distribution there, if one is named, else a copy of the fetched one. Raises
    `BadInputError` for a folder that is none.
    """
    bundle = distribution.bundle
    own = distribution.home or (None if host.machine else distribution.home_variable)
    if own is None:
        # In a thread: hosts wait for a word from us only so long.
        fetched = await asyncio.to_thread(fetch, bundle, say)
        return await host.copy_of(fetched), version_in(fetched, bundle.version_jar) or "unknown"
    folder = PurePath(own if host.machine else os.path.expanduser(own)) / distribution.subfolder
    names = [path.name for path in await host.glob(folder, "**/*.jar")]
    version = newest_version(names, bundle.version_jar) or newest_version(names, "apache-" + bundle.name)
    if version is None:
        where = f" on {host.name}" if host.machine else ""
        wanted = PurePath(distribution.subfolder, bundle.version_jar)
        raise BadInputError(f"the folder{where} is no {bundle.name} distribution: it holds no {wanted}-*.jar",
                            f"Give the folder that a {bundle.name} release unpacks to, or drop `home:`.", file=own)  # fmt: skip
    return folder, version


def exporter_jar(say: ProgressCallback) -> Path:
    """The agent that exports a JVM's gauges, in the controller's cache."""
    return next(fetch(EXPORTER, say).glob("*.jar"))


def exporter_option(jar: PurePath, port: int, gauges: PurePath) -> str:
    """The JVM option that exports a service's gauges on loopback only: the sampler is on the same host."""
    return f"-javaagent:{jar}={GAUGES_ADDRESS}:{port}:{gauges}"


def gauges_url(port: int) -> str:
    """The address of these gauges, for the sampler of the service's host."""
    return f"http://{GAUGES_ADDRESS}:{port}/metrics"


def resource(package: str, name: str) -> str:
    """A text resource of hydrotest's that is placed unchanged."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


async def claim_port(host: Host, wanted: int | None, what: str) -> int:
    """The wanted port, or a free one. Raises `BadInputError` that names the holder of a wanted one."""
    if wanted is None:
        return await host.free_port()
    holder = await host.port_holder(wanted)
    if holder is not None:
        raise BadInputError(
            f"port {wanted} for {what} is taken by {holder}", "End that process, give another port, or none to take a free one."
        )
    return wanted


async def shared_port(hosts: Sequence[Host], wanted: int | None, what: str) -> int:
    """A port that is the same on all these hosts: the wanted one, or one that is free on each."""
    while True:
        port = await claim_port(hosts[0], wanted, what)
        if wanted is not None:
            for host in hosts[1:]:
                await claim_port(host, wanted, what)
            return port
        # On one machine the first has kept it for all.
        is_free = [
            await host.port_holder(port) is None if host.machine == hosts[0].machine else await host.reserve_port(port)
            for host in hosts[1:]
        ]
        if all(is_free):
            return port


def processors_option(host: Host) -> list[str]:
    """The JVM option for the number of cores where the kernel does not show it: a JVM sizes its thread
    pools by it."""
    return [] if host.processors is None else [f"-XX:ActiveProcessorCount={host.processors}"]
