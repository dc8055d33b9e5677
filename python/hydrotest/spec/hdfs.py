"""HDFS in the experiment file, and files that are written to it and read from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import ConfigDict, Field

from hydrotest.spec.attach import Attachable, Endpoint, FilesMost, RequestsGuard
from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import Count, Name, PropertyValue, RatePerS, SizeBytes
from hydrotest.spec.lines import Path_
from hydrotest.spec.passes import PassesWorkload, ReadsWorkload, WritesWorkload
from hydrotest.spec.system import IN_CLASS_PATH, MIB, JavaSystem, listed

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment


class Hdfs(Attachable, JavaSystem):
    """Apache HDFS: a NameNode and DataNodes. Or one that is there already (`attach`)."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["namenode", "datanodes"]}, {"required": ["attach", "status"]}]})
    may_be_remote: ClassVar[bool] = True
    only_started: ClassVar[frozenset[str]] = frozenset({"replication", "config", "heap", "datanode_heap", "jvm", "port"})
    only_attached: ClassVar[frozenset[str]] = Attachable.only_attached | {"status", "folder", "user"}
    most_example: ClassVar[str] = "bytes: 50 MB/s, disk: 10 GB"

    namenode: Name | None = Field(None, description="The NameNode's host.")
    datanodes: list[Name] = Field(default_factory=list, description="A DataNode on each of these hosts.")
    attach: list[Endpoint] = Field(
        default_factory=list,
        max_length=1,
        description="A file system that is there already, by the `host:port` of its active NameNode (`dfs.namenode.rpc-address`). Its "
        "configuration is not changed, nothing of it is stopped, and only what hydrotest has made itself is removed. `namenode` and "
        "`datanodes` are then machines of it that are only looked at.",
    )
    status: Endpoint | None = Field(
        None,
        description="With `attach`: the `host:port` of the NameNode's web pages (`dfs.namenode.http-address`). Its state is read there.",
    )
    folder: str = Field(
        "/tmp",
        pattern=r"^/[^\s:]*$",
        description="With `attach`: a folder of it in which `user` may write. What hydrotest makes is in folders of its own below it.",
    )
    user: str | None = Field(
        None,
        min_length=1,
        description="With `attach`: the user who reads and writes; the one who runs hydrotest if not given. For clusters without Kerberos.",
    )
    most: FilesMost | None = Field(None, description="With `attach`: the most that hydrotest may do to it.")
    guard: RequestsGuard = Field(default_factory=RequestsGuard, description="With `attach`: what ends the run.")
    replication: Count = Field(2, description="Copies of each block, at most one for each DataNode.")
    config: dict[str, PropertyValue] = Field(default_factory=dict, description="Properties of hdfs-site.xml, passed through.")

    own_settings: ClassVar[frozenset[str]] = frozenset({
        "dfs.namenode.name.dir", "dfs.namenode.rpc-address", "dfs.namenode.rpc-bind-host", "dfs.namenode.http-address", "dfs.namenode.http-bind-host",
        "dfs.datanode.data.dir", "dfs.datanode.address", "dfs.datanode.ipc.address", "dfs.datanode.http.address", "dfs.datanode.hostname",
        "fs.defaultFS", "hadoop.tmp.dir",
    })  # fmt: skip
    heap: SizeBytes = Field(512 * MIB, description="Java heap of the NameNode.")
    datanode_heap: SizeBytes = Field(384 * MIB, description="Java heap of each DataNode.")

    @property
    def hosts(self) -> list[str]:
        """All its hosts, the NameNode's first."""
        return list(dict.fromkeys([*self._first, *self.datanodes]))

    @property
    def _first(self) -> list[str]:
        return [] if self.namenode is None else [self.namenode]

    def placed(self, name: str) -> list[tuple[str, str]]:
        services = [
            *((f"{name}-namenode", host) for host in self._first),
            *((f"{name}-datanode-{index}", host) for index, host in enumerate(self.datanodes)),
        ]
        return [] if self.is_attached else services

    def heaps(self) -> list[tuple[str, int]]:
        """(host, heap) of each of its JVMs."""
        heaps = [*((host, self.heap) for host in self._first), *((host, self.datanode_heap) for host in self.datanodes)]
        return [] if self.is_attached else heaps

    not_in_data: ClassVar[Mapping[str, str]] = {",": "parts the entries of `dfs.datanode.data.dir`", ":": IN_CLASS_PATH}

    @property
    def peers(self) -> list[str]:
        return self.datanodes

    def named_hosts(self) -> list[tuple[Path_, str]]:
        return [*((("namenode",), host) for host in self._first), *listed("datanodes", self.datanodes)]

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        self.check_attached(name, experiment, checker)
        if not self.is_attached and not (self.namenode and self.datanodes):
            raise checker.fail(
                ("systems", name), f"{name} needs a NameNode and DataNodes", "Write `namenode: HOST` and `datanodes: [HOST]`."
            )
        if self.is_attached and self.status is None:
            raise checker.fail(("systems", name), f"`attach` needs `status`: where the NameNode of {name} shows its state",
                               "Write e.g. `status: nn1:9870`.")  # fmt: skip
        super().check(name, experiment, checker)


class FilesWorkload(PassesWorkload):
    """What both workloads have: passes, with ever more files at once."""

    operation: SizeBytes = Field(
        1 << 20,
        le=64 << 20,
        description="Bytes of an operation: how long each takes is measured. A write is over when the client has taken it in.",
    )
    rate: RatePerS | None = Field(
        None,
        description="Operations a second of all files together; each is timed from when it was due. If not given, as fast as it goes.",
    )

    things: ClassVar[str] = "files"


class HdfsWrite(FilesWorkload, WritesWorkload):
    """Writes files into HDFS, several at once, as Hadoop's TestDFSIO does: one at a time, then twice as many,
    until the throughput no longer rises."""

    kind: Literal["hdfs-write"]
    files: Count = Field(8, le=1_000_000, description="Number of files in each pass.")
    file_size: SizeBytes = Field(64 << 20, description="Size of each file.")
    at_once: Count = Field(8, le=10_000, description="Most files written at once.")
    replication: Count | None = Field(None, description="Copies of each block; the system's setting if not given.")
    block_size: SizeBytes = Field(128 << 20, description="Size of the blocks.")
    seed: Count = Field(7, description="Seed of their content.")

    @property
    def count(self) -> int:
        return self.files

    @property
    def each_bytes(self) -> int:
        return self.file_size

    @property
    def copies(self) -> int:
        return self.replication or 1

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        super().check(name, experiment, checker)
        hdfs = experiment.systems.of(Hdfs)
        if hdfs is not None and hdfs.is_attached:
            if self.replication is None:
                raise checker.fail(
                    ("workloads", name),
                    f"{name} says not how many copies it writes to a file system that others use",
                    "Write e.g. `replication: 3`.",
                )
            return
        there = 0 if hdfs is None else len(hdfs.datanodes)
        if (self.replication or 1) > there:
            raise checker.fail(("workloads", name, "replication"), f"replication {self.replication} needs as many DataNodes; there are {there}",
                               "Lower `replication`, or add hosts to `datanodes`.")  # fmt: skip


class HdfsRead(FilesWorkload, ReadsWorkload):
    """Reads the files that another workload has written, and checks their content. Recently written files are
    in the page cache, as far as they fit."""

    kind: Literal["hdfs-read"]
    reads: Name = Field(description="The hdfs-write workload whose files are read.")
    at_once: Count = Field(8, le=10_000, description="Most files read at once.")
    order: Literal["sequential", "random"] = Field(
        "sequential", description="`random`: each operation is anywhere in any of the files; a pass reads as many bytes as there are."
    )
    cold: bool = Field(
        False, description="Before each pass the DataNodes' files are taken out of the page cache: they are read from the disks."
    )

    writer: ClassVar[type[WritesWorkload]] = HdfsWrite
