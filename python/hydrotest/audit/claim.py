"""A claim: what a benchmark says of one load, as figures with what rounding left open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hydrotest.percentiles import PERCENTILES
from hydrotest.printed.figures import Printed


class Tool(StrEnum):
    """Who made the output."""

    PRODUCER = "kafka-producer-perf-test"
    CONSUMER = "kafka-consumer-perf-test"
    STRESS = "cassandra-stress"
    OMB = "OpenMessaging Benchmark"
    LATTE = "latte"
    NOSQLBENCH = "NoSQLBench"
    DFSIO = "TestDFSIO"
    YCSB = "YCSB"
    HYDROTEST = "hydrotest"
    TABLE = "table"


class Loop(StrEnum):
    """When the client sends."""

    CLOSED = "closed"
    """Each thread sends when its last answer is there: a pause keeps the operations away that it would have delayed."""
    OPEN = "open"
    """By a schedule, and times count from it."""
    UNKNOWN = "unknown"


SHARE_BELOW = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p98": 0.98, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
"""Percentiles that tools print, as shares."""
assert all(abs(SHARE_BELOW[one.name] * 100 - one.percent) < 1e-9 for one in PERCENTILES)


@dataclass(frozen=True)
class Interval:
    """What a tool prints now and then while it runs."""

    rate: float
    """Operations a second."""
    max_ms: float | None = None
    backlog: float | None = None
    """What waits for its consumers, records."""


@dataclass(frozen=True)
class Pair:
    """One quantity that stands in two places, or that follows from others."""

    name: str
    """The quantity, as its key or label."""
    first: Printed
    second: Printed


@dataclass(frozen=True)
class Claim:
    """A load, and what the tool says of it. What is not printed is None or empty. Rates are operations a second, latencies ms."""

    tool: Tool
    where: str
    """Its place in the file: `line 12`, `kafka_produce, row 2`."""
    what: str = ""
    """Which load, where the file has several: `READ`, `mix`."""
    rate: Printed | None = None
    target: Printed | None = None
    """The rate that was asked for; None: none was, or it is not known."""
    count: Printed | None = None
    seconds: Printed | None = None
    bytes_per_s: Printed | None = None
    bytes_in_all: Printed | None = None
    mb_may_be_mib: bool = False
    """A table says MB, and may mean 2²⁰ bytes."""
    record_bytes: float | None = None
    latency_ms: Mapping[str, Printed] = field(default_factory=dict)
    """By `mean`, `max` and the keys of `SHARE_BELOW`."""
    loop: Loop = Loop.UNKNOWN
    threads: float | None = None
    """Operations in flight that the client allows, in all of its threads and processes."""
    in_flight: float | None = None
    """Operations in flight, where the tool measures them."""
    errors: Printed | None = None
    errors_by_name: Mapping[str, int] = field(default_factory=dict)
    warmed_up: bool | None = None
    """True: the figures leave a warm-up out."""
    intervals: tuple[Interval, ...] = ()
    interval_s: float = 1.0
    buffer_bytes: float | None = None
    """What the client queues before it holds its caller up."""
    late_ms: Printed | None = None
    """How late the client sent, at p99."""
    link_bits_per_s: Printed | None = None
    """Highest use of a network link that was seen."""
    collections: Printed | None = None
    """Garbage collections that were counted."""
    collection_mean_ms: Printed | None = None
    """NaN where none was measured."""
    parallel: float | None = None
    """Files or tasks that ran at once, each with a rate of its own."""
    worker_rate: Printed | None = None
    """Bytes a second of one of them, as printed."""
    is_part: bool = False
    """One kind of operation of several: the client's threads are those of all."""
    is_finished: bool = True
    together: bool | None = None
    """True: other loads ran at the same time. False: it ran alone."""
    group: tuple[str, ...] = ()
    """Claims of one group differ only in whether they ran together."""
    times: Mapping[str, Printed] = field(default_factory=dict)
    """Other times, s, that a load took."""
    said_slower: Mapping[str, Printed] = field(default_factory=dict)
    """Percent by which the source says that it is slower together: `peak` and `mean`."""
    pairs: tuple[Pair, ...] = ()
    """Figures of one quantity, which should agree."""


@dataclass(frozen=True)
class Audited:
    """A file's claims, and what in it was not read."""

    file: str
    tool: Tool
    claims: tuple[Claim, ...]
    not_read: tuple[str, ...] = ()
