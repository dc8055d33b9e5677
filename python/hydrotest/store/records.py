"""Records of a trial, in addition to samples and histograms: plain facts, no verdicts that cannot be
rebuilt."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hydrotest.store.purposes import Purpose

Tenancy = Literal["isolated", "combined"]


class Record(BaseModel):
    """Frozen; unknown keys are left out, so that an old reader does not misread a new folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Counts(Record):
    """A generator's counters, cumulative."""

    started: int = 0
    completed: int = 0
    failed: int = 0
    bytes: int = 0
    skipped: int = 0
    """Started operations that held nothing for this generator: for a reader, markers of transactions and
    aborted records."""
    cap_hits: int = 0

    @property
    def due(self) -> int:
        """Operations that came for it."""
        return self.started - self.skipped

    @property
    def in_flight(self) -> int:
        """Those of them that have not ended."""
        return self.due - self.completed - self.failed


class Outcome(Record):
    """Findings of a generator in addition to its histograms (`Outcome` in rust/core/src/wire.rs)."""

    counts: Counts
    started_wall_s: float
    ended_wall_s: float
    errors: dict[str, int] = Field(default_factory=dict)
    unanswered: int = 0
    completed_late: int = 0
    overflows: int = 0
    gave_up: bool = False
    memory_bytes_max: int = 0
    """Most memory of the generator; of several, together."""
    extra: dict[str, Any] = Field(default_factory=dict)


class Second(Record):
    """A generator's counters at the end of a second."""

    wall_s: float
    counts: Counts
    in_flight: list[int]
    """Equally spaced readings of the past second, oldest first."""
    completed: list[int] = Field(default_factory=list)
    """Operations completed since the start, read at the same moments; empty if not kept."""
    failed: list[int] = Field(default_factory=list)
    """Operations failed since the start, read at the same moments; empty if not kept."""
    at_s: list[float] = Field(default_factory=list)
    """When they were read, seconds since the generator's second 0; empty if not kept."""
    p99_ms: float | None
    threads: list[ThreadUse]


class ThreadUse(Record):
    """Raw counters of one of a generator's threads."""

    name: str
    cpu_ns: int
    run_delay_ns: int


class StockResult(Record):
    """Output of a system's own tool; null: the tool does not have it."""

    count: int
    seconds: float
    rate_per_s: float
    bytes_per_s: float | None
    errors: int | None
    errors_by_name: dict[str, int] = Field(default_factory=dict)
    """Empty if the tool does not name all of them."""
    cpu_s: float | None
    """Of the tool's full run, including its start and its own warm-up."""
    latency_ms: dict[str, float | None] | None
    """Response times from intended starts; null if the tool measures something else."""
    latency_from_send_ms: dict[str, float | None] | None = None
    """ProducerPerformance's latency: from its own call of send, however late that was."""
    count_in_all: int | None = None
    """Including the warm-up; `cpu_s` refers to it."""
    by_op: dict[str, dict[str, float | None]] = Field(default_factory=dict)
    """Percentiles, `rate_per_s`, `count` and `errors` of each kind of operation."""


class Iteration(Record):
    """One run of a batch test, as its driver reports it."""

    test: str
    group: str
    """Job group: finds its jobs in the event log."""
    started_wall_s: float
    ended_wall_s: float
    seconds: float
    finished: bool
    correct: bool
    """Result of its own check of its answer."""
    cut: bool
    """Cut short because the trial was over."""
    hung: bool = False
    """Ended by hydrotest, since it would not have completed; `error` has the reason."""
    error: str | None = None


class RecordAccounting(Record):
    """The account of a workload's records (or rows) in one trial; null is unknown. If `in_flight` is null,
    `lost` counts only the certain ones."""

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
    """Its content was as expected."""
    failed: bool = False
    """An operation of it failed: it was not written or read to its end."""


class FilesPass(Record):
    """A number of files written or read, some at once."""

    at_once: int
    began_wall_s: float
    seconds: float
    """From the first begin to the last end."""
    files: list[FileTime]
    allowed_bytes_per_s: float | None = None
    """No more was offered, on a file system that others use."""
    allowed_requests_per_s: float | None = None
    """No more were made, of a store that others use."""
    requests: int = 0
    """Made, where they are bounded: operations, also those that failed, and what else objects take."""
    operation_bytes: int | None = None
    operations_us: dict[int, int] = Field(default_factory=dict)
    """How many operations took so many microseconds, to three digits; empty if not kept."""
    operations_per_s: float | None = None
    """The rate at which they were due, from which they are timed."""
    is_random: bool = False
    """Operations were anywhere in the files."""
    is_cold: bool = False
    """The files were taken out of the page cache before."""
    errors: dict[str, int] = Field(default_factory=dict)
    """How many operations failed, by what the system calls it."""


class Hop(Record):
    """The output of one step of a dataflow, for all records that were acknowledged at its input."""

    hop: str
    sink: str | None
    """The last step's store."""
    promise: str | None = None
    """What its engine guarantees for that store; null if unknown."""
    records_per_s: float
    """Records that passed it in the trial's window."""
    acked: int
    arrived_once: int
    arrived_more: int
    lost: int
    in_flight: int
    """Not found while the step was still working, at the time of the check."""
    corrupted: int
    out_of_order: int
    """After a later record of the same producer, in the same partition or file."""
    wrong_branch: int
    lost_here: int
    """Lost records that the previous step had."""
    doubled_here: int
    """Records found more than once that the previous step had once."""
    missing: list[tuple[int, int, int]]
    """The first lost records: (producer, first sequence, end)."""
    latency_ms: dict[str, float] | None = None
    """For files and rows, percentiles of the time from a record's intended start until it is visible: a
    file's batch is in its sink's log, a row's last write is on its way. By the clocks of the generator and of
    the writer."""


class Windowed(Record):
    """The final result of a dataflow's windowed counts."""

    length_s: float
    windows: int
    """Windows of the counts, by level."""
    updates: int
    """Number of updates of counts."""
    counted: dict[str, int]
    """Records by level, as in the log."""
    came: int
    """Records in the topic that it counts."""
    late: int
    """Groups (of a batch's task, level and window) that came after their window had been closed; Spark counts
    no single records there."""
    state_rows_max: int
    """Most windows in memory at a time."""
    delays_ms: dict[str, float]
    """Percentiles of the time from the intended start of the youngest record of an update until the update is
    in the topic; empty without updates."""


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
    client: Literal["native", "driver", "stock", "spark", "hadoop", "aws-sdk", "command"]
    offered: float | None = None
    """Requested operations per second; null in a closed loop."""
    in_flight: int | None = None
    """Operations in flight allowed, in a closed loop."""
    is_even: bool = True
    """False if operations came at random, in bursts, or at a rate that changed."""
    burst: int = 0
    """Operations that came at once."""
    outcome: Outcome | None = None
    stock: StockResult | None = None
    fates: RecordAccounting | None = None
    nice: int | None = None
    hosts: list[str] = Field(default_factory=list)
    """Hosts of its generators; empty if not kept."""
    generators: int = 1
    """Processes that shared the schedule; their counters, and their logs when they are read, are added up."""
    iterations: list[Iteration] | None = None
    """The runs of a batch workload."""
    event_log: str | None = None
    """Its event log, below the run folder."""
    files: FilesPass | None = None
    """The pass of a workload of files."""
    clock_error_s: float | None = None
    """By how much its latencies may be wrong, since they begin and end by different hosts' clocks; null where
    they do not, or where that is not known."""
    source: str | None = None
    """For a dataflow: the workload that feeds it, in the same trial."""
    hops: list[Hop] = Field(default_factory=list)
    """For a dataflow, in the order of its steps."""
    windowed: Windowed | None = None
    endings: list[Ending] = Field(default_factory=list)
    """Queries of a dataflow that errors ended; each was restarted."""

    @property
    def is_generated(self) -> bool:
        """True if hydrotest's own schedule and recorder applied the load, whatever carried the requests."""
        return self.client in ("native", "driver")


class FaultRecord(Record):
    """The fault of a service, a host or a whole system during a trial; wall times. For a system whose
    services had it one after the other: from the first to the last."""

    service: str
    action: Literal["kill", "stop", "pause", "cut", "mute", "deafen", "slow", "fill", "roll"]
    struck_wall_s: float
    """When the fault was injected."""
    gone_wall_s: float
    """When it was gone."""
    back_wall_s: float
    """When it was restarted, or resumed."""
    ready_wall_s: float
    """When its system answered completely again; it is asked a few times a second."""
    ended: list[str] = Field(default_factory=list)
    """Services that ended because of their host's fault, and were restarted."""


class SqueezeBlock(Record):
    """A stretch of a trial in which some hosts had more or less of a resource than planned; wall times."""

    hosts: list[str]
    """Empty if all hosts had their planned share."""
    resource: Literal["cpu", "disk", "network"] | None
    given: float
    """Factor of the planned share."""
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
    """Measured after the warm-up."""
    prepared_wall_s: float
    ended_wall_s: float
    status: Literal["done", "failed"]
    reason: str | None = None
    """Why it failed."""
    search: str | None = None
    """Its independent search: `main`, `repeat-1`, …"""
    test: int = 0
    """Index of the test in the experiment."""
    fraction: float | None = None
    """Fraction of the isolated limits at which all ran together."""
    pair: int | None = None
    """Its pair of an interference measurement, from 1."""
    subject: str | None = None
    """The workload that a trial of several measures; null if all run together."""
    fault: FaultRecord | None = None
    turns: list[SqueezeBlock] = Field(default_factory=list)
    """Blocks of a squeeze, in their order."""
    loads: list[Load]

    def is_about(self, workload: str) -> bool:
        """True if the workload is not only in the trial for another's sake."""
        return self.subject in (None, workload) and any(load.workload == workload for load in self.loads)

    def load(self, workload: str) -> Load:
        """The part of one workload. KeyError if it has none."""
        for load in self.loads:
            if load.workload == workload:
                return load
        raise KeyError(workload)
