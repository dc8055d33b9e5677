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
