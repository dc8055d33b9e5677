"""The topics of a run: made, and removed again by the identity that the cluster gave them."""

from __future__ import annotations

from collections.abc import Mapping

from hydrotest.hosts.base import Host
from hydrotest.hosts.cluster import Cluster
from hydrotest.load import kafka as load_kafka
from hydrotest.run.lifecycle.owned import Owned


class Topics:
    """Topics of our own in one cluster."""

    def __init__(self, owned: Owned | None = None) -> None:
        self._owned = owned or Owned()
        self._identities: dict[str, str | None] = {}

    async def make(
        self, host: Host, cluster: Cluster, topic: str, settings: load_kafka.Parted, config: Mapping[str, str] | None = None
    ) -> None:
        """Makes a topic and waits until it can be used. Raises `TrialFailedError`, also where there is one of that name."""
        self._owned.note("intended", topic)
        identity = await load_kafka.create_topic(host, cluster, topic, settings, config)
        self._identities[topic] = identity
        self._owned.note("made", topic, identity)

    async def remove(self, host: Host, cluster: Cluster, topic: str) -> None:
        """Removes it."""
        await load_kafka.delete_topic(host, cluster, topic, self._identities.pop(topic, None))
        self._owned.note("removed", topic)
