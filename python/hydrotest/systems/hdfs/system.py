"""HDFS: a NameNode and its DataNodes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from xml.sax.saxutils import escape

from hydrotest.errors import SystemFailedError, TrialFailedError
from hydrotest.hosts.base import Host
from hydrotest.hosts.command import run_command
from hydrotest.spec.fields import PropertyValue
from hydrotest.spec.hdfs import Hdfs
from hydrotest.systems.base import (
    Command,
    Placement,
    Ready,
    System,
    claim_port,
    exporter_option,
    gauges_url,
    processors_option,
    resource,
)
from hydrotest.systems.fetch import ProgressCallback
from hydrotest.systems.hdfs.attached import AttachedHdfs
from hydrotest.systems.hdfs.client import HdfsAccess, HdfsClient, beans_of, distribution
from hydrotest.systems.java import writes_at_end
from hydrotest.systems.properties import property_text
from hydrotest.systems.service import OnDeath
from hydrotest.units import show_count

NAME_NODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
DATA_NODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
DEAD_AFTER_S = 30
"""A DataNode that has sent no heartbeat for so long is dead.

With HDFS's own 10.5 min, no run would see its blocks copied.
"""
HEARTBEAT_S = 1
HEARD_S = 3 * HEARTBEAT_S
CLIENT: dict[str, PropertyValue] = {"dfs.client.use.datanode.hostname": True, "fs.permissions.umask-mode": "077"}
"""Settings that every client needs. All files belong only to the run's user, who is the superuser."""
CONF = "conf"
RESOURCES = ("log4j.properties", "gauges.yaml")
PAGES = ("hdfs", "datanode")
STATIC = f"{CONF}/webapps/static"
"""An empty folder of the web pages: a jar from Maven does not start without it."""


@dataclass(frozen=True)
class Daemon:
    """A NameNode or a DataNode."""

    name: str
    host: Host
    main: str
    heap: int
    data: str
    """The folder of its data, below its own folder."""
    own: Mapping[str, PropertyValue]
    """Properties that the others do not have."""
    exporter_port: int


class HdfsSystem(System, HdfsAccess):
    """A running HDFS: a NameNode, and a DataNode on each of its hosts."""

    name = "hdfs"

    def __init__(self, spec: Hdfs, name_node: Host, data_nodes: Sequence[Host], run: str, logs: PurePath, on_death: OnDeath) -> None:
        super().__init__(list(dict.fromkeys([name_node, *data_nodes])), run, logs, on_death)
        self.spec = spec
        self.ends_in_order = writes_at_end(spec.jvm)
        self.name_node = name_node
        self.data_nodes = list(data_nodes)
        self.version = "unknown"
        self._port = 0
        self._status_port = 0
        self._class_paths: dict[str, str] = {}
        """Hadoop's jars, by machine."""
        self._distribution = distribution(spec.home)
        self.client = HdfsClient(self._distribution, CLIENT, replication=spec.replication)

    @property
    def endpoints(self) -> list[str]:
        return [f"{self.name_node.address}:{self._port}"]

    async def start(self, say: ProgressCallback) -> None:
        self.version = await self._find_programs(self.hosts, self._distribution, say)
        for host in self.hosts:
            self._class_paths[host.machine] = await self.client.class_path(host, say)
        say(f"hdfs {self.version}: starting a NameNode and {show_count(len(self.data_nodes), 'DataNode')}")
        self._port = await claim_port(self.name_node, self.spec.port, "hdfs")
        self.client.url = f"hdfs://{self.endpoints[0]}"
        self._status_port = await self.name_node.free_port()
        name_node = await self._name_node()
        await self._place_daemon(name_node)
        formatting = [*self._jvm(name_node), NAME_NODE, "-format", "-nonInteractive"]
        try:
            await run_command("hdfs-format", formatting, self.name_node, self.log_folder(self.name_node) / "hdfs-format.log")
        except TrialFailedError as error:
            raise SystemFailedError(
                f"the NameNode cannot be formatted: {error.message}", "See `config:` of hdfs in the experiment."
            ) from error
        await self._start(self.name_node, name_node.name, self.command(name_node))
        for index, host in enumerate(self.data_nodes):
            data_node = await self._data_node(index, host)
            await self._place_daemon(data_node)
            await self._start(host, data_node.name, self.command(data_node))
        await self.until_ready()

    async def _name_node(self) -> Daemon:
        host, name, data = self.name_node, "hdfs-namenode", "name"
        return Daemon(name, host, NAME_NODE, self.spec.heap, data, {
            "dfs.namenode.name.dir": self._data(host, name, data),
            "dfs.namenode.rpc-address": self.endpoints[0],
            "dfs.namenode.http-address": f"{host.address}:{self._status_port}",
            "dfs.namenode.datanode.registration.ip-hostname-check": False,
            "dfs.namenode.safemode.extension": 0,
            # Hadoop counts a node dead after twice this and ten heartbeats.
            "dfs.namenode.heartbeat.recheck-interval": (DEAD_AFTER_S - 10 * HEARTBEAT_S) * 500,
        }, await host.free_port())  # fmt: skip

    async def _data_node(self, index: int, host: Host) -> Daemon:
        name, data = f"hdfs-datanode-{index}", "data"
        return Daemon(name, host, DATA_NODE, self.spec.datanode_heap, data, {
            "dfs.datanode.data.dir": self._data(host, name, data),
            "dfs.datanode.address": f"{host.address}:{await host.free_port()}",
            "dfs.datanode.ipc.address": f"{host.address}:{await host.free_port()}",
            "dfs.datanode.http.address": f"{host.address}:{await host.free_port()}",
            "dfs.datanode.hostname": host.address,
        }, await host.free_port())  # fmt: skip

    def _data(self, host: Host, name: str, data: str) -> str:
        # As it is, not as a URI: a DataNode would take a URI's escapes as part of the name, and write
        # elsewhere.
        return str(self.folder_of(host, name) / data)

    async def _place_daemon(self, daemon: Daemon) -> None:
        await self._place(daemon.host, daemon.name, self.render(daemon), [daemon.data, STATIC])

    def render(self, daemon: Daemon) -> dict[str, str]:
        """A daemon's files: its configuration, and the web pages' folder, without which a jar from Maven
        does not start."""
        folder = self.folder_of(daemon.host, daemon.name)
        common: dict[str, PropertyValue] = {
            "dfs.replication": min(self.spec.replication, len(self.data_nodes)),
            "dfs.heartbeat.interval": HEARTBEAT_S,
            # Else the NameNode uses the source address of a DataNode's connection. On one machine, the
            # DataNode
            # does not listen there.
            "dfs.datanode.use.datanode.hostname": True,
            **CLIENT,
            "dfs.permissions.enabled": True,
        }
        conf = {
            **{f"webapps/{page}/WEB-INF/web.xml": "<web-app/>\n" for page in PAGES},
            "core-site.xml": site_text({"fs.defaultFS": self.client.url, "hadoop.tmp.dir": str(folder / "tmp")}),
            "hdfs-site.xml": site_text({**common, **daemon.own, **self.spec.config}),
            **{name: resource("hydrotest.systems.hdfs", name) for name in RESOURCES},
        }
        return {f"{CONF}/{name}": text for name, text in conf.items()}

    def command(self, daemon: Daemon) -> Command:
        """How a daemon is started."""
        host, port = daemon.host, daemon.exporter_port
        java, *options = self._jvm(daemon)
        gauges = self.folder_of(host, daemon.name) / CONF / "gauges.yaml"
        argv = [java, exporter_option(self.programs(host).exporter, port, gauges), *options, daemon.main]
        return Command(argv, gauges_url=gauges_url(port))

    def _jvm(self, daemon: Daemon) -> list[str]:
        size = f"{daemon.heap // 2**20}m"
        conf = self.folder_of(daemon.host, daemon.name) / CONF
        return [str(self.programs(daemon.host).java), f"-Xms{size}", f"-Xmx{size}", "-XX:+UseG1GC", "-Djava.net.preferIPv4Stack=true",
                *processors_option(daemon.host), *self.spec.jvm, "-cp", f"{conf}:{self._class_paths[daemon.host.machine]}"]  # fmt: skip

    def _question(self, bean: str) -> dict[str, Any]:
        url = f"http://{self.name_node.address}:{self._status_port}/jmx?qry=Hadoop:service=NameNode,name={bean}"
        return {"http": {"url": url}}

    def ready(self) -> list[Ready]:
        return [Ready(self._question("NameNodeInfo"), self._is_ready)]

    def whole(self) -> list[Ready]:
        return [*self.ready(), Ready(self._question("FSNamesystem"), _is_whole)]

    def _is_ready(self, answer: Any) -> bool:
        for state in beans_of(answer["body"]):
            nodes: dict[str, Any] = json.loads(state["LiveNodes"])
            # A dead node counts as live for long: one without a recent heartbeat is not counted.
            heard = [node for node in nodes.values() if node["lastContact"] <= HEARD_S]
            return not state["Safemode"] and len(heard) == len(self.data_nodes)
        return False


def _is_whole(answer: Any) -> bool:
    return any(state["UnderReplicatedBlocks"] == 0 for state in beans_of(answer["body"]))


def site_text(properties: Mapping[str, PropertyValue]) -> str:
    """A Hadoop configuration file."""
    rows = "".join(
        f"  <property><name>{escape(name)}</name><value>{escape(property_text(value))}</value></property>\n"
        for name, value in properties.items()
    )
    return f'<?xml version="1.0"?>\n<configuration>\n{rows}</configuration>\n'


def make(spec: Hdfs, placement: Placement) -> System:
    """See `kinds.system.SystemKind`."""
    if spec.is_attached:
        return AttachedHdfs(spec, placement.askers("hdfs"), placement.at(spec.hosts))
    assert spec.namenode is not None
    return HdfsSystem(spec, placement.hosts[spec.namenode], placement.at(spec.datanodes), placement.run, placement.logs, placement.on_death)
