"""A Cassandra ring that is there already, or another make that speaks CQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hydrotest.hosts.base import Host, ask
from hydrotest.hosts.cluster import Cluster, Login
from hydrotest.hosts.secrets import secret_text
from hydrotest.spec.cassandra import Cassandra, CassandraSecurity
from hydrotest.spec.choice import narrowed
from hydrotest.spec.secret import Secret
from hydrotest.systems.attached import AttachedSystem, ClusterFacts, Look, NodeFacts, client_access


def access(spec: Cassandra) -> Cluster:
    """How its clients reach it. Raises `BadInputError` where a secret or a certificate is not there."""
    security = spec.security or CassandraSecurity()
    secret = narrowed(security.password, Secret)
    login = None
    if security.user is not None and secret is not None:
        login = Login("PLAIN", security.user, secret_text(secret, "the password of cassandra"))
    return client_access(spec.attach, security, "cassandra", login)


class AttachedCassandra(AttachedSystem):
    """A running ring of nodes that hydrotest did not start."""

    name = "cassandra"

    def __init__(self, spec: Cassandra, askers: Sequence[Host], seen: Sequence[Host] = ()) -> None:
        super().__init__(access(spec), askers, seen)

    def looking(self) -> dict[str, Any]:
        return {"cassandra": {"cluster": self._access.wire(), "data_center": self.data_center}}

    def seen(self, looked: Mapping[str, Any]) -> Look:
        gauges = {
            f"cassandra {node}": {f'cassandra_pending_tasks{{pool="{pool}"}}': float(tasks) for pool, tasks in pools.items()}
            for node, pools in looked["pools"].items()
        }
        return Look(looked["behind"], gauges, looked["unknown"])

    async def _ask(self, asker: Host) -> ClusterFacts:
        found = await ask(asker, "query", {"cassandra": {"query": "contact", "cluster": self._access.wire()}})
        self.version = found["version"]
        # Copies are in the data centre that was reached, and only its nodes are loaded.
        here = [node for node in found["nodes"] if node["data_center"] == found["data_center"]]
        nodes = tuple(
            NodeFacts(node["id"], node["address"], node["rack"], unknown="a node does not say how much of its disk is free")
            for node in here
        )
        away = sum(node["unreachable"] is not None for node in here)
        # Many rings have the name that Cassandra gives them; no two have a node of the same id.
        identity = f"{found['cluster']} {min(node['id'] for node in found['nodes'])}"
        return ClusterFacts("cassandra", identity, nodes, {"tables": found["tables"]}, behind=away, data_center=found["data_center"])
