"""What is kept of a trial besides samples and histograms: plain facts, no verdicts that cannot be rebuilt."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hydrotest.store.purposes import Purpose

Tenancy = Literal["isolated", "combined"]


class Record(BaseModel):
    """Frozen; unknown keys are kept out, so that an old reader does not misread a new folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Counts(Record):
    """A generator's counters, cumulative."""

    started: int = 0
    completed: int = 0
    failed: int = 0
    bytes: int = 0
    skipped: int = 0
    """Of what counts as started, what held nothing for this generator: for one that reads, markers of transactions and records that were aborted."""
    cap_hits: int = 0

    @property
    def due(self) -> int:
        """Operations that came for it."""
        return self.started - self.skipped

    @property
    def in_flight(self) -> int:
        """Those of them that have not come to their end."""
        return self.due - self.completed - self.failed


class Outcome(Record):
    """What a generator found besides its histograms (`Outcome` in rust/core/src/wire.rs)."""

    counts: Counts
    started_wall_s: float
    ended_wall_s: float
    errors: dict[str, int] = Field(default_factory=dict)
    unanswered: int = 0
    completed_late: int = 0
    overflows: int = 0
    gave_up: bool = False
    memory_bytes_max: int = 0
    """The most memory that the generator had; of several, together."""
    extra: dict[str, Any] = Field(default_factory=dict)


class Second(Record):
    """A generator's counters at the end of a second."""

    wall_s: float
    counts: Counts
    in_flight: list[int]
    """Equally spaced readings of the past second, oldest first."""
    completed: list[int] = Field(default_factory=list)
    """Operations completed since the start, read at the same moments; empty where they were not kept."""
    failed: list[int] = Field(default_factory=list)
    """Operations failed since the start, read at the same moments; empty where they were not kept."""
    at_s: list[float] = Field(default_factory=list)
    """When they were read, seconds since the generator's second 0; empty where that was not kept."""
    p99_ms: float | None
    threads: list[ThreadUse]


class ThreadUse(Record):
    """Raw counters of one of a generator's threads."""

    name: str
    cpu_ns: int
    run_delay_ns: int


class StockResult(Record):
    """What a system's own tool said; null is what it cannot say."""

    count: int
    seconds: float
    rate_per_s: float
    bytes_per_s: float | None
    errors: int | None
    errors_by_name: dict[str, int] = Field(default_factory=dict)
    """Empty where the tool does not name all of them."""
    cpu_s: float | None
    """Of the tool's whole life: its start and its own warm-up are in it."""
    latency_ms: dict[str, float | None] | None
    """Response times from intended starts; null where the tool measures something else."""
    latency_from_send_ms: dict[str, float | None] | None = None
    """What ProducerPerformance calls latency: from its own call of send, however late that was."""
    count_in_all: int | None = None
    """With the warm-up's; what `cpu_s` belongs to."""
    by_op: dict[str, dict[str, float | None]] = Field(default_factory=dict)
    """Percentiles, `rate_per_s`, `count` and `errors` of each kind of operation."""


class Iteration(Record):
    """One run of a batch test, as its driver tells it."""

    test: str
    group: str
    """Job group: finds its jobs in the event log."""
    started_wall_s: float
    ended_wall_s: float
    seconds: float
    finished: bool
    correct: bool
    """Its own check of its answer."""
    cut: bool
    """Cut short because the trial was over."""
    hung: bool = False
    """Ended by us, since it would not have come to its end; `error` says why."""
    error: str | None = None


class RecordAccounting(Record):
    """The account of a workload's records (or rows) in one trial; null is not known. Where `in_flight` is null, `lost` are those of which it is sure."""

    unit: Literal["records", "rows"]
    sent: int
    acked: int
    seen: int | None
    lost: int | None
    duplicated: int | None
    corrupted: int | None
    out_of_order: int | None
    unacked_present: int | None
    in_flight: int | None


class FileTime(Record):
    """One file written or read."""

    bytes: int
    seconds: float
    correct: bool
    """Its content was the one that it must have."""


class FilesPass(Record):
    """A number of files written or read, some at once."""

    at_once: int
    began_wall_s: float
    seconds: float
    """From the first begin to the last end."""
    files: list[FileTime]


class Hop(Record):
    """What lies behind one step of a dataflow, of all records that were acknowledged where they came in."""

    hop: str
    sink: str | None
    """The last step's store."""
    promise: str | None = None
    """What its engine promises of that store; null where nobody knows."""
    records_per_s: float
    """What went through it, in the trial's window."""
    acked: int
    arrived_once: int
    arrived_more: int
    lost: int
    in_flight: int
    """Not there, with the step still at work when it was looked at."""
    corrupted: int
    out_of_order: int
    """Behind a later record of the same producer, in the same partition or file."""
    wrong_branch: int
    lost_here: int
    """Those of the lost that the step before had."""
    doubled_here: int
    """Those of what arrived more than once that the step before had once."""
    missing: list[tuple[int, int, int]]
    """The first of the lost: (producer, first sequence, end)."""
    latency_ms: dict[str, float] | None = None
    """Of files and rows, percentiles of the time from a record's intended start to when it could be seen: a file's batch was in its sink's log, a row's last write
    was on its way. By the clocks of the generator and of whoever wrote."""


class Windowed(Record):
    """What a dataflow's windowed counts said in the end."""

    length_s: float
    windows: int
    """That were counted in, by level."""
    updates: int
    """Times that a count was told of."""
    counted: dict[str, int]
    """Records by level, as they stand in the log."""
    came: int
    """Records that lay in the topic that it counts."""
    late: int
    """Groups (of a batch's task, level and window) that came after their window had been closed; Spark counts no single records there."""
    state_rows_max: int
    """Windows that were held in memory at a time."""
    delays_ms: dict[str, float]
    """Percentiles of the time from the intended start of the youngest record of an update until that lay in the topic; empty without updates."""


class Ending(Record):
    """A query that an error has ended."""

    query: str
    wall_s: float
    error: str
    """In brief."""


class Load(Record):
    """One workload's part in a trial."""

    workload: str
    kind: str
    client: Literal["native", "driver", "stock", "spark", "hadoop", "command"]
    offered: float | None = None
    """Operations a second asked for; null in a closed loop."""
    in_flight: int | None = None
    """Operations in flight allowed, in a closed loop."""
    is_even: bool = True
    """False where operations came at random, in bursts, or at a rate that changed."""
    burst: int = 0
    """Operations that came at once."""
    outcome: Outcome | None = None
    stock: StockResult | None = None
    fates: RecordAccounting | None = None
    nice: int | None = None
    hosts: list[str] = Field(default_factory=list)
    """Where its generators ran; empty where that was not kept."""
    generators: int = 1
    """Processes that shared the schedule; their counters, and their logs where they are read, are added up."""
    iterations: list[Iteration] | None = None
    """What a batch workload ran."""
    event_log: str | None = None
    """Its event log, below the run folder."""
    files: FilesPass | None = None
    """What a workload of files wrote or read."""
    source: str | None = None
    """Of a dataflow: the workload that feeds it, in the same trial."""
    hops: list[Hop] = Field(default_factory=list)
    """Of a dataflow, in the order of its steps."""
    windowed: Windowed | None = None
    endings: list[Ending] = Field(default_factory=list)
    """Queries of a dataflow that errors ended; each was started again."""

    @property
    def is_generated(self) -> bool:
        """True where our own schedule and recorder pressed, whatever carried the requests."""
        return self.client in ("native", "driver")


class FaultRecord(Record):
    """What was done to a service, a host or a whole system during a trial; wall times. Of a system whose services went in turn: from the first
    to the last."""

    service: str
    action: Literal["kill", "stop", "pause", "cut", "mute", "deafen", "slow", "fill", "roll"]
    struck_wall_s: float
    """When it was taken away."""
    gone_wall_s: float
    """When it was gone."""
    back_wall_s: float
    """When it was started again, or went on."""
    ready_wall_s: float
    """When its system answered as a whole again; the system is asked a few times a second."""
    ended: list[str] = Field(default_factory=list)
    """Services that ended because of what their host went through, and were started again."""


class SqueezeBlock(Record):
    """A stretch of a trial in which a resource of some hosts was more or less than it is to be; wall times."""

    hosts: list[str]
    """None where all had what they are to have."""
    resource: Literal["cpu", "disk", "network"] | None
    given: float
    """Times what it is to be."""
    start_wall_s: float
    end_wall_s: float


class Trial(Record):
    """One trial."""

    number: int
    slug: str
    purpose: Purpose
    tenancy: Tenancy
    warm_up_s: float
    """Cut off at the beginning."""
    window_s: float
    """Measured after it."""
    prepared_wall_s: float
    ended_wall_s: float
    status: Literal["done", "failed"]
    reason: str | None = None
    """Why it failed."""
    search: str | None = None
    """Which independent search it belongs to: `main`, `repeat-1`, …"""
    test: int = 0
    """Index of the test in the experiment."""
    fraction: float | None = None
    """Of the isolated limits, at which all pressed together."""
    pair: int | None = None
    """Which pair of an interference measurement it belongs to, from 1."""
    subject: str | None = None
    """The workload that a trial of several is about; null where all press together."""
    fault: FaultRecord | None = None
    turns: list[SqueezeBlock] = Field(default_factory=list)
    """Of a squeeze, in their order."""
    loads: list[Load]

    def is_about(self, workload: str) -> bool:
        """True if the workload has a part in it that is not only there for another's sake."""
        return self.subject in (None, workload) and any(load.workload == workload for load in self.loads)

    def load(self, workload: str) -> Load:
        """The part of one workload. KeyError if it has none."""
        for load in self.loads:
            if load.workload == workload:
                return load
        raise KeyError(workload)
