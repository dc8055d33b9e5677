"""An HDFS that is there already: what its NameNode shows of itself in its web pages.

Source: Hadoop's "Metrics" page, context `dfs.FSNamesystem`; beans as `/jmx` of a NameNode shows them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.hosts.base import Host, ask
from hydrotest.hosts.cluster import Cluster
from hydrotest.spec.fields import PropertyValue
from hydrotest.spec.hdfs import Hdfs
from hydrotest.systems.attached import AttachedSystem, ClusterFacts, Disk, Look, NodeFacts
from hydrotest.systems.hdfs.client import HdfsAccess, HdfsClient, beans_of, distribution

CLIENT: dict[str, PropertyValue] = {
    # Files of ours are nobody else's to read.
    "fs.permissions.umask-mode": "077",
    # A NameNode that does not answer is said to be so in seconds; by default it takes minutes.
    "ipc.client.connect.timeout": 5_000, "ipc.client.connect.max.retries": 1, "ipc.client.connect.max.retries.on.timeouts": 1,
}  # fmt: skip
STATE, NODES = "FSNamesystem*", "NameNodeInfo"
"""Beans: its blocks and space, and its DataNodes."""
ACTIVE = "active"


class AttachedHdfs(AttachedSystem, HdfsAccess):
    """A running HDFS that hydrotest did not start."""

    name = "hdfs"

    def __init__(self, spec: Hdfs, askers: Sequence[Host], seen: Sequence[Host] = ()) -> None:
        super().__init__(Cluster(spec.attach), askers, seen)
        self._status = spec.status
        self.client = HdfsClient(distribution(spec.home), CLIENT, spec.folder.rstrip("/"), user=spec.user)
        self.client.url = f"hdfs://{spec.attach[0]}"

    def _page(self, bean: str) -> str:
        return f"http://{self._status}/jmx?qry=Hadoop:service=NameNode,name={bean}"

    def looking(self) -> dict[str, Any]:
        return {"pages": {"urls": [self._page(STATE)]}}

    def seen(self, looked: Mapping[str, Any]) -> Look:
        return Look(behind_of(_whole(beans_of(looked["pages"][0]))))

    async def _ask(self, asker: Host) -> ClusterFacts:
        pages = [await ask(asker, "query", {"http": {"url": self._page(bean)}}) for bean in (STATE, NODES)]
        try:
            state, (found,) = _whole(beans_of(pages[0]["body"])), beans_of(pages[1]["body"])
            is_operational = state["FSState"] == "Operational"
        except (ValueError, KeyError, TypeError) as error:
            raise BadInputError(
                f"no NameNode of HDFS shows its state at {self._status}", "Correct `status`: its `dfs.namenode.http-address`."
            ) from error
        if state.get("tag.HAState", ACTIVE) != ACTIVE:
            raise BadInputError(
                f"the NameNode at {self._status} is a {state['tag.HAState']} one", "Name the active one, in `attach` and `status`."
            )
        self.version = found["SoftwareVersion"]
        live: dict[str, Any] = json.loads(found["LiveNodes"])
        nodes = tuple(
            NodeFacts(name, node["xferaddr"], disks=(Disk(node["capacity"], node["remaining"]),)) for name, node in sorted(live.items())
        )
        identity = f"{found['ClusterId']} {found['BlockPoolId']}"
        return ClusterFacts(
            "hdfs",
            identity,
            nodes,
            {"files": state["FilesTotal"], "blocks": state["BlocksTotal"]},
            behind_of(state),
            int(not is_operational),
        )


def behind_of(state: Mapping[str, Any]) -> int:
    """Blocks with too few copies, and DataNodes that are gone."""
    return int(state["UnderReplicatedBlocks"] + state["NumDeadDataNodes"])


def _whole(beans: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The attributes of all of them."""
    return {key: value for bean in beans for key, value in bean.items()}
