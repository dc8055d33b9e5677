"""The systems' own tools, run unchanged; their output is read into the same records (`stock_output`).

Figures that a tool does not give are null. ProducerPerformance times from its own call of send, not
from the intended start, so its figures are kept apart. ConsumerPerformance has no latency at all.
cassandra-stress is closed-loop, where start and intended start are one, or keeps a schedule with
`fixed=` and then times from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from hydrotest.errors import TrialFailedError
from hydrotest.spec.cassandra import CassandraLoad
from hydrotest.spec.distribution import INVERTED
from hydrotest.spec.kafka_produce import KafkaProduce

ENGLISH = ("-Duser.language=en", "-Duser.country=US", "-Duser.language.format=en", "-Duser.country.format=US")
"""Java's Formatter writes numbers by its locale, in German 12,345 as 12.345.

JAVA_TOOL_OPTIONS and the environment do not override these.
"""
REQUEST_BYTES = 1 << 20
"""Kafka's default of `max.request.size`."""
JVM_OPTIONS = ("-Xms512m", "-Xmx512m", "-XX:+UseG1GC", *ENGLISH)
_STRESS_OPTIONS = (
    "--add-opens", "java.base/java.lang=ALL-UNNAMED", "--add-opens", "java.base/java.nio=ALL-UNNAMED",
    "--add-opens", "java.base/sun.nio.ch=ALL-UNNAMED", "--add-opens", "java.base/java.util=ALL-UNNAMED",
    "--add-exports", "java.base/jdk.internal.misc=ALL-UNNAMED", "--add-exports", "java.base/jdk.internal.ref=ALL-UNNAMED",
)  # fmt: skip


@dataclass(frozen=True)
class Command:
    """A stock tool's command line."""

    name: str
    argv: list[str]


def producer_command(java: PurePath, classpath: str, endpoints: Sequence[str], config: PurePath | None, topic: str, workload: KafkaProduce,
                     records: int, rate_per_s: float | None, warm_up_records: int) -> Command:  # fmt: skip
    """kafka-producer-perf-test's class.

    `config`: its credentials. Without a rate it sends as fast as it can; its last line omits the
    warm-up.
    """
    acks = "all" if workload.acks == -1 else str(workload.acks)
    argv = [
        str(java), *JVM_OPTIONS, "-cp", classpath, "org.apache.kafka.tools.ProducerPerformance",
        "--topic", topic, "--num-records", str(records), "--record-size", str(workload.record_size.low),
        "--throughput", str(round(rate_per_s) if rate_per_s else -1), "--bootstrap-server", ",".join(endpoints),
        "--warmup-records", str(warm_up_records),
        "--command-property", f"acks={acks}", f"batch.size={workload.batch_size}", f"linger.ms={round(workload.linger * 1e3)}",
        f"enable.idempotence={str(workload.is_idempotent).lower()}", f"compression.type={workload.compression}",
        f"max.in.flight.requests.per.connection={workload.in_flight_requests}",
        f"max.request.size={max(REQUEST_BYTES, workload.largest_batch_bytes)}", *_config(config),
    ]  # fmt: skip
    return Command("ProducerPerformance", argv)


def _config(config: PurePath | None) -> list[str]:
    return [] if config is None else ["--command-config", str(config)]


def consumer_command(
    java: PurePath, classpath: str, endpoints: Sequence[str], config: PurePath | None, topic: str, records: int, group: str
) -> Command:
    """kafka-consumer-perf-test's class."""
    argv = [
        str(java), *JVM_OPTIONS, "-cp", classpath, "org.apache.kafka.tools.ConsumerPerformance",
        "--topic", topic, "--num-records", str(records), "--bootstrap-server", ",".join(endpoints), "--group", group, "--timeout", "60000",
        *_config(config),
    ]  # fmt: skip
    return Command("ConsumerPerformance", argv)


def stress_command(java: PurePath, classpath: str, endpoint: str, keyspace: str, workload: CassandraLoad, seconds: float,
                   in_flight: int, rate_per_s: float | None, scratch: PurePath) -> Command:  # fmt: skip
    """cassandra-stress. With a rate it uses `fixed=`, its schedule, and reports response times from
    intended starts. It warms itself up first."""
    mix = workload.mix
    assert mix is not None  # a stock client with user-defined statements was refused
    if mix.read == 0:
        operation = ["write"]
    elif mix.write == 0:
        operation = ["read"]
    else:
        operation = ["mixed", f"ratio(write={mix.write:g},read={mix.read:g})"]
    keys = workload.keys
    population = f"seq={keys.low + 1}..{keys.high}" if keys.shape == "sequential" else f"dist={_distribution(workload)}"
    rate = [f"threads={in_flight}"] + ([f"fixed={round(rate_per_s)}/s"] if rate_per_s else [])
    options = [*operation, f"duration={round(seconds)}s", f"cl={workload.consistency}", "-pop", population, "-rate", *rate]
    return _stress(java, classpath, endpoint, keyspace, workload, options, scratch)


def stress_populate_command(java: PurePath, classpath: str, endpoint: str, keyspace: str, workload: CassandraLoad, in_flight: int,
                            scratch: PurePath) -> Command:  # fmt: skip
    """cassandra-stress writing every key once, so that its reads find rows."""
    keys = workload.keys
    options = ["write", f"n={keys.size}", f"cl={workload.consistency}", "no-warmup", "-pop", f"seq={keys.low + 1}..{keys.high}",
               "-rate", f"threads={in_flight}"]  # fmt: skip
    return _stress(java, classpath, endpoint, keyspace, workload, options, scratch)


def _stress(
    java: PurePath, classpath: str, endpoint: str, keyspace: str, workload: CassandraLoad, options: list[str], scratch: PurePath
) -> Command:
    host, _, port = endpoint.rpartition(":")
    argv = [
        str(java), *JVM_OPTIONS, *_STRESS_OPTIONS, f"-Dcassandra.storagedir={scratch}", "-cp", classpath,
        "org.apache.cassandra.stress.Stress", *options,
        "-schema", f"keyspace={keyspace}", f"replication(factor={workload.copies})", "-node", host, "-port", f"native={port}",
    ]  # fmt: skip
    return Command("cassandra-stress", argv)


def _distribution(workload: CassandraLoad) -> str:
    return f"{INVERTED if workload.keys.inverted else ''}{_from_first(workload)}"


def _from_first(workload: CassandraLoad) -> str:
    keys = workload.keys
    low, high = keys.low + 1, keys.high
    if keys.shape == "gaussian" and keys.mean is not None and keys.sd is not None:
        return f"GAUSSIAN({low}..{high},{keys.mean:g},{keys.sd:g})"
    if keys.has_usual_scale:
        return f"EXP({low}..{high})" if keys.exponent is None else f"EXTREME({low}..{high},{keys.exponent:g})"
    if keys.shape in ("zipf", "exp", "weibull"):
        raise TrialFailedError(f"cassandra-stress has no {'zipf distribution over a fixed range' if keys.shape == 'zipf' else 'scale of its own for ' + keys.shape}",
                               "Use other keys with `client: stock`, e.g. uniform or gaussian.")  # fmt: skip
    return f"UNIFORM({low}..{high})"
