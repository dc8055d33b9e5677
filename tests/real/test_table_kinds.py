"""Tables and statements of every kind, in one run: what cannot be checked is reported as unchecked; there
are no other findings."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.real.test_faults import SCHEMA

pytestmark = [pytest.mark.real, pytest.mark.long]

EXPERIMENT = Path("tests/data/cases/own-tables.yaml")

UNCHECKED: dict[str, set[tuple[str, str, str, str]]] = {
    "counters": {("look", "values", "counter", "count")},
    "statics": {("look", "values", "static", "s")},
    "ranges": {("after", "read", "range", "")},
    "deletes": {("look", "presence", "deleted", "")},
    "expiring": {("look", "presence", "expiring", "")},
    "lwt": set(),
    "batch": set(),
    "limits": {("look", "presence", "expiring", "")},
    "views": {("look", "read", "range", "")},
    "vectors": {("near", "read", "nearest", "")},
    "indexed": {("find", "read", "not_by_key", ""), ("over", "read", "range", "")},
}
"""By workload: statement, what, reason, columns."""


def test_what_cannot_be_checked_is_not_and_the_rest_is(tmp_path: Path, start_run: Callable[..., subprocess.Popen[str]]) -> None:
    text = EXPERIMENT.read_text().replace("{connect: local}", f"{{connect: local, data: {tmp_path / 'data'}}}")
    process = start_run(text)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    summary: dict[str, Any] = json.loads((tmp_path / "run" / "summary.json").read_text())
    jsonschema.validate(summary, SCHEMA)
    assert {row["workload"]: row["accepted"] for row in summary["levels"] if row["op"] == "mix"} == dict.fromkeys(UNCHECKED, True)
    accounts = {row["workload"]: row for row in summary["integrity"]}
    assert set(accounts) == set(UNCHECKED)
    for name, row in accounts.items():
        assert (row["missing_reads"], row["corrupted_reads"], row["lost"] or 0, row["corrupted"] or 0) == (0, 0, 0, 0), name
        found = {(one["statement"], one["what"], one["reason"], " ".join(one["columns"])) for one in row["unchecked"]}
        assert found == UNCHECKED[name], name
        assert all(one["reads"] > 0 for one in row["unchecked"])
        # Where anything of a read can be checked, it is: of views and of indexes one of the reads.
        assert (row["checked_reads"] > 0) == (name in ("views", "indexed") or all(one["what"] != "read" for one in row["unchecked"])), name
    absent = {name: sum(one["absent"] for one in row["unchecked"]) for name, row in accounts.items()}
    assert {name for name, count in absent.items() if count} >= {"deletes", "expiring"}
    (near,) = summary["nearest"]
    assert (near["workload"], near["statement"], near["offered"], near["similarity"], near["limit"]) == (
        "vectors",
        "near",
        40,
        "cosine",
        10,
    )
    assert (near["rows"], near["dimension"], near["queries"], near["short"]) == (500, 8, 100, 0)
    assert near["answers"] > 100
    assert 0.7 < near["low"] < near["recall"] <= near["high"] <= 1
    assert near["latency_ms"]["p99"] > 0
    (view,) = accounts["views"]["views"]
    assert (view["view"], view["table"], view["missing"], view["extra"], view["rows"]) == ("us_by_email", "us", 0, 0, 1_000)
    assert view["settled_s"] is not None
    # On the only node, none is ever under way.
    assert (view["pending_max"], view["behind_p99_ms"]) == (0, 0)
    # Each row was there before: none of them is written by `IF NOT EXISTS`.
    assert accounts["lwt"]["not_applied"]["put"] > 0
    assert all(not row["not_applied"] for name, row in accounts.items() if name != "lwt")
    told = {name: row["conditional"] for name, row in accounts.items() if row.get("conditional")}
    # Of all of them, those that filled the table were applied.
    not_applied = accounts["lwt"]["not_applied"]["put"]
    assert {name for name, row in accounts.items() if row["contended"] is not None} == {"lwt"}
    assert told == {"lwt": [{"statement": "put", "answered": not_applied + 1_000, "not_applied": not_applied, "timed_out": 0}]}
