"""Apache Spark, and the suite of batch tests in it. analysis/ reads its event log; a pipeline in it is a
dataflow."""

from __future__ import annotations

from hydrotest.kinds.ref import Ref
from hydrotest.kinds.system import SystemKind
from hydrotest.kinds.workload import WorkloadKind

DOCS = "https://spark.apache.org/docs/latest/"

KINDS = (
    SystemKind(
        name="spark",
        model=Ref("hydrotest.spec.spark:Spark"),
        make=Ref("hydrotest.systems.spark.system:make"),
        start_s=15.0,
        services=r"spark-(?:master$|worker-|driver-)",
        bundles=(Ref("hydrotest.systems.fetch:SPARK_KAFKA"), Ref("hydrotest.systems.fetch:SPARK_CASSANDRA")),
        advice={
            "cpu": ("give the workers more cores, or add workers", f"{DOCS}hardware-provisioning.html#cpu-cores"),
            "disk": ("give the workers faster disks, or several (`spark.local.dir`), or more memory, so that less is spilled",
                     f"{DOCS}hardware-provisioning.html#local-disks"),
            "network": ("give the workers a faster link, or shuffle less (combine before the shuffle, broadcast small tables)",
                        f"{DOCS}hardware-provisioning.html#network"),
            "memory": ("give the executors more memory: collecting garbage or spilling takes a part of the CPU that binds",
                       f"{DOCS}tuning.html#memory-tuning"),
        },
        needs_java=True,
    ),
    WorkloadKind(
        name="spark-perf",
        model=Ref("hydrotest.spec.spark:SparkPerf"),
        run=Ref("hydrotest.run.workloads.batch:Batch"),
        system="spark",
        needs_javac=True,
    ),
)  # fmt: skip
