"""A broker's client listener with encryption and logins, and the stock tools' access to it.

Source: Kafka documentation, "Security" (PEM key stores: KIP-651).
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from hydrotest.hosts.cluster import Cluster, Login, Tls
from hydrotest.hosts.files import Private
from hydrotest.spec.fields import PropertyValue
from hydrotest.spec.kafka import KafkaSecurity
from hydrotest.systems.credentials import AUTHORITY, USER, Authority, Issued, new_password
from hydrotest.systems.properties import properties_text

LISTENER = "CLIENT"
_PREFIX = "listener.name.client."
_SCRAM = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
"""Number in Kafka's protocol, and digest."""
SCRAM_ITERATIONS = 4096
"""Kafka's default."""


@dataclass(frozen=True)
class Secured:
    """Credentials made for one run of a secured Kafka."""

    spec: KafkaSecurity
    authority: Authority | None
    brokers: list[Issued]
    """With encryption, each broker's certificate."""
    tls: Tls | None
    """The clients' settings."""
    login: Login | None

    @classmethod
    def make(cls, spec: KafkaSecurity, addresses: Sequence[str]) -> Secured:
        """Makes the password, and certificates for brokers at these addresses."""
        login = Login(spec.sasl, USER, new_password()) if spec.sasl is not None else None
        if not spec.tls:
            return cls(spec, None, [], None, login)
        authority = Authority()
        brokers = [authority.issue(f"broker-{index}", [address]) for index, address in enumerate(addresses)]
        return cls(spec, authority, brokers, authority.client(spec.client_certificates), login)

    def render(self, index: int) -> dict[str, str]:
        """The credentials on a broker's host."""
        return {} if self.authority is None else self.authority.render() | self.brokers[index].render()

    @property
    def protocol(self) -> str:
        """Kafka's name for the listener's protocol."""
        if self.spec.sasl is None:
            return "SSL"
        return "SASL_SSL" if self.spec.tls else "SASL_PLAINTEXT"

    def server_properties(self, index: int, folder: PurePath) -> dict[str, PropertyValue]:
        """The client listener's part of a broker's properties, with credentials in `folder`.

        With `PLAIN` it contains the password.
        """
        out: dict[str, PropertyValue] = {}
        if self.authority is not None:
            out |= {
                f"{_PREFIX}ssl.keystore.type": "PEM", f"{_PREFIX}ssl.keystore.location": str(folder / self.brokers[index].both_name),
                f"{_PREFIX}ssl.truststore.type": "PEM", f"{_PREFIX}ssl.truststore.location": str(folder / AUTHORITY),
                f"{_PREFIX}ssl.client.auth": "required" if self.spec.client_certificates else "none",
            }  # fmt: skip
        if self.login is not None:
            mechanism = self.login.mechanism
            users = f' user_{self.login.user}="{self.login.password}"' if mechanism == "PLAIN" else ""
            out |= {
                f"{_PREFIX}sasl.enabled.mechanisms": mechanism,
                f"{_PREFIX}{mechanism.lower()}.sasl.jaas.config": f"{_module(mechanism)} required{users};",
            }
        return out

    def scram(self) -> dict[str, Any] | None:
        """The login that the cluster must get before it is used; None where the properties contain it."""
        if self.login is None or self.login.mechanism not in _SCRAM:
            return None
        number, digest = _SCRAM[self.login.mechanism]
        salt = secrets.token_bytes(16)
        salted = hashlib.pbkdf2_hmac(digest, self.login.password.encode(), salt, SCRAM_ITERATIONS)
        return {
            "user": self.login.user,
            "mechanism": number,
            "iterations": SCRAM_ITERATIONS,
            "salt": list(salt),
            "salted_password": list(salted),
        }


def _module(mechanism: str) -> str:
    """Java's name for the login's implementation."""
    return "org.apache.kafka.common.security." + ("plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule")


def _quoted(text: str) -> str:
    """A value in the JAAS form (`javax.security.auth.login.Configuration`)."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


TOOL_PROPERTIES = "tool.properties"
_TOOL_AUTHORITY = "tool-authority.pem"
_TOOL_IDENTITY = "tool-identity.pem"


def render_tool(cluster: Cluster, folder: PurePath) -> dict[str, str]:
    """The files, to be placed in `folder`, that Kafka's own tools need for the cluster; empty if none."""
    tls, login = cluster.tls, cluster.login
    if tls is None and login is None:
        return {}
    rendered: dict[str, str] = {}
    properties: dict[str, PropertyValue] = {"security.protocol": "SSL" if login is None else "SASL_SSL" if tls else "SASL_PLAINTEXT"}
    if tls is not None:
        rendered[_TOOL_AUTHORITY] = tls.authority
        properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(folder / _TOOL_AUTHORITY)}
    if tls is not None and tls.identity is not None:
        rendered[_TOOL_IDENTITY] = Private(tls.identity.key + tls.identity.certificate)
        properties |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(folder / _TOOL_IDENTITY)}
    if login is not None:
        jaas = f"{_module(login.mechanism)} required username={_quoted(login.user)} password={_quoted(login.password)};"
        properties |= {"sasl.mechanism": login.mechanism, "sasl.jaas.config": jaas}
    return rendered | {TOOL_PROPERTIES: Private(properties_text(properties))}
