"""What a run makes in a cluster: topics, keyspaces, folders and prefixes, removed again by the identity that they got."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Protocol

from hydrotest.errors import TrialFailedError
from hydrotest.hosts.base import Host
from hydrotest.hosts.cluster import Cluster
from hydrotest.load import cassandra as load_cassandra
from hydrotest.load import kafka as load_kafka
from hydrotest.run.attached.owned import Owned
from hydrotest.spec.cassandra import CassandraLoad

Removal = Callable[[], Awaitable[None]]


class Folders(Protocol):
    """Folders of a file system: see `run.workloads.hadoop`."""

    async def make(self, folder: str) -> str: ...
    async def remove(self, folder: str, identity: str) -> None: ...


class Prefixes(Protocol):
    """Prefixes of keys in a bucket: see `run.workloads.buckets`."""

    async def make(self, prefix: str, identity: str) -> None: ...
    async def remove(self, prefix: str, identity: str) -> list[str]: ...


GROUP = "group:"
"""Before the name of a consumer group, among the names of things of our own. No topic's name has a colon."""


def group_thing(group: str) -> str:
    """A consumer group's name among those of all things of our own."""
    return f"{GROUP}{group}"


class OwnThings:
    """Topics, keyspaces, folders and prefixes of our own in one cluster."""

    def __init__(self, owned: Owned | None = None) -> None:
        self._owned = owned or Owned()
        self._identities: dict[str, str | None] = {}
        """Of what is there, by name."""
        self._removals: dict[str, Removal] = {}
        self._begun: set[str] = set()
        """Prefixes that are known to be there."""

    async def make_topic(
        self,
        host: Host,
        cluster: Cluster,
        topic: str,
        settings: load_kafka.Parted,
        config: Mapping[str, str] | None = None,
        topics: int = 1,
    ) -> None:
        """Makes a topic, or several alike (`load.kafka.topic_names`), and waits until they can be used. Raises `TrialFailedError`, also
        where there is one of that name."""
        names = load_kafka.topic_names(topic, topics)
        self._owned.note_all("intended", dict.fromkeys(names))
        made, refused = await load_kafka.create_topics(host, cluster, names, settings, config)
        for name, identity in made.items():
            self._identities[name] = identity
            self._removals[name] = partial(self.remove_topic, host, cluster, name)
        self._owned.note_all("made", made)
        if refused is not None:
            raise TrialFailedError(refused, "See the log of the brokers.")

    async def remove_topic(self, host: Host, cluster: Cluster, topic: str, topics: int = 1) -> None:
        """Removes what `make_topic` made; in a cluster that others use only by the ids that they got."""
        names = [name for name in load_kafka.topic_names(topic, topics) if self._is_proven(name)]
        if names:
            await load_kafka.delete_topics(host, cluster, {name: self._identities.get(name) for name in names})
        for name in names:
            self._identities.pop(name, None)
            self._removals.pop(name, None)
        self._owned.note_all("removed", dict.fromkeys(names))

    def begin_group(self, host: Host, cluster: Cluster, group: str) -> str:
        """A name for a consumer group, which its first member makes. In a cluster that others use it has digits of its own: groups have no
        ids by which they could be known again."""
        if not self._owned.is_listed:
            return group
        own = f"{group}-{secrets.token_hex(8)}"
        self._owned.note("intended", group_thing(own), own)
        self._made(group_thing(own), own, partial(self.remove_group, host, cluster, own))
        return own

    async def remove_group(self, host: Host, cluster: Cluster, group: str) -> None:
        """Removes it; where the cluster is ours, it goes with that."""
        if group_thing(group) in self._identities:
            await load_kafka.delete_group(host, cluster, group)
            self._gone(group_thing(group))

    async def make_keyspace(
        self, host: Host, cluster: Cluster, keyspace: str, workload: CassandraLoad, data_center: str | None = None
    ) -> None:
        """Makes a keyspace with the workload's tables, once. `data_center`: where its copies are; None: as the workload says.

        Raises `TrialFailedError`, in a cluster that others use also where there is one of that name.
        """
        if self._owned.is_listed and keyspace in self._identities:
            return
        self._owned.note("intended", keyspace)
        made = await load_cassandra.create_table(host, cluster, keyspace, workload, data_center, is_new=self._owned.is_listed)
        self._made(keyspace, made, partial(self.remove_keyspace, host, cluster, keyspace))

    async def remove_keyspace(self, host: Host, cluster: Cluster, keyspace: str) -> None:
        """Drops it; in a cluster that others use only by the id that it got."""
        if self._is_proven(keyspace):
            await load_cassandra.drop_keyspace(host, cluster, keyspace, self._identities.get(keyspace))
            self._gone(keyspace)

    async def make_folder(self, folders: Folders, folder: str) -> None:
        """Makes a folder, once. Raises `TrialFailedError`, also where there is one of that name that is not this run's."""
        if folder in self._identities:
            return
        self._owned.note("intended", folder)
        self._made(folder, await folders.make(folder), partial(self.remove_folder, folders, folder))

    async def remove_folder(self, folders: Folders, folder: str) -> None:
        """Removes it, by the id that it got."""
        if (identity := self._identities.get(folder)) is not None:
            await folders.remove(folder, identity)
            self._gone(folder)

    async def make_prefix(self, prefixes: Prefixes, prefix: str) -> None:
        """Begins a prefix, once, with an identity that is ours: where the answer does not come, it is known all the same.

        Raises `TrialFailedError`, also where there is something below it that is not this run's.
        """
        if prefix in self._begun:
            return
        identity = self._identities.setdefault(prefix, secrets.token_hex(16)) or ""
        self._removals[prefix] = partial(self.remove_prefix, prefixes, prefix)
        self._owned.note("intended", prefix, identity)
        await prefixes.make(prefix, identity)
        self._owned.note("made", prefix, identity)
        self._begun.add(prefix)

    async def remove_prefix(self, prefixes: Prefixes, prefix: str) -> None:
        """Removes what is ours below it. Raises `TrialFailedError` where something is left, be it another's."""
        if (identity := self._identities.get(prefix)) is not None:
            if kept := await prefixes.remove(prefix, identity):
                raise TrialFailedError(f"what is there is not hydrotest's own: {', '.join(kept)}")
            self._begun.discard(prefix)
            self._gone(prefix)

    def identity_of(self, name: str) -> str | None:
        """What something of ours is known by; None where it is not there."""
        return self._identities.get(name)

    def _is_proven(self, name: str) -> bool:
        """False for what may be another's: it stays in the list, and `down` names it."""
        return not self._owned.is_listed or self._identities.get(name) is not None

    def _made(self, name: str, identity: str | None, remove: Removal) -> None:
        self._identities[name] = identity
        self._removals[name] = remove
        self._owned.note("made", name, identity)

    def _gone(self, name: str) -> None:
        self._identities.pop(name, None)
        self._removals.pop(name, None)
        self._owned.note("removed", name)

    async def clear(self) -> list[str]:
        """Removes all that is still there. Returns the problems."""
        problems = []
        for name, remove in list(self._removals.items()):
            try:
                await remove()
            except TrialFailedError as error:
                problems.append(f"{name} is still there: {error.message}")
        return problems
