"""An object store that is there already. It shows nothing of itself but its answers to requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hydrotest.hosts.base import Host
from hydrotest.hosts.cluster import Cluster
from hydrotest.hosts.secrets import authorities, file_text, secret_text
from hydrotest.spec.s3 import S3, S3Security
from hydrotest.systems.attached import AttachedSystem, ClusterFacts, Look, NodeFacts
from hydrotest.systems.s3.client import Key, Place, S3Access, S3Client


def client_of(spec: S3) -> S3Client:
    """How its clients reach it. Raises `BadInputError` where a secret or a certificate is not there."""
    security = spec.security or S3Security()
    assert security.access_key is not None
    assert security.secret_key is not None
    assert spec.bucket is not None
    key = Key(
        secret_text(security.access_key, "the access key of s3"),
        secret_text(security.secret_key, "the secret key of s3"),
        None if security.session_token is None else secret_text(security.session_token, "the session token of s3"),
    )
    authority = None
    if security.tls:
        authority = authorities() if security.authority is None else file_text(security.authority, "`authority` of s3")
    place = Place(spec.bucket, spec.prefix, spec.region, spec.addressing == "path")
    client = S3Client(place, key, authority, requests_per_s=None if spec.most is None else spec.most.rate)
    client.endpoint = spec.attach[0]
    return client


class AttachedS3(AttachedSystem, S3Access):
    """A running object store that hydrotest did not start."""

    name = "s3"
    shows_itself: ClassVar[bool] = False

    def __init__(self, spec: S3, askers: Sequence[Host], seen: Sequence[Host] = ()) -> None:
        super().__init__(Cluster(spec.attach), askers, seen)
        self.client = client_of(spec)

    def seen(self, looked: Mapping[str, Any]) -> Look:
        raise AssertionError("nobody looks at what shows nothing of itself")

    async def _ask(self, asker: Host) -> ClusterFacts:
        # Whether it answers, and what its user may do, is found out by programs of ours: `run.attached.dealings`.
        endpoint, bucket = self.client.endpoint, self.client.place.bucket
        return ClusterFacts(
            "s3", f"{bucket} at {endpoint}", (NodeFacts("s3", endpoint, unknown="an object store does not say how full it is"),)
        )
