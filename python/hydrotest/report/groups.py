"""Consumer groups: a table of what they read, one of their rebalances, and what to conclude."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from hydrotest.report.table import NONE, Table, decimal
from hydrotest.summary.groups import ConsumerGroup
from hydrotest.summary.model import Summary

CAUSES = {
    "kill": "members were killed", "leave": "members left", "pause": "members were paused", "join": "members joined",
    "unasked": "nobody had touched a member",
}  # fmt: skip
"""After which, or when, partitions had no reader."""


HELD_S_MIN = 0.1


def _name(row: ConsumerGroup) -> str:
    return f"{row.workload}, group {row.group}"


def groups_sheet(summary: Summary) -> Table:
    """What each group read, and what not."""
    rows = [
        [
            str(row.trial), _name(row), row.protocol, str(row.members), f"{row.records:,}", f"{row.again:,}", f"{row.missed:,}", f"{row.unread:,}",
            f"{row.corrupted:,}", NONE if row.commits is None else f"{row.commits:,}", str(len(row.rebalances)),
        ]
        for row in summary.groups
    ]  # fmt: skip
    heads = ["trial", "group", "protocol", "members", "records", "again", "missed", "unread", "corrupted", "commits", "rebalances"]
    return Table("Consumer groups", heads, rows, lead=("trial", "group", "records", "again", "missed", "rebalances"))


def rebalances_sheet(summary: Summary) -> Table:
    """When partitions had no reader, and for how long."""
    rows = []
    for row in summary.groups:
        for one in row.rebalances:
            seconds = None if one.ended_s is None else one.ended_s - one.began_s
            rows.append([str(row.trial), _name(row), CAUSES[one.cause], decimal(one.began_s, 1), decimal(seconds, 2), str(one.stopped),
                         str(one.moved), decimal(one.longest_s, 2)])  # fmt: skip
    heads = ["trial", "group", "after", "at s", "took s", "partitions stopped", "moved", "longest s"]
    return Table("Rebalances", heads, rows, lead=("trial", "group", "after", "took s", "partitions stopped", "longest s"))


def group_sentences(rows: Sequence[ConsumerGroup]) -> list[str]:
    """What was read twice or not at all, and what rebalances cost."""
    by_workload: dict[str, list[ConsumerGroup]] = defaultdict(list)
    for row in rows:
        by_workload[row.workload].append(row)
    return [f"{name}: {'; '.join(_parts(own))}." for name, own in by_workload.items()]


def _parts(rows: Sequence[ConsumerGroup]) -> list[str]:
    read, again, missed = (sum(getattr(row, key) for row in rows) for key in ("records", "again", "missed"))
    parts = [f"{read:,} records were read, {again:,} of them again" if again else f"{read:,} records were read, none twice"]
    if missed:
        parts.append(f"{missed:,} WERE NOT READ AT ALL")
    if unread := sum(row.unread for row in rows):
        parts.append(f"{unread:,} were still unread at the end")
    held_s = max(row.held_s or 0.0 for row in rows)
    if held_s >= HELD_S_MIN:
        parts.append(f"`most` kept them from reading for {held_s:.1f} s, which their lag and latency contain")
    rebalances = [one for row in rows for one in row.rebalances]
    for cause in dict.fromkeys(one.cause for one in rebalances):
        own = [one for one in rebalances if one.cause == cause]
        longest = max(one.longest_s for one in own)
        stopped = max(one.stopped for one in own)
        open_ = " and longer" if any(one.ended_s is None for one in own) else ""
        parts.append(f"when {CAUSES[cause]}, up to {stopped} partitions had no reader for up to {longest:.1f} s{open_}")
    return parts
