"""What runs do in a cluster that others use, besides load: they know again what is theirs, remove it, and ask a little of every node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from hydrotest.errors import BadInputError, TrialFailedError
from hydrotest.hosts.base import Host, ask
from hydrotest.load import cassandra as load_cassandra
from hydrotest.load import kafka as load_kafka
from hydrotest.load.native import Generator
from hydrotest.run.attached.own import GROUP, OwnThings, group_thing
from hydrotest.run.workloads.buckets import Prefixes
from hydrotest.run.workloads.hadoop import Folders
from hydrotest.spec.arrivals import Arrivals
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.spec.kafka_group import KafkaGroup
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.models import Experiment
from hydrotest.systems.attached import AttachedSystem
from hydrotest.systems.cassandra.attached import AttachedCassandra
from hydrotest.systems.fetch import ProgressCallback
from hydrotest.systems.hdfs.attached import AttachedHdfs
from hydrotest.systems.kafka.attached import AttachedKafka
from hydrotest.systems.s3.attached import AttachedS3
from hydrotest.systems.spark.attached import OWN, AttachedSpark

S = TypeVar("S", bound=AttachedSystem)
REQUESTS_PER_NODE_S = 10.0
RETENTION_MS = 3_600_000
IN_FLIGHT_MAX = 100_000
FILES_PER_S = 10.0
"""Of a whole file system, for all of which one NameNode answers; of a bucket."""
CANARY = "canary"
OWN_GROUPS = "hydrotest-"
"""What the names of consumer groups of ours begin with."""


class Dealings(ABC, Generic[S]):
    """What a run does in one cluster, from one host."""

    def __init__(self, system: S, host: Host, say: ProgressCallback) -> None:
        self.system = system
        self.host = host
        self.say = say

    @abstractmethod
    async def identities(self, names: Sequence[str]) -> dict[str, str | None]:
        """What things are known by, by name; None for one that is not there."""

    @abstractmethod
    async def remove(self, name: str, identity: str) -> list[str]:
        """Removes the thing that is known by that, whatever else has its name. Returns what is in it and does not prove to be ours: it
        stays. Raises `TrialFailedError`."""

    @abstractmethod
    async def others(self) -> list[str]:
        """What shows that other runs of hydrotest are under way there."""

    @abstractmethod
    def canary_name(self, run: str) -> str:
        """What a run's canary writes to, or by what else other runs find it."""

    async def canary(self, own: OwnThings, run: str, seconds: float, copies: int) -> Generator | None:
        """The generator of a few requests a second to every node, for so many seconds: what they see, we see. None without one.

        Makes what it needs, which `OwnThings.clear` removes. Raises `TrialFailedError`.
        """
        return None

    async def check_rights(self, experiment: Experiment) -> None:
        """Raises `BadInputError` where what an experiment needs cannot be made there."""

    async def check_alone(self, run: str | None = None) -> None:
        """Raises `BadInputError` where another run of hydrotest is under way: both together would exceed what is allowed.

        `run`: this one, once its canary is there.
        """
        own = None if run is None else self.canary_name(run)
        found = [name for name in await self.others() if name != own]
        if found:
            raise BadInputError(f"another run of hydrotest is under way on {self.system.name}: {', '.join(found)}",
                                "Wait until it has ended, or end it with `hydrotest stop`.")  # fmt: skip


class _Answered(Dealings[S]):
    """In one that hydrotest-node asks itself."""

    what: str
    """What runs make there."""

    async def identities(self, names: Sequence[str]) -> dict[str, str | None]:
        question = {"query": "ids", "cluster": self.system.cluster.wire(), self.what: list(names)}
        return await ask(self.host, "query", {self.system.name: question})  # type: ignore[no-any-return]

    async def others(self) -> list[str]:
        return list(await ask(self.host, "query", {self.system.name: {"query": "others", "cluster": self.system.cluster.wire()}}))


class KafkaDealings(_Answered[AttachedKafka]):
    """In a Kafka cluster: topics, and consumer groups."""

    what = "topics"

    async def identities(self, names: Sequence[str]) -> dict[str, str | None]:
        topics, groups = [name for name in names if not name.startswith(GROUP)], [name for name in names if name.startswith(GROUP)]
        found = await super().identities(topics) if topics else {}
        question = {"query": "groups", "cluster": self.system.cluster.wire(), "groups": [name.removeprefix(GROUP) for name in groups]}
        there = await ask(self.host, "query", {self.system.name: question}) if groups else {}
        return found | {group_thing(group): identity for group, identity in there.items()}

    async def check_rights(self, experiment: Experiment) -> None:
        if not any(True for _ in experiment.workloads_of(KafkaGroup)):
            return
        question = {"query": "lacking_rights", "cluster": self.system.cluster.wire(), "group": OWN_GROUPS}
        if lacking := await ask(self.host, "query", {self.system.name: question}):
            raise BadInputError(f"the user of kafka may not {' and '.join(lacking)} consumer groups named {OWN_GROUPS}…",
                                f"Let it: `kafka-acls --add --resource-pattern-type prefixed --group {OWN_GROUPS} --operation Read --operation Delete`.")  # fmt: skip

    async def remove(self, name: str, identity: str) -> list[str]:
        if name.startswith(GROUP):
            await load_kafka.delete_group(self.host, self.system.cluster, identity)
        else:
            await load_kafka.delete_topics(self.host, self.system.cluster, {name: identity})
        return []

    def canary_name(self, run: str) -> str:
        return f"hydrotest-{run}-{CANARY}"

    async def canary(self, own: OwnThings, run: str, seconds: float, copies: int) -> Generator:
        """Records to a topic with a partition on each broker."""
        assert self.system.facts is not None
        nodes, topic = len(self.system.facts.nodes), self.canary_name(run)
        spec = KafkaProduce(kind="kafka-produce", partitions=nodes, replication=min(copies, nodes))
        await own.make_topic(self.host, self.system.cluster, topic, spec, {"retention.ms": str(RETENTION_MS)})
        load = _load(nodes, seconds)
        (generator,) = load_kafka.producers(CANARY, spec, [self.host], self.system.cluster, topic, 0, load, retries=True)
        return generator


class CassandraDealings(_Answered[AttachedCassandra]):
    """In a ring: keyspaces."""

    what = "keyspaces"

    async def remove(self, name: str, identity: str) -> list[str]:
        await load_cassandra.drop_keyspace(self.host, self.system.cluster, name, identity)
        return []

    def canary_name(self, run: str) -> str:
        return f"hydrotest_{run}_{CANARY}"

    async def canary(self, own: OwnThings, run: str, seconds: float, copies: int) -> Generator:
        """Writes of rows that lie on all nodes."""
        assert self.system.facts is not None
        nodes, keyspace = len(self.system.facts.nodes), self.canary_name(run)
        settings = {"kind": "cassandra", "mix": {"write": 1}, "keys": f"uniform(0, {1000 * nodes})", "replication": min(copies, nodes),
                    "consistency": "LOCAL_QUORUM"}  # fmt: skip
        spec = CassandraLoad.model_validate(settings)
        await own.make_keyspace(self.host, self.system.cluster, keyspace, spec, self.system.data_center)
        load = _load(nodes, seconds)
        (generator,) = load_cassandra.generators(CANARY, spec, [self.host], self.system.cluster, keyspace, 0, load, filled=False)
        return generator


def _load(nodes: int, seconds: float) -> dict[str, Any]:
    """`LoadSettings` of rust/core/src/wire.rs without shares and priority."""
    schedule = {"rate_per_s": REQUESTS_PER_NODE_S * nodes, "arrivals": Arrivals().wire(0)}
    return {"model": {"open": schedule}, "seconds": seconds, "give_up_s": None, "in_flight_max": IN_FLIGHT_MAX}


class HdfsDealings(Dealings[AttachedHdfs]):
    """In an HDFS: folders."""

    async def identities(self, names: Sequence[str]) -> dict[str, str | None]:
        return await self._folders.ids(names)

    async def remove(self, name: str, identity: str) -> list[str]:
        await self._folders.remove(name, identity)
        return []

    async def check_rights(self, experiment: Experiment) -> None:
        folder = self.system.client.folder or "/"
        try:
            await self._folders.reach(folder)
        except TrialFailedError as error:
            raise BadInputError(f"hdfs at {', '.join(self.system.endpoints)} cannot be used from {self.host.name}: {error.message}",
                                f"Correct `attach`, `user` or `folder`: {folder} must be there, and `user` be allowed to write to it.") from error  # fmt: skip

    async def others(self) -> list[str]:
        return await self._folders.canaries(self.canary_name("*"))

    def canary_name(self, run: str) -> str:
        return self.system.client.path(f"hydrotest-{run}-{CANARY}")

    async def canary(self, own: OwnThings, run: str, seconds: float, copies: int) -> Generator:
        """Small files, each written, read and removed."""
        assert self.system.facts is not None
        folder = self.canary_name(run)
        await own.make_folder(self._folders, folder)
        settings = {"rate_per_s": FILES_PER_S, "replication": min(copies, len(self.system.facts.nodes)), "seconds": seconds}
        return await self._folders.generator(CANARY, folder, settings, FILES_PER_S)

    @property
    def _folders(self) -> Folders:
        return Folders(self.system.client, self.host, self.say)


HINTS = {
    "NoSuchBucket": "Name a bucket that is there: hydrotest makes none in a store that others use.",
    "InvalidAccessKeyId": "Correct `security.access_key`: the store knows no such key.",
    "SignatureDoesNotMatch": "Correct `security.secret_key`, or `region`: the store computes another signature.",
    "AuthorizationHeaderMalformed": "Correct `region`: the store is in another one.",
    "PermanentRedirect": "Correct `attach` or `region`: the bucket is elsewhere.",
    "RequestTimeTooSkewed": "Set the clock of this host or of the store: they differ by more than signatures allow (15 min).",
    "ExpiredToken": "Get a new key: this one was for some hours.",
    "InvalidToken": "Correct `security.session_token`.",
    "Versioned": "Use a bucket without versions: what is deleted in this one stays, and costs.",
    "TLS": "Correct `security`: `tls` where the store encrypts, and `authority` with the certificates that sign its own.",
    "UnknownHost": "Correct `attach`; with `addressing: virtual` the bucket is the first part of the name.",
    "NotConnected": "Correct `attach`: nothing there takes connections, or a firewall between refuses them.",
    "NoRoute": "Correct `attach`, or the routes of this host: none leads there.",
    "NotImplemented": "Use another store: this one does not know a request that hydrotest needs.",
}
"""By what the store calls it (Amazon S3, "Error responses"), or the connection."""
RIGHTS = {"list": "s3:ListBucket", "versions": "s3:GetBucketVersioning", "uploads": "s3:ListBucketMultipartUploads", "read": "s3:GetObject",
          "delete": "s3:DeleteObject", "write": "s3:PutObject", "abort": "s3:AbortMultipartUpload"}  # fmt: skip
"""By step of `Prefixes.java`."""


class S3Dealings(Dealings[AttachedS3]):
    """In a bucket of an object store: prefixes of keys."""

    async def identities(self, names: Sequence[str]) -> dict[str, str | None]:
        return await self._prefixes.ids(names)

    async def remove(self, name: str, identity: str) -> list[str]:
        return await self._prefixes.remove(name, identity)

    async def check_rights(self, experiment: Experiment) -> None:
        for host in self.system.askers:
            where = f"s3 at {self.system.client.endpoint}"
            try:
                refused = await Prefixes(self.system.client, host, self.say).reach()
            except TrialFailedError as error:
                raise BadInputError(f"{where} cannot be asked from {host.name}: {error.message}", "See what Java there says.") from error
            if refused is None:
                continue
            remedy = HINTS.get(refused.code)
            if remedy is None:
                remedy = f"Give its user the right {RIGHTS[refused.step]}, or correct `bucket` and `prefix`."
                if refused.code != "AccessDenied":
                    remedy = f"Correct `attach` and `security`, or what the network between them lets pass. {remedy}"
            stays = "" if refused.upload is None else f"; an upload without parts stays: {refused.upload} of {refused.key}"
            raise BadInputError(f"{where} cannot be used from {host.name}: {refused.code}: {refused.said}{stays}", remedy)

    async def others(self) -> list[str]:
        return await self._prefixes.canaries(self.canary_name("*"))

    def canary_name(self, run: str) -> str:
        return self.system.client.key_of(f"hydrotest-{run}-{CANARY}")

    async def canary(self, own: OwnThings, run: str, seconds: float, copies: int) -> Generator:
        """Small objects, each put, got and deleted."""
        prefix = self.canary_name(run)
        await own.make_prefix(self._prefixes, prefix)
        return await self._prefixes.generator(CANARY, prefix, own.identity_of(prefix) or "", FILES_PER_S)

    @property
    def _prefixes(self) -> Prefixes:
        return Prefixes(self.system.client, self.host, self.say)


class SparkDealings(Dealings[AttachedSpark]):
    """On a Spark: applications, which end with their drivers."""

    async def identities(self, names: Sequence[str]) -> dict[str, str | None]:
        return dict.fromkeys(names)

    async def remove(self, name: str, identity: str) -> list[str]:
        raise AssertionError(name)  # nothing is ever noted of one

    def canary_name(self, run: str) -> str:
        return f"{OWN}{run}"

    async def others(self) -> list[str]:
        return [name for name in await self.system.applications(self.host) if name.startswith(OWN)]


KINDS: dict[str, type[Dealings[Any]]] = {
    "kafka": KafkaDealings, "cassandra": CassandraDealings, "hdfs": HdfsDealings, "s3": S3Dealings, "spark": SparkDealings,
}  # fmt: skip
"""By system."""


def dealings(system: AttachedSystem, say: ProgressCallback = lambda _: None) -> Dealings[Any]:
    """Those with a cluster, by the first of the hosts that reach it."""
    return KINDS[system.name](system, system.askers[0], say)
