"""Materialised views and their tables, as a table and in words."""

from __future__ import annotations

from collections.abc import Sequence

from hydrotest.report.table import NONE, Table, decimal
from hydrotest.summary.integrity import Integrity, ViewAccount
from hydrotest.summary.model import Summary
from hydrotest.units import show_count


def views_sheet(summary: Summary) -> Table:
    """A row for each view of a workload."""
    rows = [
        [
            account.workload, view.view or NONE, view.table or NONE, _count(view.rows), _count(view.missing_first), _count(view.missing),
            _count(view.extra), decimal(view.settled_s, 1), decimal(view.pending_max, 0), decimal(view.behind_p99_ms, 1),
        ]
        for account in summary.integrity for view in account.views
    ]  # fmt: skip
    heads = [
        "workload",
        "view",
        "table",
        "rows",
        "missing at first",
        "missing",
        "extra",
        "the same after s",
        "most pending",
        "behind p99 ms",
    ]
    return Table("Materialised views", heads, rows, lead=("view", "table", "rows", "missing", "extra", "the same after s"))


def _count(value: int | None) -> str:
    return NONE if value is None else f"{value:,}"


def flawed_views(row: Integrity) -> list[tuple[str, str, int]]:
    """What views and their tables do not share: which view, what, how many; empty if they hold the same rows."""
    found = [
        (view.view or NONE, what, count)
        for view in row.views
        for what, count in (("lacks", view.missing), ("has beyond its table", view.extra))
    ]
    return [(view, what, count) for view, what, count in found if count]


def view_sentences(rows: Sequence[Integrity]) -> list[str]:
    """Whether each view holds the rows of its table."""
    return [f"{row.workload}: {_said(view)}." for row in rows for view in row.views]


def _said(view: ViewAccount) -> str:
    if view.missing is None or view.extra is None:
        return f"whether its views hold the rows of their tables is not known ({view.reason})"
    if view.missing or view.extra:
        more = f", and has {show_count(view.extra, 'row')} that {view.table} has not" if view.extra else ""
        return f"the view {view.view} LACKS {view.missing:,} of {show_count(view.rows or 0, 'row')} of {view.table}{more}"
    later = f", {view.settled_s:.0f} s after the load" if view.missing_first or view.extra_first else ""
    return f"the view {view.view} holds the same {show_count(view.rows or 0, 'row')} as {view.table}{later}"
