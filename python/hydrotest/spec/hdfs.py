"""HDFS in the experiment file, and files that are written to it and read from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import Count, Name, PropertyValue, SizeBytes
from hydrotest.spec.lines import Path_
from hydrotest.spec.step import Step
from hydrotest.spec.system import IN_CLASS_PATH, MIB, JavaSystem, listed
from hydrotest.spec.workload import LimitBy, Refusal, Workload

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

FILES_S = 8.0
"""Assumed time of one pass over files; the real time depends on their size."""


class Hdfs(JavaSystem):
    """Apache HDFS: a NameNode and DataNodes."""

    may_be_remote: ClassVar[bool] = True

    namenode: Name = Field(description="The NameNode's host.")
    datanodes: list[Name] = Field(min_length=1, description="A DataNode on each of these hosts.")
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
        return list(dict.fromkeys([self.namenode, *self.datanodes]))

    def placed(self, name: str) -> list[tuple[str, str]]:
        return [(f"{name}-namenode", self.namenode), *((f"{name}-datanode-{index}", host) for index, host in enumerate(self.datanodes))]

    def heaps(self) -> list[tuple[str, int]]:
        """(host, heap) of each of its JVMs."""
        return [(self.namenode, self.heap), *((host, self.datanode_heap) for host in self.datanodes)]

    not_in_data: ClassVar[Mapping[str, str]] = {",": "parts the entries of `dfs.datanode.data.dir`", ":": IN_CLASS_PATH}

    @property
    def peers(self) -> list[str]:
        return self.datanodes

    def named_hosts(self) -> list[tuple[Path_, str]]:
        return [(("namenode",), self.namenode), *listed("datanodes", self.datanodes)]


class FilesWorkload(Workload):
    """What both workloads have: passes, with ever more files at once."""

    limit_by: ClassVar[LimitBy] = LimitBy.PASSES
    is_warmed: ClassVar[bool] = False

    if TYPE_CHECKING:
        at_once: int

    @property
    def may_be_remote(self) -> bool:
        return True

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        super().check(name, experiment, checker)
        if experiment.systems.of(Hdfs) is None:
            raise checker.fail(("workloads", name), f"{name} needs the system hdfs", "Add it under `systems`.")

    def refusal(self, name: str, test: str) -> Refusal | None:
        return (
            None
            if test == "isolated"
            else (f"{name}: files are written and read in passes, while nothing else runs", "Use it in `isolated`.")
        )

    def limit_step(self, name: str, experiment: Experiment) -> Step:
        passes = self.at_once.bit_length() + experiment.search.repeats
        return Step(
            test="isolated",
            workload=name,
            trials=passes,
            seconds=passes * FILES_S,
            detail=f"passes over files, at most {self.at_once} at once",
        )


class HdfsWrite(FilesWorkload):
    """Writes files into HDFS, several at once, as Hadoop's TestDFSIO does: one at a time, then twice as many,
    until the throughput no longer rises."""

    kind: Literal["hdfs-write"]
    files: Count = Field(8, le=1_000_000, description="Number of files in each pass.")
    file_size: SizeBytes = Field(64 << 20, description="Size of each file.")
    at_once: Count = Field(8, le=10_000, description="Most files written at once.")
    replication: Count | None = Field(None, description="Copies of each block; the system's setting if not given.")
    block_size: SizeBytes = Field(128 << 20, description="Size of the blocks.")
    seed: Count = Field(7, description="Seed of their content.")

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        super().check(name, experiment, checker)
        hdfs = experiment.systems.of(Hdfs)
        there = 0 if hdfs is None else len(hdfs.datanodes)
        if (self.replication or 1) > there:
            raise checker.fail(("workloads", name, "replication"), f"replication {self.replication} needs as many DataNodes; there are {there}",
                               "Lower `replication`, or add hosts to `datanodes`.")  # fmt: skip


class HdfsRead(FilesWorkload):
    """Reads the files that another workload has written, and checks their content. Recently written files are
    in the page cache, as far as they fit."""

    kind: Literal["hdfs-read"]
    reads: Name = Field(description="The hdfs-write workload whose files are read.")
    at_once: Count = Field(8, le=10_000, description="Most files read at once.")

    @property
    def source(self) -> str | None:
        return self.reads

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        super().check(name, experiment, checker)
        place: Path_ = ("workloads", name, "reads")
        checker.known(self.reads, experiment.workloads, "the workload", place)
        if experiment.workload(self.reads, HdfsWrite) is None:
            raise checker.fail(place, f"{self.reads!r} writes no files", "Name an hdfs-write workload.")
