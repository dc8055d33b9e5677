"""A prediction as data: prediction.json, what `predict --json` prints, and what `score` compares."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from hydrotest.summary.base import Count, Number, Row

OBJECTIVE, SATURATED = "objective", "saturated"
"""What a limit is: by the workload's objective, or without a rate limit."""


class Zone(StrEnum):
    """How far a prediction is from what was measured."""

    CALIBRATED = "calibrated"
    EXTRAPOLATED = "extrapolated"


class Why(StrEnum):
    """Why nothing is predicted."""

    NOT_MODELLED = "not modelled"
    """No law is known of this kind of workload, or of one of its settings."""
    SETTING = "setting"
    """A setting that no law knows is not as it was measured."""
    TOO_FAR = "too far"
    """A number is too far from those that were measured, or too many are."""
    TOO_MANY = "too many"
    """Too many numbers are beyond what was measured at once."""
    FULL = "full"
    """Without any load of it the hosts would be full."""
    INSEPARABLE = "inseparable"
    """The windows do not separate what would change."""
    TOO_FEW = "too few"
    """There are too few windows."""
    NOT_BOUND = "not bound"
    """Without a rate limit nothing of the hosts was full: what bound is not known."""
    NO_FIT = "no fit"
    """No law fits the windows."""
    MEMORY = "memory"
    """The data would not fit into memory, and did when it was measured."""
    SHARED = "shared"
    """Parts of a pipeline share machines: no reading shows what each needs."""
    SOFT = "soft"
    """A system on the same hosts uses CPU that it does not need: how much of it is left is not known."""
    LOG = "log"
    """Spark's event log is not there, or is not complete."""
    NO_LIMIT = "no limit"
    """Its limit at an objective on latency was not measured, or with too few windows."""


class Refused(Row):
    """Why nothing is predicted, and the experiment that would show it."""

    workload: str = Field(description="The workload.")
    system: str | None = Field(None, description="The system under its load.")
    why: Why = Field(description="The reason.")
    about: list[str] = Field(description="Settings, drivers or workloads that it is about.")
    reach: Number | None = Field(
        None, description="How many times too far, where it is about a number; the median error, where no law fits."
    )
    experiment: str | None = Field(None, description="An experiment file that would show it.")


class Use(Row):
    """Use of a resource of each host of a system."""

    system: str = Field(description="The system; `driver`: the driver of a pipeline.")
    resource: str = Field(description="`cpu`, `network` or `disk`.")
    share: Number = Field(description="Of its ceiling, 0 to 1.")
    used: Number = Field(description="Cores, or bytes a second.")
    others: Number = Field(0.0, description="Of what is used: cores that other systems on the same host use.")
    has: Number = Field(description="Its ceiling: of cores those that a system uses where CPU binds.")


class Bind(Row):
    """A resource, with the rate at which it is full."""

    system: str = Field(description="The system; `driver`: the driver of a pipeline.")
    resource: str = Field(description="`cpu`, `network` or `disk`.")
    rate: Number = Field(description="Operations a second of the workload at which it is full.")


class Price(Row):
    """What more of something would bring."""

    what: str = Field(
        description="`core`: one more on each host; `host`: one more of what binds; `executor`: one more; `network`: 1 Gbit/s more on each; `disk`: 100 MB/s more."
    )
    gain: Number = Field(description="Operations a second.")


class Twice(Row):
    """What twice the limit takes."""

    hosts: Count | None = Field(None, description="Hosts like these; null: four times as many do not carry it.")
    cores: Number | None = Field(None, description="Times the cores of each host; null: four times as many do not carry it.")


class Moved(Row):
    """A number that is not as it was measured, or that was measured at several values."""

    axis: str = Field(description="Its name.")
    value: Number = Field(description="What it would be.")
    low: Number = Field(description="The least that was measured.")
    high: Number = Field(description="The most that was measured.")
    error: Number = Field(description="90th percentile of |log error| on held-out cases of this axis.")
    cases: Count = Field(description="Held-out cases; 0: the error is assumed.")


class NoLatency(StrEnum):
    """Why no latency is predicted."""

    NOT_ASKED = "not asked"
    """No load is asked for."""
    QUOTA = "quota"
    """Hosts have their cores by a quota: a process that used it up waits for the next period, which no machine does."""
    LEVELS = "levels"
    """Too few loads were measured."""
    SETTING = "setting"
    """A number of the workload is not as it was measured."""
    ABOVE = "above"
    """The load is too near to the limit, or above what was measured."""
    SHARED = "shared"
    """Others are under load on the same hosts."""
    SCATTER = "scatter"
    """Levels that were left out were missed by too much."""
    GROUPS = "groups"
    """Consumer groups are to read its records: no latency was measured meanwhile."""


class Percentile(Row):
    """A percentile of a latency."""

    name: str = Field(description="`p50`.")
    ms: Number = Field(description="Milliseconds.")
    low_ms: Number = Field(description="It may be as low as this.")
    high_ms: Number = Field(description="And as high.")
    form: str = Field(description="`queue` or `curve`.")


class LatencyAt(Row):
    """Latency at the load that is asked for."""

    rate: Number = Field(description="The load, operations a second.")
    share: Number = Field(description="The same as a share of the limit without a rate limit.")
    percentiles: list[Percentile] = Field(description="Response times.")
    levels: Count = Field(description="Loads that it stands on.")


class Capacity(Row):
    """The limit on another number of hosts."""

    hosts: Count = Field(description="Hosts of the system, each as they are or are asked for.")
    limit: Number = Field(description="Operations a second.")
    low: Number = Field(description="Lower end of its 90 % interval.")
    high: Number = Field(description="Upper end of it.")
    resource: str = Field(description="What binds there: `cpu`, `network` or `disk`.")


class Prediction(Row):
    """The limit of a workload."""

    workload: str = Field(description="The workload.")
    system: str | None = Field(None, description="The system under its load; of a pipeline `spark`.")
    unit: str = Field(description="Unit of its rates.")
    by: str = Field(description="`objective`: the limit at its objective; `saturated`: the rate without a rate limit.")
    measured: Number | None = Field(description="The same, as it was measured; of several the median.")
    limit: Number = Field(description="The rate that is predicted.")
    low: Number = Field(description="Lower end of its 90 % interval.")
    high: Number = Field(description="Upper end of it.")
    at_least: bool = Field(description="What bound in the runs is not known: it may be more.")
    zone: Zone = Field(description="How far it is from what was measured.")
    binds: Bind = Field(description="What is full first.")
    is_certain: bool = Field(description="The next resource is full only beyond the interval.")
    next: Bind | None = Field(description="What would be full next.")
    uses: list[Use] = Field(description="Use at the limit.")
    prices: list[Price] = Field(description="What more would bring.")
    twice: Twice | None = Field(None, description="What twice the limit takes.")
    capacity: list[Capacity] = Field(
        default_factory=list,
        description="The limit by the number of hosts, where the runs show it: up to four times those that were measured.",
    )
    moved: list[Moved] = Field(description="Numbers that are not as they were measured.")
    is_soft: bool = Field(description="Below its limit the system uses more CPU than it needs: its use shows nothing of what is left.")
    unsettled: list[str] = Field(description="Measured workloads whose system still got better when its warm-up ended: it may be more.")
    drift: Number = Field(
        0.0, description="|log| of how much a workload's rate changed from its first to its last trial without a rate limit."
    )
    windows: Count = Field(description="Windows that it stands on.")
    stolen: Count = Field(0, description="Windows of the system that are left out, since the hypervisor took cores meanwhile.")
    fit_error: Number = Field(description="Median over these windows of |predicted cores ÷ used − 1|.")
    latency: LatencyAt | None = Field(None, description="Latency at the load that is asked for.")
    no_latency: NoLatency | None = Field(None, description="Why none is predicted.")
    at: dict[str, Number] = Field(description="All numbers that it holds for, by name: a run that is held against it must have them.")
    alike: dict[str, str] = Field(description="The settings that such a run must have, too.")
    beside: dict[str, Number] = Field(
        default_factory=dict,
        description="Loads of other workloads on its hosts, operations a second, for which there is room at the limit.",
    )


class Job(Row):
    """The time of a job."""

    workload: str = Field(description="The workload.")
    test: str = Field(description="The test.")
    measured: Number | None = Field(None, description="Seconds that it took as it is, where that was measured.")
    seconds: Number = Field(description="Seconds that are predicted.")
    low: Number = Field(description="Lower end of its 90 % interval.")
    high: Number = Field(description="Upper end of it.")
    zone: Zone = Field(description="How far it is from what was measured.")
    driver_s: Number = Field(description="Seconds of it in which no stage runs, or one waits for the driver to hand out its tasks.")
    cores_s: Number = Field(description="Seconds of stages that the workers' cores bound.")
    slots_s: Number = Field(description="Seconds of stages that their slots, or their longest task, bound.")
    slots: Count = Field(description="Tasks that run at a time.")
    gains: dict[str, Number] = Field(description="Seconds less with one more `worker`, and with one more `core` on each of them.")
    moved: list[Moved] = Field(description="Numbers that are not as they were measured.")
    unsettled: list[str] = Field(
        default_factory=list, description="Measured workloads whose tests still got faster when their warm-up ended."
    )
    at: dict[str, Number] = Field(description="All numbers that it holds for: a run that is held against it must have them.")
    alike: dict[str, str] = Field(default_factory=dict, description="The settings that such a run must have, too.")


class Together(Row):
    """Several workloads at once."""

    workloads: list[str] = Field(description="The workloads.")
    share: Number = Field(description="Share of each one's limit that all have together.")
    low: Number = Field(description="Lower end of its 90 % interval.")
    high: Number = Field(description="Upper end of it: with the errors of the laws, and if no system used more CPU than it needs.")
    without_soft: Number = Field(
        description="The share if others got all CPU that a system uses and does not need; `share` is with half of it."
    )
    rates: dict[str, Number] = Field(description="Operations a second at that share, by workload.")
    host: str = Field(description="The host that is full first.")
    resource: str = Field(description="`cpu`, `network` or `disk`.")
    is_wide: bool = Field(False, description="The interval is too wide for `share` to say anything.")


class Answer(Row):
    """The answer of `hydrotest predict`."""

    version: str = Field(description="Of hydrotest.")
    runs: list[str] = Field(description="Folders of the runs that it stands on.")
    unused: list[str] = Field(description="Those of which no window counts.")
    changes: dict[str, str] = Field(description="What is changed, by setting.")
    not_known: dict[str, list[str]] = Field(
        default_factory=dict,
        description="By type of machine: resources of which it is not known what they sustain. Of a link its best counts, of disks what was measured.",
    )
    speed: Number = Field(description="Speed of the cores, as a multiple of those that were measured.")
    loads: dict[str, Number] = Field(description="Rates that are asked for, by workload.")
    asked: list[str] = Field(default_factory=list, description="Workloads and jobs that the question is about; none: all.")
    predictions: list[Prediction] = Field(description="By workload.")
    jobs: list[Job] = Field(default_factory=list, description="Of jobs, by workload and test.")
    refused: list[Refused] = Field(description="What is not predicted, and why.")
    asked_together: list[str] = Field(default_factory=list, description="Workloads that are to run at once.")
    together: Together | None = Field(None, description="What workloads that are to run at once have together.")
    uses: list[Use] = Field(description="What each host of a system needs at all rates that are asked for, together.")
