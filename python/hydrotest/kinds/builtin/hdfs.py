"""Apache HDFS, and files that are written to it and read from it."""

from __future__ import annotations

from hydrotest.kinds.ref import Ref
from hydrotest.kinds.system import SystemKind
from hydrotest.kinds.workload import WorkloadKind

KINDS = (
    SystemKind(
        name="hdfs",
        model=Ref("hydrotest.spec.hdfs:Hdfs"),
        make=Ref("hydrotest.systems.hdfs.system:make"),
        start_s=12.0,
        services=r"hdfs-(?:namenode$|datanode-)",
        bundles=(Ref("hydrotest.systems.fetch:HDFS"), Ref("hydrotest.systems.fetch:EXPORTER")),
        needs_java=True,
    ),
    WorkloadKind(
        name="hdfs-write",
        model=Ref("hydrotest.spec.hdfs:HdfsWrite"),
        run=Ref("hydrotest.run.workloads.files:Files"),
        system="hdfs",
        needs_javac=True,
    ),
    WorkloadKind(
        name="hdfs-read",
        model=Ref("hydrotest.spec.hdfs:HdfsRead"),
        run=Ref("hydrotest.run.workloads.files:Files"),
        system="hdfs",
        needs_javac=True,
    ),
)
