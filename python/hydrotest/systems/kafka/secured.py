"""A broker's client listener with encryption and logins, and what the stock tools need to pass it.
Source: Kafka documentation, "Security" (PEM key stores: KIP-651).
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydrotest.hosts.cluster import Cluster, Login, TlsFiles
from hydrotest.spec.fields import PropertyValue
from hydrotest.spec.models import KafkaSecurity
from hydrotest.systems.credentials import USER, Authority, Issued, new_password, write_private
from hydrotest.systems.properties import properties_text

LISTENER = "CLIENT"
_PREFIX = "listener.name.client."
_SCRAM = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
"""Number in Kafka's protocol, and digest."""
SCRAM_ITERATIONS = 4096
"""Kafka's default."""


@dataclass(frozen=True)
class Secured:
    """What was made for one run of a secured Kafka."""

    spec: KafkaSecurity
    authority: Authority | None
    tls: TlsFiles | None
    """What clients need."""
    login: Login | None

    @classmethod
    def make(cls, spec: KafkaSecurity, folder: Path) -> Secured:
        """Makes the certificates and the password."""
        login = Login(spec.sasl, USER, new_password()) if spec.sasl is not None else None
        if not spec.tls:
            return cls(spec, None, None, login)
        authority = Authority(folder)
        return cls(spec, authority, authority.client_files(spec.client_certificates), login)

    @property
    def protocol(self) -> str:
        """Kafka's name for it."""
        if self.spec.sasl is None:
            return "SSL"
        return "SASL_SSL" if self.spec.tls else "SASL_PLAINTEXT"

    def server_properties(self, index: int, address: str) -> dict[str, PropertyValue]:
        """The client listener's part of a broker's properties. With `PLAIN` the password is in them."""
        out: dict[str, PropertyValue] = {}
        if self.authority is not None:
            own: Issued = self.authority.issue(f"broker-{index}", [address])
            out |= {
                f"{_PREFIX}ssl.keystore.type": "PEM", f"{_PREFIX}ssl.keystore.location": str(own.both),
                f"{_PREFIX}ssl.truststore.type": "PEM", f"{_PREFIX}ssl.truststore.location": str(self.authority.certificate),
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
        """What the cluster has to know of the login before it is used; None where the properties say it."""
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
    """Java's name for who carries a login out."""
    return "org.apache.kafka.common.security." + ("plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule")


def tool_properties(cluster: Cluster, folder: Path) -> Path | None:
    """A file with what Kafka's own tools need to reach the cluster; None if nothing. Only its owner can read it."""
    tls, login = cluster.tls, cluster.login
    if tls is None and login is None:
        return None
    properties: dict[str, PropertyValue] = {"security.protocol": "SSL" if login is None else "SASL_SSL" if tls else "SASL_PLAINTEXT"}
    if tls is not None:
        properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(tls.authority)}
        if tls.certificate is not None and tls.key is not None:
            both = write_private(folder / "tool-identity.pem", tls.key.read_bytes() + tls.certificate.read_bytes())
            properties |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(both)}
    if login is not None:
        jaas = f'{_module(login.mechanism)} required username="{login.user}" password="{login.password}";'
        properties |= {"sasl.mechanism": login.mechanism, "sasl.jaas.config": jaas}
    return write_private(folder / "tool.properties", properties_text(properties).encode())
