"""What was not checked of a Cassandra workload's reads, and why."""

from __future__ import annotations

from collections.abc import Sequence

from hydrotest.report.table import NONE, Table
from hydrotest.summary.integrity import Integrity
from hydrotest.summary.model import Summary

WHAT = {"read": "anything", "presence": "whether it is there", "values": "values"}
WHY = {
    "not_understood": "the statement, or one that writes, is not understood",
    "unknown_table": "the table is not one of the workload's",
    "view": "a materialised view follows its table later",
    "range": "a range: any rows may answer",
    "not_by_key": "the row is not asked for by its key",
    "shared_key": "several rows have the same key",
    "several_rows": "several rows answered",
    "computed": "computed, or under another name",
    "counter": "a counter depends on every addition before",
    "static": "shared by the rows of a partition",
    "not_written": "no statement writes it",
    "written_otherwise": "a statement writes something else than a value made for the row",
    "deleted": "a statement deletes",
    "expiring": "rows or values expire",
    "not_populated": "nothing has written it to every row before",
    "nearest": "an index finds the nearest vectors: see their recall",
    "not_by_mark": "the nearest to a vector that is no mark",
    "no_limit": "its LIMIT is no number",
    "no_similarity": "no index on such vectors whose similarity function is known",
    "filtered": "its conditions are not all of the form column = ?",
    "no_key": "it does not select the whole key",
    "paged": "an answer has several pages",
    "too_many": "too many rows to compare all of them",
}
"""The reasons' codes (rust/cassandra/src/checks.rs) in words."""


def unchecked_sheet(summary: Summary) -> Table:
    """A row for each statement, with what was not checked of its reads, and why; and of older runs, writes whose condition
    did not hold."""
    rows = []
    for account in summary.integrity:
        name = account.workload
        rows += [
            [name, row.statement, WHAT[row.what], WHY[row.reason], ", ".join(row.columns) or NONE, f"{row.reads:,}",
             f"{row.absent:,}" if row.what == "presence" and not row.columns else NONE]
            for row in account.unchecked
        ]  # fmt: skip
        rows += [
            [name, statement, "not written", "its condition did not hold (LWT)", NONE, f"{count:,}", NONE]
            for statement, count in account.not_applied.items()
            if statement not in {one.statement for one in account.conditional}
        ]
    return Table("Not checked", ["workload", "statement", "what", "why", "columns", "operations", "found no row"], rows)


def conditional_sheet(summary: Summary) -> Table:
    """A row for each statement that writes only where a condition holds: how often others were first, or in the way."""
    rows = [
        [
            account.workload, row.statement, f"{row.answered:,}", f"{row.answered - row.not_applied:,}", f"{row.not_applied:,}",
            f"{1 - row.not_applied / row.answered:.1%}" if row.answered else NONE, f"{row.timed_out:,}",
            NONE if account.contended is None else f"{account.contended:,}",
        ]
        for account in summary.integrity for row in account.conditional
    ]  # fmt: skip
    heads = ["workload", "statement", "answered", "applied", "not applied", "share applied", "timed out", "of the workload: met others"]
    return Table("Conditional writes", heads, rows)


def reads_sentences(rows: Sequence[Integrity]) -> list[str]:
    """Results of each Cassandra workload's reads, if its rows have no complete account, or something is
    wrong."""
    return [_reads_sentence(row) for row in rows if _says_something(row)]


def flawed_reads(row: Integrity) -> list[tuple[str, int]]:
    """Errors that checked reads found, and how many; empty if there were none."""
    found = [("no row where one must be", row.missing_reads), ("a row that is not what was written", row.corrupted_reads)]
    return [(what, count) for what, count in found if count]


def _says_something(row: Integrity) -> bool:
    """False if it has read no tables, or if all was checked twice without errors: by reads, and by a scan of
    the rows."""
    if row.checked_reads is None:
        return False
    # Of the nearest vectors their recall is shown instead.
    unchecked = [one for one in row.unchecked if one.reason != "nearest"]
    return bool(unchecked) or bool(flawed_reads(row)) or (row.lost is None and row.checked_reads > 0)


def _reads_sentence(row: Integrity) -> str:
    checked = row.checked_reads
    flaws = [f"{count:,} found {what}" for what, count in flawed_reads(row)]
    if flaws:
        said = f"of {checked:,} checked reads {' and '.join(flaws)}"
    elif checked:
        said = f"{checked:,} reads were checked, and nothing was wrong with them"
    else:
        return f"{row.workload}: none of its reads could be checked."
    statements = ", ".join(dict.fromkeys(one.statement for one in row.unchecked))
    rest = f"; those by {statements} not, or not wholly (see the table Not checked)" if statements else ""
    return f"{row.workload}: {said}{rest}."
