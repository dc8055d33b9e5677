"""Limits inside the systems: what each has a bounded number of, the gauge that shows that it is used up, and the setting that bounds it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from hydrotest.store import layout
from hydrotest.store.folder import RunFolder
from hydrotest.store.records import Trial
from hydrotest.store.samples import read_samples
from hydrotest.verdicts.evidence import InsideLine


@dataclass(frozen=True)
class Internal:
    """One limit. `reading`: the gauge's mean over the window, or (`growth`) how much it grows a second; times `scale`."""

    what: str
    gauge: str
    """Its name begins so."""
    reading: Literal["mean", "growth"]
    full: Literal["below", "above"]
    threshold: float
    setting: str
    source: str
    scale: float = 1.0
    remedy: str = "raise it"
    """What to do with the setting."""
    spends: bool = False
    """What is full uses CPU itself, beside what was asked for; threads that are all busy only wait for theirs."""
    is_each: bool = False
    """Several gauges of one name are threads of a pool, and their mean is read; else they add up."""
    times: str | None = None
    """The gauge that its value is multiplied with at each reading."""
    unit: str | None = None
    """Of its value; None of a share, nothing where `what` says what is counted."""


KAFKA_DOCS = "https://kafka.apache.org/documentation/#brokerconfigs_"
CASSANDRA_DOCS = "https://cassandra.apache.org/doc/5.0/cassandra/managing/configuration/cass_yaml_file.html#"

# Kafka's own page has threads idle for 30 % of their time or more; the other thresholds are ours: what never waits where there is room.
TABLE = [
    # The counter grows by the idle nanoseconds of all threads, divided by their number. That of the broker's own pool (KIP-1207): the one of before mixes it with the
    # controller's, which is nearly idle, in a process that is both.
    Internal("request handlers idle", "kafka_broker_request_handler_idle_ns_total", "growth", "below", 0.3, "num.io.threads",
             KAFKA_DOCS + "num.io.threads", 1e-9),
    # Nanoseconds that each network thread of the brokers' listeners waited for its sockets. NetworkProcessorAvgIdlePercent tells of the controller's in such a process
    # (KAFKA-20453).
    Internal("network threads idle", "kafka_network_processor_wait_ns_total", "growth", "below", 0.3, "num.network.threads",
             KAFKA_DOCS + "num.network.threads", 1e-9, is_each=True),
    Internal("threads that fetch copies idle", "kafka_replica_fetcher_wait_ns_total", "growth", "below", 0.1, "num.replica.fetchers",
             KAFKA_DOCS + "num.replica.fetchers", 1e-9, is_each=True),
    Internal("partitions whose copies are behind", "kafka_under_replicated_partitions", "mean", "above", 0.5, "num.replica.fetchers",
             KAFKA_DOCS + "num.replica.fetchers", unit=""),
    Internal("seconds of flushes a second", "kafka_log_flushes_total", "growth", "above", 0.9, "log.flush.interval.messages",
             KAFKA_DOCS + "log.flush.interval.messages", 1e-3, times="kafka_log_flush_mean_ms",
             remedy="leave it unset, so that the system decides when to flush, or give the log a faster disk"),
    Internal("requests waiting for a native transport thread", 'cassandra_pending_tasks{pool="Native-Transport-Requests"}', "mean", "above", 32,
             "native_transport_max_threads", CASSANDRA_DOCS + "native_transport_max_threads", unit=""),
    Internal("mutations waiting", 'cassandra_pending_tasks{pool="MutationStage"}', "mean", "above", 8, "concurrent_writes",
             CASSANDRA_DOCS + "concurrent_writes", unit=""),
    Internal("reads waiting", 'cassandra_pending_tasks{pool="ReadStage"}', "mean", "above", 8, "concurrent_reads",
             CASSANDRA_DOCS + "concurrent_reads", unit=""),
    Internal("flushes waiting", 'cassandra_pending_tasks{pool="MemtableFlushWriter"}', "mean", "above", 0.5, "memtable_flush_writers",
             CASSANDRA_DOCS + "memtable_flush_writers", unit=""),
    Internal("compactions waiting", "cassandra_compactions_pending", "mean", "above", 20, "compaction_throughput",
             CASSANDRA_DOCS + "compaction_throughput", unit=""),
    Internal("commit log syncs waiting", "cassandra_commit_log_pending_tasks", "mean", "above", 1, "commitlog_sync",
             CASSANDRA_DOCS + "commitlog_sync", remedy="`periodic` waits for the disk less often than `batch`; or give the commit log a faster disk", unit=""),
    Internal("mutations dropped a second", 'cassandra_dropped_messages_total{message="MUTATION_REQ"}', "growth", "above", 0.5,
             "concurrent_writes", CASSANDRA_DOCS + "concurrent_writes", unit=""),
    # All collectors of a JVM; G1's pauses stop every thread.
    Internal("share of the time in garbage collection", "jvm_gc_collection_seconds_sum", "growth", "above", 0.1, "heap",
             "https://docs.oracle.com/en/java/javase/17/gctuning/garbage-first-garbage-collector-tuning.html", remedy="give the JVMs more", spends=True),
]  # fmt: skip


@dataclass(frozen=True)
class Gauged:
    """What a limit's gauge showed of one service."""

    limit: Internal
    host: str
    service: str
    value: float

    @property
    def is_full(self) -> bool:
        """True if it may be what binds."""
        return self.value < self.limit.threshold if self.limit.full == "below" else self.value > self.limit.threshold

    @property
    def nearness(self) -> float:
        """How far it is from being full, as a share of what makes it so. What is full below a threshold is a share of idle time: its busy time counts."""
        value, threshold = (self.value, self.limit.threshold) if self.limit.full == "above" else (1 - self.value, 1 - self.limit.threshold)
        return max(0.0, value) / threshold

    def evidence(self) -> InsideLine:
        """A line of the verdict's evidence."""
        limit = self.limit
        return InsideLine(limit.what, self.host, self.service, self.value, limit.unit, limit.threshold, limit.full, self.is_full, limit.spends, limit.setting,
                          limit.remedy, limit.source)  # fmt: skip


def gauged(run: RunFolder, windows: Sequence[tuple[Trial, float, float]], needed: Collection[str] | None = None) -> list[Gauged]:
    """What the gauges showed over some windows (trial, begin, end; wall time), of each service; `needed`: only of those on these hosts."""
    frames = []
    for trial, begin, end in windows:
        samples = read_samples(run.folder_of(trial), layout.GAUGE_SAMPLES)
        if not samples.is_empty():
            frames.append(samples.filter(pl.col("wall_s").is_between(begin, end)).with_columns(pl.lit(trial.number).alias("trial")))
    if not frames:
        return []
    every = pl.concat(frames)
    found = []
    for limit in TABLE:
        own = every.filter(pl.col("gauge").str.starts_with(limit.gauge))
        if limit.times is not None:
            other = every.filter(pl.col("gauge").str.starts_with(limit.times)).select("trial", "host", "service", "wall_s", times="value")
            own = own.join(other, on=["trial", "host", "service", "wall_s"]).with_columns(pl.col("value") * pl.col("times"))
        for (host, service), readings in own.group_by("host", "service", maintain_order=True):
            value = _read(limit, readings)
            if value is not None and (needed is None or host in needed):
                found.append(Gauged(limit, str(host), str(service), value))
    return found


def _read(limit: Internal, readings: pl.DataFrame) -> float | None:
    """Several gauges of one name (collectors, pools) add up, or their mean is taken; the windows' mean."""
    values = []
    for _, window in readings.group_by("trial"):
        value = pl.col("value")
        sums = window.group_by("wall_s").agg(value.mean() if limit.is_each else value.sum()).sort("wall_s")
        if limit.reading == "mean":
            values.append(float(sums["value"].mean()))  # type: ignore[arg-type] # of numbers
        elif len(sums) > 1:
            seconds = sums["wall_s"][-1] - sums["wall_s"][0]
            values.append(float(sums["value"][-1] - sums["value"][0]) / seconds)
    return sum(values) / len(values) * limit.scale if values else None
