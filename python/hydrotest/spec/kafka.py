"""Kafka in the experiment file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from hydrotest.spec.attach import Answering, ClientSecurity
from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import Name, PropertyValue, SizeBytes
from hydrotest.spec.secret import Secret
from hydrotest.spec.system import MIB, JavaSystem

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment


class KafkaSecurity(ClientSecurity):
    """Security of Kafka's client listener. The brokers connect to each other unencrypted, on separate ports.
    hydrotest creates the authority, certificates and password for the run and removes them at its end; they
    cannot be given. Not possible with a `dataflow` on this Kafka. Of a cluster that is there already (`attach`), they are
    what clients need."""

    sasl: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = Field(None, description="Mechanism by which clients log in.")
    password: Secret | None = Field(None, description="With `attach`: where the user's password is.")

    of_attached: ClassVar[tuple[str, ...]] = (*ClientSecurity.of_attached, "password")
    login_keys: ClassVar[tuple[str, ...]] = ("sasl", "user", "password")
    example: ClassVar[str] = "sasl: SCRAM-SHA-512, user: hydrotest, password: {env: KAFKA_PASSWORD}"


class Kafka(Answering, JavaSystem):
    """Apache Kafka in KRaft mode; each host is broker and controller. Or a cluster that is there already (`attach`), also of
    another make that speaks Kafka's protocol."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["hosts"]}, {"required": ["attach"]}]})
    only_started: ClassVar[frozenset[str]] = frozenset({"release", "config", "heap", "home", "jvm", "port"})

    may_be_remote: ClassVar[bool] = True

    release: Annotated[Literal["4.3", "3.9"], BeforeValidator(str), WithJsonSchema({"enum": ["4.3", "3.9", 4.3, 3.9]})] = Field(
        "4.3", description="Pinned release, unless `home` or KAFKA_HOME names another."
    )
    hosts: list[Name] = Field(default_factory=list, description="A broker on each of these hosts.")
    config: dict[str, PropertyValue] = Field(default_factory=dict, description="Lines of server.properties, passed through.")
    heap: SizeBytes = Field(1024 * MIB, description="Java heap of each broker.")
    security: KafkaSecurity | None = Field(None, description="Encryption and logins of clients.")

    not_in_data: ClassVar[Mapping[str, str]] = {",": "parts the entries of `log.dirs`"}

    own_settings: ClassVar[frozenset[str]] = frozenset({
        "listeners", "advertised.listeners", "listener.security.protocol.map", "inter.broker.listener.name", "controller.listener.names",
        "controller.quorum.voters", "controller.quorum.bootstrap.servers", "process.roles", "node.id", "broker.id", "log.dir", "log.dirs",
        "metadata.log.dir",
    })  # fmt: skip

    def heaps(self) -> list[tuple[str, int]]:
        """(host, heap) of each of its JVMs."""
        return [] if self.is_attached else [(host, self.heap) for host in self.hosts]

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        self.check_attached(name, experiment, checker)
        super().check(name, experiment, checker)
        if self.security is not None:
            self.security.check(name, checker)
            self.security.check_access(name, self.is_attached, checker)
