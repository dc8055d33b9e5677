"""The bottlenecks that verdicts.py plants: the systems that they are planted in, by family, and what is changed of their hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hydrotest.run.workloads.base import UNTHROTTLED, LoadSpec

MBIT = 1e6

HOSTS = """\
hosts:
  a: {connect: netns, cores: 0.5, memory: 3 GiB, disk: 200 MB/s, network: 800 Mbit/s}
  b: {connect: netns, cores: 0.5, memory: 3 GiB, disk: 200 MB/s, network: 800 Mbit/s}
  c: {connect: netns, cores: 0.5, memory: 3 GiB, disk: 200 MB/s, network: 800 Mbit/s}
  clients: {connect: netns, cores: 0.4}
"""
# After 30 s a broker under a small quota still spent up to a third of it on compiling.
REST = """\
tests: [isolated: [press]]
search: {window: 4 s, warm_up: 1 s}
warm_up: {least: 60 s, most: 90 s}
"""
SPARK_HOSTS = """\
hosts:
  driver: {connect: netns, cores: 0.5, memory: 3 GiB, network: 800 Mbit/s}
  a: {connect: netns, cores: 0.6, memory: 2 GiB, disk: 200 MB/s, network: 800 Mbit/s}
  b: {connect: netns, cores: 0.6, memory: 2 GiB, disk: 200 MB/s, network: 800 Mbit/s}
"""
TEXTS = {
    "kafka": "name: verdicts\n" + HOSTS + """\
systems: {kafka: {hosts: [a, b, c], heap: 512 MiB}}
workloads: {press: {kind: kafka-produce, partitions: 6, replication: 1, record_size: 1 KB, on: clients}}
""" + REST,
    # What is read is several times what the broker's memory can keep of it.
    "kafka-read": "name: verdicts\n" + """\
hosts:
  a: {connect: netns, cores: 0.9, memory: 768 MiB, disk: 200 MB/s, network: 800 Mbit/s}
  clients: {connect: netns, cores: 0.6}
systems: {kafka: {hosts: [a], heap: 256 MiB}}
workloads:
  source: {kind: kafka-produce, partitions: 6, replication: 1, record_size: 1 KB, on: clients}
  press: {kind: kafka-consume, reads: source, on: clients}
""" + REST.replace("[press]", "[source, press]").replace("window: 4 s", "window: 4 s, saturated: 20 s"),
    # Many tokens: with few, nodes own unequal parts of the keys, and the one with the least does not bind with the others.
    "cassandra": "name: verdicts\n" + HOSTS + """\
systems: {cassandra: {hosts: [a, b, c], heap: 1536 MiB, config: {num_tokens: 256}}}
workloads: {press: {kind: cassandra, mix: {write: 1, read: 1}, keys: "uniform(0, 20K)", on: clients}}
""" + REST,
    # Rows of 20 KB, the same few again and again, and memtables that last for minutes: what is written is the commit log, and a write waits for it.
    "cassandra-disk": "name: verdicts\n" + HOSTS + """\
systems:
  cassandra: {hosts: [a, b, c], heap: 1 GiB, config: {num_tokens: 256, commitlog_sync: batch, memtable_heap_space: 512MiB, memtable_cleanup_threshold: 0.9}}
workloads: {press: {kind: cassandra, mix: {write: 1}, columns: 5, column_size: 4 KB, keys: "uniform(0, 200)", on: clients}}
""" + REST,
    # One thread that waits for the disk at each request: what is full is the thread, not the disk, and not the CPU, of which half would do.
    "kafka-inside": "name: verdicts\n" + """\
hosts:
  a: {connect: netns, cores: 1.5, memory: 3 GiB, disk: 200 MB/s, network: 800 Mbit/s}
  clients: {connect: netns, cores: 0.4}
systems: {kafka: {hosts: [a], heap: 512 MiB, config: {num.io.threads: 1, log.flush.interval.messages: 1}}}
workloads: {press: {kind: kafka-produce, partitions: 6, replication: 1, record_size: 1 KB, on: clients}}
""" + REST,
    # A write waits for a sync that comes each 15 ms, in one of two threads: what is full is the threads, neither the CPU nor the disk.
    "cassandra-inside": "name: verdicts\n" + HOSTS + """\
systems: {cassandra: {hosts: [a, b, c], heap: 1 GiB, config: {concurrent_writes: 2, commitlog_sync: group, commitlog_sync_group_window: 15ms}}}
workloads: {press: {kind: cassandra, mix: {write: 1}, keys: "uniform(0, 20K)", on: clients}}
""" + REST,
    # What an executor may sort in memory is less than a task sorts.
    "spark-memory": "name: verdicts\n" + SPARK_HOSTS + """\
systems: {spark: {master: driver, workers: [a, b], cores: 2, memory: 512 MiB, driver_memory: 512 MiB, config: {spark.memory.fraction: 0.01}}}
workloads: {press: {kind: spark-perf, tests: [sort-by-key], scale_factor: 0.02, data_scale: 0.12, on: driver}}
""" + REST,
    # So much memory that executors collect for less than a tenth of the time, on a part of a core, too.
    "spark": "name: verdicts\n" + SPARK_HOSTS.replace("memory: 2 GiB", "memory: 4 GiB") + """\
systems: {spark: {master: driver, workers: [a, b], cores: 2, memory: 2400 MiB, driver_memory: 512 MiB}}
workloads: {press: {kind: spark-perf, tests: [sort-by-key], scale_factor: 0.02, data_scale: 0.05, on: driver}}
""" + REST,
    # What is shuffled is on the disk before the next stage begins, not in the page cache.
    "spark-disk": "name: verdicts\n" + SPARK_HOSTS + """\
systems: {spark: {master: driver, workers: [a, b], cores: 2, memory: 768 MiB, driver_memory: 512 MiB, config: {spark.shuffle.sync: true}}}
workloads: {press: {kind: spark-perf, tests: [sort-by-key], scale_factor: 0.02, data_scale: 0.05, on: driver}}
""" + REST,
    # One slot on a host of nearly two cores: half of the cores stay idle, whatever is taken.
    "spark-inside": "name: verdicts\n" + SPARK_HOSTS.replace("driver: {connect: netns, cores: 0.5", "driver: {connect: netns, cores: 1").replace(
        "a: {connect: netns, cores: 0.6", "a: {connect: netns, cores: 1.9") + """\
systems: {spark: {master: driver, workers: [a], cores: 1, memory: 768 MiB, driver_memory: 512 MiB}}
workloads: {press: {kind: spark-perf, tests: [sort-by-key], scale_factor: 0.02, data_scale: 0.05, on: driver}}
""" + REST,
    # Both systems on one host: Cassandra has a steady load, Kafka an unthrottled one.
    "combined": "name: verdicts\n" + """\
hosts:
  a: {connect: netns, cores: 0.9, memory: 4 GiB, disk: 200 MB/s, network: 800 Mbit/s}
  clients: {connect: netns, cores: 0.6}
systems:
  kafka: {hosts: [a], heap: 512 MiB}
  cassandra: {hosts: [a], heap: 1 GiB}
workloads:
  press: {kind: kafka-produce, partitions: 6, replication: 1, record_size: 1 KB, on: clients}
  beside: {kind: cassandra, mix: {write: 1, read: 1}, keys: "uniform(0, 20K)", replication: 1, consistency: ONE, on: clients}
""" + REST.replace("[press]", "[press, beside]"),
}  # fmt: skip


@dataclass(frozen=True)
class Plant:
    """A bottleneck. `shares`: what hosts are given instead (fields of a host of the experiment file, disk and network in bits/s)."""

    name: str
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    load_spec: LoadSpec = UNTHROTTLED
    binds: tuple[str | None, frozenset[str]] = (None, frozenset())
    """Resource and hosts; nothing where no resource of a host binds."""
    inside: frozenset[str] = frozenset()
    """Settings that together bound the planted internal limit.

    The verdict must name all of them, and no other next to a resource.
    """
    may_tell: frozenset[str] = frozenset()
    """Settings of the planted internal limit that may be named with it: when one is full, what it waits
    for may be full, too."""
    by_client: bool = False
    """What the generators have in flight binds, and no resource."""
    busy: tuple[str, ...] = ()
    """Hosts on which something of the lowest priority uses up all CPU that is left: the busiest resource, and not what binds."""


def everywhere(hosts: str = "abc", **shares: float) -> dict[str, dict[str, float]]:
    """The same on all hosts of the system, each named by a letter."""
    return {host: dict(shares) for host in hosts}


ALL = frozenset("abc")
BOTH = frozenset("ab")
PLANTS = {
    "kafka": [
        # What else is there is ample: a generator or links used to a third would be squeezed, too, and the scatter of theirs hides the rest.
        Plant("CPU of all brokers", {"clients": {"cores": 1.0}, **everywhere(cores=0.35, network=2000 * MBIT)}, binds=("cpu", ALL)),
        Plant("CPU of one broker of three", {"b": {"cores": 0.12}}, binds=("cpu", frozenset("b"))),
        # At least 8 MB may wait to be written: a slower disk needs more than a block to show a reduction.
        Plant("disk of one broker", {"a": {"disk": 32 * MBIT}}, binds=("disk", frozenset("a"))),
        Plant("CPU of the generator", {"clients": {"cores": 0.03}}, binds=("cpu", frozenset(["clients"]))),
        Plant("few in flight", load_spec=LoadSpec(in_flight=6), by_client=True),
        Plant("link of one broker, another's CPU busy", {"c": {"network": 12 * MBIT}}, binds=("network", frozenset("c")), busy=("b",)),
        Plant("a rate below every limit, one broker's CPU busy", load_spec=LoadSpec(rate_per_s=500.0), busy=("b",)),
    ],
    "cassandra": [
        Plant("CPU of all nodes", {"clients": {"cores": 0.8}, **everywhere(cores=0.35)}, binds=("cpu", ALL)),
        Plant("CPU of one node of three", {"b": {"cores": 0.1}}, binds=("cpu", frozenset("b"))),
        Plant("link of one node", {"c": {"network": 1.5 * MBIT}}, binds=("network", frozenset("c"))),
        Plant("a rate below every limit", load_spec=LoadSpec(rate_per_s=200.0)),
    ],
    "cassandra-disk": [
        Plant("commit log's disk of one node", {"a": {"disk": 16 * MBIT}}, binds=("disk", frozenset("a"))),
    ],
    "kafka-read": [
        Plant("page cache too small, disk slow", {"a": {"disk": 320 * MBIT}}, binds=("disk", frozenset("a"))),
        Plant("link out of the broker", {"a": {"network": 120 * MBIT}}, binds=("network", frozenset("a"))),
    ],
    "spark": [
        Plant("CPU of both workers", everywhere("ab", cores=0.3), binds=("cpu", BOTH)),
        Plant("CPU of one worker", {"b": {"cores": 0.12}}, binds=("cpu", frozenset("b"))),
        Plant("links of both workers", everywhere("ab", network=3 * MBIT), binds=("network", BOTH)),
        Plant("CPU of the driver", {"driver": {"cores": 0.1}}, binds=("cpu", frozenset(["driver"]))),
    ],
    "spark-disk": [
        Plant("disk of one worker", {"b": {"disk": 6 * MBIT}}, binds=("disk", frozenset("b"))),
    ],
    "combined": [
        Plant("CPU of the host of both systems", {"a": {"cores": 0.4}}, binds=("cpu", frozenset("a"))),
        Plant("link of the host of both systems", {"a": {"network": 24 * MBIT}}, binds=("network", frozenset("a"))),
        Plant("disk of the host of both systems", {"a": {"disk": 32 * MBIT}}, binds=("disk", frozenset("a"))),
    ],
    "spark-inside": [Plant("one slot for tasks", inside=frozenset(["cores"]))],
    "kafka-inside": [
        Plant("one request handler", inside=frozenset(["num.io.threads"]), may_tell=frozenset(["log.flush.interval.messages"]))
    ],
    "cassandra-inside": [
        Plant("two threads that write", inside=frozenset(["concurrent_writes", "commitlog_sync"])),
        # It waits for the sync, whatever there is of CPU and disk.
        Plant("few in flight", load_spec=LoadSpec(in_flight=1), by_client=True),
    ],
    "spark-memory": [
        Plant("memory of the executors too small", everywhere("ab", cores=0.3), binds=("cpu", BOTH), inside=frozenset(["memory"]))
    ],
}
