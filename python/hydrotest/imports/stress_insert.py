"""The insert of a profile of cassandra-stress: its statement, and how many rows it writes at once. (`SchemaInsert`.)"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hydrotest.errors import BadInputError
from hydrotest.imports.note import Imported, Why
from hydrotest.imports.stress_rows import Rows, mean
from hydrotest.imports.stress_table import Table
from hydrotest.imports.stress_words import distribution
from hydrotest.spec.statement import BATCH_ROWS_MAX

INSERT, FILL = "insert", "fill"
USUAL = {"partitions": "fixed(1)", "select": "fixed(1)/1", "batchtype": "LOGGED"}
"""What counts where a profile does not say."""
OPTIONS = {"partitions": "partitions", "select-ratio": "select", "batchtype": "batchtype"}
"""Of `-insert` on the command line, which go before the profile's."""
_RATIO = re.compile(r"(?P<part>~?\w+\([^()]*\))\s*/\s*(?P<whole>[0-9.]+)")
_IF_NEW = re.compile(r"\s*if\s+not\s+exists\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Batch:
    """Rows that a statement writes at once."""

    rows: int
    kind: str
    is_exact: bool
    """False where it is only about as many as in the profile."""

    @property
    def text(self) -> str:
        return "one row a statement" if self.rows == 1 else f"statements.{INSERT}.batch: {{rows: {self.rows}, kind: {self.kind}}}"


def batch_of(given: Mapping[str, Any], rows: Rows, table: Table, *, is_conditional: bool) -> Batch:
    """Of each of some partitions so many rows. Raises `BadInputError`."""
    partitions = distribution(str(given.get("partitions", USUAL["partitions"])))
    part, whole = _ratio(str(given.get("select", USUAL["select"])))
    share = min(mean(part) / whole, 1.0) if rows.is_several else 1.0
    each, several = share * mean(rows.each), mean(partitions)
    wanted = each if is_conditional else several * each
    number = min(max(round(wanted), 1), BATCH_ROWS_MAX)
    is_fixed = all(one.low == one.high for one in (partitions, part, rows.each))
    in_partitions = share == 1 or (several == 1 and rows.each.low % number == 0)
    if is_conditional and not (is_fixed and in_partitions and number == wanted):
        number = 1  # a condition holds in one partition
    kind = str(given.get("batchtype", USUAL["batchtype"])).lower()
    is_exact = is_fixed and in_partitions and number == several * each
    return Batch(number, "counter" if table.has_counters else kind if kind == "unlogged" else "logged", is_exact)


def _ratio(text: str) -> tuple[Any, float]:
    """`fixed(1)/1000`: its numerator and its denominator."""
    found = _RATIO.fullmatch(text.strip())
    if found is None:
        raise BadInputError(f"{text!r} is no ratio of cassandra-stress", "Write e.g. fixed(1)/10.")
    return distribution(found["part"]), float(found["whole"])


def statements_of(table: Table, condition: str) -> dict[str, str]:
    """The CQL of the insert, and of what fills the table where the insert cannot: a condition may not hold."""
    is_new = not condition or _IF_NEW.fullmatch(condition) is not None
    if table.has_counters or not is_new:
        change = _update(table)
        own = f"{change} {condition}".strip() if change else ""
    else:
        own = f"{_insert(table)} {condition}".strip()
    found = {INSERT: own} if own else {}
    return found | ({FILL: _insert(table)} if condition and not table.has_counters else {})


def _insert(table: Table) -> str:
    names = [table.columns[name].written for name in table.written]
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({', '.join('?' for _ in names)})"


def _update(table: Table) -> str:
    """As that tool writes: an UPDATE, which a condition and counters need. Empty for a table that is a key alone."""
    sets = []
    for name in table.written:
        column = table.columns[name]
        if name not in table.key:
            sets.append(f"{column.written} = {column.written} + ?" if column.base == "counter" else f"{column.written} = ?")
    where = " AND ".join(f"{table.columns[name].written} = ?" for name in table.key)
    return f"UPDATE {table.name} SET {', '.join(sets)} WHERE {where}" if sets else ""


def note_insert(
    given: Mapping[str, Any], batch: Batch, statement: Mapping[str, Any] | None, out: Imported, place: Callable[[str], Mapping[str, Any]]
) -> None:
    """What became of each key of the section `insert`; `place`: where one stands."""
    for key, value in given.items():
        where = place(key)
        said = f"insert: {key}: {value}"
        is_usual = str(value).lower().replace(" ", "") == "fixed(1)"
        if key == "condition":
            if statement is not None and str(value).strip():
                out.kept(said, f"statements.{INSERT}: {statement['cql']}", **where)
            elif str(value).strip():
                out.left_out(said, Why.KEY_ALONE, **where)
        elif key in USUAL and (batch.is_exact or key == "batchtype"):
            out.kept(said, batch.text, **where)
        elif key in USUAL:
            out.changed(said, batch.text, Why.BATCHES, **where)
        elif key == "visits" and is_usual:
            out.kept(said, "each row once", **where)
        else:
            out.left_out(said, Why.NO_COUNTERPART, **where)
    if "select" not in given and batch.rows > 1:
        said = f"insert: select: {USUAL['select']}, as it is not given"
        (out.kept(said, batch.text) if batch.is_exact else out.changed(said, batch.text, Why.BATCHES))
