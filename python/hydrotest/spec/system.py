"""What every system under test has in the experiment file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from hydrotest.spec.base import Model
from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import Port
from hydrotest.spec.lines import Path_

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

MIB = 1 << 20
IN_CLASS_PATH = "parts the entries of a Java class path"


class System(Model):
    """What every system has."""

    memory_key: ClassVar[str] = "heap"
    """The setting to make smaller where there is not enough memory."""

    not_in_data: ClassVar[Mapping[str, str]] = {}
    """Characters that the path of its data cannot contain, and why; none of them can be escaped."""

    may_be_remote: ClassVar[bool] = False
    """It can be on machines of their own (`connect: ssh` or `command`)."""

    @property
    def is_attached(self) -> bool:
        """It is a cluster that is there already."""
        return False

    if TYPE_CHECKING:

        @property
        def hosts(self) -> list[str]:
            """All its hosts: a field, or the hosts of several fields."""
            ...

    @property
    def peers(self) -> list[str]:
        """Its hosts that do the same work."""
        return self.hosts

    def placed(self, name: str) -> list[tuple[str, str]]:
        """(service, host) of each of its services; `name` is the system's."""
        return [] if self.is_attached else [(f"{name}-{index}", host) for index, host in enumerate(self.hosts)]

    def named_hosts(self) -> list[tuple[Path_, str]]:
        """The hosts that its settings name, each with its path of keys."""
        return listed("hosts", self.hosts)

    def heaps(self) -> list[tuple[str, int]]:
        """(host, heap) of each of its JVMs."""
        return []

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        """Raises `BadInputError` for what does not fit the rest of the file. Hosts are checked before."""


def listed(key: str, hosts: Iterable[str]) -> list[tuple[Path_, str]]:
    """For `named_hosts`: the hosts of a list."""
    return [((key, index), host) for index, host in enumerate(hosts)]


class JavaSystem(System):
    """A system that runs on JVMs."""

    home: str | None = Field(
        None,
        description="Your own distribution; if not given, the one that KAFKA_HOME, CASSANDRA_HOME, HADOOP_HOME or SPARK_HOME "
        "names, or else the pinned release (for Spark the installed pyspark).",
    )
    jvm: list[str] = Field(default_factory=list, description="JVM options after hydrotest's own, e.g. [-XX:MaxGCPauseMillis=50].")
    port: Port | None = Field(None, description="Client port; a free one if not given.")

    own_settings: ClassVar[frozenset[str]] = frozenset()
    """Settings that hydrotest makes itself: where services listen, and where their data lies. With others they would be reached from
    outside, or write where hydrotest does not clean up."""

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        for key in sorted(self.own_settings & getattr(self, "config", {}).keys()):
            raise checker.fail(("systems", name, "config", key), f"hydrotest sets {key} itself: services listen where it says, and their data lies "
                               "where it cleans up", "Leave it out.")  # fmt: skip
        addresses = {experiment.listens_at(host) for host in self.hosts}
        if self.port is not None and len(addresses) < len(self.hosts):
            raise checker.fail(("systems", name, "port"), f"{len(self.hosts)} services on one machine cannot share a port",
                               "Leave `port` out: each gets a free one.")  # fmt: skip


class Security(Model):
    """Encryption and logins. Certificates and passwords are created for the run and removed at its end."""

    tls: bool = Field(False, description="Clients' connections are encrypted.")
    client_certificates: bool = Field(False, description="Clients also present a certificate of their own.")

    def check(self, name: str, checker: Checker) -> None:
        """Raises `BadInputError` for settings that are not possible; `name` is the system's."""
        place: Path_ = ("systems", name, "security")
        if self.client_certificates and not self.tls:
            raise checker.fail((*place, "client_certificates"), "certificates are shown when encryption begins", "Add `tls: true`.")
        if not any(value for _, value in self):
            raise checker.fail(place, "it asks for nothing", "Write e.g. {tls: true}, or leave it out.")
