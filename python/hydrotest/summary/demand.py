"""What operations cost a system."""

from __future__ import annotations

from pydantic import Field

from hydrotest.summary.base import WORKLOAD, Count, Number, Row


class Estimate(Row):
    """A figure with its 90 % interval."""

    value: Number = Field(description="The estimate.")
    low: Number = Field(description="Lower end of its 90 % interval; never below 0.")
    high: Number = Field(description="Upper end of its 90 % interval.")


class OperationCost(Row):
    """What each operation of a workload costs."""

    workload: str = Field(description=WORKLOAD)
    cpu_us: Estimate = Field(description="Microseconds of a core that an operation costs all services of the system together.")


class DriverCost(Row):
    """What each request, record or byte costs a host."""

    driver: str = Field(
        description="What costs CPU: `requests`, `batches`, `records`, `bytes`, of copies `copied requests` and `copied bytes`, of what consumer "
        "groups read `served requests` and `served bytes`; of Cassandra `reads` and `writes` as their coordinator, "
        "`replica reads`, `replica writes`, of those `remote reads` and `remote writes`, `reads that wait` for others; `read bytes`, `written bytes`."
    )
    along: list[str] = Field(description="Others that rose in proportion to it in all windows: what it costs is with them.")
    cpu_us: Estimate | None = Field(
        description="Microseconds of a core that each costs; null where the windows do not separate it from others."
    )


class DriverDemand(Row):
    """CPU of each host by what drives it: workloads that differ in numbers only share one law."""

    workloads: list[str] = Field(description="The workloads.")
    fixed_cores: Estimate | None = Field(description="Cores of each host without any load; null where the windows do not separate it.")
    drivers: list[DriverCost] = Field(description="By driver; those that cost nothing measurable are left out.")
    windows: Count = Field(description="Windows that it stands on.")
    error: Number = Field(description="Median over the windows of |estimated − used| ÷ used.")
    softness: Number = Field(
        description="By how much the use of the CPU is more than the same share of the rate without a rate limit, at most, as a share of all cores. From 0.45 on "
        "what is used by schedule is not what is needed, and only windows without a rate limit count."
    )


class PartDemand(Row):
    """What a record costs a part of a pipeline whose parts have hosts of their own: cores of each host = fixed + cost × records of each
    host, over the windows in which the pipeline kept up."""

    workload: str = Field(description=WORKLOAD)
    part: str = Field(description="`kafka`, `hdfs`, `cassandra`; `spark`: hosts of executors; `driver`: that of Spark's driver.")
    hosts: Number = Field(description="Hosts that share its work evenly.")
    windows: Count = Field(description="Windows that it stands on.")
    is_full: bool = Field(description="It had no CPU left in most of them: it uses what there is, whether records need it or not.")
    fixed_cores: Estimate | None = Field(description="Cores of each host without any record; null where the windows do not show it.")
    cpu_us: Estimate | None = Field(description="Microseconds of a core that a record costs all its hosts together; null likewise.")
    error: Number | None = Field(description="Median over the windows of |estimated − used| ÷ used.")


class SystemDemand(Row):
    """CPU that a system uses by what it does: cores = fixed + Σ cost × rate, by non-negative regression over the windows of the run.
    It holds for this run's settings, machines, and mix of loads."""

    system: str = Field(description="The system.")
    services: Count = Field(description="Its services: brokers, nodes.")
    windows: Count = Field(description="Measured windows that it stands on, one for each trial.")
    fixed_cores: Estimate | None = Field(
        description="Cores that all its services use without any operation; null where it cannot be estimated."
    )
    operations: list[OperationCost] = Field(description="By workload.")
    error: Number | None = Field(description="Median over the windows of |estimated − used| ÷ used.")
    together: list[str] = Field(description="Where nothing is estimated: workloads, and `fixed`, that these windows do not separate.")
    lacking: Count = Field(description="Windows that lack for an estimate.")
    drivers: list[DriverDemand] = Field(
        default_factory=list, description="The same of each host by requests, records and bytes, also from the windows of a calibration."
    )
