"""The systems' own tools, run as they are, their output read into the same records. What a tool
cannot say is null: ProducerPerformance times from its own call of send, not from the intended start, so its
figures stand apart; ConsumerPerformance has no latency at all; cassandra-stress is closed-loop, where start and
intended start are one, or keeps a schedule with `fixed=` and then times from it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hydrotest.errors import TrialFailedError
from hydrotest.spec.workloads import CassandraLoad, KafkaConsume, KafkaProduce
from hydrotest.store.records import StockResult

MIB = 1 << 20
JVM_OPTIONS = ("-Xms512m", "-Xmx512m", "-XX:+UseG1GC")
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


def producer_command(java: Path, classpath: str, endpoints: Sequence[str], config: Path | None, topic: str, workload: KafkaProduce,
                     records: int, rate_per_s: float | None, warm_up_records: int) -> Command:  # fmt: skip
    """kafka-producer-perf-test's class. `config` says how to be let in. Without a rate it sends as fast as it can; the warm-up is left out of its last line."""
    acks = "all" if workload.acks == -1 else str(workload.acks)
    argv = [
        str(java), *JVM_OPTIONS, "-cp", classpath, "org.apache.kafka.tools.ProducerPerformance",
        "--topic", topic, "--num-records", str(records), "--record-size", str(workload.record_size.low),
        "--throughput", str(round(rate_per_s) if rate_per_s else -1), "--bootstrap-server", ",".join(endpoints),
        "--warmup-records", str(warm_up_records),
        "--command-property", f"acks={acks}", f"batch.size={workload.batch_size}", f"linger.ms={round(workload.linger * 1e3)}",
        f"enable.idempotence={str(workload.is_idempotent).lower()}", f"compression.type={workload.compression}", *_config(config),
    ]  # fmt: skip
    return Command("ProducerPerformance", argv)


def _config(config: Path | None) -> list[str]:
    return [] if config is None else ["--command-config", str(config)]


def consumer_command(
    java: Path, classpath: str, endpoints: Sequence[str], config: Path | None, topic: str, records: int, group: str
) -> Command:
    """kafka-consumer-perf-test's class."""
    argv = [
        str(java), *JVM_OPTIONS, "-cp", classpath, "org.apache.kafka.tools.ConsumerPerformance",
        "--topic", topic, "--num-records", str(records), "--bootstrap-server", ",".join(endpoints), "--group", group, "--timeout", "60000",
        *_config(config),
    ]  # fmt: skip
    return Command("ConsumerPerformance", argv)


def stress_command(java: Path, classpath: str, endpoint: str, keyspace: str, workload: CassandraLoad, seconds: float,
                   in_flight: int, rate_per_s: float | None, scratch: Path) -> Command:  # fmt: skip
    """cassandra-stress. With a rate it uses `fixed=`, its schedule, and reports response times from intended starts. It warms itself up first."""
    mix = workload.mix
    assert mix is not None  # a stock client with statements of one's own was refused
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


def stress_populate_command(java: Path, classpath: str, endpoint: str, keyspace: str, workload: CassandraLoad, in_flight: int,
                            scratch: Path) -> Command:  # fmt: skip
    """cassandra-stress writing every key once, so that its reads find rows."""
    keys = workload.keys
    options = ["write", f"n={keys.size}", f"cl={workload.consistency}", "no-warmup", "-pop", f"seq={keys.low + 1}..{keys.high}",
               "-rate", f"threads={in_flight}"]  # fmt: skip
    return _stress(java, classpath, endpoint, keyspace, workload, options, scratch)


def _stress(
    java: Path, classpath: str, endpoint: str, keyspace: str, workload: CassandraLoad, options: list[str], scratch: Path
) -> Command:
    host, _, port = endpoint.rpartition(":")
    argv = [
        str(java), *JVM_OPTIONS, *_STRESS_OPTIONS, f"-Dcassandra.storagedir={scratch}", "-cp", classpath,
        "org.apache.cassandra.stress.Stress", *options,
        "-schema", f"keyspace={keyspace}", f"replication(factor={workload.replication})", "-node", host, "-port", f"native={port}",
    ]  # fmt: skip
    return Command("cassandra-stress", argv)


def _distribution(workload: CassandraLoad) -> str:
    keys = workload.keys
    low, high = keys.low + 1, keys.high
    if keys.shape == "gaussian" and keys.mean is not None and keys.sd is not None:
        return f"GAUSSIAN({low}..{high},{keys.mean:g},{keys.sd:g})"
    if keys.shape == "zipf":
        raise TrialFailedError(
            "cassandra-stress has no zipf distribution over a fixed range", "Use uniform or gaussian keys with `client: stock`."
        )
    return f"UNIFORM({low}..{high})"


_PRODUCED = re.compile(
    r"^(?P<count>\d+) (?:steady state )?records sent, (?P<rate>[\d.]+) records/sec \((?P<mb>[\d.]+) MB/sec\), (?P<mean>[\d.]+) ms avg latency, "
    r"(?P<max>[\d.]+) ms max latency, (?P<p50>[\d.]+) ms 50th, (?P<p95>[\d.]+) ms 95th, (?P<p99>[\d.]+) ms 99th, (?P<p999>[\d.]+) ms 99.9th",
    re.MULTILINE,
)


def parse_producer(output: str, cpu_s: float) -> StockResult:
    """ProducerPerformance's last line. Its MB are MiB. CPU includes the tool's start and warm-up."""
    matches = list(_PRODUCED.finditer(output))
    if not matches:
        raise TrialFailedError("ProducerPerformance printed no result line", "See its output in the trial's logs/.")
    last = matches[-1].groupdict()
    count, rate = int(last["count"]), float(last["rate"])
    latency = {key: float(last[key]) for key in ("mean", "p50", "p95", "p99", "p999", "max")}
    return StockResult(count=count, seconds=count / rate, rate_per_s=rate, bytes_per_s=float(last["mb"]) * MIB, errors=None, cpu_s=cpu_s,
                       latency_ms=None, latency_from_send_ms=latency)  # fmt: skip


def parse_consumer(output: str, cpu_s: float) -> StockResult:
    """ConsumerPerformance's table: one header, one row. The rate leaves out the group's first rebalance."""
    lines = [line for line in output.splitlines() if line.count(",") >= 9]
    if len(lines) < 2:
        raise TrialFailedError("ConsumerPerformance printed no result row", "See its output in the trial's logs/.")
    row = dict(zip((name.strip() for name in lines[0].split(",")), (cell.strip() for cell in lines[-1].split(",")), strict=True))
    count, seconds = int(row["data.consumed.in.nMsg"]), float(row["fetch.time.ms"]) / 1e3
    return StockResult(count=count, seconds=seconds, rate_per_s=count / seconds, bytes_per_s=float(row["data.consumed.in.MB"]) * MIB / seconds,
                       errors=None, cpu_s=cpu_s, latency_ms=None)  # fmt: skip


_STRESS_LABELS = {
    "Latency mean": "mean", "Latency median": "p50", "Latency 95th percentile": "p95", "Latency 99th percentile": "p99",
    "Latency 99.9th percentile": "p999", "Latency max": "max", "Op rate": "rate_per_s",
}  # fmt: skip
_STRESS_LINE = re.compile(r"^(?P<label>[A-Z][\w. ]+?)\s*:\s*(?P<total>[\d,.]+)[^\[]*(?:\[(?P<ops>[^\]]*)\])?", re.MULTILINE)
_STRESS_OP = re.compile(r"(?P<op>[A-Z]+):\s*(?P<value>[\d,.]+)")


def parse_stress(output: str, cpu_s: float) -> StockResult:
    """cassandra-stress's `Results:` block, in all and by operation."""
    block = output.partition("Results:")[2]
    if not block:
        raise TrialFailedError("cassandra-stress printed no results", "See its output in the trial's logs/.")
    total: dict[str, float | None] = {}
    by_op: dict[str, dict[str, float | None]] = {}
    count, errors = 0, 0
    for match in _STRESS_LINE.finditer(block):
        label, value = match["label"], float(match["total"].replace(",", ""))
        if label == "Total partitions":
            count = round(value)
        elif label == "Total errors":
            errors = round(value)
        elif label in _STRESS_LABELS:
            total[_STRESS_LABELS[label]] = value
            for op in _STRESS_OP.finditer(match["ops"] or ""):
                by_op.setdefault(op["op"].lower(), {})[_STRESS_LABELS[label]] = float(op["value"].replace(",", ""))
    rate = total.pop("rate_per_s", None)
    if not rate:
        raise TrialFailedError("cassandra-stress printed no rate", "See its output in the trial's logs/.")
    return StockResult(count=count, seconds=count / rate, rate_per_s=rate, bytes_per_s=None, errors=errors, cpu_s=cpu_s,
                       latency_ms=total, by_op=by_op if len(by_op) > 1 else {})  # fmt: skip


def command_for(workload: KafkaProduce | KafkaConsume | CassandraLoad) -> str:
    """The tool's name, for messages."""
    return {"kafka-produce": "ProducerPerformance", "kafka-consume": "ConsumerPerformance", "cassandra": "cassandra-stress"}[workload.kind]
