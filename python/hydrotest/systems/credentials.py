"""Certificates and passwords of a secured system: made for one run, in its scratch directory, and gone with it."""

from __future__ import annotations

import datetime
import ipaddress
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hydrotest.hosts.cluster import TlsFiles

USER = "hydrotest"
"""Who logs in."""
VALID_DAYS = 30
"""Longer than any run."""


def new_password() -> str:
    """A password that nobody has to remember."""
    return secrets.token_urlsafe(24)


def new_secret() -> str:
    """A secret that services share: 32 random bytes, in hexadecimal digits, which every configuration format takes as they are."""
    return secrets.token_hex(32)


def write_private(path: Path, data: bytes) -> Path:
    """Writes a file that only its owner can read, also where one is there that others can."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.truncate()
        file.write(data)
    return path


@dataclass(frozen=True)
class Issued:
    """A certificate with its key, as PEM files."""

    certificate: Path
    key: Path
    both: Path
    """Key and certificates in one file, as Java services take them."""


class Authority:
    """Signs certificates. Its own is what everybody trusts."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hydrotest authority")])
        builder = _begun(self._name, self._name, self._key.public_key()).add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        self._certificate = builder.sign(self._key, hashes.SHA256())
        self.certificate = write_private(folder / "authority.pem", self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, addresses: list[str]) -> Issued:
        """A certificate for `name`, good for these IP addresses, for servers and clients alike."""
        key = ec.generate_private_key(ec.SECP256R1())
        alternatives = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = _begun(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), self._name, key.public_key())
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), False)
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), False)
        certificate = builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return Issued(
            write_private(self.folder / f"{name}.pem", certificate),
            write_private(self.folder / f"{name}.key", private),
            write_private(self.folder / f"{name}-both.pem", private + certificate),
        )

    def client_files(self, with_certificate: bool) -> TlsFiles:
        """What a client needs; with a certificate of its own where services ask for one."""
        if not with_certificate:
            return TlsFiles(self.certificate)
        own = self.issue("client", [])
        return TlsFiles(self.certificate, own.certificate, own.key)


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
