"""Apache Cassandra, and workloads that read and write its rows."""

from __future__ import annotations

from hydrotest.kinds.internal import Internal, Theirs
from hydrotest.kinds.ref import Ref
from hydrotest.kinds.system import SystemKind
from hydrotest.kinds.workload import StockTool, WorkloadKind

HARDWARE = "https://cassandra.apache.org/doc/5.0/cassandra/managing/operating/hardware.html"
CASSANDRA_DOCS = "https://cassandra.apache.org/doc/5.0/cassandra/managing/configuration/cass_yaml_file.html#"

LIMITS = (
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
)  # fmt: skip

# Names of DataStax's metric collector (MCAC).
EXPORTED = tuple(
    Theirs("mcac_thread_pools_pending_tasks", f'cassandra_pending_tasks{{pool="{ours}"}}', {"pool_name": theirs})
    for ours, theirs in {
        "Native-Transport-Requests": "native_transport_requests", "MutationStage": "mutation_stage", "ReadStage": "read_stage",
        "MemtableFlushWriter": "memtable_flush_writer",
    }.items()
)  # fmt: skip

KINDS = (
    SystemKind(
        name="cassandra",
        model=Ref("hydrotest.spec.cassandra:Cassandra"),
        make=Ref("hydrotest.systems.cassandra.system:make"),
        start_s=20.0,
        takeover_s=2.0,
        rewrites_b_s=64 * (1 << 20),
        rewrites_setting="compaction_throughput",
        services=r"cassandra-\d+$",
        bundles=(Ref("hydrotest.systems.fetch:CASSANDRA"), Ref("hydrotest.systems.fetch:STRESS"), Ref("hydrotest.systems.fetch:EXPORTER")),
        limits=LIMITS,
        exported=EXPORTED,
        advice={
            "cpu": ("add cores or nodes: writes and cached reads are bound by CPU before anything else", HARDWARE),
            "disk": ("give the nodes faster disks, and the commit log one of its own", HARDWARE),
            "network": ("give the nodes a faster link, or fewer copies", HARDWARE),
            "heap": ("give the nodes a larger heap: garbage collection takes a part of the CPU that binds", HARDWARE),
        },
        needs_java=True,
    ),
    WorkloadKind(
        name="cassandra",
        model=Ref("hydrotest.spec.cassandra:CassandraLoad"),
        run=Ref("hydrotest.run.workloads.cassandra:Store"),
        system="cassandra",
        unit="operations/s",
        stock=StockTool("cassandra-stress", Ref("hydrotest.run.trials.stock:stress")),
        table="operations",
        law=Ref("hydrotest.analysis.demand.laws.cassandra:MixLaw"),
    ),
)
