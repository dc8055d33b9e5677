"""What to do about what binds: the resource to buy or the setting to change, each with its source."""

from __future__ import annotations

from hydrotest.analysis.evidence import inside
from hydrotest.report.bounds import full_inside
from hydrotest.spec.models import SYSTEM_OF
from hydrotest.summary.limits import Job, Limit
from hydrotest.verdicts.binding import Kind

KAFKA = "https://kafka.apache.org/documentation/"
CASSANDRA = "https://cassandra.apache.org/doc/5.0/cassandra/managing/operating/hardware.html"
SPARK = "https://spark.apache.org/docs/latest/"

ADVICE: dict[tuple[str, str], tuple[str, str]] = {
    ("kafka", "cpu"): (
        "give the brokers more cores, or fewer and larger requests (`linger`, `batch_size`)",
        f"{KAFKA}#producerconfigs_linger.ms",
    ),
    ("kafka", "disk"): ("give the brokers faster disks, or several (`log.dirs`), or compress", f"{KAFKA}#diskandfs"),
    ("kafka", "network"): ("give the brokers a faster link, or compress (`compression`)", f"{KAFKA}#producerconfigs_compression.type"),
    ("kafka-consume", "cpu"): ("give the brokers more cores, or let consumers fetch more at a time (`fetch.min.bytes`)",
                               f"{KAFKA}#consumerconfigs_fetch.min.bytes"),
    ("kafka-consume", "disk"): ("give the brokers more memory, so that what is read is still in the page cache, or faster disks", f"{KAFKA}#diskandfs"),
    ("kafka-consume", "network"): ("give the brokers a faster link, or let producers compress", f"{KAFKA}#producerconfigs_compression.type"),
    ("cassandra", "cpu"): ("add cores or nodes: writes and cached reads are bound by CPU before anything else", CASSANDRA),
    ("cassandra", "disk"): ("give the nodes faster disks, and the commit log one of its own", CASSANDRA),
    ("cassandra", "network"): ("give the nodes a faster link, or fewer copies", CASSANDRA),
    ("spark", "cpu"): ("give the workers more cores, or add workers", f"{SPARK}hardware-provisioning.html#cpu-cores"),
    ("spark", "disk"): ("give the workers faster disks, or several (`spark.local.dir`), or more memory, so that less is spilled",
                        f"{SPARK}hardware-provisioning.html#local-disks"),
    ("spark", "network"): ("give the workers a faster link, or shuffle less (combine before the shuffle, broadcast small tables)",
                           f"{SPARK}hardware-provisioning.html#network"),
    ("kafka", "heap"): ("give the brokers a larger heap: garbage collection takes a part of the CPU that binds", f"{KAFKA}#java"),
    ("cassandra", "heap"): ("give the nodes a larger heap: garbage collection takes a part of the CPU that binds", CASSANDRA),
    ("spark", "memory"): ("give the executors more memory: collecting garbage or spilling takes a part of the CPU that binds", f"{SPARK}tuning.html#memory-tuning"),
}  # fmt: skip
"""By system, or kind of workload, and resource, or the setting that costs CPU: what to do, and the vendor's own page."""


def advice(row: Limit | Job) -> str | None:
    """For a limit whose binding resource is proven, or that a limit inside the system seems to set; None where nothing is, or nothing general can be said."""
    bound = row.bound_by
    if bound.kind == Kind.GENERATOR and bound.confirmed:
        hosts = " and ".join(bound.binds)
        return f"What to do: give {hosts}, on which only generators run, more of it, or take further hosts for them (`on`): this limit is not the system's."
    if bound.kind == Kind.GENERATOR:
        return "What to do: raise `generators` or `threads` of this workload, or run it on a host without services (`on`): this limit is not the system's."
    if bound.kind == Kind.SYSTEM:
        told = {f"`{line.setting}`: {line.remedy} ({line.source})": None for line in inside(bound.evidence)}
        return f"What to do: {'; '.join(told)}." if told else None
    if not bound.confirmed or bound.resource is None:
        return None
    if set(bound.binds).isdisjoint(row.workers if isinstance(row, Job) else bound.binds):
        hosts = " and ".join(bound.binds)
        return f"What to do: give {hosts}, where no tasks run but the driver or the master, more of it, or put them elsewhere ({SPARK}cluster-overview.html)."
    system = SYSTEM_OF[row.kind]
    full = {line.setting for line in full_inside(row)}
    short = next((setting for setting in ("heap", "memory") if setting in full and (system, setting) in ADVICE), bound.resource)
    found = ADVICE.get((row.kind, short), ADVICE.get((system, short)))
    return None if found is None else f"What to do: {found[0]} ({found[1]})."
