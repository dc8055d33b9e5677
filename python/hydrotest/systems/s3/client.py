"""How clients reach an object store, whoever started it: its address, their key, and Amazon's client on their hosts."""

from __future__ import annotations

import asyncio
from abc import ABC
from dataclasses import dataclass, field
from typing import Any

from hydrotest.hosts.base import Host
from hydrotest.systems.fetch import S3_CLIENT, ProgressCallback, fetch, version_in


@dataclass(frozen=True)
class Key:
    """The key of a user."""

    access: str
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    """Of a key for some hours."""


@dataclass(frozen=True)
class Place:
    """Where objects are written to."""

    bucket: str
    prefix: str = ""
    """With which the keys of ours begin."""
    region: str = "us-east-1"
    is_in_path: bool = True
    """The bucket is part of the path; else of the name of the host."""


class S3Client:
    """What programs need that read and write its objects."""

    def __init__(
        self, place: Place, key: Key, authority: str | None = None, makes_bucket: bool = False, requests_per_s: float | None = None
    ) -> None:
        """`authority`: whose certificates sign that of the store, PEM; None: connections are not encrypted. `makes_bucket`: it is ours.
        `requests_per_s`: that a workload, or a removal, may make; None: without a bound."""
        self.place = place
        self.endpoint = ""
        """`host:port`, known once it is there."""
        self.requests_per_s = requests_per_s
        self._key = key
        self._authority = authority
        self._makes_bucket = makes_bucket

    @property
    def settings(self) -> dict[str, Any]:
        """All but the key: for files and commands, too."""
        scheme = "http" if self._authority is None else "https"
        return {"endpoint": f"{scheme}://{self.endpoint}", "bucket": self.place.bucket, "region": self.place.region,
                "is_in_path": self.place.is_in_path, "authority": self._authority, "makes_bucket": self._makes_bucket,
                "requests_per_s": self.requests_per_s}  # fmt: skip

    @property
    def environment(self) -> dict[str, str]:
        """The key: for the environment of a process, nothing else."""
        key = self._key
        token = {} if key.token is None else {"AWS_SESSION_TOKEN": key.token}
        return {"AWS_ACCESS_KEY_ID": key.access, "AWS_SECRET_ACCESS_KEY": key.secret, **token}

    @property
    def credentials(self) -> dict[str, str | None]:
        """The key: for the stdin of a process, nothing else."""
        return {"access": self._key.access, "secret": self._key.secret, "token": self._key.token}

    def key_of(self, name: str) -> str:
        """The key of something of ours, with a slash before what is in it."""
        return f"{self.place.prefix}{name}"

    async def class_path(self, host: Host, say: ProgressCallback) -> str:
        """The jars of Amazon's client on a host: a copy of those that were fetched."""
        # In a thread: hosts wait for a word from us only so long.
        return f"{await host.copy_of(await asyncio.to_thread(fetch, S3_CLIENT, say))}/*"


def client_version(say: ProgressCallback) -> str:
    """That of Amazon's client."""
    return version_in(fetch(S3_CLIENT, say), S3_CLIENT.version_jar) or "unknown"


class S3Access(ABC):
    """An object store that clients reach."""

    client: S3Client
