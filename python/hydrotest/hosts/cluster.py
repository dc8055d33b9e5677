"""How clients reach a system: addresses, encryption, and login."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any


@dataclass(frozen=True)
class TlsFiles:
    """What a client needs for encryption, as PEM files."""

    authority: PurePath
    """The certificate that has signed those of the services."""
    certificate: PurePath | None = None
    """The client's own, where the services require one."""
    key: PurePath | None = None


@dataclass(frozen=True)
class Login:
    """A client's user and password."""

    mechanism: str
    """SASL's name for the way in which the password is proven."""
    user: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Cluster:
    """A client's settings for a system."""

    addresses: list[str]
    """`host:port` of some of its services."""
    tls: TlsFiles | None = None
    login: Login | None = None

    def wire(self) -> dict[str, Any]:
        """`ClusterSettings` of rust/core/src/cluster.rs.

        It holds the password: for a node's stdin, nothing else.
        """
        tls, login = self.tls, self.login
        identity = None if tls is None or tls.certificate is None else {"certificate": str(tls.certificate), "key": str(tls.key)}
        return {
            "addresses": self.addresses,
            "tls": None if tls is None else {"authority": str(tls.authority), "identity": identity},
            "login": None if login is None else {"mechanism": login.mechanism, "user": login.user, "password": login.password},
        }
