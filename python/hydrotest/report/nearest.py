"""Reads of the nearest vectors: latency and recall in one table, and in words."""

from __future__ import annotations

from collections.abc import Sequence

from hydrotest.percentiles import BRIEF, heads
from hydrotest.report.table import NONE, Table, decimal
from hydrotest.report.unchecked import WHY
from hydrotest.summary.base import Latency
from hydrotest.summary.model import Summary
from hydrotest.summary.nearest import Nearest, NearestUntold
from hydrotest.units import show_rate

FUNCTIONS = {"cosine": "cosine", "dot_product": "dot product", "euclidean": "euclidean"}
"""Similarity functions of an index."""


def nearest_sheet(summary: Summary) -> Table:
    """A row for each statement and load."""
    rows = []
    for row in summary.nearest:
        latency = row.latency_ms or Latency()
        rows.append(
            [
                row.workload, row.statement, row.tenancy, _load(row), *(decimal(latency.get(one.name), 2) for one in BRIEF),
                str(row.limit), _percent(row.recall), NONE if row.low is None else f"{_percent(row.low)} … {_percent(row.high)}",
                f"{row.queries:,} of {row.answers:,}", f"{row.short:,}", FUNCTIONS[row.similarity], f"{row.rows:,} × {row.dimension:,}",
            ]
        )  # fmt: skip
    columns = ["workload", "statement", "tenancy", "load", *heads(every=False), "k", "recall@k", "95 % sure", "queries", "short answers",
               "similarity", "vectors"]  # fmt: skip
    return Table("Nearest vectors", columns, rows, lead=("workload", "statement", "load", "p99 ms", "recall@k", "95 % sure"))


def _load(row: Nearest) -> str:
    if row.is_at_limit:
        return "at the limit"
    return f"{row.concurrency} in flight" if row.offered is None else f"{show_rate(row.offered)}/s"


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{share * 100:.1f} %"


def nearest_sentences(rows: Sequence[Nearest], untold: Sequence[NearestUntold]) -> list[str]:
    """Of each statement, at the limit or else at its highest load; and why others have none."""
    best: dict[tuple[str, str], Nearest] = {}
    for row in rows:
        key = row.workload, row.statement
        if row.tenancy == "isolated" and (key not in best or _rank(row) > _rank(best[key])):
            best[key] = row
    told = [_sentence(row) for row in best.values() if row.recall is not None]
    return told + [f"{row.workload}, {row.statement}: its recall is not known: {WHY[row.reason]}." for row in untold]


def _rank(row: Nearest) -> tuple[bool, float]:
    return row.is_at_limit, row.offered or row.concurrency or 0


def _sentence(row: Nearest) -> str:
    p99 = None if row.latency_ms is None else row.latency_ms.p99
    at = f" at a p99 of {p99:.1f} ms" if p99 is not None else ""
    said = (
        f"{row.workload}, {row.statement}: recall@{row.limit} is {_percent(row.recall)}{at}, {_load(row)} "
        f"(95 % sure: {_percent(row.low)} to {_percent(row.high)}, {row.queries:,} queries, {FUNCTIONS[row.similarity]})."
    )
    if row.short:
        said += f" {row.short:,} ANSWERS HAVE FEWER ROWS THAN THERE ARE: the index does not reach all of them."
    return said
