"""Apache Kafka, and workloads that write to it and read from it."""

from __future__ import annotations

from hydrotest.kinds.internal import Internal, Theirs
from hydrotest.kinds.ref import Ref
from hydrotest.kinds.system import SystemKind
from hydrotest.kinds.workload import StockTool, WorkloadKind

DOCS = "https://kafka.apache.org/documentation/"
KAFKA_DOCS = f"{DOCS}#brokerconfigs_"

# Kafka's documentation recommends threads that are idle for 30 % of their time or more. The other
# thresholds are ours: resources that never wait where there is headroom.
LIMITS = (
    # The counter grows by the idle nanoseconds of all threads, divided by their number. It is that of the
    # broker's own pool (KIP-1207). The earlier one mixes it with the controller's, which is nearly idle, in a
    # process that is both.
    Internal("request handlers idle", "kafka_broker_request_handler_idle_ns_total", "growth", "below", 0.3, "num.io.threads",
             KAFKA_DOCS + "num.io.threads", 1e-9),
    # Nanoseconds that each network thread of the brokers' listeners waited for its sockets.
    # NetworkProcessorAvgIdlePercent shows the controller's threads in such a process (KAFKA-20453).
    Internal("network threads idle", "kafka_network_processor_wait_ns_total", "growth", "below", 0.3, "num.network.threads",
             KAFKA_DOCS + "num.network.threads", 1e-9, is_each=True),
    Internal("threads that fetch copies idle", "kafka_replica_fetcher_wait_ns_total", "growth", "below", 0.1, "num.replica.fetchers",
             KAFKA_DOCS + "num.replica.fetchers", 1e-9, is_each=True),
    Internal("partitions whose copies are behind", "kafka_under_replicated_partitions", "mean", "above", 0.5, "num.replica.fetchers",
             KAFKA_DOCS + "num.replica.fetchers", unit=""),
    Internal("seconds of flushes a second", "kafka_log_flushes_total", "growth", "above", 0.9, "log.flush.interval.messages",
             KAFKA_DOCS + "log.flush.interval.messages", 1e-3, times="kafka_log_flush_mean_ms",
             remedy="leave it unset, so that the system decides when to flush, or give the log a faster disk"),
    # Of brokers that are there already: shares as their exporter has them, over half a minute or more.
    Internal("request handlers idle, smoothed", "kafka_request_handlers_idle_share", "mean", "below", 0.3, "num.io.threads",
             KAFKA_DOCS + "num.io.threads"),
    Internal("network threads idle, smoothed", "kafka_network_threads_idle_share", "mean", "below", 0.3, "num.network.threads",
             KAFKA_DOCS + "num.network.threads"),
)  # fmt: skip

# Names by the rules of Strimzi, which many jmx_exporters of brokers follow. `broker…` is there since Kafka 4.2 (KIP-1207).
EXPORTED = (
    Theirs("kafka_server_kafkarequesthandlerpool_brokerrequesthandleravgidle_percent", "kafka_request_handlers_idle_share"),
    Theirs("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", "kafka_request_handlers_idle_share"),
    Theirs("kafka_network_socketserver_networkprocessoravgidle_percent", "kafka_network_threads_idle_share"),
    Theirs("kafka_server_replicamanager_underreplicatedpartitions", "kafka_under_replicated_partitions"),
)

KINDS = (
    SystemKind(
        name="kafka",
        model=Ref("hydrotest.spec.kafka:Kafka"),
        make=Ref("hydrotest.systems.kafka.system:make"),
        start_s=10.0,
        takeover_s=9.0,
        takeover_ms="broker.session.timeout.ms",
        # request.timeout.ms of its clients: what is in flight keeps its order, so that nothing behind it goes elsewhere.
        client_waits_s=30.0,
        services=r"kafka-\d+$",
        requests='kafka_requests_total{request="Produce"}',
        bundles=(Ref("hydrotest.systems.fetch:KAFKA"), Ref("hydrotest.systems.fetch:EXPORTER")),
        limits=LIMITS,
        exported=EXPORTED,
        advice={
            "cpu": ("give the brokers more cores, or fewer and larger requests (`linger`, `batch_size`)", f"{DOCS}#producerconfigs_linger.ms"),
            "disk": ("give the brokers faster disks, or several (`log.dirs`), or compress", f"{DOCS}#diskandfs"),
            "network": ("give the brokers a faster link, or compress (`compression`)", f"{DOCS}#producerconfigs_compression.type"),
            "heap": ("give the brokers a larger heap: garbage collection takes a part of the CPU that binds", f"{DOCS}#java"),
        },
        needs_java=True,
    ),
    WorkloadKind(
        name="kafka-produce",
        model=Ref("hydrotest.spec.kafka_produce:KafkaProduce"),
        run=Ref("hydrotest.run.workloads.kafka:Produce"),
        system="kafka",
        unit="records/s",
        stock=StockTool("ProducerPerformance", Ref("hydrotest.run.trials.stock:produce")),
        table="records",
        law=Ref("hydrotest.analysis.demand.laws.kafka:ProduceLaw"),
    ),
    WorkloadKind(
        name="kafka-consume",
        model=Ref("hydrotest.spec.kafka_consume:KafkaConsume"),
        run=Ref("hydrotest.run.workloads.kafka:Consume"),
        system="kafka",
        unit="records/s",
        stock=StockTool("ConsumerPerformance", Ref("hydrotest.run.trials.stock:consume")),
        table="records",
        advice={
            "cpu": ("give the brokers more cores, or let consumers fetch more at a time (`fetch.min.bytes`)", f"{DOCS}#consumerconfigs_fetch.min.bytes"),
            "disk": ("give the brokers more memory, so that what is read is still in the page cache, or faster disks", f"{DOCS}#diskandfs"),
            "network": ("give the brokers a faster link, or let producers compress", f"{DOCS}#producerconfigs_compression.type"),
        },
    ),
    WorkloadKind(
        name="kafka-group",
        model=Ref("hydrotest.spec.kafka_group:KafkaGroup"),
        run=Ref("hydrotest.run.workloads.kafka_group:Group"),
        system="kafka",
        unit="records/s",
        table="records",
        needs_javac=True,
    ),
)  # fmt: skip
