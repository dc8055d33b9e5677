"""Whether the load generators had headroom."""

from __future__ import annotations

from pydantic import Field

from hydrotest.store.records import Tenancy
from hydrotest.summary.base import IN_WORDS, TENANCY, TRIAL, WORKLOAD, Count, Number, Row
from hydrotest.verdicts.trial import Lack


class Generator(Row):
    """A workload's generator in its last trial at the limit."""

    workload: str = Field(description=WORKLOAD)
    tenancy: Tenancy = Field(description=TENANCY)
    kind: str = Field("", description="Kind of the workload.")
    client: str = Field(description="The client that made the load.")
    cpu_s_per_million: Number | None = Field(description="CPU-seconds per million operations.")
    busiest_thread_pct: Number | None = Field(description="Share of a core that its busiest thread used.")
    run_delay_pct: Number | None = Field(None, description="Share of the time in which its threads waited for a core.")
    wait_p99_ms: Number | None = Field(description="How late it started operations, 99th percentile; null in a closed loop.")
    arrivals_by_kernel: bool | None = Field(
        None,
        description="True: the kernel said when answers came, and the generator woke only to send; false: it woke for each; null: not known.",
    )
    memory_bytes: Count | None = Field(None, description="The most memory that it used.")
    has_room: bool | None = Field(description="True: it was not the limit.")
    lacks: list[Lack] = Field(default_factory=list, description="What it had too little of, as codes and figures.")
    why_not: list[str] = Field(default_factory=list, description=IN_WORDS)
    clock_error_ms: Number | None = Field(None, description="By how much its latencies may be wrong, since they begin and end by "
                                          "different hosts' clocks; the most of its trials.")  # fmt: skip
    trial: int | None = Field(None, description=TRIAL)
