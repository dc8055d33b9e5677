"""The counters of cassandra-stress: `counter_write` and `counter_read`, as statements on its table. (`SettingsSchema`, `CqlCounterAdder`,
`CqlCounterGetter`.)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hydrotest.imports.note import Imported
from hydrotest.imports.stress_words import distribution

ADD, LOOK = "counter_write", "counter_read"
COLUMNS = 5
ADDED = "FIXED(1)"
"""What is added, without `add=`."""


def settle_counters(weights: Mapping[str, float], added: str | None, out: Imported, store: dict[str, Any]) -> None:
    """Its table and statements, when the number of columns is known. Raises `BadInputError`."""
    names = [f'"C{number}"' for number in range(store.pop("columns", COLUMNS))]
    store.pop("column_size", None)
    store["table"] = f"CREATE TABLE counter1 (key blob PRIMARY KEY, {', '.join(f'{name} counter' for name in names)})"
    cql = {
        ADD: f"UPDATE counter1 SET {', '.join(f'{name} = {name} + ?' for name in names)} WHERE key = ?",
        LOOK: f"SELECT {', '.join(names)} FROM counter1 WHERE key = ?",
    }
    store["statements"] = {ADD: {"cql": cql[ADD], "weight": weights.get(ADD, 0)}}
    if LOOK in weights:
        store["statements"][LOOK] = {"cql": cql[LOOK], "weight": weights[LOOK]}
        store["populate"] = ADD
    drawn = distribution(added or ADDED)
    store["values"] = {name.strip('"'): drawn.text for name in names}
    out.kept(f"add={added}" if added else f"add={ADDED}, as it is not given", f"values: {drawn.text} of each counter")
