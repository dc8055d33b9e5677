"""What every system under test has in common: services that are started, asked, watched and stopped."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydrotest.errors import BadInputError, OverdueError, SystemFailedError, TrialFailedError
from hydrotest.hosts.base import Host, Service, ask
from hydrotest.hosts.cluster import Cluster
from hydrotest.hosts.deadlines import Patience, until
from hydrotest.systems.fetch import EXPORTER, Bundle, Say, fetch, version_in
from hydrotest.systems.service import OnDeath, RunningService, last_words

READY = Patience(180.0, "a cold start takes a minute on a slow machine")
POLL_S = 0.25


class System(ABC):
    """One system under test, placed on hosts."""

    name: str
    version: str

    def __init__(self, hosts: Sequence[Host], run: str, logs: Path, on_death: OnDeath) -> None:
        self.hosts = list(hosts)
        self.run = run
        self.logs = logs
        self.services: list[RunningService] = []
        self._on_death = on_death

    @property
    @abstractmethod
    def endpoints(self) -> list[str]:
        """Where clients reach it, as `host:port`."""

    @property
    def cluster(self) -> Cluster:
        """What its clients are told."""
        return Cluster(self.endpoints)

    @abstractmethod
    async def start(self, say: Say) -> None:
        """Starts all services and returns when the system serves. Raises `SystemFailedError`."""

    @abstractmethod
    async def until_ready(self) -> None:
        """Returns when all services are there and the system serves. Raises `SystemFailedError`."""

    async def until_whole(self) -> None:
        """Returns when it serves and no copy is behind, so that the next service may go. Raises `SystemFailedError`."""
        await self.until_ready()

    def service(self, name: str) -> RunningService | None:
        """One of its running services."""
        return next((service for service in self.services if service.name == name), None)

    async def stop(self) -> list[str]:
        """Stops all services, at once: each says good-bye to others that are still there, and would wait in vain for those that are not (a
        last broker, for a quorum). Goes on past errors; returns what went wrong."""
        services, self.services = self.services, []
        ended = await asyncio.gather(*(service.stop() for service in services), return_exceptions=True)
        return [f"{service.name}: {error}" for service, error in zip(services, ended, strict=True) if error is not None]

    async def _launch(self, host: Host, service: Service, gauges_url: str | None) -> None:
        self.services.append(await RunningService.start(host, service, gauges_url, self._on_death))

    async def _await_ready(self, question: Mapping[str, Any], satisfied: Callable[[Any], bool]) -> Any:
        """Asks the service itself until it answers as wanted; a log line proves nothing."""
        reason = "it never answered"

        async def look() -> tuple[Any] | None:
            nonlocal reason
            for service in self.services:
                if service.death is not None:
                    raise SystemFailedError(f"{self.name} did not start: {service.death}")
            try:
                answer = await ask(self.hosts[0], "ask", question)
            except TrialFailedError as error:
                reason = error.message
                return None
            reason = f"it answered {answer}"
            try:
                return (answer,) if satisfied(answer) else None
            except (ValueError, KeyError):  # a web server that is up before what it serves: an empty page, or half of a status
                return None

        try:
            (found,) = await until(look, READY, self.name, "become ready", POLL_S)
        except OverdueError as error:
            words = "".join(last_words(service.log) for service in self.services)
            raise SystemFailedError(f"{self.name} did not become ready within {READY.seconds:g} s: {reason}{words}") from error
        return found


def jars_of(bundle: Bundle, home: str | None, home_variable: str | None, subfolder: str, say: Say) -> tuple[list[Path], str]:
    """The folders of a system's jars and its version: a user's own distribution if one is named, else the fetched one."""
    own = home or home_variable
    if own is None:
        folder = fetch(bundle, say)
        return [folder], version_in(folder, bundle.version_jar) or "unknown"
    folder = Path(own).expanduser() / subfolder
    version = version_in(folder, bundle.version_jar) or version_in(folder, "apache-" + bundle.name)
    if version is None:
        message = f"{own} is no {bundle.name} distribution: {folder} holds no {bundle.version_jar}-*.jar"
        raise BadInputError(message, f"Give the folder that a {bundle.name} release unpacks to, or drop `home:`.")
    return [folder], version


def exporter_option(port: int, address: str, gauges: Path, say: Say) -> str:
    """The JVM option that makes a service's gauges readable on `address` only."""
    jar = next(fetch(EXPORTER, say).glob("*.jar"))
    return f"-javaagent:{jar}={address}:{port}:{gauges}"


def claim_port(host: Host, wanted: int | None, what: str) -> int:
    """The wanted port, or a free one. Raises `BadInputError` naming who holds a wanted one."""
    if wanted is None:
        return host.free_port()
    holder = host.port_holder(wanted)
    if holder is not None:
        raise BadInputError(
            f"port {wanted} for {what} is taken by {holder}", "End that process, give another port, or none to take a free one."
        )
    return wanted


def shared_port(hosts: Sequence[Host], wanted: int | None, what: str) -> int:
    """A port that is the same on all these hosts: the wanted one, or one that is free on each."""
    while True:
        port = claim_port(hosts[0], wanted, what)
        if wanted is not None:
            for host in hosts[1:]:
                claim_port(host, wanted, what)
            return port
        if all(host.port_holder(port) is None for host in hosts[1:]):
            return port


def processors_option(host: Host) -> list[str]:
    """The JVM option that tells the number of cores where the kernel does not: a JVM takes its threads' number from it."""
    return [] if host.processors is None else [f"-XX:ActiveProcessorCount={host.processors}"]
