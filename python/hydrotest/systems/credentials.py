"""Certificates and passwords of a secured system: made for one run, placed in its scratch directory, and
removed with it."""

from __future__ import annotations

import datetime
import ipaddress
import secrets
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hydrotest.hosts.cluster import Identity, Tls
from hydrotest.hosts.files import Private

USER = "hydrotest"
"""The user of the login."""
VALID_DAYS = 30
"""Longer than any run."""
AUTHORITY = "authority.pem"
"""The file with the certificate that all trust."""
CLIENT = "client"
"""The owner of the clients' certificate."""


def new_password() -> str:
    """A random password."""
    return secrets.token_urlsafe(24)


def new_secret() -> str:
    """A secret that services share: 32 random bytes in hexadecimal digits, valid in every configuration
    format."""
    return secrets.token_hex(32)


@dataclass(frozen=True)
class Issued:
    """A certificate with its key, in PEM."""

    name: str
    certificate: Private
    key: Private

    @property
    def both_name(self) -> str:
        """The file with key and certificate in one, as Java services take them."""
        return f"{self.name}-both.pem"

    def render(self) -> dict[str, str]:
        """Its files, by name."""
        return {f"{self.name}.pem": self.certificate, f"{self.name}.key": self.key, self.both_name: Private(self.key + self.certificate)}


class Authority:
    """Signs certificates. All trust its own."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hydrotest authority")])
        builder = _begun(self._name, self._name, self._key.public_key()).add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        self.certificate = _pem(builder.sign(self._key, hashes.SHA256()))

    def render(self) -> dict[str, str]:
        """The file of its certificate. Its key is in no file."""
        return {AUTHORITY: self.certificate}

    def issue(self, name: str, addresses: list[str]) -> Issued:
        """A certificate for `name`, good for these IP addresses, for servers and clients alike."""
        key = ec.generate_private_key(ec.SECP256R1())
        alternatives = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = _begun(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), self._name, key.public_key())
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), False)
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), False)
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return Issued(name, _pem(builder.sign(self._key, hashes.SHA256())), Private(private.decode()))

    def client(self, with_certificate: bool) -> Tls:
        """A client's settings. It has a certificate of its own where services require one."""
        own = self.issue(CLIENT, []) if with_certificate else None
        return Tls(self.certificate, None if own is None else Identity(own.certificate, own.key))


def _pem(certificate: x509.Certificate) -> Private:
    return Private(certificate.public_bytes(serialization.Encoding.PEM).decode())


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
    )
