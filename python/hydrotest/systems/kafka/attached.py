"""A Kafka cluster that is there already, or another make that speaks its protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.hosts.base import Host, ask
from hydrotest.hosts.cluster import Cluster, Login
from hydrotest.hosts.secrets import secret_text
from hydrotest.spec.kafka import Kafka, KafkaSecurity
from hydrotest.systems.attached import AttachedSystem, ClusterFacts, Disk, Look, NodeFacts, client_access


def access(spec: Kafka) -> Cluster:
    """How its clients reach it. Raises `BadInputError` where a secret or a certificate is not there."""
    security = spec.security or KafkaSecurity()
    login = None
    if security.sasl is not None and security.user is not None and security.password is not None:
        login = Login(security.sasl, security.user, secret_text(security.password, "the password of kafka"))
    return client_access(spec.attach, security, "kafka", login)


class AttachedKafka(AttachedSystem):
    """A running cluster of brokers that hydrotest did not start."""

    name = "kafka"

    def __init__(self, spec: Kafka, askers: Sequence[Host], seen: Sequence[Host] = ()) -> None:
        super().__init__(access(spec), askers, seen)

    def seen(self, looked: Mapping[str, Any]) -> Look:
        return Look(looked["behind"])

    async def _ask(self, asker: Host) -> ClusterFacts:
        found = await ask(asker, "query", {"kafka": {"query": "contact", "cluster": self._access.wire()}})
        nodes = []
        for broker in found["brokers"]:
            disks = broker["disks"]
            if "unreachable" in disks:
                raise BadInputError(
                    f"broker {broker['id']} of kafka is not reached from {asker.name} at the address that it advertises: {disks['unreachable']}",
                    "Generators speak to each broker: let its advertised name resolve there, and its port pass.")  # fmt: skip
            known = tuple(Disk(one["total_bytes"], one["free_bytes"]) for one in disks.get("disks", ()))
            nodes.append(NodeFacts(str(broker["id"]), broker["address"], broker["rack"], known, disks.get("unknown")))
        return ClusterFacts("kafka", found["cluster"] or "", tuple(nodes), {"topics": found["topics"], "partitions": found["partitions"]},
                            found["behind"], found["offline"])  # fmt: skip
