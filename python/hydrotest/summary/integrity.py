"""The account of every record."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hydrotest.store.records import Tenancy
from hydrotest.summary.base import TENANCY, WORKLOAD, Count, Number, Row

Reason = Literal[
    "not_understood",
    "unknown_table",
    "view",
    "range",
    "not_by_key",
    "shared_key",
    "several_rows",
    "computed",
    "counter",
    "static",
    "not_written",
    "written_otherwise",
    "deleted",
    "expiring",
    "not_populated",
    "nearest",
    "not_by_mark",
    "no_limit",
    "no_similarity",
    "filtered",
    "no_key",
    "paged",
    "too_many",
]


class Unchecked(Row):
    """What was not checked of the reads by a statement, and why."""

    statement: str = Field(description="Its name in the experiment.")
    what: Literal["read", "presence", "values"] = Field(
        description="`read`: everything; `presence`: whether its row is there (for columns: whether they have a value); `values`: "
        "the columns' values."
    )
    reason: Reason = Field(description="Why.")
    columns: list[str] = Field(description="Which columns; empty: all of the row.")
    reads: Count = Field(description="Number of reads.")
    absent: Count = Field(description="Reads that found no row, which need not be a loss.")


class Conditional(Row):
    """Conditional writes (LWT) by a statement: how often others were first, or in the way."""

    statement: str = Field(description="Its name in the experiment.")
    answered: Count = Field(description="Answered, whether applied or not.")
    not_applied: Count = Field(description="Of these, those whose condition did not hold: nothing was written.")
    timed_out: Count = Field(
        description="Given up by the node (WriteTimeout): under contention, or for want of replicas. Whether they were applied is not known."
    )


class ViewAccount(Row):
    """A materialised view and its table, read from all replicas when the load was over. null: not known."""

    view: str | None = Field(None, description="Its name; null: the views could not be read.")
    table: str | None = Field(None, description="The table that it follows.")
    rows: Count | None = Field(None, description="Rows of the table that the view must have.")
    missing_first: Count | None = Field(None, description="Of these, those that the view did not have at the first look.")
    missing: Count | None = Field(None, description="Those that it did not have at the last look, a minute later at most.")
    extra_first: Count | None = Field(
        None, description="Rows that only the view had at the first look; of a row that differs, both have one."
    )
    extra: Count | None = Field(None, description="Those that only the view had at the last look.")
    settled_s: Number | None = Field(
        None, description="Seconds from the first look to the one that found both the same; null: none did, or it is not known."
    )
    pending_max: Number | None = Field(None, description="Most updates of views on other nodes that were under way at once, of a node.")
    behind_p99_ms: Number | None = Field(
        None,
        description="How much later than its table a view on another node had an update: the nodes' own 99th percentile, at its highest. On the "
        "node of the table a view has it at once.",
    )
    reason: str | None = Field(None, description="Why the views could not be read.")


class Integrity(Row):
    """The account of a workload over all its trials, warm-up included. null: not known."""

    workload: str = Field(description=WORKLOAD)
    tenancy: Tenancy = Field(description=TENANCY)
    unit: Literal["records", "rows"] = Field("records", description="What is counted.")
    trials: Count = Field(0, description="Number of accounts in the sum.")
    sent: Count = Field(description="Sent.")
    acked: Count = Field(description="Acknowledged.")
    seen: Count | None = Field(description="Read back.")
    lost: Count | None = Field(description="Acknowledged and not found.")
    duplicated: Count | None = Field(description="Found more than once.")
    corrupted: Count | None = Field(description="Found, but not as written.")
    out_of_order: Count | None = Field(description="After a later one of the same producer.")
    unacked_present: Count | None = Field(description="Found without an acknowledgement.")
    in_flight: Count | None = Field(description="Acknowledged, but beyond the point that the reader reached.")
    checked_reads: Count | None = Field(None, description="Of a Cassandra workload: reads of which something was checked, in all trials.")
    missing_reads: Count | None = Field(None, description="Of these, those that found no row where one must be.")
    corrupted_reads: Count | None = Field(None, description="Of these, those that found a row that is not what was written.")
    unchecked: list[Unchecked] = Field(default_factory=list, description="What was not checked of the reads by a statement, and why.")
    not_applied: dict[str, Count] = Field(
        default_factory=dict,
        description="Conditional writes (LWT) whose condition did not hold, by statement: answered, but nothing written.",
    )
    conditional: list[Conditional] = Field(default_factory=list, description="Conditional writes (LWT), by statement.")
    contended: Count | None = Field(
        None,
        description="Conditional writes that met others and began again, as the nodes count them; null: none were asked for, or it is not known.",
    )
    views: list[ViewAccount] = Field(default_factory=list, description="Its materialised views, when its load was over.")
