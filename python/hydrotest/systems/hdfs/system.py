"""HDFS: a NameNode and its DataNodes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from hydrotest.errors import SystemFailedError, TrialFailedError
from hydrotest.hosts.base import Host, Service
from hydrotest.hosts.command import run_command
from hydrotest.spec.fields import PropertyValue
from hydrotest.spec.models import Hdfs
from hydrotest.systems.base import System, claim_port, exporter_option, jars_of, processors_option
from hydrotest.systems.fetch import HDFS, Say
from hydrotest.systems.java import find_java
from hydrotest.systems.properties import property_text
from hydrotest.systems.service import OnDeath

NAME_NODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATA_NODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
DEAD_AFTER_S = 30
"""A DataNode that has not been heard of for so long is dead; HDFS's own is 10.5 min, in which no run would see its blocks copied."""
HEARTBEAT_S = 1
HEARD_S = 3 * HEARTBEAT_S
CLIENT: dict[str, PropertyValue] = {"dfs.client.use.datanode.hostname": True, "fs.permissions.umask-mode": "077"}
"""What every client must have set. Whatever is made belongs to the run's user, who is the superuser, and to nobody else."""


class HdfsSystem(System):
    """A running HDFS: a NameNode, and a DataNode on each of its hosts."""

    name = "hdfs"

    def __init__(self, spec: Hdfs, name_node: Host, data_nodes: Sequence[Host], run: str, logs: Path, on_death: OnDeath) -> None:
        super().__init__(list(dict.fromkeys([name_node, *data_nodes])), run, logs, on_death)
        self.spec = spec
        self.name_node = name_node
        self.data_nodes = list(data_nodes)
        self.version = "unknown"
        self._port = 0
        self._status_port = 0
        self.classpath: list[str] = []
        """Hadoop's jars."""

    @property
    def endpoints(self) -> list[str]:
        return [f"{self.name_node.address}:{self._port}"]

    @property
    def url(self) -> str:
        """What paths begin with."""
        return f"hdfs://{self.endpoints[0]}"

    async def start(self, say: Say) -> None:
        folders, self.version = jars_of(HDFS, self.spec.home, os.environ.get("HADOOP_HOME"), "share/hadoop", say)
        self.classpath = [f"{jars}/*" for folder in folders for jars in (folder, *(path for path in folder.rglob("*") if path.is_dir()))]
        say(f"hdfs {self.version}: starting a NameNode and {len(self.data_nodes)} DataNode(s)")
        self._port = claim_port(self.name_node, self.spec.port, "hdfs")
        self._status_port = self.name_node.free_port()
        folder = self._folder(self.name_node, "hdfs-namenode", {
            "dfs.namenode.name.dir": _directory(self.name_node.scratch(self.run) / "hdfs-namenode" / "name"),
            "dfs.namenode.rpc-address": self.endpoints[0],
            "dfs.namenode.http-address": f"{self.name_node.address}:{self._status_port}",
            "dfs.namenode.datanode.registration.ip-hostname-check": False,
            "dfs.namenode.safemode.extension": 0,
            # Hadoop counts a node dead after twice this and ten heartbeats.
            "dfs.namenode.heartbeat.recheck-interval": (DEAD_AFTER_S - 10 * HEARTBEAT_S) * 500,
        })  # fmt: skip
        formatting = [*self._java(self.name_node, folder, self.spec.heap), NAME_NODE, "-format", "-nonInteractive"]
        try:
            await run_command("hdfs-format", formatting, self.name_node, self.logs / "hdfs-format.log")
        except TrialFailedError as error:
            raise SystemFailedError(f"the NameNode cannot be formatted: {error.message}") from error
        await self._node(self.name_node, "hdfs-namenode", NAME_NODE, folder, self.spec.heap, say)
        for index, host in enumerate(self.data_nodes):
            name = f"hdfs-datanode-{index}"
            address = host.address
            folder = self._folder(host, name, {
                "dfs.datanode.data.dir": _directory(host.scratch(self.run) / name / "data"),
                "dfs.datanode.address": f"{address}:{host.free_port()}",
                "dfs.datanode.ipc.address": f"{address}:{host.free_port()}",
                "dfs.datanode.http.address": f"{address}:{host.free_port()}",
                "dfs.datanode.hostname": address,
            })  # fmt: skip
            await self._node(host, name, DATA_NODE, folder, self.spec.datanode_heap, say)
        await self.until_ready()

    def _folder(self, host: Host, name: str, own: Mapping[str, PropertyValue]) -> Path:
        """A service's folder with its configuration, and the web pages' empty places, without which a jar from Maven does not start."""
        folder = host.scratch(self.run) / name
        conf = folder / "conf"
        for empty in ("hdfs/WEB-INF", "datanode/WEB-INF", "static"):
            (conf / "webapps" / empty).mkdir(parents=True, exist_ok=True)
        for page in ("hdfs", "datanode"):
            (conf / "webapps" / page / "WEB-INF" / "web.xml").write_text("<web-app/>\n")
        (conf / "core-site.xml").write_text(site_text({"fs.defaultFS": self.url, "hadoop.tmp.dir": str(folder / "tmp")}), encoding="utf-8")
        common: dict[str, PropertyValue] = {
            "dfs.replication": min(self.spec.replication, len(self.data_nodes)),
            "dfs.heartbeat.interval": HEARTBEAT_S,
            # Else the NameNode takes the address that a DataNode's connection came from, which on one machine is not the one that it listens at.
            "dfs.datanode.use.datanode.hostname": True,
            **CLIENT,
            "dfs.permissions.enabled": True,
        }
        (conf / "hdfs-site.xml").write_text(site_text({**common, **own, **self.spec.config}), encoding="utf-8")
        for resource in ("log4j.properties", "gauges.yaml"):
            (conf / resource).write_bytes(resources.files("hydrotest.systems.hdfs").joinpath(resource).read_bytes())
        return folder

    def _java(self, host: Host, folder: Path, heap: int) -> list[str]:
        size = f"{heap // 2**20}m"
        return [str(find_java()), f"-Xms{size}", f"-Xmx{size}", "-XX:+UseG1GC", "-Djava.net.preferIPv4Stack=true", *processors_option(host),
                *self.spec.jvm, "-cp", ":".join([str(folder / "conf"), *self.classpath])]  # fmt: skip

    async def _node(self, host: Host, name: str, main: str, folder: Path, heap: int, say: Say) -> None:
        port = host.free_port()
        java, *options = self._java(host, folder, heap)
        argv = [java, exporter_option(port, host.address, folder / "conf" / "gauges.yaml", say), *options, main]
        await self._launch(host, Service(name, argv, folder, self.logs / f"{name}.log"), f"http://{host.address}:{port}/metrics")

    def _question(self, bean: str) -> dict[str, Any]:
        url = f"http://{self.name_node.address}:{self._status_port}/jmx?qry=Hadoop:service=NameNode,name={bean}"
        return {"http": {"url": url}}

    async def until_ready(self) -> None:
        await self._await_ready(self._question("NameNodeInfo"), self._is_ready)

    def _is_ready(self, answer: Any) -> bool:
        for state in _beans(answer):
            nodes: dict[str, Any] = json.loads(state["LiveNodes"])
            # One that is gone counts as live until it is long dead: who has not been heard of lately is not there.
            heard = [node for node in nodes.values() if node["lastContact"] <= HEARD_S]
            return not state["Safemode"] and len(heard) == len(self.data_nodes)
        return False

    async def until_whole(self) -> None:
        await self.until_ready()
        await self._await_ready(self._question("FSNamesystem"), _is_whole)


def _is_whole(answer: Any) -> bool:
    return any(state["UnderReplicatedBlocks"] == 0 for state in _beans(answer))


def _beans(answer: Any) -> list[dict[str, Any]]:
    """The beans of an answer; none as long as the NameNode has not made them."""
    beans: list[dict[str, Any]] = json.loads(answer["body"])["beans"]
    return beans


def _directory(path: Path) -> str:
    # As it is, not as an URI: a DataNode would take the escapes of one for the name, and write elsewhere.
    path.mkdir(parents=True, exist_ok=True)
    return str(path.resolve())


def site_text(properties: Mapping[str, PropertyValue]) -> str:
    """A Hadoop configuration file."""
    rows = "".join(
        f"  <property><name>{escape(name)}</name><value>{escape(property_text(value))}</value></property>\n"
        for name, value in properties.items()
    )
    return f'<?xml version="1.0"?>\n<configuration>\n{rows}</configuration>\n'
