"""How clients reach a system: addresses, encryption, and login."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Identity:
    """A client's own certificate with its key, as PEM texts."""

    certificate: str
    key: str = field(repr=False)


@dataclass(frozen=True)
class Tls:
    """What a client needs for encryption, as PEM texts."""

    authority: str
    """The certificate that has signed those of the services."""
    identity: Identity | None = None
    """Where the services require one."""


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
    tls: Tls | None = None
    login: Login | None = None
    connects_per_s: float | None = None
    """Most connections that one client process opens a second; None: as fast as it goes."""

    def wire(self) -> dict[str, Any]:
        """`ClusterSettings` of rust/core/src/cluster.rs.

        It holds the password: for a node's stdin, nothing else.
        """
        tls, login = self.tls, self.login
        own = None if tls is None else tls.identity
        identity = None if own is None else {"certificate": own.certificate, "key": own.key}
        pace = {} if self.connects_per_s is None else {"connects_per_s": self.connects_per_s}
        return {
            "addresses": self.addresses,
            "tls": None if tls is None else {"authority": str(tls.authority), "identity": identity},
            "login": None if login is None else {"mechanism": login.mechanism, "user": login.user, "password": login.password},
            **pace,
        }
