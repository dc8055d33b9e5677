"""A dataflow in the experiment file: a pipeline for log records."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from hydrotest.spec.cassandra import Cassandra
from hydrotest.spec.checker import Checker
from hydrotest.spec.fields import Count, DurationS, Name
from hydrotest.spec.hdfs import Hdfs
from hydrotest.spec.kafka import Kafka
from hydrotest.spec.kafka_produce import KafkaProduce
from hydrotest.spec.lines import Path_
from hydrotest.spec.spark import Spark
from hydrotest.spec.workload import Refusal, Workload

if TYPE_CHECKING:
    from hydrotest.spec.models import Experiment

FLOW_S = 20.0
"""Time of a trial in addition to its windows: each starts a pipeline, drains it and accounts for its
records."""
REAL_TIME_TRIGGER_S_MIN = 5.0
"""spark.sql.streaming.realTimeMode.minBatchDuration."""
SinkName = Literal["kafka", "directory", "hdfs", "cassandra"]


class Dataflow(Workload):
    """A pipeline for log records: topic → splitter by level → a topic for each level → a persister for each →
    aggregate. It is a Spark application of Structured Streaming with a query for each step. Each acknowledged
    record is accounted for after every step."""

    kind: Literal["dataflow"]
    reads: Name = Field(description="The kafka-produce workload, with `levels`, that feeds it. Its topic is the first of the pipeline.")
    engine: Literal["spark", "kafka"] = Field(
        "spark",
        description="`spark`: Structured Streaming, a query for each step; `kafka`: plain consumers and transactional producers, without an engine.",
    )
    submit: str | None = Field(
        None,
        description="Or your own Spark job (a .py file), submitted for each trial with the path of a JSON file: brokers, input, "
        "branches (topic by level), aggregate, checkpoints, and ready, a file that the job creates when it takes "
        "records. hydrotest creates the topics, feeds and checks them.",
    )
    tasks: Count = Field(1, le=1_000, description="With `engine: kafka`: threads of each step.")
    executors: Count | None = Field(
        None,
        le=10_000,
        description="Spark's executors, each with all `cores` of a worker; as many as there are workers if not given. Dataflows "
        "that differ only in this show how the limit rises with executors.",
    )
    partitions: Count = Field(8, le=100_000, description="Partitions of each of its own topics: one for each level, and the aggregate.")
    replication: Count = Field(1, description="Replicas of each of these partitions.")
    sinks: list[SinkName] = Field(
        default_factory=lambda: list[SinkName](["kafka"]),
        min_length=1,
        description="Where the aggregate goes; several are possible. `kafka`: a topic, always included, since latency is measured "
        "there; `directory`: files on the driver's host; `hdfs`: files there; `cassandra`: rows of a table, by "
        "`foreachBatch`.",
    )
    directory: str | None = Field(
        None,
        description="Address of the sink `directory` for Hadoop's file systems: file:///mnt/lake, s3a://bucket/lake. Each trial "
        "has its own folder there, which is removed after the count. If not given: on the driver's host, with the "
        "systems' data.",
    )
    consistency: Literal["ONE", "QUORUM", "ALL", "LOCAL_QUORUM"] = Field(
        "LOCAL_QUORUM", description="Consistency level of writes to Cassandra."
    )
    format: Literal["parquet", "json"] = Field("parquet", description="Format of the files.")
    windows: DurationS | None = Field(
        None,
        description="In addition to the splitter, a stateful query counts the input by level and by windows of the records' "
        "intended time, of this length. The counts go into a separate topic and are checked, too.",
    )
    mode: Literal["micro-batch", "real-time"] = Field(
        "micro-batch",
        description="`real-time`: Spark's low-latency mode, in which tasks keep running and take each record as it arrives. Each "
        "task needs its own slot: one for each partition of each query's topic. Into topics only.",
    )
    trigger: DurationS | None = Field(
        None,
        description="Interval between the starts of each query's batches; if not given, each starts when the previous one ends. "
        "In real-time mode, interval at which progress is stored; 5 s if not given.",
    )

    @property
    def uses_spark(self) -> bool:
        """True if it has Spark's workers for itself."""
        return self.engine == "spark" or self.submit is not None

    offsets_per_trigger: Count | None = Field(None, description="Most records of one batch (`maxOffsetsPerTrigger`).")
    drain: DurationS = Field(
        180.0,
        description="Longest time after the load ends for the rest of the records to leave the pipeline; what remains is reported "
        "as in flight.",
    )
    restarts: int = Field(
        10,
        ge=0,
        description="Spark does not restart a query that an error has ended. Each is restarted at most this often, from its "
        "checkpoint and after 5 s, as an operator would do. One more error fails the trial.",
    )

    def queries(self, levels: Iterable[str]) -> list[str]:
        """The names of its queries, as jobs/flow/Pipeline.java gives them."""
        return [
            "splitter",
            *(["windows"] if self.windows is not None else []),
            *(f"persist-{level}-{sink}" for level in levels for sink in self.sinks),
        ]

    is_follower: ClassVar[bool] = True
    is_fed: ClassVar[bool] = True
    is_job: ClassVar[bool] = True

    @property
    def presses_on(self) -> str | None:
        return "spark" if self.uses_spark else "kafka"

    @property
    def uses(self) -> set[str]:
        return super().uses | {"kafka", *self.sinks}

    @property
    def may_be_remote(self) -> bool:
        return self.engine == "spark" and self.submit is None

    @property
    def source(self) -> str | None:
        return self.reads

    @property
    def bounds_cores(self) -> list[str]:
        return (["executors"] if self.executors is not None else []) + (["mode"] if self.mode == "real-time" else [])

    def refusal(self, name: str, test: str) -> Refusal | None:
        if test != "combined":
            return None
        return f"{name}: a dataflow has no part in this test yet", "Use it in `isolated`, `levels`, `soak` or `fault`."

    def trial_s(self, experiment: Experiment) -> float:
        return experiment.search.window + experiment.search.warm_up + FLOW_S

    def check(self, name: str, experiment: Experiment, checker: Checker) -> None:
        super().check(name, experiment, checker)
        place: Path_ = ("workloads", name)
        for system in ("kafka", *(["spark"] if self.engine == "spark" or self.submit else [])):
            if system not in experiment.systems.present():
                raise checker.fail(place, f"{name} needs the system {system}", "Add it under `systems`.")
        checker.known(self.reads, experiment.workloads, "the workload", (*place, "reads"))
        source = experiment.workload(self.reads, KafkaProduce)
        if source is None or not source.levels:
            raise checker.fail((*place, "reads"), f"{self.reads!r} writes no log records", "Name a kafka-produce workload with `levels`.")
        if source.transactions is not None:
            raise checker.fail(
                (*place, "reads"), f"{self.reads!r} aborts and commits, which the pipeline does not look at", "Leave `transactions` out."
            )
        others = [other for other, flow in experiment.workloads_of(Dataflow) if flow.reads == self.reads and other != name]
        if others:
            raise checker.fail((*place, "reads"), f"{others[0]} reads it too", "Make a kafka-produce workload of its own for each.")
        kafka, spark, cassandra = experiment.systems.of(Kafka), experiment.systems.of(Spark), experiment.systems.of(Cassandra)
        assert kafka is not None
        if self.replication > len(kafka.hosts):
            raise checker.fail(
                (*place, "replication"),
                f"replication {self.replication} needs as many brokers; there are {len(kafka.hosts)}",
                "Lower `replication`, or add hosts to kafka.",
            )
        if kafka.security is not None:
            raise checker.fail(place, "a pipeline speaks to Kafka plainly", "Leave `security` out.")
        if self.submit is not None and not Path(self.submit).is_file():
            raise checker.fail(
                (*place, "submit"), f"there is no file {self.submit}", "Name your job's .py file, from where hydrotest is called."
            )
        if (self.submit is not None or self.engine != "spark") and self.sinks != ["kafka"]:
            raise checker.fail(
                (*place, "sinks"), "only hydrotest's own queries in Spark write files", "Write [kafka], or take `engine: spark`."
            )
        if (self.submit is not None or self.engine != "spark") and self.windows is not None:
            raise checker.fail(
                (*place, "windows"), "only hydrotest's own queries in Spark count windows", "Leave it out, or take `engine: spark`."
            )
        if spark is not None and spark.release != "4.2":
            raise checker.fail(place, f"a pipeline needs Spark 4.2, not {spark.release}", "Leave `release` out.")
        for system in ("hdfs", "cassandra"):
            if system in self.sinks and system not in experiment.systems.present():
                raise checker.fail(
                    (*place, "sinks"), f"{name} needs the system {system}", "Add it under `systems`, or leave that sink out."
                )
        if "cassandra" in self.sinks and cassandra is not None and cassandra.security is not None:
            raise checker.fail((*place, "sinks"), "a pipeline speaks to Cassandra plainly", "Leave `security` out.")
        if self.directory is not None and ("directory" not in self.sinks or not re.match(r"[a-z][a-z0-9]*://", self.directory)):
            raise checker.fail(
                (*place, "directory"),
                "it is the address of the sink `directory`",
                "Write e.g. file:///mnt/lake, and name the sink in `sinks`.",
            )
        if self.executors is not None:
            self._check_executors(spark, place, checker)
        if any(host.is_remote for host in experiment.hosts.values()):
            self._check_remote(name, experiment, place, checker)
        if self.mode == "real-time":
            self._check_real_time(source, spark, place, checker)
        if len(set(self.sinks)) < len(self.sinks) or "kafka" not in self.sinks:
            raise checker.fail((*place, "sinks"), "there is one of each sink, and always `kafka`", "Write e.g. [kafka, directory].")

    def _check_remote(self, name: str, experiment: Experiment, place: Path_, checker: Checker) -> None:
        """Checks what executors on several machines need."""
        if self.directory is None and experiment.systems.of(Hdfs) is None:
            raise checker.fail(place, f"the checkpoints of {name} must be where all machines reach them", "Add the system hdfs, or the sink `directory` with "
                               "its address on a shared file system.")  # fmt: skip
        if "directory" in self.sinks and self.directory is None:
            raise checker.fail(
                (*place, "sinks"),
                "each machine would write to a directory of its own",
                "Give `directory` an address that all reach, or take the sink `hdfs`.",
            )

    def _check_executors(self, spark: Spark | None, place: Path_, checker: Checker) -> None:
        if spark is None or self.submit is not None or self.engine != "spark":
            raise checker.fail((*place, "executors"), "only hydrotest's own queries in Spark have executors", "Leave it out.")
        if (self.executors or 0) > len(spark.workers):
            raise checker.fail((*place, "executors"), f"each of {self.executors} executors needs a worker; there are {len(spark.workers)}",
                               "Add hosts to `workers`.")  # fmt: skip
        if spark.cores is None:
            raise checker.fail((*place, "executors"), "the cores of an executor are not known", "Give the workers `cores`.")

    def _check_real_time(self, source: KafkaProduce, spark: Spark | None, place: Path_, checker: Checker) -> None:
        """Checks what Spark's guide requires ("Real-time Mode", Requirements and Supported Queries), before
        Spark does."""
        if spark is None or self.submit is not None or self.engine != "spark":
            raise checker.fail((*place, "mode"), "real-time is a mode of hydrotest's own queries in Spark", "Leave `mode` out.")
        if self.sinks != ["kafka"] or self.windows is not None or self.offsets_per_trigger is not None:
            raise checker.fail((*place, "mode"), "in real-time mode there are no sinks but kafka, no windows and no bounds of a batch",
                               "Write `sinks: [kafka]`, and leave `windows` and `offsets_per_trigger` out.")  # fmt: skip
        if self.trigger is not None and self.trigger < REAL_TIME_TRIGGER_S_MIN:
            raise checker.fail((*place, "trigger"), f"Spark keeps progress every {REAL_TIME_TRIGGER_S_MIN:g} s at most in real-time mode",
                               f"Take {REAL_TIME_TRIGGER_S_MIN:g} s or more.")  # fmt: skip
        needed = source.partitions + len(source.levels) * self.partitions
        workers = self.executors or len(spark.workers)
        if workers * (spark.cores or 0) < needed:
            given = "have the cores of their hosts" if spark.cores is None else f"have {workers * spark.cores}"
            raise checker.fail((*place, "mode"), f"in real-time mode each of its {needed} tasks holds a slot; the workers {given}",
                               f"Give the workers {-(-needed // workers)} `cores` each, or take fewer `partitions`.")  # fmt: skip


def driver_service(workload: str) -> str:
    """The service name of a workload's Spark driver."""
    return f"spark-driver-{workload}"


def query_service(workload: str, query: str) -> str:
    """The name of a dataflow's query, as the target of a fault."""
    return f"spark-query-{workload}-{query}"
