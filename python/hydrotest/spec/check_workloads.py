"""Checks of the workloads: what a model alone cannot see of them."""

from __future__ import annotations

import re
from pathlib import Path

from hydrotest.spec.checker import Checker
from hydrotest.spec.lines import Path_
from hydrotest.spec.models import Experiment, Kafka, Spark
from hydrotest.spec.workloads import (
    CassandraLoad,
    Dataflow,
    HdfsRead,
    HdfsWrite,
    KafkaConsume,
    KafkaProduce,
    RatedWorkload,
    Scheduled,
    SparkPerf,
    verb,
)

RECORD_BYTES_MIN = 10
"""What accounts for a record: checksum, producer, sequence; from 24 bytes on also its intended time."""
RECORD_BYTES_MAX = 1_000_000
"""So that a batch holds at least one."""
BATCH_BYTES_MAX = 1_048_588
"""Kafka's default for message.max.bytes."""
LEVEL_LETTERS_MAX = 8
LOG_RECORD_BYTES_MIN = 32
"""What accounts for a record, and its level."""
COLUMN_BYTES_MIN = 24
"""What accounts for a row."""
SHARES_MAX = 64
"""Threads of all generators of a workload: as many ids are set aside for each trial."""
REAL_TIME_TRIGGER_S_MIN = 5.0
"""spark.sql.streaming.realTimeMode.minBatchDuration."""
REPLICAS_NEEDED = {"TWO": 2, "THREE": 3}
"""Consistency levels that no smaller replication can ever answer; the others follow the replication."""


def check_workload(experiment: Experiment, name: str, checker: Checker) -> None:
    workload = experiment.workloads[name]
    place: Path_ = ("workloads", name)
    if isinstance(workload, RatedWorkload) and workload.client == "driver" and not isinstance(workload, CassandraLoad):
        raise checker.fail((*place, "client"), "only Cassandra workloads can be carried by a driver", "Write `native` or `stock`.")
    if isinstance(workload, RatedWorkload) and workload.client == "stock":
        check_stock(experiment, name, (*place, "client"), checker)
    _check_generators(experiment, name, checker)
    if isinstance(workload, KafkaProduce):
        kafka = experiment.systems.kafka
        if kafka is None:
            raise checker.fail(place, f"{name} needs the system kafka", "Add it under `systems`.")
        if workload.replication > len(kafka.hosts):
            raise checker.fail(
                (*place, "replication"),
                f"replication {workload.replication} needs as many brokers; there are {len(kafka.hosts)}",
                "Lower `replication`, or add hosts to kafka.",
            )
        _check_records(workload, kafka, place, checker)
    elif isinstance(workload, KafkaConsume):
        checker.known(workload.reads, experiment.workloads, "the workload", (*place, "reads"))
        if not isinstance(experiment.workloads[workload.reads], KafkaProduce):
            raise checker.fail((*place, "reads"), f"{workload.reads!r} writes no topic", "Name a kafka-produce workload.")
    elif isinstance(workload, HdfsWrite | HdfsRead):
        if experiment.systems.hdfs is None:
            raise checker.fail(place, f"{name} needs the system hdfs", "Add it under `systems`.")
        if isinstance(workload, HdfsRead):
            checker.known(workload.reads, experiment.workloads, "the workload", (*place, "reads"))
            if not isinstance(experiment.workloads[workload.reads], HdfsWrite):
                raise checker.fail((*place, "reads"), f"{workload.reads!r} writes no files", "Name an hdfs-write workload.")
        elif (workload.replication or 1) > len(experiment.systems.hdfs.datanodes):
            raise checker.fail((*place, "replication"), f"replication {workload.replication} needs as many DataNodes; there are "
                               f"{len(experiment.systems.hdfs.datanodes)}", "Lower `replication`, or add hosts to `datanodes`.")  # fmt: skip
    elif isinstance(workload, Dataflow):
        _check_dataflow(experiment, name, workload, checker)
    elif isinstance(workload, SparkPerf):
        if experiment.systems.spark is None:
            raise checker.fail(place, f"{name} needs the system spark", "Add it under `systems`.")
        if len(set(workload.tests)) < len(workload.tests):
            raise checker.fail((*place, "tests"), "a test stands twice", "Name each once.")
    elif isinstance(workload, CassandraLoad):
        if experiment.systems.cassandra is None:
            raise checker.fail(place, f"{name} needs the system cassandra", "Add it under `systems`.")
        if workload.replication > len(experiment.systems.cassandra.hosts):
            raise checker.fail(
                (*place, "replication"),
                f"replication {workload.replication} needs as many nodes; there are {len(experiment.systems.cassandra.hosts)}",
                "Lower `replication`, or add hosts to cassandra.",
            )
        needed = REPLICAS_NEEDED.get(workload.consistency, 1)
        if workload.replication < needed:
            raise checker.fail(
                (*place, "consistency"),
                f"consistency {workload.consistency} needs {needed} replicas of each row; replication is {workload.replication}",
                "Raise `replication`, or take a weaker level.",
            )
        _check_content(workload, place, checker)
        if workload.column_size < COLUMN_BYTES_MIN:
            raise checker.fail((*place, "column_size"), f"columns of {workload.column_size} B are too small to account for",
                               f"Take at least {COLUMN_BYTES_MIN} B.")  # fmt: skip


def _check_dataflow(experiment: Experiment, name: str, workload: Dataflow, checker: Checker) -> None:
    place: Path_ = ("workloads", name)
    for system in ("kafka", *(["spark"] if workload.engine == "spark" or workload.submit else [])):
        if system not in experiment.systems.present():
            raise checker.fail(place, f"{name} needs the system {system}", "Add it under `systems`.")
    checker.known(workload.reads, experiment.workloads, "the workload", (*place, "reads"))
    source = experiment.workloads[workload.reads]
    if not isinstance(source, KafkaProduce) or not source.levels:
        raise checker.fail((*place, "reads"), f"{workload.reads!r} writes no log records", "Name a kafka-produce workload with `levels`.")
    if source.transactions is not None:
        raise checker.fail(
            (*place, "reads"), f"{workload.reads!r} aborts and commits, which the pipeline does not look at", "Leave `transactions` out."
        )
    others = [
        other
        for other, spec in experiment.workloads.items()
        if isinstance(spec, Dataflow) and spec.reads == workload.reads and other != name
    ]
    if others:
        raise checker.fail((*place, "reads"), f"{others[0]} reads it too", "Make a kafka-produce workload of its own for each.")
    kafka, spark = experiment.systems.kafka, experiment.systems.spark
    assert kafka is not None
    if workload.replication > len(kafka.hosts):
        raise checker.fail(
            (*place, "replication"),
            f"replication {workload.replication} needs as many brokers; there are {len(kafka.hosts)}",
            "Lower `replication`, or add hosts to kafka.",
        )
    if kafka.security is not None:
        raise checker.fail(place, "a pipeline speaks to Kafka plainly", "Leave `security` out.")
    if workload.submit is not None and not Path(workload.submit).is_file():
        raise checker.fail(
            (*place, "submit"), f"there is no file {workload.submit}", "Name your job's .py file, from where hydrotest is called."
        )
    if (workload.submit is not None or workload.engine != "spark") and workload.sinks != ["kafka"]:
        raise checker.fail(
            (*place, "sinks"), "only hydrotest's own queries in Spark write files", "Write [kafka], or take `engine: spark`."
        )
    if (workload.submit is not None or workload.engine != "spark") and workload.windows is not None:
        raise checker.fail(
            (*place, "windows"), "only hydrotest's own queries in Spark count windows", "Leave it out, or take `engine: spark`."
        )
    if spark is not None and spark.release != "4.2":
        raise checker.fail(place, f"a pipeline needs Spark 4.2, not {spark.release}", "Leave `release` out.")
    for system in ("hdfs", "cassandra"):
        if system in workload.sinks and system not in experiment.systems.present():
            raise checker.fail((*place, "sinks"), f"{name} needs the system {system}", "Add it under `systems`, or leave that sink out.")
    if "cassandra" in workload.sinks and experiment.systems.cassandra is not None and experiment.systems.cassandra.security is not None:
        raise checker.fail((*place, "sinks"), "a pipeline speaks to Cassandra plainly", "Leave `security` out.")
    if workload.directory is not None and ("directory" not in workload.sinks or not re.match(r"[a-z][a-z0-9]*://", workload.directory)):
        raise checker.fail(
            (*place, "directory"), "it is the address of the sink `directory`", "Write e.g. file:///mnt/lake, and name the sink in `sinks`."
        )
    if workload.executors is not None:
        _check_executors(workload, spark, place, checker)
    if workload.mode == "real-time":
        _check_real_time(workload, source, spark, place, checker)
    if len(set(workload.sinks)) < len(workload.sinks) or "kafka" not in workload.sinks:
        raise checker.fail((*place, "sinks"), "there is one of each sink, and always `kafka`", "Write e.g. [kafka, directory].")


def _check_executors(workload: Dataflow, spark: Spark | None, place: Path_, checker: Checker) -> None:
    if spark is None or workload.submit is not None or workload.engine != "spark":
        raise checker.fail((*place, "executors"), "only hydrotest's own queries in Spark have executors", "Leave it out.")
    if (workload.executors or 0) > len(spark.workers):
        raise checker.fail((*place, "executors"), f"each of {workload.executors} executors needs a worker; there are {len(spark.workers)}",
                           "Add hosts to `workers`.")  # fmt: skip
    if spark.cores is None:
        raise checker.fail((*place, "executors"), "what cores an executor has is not said", "Give the workers `cores`.")


def _check_real_time(workload: Dataflow, source: KafkaProduce, spark: Spark | None, place: Path_, checker: Checker) -> None:
    """What Spark's guide asks of it ("Real-time Mode", Requirements and Supported Queries), before Spark does."""
    if spark is None or workload.submit is not None or workload.engine != "spark":
        raise checker.fail((*place, "mode"), "real-time is a mode of hydrotest's own queries in Spark", "Leave `mode` out.")
    if workload.sinks != ["kafka"] or workload.windows is not None or workload.offsets_per_trigger is not None:
        raise checker.fail((*place, "mode"), "in real-time mode there are no sinks but kafka, no windows and no bounds of a batch",
                           "Write `sinks: [kafka]`, and leave `windows` and `offsets_per_trigger` out.")  # fmt: skip
    if workload.trigger is not None and workload.trigger < REAL_TIME_TRIGGER_S_MIN:
        raise checker.fail((*place, "trigger"), f"Spark keeps progress every {REAL_TIME_TRIGGER_S_MIN:g} s at most in real-time mode",
                           f"Take {REAL_TIME_TRIGGER_S_MIN:g} s or more.")  # fmt: skip
    needed = source.partitions + len(source.levels) * workload.partitions
    workers = workload.executors or len(spark.workers)
    if workers * (spark.cores or 0) < needed:
        given = "have the cores of their hosts" if spark.cores is None else f"have {workers * spark.cores}"
        raise checker.fail((*place, "mode"), f"in real-time mode each of its {needed} tasks holds a slot; the workers {given}",
                           f"Give the workers {-(-needed // workers)} `cores` each, or take fewer `partitions`.")  # fmt: skip


def _check_content(workload: CassandraLoad, place: Path_, checker: Checker) -> None:
    """What is pressed with: the default table by its mix, or tables and statements of the user's own."""
    if not workload.statements:
        if workload.mix is None:
            raise checker.fail(place, "there is neither a mix nor a statement", "Write e.g. `mix: {write: 1, read: 3}`.")
        if workload.mix.write + workload.mix.read <= 0:
            raise checker.fail((*place, "mix"), "the mix is empty", "Write e.g. {write: 1, read: 3}.")
        for key in ("table", "values", "populate"):
            if getattr(workload, key):
                raise checker.fail((*place, key), f"`{key}` is about statements of your own, and there are none", "Add `statements`.")
        return
    if workload.mix is not None:
        raise checker.fail((*place, "mix"), "statements of your own have weights, and no mix", "Leave one of them out.")
    if not workload.table:
        raise checker.fail((*place, "statements"), "there is no table for them", "Add `table: CREATE TABLE …`.")
    if workload.client != "native":
        raise checker.fail((*place, "client"), f"`client: {workload.client}` knows the default table only", "Leave it out.")
    for create in workload.table:
        if verb(create) != "CREATE":
            raise checker.fail((*place, "table"), f"{create!r} does not begin with CREATE", "Write CREATE TABLE, TYPE or INDEX.")
    for name, statement in workload.statements.items():
        if not verb(statement.cql):
            raise checker.fail((*place, "statements", name, "cql"), f"{name} is blank", "Write a statement, e.g. SELECT … WHERE … = ?.")
    if all(statement.weight == 0 for statement in workload.statements.values()):
        raise checker.fail((*place, "statements"), "no statement has a weight above 0", "Give one a weight.")
    if workload.populate is not None:
        checker.known(workload.populate, workload.statements, "the statement", (*place, "populate"))
        if verb(workload.statements[workload.populate].cql) not in ("INSERT", "UPDATE", "BEGIN"):
            raise checker.fail((*place, "populate"), f"{workload.populate} writes no rows", "Name an INSERT, UPDATE or BATCH.")


def _check_generators(experiment: Experiment, name: str, checker: Checker) -> None:
    """Where its generators run, and whether there is a share for each."""
    workload = experiment.workloads[name]
    place: Path_ = ("workloads", name)
    for host in workload.on:
        checker.known(host, experiment.hosts, "the host", (*place, "on"))
    if not isinstance(workload, RatedWorkload):
        if len(workload.on) > 1:
            raise checker.fail((*place, "on"), f"{name} is started from one host", "Name one.")
        return
    count = len(experiment.generator_hosts(name))
    at: Path_ = (*place, "generators" if workload.generators is not None else "on")
    if count < len(workload.on):
        raise checker.fail(
            at, f"{len(workload.on)} hosts and {count} generators: some would have none", "Leave `generators` out, or raise it."
        )
    check_shares(experiment, name, count, at, checker)


def check_shares(experiment: Experiment, name: str, count: int, place: Path_, checker: Checker) -> None:
    """Whether so many generators each have something to do."""
    workload = experiment.workloads[name]
    if isinstance(workload, Scheduled) and count * workload.threads > SHARES_MAX:
        raise checker.fail(place, f"{count} generators of {workload.threads} threads are more than {SHARES_MAX} threads", "Take fewer.")
    source = experiment.workloads.get(workload.reads) if isinstance(workload, KafkaConsume) else None
    if isinstance(source, KafkaProduce) and count > source.partitions:
        raise checker.fail(place, f"{count} consumers share {source.partitions} partitions: some would have none", "Take fewer.")


def check_stock(experiment: Experiment, name: str, place: Path_, checker: Checker) -> None:
    """Refuses what a system's own tool cannot do, rather than leave it out. `place` is where the tool was asked for."""
    workload = experiment.workloads[name]
    if isinstance(workload, Scheduled) and workload.arrivals.shape != "even":
        raise checker.fail(
            place, f"{name} has `arrivals`; a stock client's operations come evenly, or not by schedule", "Leave one of them out."
        )
    if len(experiment.generator_hosts(name)) > 1:
        raise checker.fail(place, f"{name} has several generators; a stock client is one process", "Leave one of them out.")
    if isinstance(workload, KafkaProduce):
        shaped = [key for key in ("key", "headers", "transactions") if getattr(workload, key) is not None]
        shaped += ["record_size"] if workload.record_size.size > 1 else []
        shaped += ["compressible"] if workload.compressible > 0 else []
        shaped += ["levels"] if workload.levels else []
        if shaped:
            what = "sizes of record" if shaped[0] == "record_size" else shaped[0]
            raise checker.fail(place, f"{name}: ProducerPerformance has no {what}", "Leave it out, or `client: stock`.")
    cassandra = experiment.systems.cassandra
    if isinstance(workload, CassandraLoad) and cassandra is not None and cassandra.security is not None:
        raise checker.fail(place, "cassandra-stress takes a password on its command line only, where everybody can read it",
                           "Leave `security` out, or `client: stock`.")  # fmt: skip


def _check_levels(workload: KafkaProduce, place: Path_, checker: Checker) -> None:
    if workload.record_size.low < LOG_RECORD_BYTES_MIN:
        raise checker.fail((*place, "record_size"), f"log records of {workload.record_size.low} B have no room for their level",
                           f"Take at least {LOG_RECORD_BYTES_MIN} B.")  # fmt: skip
    long = [level for level in workload.levels if len(level) > LEVEL_LETTERS_MAX]
    if long:
        raise checker.fail((*place, "levels", long[0]), f"a level has at most {LEVEL_LETTERS_MAX} letters", "Take a shorter name.")
    if not any(workload.levels.values()):
        raise checker.fail((*place, "levels"), "no level has a weight above 0", "Give one a weight.")


def _check_records(workload: KafkaProduce, kafka: Kafka, place: Path_, checker: Checker) -> None:
    if workload.record_size.low < RECORD_BYTES_MIN:
        raise checker.fail((*place, "record_size"), f"records of {workload.record_size.low} B are too small to account for",
                           f"Take at least {RECORD_BYTES_MIN} B.")  # fmt: skip
    if workload.levels:
        _check_levels(workload, place, checker)
    largest = workload.record_size.high - 1 + workload.beside_value_bytes
    if largest > RECORD_BYTES_MAX:
        raise checker.fail((*place, "record_size"), f"records of {largest:,} B, with key and headers, are larger than brokers take",
                           f"Take at most {RECORD_BYTES_MAX:,} B.")  # fmt: skip
    if workload.batch_size > BATCH_BYTES_MAX and "message.max.bytes" not in kafka.config:
        raise checker.fail((*place, "batch_size"), f"batches of {workload.batch_size:,} B are larger than brokers take if not told otherwise",
                           f"Take at most {BATCH_BYTES_MAX:,} B, or set message.max.bytes in kafka's `config`.")  # fmt: skip
    if workload.is_idempotent and workload.acks != -1:
        raise checker.fail((*place, "idempotent"), "an idempotent producer needs the acknowledgement of all replicas", "Write `acks: all`.")
    if workload.transactions is not None and not workload.is_idempotent:
        raise checker.fail((*place, "transactions"), "a transactional producer is idempotent too",
                           "Write `acks: all`, and leave `idempotent` out.")  # fmt: skip
