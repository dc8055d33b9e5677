"""An object store that speaks S3, and objects that are written to it and read from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import ConfigDict, Field

from hydrotest.spec.attach import Attachable, Endpoint, ObjectsGuard, ObjectsMost
from hydrotest.spec.base import Model
from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import Count, Name, Port, RatePerS, SizeBytes
from hydrotest.spec.lines import Path_
from hydrotest.spec.passes import PassesWorkload, ReadsWorkload, WritesWorkload
from hydrotest.spec.secret import Secret
from hydrotest.spec.system import MIB, System

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

PART_BYTES_MIN = 5 << 20
"""Of a multipart upload, but for its last part (Amazon S3, "multipart upload limits")."""
PARTS_MAX = 10_000
BUCKET = "hydrotest"
"""Of a store that hydrotest starts."""
MEMORY_MIN = 256 * MIB
HEAP_BYTES = 192 * MIB
"""Of a program that reads or writes objects, beside what it reads."""
HEAP_SHARE = 1.25
"""A byte that is read takes so many of the heap."""


def program_heap(buffered: int) -> int:
    """Bytes of the heap of a program that keeps so many bytes at once."""
    return HEAP_BYTES + round(HEAP_SHARE * buffered)


class S3Security(Model):
    """Encryption, and the key of the user who reads and writes."""

    tls: bool = Field(False, description="Connections are encrypted.")
    authority: str | None = Field(
        None, description="With `attach`: file of the certificates that sign that of the store, PEM; this machine's own if not given."
    )
    access_key: Secret | None = Field(None, description="With `attach`: where the id of the access key is, e.g. {env: AWS_ACCESS_KEY_ID}.")
    secret_key: Secret | None = Field(None, description="With `attach`: where its secret is, e.g. {env: AWS_SECRET_ACCESS_KEY}.")
    session_token: Secret | None = Field(None, description="With `attach`: where the token of a key for some hours is, if it has one.")

    of_attached: ClassVar[tuple[str, ...]] = ("authority", "access_key", "secret_key", "session_token")

    def check(self, name: str, is_attached: bool, checker: Checker) -> None:
        """Raises `BadInputError` for settings that are not possible; `name` is the system's."""
        place: Path_ = ("systems", name, "security")
        given = [key for key in self.of_attached if getattr(self, key) is not None]
        if not is_attached:
            if given:
                raise checker.fail((*place, given[0]), f"hydrotest makes `{given[0]}` itself for a store that it starts",
                                   "Leave it out, or use `attach` for one that is there.")  # fmt: skip
            if not self.tls:
                raise checker.fail(place, "it asks for nothing", "Write {tls: true}, or leave it out.")
        elif self.authority is not None and not self.tls:
            raise checker.fail((*place, "authority"), "`authority` is for encrypted connections", "Add `tls: true`.")


class S3(Attachable, System):
    """An object store that speaks S3: one that is there already (`attach`), or a SeaweedFS for rehearsal."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["hosts"]}, {"required": ["attach", "bucket", "security"]}]})
    may_be_remote: ClassVar[bool] = True
    only_started: ClassVar[frozenset[str]] = frozenset({"memory", "port"})
    only_attached: ClassVar[frozenset[str]] = Attachable.only_attached | {"bucket", "prefix", "region", "addressing"}
    most_example: ClassVar[str] = "rate: 100, bytes: 50 MB/s, disk: 10 GB"
    memory_key: ClassVar[str] = "memory"
    not_in_data: ClassVar[dict[str, str]] = {",": "parts the entries of SeaweedFS's `-dir`"}

    hosts: list[Name] = Field(default_factory=list, description="The host on which a SeaweedFS is started: all of it, in one process.")
    attach: list[Endpoint] = Field(
        default_factory=list,
        max_length=1,
        description="A store that is there already, by the `host:port` of its S3 API. Nothing of it is configured; only objects below keys "
        "of hydrotest's own are written and removed. `hosts` are then machines of it that are only looked at.",
    )
    bucket: str | None = Field(
        None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$",
        description="With `attach`: a bucket that is there, and keeps no versions.",
    )  # fmt: skip
    prefix: str = Field(
        "", pattern=r"^([A-Za-z0-9!_.'()-]+/)*$",
        description="With `attach`: where the keys of hydrotest's own begin, e.g. `benchmarks/`. Below it they begin with `hydrotest-`.",
    )  # fmt: skip
    region: str = Field("us-east-1", pattern=r"^[a-z0-9-]+$", description="With `attach`: the region that requests are signed for.")
    addressing: Literal["path", "virtual"] = Field(
        "path", description="With `attach`: whether the bucket is part of the path, or (`virtual`) of the name of the host."
    )
    security: S3Security | None = Field(None, description="Encryption, and the user's key.")
    most: ObjectsMost | None = Field(None, description="With `attach`: the most that hydrotest may do to it.")
    guard: ObjectsGuard = Field(default_factory=ObjectsGuard, description="With `attach`: what ends the run.")
    memory: SizeBytes = Field(512 * MIB, description="Memory that SeaweedFS tries to stay within (`GOMEMLIMIT`).")
    port: Port | None = Field(None, description="Port of the S3 API; a free one if not given.")

    def heaps(self) -> list[tuple[str, int]]:
        return [] if self.is_attached else [(host, self.memory) for host in self.hosts]

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        self.check_attached(name, experiment, checker)
        place: Path_ = ("systems", name)
        if self.security is not None:
            self.security.check(name, self.is_attached, checker)
        if self.is_attached:
            if self.bucket is None:
                raise checker.fail(place, f"`attach` needs `bucket`: where {name} is written to", "Write e.g. `bucket: tests`.")
            if self.security is None or self.security.access_key is None or self.security.secret_key is None:
                raise checker.fail(
                    place, f"`attach` needs the key of a user of {name}",
                    "Write `security: {access_key: {env: AWS_ACCESS_KEY_ID}, secret_key: {env: AWS_SECRET_ACCESS_KEY}}`.",
                )  # fmt: skip
        else:
            if len(self.hosts) > 1:
                raise checker.fail((*place, "hosts", 1), f"hydrotest starts {name} on one host: it is for rehearsal",
                                   "Name one, or use `attach` for a store of several.")  # fmt: skip
            if experiment.hosts[self.hosts[0]].is_remote:
                raise checker.fail((*place, "hosts"), f"hydrotest starts {name} on this machine only", "Name a host with `connect: local`.")
            if self.memory < MEMORY_MIN:
                raise checker.fail((*place, "memory"), f"{self.memory >> 20} MiB are too little for SeaweedFS", f"Write {MEMORY_MIN >> 20} MiB or more.")  # fmt: skip
        super().check(name, experiment, checker)


class ObjectsWorkload(PassesWorkload):
    """What both workloads have: passes, with ever more objects at once."""

    operation: SizeBytes = Field(
        8 << 20, le=64 << 20,
        description="Bytes of an operation: how long each takes is measured. Each is one request: a PUT of an object or of a part of it, "
        "or a GET of a range. Larger objects are written by multipart uploads.",
    )  # fmt: skip
    rate: RatePerS | None = Field(
        None,
        description="Operations a second of all objects together; each is timed from when it was due. If not given, as fast as it goes.",
    )

    things: ClassVar[str] = "objects"

    @property
    def buffered(self) -> int:
        """Bytes that its program keeps at once."""
        return 0

    def heaps(self, name: str, experiment: Experiment) -> list[tuple[str, int]]:
        return [(experiment.generator_hosts(name)[0], program_heap(self.buffered))]


class S3Write(ObjectsWorkload, WritesWorkload):
    """Writes objects, several at once: one at a time, then twice as many, until the throughput no longer rises. No request is tried
    again: those that fail are counted."""

    kind: Literal["s3-write"]
    objects: Count = Field(8, le=100_000, description="Number of objects in each pass.")
    object_size: SizeBytes = Field(64 << 20, description="Size of each object.")
    at_once: Count = Field(8, le=10_000, description="Most objects written at once.")
    seed: Count = Field(7, description="Seed of their content.")

    @property
    def count(self) -> int:
        return self.objects

    @property
    def each_bytes(self) -> int:
        return self.object_size

    def requests_of(self, written: WritesWorkload) -> int:
        # A multipart upload is begun and completed, too.
        return self.operations_of(written) + (2 * self.objects if self.object_size > self.operation else 0)

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        super().check(name, experiment, checker)
        place: Path_ = ("workloads", name, "operation")
        if self.operation < min(PART_BYTES_MIN, self.object_size):
            raise checker.fail(place, f"S3 takes no parts below 5 MiB, and an object of {self.object_size:,} B has several of {self.operation:,} B",
                               "Raise `operation` to 5 MiB, or to `object_size`.")  # fmt: skip
        if self.operation * PARTS_MAX < self.object_size:
            raise checker.fail(place, f"an object has at most {PARTS_MAX:,} parts", "Raise `operation`.")


class S3Read(ObjectsWorkload, ReadsWorkload):
    """Reads the objects that another workload has written, and checks their content. Recently written ones are in memory there, as far
    as they fit."""

    kind: Literal["s3-read"]
    reads: Name = Field(description="The s3-write workload whose objects are read.")
    at_once: Count = Field(8, le=10_000, description="Most objects read at once.")
    order: Literal["sequential", "random"] = Field(
        "sequential",
        description="`random`: each operation is anywhere in any of the objects; a pass has as many operations as one in order.",
    )
    cold: bool = Field(
        False, description="Before each pass the files of a store that hydrotest started are taken out of the page cache: they are read "
        "from the disk.",
    )  # fmt: skip

    writer: ClassVar[type[WritesWorkload]] = S3Write

    @property
    def buffered(self) -> int:
        return self.operation * self.at_once
